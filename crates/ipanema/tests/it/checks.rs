//! Each check with a policy that it rejects and a similar one that passes.

use crate::harness::{compile_files, compile_text, compiles, is_c};
use hearth_ipanema::{Diagnostic, codes, emit};

/// A policy that extends CFS with `items`.
fn on_cfs(items: &str) -> String {
    format!("policy test extends cfs {{ {items} }}")
}

fn found(text: &str) -> Vec<Diagnostic> {
    match compile_text(text) {
        Ok(compiled) => compiled.warnings,
        Err(failed) => failed.diagnostics,
    }
}

#[track_caller]
fn refused(code: &str, text: &str) {
    let found = found(text);
    let all: Vec<String> = found.iter().map(|d| format!("{} {}", d.code.id, d.message)).collect();
    assert!(found.iter().any(|d| d.code.id == code), "no {code} in {all:#?} for {text}");
}

/// Asserts that the policy compiles without diagnostics, and that its C compiles.
#[track_caller]
fn passes(text: &str) {
    match compile_text(text) {
        Ok(compiled) => is_c(&emit::c(&compiled.ir)),
        Err(failed) => panic!("{failed}"),
    }
}

/// Asserts that `bad` is rejected and `good` passes, both as extensions of CFS.
#[track_caller]
fn check(code: hearth_ipanema::diagnostic::Code, bad: &str, good: &str) {
    refused(code.id, &on_cfs(bad));
    passes(&on_cfs(good));
}

// ---- names ------------------------------------------------------------------------------------

#[test]
fn a_base_must_exist() {
    refused("E0301", "policy test extends cfz { }");
    passes("policy test extends cfs { }");
}

/// Policy files: name and text.
fn found_in(files: &[(&str, &str)], name: &str) -> Vec<Diagnostic> {
    match compile_files(files, name) {
        Ok(compiled) => compiled.warnings,
        Err(failed) => failed.diagnostics,
    }
}

#[test]
fn a_base_file_declares_the_policy_of_its_name() {
    let test = ("test", "policy test extends calm { }");
    let found = found_in(&[test, ("calm", "policy clam extends cfs { }")], "test");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code.id, "E0303");
    assert_eq!(found_in(&[test, ("calm", "policy calm extends cfs { }")], "test"), []);
    // The compiled policy itself may have any file name, so that a copy can be tried.
    assert_eq!(found_in(&[("copy", "policy calm extends cfs { }")], "copy"), []);
}

#[test]
fn names_of_policies_may_have_hyphens() {
    let files = [
        ("cfs-cwc", "policy cfs-cwc extends cfs { on tick (thread t) { super; } }"),
        ("cfs-cwc-flat", "policy cfs-cwc-flat extends cfs-cwc { on tick (thread t) { super; } }"),
    ];
    let compiled = compile_files(&files, "cfs-cwc-flat").unwrap();
    assert_eq!(compiled.ir.name, "cfs-cwc-flat");
    assert_eq!(compiled.ir.bases, ["cfs-cwc", "cfs"]);
    let c = emit::c(&compiled.ir);
    compiles(&c);
    for part in [
        "SAAKM_POLICY(cfs_cwc_flat,",
        ".name = \"cfs-cwc-flat\"",
        "/* cfs-cwc.ipa:1 */",
        "struct cfs_cwc_flat_state",
        "CFS_CWC_FLAT_QUEUE_READY",
        "cfs_cwc_flat__cfs_cwc_on_tick(",
    ] {
        assert!(c.contains(part), "no {part} in\n{c}");
    }
    for bad in ["cfs -cwc", "cfs- cwc", "cfs-", "cfs--cwc", "-cfs", "cfs-1.5", "cfs-/**/cwc"] {
        refused("E0201", &format!("policy {bad} extends cfs {{ }}"));
    }
    // Elsewhere, `-` is a minus.
    refused("E0308", &on_cfs("on balance (core c) { int cfs = 1; c.past = cfs-cwc; }"));
}

