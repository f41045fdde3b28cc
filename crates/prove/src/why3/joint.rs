//! Several goals as one file, so that Why3 starts once.

use super::{Goal, Slice};
use crate::error::Error;
use std::fs;
use std::path::Path;

/// Several slices as one file. Each has its own `Policy`, since they declare different things.
pub struct Joint {
    _file: tempfile::NamedTempFile,
    pub goals: Vec<Goal>,
}

impl Joint {
    pub fn new(scratch: &Path, slices: &[&Slice]) -> Result<Joint, Error> {
        let wrong = |error| Error::Write { path: scratch.to_owned(), error };
        let file =
            tempfile::Builder::new().prefix("joint").suffix(".mlw").tempfile_in(scratch).map_err(wrong)?;
        let (mut text, mut goals) = (String::new(), Vec::new());
        for (number, slice) in slices.iter().enumerate() {
            let own: Vec<&str> = slice.text.lines().filter_map(|line| line.strip_prefix("module ")).collect();
            // Why3 writes a module's name into those of its files, where it may have no quote.
            let renamed = |name: &str| {
                let at = own.iter().position(|own| *own == name)?;
                Some(format!("Slice_{number}_{at}"))
            };
            let line_of = |line: &str, keyword: &str| {
                Some(format!("{keyword}{}\n", renamed(line.strip_prefix(keyword)?)?))
            };
            for line in slice.text.lines() {
                let line_of = line_of(line, "module ").or_else(|| line_of(line, "  use "));
                text += &line_of.unwrap_or_else(|| format!("{line}\n"));
            }
            let Goal { module, goal, .. } = &slice.goal;
            let module = renamed(module).ok_or_else(|| Error::NoGoal(format!("{module}.{goal}")))?;
            let file = file.path().to_owned();
            goals.push(Goal { file, module, goal: goal.clone() });
        }
        fs::write(file.path(), text).map_err(wrong)?;
        Ok(Joint { _file: file, goals })
    }
}
