//! Random policies: a built-in policy with random additions and with parts of others, mutants of built-in policies, and
//! policies of known kinds.

use super::kinds;
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
const BASES: [&str; 14] = [
    "cfs-cwc-flat",
    "cfs-cwc-flat",
    "cfs-cwc-flat",
    "cfs-cwc-flat",
    "ule-cwc",
    "ule-cwc",
    "cfs-cwc",
    "cfs-cwc",
    "nest",
    "nest",
    "smove",
    "smove",
    "cfs",
    "ule",
];

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
        if rng.random_bool(0.4) {
            return load(kinds::policy(&mut rng));
        }
        let (base, subject, mutants) = self.bases.choose(&mut rng).expect("there are bases");
        if rng.random_bool(0.3) {
            let mutant = mutants.choose(&mut rng).expect("there are mutants");
            let text = format!("{}:{}: {} -> {}", mutant.file, mutant.line, mutant.before, mutant.after);
            return (text, subject.compile(mutant).and_then(Result::ok).filter(|_| is_text(mutant)));
        }
        load(Generator { rng, base, names: 0 }.policy())
    }
}

/// Compiles a text, which it returns too.
fn load(text: String) -> (String, Option<Policy>) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("random.ipa");
    std::fs::write(&path, &text).expect("a file");
    let policy = hearth_policy::load(&path.display().to_string());
    (text, policy.ok())
}

fn is_text(mutant: &Mutant) -> bool {
    matches!(mutant.change, hearth_mutate::Change::Text { .. })
}

struct Generator<'b> {
    rng: SmallRng,
    base: &'b Policy,
    /// Number of local variables so far.
    names: u32,
}