#[test]
fn policies_do_not_extend_each_other() {
    refused("E0302", "policy test extends test { }");
}

#[test]
fn a_name_is_declared_once() {
    check(codes::DECLARED_TWICE, "set a; set a;", "set a; set b;");
    check(
        codes::DECLARED_TWICE,
        "on balance (core c) { int a = 1; int a = 2; }",
        "on balance (core c) { int a = 1; if (a > 0) { int a = 2; a += 1; } }",
    );
}

#[test]
fn library_names_are_reserved() {
    check(codes::RESERVED_WORD, "set idle;", "set resting;");
    check(codes::RESERVED_WORD, "thread { int weight; }", "thread { int heaviness; }");
}

#[test]
fn an_override_has_the_same_signature() {
    check(
        codes::BAD_OVERRIDE,
        "core fallback(thread t) { return t.core; }",
        "core fallback(thread t, core c) { return t.core; }",
    );
    check(codes::BAD_OVERRIDE, "set latency;", "param latency : time in 1ms..1s = 6ms;");
    check(codes::BAD_OVERRIDE, "core { int past; }", "core { load past = 512; }");
}

#[test]
fn super_needs_a_base() {
    check(codes::NO_BASE_VERSION, "on timer (thread t) { super; }", "on block (thread t) { super; }");
    check(
        codes::NO_BASE_VERSION,
        "load recent(core c) { return super.resent(c); }",
        "load recent(core c) { return super.recent(c) / 2; }",
    );
}

/// Calls `super` in each handler, at the end and in the middle.
#[test]
fn super_calls_the_base_in_every_handler() {
    let first = "if (t.runtime > 5ms) { charge(t); super; } else super;";
    for (event, formals, rest) in [
        ("new", "thread t, core c", first),
        ("unblock", "thread t, core c", first),
        ("enqueue", "thread t, core c", "super; if (c in idle) super;"),
        ("schedule", "core c", "super; super;"),
        ("schedule", "core c", "if (c.nr_ready > 3) { super; return; } super; keep_warm(c, 1ms);"),
        ("tick", "thread t", "super; charge(t);"),
        ("yield", "thread t", first),
        ("preempt", "thread t", first),
        ("block", "thread t", first),
        ("terminate", "thread t", first),
        ("timer", "thread t", "super; charge(t); super;"),
        ("newly_idle", "core c", "super; if (c.nr_ready == 0) super;"),
        ("enter_idle", "core c", "super; super;"),
        ("exit_idle", "core c", "super; super;"),
        ("balance", "core c", "super; super;"),
        ("entry", "core c", "super; super;"),
        ("exit", "core c", "super; super;"),
    ] {
        let base = "policy base extends cfs { on timer (thread t) { if (t.core in idle) t => t.core.ready; } \
                    on entry (core c) { c.past = 0; } on exit (core c) { c.past = 1; } }";
        for body in ["super;", rest] {
            let test = format!("policy test extends base {{ on {event} ({formals}) {{ {body} }} }}");
            let found = found_in(&[("test", &test), ("base", base)], "test");
            assert_eq!(found, [], "{test}");
            let compiled = compile_files(&[("test", &test), ("base", base)], "test").unwrap();
            let c = emit::c(&compiled.ir);
            is_c(&c);
            assert!(c.contains(&format!("_on_{event}(s,")), "{c}");
        }
    }
}

