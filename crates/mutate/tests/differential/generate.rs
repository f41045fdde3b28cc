//! Random policies: a built-in policy with random additions, and mutants of built-in policies.

use hearth_ipanema::ir::Event;
use hearth_mutate::{Mutant, Subject, mutants};
use hearth_policy::Policy;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

/// What random policies are made from.
pub struct Material {
    bases: Vec<(Policy, Subject, Vec<Mutant>)>,
}

/// The bases, by how often they are used: proofs of the first ones are fast.
const BASES: [&str; 8] =
    ["cfs-cwc-flat", "cfs-cwc-flat", "cfs-cwc-flat", "ule-cwc", "ule-cwc", "cfs-cwc", "smove", "slocal"];

impl Material {
    pub fn new() -> Material {
        let base = |name: &&str| {
            let policy = hearth_policy::load(name).expect("a built-in policy");
            let subject = Subject::new(policy.clone());
            let mutants = mutants(&subject);
            (policy, subject, mutants)
        };
        Material { bases: BASES.iter().map(base).collect() }
    }

    /// The policy of a seed, with its text or a description; `Err`: the compiler rejects it.
    pub fn policy(&self, seed: u64) -> (String, Option<Policy>) {
        let mut rng = SmallRng::seed_from_u64(seed);
        let (base, subject, mutants) = self.bases.choose(&mut rng).expect("there are bases");
        if rng.random_bool(0.3) {
            let mutant = mutants.choose(&mut rng).expect("there are mutants");
            let text = format!("{}:{}: {} -> {}", mutant.file, mutant.line, mutant.before, mutant.after);
            return (text, subject.compile(mutant).and_then(Result::ok).filter(|_| is_text(mutant)));
        }
        let text = Generator { rng, base }.policy(seed);
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("random.ipa");
        std::fs::write(&path, &text).expect("a file");
        let policy = hearth_policy::load(&path.display().to_string());
        (text, policy.ok())
    }
}

fn is_text(mutant: &Mutant) -> bool {
    matches!(mutant.change, hearth_mutate::Change::Text { .. })
}

struct Generator<'b> {
    rng: SmallRng,
    base: &'b Policy,
}

/// Handlers that a policy may extend: their parameters, the thread if there is one, and cores.
const HANDLERS: [(Event, &str, &str, &[&str]); 12] = [
    (Event::New, "thread t, core parent", "t", &["parent"]),
    (Event::Unblock, "thread t, core waker", "t", &["waker", "t.core"]),
    (Event::Enqueue, "thread t, core c", "t", &["c"]),
    (Event::Tick, "thread t", "t", &["t.core"]),
    (Event::Yield, "thread t", "t", &["t.core"]),
    (Event::Preempt, "thread t", "t", &["t.core"]),
    (Event::Block, "thread t", "t", &["t.core"]),
    (Event::Terminate, "thread t", "t", &["t.core"]),
    (Event::NewlyIdle, "core c", "", &["c"]),
    (Event::EnterIdle, "core c", "", &["c"]),
    (Event::ExitIdle, "core c", "", &["c"]),
    (Event::Balance, "core c", "", &["c"]),
];

