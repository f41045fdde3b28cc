//! Simulations of machines × governors × policies × seeds.

use crate::difference::{AgainstBase, Difference, first_difference};
use crate::tune::BASELINE;
use crate::{Error, Prediction, Provenance, Run, Selection, Setting, WorkloadFacts};
use hearth_machine::{Machine, Scaling};
use hearth_policy::{Policy, ScopedAssignment, Settings, Spec, load, names};
use hearth_report::page::TimelinePanel;
use hearth_sim::{Job, NOISE, Native, Outcome, World};
use hearth_trace::{Reader, Writer};
use hearth_workload::Workload;
use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The settings to simulate: every machine runs every policy under every governor, with `runs` seeds.
pub struct Matrix {
    pub machines: Vec<Machine>,
    pub governors: Vec<Scaling>,
    /// Also simulate the first variant under each other driver and governor that the machine offers.
    pub other_governors: bool,
    pub variants: Vec<Variant>,
    /// The seed of the first run. The others have the following numbers.
    pub seed: u64,
    /// Number of runs of each setting.
    pub runs: u64,
    /// See [`hearth_sim::NOISE`].
    pub noise: f64,
    pub world: World,
    /// What is unknown of one of the machines.
    pub gaps: Option<Gaps>,
    /// Number of parallel simulations; 0 means one per core of the host.
    pub threads: usize,
    /// Once it is true, no further run starts, and the result is [`Error::Stopped`].
    pub stop: Arc<AtomicBool>,
}

/// What is unknown of a machine, and is not printed.
#[derive(Clone, Debug)]
pub struct Gaps {
    pub machine: String,
    /// It has no frequency control.
    pub governor: bool,
    /// Its power is that of another machine.
    pub power: bool,
}

/// A policy with its parameters.
pub struct Variant {
    /// The policy's name, or its path if policies of several files have the same name.
    pub name: String,
    pub source: String,
    pub policy: Arc<Native>,
    pub params: Settings,
}

impl Variant {
    /// The nearest base of this policy, with its initial parameters. `None`: it has none.
    fn base(&self) -> Result<Option<Variant>, Error> {
        let Some(base) = hearth_policy::base(&self.source, self.policy.policy()) else { return Ok(None) };
        Ok(Some(Variant {
            name: base.name().to_owned(),
            source: base.name().to_owned(),
            policy: Arc::new(Native::build(base)?),
            params: Settings::default(),
        }))
    }
}

/// What to keep of the runs besides their metrics.
#[derive(Clone, Copy, Default)]
pub struct Keep<'p> {
    /// Path to which the trace is written. Requires a matrix of exactly one run.
    pub trace: Option<&'p Path>,
    /// Keep the execution trace of each setting's first run, in this number of columns of time
    /// ([`Prediction::panels`]). Its events are stored in a temporary trace on disk, not in memory.
    pub columns: Option<u32>,
}

/// One run of a matrix.
struct Planned<'a> {
    setting: Setting,
    job: Job<'a>,
    /// Whether it is the first of its setting.
    first: bool,
}

impl Matrix {
    /// Loads what `selection` names, each once. Sets five runs from seed 1, with the simulator's default noise.
    pub fn load(selection: &Selection) -> Result<Matrix, Error> {
        let matrix = Matrix::of(
            machines(&selection.machines)?,
            unique(&selection.governors).copied().collect(),
            variants(&selection.policies, &selection.params)?,
        );
        matrix.check_drivers()?;
        Ok(matrix)
    }

    /// Five runs from seed 1 of each setting, with the simulator's default noise. Machines have different names, and so
    /// have variants with the same parameters.
    pub fn of(machines: Vec<Machine>, governors: Vec<Scaling>, variants: Vec<Variant>) -> Matrix {
        Matrix {
            machines,
            governors,
            other_governors: false,
            variants,
            seed: 1,
            runs: 5,
            noise: NOISE,
            world: World::default(),
            gaps: None,
            threads: 0,
            stop: Arc::default(),
        }
    }

