//! Emitted C, compiled and driven by scenarios in C (`tests/native`): does a policy do what its
//! source says?

mod harness;

use harness::{cc, emitted, scratch};
use std::path::Path;
use std::process::Command;

/// Compiles a scenario, with the policy that it includes, and runs it.
fn scenario(name: &str, policy: Option<&str>) {
    let folder = scratch(&format!("native-{name}"));
    if let Some(policy) = policy {
        std::fs::write(folder.join(format!("{policy}_policy.c")), emitted(policy)).unwrap();
    }
    let native = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/native");
    let program = folder.join("scenario");
    let source = native.join(format!("{name}.c"));
    cc(&["-O2", "-g", "-fsanitize=undefined", "-fno-sanitize-recover", "-I"])
        .arg(&folder)
        .arg("-I")
        .arg(&native)
        .arg("-o")
        .arg(&program)
        .arg(&source)
        .run();
    let output = Command::new(&program).output().unwrap();
    assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn sets_and_walks_agree_with_simple_models() {
    scenario("sets", None);
}

#[test]
fn cfs_avoids_recently_loaded_cores_at_fork_only() {
    scenario("cfs", Some("cfs"));
}

#[test]
fn nest_keeps_its_nests() {
    scenario("nest", Some("nest"));
}

#[test]
fn smove_arms_its_timer_for_slow_cores_only() {
    scenario("smove", Some("smove"));
}
