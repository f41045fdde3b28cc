//! How much a speed-up depends on what is assumed of a machine.

use crate::matrix::{Matrix, Variant};
use crate::verdict::Effect;
use crate::{Conclusion, Error, Prediction, Setting};
use hearth_machine::{Machine, Scaling};
use hearth_sim::{Job, World};
use hearth_workload::Workload;
use serde::Serialize;
use toml::{Table, Value};

/// The range of a speed-up over changes of a machine's assumed parameters, one at a time.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Sensitivity {
    pub low: f64,
    pub high: f64,
    /// The change that moves the speed-up most, such as `frequency.turbo.release_us halved`; empty: none does.
    pub by: String,
}

/// The parameters that act on time and have no published source. Each is halved and
/// doubled.
const ASSUMED: [(&str, &str); 8] = [
    ("frequency.turbo.release_us", "how long an idle core counts for turbo"),
    ("frequency.hwp.tau_us", "how fast the hardware raises the clock"),
    ("frequency.hwp.full_permille", "how much load asks for the full clock"),
    ("frequency.window_us", "how fast the hardware changes the clock"),
    ("frequency.schedutil.rate_limit_us", "how often schedutil asks for a clock"),
    ("costs.stall_permille", "how much of the work waits for memory"),
    ("costs.smt_share_permille", "what two threads of a core share"),
    ("idle.*.exit_latency_us", "how long an idle core takes to wake up"),
];
/// What is assumed of the world around the workload, and of the work, which another run has in other amounts.
const WORLD: [(&str, &str); 4] = [
    ("world.warm", "what ran before"),
    ("world.daemons", "the daemons of the machine"),
    ("world.handovers", "how long a thread runs on after it has woken another"),
    ("noise", "how much the work differs from run to run"),
];
/// Work varies by this in the variant `noise`, as a fraction.
const NOISE: f64 = 0.1;

/// An assumption in words: `costs.stall_permille halved` is "how much of the work waits for memory".
pub(crate) fn in_words(by: &str) -> &str {
    let known = ASSUMED.iter().chain(&WORLD).find(|(key, _)| by.split(' ').next() == Some(key));
    known.map_or(by, |(_, words)| words)
}

const FACTORS: [(f64, &str); 2] = [(0.5, "halved"), (2.0, "doubled")];
/// Seeds of each simulation at most: differences under the same seed are compared, which need few.
const SEEDS: u64 = 3;

/// A machine, a governor and a policy of a matrix.
type Choice<'a> = (&'a Machine, Scaling, &'a Variant);

impl Matrix {
    /// Number of simulations of [`Matrix::weigh`].
    pub fn sensitivity_runs_of(&self, prediction: &Prediction) -> usize {
        let effects = prediction.verdicts.iter().flat_map(|verdict| verdict.effects());
        let each = |effect: &Effect| {
            let (machine, ..) = self.choice(&effect.setting).filter(|_| is_clear(effect))?;
            Some(2 * self.sensitivity_seeds() as usize * (variants(machine).len() + WORLD.len() + 1))
        };
        effects.filter_map(each).sum()
    }

    /// Adds to each clear effect of a prediction of this matrix what other assumptions give. Of several recordings,
    /// `workload` is one. Calls `done` after each simulation.
    pub fn weigh(
        &self,
        prediction: &mut Prediction,
        workload: &Workload,
        done: impl Fn() + Sync,
    ) -> Result<(), Error> {
        for effect in prediction.verdicts.iter_mut().flat_map(|verdict| verdict.effects_mut()) {
            let Some(best) = self.choice(&effect.setting).filter(|_| is_clear(effect)) else { continue };
            let (Some(&governor), Some(variant)) = (self.governors.first(), self.variants.first()) else {
                continue;
            };
            let baseline = (best.0, governor, variant);
            let model = self.sensitivity(workload, [baseline, best], effect.speedup, &done)?;
            *effect = effect.clone().with(model);
        }
        Ok(())
    }

    fn choice(&self, wanted: &Setting) -> Option<Choice<'_>> {
        let of = |machine| {
            let mut places = self.places(machine);
            let is_wanted = |&(governor, variant): &(Scaling, &Variant)| {
                self.setting(machine, governor, variant) == *wanted
            };
            places.find(is_wanted).map(|(governor, variant)| (machine, governor, variant))
        };
        self.machines.iter().find_map(of)
    }

    fn sensitivity_seeds(&self) -> u64 {
        self.runs.clamp(1, SEEDS)
    }

    /// The range of `speedup`, that of the second choice over the first.
    fn sensitivity(
        &self,
        workload: &Workload,
        choices: [Choice; 2],
        speedup: f64,
        done: impl Fn() + Sync,
    ) -> Result<Sensitivity, Error> {
        let machine = choices[0].0;
        let mut changed: Vec<(String, Machine, World, f64)> =
            vec![(String::new(), machine.clone(), self.world, self.noise)];
        changed.extend(
            variants(machine).into_iter().map(|(name, machine)| (name, machine, self.world, self.noise)),
        );
        changed.extend(WORLD.map(|(name, _)| {
            let (mut world, mut noise) = (self.world, self.noise);
            match name {
                "world.warm" => world.warm = !world.warm,
                "world.daemons" => world.daemons = !world.daemons,
                "world.handovers" => world.handovers = !world.handovers,
                _ => noise = NOISE,
            }
            (name.to_owned(), machine.clone(), world, noise)
        }));
        let seeds = self.sensitivity_seeds();
        let mut jobs = Vec::new();
        for (_, machine, world, noise) in &changed {
            for (_, governor, variant) in choices {
                for run in 0..seeds {
                    let job = self.job(workload, machine, governor, variant, self.seed.wrapping_add(run));
                    let sched_ext = job.world.sched_ext;
                    jobs.push(Job { world: World { sched_ext, ..*world }, noise: *noise, ..job });
                }
            }
        }
        let times = hearth_sim::map_jobs(&jobs, self.threads, |_, job: &Job| {
            self.go_on()?;
            let outcome = hearth_sim::run(job, &mut ())?;
            done();
            Ok::<f64, Error>(outcome.time_s)
        });
        let times = times.into_iter().collect::<Result<Vec<f64>, Error>>()?;
        let sum = |times: &[f64]| times.iter().sum::<f64>();
        let ratios: Vec<f64> = times
            .chunks_exact(2 * seeds as usize)
            .map(|both| both.split_at(seeds as usize))
            .map(|(baseline, best)| sum(baseline) / sum(best))
            .collect();
        let names: Vec<&String> = changed.iter().skip(1).map(|(name, ..)| name).collect();
        Ok(range(speedup, &ratios, &names))
    }
}

