//! Bad input: each message says what is wrong and what to type instead.

use super::{SMALL, failed, fails, folder, hearth, text};
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

const SIM: [&str; 7] = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "nest"];

fn sim(more: &[&str], status: i32, expected: &[&str]) {
    fails(&[&SIM, more].concat(), status, expected);
}

#[test]
fn nobody_reads_the_errors() {
    let (reader, writer) = io::pipe().expect("a pipe");
    drop(reader);
    let status = Command::new(env!("CARGO_BIN_EXE_hearth"))
        .args(["sim", "-w", "typo", "-m", "ryzen-3400g"])
        .stderr(writer)
        .status()
        .expect("hearth starts");
    assert_eq!(status.code(), Some(1), "{status}");
}

#[test]
fn wrong_numbers() {
    sim(&["--seed", "-1"], 2, &["'-1' for '--seed", "must not be negative"]);
    sim(&["--seed", "one"], 2, &["'one' for '--seed", "write a whole number"]);
    sim(&["--seed", "99999999999999999999"], 2, &["too large"]);
    sim(&["--noise", "-3"], 2, &["'-3' for '--noise", "between 0 and 50"]);
    fails(&["play", SMALL, "--ghz", "fast"], 2, &["'fast' for '--ghz", "such as 2.5"]);
    fails(&["top", "--interval", "-5"], 2, &["'-5' for '--interval"]);
}

#[test]
fn a_parameter_of_another_policy() {
    let other = |param: &str, expected: &[&str]| sim(&["--param", param], 2, expected);
    other("nset.s_max=1", &["policy nset is not simulated", "did you mean `nest`?"]);
    other("smove.delay=50us", &["help: add --policy smove"]);
    other("smoev.delay=50us", &["did you mean `smove`?", "add --policy smove"]);
    other("banana.x=1", &["hearth list policies"]);
    let said = text(&hearth(folder().path(), &[&SIM[..], &["--param", "nset.s_max=1"]].concat()).stderr);
    assert!(!said.contains("--policy nset"), "{said}");
}

#[test]
fn too_many_traces() {
    fails(&["view", "a", "b", "c", "d", "e"], 2, &["5 traces", "at most four"]);
}

#[test]
fn a_policy_is_viewed_alone() {
    fails(&["view", "nest", "t.trace"], 2, &["nest is a policy", "name only the policy, or only traces"]);
    fails(&["view", "t.trace", "-m", "xeon-5218"], 2, &["--machine and --workload are for the playground"]);
    fails(&["view", "none.ipa"], 1, &["No such file", "hearth new none.ipa"]);
    fails(&["view", "nest", "-m", "xeon-5281"], 1, &["xeon-5218"]);
    fails(&["view", "nest", "-w", "kbuidl"], 1, &["kbuild"]);
}

#[test]
fn times_that_are_none() {
    let shown = "write a time as a number and a unit: 500ms, 10s, 2min";
    fails(&["record", "--system", "--duration", "banana"], 2, &["'banana' for '--duration", shown]);
    fails(&["record", "--system", "--duration", "-1"], 2, &["'-1' for '--duration", shown]);
    fails(&["record", "--system", "--duration", "0s"], 2, &["greater than 0"]);
    fails(&["extract", "t.trace", "-o", "w.json", "--until", "later"], 2, &[shown]);
    fails(&["ftl", "--busy", "long"], 2, &[shown]);
}

/// Runs hearth without privileges.
fn as_nobody(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
    let command = command.current_dir("/").args(args);
    let output = if is_root() { command.uid(65534).gid(65534).output() } else { command.output() };
    output.expect("hearth starts")
}

fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|process| std::os::unix::fs::MetadataExt::uid(&process) == 0)
}

/// Kernels without sched_ext, and containers without tracefs, have another error, which comes first.
#[test]
fn who_is_not_root_reads_what_to_type() {
    let program = env!("CARGO_BIN_EXE_hearth");
    for arguments in [
        &["predict", "-m", "xeon-5218", "--", "true"][..],
        &["record", "-o", "/tmp/hearth-none.trace", "--", "true"],
        &["exec", "nest", "--", "sh", "-c", "exit 0"],
    ] {
        let output = as_nobody(arguments);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(125), "{said}");
        if !(said.contains("no tracefs") || said.contains("no sched_ext") || said.contains("locked down")) {
            let line = shlex::try_join(arguments.iter().copied()).expect("words");
            assert!(said.contains(&format!("run it as root: sudo {program} {line}\n")), "{said}");
        }
    }
}

