use crate::failure::Outcome;
use crate::output;
use crate::table::Plain;
use clap::ValueEnum;
use hearth_modelcheck::{Scenario, standard_scenarios};
use hearth_study::catalogue::{Entry, MachineEntry, ParamEntry, machines, policies, workloads};
use serde::Serialize;
use std::collections::BTreeMap;
use std::process::ExitCode;

/// List what is built in: machines, policies and workload generators with their parameters, scenarios to check
#[derive(clap::Args)]
pub struct Args {
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
}

#[derive(Serialize)]
struct List<T> {
    schema: &'static str,
    #[serde(flatten)]
    entries: BTreeMap<&'static str, Vec<T>>,
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.what {
            What::Machines => self.print("machines", machines()?, machines_text),
            What::Policies => self.print("policies", policies()?, entries_text),
            What::Workloads => self.print("workloads", workloads(), entries_text),
            What::Scenarios => self.print("scenarios", scenarios(), scenarios_text),
        }
    }

    fn print<T: Serialize>(
        &self,
        kind: &'static str,
        entries: Vec<T>,
        text: impl Fn(&[T]) -> String,
    ) -> Outcome {
        if self.json {
            output::json(&List { schema: "hearth.list/1", entries: [(kind, entries)].into() })?;
        } else {
            output::text(&text(&entries))?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What `hearth modelcheck` can try a policy on.
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

fn machines_text(machines: &[MachineEntry]) -> String {
    let mut table = Plain::new(2);
    table.head(&["machine", "model", "sockets", "cores", "min GHz", "nominal", "turbo"]);
    for m in machines {
        let ghz = |value: f64| format!("{value:.1}");
        table.row(&[
            m.name.to_owned(),
            m.model.clone(),
            m.sockets.to_string(),
            m.cores.to_string(),
            ghz(m.min_ghz),
            ghz(m.nominal_ghz),
            ghz(m.turbo_ghz),
        ]);
    }
    table.render() + "\nA core is a hardware thread, as in the papers.\n"
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
