//! A policy as a file: reading it, and finding what it extends.

use crate::failure::Failure;
use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use hearth_ipanema::syntax::Sources;
use hearth_ipanema::{Compiled, Failed, builtin, compile};
use hearth_mutate::Subject;
use std::fs;
use std::io::IsTerminal;
use std::path::Path;

/// The text of a policy: that of a file, or of a built-in policy.
pub fn read(name_or_path: &str) -> Result<String, Failure> {
    if let Some(text) = builtin::source(name_or_path) {
        return Ok(text.to_owned());
    }
    fs::read_to_string(name_or_path).map_err(|error| {
        let failure = Failure::new(format_args!("cannot read the policy {name_or_path}: {error}"));
        let looks_like_a_name = Path::new(name_or_path).extension().is_none() && !name_or_path.contains('/');
        if !looks_like_a_name {
            return failure;
        }
        match hearth_base::suggest::closest(name_or_path, builtin::NAMES) {
            Some(near) => failure.help(format_args!("did you mean the built-in policy `{near}`?")),
            None => failure.help(format_args!(
                "give the path of an .ipa file, or a built-in policy: {}",
                builtin::NAMES.join(", ")
            )),
        }
    })
}

/// Compiles a policy. What it extends is sought beside it (`NAME.ipa`), then among the built-in policies.
pub fn compile_named(name_or_path: &str) -> Result<Result<Compiled, Box<Failed>>, Failure> {
    if builtin::source(name_or_path).is_some() {
        return Ok(compile(&|_: &str| None, name_or_path));
    }
    Ok(compile(&hearth_sim::beside(name_or_path, read(name_or_path)?), name_or_path))
}

/// The policy with all of its texts, to be changed. What is wrong with it has been shown if it does not compile.
pub fn subject(name_or_path: &str) -> Result<Subject, Failure> {
    let subject = if builtin::source(name_or_path).is_some() {
        Subject::new(&|_: &str| None, name_or_path)
    } else {
        Subject::new(&hearth_sim::beside(name_or_path, read(name_or_path)?), name_or_path)
    };
    subject.map_err(|failed| {
        eprint!("{}", render_all(&failed.diagnostics, &failed.sources, std::io::stderr().is_terminal()));
        Failure::quiet()
    })
}

/// Shows what is wrong with the syntax of a text, if anything is.
pub fn syntax_errors(name: &str, text: &str, diagnostics: &[Diagnostic]) -> Result<(), Failure> {
    if !diagnostics.iter().any(Diagnostic::is_error) {
        return Ok(());
    }
    let mut sources = Sources::new();
    sources.add(name, text);
    eprint!("{}", render_all(diagnostics, &sources, std::io::stderr().is_terminal()));
    Err(Failure::quiet())
}
