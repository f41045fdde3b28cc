//! The first decision in which two policies differ.

use crate::Error;
use hearth_sim::Job;
use hearth_trace::{Event, Header, IDLE, Kind, Sink, Tid, Time};
use serde::Serialize;

/// Decisions to keep of the first run: later ones are not compared.
const MOST: usize = 4 << 20;

/// The first decision that differs in two runs of a workload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Difference {
    /// Since the start of the workload, in nanoseconds. The earlier one of both decisions.
    pub time_ns: Time,
    /// What each run does, as a sentence without its subject. `None`: nothing more.
    pub first: Option<String>,
    pub second: Option<String>,
}

/// A policy beside the one that it changes, and beside today's kernel.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct AgainstBase {
    pub policy: String,
    pub base: String,
    /// In each machine and governor, how much faster it is than its base, and than today's kernel.
    pub speedups: Vec<Speedup>,
    /// Decisions from the start that are the same on the first machine, under the first governor, with the first seed. At most
    /// 4,194,304 are compared.
    pub same_decisions: usize,
    /// The decision after them. `None`: no compared decision differs.
    pub first_difference: Option<Difference>,
}

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Speedup {
    pub machine: String,
    pub governor: String,
    pub than: String,
    pub speedup: f64,
    pub speedup_ci95: Option<[f64; 2]>,
}

/// Simulates two jobs that differ in their policies, and finds their first different decision. Returns the number of
/// decisions before it, too.
///
/// # Errors
/// As [`hearth_sim::run`].
pub fn first_difference(first: &Job, second: &Job) -> Result<(usize, Option<Difference>), Error> {
    let mut before = Decisions::default();
    let before_header = hearth_sim::run(first, &mut before)?.header;
    let mut after = Comparison { with: &before.all, same: 0, other: None };
    let after_header = hearth_sim::run(second, &mut after)?.header;
    let pair = (before.all.get(after.same), &after.other);
    if after.same == MOST || pair == (None, &None) {
        return Ok((after.same, None));
    }
    let time_ns = [pair.0, pair.1.as_ref()].into_iter().flatten().map(|decision| decision.event.time).min();
    let difference = Difference {
        time_ns: time_ns.unwrap_or(0),
        first: pair.0.map(|decision| decision.sentence(&before_header)),
        second: pair.1.as_ref().map(|decision| decision.sentence(&after_header)),
    };
    Ok((after.same, Some(difference)))
}

/// An event that a policy causes, and its reason.
#[derive(Clone, PartialEq)]
struct Decision {
    event: Event,
    reason: Option<u16>,
}

impl Decision {
    fn of(event: &Event) -> Option<Decision> {
        use Kind::{Fork, Migrate, Spin, Switch, Wakeup};
        let decided =
            matches!(event.kind, Wakeup { .. } | Fork { .. } | Migrate { .. } | Switch { .. } | Spin { .. });
        decided.then_some(Decision { event: *event, reason: None })
    }

    /// The reason follows the decision.
    fn because(&mut self, event: &Event) {
        if let (Kind::Place { thread, reason, .. }, Some(placed)) = (event.kind, self.placed())
            && thread == placed
        {
            self.reason = Some(reason);
        }
    }

    fn placed(&self) -> Option<Tid> {
        match self.event.kind {
            Kind::Wakeup { thread, .. } | Kind::Migrate { thread, .. } => Some(thread),
            Kind::Fork { child, .. } => Some(child),
            _ => None,
        }
    }

    fn sentence(&self, header: &Header) -> String {
        let core = self.event.core;
        let name = |tid: Tid| match header.threads.iter().find(|thread| thread.tid == tid) {
            Some(thread) => format!("{} ({tid})", thread.name),
            None => format!("thread {tid}"),
        };
        let why = self.reason.and_then(|reason| header.reasons.get(usize::from(reason)));
        let why = why.map(|why| format!(" because {why}")).unwrap_or_default();
        match self.event.kind {
            Kind::Wakeup { thread, target, .. } => format!("wakes {} on core {target}{why}", name(thread)),
            Kind::Fork { child, target, .. } => format!("starts {} on core {target}{why}", name(child)),
            Kind::Migrate { thread, from, to } => {
                format!("moves {} from core {from} to core {to}{why}", name(thread))
            }
            Kind::Switch { next: IDLE, .. } => format!("leaves core {core} idle"),
            Kind::Switch { next, .. } => format!("runs {} on core {core}", name(next)),
            Kind::Spin { on: true } => format!("lets core {core} spin"),
            _ => format!("ends the spinning of core {core}"),
        }
    }
}

#[derive(Default)]
struct Decisions {
    all: Vec<Decision>,
}

impl Sink for Decisions {
    fn event(&mut self, event: &Event) {
        if let Some(last) = self.all.last_mut() {
            last.because(event);
        }
        if self.all.len() < MOST {
            self.all.extend(Decision::of(event));
        }
    }
}

/// Compares decisions with those of another run, whatever their reasons.
struct Comparison<'a> {
    with: &'a [Decision],
    /// Number of decisions that are the same.
    same: usize,
    /// The first one that is not.
    other: Option<Decision>,
}

impl Sink for Comparison<'_> {
    fn event(&mut self, event: &Event) {
        if let Some(other) = &mut self.other {
            if other.reason.is_none() && event.time == other.event.time {
                other.because(event);
            }
            return;
        }
        let Some(decision) = Decision::of(event).filter(|_| self.same < MOST) else { return };
        match self.with.get(self.same) {
            Some(with) if with.event == *event => self.same += 1,
            _ => self.other = Some(decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_machine::Machine;
    use hearth_sim::Native;
    use hearth_workload::Workload;

    fn difference(first: &str, second: &str) -> (usize, Option<Difference>) {
        let machine = Machine::load("xeon-5218").unwrap();
        let workload = Workload::resolve("fork-wait:iterations=3").unwrap();
        let native = |name: &str| Native::build(hearth_policy::load(name).unwrap()).unwrap();
        let (one, other) = (native(first), native(second));
        first_difference(&Job::new(&workload, &machine, &one), &Job::new(&workload, &machine, &other))
            .unwrap()
    }

    #[test]
    fn a_policy_does_not_differ_from_itself() {
        let (same, difference) = difference("nest", "nest");
        assert!(same > 10 && difference.is_none(), "{same}");
    }

    #[test]
    fn the_first_decision_that_differs_is_found() {
        let found = difference("cfs", "ule").1.unwrap();
        let (cfs, ule) = (found.first.unwrap(), found.second.unwrap());
        assert!(cfs.starts_with("starts sh (3) on core ") && cfs.ends_with(" because cfs"), "{cfs}");
        assert!(ule.starts_with("starts sh (3) on core "), "{ule}");
        assert!(found.time_ns > 0);
        let found = difference("cfs", "nest").1.unwrap();
        assert!(found.second.unwrap().contains(" spin"));
    }
}
