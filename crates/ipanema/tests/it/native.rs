//! Runs emitted C in scenarios written in C (`tests/native`), to check that a policy does what its
//! source says.

use crate::harness::{cc, compile_files, emitted, scratch};
use hearth_ipanema::emit;
use std::path::Path;
use std::process::Command;

/// Compiles a scenario with the C of the policy that it includes, and runs it.
fn scenario(name: &str, policy: Option<String>) {
    let folder = scratch(&format!("native-{name}"));
    if let Some(c) = policy {
        std::fs::write(folder.join(format!("{name}_policy.c")), c).unwrap();
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
fn sets_and_iteration_agree_with_simple_models() {
    scenario("sets", None);
}

#[test]
fn emitted_set_expressions_agree_with_simple_models() {
    let files = [("algebra", include_str!("../native/algebra.ipa"))];
    match compile_files(&files, "algebra") {
        Ok(compiled) => scenario("algebra", Some(emit::c(&compiled.ir))),
        Err(failed) => panic!("{failed}"),
    }
}

#[test]
fn cfs_avoids_recently_loaded_cores_at_fork_only() {
    scenario("cfs", Some(emitted("cfs")));
}

#[test]
fn eevdf_keeps_lags_and_preempts_for_the_first() {
    scenario("eevdf", Some(emitted("eevdf")));
}

#[test]
fn nest_keeps_its_nests() {
    scenario("nest", Some(emitted("nest")));
}

#[test]
fn smove_arms_its_timer_for_slow_cores_only() {
    scenario("smove", Some(emitted("smove")));
}

#[test]
fn ule_scores_sleep_and_children() {
    scenario("ule", Some(emitted("ule")));
}