    /// # Errors
    /// If [`stop`](Self::stop) is true.
    pub(crate) fn go_on(&self) -> Result<(), Error> {
        if self.stop.load(Ordering::Relaxed) { Err(Error::Stopped) } else { Ok(()) }
    }

    /// Number of runs.
    pub fn len(&self) -> usize {
        let settings: usize = self.machines.iter().map(|machine| self.places(machine).count()).sum();
        settings * self.runs as usize
    }

    /// # Errors
    /// If a driver is named that a machine does not have.
    pub fn check_drivers(&self) -> Result<(), Error> {
        for (machine, scaling) in
            self.machines.iter().flat_map(|m| self.governors.iter().map(move |g| (m, g)))
        {
            if let Some(driver) = scaling.driver.filter(|driver| !machine.frequency.drivers.contains(driver))
            {
                let has = machine.frequency.drivers.clone();
                return Err(Error::NoDriver { machine: machine.name.clone(), driver, has });
            }
        }
        Ok(())
    }

    fn gaps_of(&self, machine: &str) -> Option<&Gaps> {
        self.gaps.as_ref().filter(|gaps| gaps.machine == machine)
    }

    /// Whether the machine has none, or it is not known.
    fn no_governor(&self, machine: &Machine) -> bool {
        !machine.has_governor() || self.gaps_of(&machine.name).is_some_and(|gaps| gaps.governor)
    }

    /// The governors under which a machine is simulated: one stands for all where the kernel has none.
    pub(crate) fn governors_of(&self, machine: &Machine) -> &[Scaling] {
        let count =
            if self.no_governor(machine) { self.governors.len().min(1) } else { self.governors.len() };
        &self.governors[..count]
    }

