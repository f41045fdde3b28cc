//! The built-in machines, policies and workload generators, with their parameters.
//!
//! The entries serialize as those of the schema hearth.list/1.

use crate::Error;
use hearth_machine::Machine;
use serde::Serialize;

/// The main properties of a machine.
#[derive(Serialize)]
pub struct MachineEntry {
    pub name: &'static str,
    pub model: String,
    pub sockets: u16,
    pub cores: usize,
    pub min_ghz: f64,
    pub nominal_ghz: f64,
    pub turbo_ghz: f64,
}

/// A policy or a generator.
#[derive(Serialize)]
pub struct Entry {
    pub name: String,
    pub summary: String,
    /// The base policy, whose parameters the policy inherits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub extends: Option<String>,
    pub params: Vec<ParamEntry>,
}

/// A parameter. Its values have the syntax of `--param`.
#[derive(Serialize, PartialEq)]
pub struct ParamEntry {
    pub name: String,
    pub default: String,
    pub min: String,
    pub max: String,
    pub doc: String,
}

/// The built-in machines.
pub fn machines() -> Result<Vec<MachineEntry>, Error> {
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

/// The built-in policies.
pub fn policies() -> Result<Vec<Entry>, Error> {
    let entry = |name: &&str| {
        let policy = hearth_policy::load(name)?;
        let params = policy
            .params()
            .iter()
            .map(|p| ParamEntry {
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

/// The beginning of a policy's documentation, up to the first colon or the end of the first sentence.
fn summary(doc: &str) -> String {
    let line = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [": ", ". "].iter().filter_map(|end| line.find(end)).min();
    line[..end.unwrap_or(line.len())].trim_end_matches('.').to_owned()
}

/// The generators of workloads, and the recorded programs.
pub fn workloads() -> Vec<Entry> {
    let recording = |recorded: &hearth_workload::Recorded| Entry {
        name: recorded.name.clone(),
        summary: format!("{} (recorded with {} CPUs)", recorded.what, recorded.cpus),
        extends: None,
        params: Vec::new(),
    };
    let entry = |generator: &hearth_workload::Generator| Entry {
        name: generator.name.into(),
        summary: generator.summary.into(),
        extends: None,
        params: generator
            .params
            .iter()
            .map(|p| {
                let bound = |value: u64| if value == u64::MAX { "any".into() } else { value.to_string() };
                ParamEntry {
                    name: p.name.into(),
                    default: format!("{}{}", p.default, unit(p.unit)),
                    min: bound(p.min),
                    max: bound(p.max),
                    doc: p.doc.into(),
                }
            })
            .collect(),
    };
    let generators = hearth_workload::generators().iter().map(entry);
    generators.chain(hearth_workload::recorded().iter().map(recording)).collect()
}

/// A unit after a number: units that are words need a space.
fn unit(unit: &str) -> String {
    if unit.is_empty() || unit == "%" { unit.into() } else { format!(" {unit}") }
}
