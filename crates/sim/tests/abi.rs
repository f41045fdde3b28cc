//! `src/saakm.rs` and `runtime/host/saakm_host.h` must describe the same memory.

use hearth_sim::saakm::{Core, Domain, Instance, Ops, Param, PolicyTable, Queue, Set, Thread};
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::process::Command;

/// One line for each record and field, from Rust's side and as the C program that prints the same.
macro_rules! layout {
    ($rust:ident, $c:ident; $($c_name:literal $record:ident { $($field:ident),* })*) => {$(
        writeln!($rust, "{} {}", $c_name, size_of::<$record>()).unwrap();
        writeln!($c, "printf(\"{0} %zu\\n\", sizeof(struct {0}));", $c_name).unwrap();
        $(
            let field = stringify!($field).trim_end_matches('_');
            writeln!($rust, "{}.{} {}", $c_name, field, offset_of!($record, $field)).unwrap();
            writeln!($c, "printf(\"{0}.{1} %zu\\n\", offsetof(struct {0}, {1}));", $c_name, field).unwrap();
        )*
    )*};
}

#[test]
fn rust_and_c_agree_on_every_offset() {
    let mut rust = String::new();
    let mut c = String::from("#include <stdio.h>\n#include \"saakm.h\"\nint main(void) {\n");
    layout! { rust, c;
        "saakm_set" Set { word }
        "saakm_thread" Thread { tid, core, weight, queue, runtime, running_since, affinity, attrs, runtime_private }
        "saakm_core" Core { current, nr_ready, nr_running, seen_khz, min_khz, exit_latency_ns, domain, idle_since, attrs }
        "saakm_domain" Domain { cores, first, count }
        "saakm_ops" Ops { ready, run, blocked, terminated, first, next, arm, cancel, keep_warm, preempt, set_changed }
        "saakm" Instance { ops, runtime_private, state, now, nr_cores, nr_words, cores, domains, nr_domains, online,
            idle, idle_whole, waiting, claimed }
        "saakm_param" Param { name, doc, unit, offset, min, max, initial }
        "saakm_queue" Queue { name, ordered }
        "saakm_policy" PolicyTable { abi, name, state_size, thread_size, core_size, params, nr_params, queues,
            nr_queues, reasons, nr_reasons, sets, nr_sets, init_state, init_core, init_thread, new_thread, unblock,
            schedule, tick, yield_, preempt, block, terminate, timer, newly_idle, enter_idle, exit_idle, balance,
            entry, exit }
    }
    c.push_str("return 0;\n}\n");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("layout.c"), c).unwrap();
    let program = folder.path().join("layout");
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime"))
        .arg("-o")
        .arg(&program)
        .arg(folder.path().join("layout.c"))
        .status()
        .expect("the tests need a C compiler");
    assert!(compiled.success());
    let output = Command::new(program).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), rust);
}
