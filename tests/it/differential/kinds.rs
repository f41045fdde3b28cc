//! Random changes of a small CFS, each of a kind that was once called proved and is refuted: the order of a queue, the end of
//! a turn, preemptions that come back, balances that change what they compare, and names that the emitter may use too.

use rand::Rng;
use rand::rngs::SmallRng;
use rand::seq::IndexedRandom;

/// A policy of one or two kinds.
pub fn policy(rng: &mut SmallRng) -> String {
    if rng.random_bool(0.15) {
        return format!("policy kind extends cfs-cwc-flat {{\n  {}\n}}\n", hostile(rng));
    }
    let mut kinds: Vec<fn(&mut SmallRng) -> String> =
        vec![enqueue, charge, tick, preempt, schedule, newly_idle, balance];
    let mut text = "policy kind extends cfs-cwc-flat {\n".to_owned();
    // Two faults may hide each other.
    for _ in 0..if rng.random_bool(0.8) { 1 } else { 2 } {
        let kind = kinds.swap_remove(rng.random_range(0..kinds.len()));
        text += &format!("  {}\n", kind(rng));
    }
    text + "}\n"
}

fn one<'a>(rng: &mut SmallRng, of: &[&'a str]) -> &'a str {
    of.choose(rng).expect("a choice")
}

fn enqueue(rng: &mut SmallRng) -> String {
    let guard = one(
        rng,
        &["if (core h = t.home) if (h == c) return;", "if (core h = t.home) if (h == c) return;", ""],
    );
    // A thread without a home never returns to it, so nothing need hold of its return.
    let homeless = rng.random_bool(0.5);
    let home: &[&str] = match homeless {
        true => &["t.home = none;", "", "if (c.nr_ready > 0) t.home = c;"],
        false => &["t.home = c;", "t.home = c;", "t.home = t.core;"],
    };
    let key: &[&str] = match homeless {
        true => &["t.vruntime = 0ms - now;", "t.vruntime = c.min_vruntime - 1s;", "t.vruntime -= 1s;"],
        false => &[
            "t.vruntime = max(t.vruntime, c.min_vruntime);",
            "t.vruntime = min(t.vruntime, c.min_vruntime);",
            "t.vruntime = c.min_vruntime + t.vruntime;",
            "t.vruntime = c.min_vruntime - 1s;",
            "super;",
            "",
        ],
    };
    let (home, key) = (one(rng, home), one(rng, key));
    let first = one(
        rng,
        &["", "", "if (thread f = first(thread f in c.ready)) t.vruntime = f.vruntime - 1us;", "preempt(c);"],
    );
    let parts = if rng.random_bool(0.5) { [home, key] } else { [key, home] };
    format!("on enqueue (thread t, core c) {{ {guard} {} {first} }}", parts.join(" "))
}

fn charge(rng: &mut SmallRng) -> String {
    let key = one(
        rng,
        &[
            "t.vruntime += ran;",
            "t.vruntime -= ran;",
            "t.vruntime += ran * 1024 / t.weight;",
            "t.vruntime += ran / 1000;",
            "t.vruntime += 576460752303423488ns;",
            "t.vruntime += ran * t.weight * t.weight * t.weight;",
            "t.vruntime += max(ran, 1us);",
            "if (t.weight > 1000) t.vruntime += ran;",
            "t.vruntime = ran;",
            "if (ran > 20ms) t.vruntime += ran;",
        ],
    );
    let mark = one(rng, &["t.charged = t.runtime;", "t.charged = t.runtime;", "", "t.charged = t.turn;"]);
    let line = one(rng, &["advance(t.core, t);", "", "t.core.min_vruntime = t.vruntime;"]);
    format!("void charge(thread t) {{ time ran = t.runtime - t.charged; {key} {mark} {line} }}")
}

fn tick(rng: &mut SmallRng) -> String {
    let long = one(
        rng,
        &[
            "t.runtime - t.turn < quantum",
            "t.runtime - t.turn < quantum * 2",
            "t.runtime - t.charged < quantum",
            "t.runtime < quantum",
            "t.runtime - t.turn < quantum / t.core.nr_running",
        ],
    );
    let turn = one(rng, &["t.turn = t.runtime;", "", "if (t.core.nr_ready == 0) t.turn = t.runtime;"]);
    let charge = one(rng, &["charge(t);", "charge(t);", ""]);
    let test = one(
        rng,
        &[
            "t.core.nr_ready > 0",
            "t.core.nr_ready > 1",
            "t.core.nr_running > 1",
            "t.weight > 1024",
            "t.core in waiting",
        ],
    );
    format!("on tick (thread t) {{ if ({long}) return; {charge} {turn} if ({test}) preempt(t.core); }}")
}

fn preempt(rng: &mut SmallRng) -> String {
    let charge = one(rng, &["charge(t);", "charge(t);", "charge(t);", ""]);
    let goes = one(
        rng,
        &[
            "t => choose_wakeup(t, t.core).ready;",
            "if (core i = first(core i in idle & t.affinity nearest t.core)) t => i.ready; t => t.core.ready;",
            "t => (first(core x in t.affinity from t.core where x != t.core) else t.core).ready;",
            "t => (min(core x in t.affinity nearest t.core by load_of(x)) else t.core).ready;",
            "t => t.core.ready;",
        ],
    );
    let also = one(rng, &["", "", "t.vruntime = t.core.min_vruntime;", "t.home = none;"]);
    let or_yield = one(rng, &["preempt", "preempt", "yield"]);
    format!("on {or_yield} (thread t) {{ {charge} {also} {goes} }}")
}

