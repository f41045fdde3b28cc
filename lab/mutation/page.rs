//! A file of `lab/results` with parts that a program writes.

use std::{fs, path::PathBuf};

pub struct Page {
    path: PathBuf,
    text: String,
}

impl Page {
    pub fn open(name: &str) -> Page {
        let path = PathBuf::from(format!("{}/results/{name}", env!("CARGO_MANIFEST_DIR")));
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Page { path, text }
    }

    pub fn save(&self) {
        fs::write(&self.path, &self.text).unwrap_or_else(|error| panic!("{}: {error}", self.path.display()));
    }

    /// Changes what lies between the marker of this program, with its arguments, and the end.
    fn change(&mut self, arguments: &str, change: impl FnOnce(&str) -> String) {
        let begin =
            format!("<!-- made by cargo run --release -p hearth-lab --bin lab-mutation{arguments} -->\n");
        let (before, rest) = self.text.split_once(&begin).expect("the page says where the part begins");
        let (made, after) = rest.split_once("<!-- end -->").expect("the page says where the part ends");
        self.text = format!("{before}{begin}{}<!-- end -->{after}", change(made));
    }

    /// Replaces the row of a policy in a table, or adds it at the end.
    pub fn set_row(&mut self, arguments: &str, policy: &str, row: &str) {
        let is_row = |line: &str| line.starts_with(&format!("| {policy} |"));
        self.change(arguments, |made| {
            let lines: Vec<&str> = made.trim().lines().collect();
            let replaced = lines.iter().any(|line| is_row(line));
            let rows = lines.into_iter().map(|line| if is_row(line) { row } else { line });
            let all: Vec<&str> = rows.chain((!replaced).then_some(row)).collect();
            format!("\n{}\n\n", all.join("\n"))
        });
    }

    /// Replaces the section of a policy, or adds it at the end.
    pub fn set_section(&mut self, arguments: &str, policy: &str, text: &str) {
        let new = format!("{policy}\n\n{}\n", text.trim_end());
        self.change(arguments, |made| {
            let is_it = |section: &str| section.starts_with(&format!("{policy}\n"));
            let sections: Vec<&str> = made.split("## ").skip(1).map(str::trim_end).collect();
            let replaced = sections.iter().any(|section| is_it(section));
            let kept = sections.iter().map(|section| match is_it(section) {
                true => new.clone(),
                false => format!("{section}\n"),
            });
            let added = (!replaced).then(|| new.clone());
            let all: String = kept.chain(added).map(|section| format!("\n## {section}")).collect();
            format!("{all}\n")
        });
    }
}

/// 12345 as `12 345`.
pub fn grouped(number: usize) -> String {
    match number {
        0..1000 => number.to_string(),
        _ => format!("{} {:03}", grouped(number / 1000), number % 1000),
    }
}
