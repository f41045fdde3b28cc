use crate::arguments::examples;
use crate::failure::Outcome;
use crate::output::{self, Document};
use crate::table::{Column, Plain, table};
use clap::ValueEnum;
use hearth_ipanema::library::WORDS;
use hearth_modelcheck::{Scenario, standard_scenarios};
use hearth_study::catalogue::{Entry, MachineEntry, ParamEntry, machines, policies, workloads};
use serde::Serialize;
use std::collections::BTreeMap;

/// List the built-in machines, policies, workloads and scenarios
///
/// Policies and generators are listed with their parameters: default, range, meaning.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth list policies",
    "hearth list library",
    "hearth list machines --json",
]))]
pub struct Args {
    /// What to list
    what: What,
    /// Print JSON (schema hearth.list/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Machines,
    Policies,
    Workloads,
    Scenarios,
    Library,
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.what {
            What::Machines => self.print("machines", machines()?, machines_text),
            What::Policies => self.print("policies", policies()?, entries_text),
            What::Workloads => self.print("workloads", workloads(), entries_text),
            What::Scenarios => self.print("scenarios", scenarios(), scenarios_text),
            What::Library => self.print("library", library(), library_text),
        }
    }

    fn print<T: Serialize>(&self, kind: &str, entries: Vec<T>, text: impl Fn(&[T]) -> String) -> Outcome {
        let document = Document { schema: "hearth.list/1", content: BTreeMap::from([(kind, &entries)]) };
        output::print(self.json, &document, || text(&entries))
    }
}

/// A scenario of `hearth modelcheck`.
#[derive(Serialize)]
struct ScenarioEntry {
    name: String,
    doc: String,
}

fn scenarios() -> Vec<ScenarioEntry> {
    let entry = |scenario: Scenario| ScenarioEntry { name: scenario.name, doc: scenario.doc };
    standard_scenarios().into_iter().map(entry).collect()
}

fn scenarios_text(scenarios: &[ScenarioEntry]) -> String {
    let mut table = Plain::new(2);
    for scenario in scenarios {
        table.row(&[&scenario.name, &scenario.doc]);
    }
    table.render()
}

/// A word of Ipanema's library.
#[derive(Serialize)]
struct WordEntry {
    usage: &'static str,
    doc: &'static str,
}

fn library() -> Vec<WordEntry> {
    WORDS.iter().map(|word| WordEntry { usage: word.usage, doc: word.doc }).collect()
}

fn library_text(words: &[WordEntry]) -> String {
    let mut table = Plain::new(2);
    for word in words {
        table.row(&[word.usage, word.doc]);
    }
    table.render()
}

fn machines_text(machines: &[MachineEntry]) -> String {
    let columns: [Column<&MachineEntry>; 7] = [
        ("machine", |m| m.name.to_owned()),
        ("model", |m| m.model.clone()),
        ("sockets", |m| m.sockets.to_string()),
        ("cores", |m| m.cores.to_string()),
        ("min GHz", |m| format!("{:.1}", m.min_ghz)),
        ("nominal", |m| format!("{:.1}", m.nominal_ghz)),
        ("turbo", |m| format!("{:.1}", m.turbo_ghz)),
    ];
    table(2, &columns, machines) + "\nA core is a hardware thread, as in the papers.\n"
}

fn entries_text(entries: &[Entry]) -> String {
    let mut text = String::new();
    for entry in entries {
        if !text.is_empty() {
            text.push('\n');
        }
        text += format!("{}  {}", entry.name, entry.summary).trim_end();
        text.push('\n');
        let base = entries.iter().find(|base| entry.extends.as_ref() == Some(&base.name));
        let inherited = |param: &&ParamEntry| base.is_some_and(|base| base.params.contains(param));
        let mut table = Plain::new(4);
        for p in entry.params.iter().filter(|param| !inherited(param)) {
            table.row(&[&format!("  {}", p.name), &p.default, &format!("{} to {}", p.min, p.max), &p.doc]);
        }
        text += &table.render();
        if let Some(base) = base {
            text += &format!("  and the parameters of {}\n", base.name);
        }
    }
    text
}
