//! Memoised calls in the C of steals.

use crate::harness::{compile_files, compiles};
use hearth_ipanema::emit;

/// The C of a policy with a function and a steal whose thread rule has this body.
fn emitted(function: &str, rule: &str) -> String {
    let text = format!(
        "policy p extends cfs {{
            thread {{ int share = 1024; }}
            {function}
            steal level (core dst, set from) {{
                can_steal_core (core src) {{ return src.nr_running >= 2; }}
                steal_thread (thread t) {{ {rule} }}
                move (thread t) {{ t => dst.ready; }}
            }}
            on newly_idle (core c) {{ level(c, waiting); }}
        }}"
    );
    let c = match compile_files(&[("p", &text)], "p") {
        Ok(compiled) => emit::c(&compiled.ir),
        Err(failed) => panic!("{failed}"),
    };
    compiles(&c);
    c
}

/// The C of the steal itself.
fn steal(c: &str) -> &str {
    let (_, steal) = c.split_once("SAAKM_STEAL(p_level").unwrap();
    steal.split_once("\n}\n").unwrap().0
}

/// Whether a steal that compares `laden` of the two cores adjusts its memo after a move. `laden` adds `constant` to `sum`.
fn is_adjusted(constant: &str, sum: &str) -> bool {
    let c = emitted(
        &format!("int laden(core c) {{ return {constant} + {sum}; }}"),
        "return dst in t.affinity && laden(t.core) - laden(dst) > t.weight;",
    );
    assert!(c.contains("SAAKM_MEMO_VALUE(memo, 0, p_laden(s, saakm_core(t)))"));
    assert!(c.contains("SAAKM_MEMO_VALUE(memo, 1, p_laden(s, dst))"));
    let steal = steal(&c);
    let adjusted = steal.contains("SAAKM_MEMO_ADD(memo, 0, -saakm_weight(t));");
    assert_eq!(steal.contains("SAAKM_MEMO_ADD(memo, 1, saakm_weight(t));"), adjusted);
    assert_eq!(steal.matches("SAAKM_MEMO_CLEAR(memo);").count(), if adjusted { 1 } else { 2 });
    adjusted
}

const WEIGHTS: &str = "sum(thread t in c.ready of t.weight)";

#[test]
fn a_move_changes_a_sum_of_weights_by_the_weight_of_its_thread() {
    assert!(is_adjusted("1024", WEIGHTS));
}

/// A move changes the number of threads, and what is not a weight.
#[test]
fn other_values_are_computed_again_after_a_move() {
    assert!(!is_adjusted("c.nr_running", WEIGHTS));
    assert!(!is_adjusted("1024", "sum(thread t in c.ready of t.share)"));
    assert!(!is_adjusted("1024", "sum(thread t in c.ready of t.weight > 15 ? t.weight : 0)"));
}

#[test]
fn a_function_that_is_called_once_is_memoised() {
    let c = emitted(
        &format!("int laden(core c) {{ return {WEIGHTS}; }}"),
        "return dst in t.affinity && laden(t.core) > 2048;",
    );
    assert!(c.contains("SAAKM_MEMO_VALUE(memo, 0, p_laden(s, saakm_core(t)))"));
}

#[test]
fn only_numbers_of_the_two_cores_are_memoised() {
    let threads = "thread? longest(core c) { return max(thread t in c.ready by t.share); }";
    let c = emitted(threads, "if (thread w = longest(t.core)) return w.share > 1; return dst in t.affinity;");
    assert!(!steal(&c).contains("SAAKM_MEMO"));

    let waits = format!("int laden(core c) {{ return {WEIGHTS}; }}");
    let c = emitted(&waits, "return first(core c in t.affinity) == dst && laden(t.core) > 1;");
    assert!(steal(&c).contains("SAAKM_MEMO"));
    let c = emitted(&waits, "core x = t.core; return dst in t.affinity && laden(x) > 1;");
    assert!(!steal(&c).contains("SAAKM_MEMO"));
}