#[test]
fn a_schedule_handler_continues_with_its_base() {
    let queues = "queue interactive : fifo; queue batch : rbtree by vruntime; \
                  on yield (thread t) { charge(t); t => t.core.batch; } \
                  on unblock (thread t, core w) { t => choose_wakeup(t, w).interactive; }";
    let schedule = "on schedule (core c) { if (thread t = first(thread t in c.interactive)) t => running;";
    passes(&on_cfs(&format!("{queues} {schedule} super; }}")));
    // If the base chose a thread, the handler ends.
    let text = on_cfs(&format!(
        "{queues} {schedule} super; if (thread t = first(thread t in c.batch)) t => running; }}"
    ));
    let c = emit::c(&compile_text(&text).unwrap().ir);
    assert!(c.contains("\tif (test__cfs_on_schedule(s, c))\n\t\treturn;\n"), "{c}");
    assert!(c.contains("SAAKM_LOCAL bool test__cfs_on_schedule("), "{c}");
    // Through two policies, of which the nearer one always chooses a thread.
    let always = "policy base extends cfs { on schedule (core c) { super; super; } }";
    let test = "policy test extends base { on schedule (core c) { super; } }";
    assert_eq!(found_in(&[("test", test), ("base", always)], "test"), []);
    // An error in a base is reported once, for the base.
    let wrong =
        "policy base extends cfs { on schedule (core c) { if (thread t = c.current) t => running; } }";
    let found = found_in(&[("test", test), ("base", wrong)], "test");
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].code.id, "E0503");
}

#[test]
fn names_are_known_and_suggested() {
    let text = on_cfs("on balance (core c) { if (now >= c.last_dye) preempt(c); }");
    let found = found(&text);
    assert_eq!(found[0].code.id, "E0308");
    assert_eq!(found[0].help.as_deref(), Some("did you mean `last_die`?"));
    check(codes::UNKNOWN_NAME, "on balance (core c) { preemt(c); }", "on balance (core c) { preempt(c); }");
    check(
        codes::UNKNOWN_NAME,
        "on balance (core c) { if (latensy > 1ms) preempt(c); }",
        "on balance (core c) { if (latency > 1ms) preempt(c); }",
    );
}

#[test]
fn handlers_have_their_parameters() {
    check(
        codes::BAD_SIGNATURE,
        "on tick (core c) { preempt(c); }",
        "on tick (thread t) { preempt(t.core); }",
    );
}

// ---- types ------------------------------------------------------------------------------------

#[test]
fn units_must_be_compatible() {
    check(
        codes::UNITS,
        "on balance (core c) { c.since = now + 5; }",
        "on balance (core c) { c.since = now + 5ms; }",
    );
    check(
        codes::UNITS,
        "on balance (core c) { if (c.past < 5ms) preempt(c); }",
        "on balance (core c) { if (c.past < 5) preempt(c); }",
    );
    check(
        codes::UNITS,
        "on balance (core c) { c.since = c.since * c.since; }",
        "on balance (core c) { c.since = c.since * (c.since / 1ms); }",
    );
}

#[test]
fn values_have_their_types() {
    check(
        codes::MISMATCH,
        "on balance (core c) { if (c.nr_ready) preempt(c); }",
        "on balance (core c) { if (c.nr_ready > 0) preempt(c); }",
    );
    check(
        codes::MISMATCH,
        "param p : time in 0ms..1s = 4; on tick (thread t) { if (p > 0ms) preempt(t.core); }",
        "param p : time in 0ms..1s = 4ms; on tick (thread t) { if (p > 0ms) preempt(t.core); }",
    );
}

#[test]
fn names_in_another_form_are_suggested() {
    for (bad, meant) in [
        ("c.llc == machine", "llc(c)"),
        ("t.llc == machine", "llc(t.core)"),
        ("c.recent > 0", "recent(c)"),
        ("c.idle", "c in idle"),
        ("t.idle", "t.core in idle"),
        ("nr_ready(c) > 0", "c.nr_ready"),
        ("vruntime(t) > 0ms", "t.vruntime"),
    ] {
        let policy = |condition: &str| {
            on_cfs(&format!("on tick (thread t) {{ core c = t.core; if ({condition}) preempt(c); }}"))
        };
        let found = found(&policy(bad));
        assert_eq!(found[0].help, Some(format!("did you mean `{meant}`?")), "{bad}");
        let (wrong, _) = bad.split_once(' ').unwrap_or((bad, ""));
        assert_eq!(self::found(&policy(&bad.replace(wrong, meant))).len(), 0, "{meant}");
    }
}

