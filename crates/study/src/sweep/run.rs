//! Running a sweep.

use super::chunk::{Chunk, Sweep};
use super::table::{self, End, Row};
use crate::Error;
use crate::matrix::Variant;
use crate::statistics::{Sample, speedup};
use hearth_sim::{Job, Outcome, SimError, run};
use rayon::prelude::*;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When a sweep stops to spend time on a policy. Both compare it with the first policy of the sweep, on the same
/// workload, machine and governor.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct GiveUp {
    /// A run ends when it has taken so many times as long as the longest run of the first policy.
    pub times: f64,
    /// After three seeds, a policy that is slower by more than this share, with 95% confidence, is run with no further seed. 0.5:
    /// it takes half as long again.
    pub slower: Option<f64>,
}

impl Default for GiveUp {
    fn default() -> Self {
        GiveUp { times: 20.0, slower: None }
    }
}

impl GiveUp {
    /// Whether the first seeds of a policy show that it is too slow. `baseline` are the times of the first policy.
    fn is_hopeless(&self, rows: &[Row], baseline: &[f64]) -> bool {
        let Some(slower) = self.slower.filter(|_| rows.len() >= SEEDS) else { return false };
        // A run that reached the limit took at least as long as the limit.
        let limit = baseline.iter().copied().fold(0.0, f64::max) * self.times;
        let times = rows[..SEEDS].iter().map(|row| row.time_s.unwrap_or(limit));
        let (Some(times), Some(baseline)) = (Sample::of(times), Sample::of(baseline.iter().copied())) else {
            return false;
        };
        let change = speedup(&baseline, &times);
        change.ci95.is_some_and(|[_, high]| high < 1.0 / (1.0 + slower) - 1.0)
    }
}

/// Seeds after which a policy may be given up.
const SEEDS: usize = 3;

