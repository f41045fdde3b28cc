use crate::failure::{Failure, Outcome};
use crate::output;
use crate::table::Plain;
use clap::ValueEnum;
use hearth_machine::Machine;
use hearth_modelcheck::{Scenario, standard_scenarios};
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

#[derive(Serialize)]
struct MachineEntry {
    name: &'static str,
    model: String,
    sockets: u16,
    cores: usize,
    min_ghz: f64,
    nominal_ghz: f64,
    turbo_ghz: f64,
}

/// A policy or a generator.
#[derive(Serialize)]
struct Entry {
    name: String,
    summary: String,
    /// The policy that it builds on, and whose parameters it has too.
    #[serde(skip_serializing_if = "Option::is_none")]
    extends: Option<String>,
    params: Vec<Param>,
}

#[derive(Serialize, PartialEq)]
struct Param {
    name: String,
    default: String,
    min: String,
    max: String,
    doc: String,
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

fn machines() -> Result<Vec<MachineEntry>, Failure> {
    let entry = |name| {
        let machine = Machine::builtin(name)?;
        let ghz = |khz: u32| f64::from(khz) / 1e6;
        Ok(MachineEntry {
            name,
            sockets: machine.topology.shape().sockets,
            cores: machine.topology.core_count(),
            min_ghz: ghz(machine.frequency.min_khz),
            nominal_ghz: ghz(machine.frequency.nominal_khz),
            turbo_ghz: ghz(machine.frequency.max_khz()),
            model: machine.model,
        })
    };
    Machine::names().map(entry).collect()
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

fn policies() -> Result<Vec<Entry>, Failure> {
    let entry = |name: &&str| {
        let policy = hearth_policy::load(name)?;
        let params = policy
            .params()
            .iter()
            .map(|p| Param {
                name: p.name.clone(),
                default: p.unit.show(p.initial),
                min: p.unit.show(p.min),
                max: p.unit.show(p.max),
                doc: p.doc.clone(),
            })
            .collect();
        Ok(Entry {
            name: policy.name().to_owned(),
            summary: summary(policy.doc()),
            extends: policy.ir().bases.first().cloned(),
            params,
        })
    };
    hearth_policy::names().iter().map(entry).collect()
}

/// What a policy's documentation begins with: up to the first colon, or the end of the first sentence.
fn summary(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [": ", ". "].iter().filter_map(|end| line.find(end)).min();
    line[..end.unwrap_or(line.len())].trim_end_matches('.').to_owned()
}

fn workloads() -> Vec<Entry> {
    let entry = |generator: &hearth_workload::Generator| Entry {
        name: generator.name.into(),
        summary: generator.summary.into(),
        extends: None,
        params: generator
            .params
            .iter()
            .map(|p| {
                let bound = |value: u64| if value == u64::MAX { "any".into() } else { value.to_string() };
                Param {
                    name: p.name.into(),
                    default: format!("{}{}", p.default, unit(p.unit)),
                    min: bound(p.min),
                    max: bound(p.max),
                    doc: p.doc.into(),
                }
            })
            .collect(),
    };
    hearth_workload::generators().iter().map(entry).collect()
}

/// A unit that is a word stands apart from its number.
fn unit(unit: &str) -> String {
    if unit.is_empty() || unit == "%" { unit.into() } else { format!(" {unit}") }
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
        let inherited = |param: &&Param| base.is_some_and(|base| base.params.contains(param));
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