#[test]
fn conditions_are_not_sets() {
    for (bad, good, instead) in [
        (
            "c in waiting && idle",
            "c in waiting & idle",
            "did you mean `&`? `&&` takes conditions, `&` takes sets",
        ),
        (
            "idle && c in waiting",
            "c in idle & waiting",
            "did you mean `&`? `&&` takes conditions, `&` takes sets",
        ),
        (
            "c in waiting || llc(c)",
            "c in waiting | llc(c)",
            "did you mean `|`? `||` takes conditions, `|` takes sets",
        ),
        (
            "c in waiting & (c in idle)",
            "c in waiting && c in idle",
            "did you mean `&&`? `&` takes sets, `&&` takes conditions",
        ),
        (
            "empty(waiting && idle)",
            "empty(waiting & idle)",
            "did you mean `&`? `&&` takes conditions, `&` takes sets",
        ),
    ] {
        let text = |test: &str| on_cfs(&format!("on balance (core c) {{ if ({test}) preempt(c); }}"));
        let found = found(&text(bad));
        assert_eq!(found.len(), 1, "{bad}: {found:?}");
        assert_eq!(found[0].code, codes::MISMATCH);
        assert_eq!(found[0].help.as_deref(), Some(instead));
        passes(&text(good));
    }
}

#[test]
fn optionals_are_unwrapped() {
    check(
        codes::OPTIONAL,
        "on balance (core c) { charge(c.current); }",
        "on balance (core c) { if (thread t = c.current) charge(t); }",
    );
    check(
        codes::OPTIONAL,
        "thread { core? fav; } on tick (thread t) { preempt(t.fav); }",
        "thread { core? fav; } on tick (thread t) { preempt(t.fav else t.core); }",
    );
    check(
        codes::OPTIONAL,
        "on tick (thread t) { preempt(t.core else t.core); }",
        "thread { core? fav; } on tick (thread t) { if (t.fav != none && t.fav in idle) preempt(t.core); }",
    );
}

#[test]
fn runtime_values_are_not_assignable() {
    check(
        codes::NOT_ASSIGNABLE,
        "on tick (thread t) { t.core = t.core; }",
        "on tick (thread t) { t.home = t.core; }",
    );
    check(
        codes::NOT_ASSIGNABLE,
        "on tick (thread t) { latency = 1ms; }",
        "global { time least; } on tick (thread t) { least = 1ms; }",
    );
    check(
        codes::NOT_ASSIGNABLE,
        "on balance (core c) { for (core x in idle) x = c; }",
        "on balance (core c) { for (core x in idle) preempt(x); }",
    );
}

#[test]
fn iterations_are_over_sets_queues_and_groups() {
    check(
        codes::BAD_ITERATION,
        "on balance (core c) { for (thread t in idle) charge(t); }",
        "on balance (core c) { for (thread t in c.ready) charge(t); }",
    );
    check(
        codes::BAD_ITERATION,
        "on balance (core c) { for (thread t in c.ready nearest c) charge(t); }",
        "on balance (core c) { for (thread t in c.ready limit 3) charge(t); }",
    );
}

#[test]
fn threads_are_not_stored() {
    check(codes::BAD_STORAGE, "core { thread? last; }", "core { core? last; }");
    check(codes::BAD_STORAGE, "core { core last; }", "core { set friends; }");
}

#[test]
fn every_path_returns() {
    check(
        codes::MISSING_RETURN,
        "core fallback(thread t, core c) { if (c in idle) return c; }",
        "core fallback(thread t, core c) { if (c in idle) return c; else return t.core; }",
    );
}

#[test]
fn break_is_in_a_loop() {
    check(
        codes::NOT_IN_LOOP,
        "on balance (core c) { break; }",
        "on balance (core c) { for (core x in idle nearest c) { preempt(x); break; } }",
    );
}

