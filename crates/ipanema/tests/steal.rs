//! What the C of a steal computes once for many threads.

mod harness;

use harness::compile_files;
use hearth_ipanema::emit;

/// Whether a steal that compares `laden` of the two cores adjusts its values after a move. `laden` adds `constant` to
/// `sum`.
fn is_adjusted(constant: &str, sum: &str) -> bool {
    let text = format!(
        "policy p extends cfs {{
            thread {{ int share = 1024; }}
            int laden(core c) {{ return {constant} + {sum}; }}
            steal level (core dst, set from) {{
                can_steal_core (core src) {{ return src.nr_running >= 2; }}
                steal_thread (thread t) {{
                    return dst in t.affinity && laden(t.core) - laden(dst) > t.weight;
                }}
                move (thread t) {{ t => dst.ready; }}
            }}
            on newly_idle (core c) {{ level(c, waiting); }}
        }}"
    );
    let c = match compile_files(&[("p", &text)], "p") {
        Ok(compiled) => emit::c(&compiled.ir),
        Err(failed) => panic!("{failed}"),
    };
    assert!(c.contains("SAAKM_MEMO_VALUE(memo, 0, p_laden(s, saakm_core(t)))"));
    assert!(c.contains("SAAKM_MEMO_VALUE(memo, 1, p_laden(s, dst))"));
    let (_, steal) = c.split_once("SAAKM_STEAL(p_level").unwrap();
    let (steal, _) = steal.split_once("\n}\n").unwrap();
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