fn schedule(rng: &mut SmallRng) -> String {
    let taken = one(
        rng,
        &[
            "first(thread t in c.ready)",
            "min(thread t in c.ready by t.vruntime)",
            "max(thread t in c.ready by t.vruntime)",
            "min(thread t in c.ready by t.turn)",
            "first(thread t in c.ready where t.weight > 0)",
        ],
    );
    let line =
        one(rng, &["c.min_vruntime = max(c.min_vruntime, t.vruntime);", "c.min_vruntime = t.vruntime;", ""]);
    let turn = one(rng, &["t.turn = t.runtime;", "t.turn = t.runtime;", ""]);
    let also = one(rng, &["", "", "t.vruntime = c.min_vruntime;", "t.home = none;"]);
    format!("on schedule (core c) {{ if (thread t = {taken}) {{ {line} {turn} {also} t => running; }} }}")
}

fn newly_idle(rng: &mut SmallRng) -> String {
    let pull = "pull(c, waiting);";
    let preempt = one(
        rng,
        &[
            "for (core o in online) preempt(o);",
            "for (core o in online) if (o != c) preempt(o);",
            "for (core o in waiting) preempt(o);",
            "if (c.nr_ready == 0) for (core o in online) preempt(o);",
        ],
    );
    let order = if rng.random_bool(0.5) { [pull, preempt] } else { [preempt, pull] };
    let event = one(rng, &["newly_idle", "newly_idle", "newly_idle", "enter_idle"]);
    let goes = match rng.random_bool(0.8) {
        true => "on preempt (thread t) { charge(t); t => choose_wakeup(t, t.core).ready; }",
        false => "",
    };
    format!("on {event} (core c) {{ {} }} {goes}", order.join(" "))
}

/// Balances that assign to what their load adds up.
fn balance(rng: &mut SmallRng) -> String {
    let own = one(rng, &["share", "heft", "heft", "heft"]);
    let declared = match own {
        "heft" => {
            "thread { load heft = 1; }
  load load_of(core c) {
    load running = 0;
    if (thread t = c.current) running = t.heft;
    return running + sum(thread t in c.ready of t.heft);
  }
  steal pull (core dst, set from) {
    can_steal_core (core src) { return src.nr_ready > 0 && src.nr_running >= 2; }
    select_core (core src) max by load_of(src) nearest dst;
    steal_thread (thread t) { return load_of(t.core) - load_of(dst) > t.heft && dst in t.affinity; }
    stop_core { return stolen > 0; }
    stop { return stolen > 0; }
    move (thread t) { t => dst.ready because balance; }
  }
"
        }
        _ => "",
    };
    let mut sets = |core: &str| {
        let value = one(rng, &["1", "2", "4", "8"]);
        let current = format!("if (thread r = {core}.current) r.{own} = {value};");
        let ready = format!("for (thread x in {core}.ready) x.{own} = {value};");
        match rng.random_range(0..6) {
            0 => ready,
            1 => current,
            _ => format!("{current} {ready}"),
        }
    };
    let (here, there) = (sets("c"), sets("o"));
    let there = format!("if (core o = first(core x in waiting from c where x != c)) {{ {there} }}");
    let gate = one(rng, &["if (now < c.next) return; c.next = now + interval;", ""]);
    let moves = one(
        rng,
        &[
            "for (core i in online from c) { int before = i.nr_ready; pull(i, waiting); if (i.nr_ready > before) return; }",
            "pull(c, waiting); if (c.nr_ready > 0) for (core i in idle nearest c) pull(i, waiting);",
            "for (core i in online from c) { int before = i.nr_ready; pull(i, waiting); if (i.nr_ready > before) return; }",
            "for (core i in online from c) pull(i, waiting);",
        ],
    );
    let writes = match rng.random_range(0..6) {
        0 => here,
        1 => there,
        _ => here + " " + &there,
    };
    format!("{declared}  on balance (core c) {{ {gate} {writes} {moves} }}")
}

/// Names that an emitter may give to something of its own, or that are words of WhyML or C.
const NAMES: [&str; 24] = [
    "of",
    "n",
    "now_state",
    "own_core",
    "own_thread",
    "present",
    "moved",
    "preempted",
    "state",
    "nr",
    "current",
    "world",
    "result",
    "old",
    "mem",
    "total",
    "is_core",
    "sum_0",
    "goal",
    "use",
    "ref",
    "val",
    "struct",
    "start",
];

/// A declaration and a local variable whose names may become the same, and a decision that depends on both.
fn hostile(rng: &mut SmallRng) -> String {
    let word = one(rng, &["gate", "share", "home", "next", "of", "x"]);
    let number = one(rng, &["_0", "_1", "_2", "_3", "", "0", "1"]);
    let kind = one(rng, &["param", "param", "global"]);
    let (declared, local) = match rng.random_bool(0.7) {
        true => (format!("{word}{number}"), format!("{kind}_{word}")),
        false => (one(rng, &NAMES).to_owned(), one(rng, &NAMES).to_owned()),
    };
    let declaration = match kind {
        "param" => format!("param {declared} : int in 0..1 = 0;"),
        _ => format!("global {{ int {declared} = 0; }}"),
    };
    let test = format!("int {local} = 1; if ({declared} < {local})");
    let handler = match rng.random_range(0..5) {
        0 | 1 => format!("on newly_idle (core c) {{ {test} return; pull(c, waiting); }}"),
        2 => format!("on unblock (thread t, core waker) {{ {test} t => t.core.ready; super; }}"),
        3 => format!("on tick (thread t) {{ {test} return; super; }}"),
        _ => format!("on balance (core c) {{ {test} return; super; }}"),
    };
    let attribute = match rng.random_bool(0.3) {
        true => {
            let name = one(rng, &NAMES);
            format!("thread {{ int {name}; }} on block (thread t) {{ t.{name} = 1; super; }}")
        }
        false => String::new(),
    };
    format!("{declaration} {attribute} {handler}")
}