#[test]
fn hidden_effects_are_rejected() {
    check(
        codes::HIDDEN_EFFECT,
        "core fallback(thread t, core c) { return min(core x in idle by x.nr_ready where claim(x)) else c; }",
        "core fallback(thread t, core c) { return first(core x in idle where claim(x)) else c; }",
    );
    check(
        codes::HIDDEN_EFFECT,
        "steal pull (core d, set f) { can_steal_core (core s) { return claim(s); } \
         move (thread t) { t => d.ready; } }",
        "steal pull (core d, set f) { can_steal_core (core s) { return s in f; } \
         move (thread t) { t => d.ready; } }",
    );
}

#[test]
fn invariants_have_no_effects() {
    let set = "set fast; ";
    check(
        codes::HIDDEN_EFFECT,
        &format!("{set} invariant one : any(core c in fast where claim(c));"),
        &format!("{set} invariant one : any(core c in fast where c in online);"),
    );
    check(
        codes::MISMATCH,
        &format!("{set} invariant one : count(fast);"),
        &format!("{set} invariant one : count(fast) < 9;"),
    );
    check(codes::DECLARED_TWICE, "invariant one : true; invariant one : true;", "invariant one : true;");
}

// ---- transitions ------------------------------------------------------------------------------

#[test]
fn events_restrict_transitions() {
    check(
        codes::ILLEGAL_TRANSITION,
        "on tick (thread t) { t => t.core.ready; }",
        "on tick (thread t) { preempt(t.core); }",
    );
    check(
        codes::ILLEGAL_TRANSITION,
        "on block (thread t) { t => t.core.ready; }",
        "on block (thread t) { t => blocked; }",
    );
    // Through a function call.
    check(
        codes::ILLEGAL_TRANSITION,
        "void go(thread t) { t => t.core.ready; } on tick (thread t) { go(t); }",
        "void go(thread t) { t => t.core.ready; } on preempt (thread t) { go(t); }",
    );
}

#[test]
fn every_path_makes_the_required_transition() {
    check(
        codes::MISSING_TRANSITION,
        "on unblock (thread t, core w) { if (w in idle) t => w.ready; }",
        "on unblock (thread t, core w) { if (w in idle) t => w.ready; t => t.core.ready; }",
    );
    check(
        codes::MISSING_TRANSITION,
        "on unblock (thread t, core w) { for (core c in idle) t => c.ready; }",
        "on unblock (thread t, core w) { for (core c in idle) t => c.ready; super; }",
    );
    // A function that moves the thread on some paths ends the handler only on those.
    check(
        codes::MISSING_TRANSITION,
        "void go(thread t) { if (t.core in idle) t => t.core.ready; } \
         on unblock (thread t, core w) { go(t); }",
        "void go(thread t) { if (t.core in idle) t => t.core.ready; } \
         on unblock (thread t, core w) { go(t); t => w.ready; }",
    );
}

#[test]
fn only_the_threads_of_the_event_move() {
    check(
        codes::WRONG_THREAD,
        "on unblock (thread t, core w) { if (thread c = w.current) c => w.ready; t => w.ready; }",
        "on unblock (thread t, core w) { if (thread c = w.current) charge(c); t => w.ready; }",
    );
    check(
        codes::WRONG_THREAD,
        "on schedule (core c) { if (thread t = c.current) t => running; }",
        "on schedule (core c) { if (thread t = first(thread t in c.ready)) t => running; }",
    );
}

#[test]
fn threads_that_yield_or_are_scheduled_stay_on_their_core() {
    check(
        codes::WRONG_CORE,
        "on yield (thread t) { t => (first(core c in idle) else t.core).ready; }",
        "on yield (thread t) { core c = t.core; t => c.ready; }",
    );
    check(
        codes::WRONG_CORE,
        "on schedule (core c) { if (core d = first(core d in waiting)) \
         if (thread t = first(thread t in d.ready)) t => running; }",
        "on schedule (core c) { for (thread t in c.ready) t => running; }",
    );
}

#[test]
fn a_function_with_a_result_makes_no_transition() {
    check(
        codes::RESULT_AND_TRANSITION,
        "bool go(thread t) { t => t.core.ready; } on preempt (thread t) { if (go(t)) charge(t); }",
        "void go(thread t) { t => t.core.ready; } on preempt (thread t) { go(t); }",
    );
}

