//! Properties for every machine, governor and sequence of calls.

use crate::common::machine;
use hearth_machine::{Governor, Machine, Model};
use proptest::prelude::*;

/// A call that a simulator may make.
#[derive(Debug, Clone, Copy)]
enum Call {
    Active(u16, bool),
    /// A core, the core that calls, and the utilisation.
    Util(u16, u16, u32),
    Tick(u16),
    Nothing,
}

/// Time since the previous call, and the call.
type Step = (u64, Call);

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => (any::<u16>(), any::<bool>()).prop_map(|(c, a)| Call::Active(c, a)),
        3 => (0u16..12, prop::option::of(0u16..12), 0u32..1100)
            .prop_map(|(core, other, util)| Call::Util(core, other.unwrap_or(core), util)),
        1 => any::<u16>().prop_map(Call::Tick),
        1 => Just(Call::Nothing),
    ]
}

/// Gaps from zero to longer than any time constant, mostly around an update window.
fn gap() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1u64..2_000, 1u64..2_000_000, 1u64..40_000_000, Just(500_000), 1u64..300_000_000,]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec((gap(), call()), 1..80)
}

fn machines() -> impl Strategy<Value = Machine> {
    let base = prop::sample::select(Machine::names().collect::<Vec<_>>());
    (base, prop::option::of((1u16..4, 1u16..7))).prop_map(|(name, scaled)| {
        let m = machine(name);
        match scaled {
            Some((sockets, cores)) => m.scaled(sockets, cores).expect("possible"),
            None => m,
        }
    })
}

fn governors() -> impl Strategy<Value = Governor> {
    prop::sample::select(Governor::ALL.to_vec())
}

/// Maps a number to one of few cores, so that calls hit the same core.
fn pick(m: &Machine, core: u16) -> u16 {
    core % 12 % m.topology.core_count() as u16
}

fn apply(model: &mut Model, m: &Machine, now: u64, call: Call) {
    match call {
        Call::Active(core, active) => model.set_active(now, pick(m, core), active),
        Call::Util(core, from, util) => {
            model.update_util(now, pick(m, core), pick(m, from), || util);
        }
        Call::Tick(core) => {
            model.tick(now, pick(m, core));
        }
        Call::Nothing => model.advance(now),
    }
}

