//! Properties of the IR of the built-in policies that proofs and the kernel rely on.

use crate::harness::compile_text;
use hearth_ipanema::ir::effects::{Access, Whose};
use hearth_ipanema::ir::{Event, Function, Moves, Owner, Policy, Role, Stmt, StmtKind, runs_first};
use hearth_ipanema::{builtin, compile, emit};
use std::collections::BTreeSet;

fn policy(name: &str) -> Policy {
    compile(&|_: &str| None, name).unwrap().ir
}

fn function<'p>(policy: &'p Policy, name: &str, from: &str) -> &'p Function {
    policy.functions.iter().find(|f| f.name == name && f.at.policy == from).unwrap()
}

#[test]
fn functions_record_which_thread_they_move() {
    let nest = policy("nest");
    assert_eq!(function(&nest, "nest_place", "nest").moves, Moves::Always { thread: Some(0) });
    assert_eq!(function(&nest, "choose_fork", "cfs").moves, Moves::Never);
    let smove = policy("smove");
    assert_eq!(function(&smove, "defer", "smove").moves, Moves::Always { thread: Some(0) });
    let timer = smove.function(smove.handler(Event::Timer).unwrap());
    assert_eq!(timer.moves, Moves::Maybe { thread: Some(0) });
}

#[test]
fn placements_on_idle_cores_run_at_once_under_all_built_in_policies() {
    for name in builtin::NAMES {
        assert_eq!(runs_first(&policy(name)), Ok(()), "{name}");
    }
}

#[test]
fn a_schedule_that_could_notice_or_decline_keeps_the_queue() {
    let first = "if (thread t = first(thread t in c.ready)) { t => running; }";
    for (schedule, why) in [
        ("if (thread t = first(thread t in c.ready)) t => running;".to_owned(), None),
        (format!("time a = now; c.turns = c.turns + 1; {first}"), None),
        (format!("if (c.turns > 0) {first}"), Some("may run another thread")),
        (format!("if (c.turns > 9) return; {first}"), Some("may run another thread")),
        (
            "if (thread t = first(thread t in c.ready)) if (c.turns > 0) t => running;".into(),
            Some("may run another thread"),
        ),
        (
            "if (thread t = first(thread t in c.ready)) { if (c.turns > 9) return; t => running; }".into(),
            Some("may run another thread"),
        ),
        (
            "if (thread t = first(thread t in c.ready where t.weight > 9)) t => running;".into(),
            Some("may run another thread"),
        ),
        (
            "if (thread t = min(thread t in c.ready by t.weight)) t => running;".into(),
            Some("may run another thread"),
        ),
        (format!("c.turns = c.nr_ready; {first}"), Some("reads `nr_ready`")),
        (format!("c.turns = c.nr_running; {first}"), Some("reads `nr_running`")),
        (format!("c.turns = busy(c); {first}"), Some("reads `nr_running`")),
        (format!("c.turns = count(idle); {first}"), Some("a set of cores that the runtime keeps")),
        (format!("preempt(c); {first}"), Some("may run another thread")),
    ] {
        let text = format!(
            "policy p {{ core {{ int turns; }} queue ready : fifo;
               int busy(core c) {{ return c.nr_running; }}
               on new (thread t, core parent) {{ t => parent.ready; }}
               on unblock (thread t, core waker) {{ t => t.core.ready; }}
               on schedule (core c) {{ {schedule} }}
               on yield (thread t) {{ t => t.core.ready; }}
               on preempt (thread t) {{ t => t.core.ready; }}
               on block (thread t) {{ t => blocked; }}
               on terminate (thread t) {{ t => terminated; }} }}"
        );
        let compiled = compile_text(&text).unwrap_or_else(|failed| panic!("{schedule}: {failed:?}"));
        let found = runs_first(&compiled.ir);
        match why {
            None => assert_eq!(found, Ok(()), "{schedule}"),
            Some(why) => {
                let declines = found.expect_err(&schedule);
                assert!(declines.contains(why), "{schedule}: {declines}");
            }
        }
    }
}

#[test]
fn superseded_functions_stay_only_for_super() {
    let nest = policy("nest");
    assert!(function(&nest, "choose_wakeup", "cfs").superseded);
    assert!(!function(&nest, "choose_wakeup", "nest").superseded);
    let slocal = policy("slocal");
    assert!(slocal.functions.iter().all(|f| !f.superseded && f.name != "choose_wakeup"));
}

#[test]
fn effects_distinguish_local_and_remote_attributes() {
    let cfs = policy("cfs");
    let past = cfs.core.iter().position(|a| a.name == "past").unwrap();
    let is_past =
        |access: &&Access| matches!(access, Access::Core { attribute, .. } if attribute.index() == past);
    let recent = function(&cfs, "recent", "cfs");
    let read = recent.effects.reads.iter().find(is_past).unwrap();
    assert!(matches!(read, Access::Core { of: Whose::Param(0), .. }));
    // All cores of a domain: remote.
    let load_of = function(&cfs, "load_of", "cfs");
    let read = load_of.effects.reads.iter().find(is_past).unwrap();
    assert!(matches!(read, Access::Core { of: Whose::Other, .. }));
    assert!(load_of.effects.is_pure());
    // Through the handler of `enqueue`.
    let unblock = cfs.function(cfs.handler(Event::Unblock).unwrap());
    assert!(unblock.effects.moves && unblock.effects.preempts);
    assert!(unblock.effects.writes.iter().any(|access| {
        matches!(access, Access::Thread { attribute, of: Whose::Param(0) }
            if cfs.attribute(Owner::Thread, *attribute).name == "vruntime")
    }));
    let nest = policy("nest");
    assert!(function(&nest, "take", "nest").effects.claims);
}