#[test]
fn steals_are_restricted_to_balancing_events() {
    check(
        codes::ILLEGAL_STEAL,
        "on tick (thread t) { pull(t.core, waiting); }",
        "on balance (core c) { pull(c, waiting); }",
    );
}

#[test]
fn required_events_have_handlers() {
    refused("E0507", "policy test { queue ready : fifo; on tick (thread t) { preempt(t.core); } }");
}

// ---- totality and bounds ------------------------------------------------------------------------

#[test]
fn recursion_is_rejected() {
    check(
        codes::RECURSION,
        "int f(int n) { return g(n); } int g(int n) { return f(n); } \
         on tick (thread t) { if (f(1) > 0) preempt(t.core); }",
        "int f(int n) { return g(n); } int g(int n) { return n; } \
         on tick (thread t) { if (f(1) > 0) preempt(t.core); }",
    );
    // Through the handler of `enqueue`.
    check(
        codes::RECURSION,
        "on enqueue (thread t, core c) { go(t); } void go(thread t) { t => t.core.ready; }",
        "on enqueue (thread t, core c) { charge(t); } void go(thread t) { t => t.core.ready; } \
         on preempt (thread t) { go(t); }",
    );
}

#[test]
fn a_loop_does_not_replace_its_set() {
    check(
        codes::LOOP_SET_REPLACED,
        "set a; on balance (core c) { for (core x in a & idle) a = a - smt(x); }",
        "set a; on balance (core c) { for (core x in a & idle) a.remove(x); a = a | smt(c); }",
    );
}

#[test]
fn parameters_are_within_their_bounds() {
    let used = "on tick (thread t) { if (p > 0) preempt(t.core); }";
    check(
        codes::OUT_OF_RANGE,
        &format!("param p : int in 1..4 = 5; {used}"),
        &format!("param p : int in 1..4 = 4; {used}"),
    );
    check(
        codes::NOT_CONSTANT,
        &format!("param p : int in 1..count(idle) = 5; {used}"),
        &format!("param p : int in 1..4 * 2 = 5; {used}"),
    );
}

#[test]
fn state_has_its_limits() {
    let sets = |n: usize| on_cfs(&(0..n).map(|i| format!("set s{i};")).collect::<String>());
    refused("E0605", &sets(65));
    passes(&sets(64));
    // Plus the queue of CFS.
    let queues = |n: usize| on_cfs(&(0..n).map(|i| format!("queue q{i} : fifo;")).collect::<String>());
    refused("E0605", &queues(8));
    passes(&queues(7));
}

#[test]
fn warnings() {
    refused("W0601", &on_cfs("param p : int in 1..4 = 4;"));
    refused("W0602", &on_cfs("int f() { return 1; }"));
    refused("W0603", &on_cfs("on block (thread t) { t => blocked; charge(t); }"));
    refused("W0604", &on_cfs("on balance (core c) { c.past = c.past / 0; }"));
    assert_eq!(found(&on_cfs("on block (thread t) { charge(t); t => blocked; }")), []);
}

// ---- the whole language -------------------------------------------------------------------------

#[test]
fn placement_without_an_affinity_test_is_reported() {
    let careless = |text: &str| {
        let found = found(&on_cfs(text));
        assert!(found.iter().all(|d| d.code == codes::FORBIDDEN_CORE), "{found:?}");
        found.len()
    };
    assert_eq!(careless("on unblock (thread t, core w) { t => w.ready; }"), 1);
    assert_eq!(careless("on new (thread t, core p) { if (p in idle) t => p.ready; super; }"), 1);
    for good in [
        "on unblock (thread t, core w) { if (w in t.affinity & idle) t => w.ready; super; }",
        "on new (thread t, core p) { t => (p in t.affinity ? p : choose_fork(t, p)).ready; }",
        "on new (thread t, core p) { if (!(p in t.affinity)) super; t => p.ready; }",
        "bool may(thread t, core c) { return c in t.affinity; } \
         on unblock (thread t, core w) { if (!may(t, w)) { super; } t => w.ready; }",
        "on unblock (thread t, core w) { t => fallback(t, w).ready; }",
        "on unblock (thread t, core w) { t => t.core.ready; }",
    ] {
        assert_eq!(careless(good), 0, "{good}");
    }
}

