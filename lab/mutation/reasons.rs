//! Why mutants survive: `reasons.toml`.

use std::collections::BTreeMap;
use std::path::Path;

use hearth_mutate::{Mutant, MutantVerdict};
use serde::Deserialize;

/// The survivors of one line that have the same reason.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Row<'m> {
    /// The policy itself has number 0.
    file: usize,
    line: usize,
    part: &'m str,
    text: &'m str,
    because: &'m str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reasons {
    reason: Vec<Reason>,
}

/// The reason of the survivors that fit all that it names. The first one that fits counts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reason {
    /// The policies in whose text the mutants are.
    file: Vec<String>,
    /// Handlers, functions or steals.
    #[serde(default)]
    part: Vec<String>,
    /// Texts of which the changed line has one.
    #[serde(default)]
    line: Vec<String>,
    #[serde(default)]
    operator: Vec<String>,
    /// Texts of which the line has one after the change.
    #[serde(default)]
    after: Vec<String>,
    because: String,
}

fn stem(mutant: &Mutant) -> String {
    Path::new(&mutant.file).file_stem().map_or_else(String::new, |stem| stem.display().to_string())
}

impl Reason {
    fn fits(&self, mutant: &Mutant) -> bool {
        let any = |wanted: &[String], is: &dyn Fn(&str) -> bool| {
            wanted.is_empty() || wanted.iter().any(|one| is(one))
        };
        self.file.contains(&stem(mutant))
            && any(&self.part, &|part| part == mutant.part)
            && any(&self.line, &|text| mutant.before.contains(text))
            && any(&self.operator, &|name| name == mutant.operator.name())
            && any(&self.after, &|text| mutant.after.contains(text))
    }
}

impl Reasons {
    pub fn load() -> Reasons {
        toml::from_str(include_str!("reasons.toml")).unwrap_or_else(|error| panic!("reasons.toml: {error}"))
    }

    /// A table of the survivors, and how many have no reason.
    pub fn section(&self, judged: &[MutantVerdict]) -> (String, usize) {
        let survivors: Vec<&Mutant> =
            judged.iter().filter(|one| one.verdict.survives()).map(|one| &one.mutant).collect();
        if survivors.is_empty() {
            return ("None survives.".into(), 0);
        }
        let mut open = 0;
        let mut files: Vec<String> = Vec::new();
        let mut rows: BTreeMap<Row<'_>, BTreeMap<&str, usize>> = BTreeMap::new();
        for mutant in survivors {
            let stem = stem(mutant);
            let file = files.iter().position(|known| *known == stem).unwrap_or_else(|| {
                files.push(stem);
                files.len() - 1
            });
            let reason = self.reason.iter().find(|reason| reason.fits(mutant));
            open += usize::from(reason.is_none());
            let because = reason.map_or("?", |reason| &reason.because);
            let Mutant { line, part, before: text, .. } = mutant;
            let row = Row { file, line: *line, part, text, because };
            *rows.entry(row).or_default().entry(mutant.operator.name()).or_default() += 1;
        }
        let mut text = "| line | part | text | survivors | reason |\n|---|---|---|---|---|\n".to_owned();
        for (Row { file, line, part, text: before, because }, operators) in rows {
            let counted = operators.iter().map(|(name, count)| match count {
                1 => (*name).to_owned(),
                _ => format!("{count} {name}"),
            });
            let operators = counted.collect::<Vec<String>>().join(", ");
            let before = before.replace('|', "\\|");
            text += &format!("| {}:{line} | {part} | `{before}` | {operators} | {because} |\n", files[file]);
        }
        (text, open)
    }
}