    /// The governors and variants in which a machine is simulated.
    pub(crate) fn places(&self, machine: &Machine) -> impl Iterator<Item = (Scaling, &Variant)> {
        let governors = self.governors_of(machine);
        let spec = &machine.frequency;
        let mut other = match governors.first() {
            Some(&baseline) if self.other_governors && !self.no_governor(machine) => {
                spec.other_choices(baseline)
            }
            _ => Vec::new(),
        };
        let known = |other: &Scaling| {
            let is =
                |one: &&Scaling| one.governor == other.governor && spec.driver(**one) == spec.driver(*other);
            governors.iter().any(|one| is(&one))
        };
        other.retain(|scaling| !known(scaling));
        let all = governors
            .iter()
            .flat_map(|&governor| self.variants.iter().map(move |variant| (governor, variant)));
        all.chain(other.into_iter().flat_map(|scaling| self.variants.first().map(|first| (scaling, first))))
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Simulates the workload in every setting. The notes of the prediction are `notes`. Calls `done` after each run,
    /// from several threads.
    pub fn predict(
        &self,
        workload: &Workload,
        notes: Vec<String>,
        keep: &Keep,
        done: impl Fn() + Sync,
    ) -> Result<Prediction, Error> {
        if keep.trace.is_some() && self.len() != 1 {
            return Err(Error::ManyRuns { runs: self.len() });
        }
        let (plans, jobs): (Vec<_>, Vec<_>) =
            self.planned(workload).into_iter().map(|p| ((p.setting, p.first), p.job)).unzip();
        let results = hearth_sim::map_jobs(&jobs, self.threads, |index, job| {
            self.go_on()?;
            let columns = keep.columns.filter(|_| plans[index].1);
            let result = simulate(job, keep.trace, columns);
            done();
            result
        });
        let (mut runs, mut panels) = (Vec::new(), Vec::new());
        for (((setting, _), job), result) in plans.into_iter().zip(&jobs).zip(results) {
            let (outcome, panel) = result?;
            panels.extend(panel.map(|panel| TimelinePanel { setting: setting.page(), ..panel }));
            let borrowed = self.gaps_of(&setting.machine).is_some_and(|gaps| gaps.power);
            let run = Run::new(setting, job.seed, outcome);
            runs.push(if borrowed { run.without_energy() } else { run });
        }
        let mut prediction = Prediction::new(WorkloadFacts::of(workload, notes), runs, panels);
        prediction.provenance = Provenance {
            seeds: (0..self.runs).map(|run| self.seed.wrapping_add(run)).collect(),
            noise: self.noise,
            world: self.world.to_string(),
            ..Provenance::of_this_version()
        };
        Ok(prediction)
    }

    pub(crate) fn job<'a>(
        &self,
        workload: &'a Workload,
        machine: &'a Machine,
        Scaling { driver, governor }: Scaling,
        variant: &'a Variant,
        seed: u64,
    ) -> Job<'a> {
        let (policy, params) = (&*variant.policy, &variant.params);
        Job {
            governor,
            driver,
            params,
            seed,
            noise: self.noise,
            world: world_of(self.world, &variant.source),
            ..Job::new(workload, machine, policy)
        }
    }

    pub(crate) fn setting(&self, machine: &Machine, governor: Scaling, variant: &Variant) -> Setting {
        Setting {
            machine: machine.name.clone(),
            governor: if self.no_governor(machine) { String::new() } else { governor.to_string() },
            policy: variant.name.clone(),
            params: variant.params.shown(variant.policy.policy()).collect(),
        }
    }

    /// Adds the nearest base of the last variant, if that has one and it is not among the variants. Returns the indices of the
    /// base, or of the first variant, and of the policy.
    ///
    /// # Errors
    /// If the compiler of the host fails.
    pub fn add_base(&mut self) -> Result<[usize; 2], Error> {
        let own = self.variants.len() - 1;
        let Some(base) = self.variants[own].base()? else { return Ok([0, own]) };
        match self.variants.iter().position(|variant| variant.name == base.name) {
            Some(index) => Ok([index, own]),
            None => {
                self.variants.push(base);
                Ok([own + 1, own])
            }
        }
    }

    /// Compares a policy with its base and with the first variant, in a prediction of this matrix.
    ///
    /// # Errors
    /// If a simulation fails.
    pub fn against_base(
        &self,
        prediction: &Prediction,
        workload: &Workload,
        [base, own]: [usize; 2],
    ) -> Result<AgainstBase, Error> {
        let [kernel, base, own] = [0, base, own].map(|index| &self.variants[index]);
        let mut than = vec![&base.name, &kernel.name];
        than.dedup();
        than.retain(|name| **name != own.name);
        let (same_decisions, first_difference) = self.first_difference(workload, [base, own])?;
        Ok(AgainstBase {
            policy: own.name.clone(),
            base: base.name.clone(),
            speedups: than.iter().flat_map(|than| prediction.speedups(&own.name, than)).collect(),
            same_decisions,
            first_difference,
        })
    }

    /// On the first machine, under the first governor, with the first seed.
    fn first_difference(
        &self,
        workload: &Workload,
        variants: [&Variant; 2],
    ) -> Result<(usize, Option<Difference>), Error> {
        let (Some(machine), Some(&governor)) = (self.machines.first(), self.governors.first()) else {
            return Ok((0, None));
        };
        let [first, second] =
            variants.map(|variant| self.job(workload, machine, governor, variant, self.seed));
        first_difference(&first, &second)
    }

    /// All runs, ordered by machine, setting and seed.
    fn planned<'a>(&'a self, workload: &'a Workload) -> Vec<Planned<'a>> {
        let mut planned = Vec::new();
        for machine in &self.machines {
            for (governor, variant) in self.places(machine) {
                for run in 0..self.runs {
                    planned.push(Planned {
                        setting: self.setting(machine, governor, variant),
                        job: self.job(workload, machine, governor, variant, self.seed.wrapping_add(run)),
                        first: run == 0,
                    });
                }
            }
        }
        planned
    }
}

/// The world in which a policy is simulated: `eevdf` stands for the kernel's own scheduler, which sched_ext does not run.
pub(crate) fn world_of(world: World, policy: &str) -> World {
    World { sched_ext: world.sched_ext && policy != BASELINE, ..world }
}