/// All constructs at once, with names that conflict with C.
#[test]
fn odd_but_legal() {
    let text = r#"
        /// Ends a comment: */ and "quotes".
        policy test {
            param flag : bool = true;
            param hz : frequency in 1MHz..5GHz = 2GHz;
            param most : int in 0..1024 = 3;
            /// A /* comment
            set linux max most;
            set w max 7;
            global { core? INT64_MAX; set register; time s; bool bool_ = true; int double = 0 - 5; }
            thread { int default; set int64_t; core? last; }
            core { load extern = 512; set friends; }
            queue fast : fifo;
            queue slow : rbtree by default;

            int twice(int n) { return n * 2; }
            void nop() { }
            bool grow(core c) { return linux.add(c); }
            domain around(core c, bool wide) { return wide ? machine : numa(c); }
            core? some(set among, core c) {
                if (c in among) return none;
                return first(core x in among - smt(c) nearest c limit twice(2) where grow(x) && x != c);
            }
            void place(thread t, core c_walk) {
                set near = t.affinity & around(c_walk, flag);
                near = near - w;
                if (core x = some(near, c_walk)) { t => x.fast because near; }
                else if (flag && any(core x in near | linux where x.frequency > hz)) t => c_walk.slow;
                for (thread other in c_walk.slow limit 2)
                    if (other == t) continue;
                    else if (other.last != none) break;
                if (domain d = max(domain d in groups(around(c_walk, flag), smt) from c_walk
                                   by count(d & near), sum(core i in d of i.nr_ready)))
                    for (core i in d - idle) { i.friends = i.friends | d; i.extern += twice(i.nr_ready); }
            }
            on new (thread t, core c) { place(t, c); t => c.slow; }
            on unblock (thread t, core c) {
                place(t, (first(core x in (flag ? idle : online) & t.affinity) else c));
                t.default -= twice(3) % 4 / (t.default - 2);
                some(t.affinity, c);
                t.last = flag ? none : c;
                w = (idle | waiting) & online - idle_whole;
                t.int64_t = w;
                s = max(s, now - 1ms) / 3;
                t => t.core.fast because w;
            }
            on schedule (core c) {
                for (thread t in c.fast) t => running;
                if (thread t = first(thread t in c.slow where t.default != 0 || flag)) t => running;
            }
            on tick (thread t) { arm(t, 1us); cancel(t); keep_warm(t.core, 2ticks); release(t.core); }
            on yield (thread t) { place_back(t); }
            void place_back(thread t) { nop(); t => t.core.slow; }
            on preempt (thread t) { core c = t.core; place_back(t); }
            on block (thread t) { { t => blocked; } }
            on terminate (thread t) { if (t.core in linux && linux.remove(t.core)) nop(); t => terminated; }
            on timer (thread t) { if (core c = t.last) place(t, c); }
            steal pull (core stolen_, set t) {
                can_steal_core (core src) { return src in t && !(src in idle) && twice(1) > 1; }
                select_core (core src) min by 0 - src.nr_running, src.extern from stolen_;
                stop_core { return stolen > 1; }
                move (thread best) { best => stolen_.fast because pull; }
            }
            on newly_idle (core c) { if (!(c in w)) pull(c, waiting - w); }
            on entry (core c) { INT64_MAX = c; register = register | smt(c); bool_ = (c in register) == flag; }
            on exit (core c) { if (INT64_MAX == c) INT64_MAX = none; double = min(double, 7); }
        }
        "#;
    match compile_text(text) {
        Ok(compiled) => compiles(&emit::c(&compiled.ir)),
        Err(failed) => panic!("{failed}"),
    }
}
