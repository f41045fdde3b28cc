//! Each command of messages/commands.txt fails with a message. `make docs` shows them in the book.

use super::{SMALL, folder, hearth, printed, text};
use std::fs;
use std::path::Path;

const COMMANDS: &str = include_str!("messages/commands.txt");

/// The files that the commands name.
fn write_files(folder: &Path) {
    let files = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/messages");
    for file in fs::read_dir(files).expect("the files") {
        let file = file.expect("a file");
        fs::copy(file.path(), folder.join(file.file_name())).expect("a copy");
    }
    let simulate = ["sim", "-w", SMALL, "-m", "ryzen-3400g", "-p", "nest", "--runs", "1", "-o"];
    for trace in ["t.trace", "cut.trace"] {
        printed(folder, &[&simulate[..], &[trace]].concat());
    }
    fs::remove_file(folder.join("cut.trace/cores.parquet")).expect("a file of the trace");
}

#[test]
fn bad_input_gives_messages() {
    let folder = folder();
    write_files(folder.path());
    for line in COMMANDS.lines() {
        let Some(arguments) = line.strip_prefix("hearth ") else { continue };
        let words = shlex::split(arguments).expect("words");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = hearth(folder.path(), &words);
        // The diagnostics of a policy are what `check` is asked for, so they are on standard output.
        let printed = text(&output.stdout) + &text(&output.stderr);
        assert!(!output.status.success() && output.status.code().is_some(), "{line}");
        assert!(printed.to_lowercase().contains("error"), "{line}: {printed}");
        assert!(!printed.contains("hearth has a bug"), "{line}: {printed}");
    }
}