/// Simulates one run. Writes its trace to `path`, and returns a panel with this number of `columns`.
fn simulate(
    job: &Job,
    path: Option<&Path>,
    columns: Option<u32>,
) -> Result<(Outcome, Option<TimelinePanel>), Error> {
    let header = hearth_sim::header(job);
    let mut kept = path.map(|path| Writer::create(path, &header)).transpose()?;
    // A stored trace serves for the panel too.
    let spool = match columns.filter(|_| path.is_none()) {
        Some(_) => Some(tempfile::tempdir().map_err(Error::TemporaryFolder)?),
        None => None,
    };
    let spool = spool.as_ref().map(|folder| folder.path().join("trace"));
    let mut spooled = spool.as_ref().map(|path| Writer::create(path, &header)).transpose()?;
    let outcome = hearth_sim::run(job, &mut (&mut kept, &mut spooled))?;
    kept.map(|writer| writer.commit(&outcome.header)).transpose()?;
    spooled.map(|writer| writer.commit_without_index(&outcome.header)).transpose()?;
    let panel = match (columns, spool.as_deref().or(path)) {
        (Some(columns), Some(path)) => Some(TimelinePanel::read(Reader::open(path)?, columns)?),
        _ => None,
    };
    Ok((outcome, panel))
}

fn machines(sources: &[String]) -> Result<Vec<Machine>, Error> {
    let mut machines: Vec<Machine> = Vec::new();
    for source in unique(sources) {
        let mut machine = Machine::load(source)?;
        // A copy of a machine file may still have the original's name.
        if machines.iter().any(|other| other.name == machine.name) {
            machine.name = source.clone();
        }
        machines.push(machine);
    }
    Ok(machines)
}

fn variants(policies: &[Spec], params: &[ScopedAssignment]) -> Result<Vec<Variant>, Error> {
    let all: Vec<Spec>;
    let specs = if policies.is_empty() {
        let spec = |name: &&str| Spec { source: name.to_string(), params: Vec::new() };
        all = names().iter().map(spec).collect();
        &all
    } else {
        policies
    };
    let mut variants: Vec<(String, String, Policy, Settings)> = Vec::new();
    for spec in specs {
        let policy = load(&spec.source)?;
        // The parameters of this variant take precedence over those of the policy.
        let general = params.iter().filter(|p| p.policy == policy.name()).map(|p| &p.assignment);
        let params = Settings::parse(&policy, general.chain(&spec.params))?;
        if variants.iter().any(|(_, source, _, other)| *source == spec.source && *other == params) {
            continue;
        }
        // A changed copy of a policy may still have the original's name.
        let taken = variants.iter().any(|(name, source, ..)| *source != spec.source && name == policy.name());
        let name = if taken { spec.source.clone() } else { policy.name().to_owned() };
        variants.push((name, spec.source.clone(), policy, params));
    }
    let simulated =
        |param: &&ScopedAssignment| variants.iter().any(|(_, _, policy, _)| policy.name() == param.policy);
    if let Some(param) = params.iter().find(|param| !simulated(param)) {
        let simulated = variants.iter().map(|(_, _, policy, _)| policy.name().to_owned()).collect();
        return Err(Error::ParamOfOther {
            policy: param.policy.clone(),
            name: param.assignment.name.clone(),
            simulated,
        });
    }
    // Compilers run in parallel.
    let build = |(name, source, policy, params)| -> Result<Variant, Error> {
        Ok(Variant { name, source, policy: Arc::new(Native::build(policy)?), params })
    };
    variants.into_par_iter().map(build).collect()
}

/// Each value once, in order.
fn unique<T: PartialEq>(values: &[T]) -> impl Iterator<Item = &T> {
    values.iter().enumerate().filter(|(i, value)| !values[..*i].contains(value)).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sched_ext_runs_all_policies_but_the_baseline() {
        let sched_ext = |world, policy| world_of(world, policy).sched_ext;
        let on = World { sched_ext: true, ..World::default() };
        assert!(sched_ext(on, "ember") && !sched_ext(on, BASELINE) && !sched_ext(World::ALL, "ember"));
    }
}