#[test]
fn effects_tell_whose_timer_is_armed() {
    let effects = |body: &str| {
        let text = format!(
            "policy test extends cfs {{ core {{ int mark; }}
            void arm_second(core c, thread a) {{ arm(a, 1ms); }}
            on timer (thread t) {{ t => t.core.ready; }}
            on yield (thread t) {{ {body} super; }} }}"
        );
        let ir = compile_text(&text).unwrap().ir;
        let effects = &ir.function(ir.handler(Event::Yield).unwrap()).effects;
        (effects.timers.clone(), effects.writes.clone())
    };
    let armed = |body| effects(body).0;
    let own = BTreeSet::from([Whose::Param(0)]);
    assert_eq!(armed(""), BTreeSet::new());
    assert_eq!(armed("cancel(t);"), own);
    assert_eq!(armed("thread u = t; arm_second(t.core, u);"), own);
    let other = BTreeSet::from([Whose::Other]);
    assert_eq!(armed("for (thread x in t.core.ready) arm_second(t.core, x);"), other);
    // A variable that changes is no alias, not even before it changes: the assignment may be in a loop.
    let writes = effects("core c = t.core; for (core x in idle) { c.mark = 1; c = x; }").1;
    assert!(writes.iter().any(|access| matches!(access, Access::Core { of: Whose::Other, .. })));
}

#[test]
fn effects_record_reads_of_frequencies() {
    let sees = |policy: &Policy| policy.functions.iter().any(|f| f.effects.frequencies);
    let smove = policy("smove");
    // Through `defer`.
    assert!(smove.function(smove.handler(Event::Unblock).unwrap()).effects.frequencies);
    assert!(!function(&smove, "choose_wakeup", "cfs").effects.frequencies);
    assert!(!sees(&policy("nest")) && !sees(&policy("slocal")));
}

#[test]
fn bases_come_first_and_are_named() {
    let nest = policy("nest");
    assert_eq!(nest.bases, ["cfs"]);
    assert_eq!(nest.params[0].name, "latency");
    assert_eq!(nest.params.last().unwrap().name, "placement_flag");
    assert_eq!(nest.reasons[0], "none");
    for reason in ["attached", "primary", "reserve", "cfs"] {
        assert!(nest.reasons.iter().any(|r| r == reason), "{reason}");
    }
}

#[test]
fn overrides_are_late_bound_through_a_chain() {
    let text = "policy test extends nest { \
        param latency : time in 1ms..1s = 6ms; \
        core fallback(thread t, core c) { return super.fallback(t, c); } }";
    let ir = compile_text(text).unwrap().ir;
    assert_eq!(ir.bases, ["nest", "cfs"]);
    assert_eq!(ir.params[0].initial, 6_000_000);
    let c = hearth_ipanema::emit::c(&ir);
    assert!(c.contains("test__cfs_fallback(s, t, c)"));
    // CFS's own callers reach the new version.
    assert!(c.contains("target = test_fallback(s, t, "));
}

#[test]
fn every_built_in_policy_has_a_source() {
    for name in builtin::NAMES {
        assert!(builtin::source(name).unwrap().contains(&format!("policy {name}")));
    }
    assert_eq!(builtin::source("nothing"), None);
}

#[test]
fn invariants_are_conditions_that_no_event_calls() {
    let text = "policy test extends cfs { set a; set b;
        bool apart(core c) { return !(c in b); }
        /// Not in both.
        invariant disjoint : !any(core c in a where !apart(c)); }";
    let policy = compile_text(text).unwrap().ir;
    let [invariant] = policy.invariants[..] else { panic!("{:?}", policy.invariants) };
    let invariant = policy.function(invariant);
    assert_eq!((invariant.name.as_str(), invariant.doc.as_str()), ("disjoint", "Not in both."));
    assert_eq!((invariant.role, invariant.arity), (Role::Invariant, 0));
    assert!(matches!(invariant.body[..], [Stmt { kind: StmtKind::Return(Some(_)), .. }]));
    // The IR keeps the functions that it calls, although no event reaches them; the C does not.
    assert!(policy.functions.iter().any(|f| f.name == "apart"));
    assert!(!emit::c(&policy).contains("disjoint"));
}

/// The kernel's verifier wants the lock around walks; each costs some 30 instructions.
#[test]
fn only_events_that_walk_over_a_queue_lock_it() {
    let locks = |name: &str, event: &str| {
        let c = emit::c(&policy(name));
        let (_, body) = c.split_once(&format!(" {name}_on_{event}(saakm_t s, thread_t t)\n{{")).unwrap();
        body.split("\n}").next().unwrap().contains("SAAKM_READ_QUEUES();")
    };
    assert!(locks("eevdf", "block"), "`survey` walks");
    assert!(!locks("cfs", "block"), "`advance` looks at the first thread only");
}