/// All observable state of a model.
fn view(model: &mut Model, m: &Machine, now: u64) -> (Vec<(u32, u32)>, u64, u64) {
    let cores = 0..m.topology.core_count() as u16;
    let khz = cores.map(|c| (model.khz(c), model.seen_khz(c))).collect();
    (khz, model.energy_uj(now).unwrap_or(0), model.next_change())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(50, 800)))]

    #[test]
    fn frequencies_are_possible(m in machines(), governor in governors(), steps in steps()) {
        let mut model = m.frequency_model(governor);
        let mut now = 0;
        let mut energy = 0;
        let mut active = vec![false; m.topology.core_count()];
        for (gap, call) in steps {
            now += gap;
            apply(&mut model, &m, now, call);
            if let Call::Active(core, on) = call {
                active[usize::from(pick(&m, core))] = on;
            }
            prop_assert!(model.next_change() > now, "never in the past");
            for core in 0..m.topology.core_count() as u16 {
                let khz = model.khz(core);
                prop_assert!((m.frequency.min_khz..=m.frequency.max_khz()).contains(&khz));
                let busy = m.topology.siblings(core).iter().any(|&s| active[usize::from(s)]);
                prop_assert!(!busy || khz <= model.limit_khz(core));
                prop_assert!(!active[usize::from(core)] || model.exit_latency_ns(now, core) == 0);
                prop_assert!(model.limit_khz(core) <= m.frequency.max_khz());
                let sibling = m.topology.siblings(core)[0];
                prop_assert_eq!(khz, model.khz(sibling));
            }
            let after = model.energy_uj(now).unwrap_or(0);
            prop_assert!(after >= energy, "energy never falls");
            energy = after;
        }
    }

    /// Extra queries and small steps in between do not change the result.
    #[test]
    fn extra_queries_do_not_change_results(
        m in machines(),
        governor in governors(),
        steps in steps(),
        parts in 1u64..7,
    ) {
        let mut big = m.frequency_model(governor);
        let mut small = m.frequency_model(governor);
        let mut now = 0;
        for (gap, call) in steps {
            for part in 1..parts {
                small.advance(now + gap * part / parts);
                small.energy_uj(now + gap * part / parts);
            }
            while small.next_change() < now + gap {
                let at = small.next_change();
                small.advance(at);
            }
            now += gap;
            apply(&mut big, &m, now, call);
            apply(&mut small, &m, now, call);
            prop_assert_eq!(view(&mut big, &m, now), view(&mut small, &m, now));
        }
    }

    /// A reader that looks only at the drained cores knows all frequencies.
    #[test]
    fn draining_misses_nothing(m in machines(), governor in governors(), steps in steps()) {
        let mut model = m.frequency_model(governor);
        let all = |model: &Model| -> Vec<u32> {
            (0..m.topology.physical_count() as u16)
                .map(|p| model.khz(m.topology.cores_of_physical(p)[0]))
                .collect()
        };
        let mut known = all(&model);
        let mut now = 0;
        for (gap, call) in steps {
            now += gap;
            apply(&mut model, &m, now, call);
            let mut changed = Vec::new();
            model.drain_changed(|p| changed.push(p));
            for &p in &changed {
                known[usize::from(p)] = model.khz(m.topology.cores_of_physical(p)[0]);
            }
            prop_assert_eq!(&known, &all(&model));
            changed.sort_unstable();
            prop_assert!(changed.windows(2).all(|w| w[0] < w[1]), "each once");
        }
    }

    /// Without further calls, no core counts and the machine draws idle power.
    #[test]
    fn an_idle_model_settles(m in machines(), governor in governors(), steps in steps()) {
        let mut model = m.frequency_model(governor);
        let mut now = 0;
        for (gap, call) in steps {
            now += gap;
            apply(&mut model, &m, now, call);
        }
        for core in 0..m.topology.core_count() as u16 {
            model.set_active(now, core, false);
        }
        let mut changes = 0;
        while model.next_change() != u64::MAX {
            let at = model.next_change();
            model.advance(at);
            changes += 1;
            prop_assert!(changes < 100_000);
        }
        let fresh = m.frequency_model(governor);
        prop_assert_eq!(model.power_uw(), fresh.power_uw());
        for socket in 0..m.topology.socket_count() as u16 {
            prop_assert_eq!(model.counted(socket), 0);
        }
    }

    /// A file with arbitrary numbers gives an error or a working machine.
    #[test]
    fn any_numbers_are_a_machine_or_an_error(
        numbers in prop::collection::vec((0usize..64, 0u64..5_000), 1..4),
        calls in steps(),
    ) {
        let mut text = include_str!("../../../../machines/xeon-5218.toml").to_owned();
        for (which, value) in numbers {
            text = replace_number(&text, which, value);
        }
        if let Ok(m) = Machine::parse("any", &text) {
            let mut model = m.frequency_model(Governor::Schedutil);
            let mut now = 0;
            for (gap, call) in calls {
                now += gap;
                apply(&mut model, &m, now, call);
                prop_assert!(model.next_change() > now);
            }
            model.energy_uj(now).unwrap_or(0);
        }
    }
}

/// `text` with the value of its `which`-th `key = number` line replaced.
fn replace_number(text: &str, which: usize, value: u64) -> String {
    let mut seen = 0;
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines() {
        let number = line
            .split_once(" = ")
            .filter(|(key, v)| !key.contains('#') && v.starts_with(|c: char| c.is_ascii_digit()));
        match number {
            Some((key, old)) => {
                let float = if old.contains('.') { ".0" } else { "" };
                lines.push(if seen == which { format!("{key} = {value}{float}") } else { line.to_owned() });
                seen += 1;
            }
            None => lines.push(line.to_owned()),
        }
    }
    lines.join("\n")
}

#[test]
fn the_test_replaces_numbers() {
    let text = "a = 1\nb = \"x\"\n# c = 3\nd = 2.5";
    assert_eq!(replace_number(text, 1, 7), "a = 1\nb = \"x\"\n# c = 3\nd = 7.0");
}
