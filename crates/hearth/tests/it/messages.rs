//! What hearth says to bad input, message by message: a page that shows each.

use super::{SMALL, folder, hearth, printed, text};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

const COMMANDS: &str = include_str!("messages.txt");
const HEAD: &str = "# Bad input, message by message

*Evidence: what `hearth` says to bad input. The status follows the message. `SNAPSHOTS=overwrite cargo test -p hearth-sched messages` renews this page.*

The files are: `t.trace` of a simulation, `cut.trace` without one of its files, `mine.ipa`, which is sound, an `empty` file, and others with the
errors that the messages tell.
";

/// The files that the commands name.
fn write_files(folder: &Path) {
    let simulate = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "nest", "--runs", "1", "-o"];
    for trace in ["t.trace", "cut.trace"] {
        printed(folder, &[&simulate[..], &[trace]].concat());
    }
    fs::remove_file(folder.join("cut.trace/cores.parquet")).expect("a file of the trace");
    let half = include_str!("../../../../machines/xeon-5218.toml");
    let half = half.split_inclusive('\n').take_while(|line| !line.starts_with("limits"));
    for (name, text) in [
        ("empty", ""),
        ("mine.ipa", "policy mine extends nest { }\n"),
        (
            "broken.ipa",
            "policy broken {\n    on new (thread t, core parent) {\n        t => parent.ready;\n    }\n",
        ),
        (
            "types.ipa",
            "policy types extends cfs {\n    on tick (thread t) {\n        int x = now;\n    }\n}\n",
        ),
        (
            "loop.ipa",
            "policy loop extends cfs {\n    int again(core c) {\n        return again(c);\n    }\n}\n",
        ),
        ("bad-view.toml", "name = 'x'\ncolor = 'queue'\n"),
        ("bad-scenario.toml", "cores = 'two'\n"),
        ("bad.json", "{\"threads\": 3}\n"),
        ("stuck.json", STUCK),
        ("bad.toml", "model = 3\n"),
        ("half.toml", &half.collect::<String>()),
    ] {
        fs::write(folder.join(name), text).expect("a file");
    }
}

/// A thread that waits for a semaphore that nobody raises.
const STUCK: &str = r#"{"hearth_workload": 1, "name": "stuck", "origin": "by hand", "semaphores": [0],
 "threads": [{"name": "waits", "ops": [{"wait": 0}]}]}
"#;

#[test]
fn messages() {
    let folder = folder();
    write_files(folder.path());
    let mut page = String::from(HEAD);
    for line in COMMANDS.lines() {
        if line.starts_with("## ") {
            let _ = write!(page, "\n{line}\n");
        } else if let Some(arguments) = line.strip_prefix("hearth ") {
            let words = shlex::split(arguments).expect("words");
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = hearth(folder.path(), &words);
            // The diagnostics of a policy are what `check` is asked for, so they are on standard output.
            let said = text(&output.stdout) + &text(&output.stderr);
            assert!(!output.status.success() && !said.is_empty(), "{line}");
            assert!(!said.contains("hearth has a bug"), "{line}: {said}");
            let status = output.status.code().expect("no signal");
            let said: Vec<&str> = said.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
            let _ = write!(page, "\n```text\n$ {line}\n{}\n[{status}]\n```\n", said.join("\n"));
        }
    }
    hearth_tests::golden("docs/src/data/messages.md", &page);
}