impl Generator<'_> {
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of.choose(&mut self.rng).expect("a choice")
    }

    fn queue(&self) -> &str {
        if self.base.name().starts_with("ule") { "timeshare" } else { "ready" }
    }

    /// Half of the policies have one addition, so that one fault is not hidden behind another.
    fn policy(&mut self, seed: u64) -> String {
        let invariant = self.one(&["a & b", "a & b", "a - b", "a - b", "a & (b | z)"]);
        let mut text = format!(
            "policy random-{seed} extends {} {{\n  param pause : time in 1us..1s = 10ms;\n  \
             set a;\n  set b;\n  set z max 1;\n  invariant held : empty({invariant});\n  \
             thread {{ core? spot; }}\n  global {{ core? anchor; int rounds = 0; }}\n",
            self.base.name()
        );
        let additions = if self.rng.random_bool(0.5) { 1 } else { self.rng.random_range(2..=4) };
        let mut handlers: Vec<_> = HANDLERS.to_vec();
        let (mut timer, mut steal) = (false, false);
        for _ in 0..additions {
            match self.rng.random_range(0..4) {
                0 if !timer => {
                    timer = true;
                    text += &self.timer();
                }
                1 if !steal => {
                    steal = true;
                    text += &self.steal();
                }
                _ => {
                    let at = self.rng.random_range(0..handlers.len());
                    let (event, params, thread, cores) = handlers.swap_remove(at);
                    let body = self.handler(event, thread, cores);
                    text += &format!("  on {} ({params}) {{ {body} }}\n", event.name());
                }
            }
        }
        // A timer's handler alone does nothing.
        if timer && !text.contains("arm(") {
            let event = self.one(&["tick", "yield", "preempt"]);
            if !text.contains(&format!("on {event} ")) {
                text += &format!("  on {event} (thread t) {{ t.spot = t.core; arm(t, pause); super; }}\n");
            }
        }
        text + "}\n"
    }

    fn handler(&mut self, event: Event, thread: &str, cores: &[&str]) -> String {
        let mut body = String::new();
        for _ in 0..self.rng.random_range(1..=2) {
            let core = self.one(cores);
            body += &self.statement(core, thread, 2);
        }
        if matches!(event, Event::New | Event::Unblock) && self.rng.random_bool(0.6) {
            body += &self.placement(cores[0]);
        }
        if matches!(event, Event::NewlyIdle | Event::Balance) && self.rng.random_bool(0.5) {
            let victims = self.one(&["waiting", "waiting & llc(c)", "online", "waiting - a", "idle"]);
            return match self.rng.random_bool(0.3) {
                true => format!("{body} for (core i in idle nearest c) pull(i, {victims});"),
                false => format!("{body} pull(c, {victims});"),
            };
        }
        let has_base = self.base.ir().handler(event).is_some();
        // Leaving out the base's handler is a mistake that checks have to find.
        let needs = !matches!(event, Event::Tick | Event::NewlyIdle | Event::Balance | Event::Enqueue);
        if has_base && (needs || self.rng.random_bool(0.9)) {
            body += " super;";
        }
        body
    }

    fn placement(&mut self, near: &str) -> String {
        let set = self.one(&[
            "idle & t.affinity",
            "idle",
            "a & idle & t.affinity",
            "t.affinity",
            "idle & t.affinity - b",
        ]);
        let filter = self.one(&[
            "",
            " where claim(c)",
            " where c.nr_running == 0",
            " where !(c in a)",
            " where c in idle",
        ]);
        let after = match self.rng.random_bool(0.4) {
            true => self.statement("c", "t", 1),
            false => String::new(),
        };
        let queue = self.queue();
        format!(
            " if (core c = first(core c in {set} nearest {near}{filter})) {{ {after} t => c.{queue} because random; }}"
        )
    }

    fn set(&mut self, core: &str) -> String {
        match self.rng.random_range(0..8) {
            0 => "a | b".into(),
            1 => "a - b".into(),
            2 => "b & idle".into(),
            3 => "idle - a".into(),
            4 => format!("llc({core})"),
            n => ["a", "b", "idle"][n - 5].into(),
        }
    }

    /// A statement about a core, and a thread if there is one.
    fn statement(&mut self, core: &str, thread: &str, depth: u32) -> String {
        let [s, o] = if self.rng.random_bool(0.5) { ["a", "b"] } else { ["b", "a"] };
        let choices = if depth == 0 { 6 } else { 14 };
        match self.rng.random_range(0..choices) {
            0 => format!(" {s}.add({core});"),
            1 => format!(" {s}.remove({core});"),
            2 => format!(" {s}.add({core}); {o}.remove({core});"),
            3 => format!(" {o}.remove({core}); {s}.add({core});"),
            4 if !thread.is_empty() => format!(" {thread}.spot = {core};"),
            4 => format!(" if (anchor == none) anchor = {core};"),
            5 if !thread.is_empty() => {
                let after = self.one(&["10ms", "pause", "1us"]);
                format!(" arm({thread}, {after});")
            }
            5 => " z.add(".to_owned() + core + ");",
            6 => format!(" if ({core} in {s}) {{{}}}", self.statement(core, thread, depth - 1)),
            7 => format!(" if (!({core} in {s})) {{{}}}", self.statement(core, thread, depth - 1)),
            8 => format!(" if ({s}.add({core})) {o}.remove({core});"),
            9 => format!(" {s}.add({core}); if ({core} in {o}) {s}.remove({core});"),
            10 => {
                let over = self.set(core);
                let inner = self.statement("y", thread, 0);
                format!(" for (core y in {over}) {{{inner} }}")
            }
            11 => format!(" {s} = {};", self.set(core)),
            12 => {
                let least = self.rng.random_range(0..3);
                let then = self.statement(core, thread, 0);
                format!(" rounds += 1; if (rounds > {least}) {{{then} }}")
            }
            _ => match self.base.name().starts_with("cfs-cwc") && !thread.is_empty() {
                true => {
                    let value = self.one(&[
                        "1",
                        "0",
                        "{t}.share * 2",
                        "max({t}.share - 1, 1)",
                        "{t}.weight",
                        "min(max({t}.share * 3, 1), 4096)",
                    ]);
                    format!(" {thread}.share = {};", value.replace("{t}", thread))
                }
                false => format!(" z.remove({core});"),
            },
        }
    }

    fn timer(&mut self) -> String {
        let queue = self.queue().to_owned();
        let body = match self.rng.random_range(0..4) {
            0 => format!("if (core c = t.spot) t => c.{queue} because timer;"),
            1 => format!("if (core c = t.spot) if (c in t.affinity) t => c.{queue} because timer;"),
            2 => format!("if (core c = anchor) t => c.{queue} because timer;"),
            _ => format!(
                "if (core c = first(core c in idle & t.affinity nearest t.core)) t => c.{queue} because timer; arm(t, pause);"
            ),
        };
        format!("  on timer (thread t) {{ {body} }}\n")
    }

    fn steal(&mut self) -> String {
        let n = self.rng.random_range(1..=3);
        let sound = self.rng.random_bool(0.5);
        let filter = match self.rng.random_range(0..4) {
            _ if sound => "src.nr_ready > 0 && src.nr_running >= 2".into(),
            0 => "src.nr_ready > 0".into(),
            1 => format!("src.nr_running >= dst.nr_running + {n}"),
            2 => format!("src.nr_ready > 0 && src.nr_running >= {n} && !(src in a)"),
            _ => format!("src.nr_ready > 0 && src.nr_running >= {n}"),
        };
        let rule = match self.base.name().starts_with("cfs-cwc") {
            true => self.one(&[
                "dst in t.affinity",
                "load_of(t.core) - load_of(dst) > t.share && dst in t.affinity",
                "load_of(t.core) > load_of(dst) && dst in t.affinity",
                "true",
            ]),
            false => self.one(&["dst in t.affinity", "true", "t.weight > 100 && dst in t.affinity"]),
        };
        let rule = if sound { "dst in t.affinity" } else { rule };
        let stop_core = self.one(if sound {
            &["stolen > 0"]
        } else {
            &["stolen > 0", "stolen >= 2", "stolen >= 0", "false"]
        });
        let stop = self.one(&["stolen > 0", "stolen >= 1", "stolen >= 2"]);
        let effect = match sound || self.rng.random_bool(0.5) {
            true => self.statement("dst", "t", 1) + &self.statement("dst", "t", 1),
            false => String::new(),
        };
        let queue = self.queue();
        format!(
            "  steal pull (core dst, set from) {{\n    can_steal_core (core src) {{ return {filter}; }}\n    \
             select_core (core src) max by src.nr_running nearest dst;\n    steal_thread (thread t) {{ return {rule}; }}\n    \
             stop_core {{ return {stop_core}; }}\n    stop {{ return {stop}; }}\n    \
             move (thread t) {{{effect} t => dst.{queue} because balance; }}\n  }}\n"
        )
    }
}