/// Other versions of parts of policies. A part is left out if the base has nothing of this name to override.
const PARTS: [(&str, &str); 35] = [
    ("choose_wakeup", "core choose_wakeup(thread t, core waker) { return t.core; }"),
    (
        "choose_wakeup",
        "core choose_wakeup(thread t, core waker) { if (waker in idle) return waker; return super.choose_wakeup(t, waker); }",
    ),
    (
        "choose_wakeup",
        "core choose_wakeup(thread t, core waker) { return first(core c in idle & t.affinity nearest waker) else super.choose_wakeup(t, waker); }",
    ),
    (
        "choose_wakeup",
        "core choose_wakeup(thread t, core waker) { core c = super.choose_wakeup(t, waker); return c in idle ? c : (first(core x in idle & t.affinity nearest c) else c); }",
    ),
    (
        "choose_wakeup",
        "core choose_wakeup(thread t, core waker) { core c = super.choose_wakeup(t, waker); if (c in t.affinity) c = waker; return c; }",
    ),
    (
        "choose_wakeup",
        "core choose_wakeup(thread t, core waker) { return min(core c in a & t.affinity nearest waker by c.nr_running) else super.choose_wakeup(t, waker); }",
    ),
    ("choose_fork", "core choose_fork(thread t, core parent) { return parent; }"),
    (
        "choose_fork",
        "core choose_fork(thread t, core parent) { return first(core c in idle & t.affinity nearest parent) else super.choose_fork(t, parent); }",
    ),
    ("choose_fork", "core choose_fork(thread t, core parent) { return choose_wakeup(t, parent); }"),
    ("fallback", "core fallback(thread t, core c) { return c; }"),
    ("fallback", "core fallback(thread t, core c) { return first(core x in t.affinity nearest c) else c; }"),
    (
        "least_loaded",
        "core least_loaded(thread t, core near) { return first(core c in idle & t.affinity nearest near) else super.least_loaded(t, near); }",
    ),
    (
        "least_loaded",
        "core least_loaded(thread t, core near) { return min(core c in t.affinity nearest near by c.nr_ready) else near; }",
    ),
    ("charge", "void charge(thread t) { thread u = t; super.charge(u); u.spot = u.core; }"),
    ("charge", "void charge(thread t) { super.charge(t); t.share = min(max(t.share * 3, 1), 4096); }"),
    ("charge", "void charge(thread t) { super.charge(t); t.share = t.share * 1000000000000; }"),
    ("load_of", "load load_of(core c) { return super.load_of(c) + 1; }"),
    ("take", "bool take(core c) { return claim(c); }"),
    ("take", "bool take(core c) { return c in idle; }"),
    ("take", "bool take(core c) { return c in idle && claim(c); }"),
    ("promote", "void promote(core c) { reserve.remove(c); primary.add(c); }"),
    ("promote", "void promote(core c) { primary.add(c); }"),
    ("promote", "void promote(core c) { if (!(c in reserve)) primary.add(c); }"),
    ("demote", "void demote(core c) { if (reserve_nest) set_aside(c); primary.remove(c); }"),
    ("demote", "void demote(core c) { primary.remove(c); }"),
    ("set_aside", "void set_aside(core c) { if (!(c in primary)) reserve.add(c); }"),
    ("set_aside", "void set_aside(core c) { if (reserve.add(c) && c in primary) reserve.remove(c); }"),
    ("stale", "bool stale(core c) { return c in idle; }"),
    (
        "defer",
        "void defer(thread t, core chosen, core waker) { t.chosen = waker; arm(t, delay); t => chosen.ready because cfs; }",
    ),
    (
        "defer",
        "void defer(thread t, core chosen, core waker) { if (!(waker in t.affinity)) t => chosen.ready because cfs; t.chosen = waker; arm(t, delay); t => waker.ready because local; }",
    ),
    (
        "defer",
        "void defer(thread t, core chosen, core waker) { t.chosen = chosen; thread u = t; if (waker in a) u.chosen = waker; arm(u, delay); t => chosen.ready because local; }",
    ),
    ("newly_idle", "on newly_idle (core c) { pull(c, waiting); }"),
    (
        "newly_idle",
        "on newly_idle (core c) { pull(c, waiting & llc(c)); if (c.nr_ready == 0) pull(c, waiting); }",
    ),
    ("balance", "on balance (core c) { pull(c, waiting); for (core i in idle nearest c) pull(i, waiting); }"),
    (
        "balance",
        "on balance (core c) { if (c.nr_ready > 0) for (core i in idle nearest c) pull(i, waiting); }",
    ),
];

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
    fn policy(&mut self) -> String {
        let invariant = self.one(&["a & b", "a & b", "a - b", "a - b", "a & (b | z)"]);
        let mut text = format!(
            "policy random extends {} {{\n  param pause : time in 1us..1s = 10ms;\n  \
             set a;\n  set b;\n  set z max 1;\n  invariant held : empty({invariant});\n  \
             thread {{ core? spot; }}\n  global {{ core? anchor; int rounds = 0; }}\n",
            self.base.name()
        );
        // Functions that handlers call: their parameters are not the handlers'.
        text += &format!("  void shift(core x, core y) {{{} }}\n", self.statement("y", "", 1));
        text += &format!("  void mark(core x, thread u) {{{} }}\n", self.statement("x", "u", 1));
        let additions = if self.rng.random_bool(0.5) { 1 } else { self.rng.random_range(2..=4) };
        let mut handlers: Vec<_> = HANDLERS.to_vec();
        let (mut timer, mut steal) = (false, false);
        let mut parts = self.parts();
        for _ in 0..additions {
            match self.rng.random_range(0..6) {
                2 | 3 if !parts.is_empty() => {
                    let (name, part) = parts.swap_remove(self.rng.random_range(0..parts.len()));
                    text += &format!("  {part}\n");
                    parts.retain(|(other, _)| *other != name);
                    handlers.retain(|(event, ..)| event.name() != name);
                }
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
                    parts.retain(|(name, _)| *name != event.name());
                    let body = self.handler(event, thread, cores);
                    text += &format!("  on {} ({params}) {{ {body} }}\n", event.name());
                }
            }
        }
        // A timer's handler alone does nothing.
        if timer && !text.contains("arm(") {
            let event = self.one(&["tick", "yield", "preempt"]);
            if !text.contains(&format!("on {event} ")) && self.base.name() != "smove" {
                text += &format!("  on {event} (thread t) {{ t.spot = t.core; arm(t, pause); super; }}\n");
            }
        }
        text + "}\n"
    }

    fn parts(&self) -> Vec<(&'static str, &'static str)> {
        let ir = self.base.ir();
        let has = |name: &str| ir.functions.iter().any(|function| function.name == name);
        PARTS.into_iter().filter(|(name, _)| has(name)).collect()
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
        let sets = match self.base.name() == "nest" && self.rng.random_bool(0.5) {
            true => ["primary", "reserve"],
            false => ["a", "b"],
        };
        let [s, o] = if self.rng.random_bool(0.5) { sets } else { [sets[1], sets[0]] };
        let choices = if depth == 0 { 6 } else { 18 };
        match self.rng.random_range(0..choices) {
            0 => format!(" {s}.add({core});"),
            1 => format!(" {s}.remove({core});"),
            2 => format!(" {s}.add({core}); {o}.remove({core});"),
            3 => format!(" {o}.remove({core}); {s}.add({core});"),
            4 if !thread.is_empty() => {
                let spot = if self.base.name() == "smove" { "chosen" } else { "spot" };
                format!(" {thread}.{spot} = {core};")
            }
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
            13 if depth > 1 => format!(" shift({core}, first(core q in {s} nearest {core}) else {core});"),
            14 if depth > 1 && !thread.is_empty() => format!(" mark({core}, {thread});"),
            15 => {
                self.names += 1;
                let v = format!("v{}", self.names);
                let before = self.statement(&v, thread, 0);
                let after = self.statement(&v, thread, 0);
                let over = self.set(core);
                format!(" core {v} = {core};{before} for (core q in {over}) if (q in {o}) {v} = q;{after}")
            }
            16 if !thread.is_empty() => {
                self.names += 1;
                let u = format!("u{}", self.names);
                format!(" thread {u} = {thread};{}", self.statement(core, &u, 0))
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
