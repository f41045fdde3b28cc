//! Which programs run where, and how long threads wait for a core: from `/proc`, because the policy does not count them.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A reading may take so many-th of the time between two readings. A machine with very many threads has fewer readings.
const SHARE: u32 = 5;

/// Execution of threads: time on a core and time of waiting for one in ns, and number of runs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    pub run_ns: u64,
    pub wait_ns: u64,
    pub runs: u64,
}

impl Usage {
    /// Parses a `schedstat`.
    fn parse(text: &str) -> Option<Usage> {
        let mut numbers = text.split_whitespace().map(str::parse);
        let mut next = || numbers.next()?.ok();
        Some(Usage { run_ns: next()?, wait_ns: next()?, runs: next()? })
    }

    fn since(self, before: Usage) -> Usage {
        Usage {
            run_ns: self.run_ns.saturating_sub(before.run_ns),
            wait_ns: self.wait_ns.saturating_sub(before.wait_ns),
            runs: self.runs.saturating_sub(before.runs),
        }
    }

    fn add(&mut self, other: Usage) {
        self.run_ns += other.run_ns;
        self.wait_ns += other.wait_ns;
        self.runs += other.runs;
    }

    /// Mean time from ready to running.
    pub fn mean_wait_ns(&self) -> Option<f64> {
        (self.runs > 0).then(|| self.wait_ns as f64 / self.runs as f64)
    }
}

/// A program: all processes of one name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    pub name: String,
    /// Processes and threads that ran.
    pub processes: u32,
    pub threads: u32,
    pub usage: Usage,
}

/// What ran between two readings.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample {
    pub seconds: f64,
    /// Those that ran, most time first.
    pub programs: Vec<Program>,
    /// By core: the program that ran most of those whose threads were there at the end.
    pub on_core: BTreeMap<u64, String>,
    /// The sum of them.
    pub total: Usage,
}

pub struct Sampler {
    proc: PathBuf,
    threads: HashMap<u64, Usage>,
    read_at: Option<Instant>,
    due: Instant,
    sample: Sample,
}

impl Sampler {
    pub fn new() -> Self {
        Sampler::below(Path::new("/proc"))
    }

    fn below(proc: &Path) -> Self {
        Sampler {
            proc: proc.into(),
            threads: HashMap::new(),
            read_at: None,
            due: Instant::now(),
            sample: Sample::default(),
        }
    }

    /// What ran since the reading before; that of the last time if a reading would take too much time.
    pub fn sample(&mut self) -> Sample {
        let begun = Instant::now();
        if begun >= self.due {
            self.read(begun);
            self.due = Instant::now() + begun.elapsed() * SHARE;
        }
        self.sample.clone()
    }

    fn read(&mut self, now: Instant) {
        let is_first = self.read_at.is_none();
        let seconds = self.read_at.map_or(Duration::ZERO, |before| now - before).as_secs_f64();
        self.read_at = Some(now);
        let (mut threads, mut programs, mut cores) = (HashMap::new(), BTreeMap::new(), BTreeMap::new());
        for process in numbered(&self.proc) {
            let mut name = None;
            let mut ran = Usage::default();
            let mut count = 0;
            for thread in numbered(&process.1.join("task")) {
                let text = fs::read_to_string(thread.1.join("schedstat")).unwrap_or_default();
                let Some(usage) = Usage::parse(&text) else { continue };
                // One that is new has run since the reading before.
                let before = self.threads.get(&thread.0).copied().unwrap_or_default();
                threads.insert(thread.0, usage);
                let usage = usage.since(before);
                if is_first || usage.run_ns == 0 {
                    continue;
                }
                let name = name.get_or_insert_with(|| comm(&process.1));
                ran.add(usage);
                count += 1;
                if let Some(core) = last_core(&thread.1) {
                    let there: &mut BTreeMap<String, u64> = cores.entry(core).or_default();
                    *there.entry(name.clone()).or_default() += usage.run_ns;
                }
            }
            if let Some(name) = name {
                let program = programs.entry(name.clone()).or_insert(Program { name, ..Program::default() });
                program.processes += 1;
                program.threads += count;
                program.usage.add(ran);
            }
        }
        let mut programs: Vec<Program> = programs.into_values().collect();
        let mut total = Usage::default();
        programs.iter().for_each(|program| total.add(program.usage));
        programs.sort_by_key(|program| std::cmp::Reverse(program.usage.run_ns));
        let most =
            |there: BTreeMap<String, u64>| there.into_iter().max_by_key(|(_, ns)| *ns).map(|(name, _)| name);
        self.sample = Sample {
            seconds,
            programs,
            on_core: cores.into_iter().filter_map(|(core, there)| Some((core, most(there)?))).collect(),
            total,
        };
        self.threads = threads;
    }
}

/// The entries of a folder that are numbers.
fn numbered(folder: &Path) -> impl Iterator<Item = (u64, PathBuf)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path())))
}

/// A process's name; `?` if it has just ended.
fn comm(process: &Path) -> String {
    let text = fs::read_to_string(process.join("comm")).unwrap_or_else(|_| "?".into());
    text.trim_end().chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

/// The core that a thread runs on, or ran on last.
fn last_core(thread: &Path) -> Option<u64> {
    let stat = fs::read_to_string(thread.join("stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(36)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Writes the files of a thread.
    fn thread(proc: &Path, pid: u64, tid: u64, name: &str, schedstat: &str, core: u64) {
        let folder = proc.join(format!("{pid}/task/{tid}"));
        fs::create_dir_all(&folder).unwrap();
        fs::write(proc.join(format!("{pid}/comm")), format!("{name}\n")).unwrap();
        fs::write(folder.join("schedstat"), schedstat).unwrap();
        let fields: Vec<String> =
            (3..=52).map(|field| if field == 39 { core } else { 0 }.to_string()).collect();
        fs::write(folder.join("stat"), format!("{tid} (a) b) {}", fields.join(" "))).unwrap();
    }

    #[test]
    fn programs_are_counted_between_readings() {
        let folder = tempfile::tempdir().unwrap();
        let proc = folder.path();
        thread(proc, 1, 1, "init", "1000 0 5", 0);
        thread(proc, 20, 20, "make", "5000 100 10", 0);
        let mut sampler = Sampler::below(proc);
        sampler.read(Instant::now());
        assert_eq!(sampler.sample.programs, [], "nothing is known of the time before");

        thread(proc, 20, 20, "make", "6000 400 12", 0);
        thread(proc, 30, 30, "cc1", "3000 50 1", 1);
        thread(proc, 31, 31, "cc1", "2000 0 1", 1);
        thread(proc, 31, 32, "cc1", "2500 0 1", 0);
        sampler.read(Instant::now());
        let usage = |run_ns, wait_ns, runs| Usage { run_ns, wait_ns, runs };
        let program =
            |name: &str, processes, threads, usage| Program { name: name.into(), processes, threads, usage };
        assert_eq!(
            sampler.sample.programs,
            [program("cc1", 2, 3, usage(7500, 50, 3)), program("make", 1, 1, usage(1000, 300, 2))]
        );
        assert_eq!(sampler.sample.on_core, [(0, "cc1".into()), (1, "cc1".into())].into());
        assert_eq!(sampler.sample.total.mean_wait_ns(), Some(70.0));
    }

    #[test]
    fn a_machine_without_statistics_has_none() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("7/task/7")).unwrap();
        let mut sampler = Sampler::below(folder.path());
        for _ in 0..2 {
            sampler.read(Instant::now());
        }
        assert!(sampler.sample.programs.is_empty() && sampler.sample.total.mean_wait_ns().is_none());
    }
}