#[test]
fn a_view_file_with_an_error() {
    let folder = folder();
    let trace = [&SIM[..], &["--runs", "1", "-o", "t.trace"]].concat();
    assert!(hearth(folder.path(), &trace).status.success());
    for (content, expected) in [
        ("name = 3", "line 1"),
        ("name = 'x'\ncolour = 'red'", "expected one of `frequency`"),
        ("name = 'x'\ncolor = 'queue'", "unknown field `color`"),
    ] {
        fs::write(folder.path().join("v.toml"), content).expect("a file");
        let output = hearth(folder.path(), &["view", "t.trace", "--no-open", "--view", "v.toml"]);
        failed(&output, 1, &["v.toml", expected, "a view file looks like this", "name = \"waiting\""]);
        assert!(!text(&output.stderr).contains("book"));
    }
}

#[test]
fn a_scenario_file_with_an_error() {
    let folder = folder();
    fs::write(folder.path().join("s.toml"), "cores = 'two'").expect("a file");
    let output = hearth(folder.path(), &["modelcheck", "ule", "-s", "s.toml"]);
    failed(&output, 1, &["s.toml", "line 1", "a scenario looks like this", "[[thread]]"]);
    assert!(!text(&output.stderr).contains("book"));
}

#[test]
fn help_on_help() {
    for args in
        [&["help", "--help"][..], &["help", "-h"], &["help", "sim", "--help"], &["machine", "help", "-h"]]
    {
        let output = hearth(folder().path(), args);
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(text(&output.stdout).contains("Usage: hearth"), "{args:?}");
    }
}

#[test]
fn misspelt_files() {
    let folder = folder();
    fs::create_dir(folder.path().join("build.trace")).expect("a folder");
    for name in ["mine.ipa", "mine.json", "mine.toml"] {
        fs::write(folder.path().join(name), "").expect("a file");
    }
    let near = |args: &[&str], near: &str| {
        let output = hearth(folder.path(), args);
        let help = format!("did you mean `{near}`?");
        failed(&output, 1, &["No such file", &help]);
    };
    near(&["report", "biuld.trace"], "build.trace");
    near(&["view", "build"], "build.trace");
    near(&["predict", "build.trac", "-m", "ryzen-3400g"], "build.trace");
    near(&["sim", "-w", SMALL, "-m", "mien.toml"], "mine.toml");
    near(&["sim", "-w", "./mien.json", "-m", "ryzen-3400g"], "./mine.json");
    near(&["check", "mien.ipa"], "mine.ipa");
    near(&["view", "mien.ipa"], "mine.ipa");
    near(&["sim", "--schedule", "mien.json"], "mine.json");
}

/// What a command prints on a terminal. `None` if there is no `script` to make one.
fn on_a_terminal(environment: &[(&str, &str)], line: &str) -> Option<String> {
    let mut script = Command::new("script");
    script.args(["-qec", line, "/dev/null"]).env_remove("NO_COLOR").env("TERM", "xterm");
    let output = script.envs(environment.iter().copied()).output().ok()?;
    Some(text(&output.stdout))
}

#[test]
fn colours_can_be_refused() {
    let folder = folder();
    let path = folder.path().join("bad.ipa");
    fs::write(&path, "policy bad extends cfs { on tick (thread t) { t => nowhere; } }").expect("a file");
    for line in [format!("check {}", path.display()), "sim --banana".into(), "--help".into()] {
        let line = format!("'{}' {line}", env!("CARGO_BIN_EXE_hearth"));
        let coloured =
            |environment: &[(&str, &str)]| Some(on_a_terminal(environment, &line)?.contains("\x1b["));
        let Some(usual) = coloured(&[]) else { return eprintln!("script is not installed") };
        assert!(usual, "{line}");
        assert_eq!(coloured(&[("NO_COLOR", "1")]), Some(false), "{line}");
        assert_eq!(coloured(&[("TERM", "dumb")]), Some(false), "{line}");
        assert_eq!(coloured(&[("TERM", "dumb"), ("CI", "true")]), Some(false), "{line}");
    }
}