fn is_clear(effect: &Effect) -> bool {
    matches!(effect.conclusion, Conclusion::Faster | Conclusion::Slower)
}

/// The range of a speed-up. The first ratio is that of the unchanged machine.
fn range(speedup: f64, ratios: &[f64], names: &[&String]) -> Sensitivity {
    let mut range = Sensitivity { low: speedup, high: speedup, by: String::new() };
    let Some((unchanged, ratios)) = ratios.split_first() else { return range };
    let mut farthest = 0.0;
    for (ratio, name) in ratios.iter().zip(names) {
        let value = (1.0 + speedup) * ratio / unchanged - 1.0;
        range.low = range.low.min(value);
        range.high = range.high.max(value);
        if (value - speedup).abs() > farthest {
            farthest = (value - speedup).abs();
            range.by = (*name).clone();
        }
    }
    range
}

/// The machine with each change that it can have, and the name of the change.
fn variants(machine: &Machine) -> Vec<(String, Machine)> {
    let Ok(table) = machine.to_toml().parse::<Table>() else { return Vec::new() };
    let mut variants = Vec::new();
    for (key, _) in ASSUMED {
        for (factor, name) in FACTORS {
            let values = assignments(&table, key, factor);
            if let Some(changed) = values.and_then(|values| machine.with(&machine.name, &values).ok())
                && changed != *machine
            {
                variants.push((format!("{key} {name}"), changed));
            }
        }
    }
    variants
}

/// The replacements (see [`Machine::load`]) that multiply a parameter; `None` if the machine does not have it.
fn assignments(table: &Table, key: &str, factor: f64) -> Option<String> {
    if let Some((list, last)) = key.split_once(".*.") {
        let each = table.get(list)?.as_array()?.iter().enumerate().filter_map(|(index, item)| {
            let item = item.as_table()?;
            let value = item.get(last)?.as_integer()? as f64 * factor;
            // A sleep must not be shorter than its exit latency.
            let most = item.get("target_residency_us").and_then(Value::as_integer);
            let value = most.map_or(value, |most| value.min(most as f64));
            Some(format!("{list}.{index}.{last}={}", value.round()))
        });
        let all: Vec<String> = each.collect();
        return (!all.is_empty()).then(|| all.join(","));
    }
    let mut place = table;
    let (path, last) = key.rsplit_once('.')?;
    for step in path.split('.') {
        place = place.get(step)?.as_table()?;
    }
    let value = place.get(last)?.as_integer()? as f64 * factor;
    let value = if last.ends_with("_permille") { value.min(1000.0) } else { value };
    Some(format!("{key}={}", value.round()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_machine_has_its_assumptions_changed() {
        for name in Machine::names() {
            let machine = Machine::builtin(name).unwrap();
            let variants = variants(&machine);
            // Without frequencies, power and idle states, the costs are left.
            let least = if machine.has_governor() { 8 } else { 5 };
            assert!(variants.len() > least, "{name}: {}", variants.len());
            assert!(variants.iter().all(|(_, changed)| changed.name == machine.name));
        }
        let shift = variants(&Machine::builtin("xeon-5218").unwrap());
        assert!(shift.iter().any(|(change, machine)| change == "frequency.turbo.release_us halved"
            && machine.frequency.turbo.release_us == 10_000));
        assert!(shift.iter().any(|(change, _)| change == "idle.*.exit_latency_us doubled"));
    }

    #[test]
    fn the_range_is_relative_to_the_unchanged_machine() {
        let names = ["a doubled".to_owned(), "b doubled".to_owned()];
        let names: Vec<&String> = names.iter().collect();
        // The unchanged machine gives 1.2 here and +10% over all seeds; with b doubled, a quarter less.
        let found = range(0.1, &[1.2, 1.2, 0.9], &names);
        assert!(
            (found.low - (1.1 * 0.75 - 1.0)).abs() < 1e-12 && (found.high - 0.1).abs() < 1e-12,
            "{found:?}"
        );
        assert_eq!(found.by, "b doubled");
    }
}