impl Sweep {
    /// Runs the chunks with these numbers whose files are not in `folder` yet. Calls `done` with the number of runs of each chunk
    /// that exists now, from several threads.
    ///
    /// # Errors
    /// If a run cannot start, or a file cannot be written. Files that were written stay.
    pub fn run(&self, folder: &Path, numbers: &[usize], done: impl Fn(usize) + Sync) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|error| Error::sweep(folder, error))?;
        let (chunks, paths, name) = (self.chunks(), self.paths(folder)?, self.named(folder)?);
        self.each(numbers, |number: &usize| {
            let (chunk, path) = (&chunks[*number], &paths[*number]);
            if !path.exists() {
                table::write(path, &name, &self.rows(chunk)?)?;
            }
            done(chunk.policies.len() * self.matrix.runs as usize);
            Ok(())
        })?;
        Ok(())
    }

    /// The whole table, in memory.
    ///
    /// # Errors
    /// If a run cannot start, or [`Matrix::stop`](crate::Matrix::stop) is true.
    pub fn table(&self) -> Result<Vec<Row>, Error> {
        Ok(self.each(&self.chunks(), |chunk| self.rows(chunk))?.into_iter().flatten().collect())
    }

    /// Does `work` for each item, in parallel.
    fn each<T: Sync, R: Send>(
        &self,
        items: &[T],
        work: impl Fn(&T) -> Result<R, Error> + Sync,
    ) -> Result<Vec<R>, Error> {
        let all = || items.par_iter().with_max_len(1).map(&work).collect();
        match rayon::ThreadPoolBuilder::new().num_threads(self.matrix.threads).build() {
            Ok(pool) => pool.install(all),
            // Without worker threads, this one does all.
            Err(_) => items.iter().map(&work).collect(),
        }
    }

    /// Writes the table of all chunks. `None` if the files of some are missing: nothing is written then.
    ///
    /// # Errors
    /// If a file cannot be read or written.
    pub fn merge(&self, folder: &Path, to: &Path) -> Result<Option<usize>, Error> {
        let paths = self.paths(folder)?;
        if !paths.iter().all(|path| path.exists()) {
            return Ok(None);
        }
        let mut rows = Vec::with_capacity(self.runs());
        for path in paths {
            rows.extend(table::read(&path)?);
        }
        table::write(to, &self.named(folder)?, &rows)?;
        Ok(Some(rows.len()))
    }

    fn named(&self, folder: &Path) -> Result<String, Error> {
        self.name().map_err(|error| Error::sweep(folder, error))
    }

    fn paths(&self, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let names = self.names().map_err(|error| Error::sweep(folder, error))?;
        Ok(names.iter().map(|name| folder.join(name)).collect())
    }

    fn rows(&self, chunk: &Chunk) -> Result<Vec<Row>, Error> {
        let first = &self.matrix.variants[0];
        let longest = Duration::from_secs_f64(self.give_up.times);
        let baseline =
            self.seeds().map(|seed| Ok(self.simulate(chunk, first, seed, hearth_sim::LIMIT)??));
        let baseline: Vec<Outcome> = baseline.collect::<Result<_, Error>>()?;
        let slowest = baseline.iter().map(|outcome| outcome.time_s).fold(0.0, f64::max);
        let (mut baseline, limit) = (Some(baseline), longest.mul_f64(slowest));
        let times: Vec<f64> = baseline.iter().flatten().map(|outcome| outcome.time_s).collect();
        let mut rows = Vec::new();
        for number in chunk.policies.clone() {
            let variant = &self.matrix.variants[number];
            let known = if number == 0 { baseline.take() } else { None };
            rows.extend(self.rows_of(chunk, variant, known, &times, limit)?);
        }
        Ok(rows)
    }

    /// The rows of a policy. `known` are its runs if it is the baseline; `times` are the baseline's.
    fn rows_of(
        &self,
        chunk: &Chunk,
        variant: &Variant,
        known: Option<Vec<Outcome>>,
        times: &[f64],
        limit: Duration,
    ) -> Result<Vec<Row>, Error> {
        let workload = &self.workloads[chunk.workload].name;
        let setting = self.matrix.setting(chunk.machine, chunk.governor, variant);
        let mut known = known.map(Vec::into_iter);
        let mut rows: Vec<Row> = Vec::new();
        for seed in self.seeds() {
            if known.is_none() && self.give_up.is_hopeless(&rows, times) {
                rows.push(Row::without_metrics(workload, &setting, seed, End::GivenUp));
                continue;
            }
            let run = match known.as_mut().and_then(Iterator::next) {
                Some(outcome) => Ok(outcome),
                None => self.simulate(chunk, variant, seed, limit)?,
            };
            rows.push(Row::of(workload, &setting, seed, run)?);
        }
        Ok(rows)
    }

    fn seeds(&self) -> impl Iterator<Item = u64> {
        let first = self.matrix.seed;
        (0..self.matrix.runs).map(move |run| first.wrapping_add(run))
    }

    /// All policies of a workload have the same random numbers, because they have the same seeds.
    fn simulate(
        &self,
        chunk: &Chunk,
        variant: &Variant,
        seed: u64,
        limit: Duration,
    ) -> Result<Result<Outcome, SimError>, Error> {
        self.matrix.go_on()?;
        let job = Job {
            governor: chunk.governor.governor,
            driver: chunk.governor.driver,
            params: &variant.params,
            seed,
            noise: self.matrix.noise,
            world: self.matrix.world,
            limit,
            ..Job::new(&self.workloads[chunk.workload], chunk.machine, &variant.policy)
        };
        Ok(run(&job, &mut ()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_policy_is_given_up_when_three_seeds_are_sure() {
        let setting = crate::Setting {
            machine: String::new(),
            governor: String::new(),
            policy: String::new(),
            params: Default::default(),
        };
        let row =
            |time_s: Option<f64>| Row { time_s, ..Row::without_metrics("", &setting, 1, End::Completed) };
        let rows = |times: &[Option<f64>]| times.iter().copied().map(row).collect::<Vec<_>>();
        let is_hopeless = |percent: f64, times: &[Option<f64>]| {
            let give_up = GiveUp { slower: Some(percent / 100.0), times: 20.0 };
            give_up.is_hopeless(&rows(times), &[1.0, 1.01, 0.99, 1.0])
        };
        // Twice as slow.
        let twice = [Some(2.0), Some(2.02), Some(1.98)];
        assert!(is_hopeless(50.0, &twice));
        assert!(!is_hopeless(120.0, &twice));
        assert!(!is_hopeless(50.0, &twice[..2]), "two seeds do not suffice");
        assert!(!is_hopeless(50.0, &[Some(1.0), Some(4.0), Some(1.0)]), "the interval is wide");
        assert!(is_hopeless(50.0, &[None, None, None]), "all reached the limit");
        assert!(!GiveUp::default().is_hopeless(&rows(&twice), &[1.0, 1.01]));
    }
}
