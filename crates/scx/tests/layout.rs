//! `src/layout.rs` and `runtime/bpf/layout.h` must describe the same memory.

use hearth_scx::layout::*;
use hearth_scx::log::Record as Logged;
use std::fmt::Write as _;
use std::mem::{offset_of, size_of};
use std::process::Command;

/// One line for each record, field and constant: from Rust's side, and as the C program that prints the same.
macro_rules! layout {
    ($rust:ident, $c:ident; $($c_name:literal $record:ident { $($field:ident $(= $c_field:literal)?),* })*) => {$(
        writeln!($rust, "{} {}", $c_name, size_of::<$record>()).unwrap();
        writeln!($c, "printf(\"{0} %zu\\n\", sizeof(struct {0}));", $c_name).unwrap();
        $(
            let field = [$($c_field,)? stringify!($field)][0];
            writeln!($rust, "{}.{} {}", $c_name, field, offset_of!($record, $field)).unwrap();
            writeln!($c, "printf(\"{0}.{1} %zu\\n\", offsetof(struct {0}, {1}));", $c_name, field).unwrap();
        )*
    )*};
}

macro_rules! constants {
    ($rust:ident, $c:ident; $($name:ident),*) => {$(
        writeln!($rust, "{} {}", stringify!($name), $name as usize).unwrap();
        writeln!($c, "printf(\"{0} %zu\\n\", (size_t)SAAKM_{0});", stringify!($name)).unwrap();
    )*};
}

/// What layout.h expects to be there; and the record, whose header also declares a BPF map.
const BEFORE: &str = "#include <stddef.h>\n#include <stdint.h>\n#include <stdio.h>\n\
    #define SAAKM_MAX_CORES 1024\n#define SAAKM_LEVELS 4\n\
    struct saakm_set { uint64_t word[SAAKM_MAX_CORES / 64]; };\n\
    typedef uint64_t u64; typedef uint32_t u32; typedef uint16_t u16; typedef uint8_t u8;\n\
    #include \"layout.h\"\n";

#[test]
fn rust_and_c_agree_on_every_offset() {
    let mut rust = String::new();
    let mut c = BEFORE.to_owned();
    let records = include_str!("../../../runtime/bpf/records.h");
    let begin = records.find("struct saakm_record {").unwrap();
    let end = records[begin..].find("};").unwrap();
    c.push_str(&records[begin..begin + end + 3]);
    let log = include_str!("../../../runtime/bpf/log.h");
    let begin = log.find("struct saakm_log_record {").unwrap();
    let end = log[begin..].find("};").unwrap();
    c.push_str(&log[begin..begin + end + 3]);
    c.push_str("int main(void) {\n");
    layout! { rust, c;
        "saakm_set" Set { word }
        "saakm_counters" Counters { placed, place_ns, news, wakeups, switches, preemptions, migrations, steals,
            moves_failed, timers_armed, timers_fired, timers_moved, claims_lost, idles, idle_ns, spins, spin_ns, kicks,
            bypassed, lost }
        "saakm_domain" Domain { cores, first, count }
        "saakm_window" Window { interval, runnable, most, intervals, cores_used, underload, used }
        "saakm_world" World { layout, ready, nr_cores, nr_words, nr_domains, frequency_source, recording, torn,
            nr_params, underload, lock, logged, free, fresh, threads, no_slot, serials, online, kernel_idle,
            idle, idle_whole, waiting, claimed, members, params, window }
        "saakm_record" Record { time, value, thread, other, khz, core, target, reason, kind, flag, text }
        "saakm_log_record" Logged { number, kind, flag, core, thread, a, b, c, d, e, f }
    }
    // A core ends with the policy's attributes, which are not the loader's.
    macro_rules! core {
        ($($field:ident $(= $c_field:literal)?),*) => {$(
            let field = [$($c_field,)? stringify!($field)][0];
            writeln!(rust, "saakm_core.{field} {}", offset_of!(Core, $field)).unwrap();
            writeln!(c, "printf(\"saakm_core.{field} %zu\\n\", offsetof(struct saakm_core, {field}));").unwrap();
        )*};
    }
    core!(
        current,
        nr_ready,
        seen_khz,
        min_khz,
        max_khz,
        model_khz,
        domain,
        searched,
        pending_head,
        pending_tail,
        known,
        idle_since,
        last_tick,
        warm_ns,
        warm_until,
        spin_since,
        busy_ns,
        rounds,
        this = "self",
        count
    );
    constants! { rust, c; LAYOUT, WORLD_AT, TOLD_SETS_AT, TOLD_AT, ZERO_AT, STATE_AT, STATE_BYTES, CORES_AT, CORE_BYTES, DOMAINS_AT, DOMAIN_BYTES,
    CONTEXTS_AT, CONTEXT_BYTES, THREADS_AT, THREAD_BYTES, CONTEXTS, MAX_REASONS, MAX_SETS, MAX_PARAMS }
    c.push_str("return 0;\n}\n");

    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("layout.c"), c).unwrap();
    let program = folder.path().join("layout");
    let compiled = Command::new("cc")
        .arg("-I")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/../../runtime/bpf"))
        .arg("-o")
        .arg(&program)
        .arg(folder.path().join("layout.c"))
        .status()
        .expect("the tests need a C compiler");
    assert!(compiled.success());
    let output = Command::new(program).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), rust);
}
