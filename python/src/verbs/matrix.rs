//! The settings of a prediction or a study.

use crate::error::raise;
use crate::machine::Machine;
use crate::policy::{Loaded, Policy};
use hearth_machine::{Governor, Scaling};
use hearth_sim::World;
use hearth_study::{Error, Matrix};
use pyo3::prelude::*;
use rayon::prelude::*;
use std::sync::Arc;

/// The arguments that predictions and studies share. Python's layer loads machines and policies, and has the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings {
    machines: Vec<Py<Machine>>,
    governors: Vec<String>,
    policies: Vec<Py<Policy>>,
    seed: u64,
    runs: u64,
    noise: f64,
    world: Option<String>,
    jobs: usize,
}

/// [`Settings`] that have been checked.
pub struct Plan {
    machines: Vec<hearth_machine::Machine>,
    governors: Vec<Scaling>,
    policies: Vec<(String, Arc<Loaded>)>,
    seed: u64,
    runs: u64,
    noise: f64,
    world: World,
    jobs: usize,
}

impl Settings {
    pub fn plan(self) -> PyResult<Plan> {
        if self.machines.is_empty() || self.governors.is_empty() || self.policies.is_empty() || self.runs == 0
        {
            return Err(raise(
                "there is nothing to simulate; give a machine, a governor, a policy and a run at least",
            ));
        }
        Ok(Plan {
            machines: machines(&self.machines),
            governors: self
                .governors
                .iter()
                .map(|name| name.parse().map_err(raise))
                .collect::<PyResult<_>>()?,
            policies: policies(&self.policies),
            seed: self.seed,
            runs: self.runs,
            noise: noise(self.noise)?,
            world: world(self.world.as_deref())?,
            jobs: self.jobs,
        })
    }
}

impl Plan {
    /// Compiles the policies that have not been simulated yet.
    pub fn matrix(self, stop: &Arc<std::sync::atomic::AtomicBool>) -> Result<Matrix, Error> {
        let variant = |(name, policy): (String, Arc<Loaded>)| policy.variant(name);
        let variants = self.policies.into_par_iter().map(variant).collect::<Result<_, _>>()?;
        let matrix = Matrix {
            seed: self.seed,
            runs: self.runs,
            noise: self.noise,
            world: self.world,
            threads: self.jobs,
            stop: stop.clone(),
            ..Matrix::of(self.machines, self.governors, variants)
        };
        matrix.check_drivers()?;
        Ok(matrix)
    }
}

pub fn governor(name: &str) -> PyResult<Governor> {
    name.parse().map_err(raise)
}

/// A share of the cycles of a piece of work.
pub fn noise(share: f64) -> PyResult<f64> {
    let valid = (0.0..=0.5).contains(&share);
    valid
        .then_some(share)
        .ok_or_else(|| raise(format_args!("noise is {share}, but must be between 0 and 0.5")))
}

pub fn world(parts: Option<&str>) -> PyResult<World> {
    parts.map_or(Ok(World::default()), |parts| parts.parse().map_err(raise))
}

/// Each machine once. A changed machine that has the original's name gets a number.
fn machines(given: &[Py<Machine>]) -> Vec<hearth_machine::Machine> {
    let mut all: Vec<hearth_machine::Machine> = Vec::new();
    for machine in given {
        let mut machine = machine.get().0.as_ref().clone();
        if all.contains(&machine) {
            continue;
        }
        machine.name = unused(&machine.name, |name| all.iter().any(|one| one.name == name));
        all.push(machine);
    }
    all
}

/// Each policy once, with its name. A changed policy that has the original's name gets a number.
fn policies(given: &[Py<Policy>]) -> Vec<(String, Arc<Loaded>)> {
    let mut all: Vec<(String, Arc<Loaded>)> = Vec::new();
    for policy in given {
        let policy = &policy.get().0;
        if all.iter().any(|(_, one)| one.is(policy)) {
            continue;
        }
        let taken =
            |name: &str| all.iter().any(|(other, one)| other == name && one.source() != policy.source());
        all.push((unused(policy.name(), taken), policy.clone()));
    }
    all
}

fn unused(name: &str, taken: impl Fn(&str) -> bool) -> String {
    let numbered = (2..).map(|number| format!("{name} ({number})"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or_default()
}
