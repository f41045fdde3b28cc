//! Helpers for tests of the emitter.
#![allow(dead_code)]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use hearth_ipanema::syntax::Source;
use hearth_ipanema::{Compiled, Failed, builtin, compile, emit};

/// Compiles a text as policy `test`.
pub fn compile_text(text: &str) -> Result<Compiled, Box<Failed>> {
    compile_files(&[("test", text)], "test")
}

/// Compiles policy `name` from several files, given as policy name and text.
pub fn compile_files(files: &[(&str, &str)], name: &str) -> Result<Compiled, Box<Failed>> {
    let provider = |wanted: &str| {
        let (name, text) = files.iter().find(|(name, _)| *name == wanted)?;
        Some(Source { name: format!("{name}.ipa"), text: (*text).to_owned() })
    };
    compile(&provider, name)
}

/// Emitted C of a built-in policy.
pub fn emitted(name: &str) -> String {
    assert!(builtin::source(name).is_some(), "{name}");
    match compile(&|_: &str| None, name) {
        Ok(compiled) => emit::c(&compiled.ir),
        Err(failed) => panic!("{failed}"),
    }
}

/// Creates an empty folder for one test.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The system's C compiler with strict warnings and the runtime's headers.
pub fn cc(args: &[&str]) -> Cc {
    let compiler = std::env::var("CC").unwrap_or_else(|_| "cc".to_owned());
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../runtime");
    let mut words = compiler.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or("cc"));
    command.args(words);
    command.args(["-std=gnu11", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-I"]).arg(runtime);
    command.args(args);
    Cc(command)
}

pub struct Cc(Command);

impl Cc {
    pub fn arg(mut self, arg: impl AsRef<std::ffi::OsStr>) -> Cc {
        self.0.arg(arg);
        self
    }

    pub fn run(self) {
        self.run_with("");
    }

    /// Runs with an input.
    fn run_with(mut self, input: &str) {
        self.0.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut compiler = self.0.spawn().expect("there is a C compiler");
        let sent = compiler.stdin.take().map(|mut stdin| stdin.write_all(input.as_bytes()));
        let output = compiler.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(matches!(sent, Some(Ok(()))), "{sent:?}");
    }
}

/// Compiles C with optimisation, discards the output, and asserts that there are no warnings.
pub fn compiles(c: &str) {
    cc(&["-O2", "-c", "-o", "/dev/null", "-x", "c", "-"]).run_with(c);
}

/// Checks only the syntax and types of C.
pub fn is_c(c: &str) {
    cc(&["-fsyntax-only", "-x", "c", "-"]).run_with(c);
}
