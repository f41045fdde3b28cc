//! What a verdict rests on besides its obligations. `docs/src/proofs.md` explains each.

use crate::obligation::{Claim, Conclusion, Property};
use crate::report::Report;

/// The assumptions and trusted parts of what a report says, one in a line.
pub fn assumptions(report: &Report) -> Vec<&'static str> {
    let has = |property: Property| report.of(property).next().is_some();
    let concludes = |what| report.obligations.iter().any(|one| one.obligation.concludes() == Some(what));
    let turns = concludes(Conclusion::Turns);
    let syntax = report.obligations.iter().any(|one| matches!(one.obligation.claim, Claim::Decided { .. }));
    let all = [
        (true, "cores: any number, all online; the affinity of a thread does not change during an event"),
        (
            has(Property::Conservation),
            "overload: a core has two threads that may run on the idle one; a steal holds both run queues",
        ),
        (
            concludes(Conclusion::Recovery),
            "eventual conservation: all events but `balance` have stopped, and balances do not overlap",
        ),
        (
            turns,
            "bounded waiting: no thread is forked, woken or balanced to the core meanwhile; a turn counts from 1 us",
        ),
        (
            turns,
            "numbers: keys and the times from which they are computed stay within 2^60 ns (proved: an event adds at \
             most 1024 times what was run, and a second), runtimes within 2^52 ns, turns within 2^42 ns, weights within 2^20",
        ),
        (
            syntax,
            "compiler: what a handler reads, writes and calls, where the verdict says `from syntax alone`",
        ),
        (
            true,
            "trusted: Why3 and its provers, the compiler to C, sched_ext and the runtime's `step` (proofs/cores.mlw)",
        ),
    ];
    all.into_iter().filter(|(applies, _)| *applies).map(|(_, text)| text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Proved, Verdict, invariants, theorems};

    /// The first words of what a report about some properties of a policy rests on.
    fn rests_on(policy: &str, properties: &[Property]) -> Vec<&'static str> {
        let policy = hearth_policy::load(policy).expect("a built-in policy");
        let all = theorems(policy.ir(), &invariants(policy.ir())).obligations;
        let obligations =
            all.into_iter().filter(|one| properties.contains(&one.property)).map(|obligation| {
                let verdict = Verdict::Holds { prover: String::new() };
                Proved { obligation, verdict, seconds: 0.0 }
            });
        let report = Report { policy: policy.name().into(), obligations: obligations.collect() };
        assumptions(&report).into_iter().filter_map(|line| Some(line.split_once(':')?.0)).collect()
    }

    #[test]
    fn a_verdict_names_what_its_properties_rest_on() {
        let all = [
            "cores",
            "overload",
            "eventual conservation",
            "bounded waiting",
            "numbers",
            "compiler",
            "trusted",
        ];
        assert_eq!(rests_on("cfs-cwc-flat", &Property::ALL), all);
        let conservation = ["cores", "overload", "compiler", "trusted"];
        assert_eq!(rests_on("cfs-cwc-flat", &[Property::Conservation]), conservation);
        assert_eq!(rests_on("nest", &[Property::Invariants]), ["cores", "compiler", "trusted"]);
    }
}
