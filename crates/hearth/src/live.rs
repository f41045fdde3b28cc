//! Runs of a command on this machine, under the kernel's scheduler and under a policy in turn.

use crate::failure::Failure;
use crate::observer;
use crate::progress;
use crate::verbs::run::warn;
use hearth_host::rapl::{Absent, Meter};
use hearth_policy::{Policy, Settings};
use hearth_recorder::Subject;
use hearth_scx::{Options, Partial, Session, requirements};
use hearth_study::measure::Measures;
use hearth_study::statistics::{Change, Sample, speedup};
use hearth_trace::{Energy, Latency, Reader};
use serde::Serialize;
use std::fmt;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// What to run.
pub struct Plan<'a> {
    pub policy: &'a Policy,
    pub params: &'a Settings,
    pub command: &'a [String],
    /// Shell command that runs before each run and is not measured.
    pub prepare: Option<&'a str>,
    /// Runs of each, besides one that does not count.
    pub runs: u16,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scheduler {
    Kernel,
    Policy,
}

/// One run.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Trial {
    pub time_s: f64,
    /// Of the whole machine, in microjoules.
    pub energy: Option<Energy>,
}

/// The runs that count, in their order.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct Trials {
    pub kernel: Vec<Trial>,
    pub policy: Vec<Trial>,
}

/// Runs both in turn, with one run of each before that does not count. Every other round begins with the policy, so that a
/// machine that gets slower or faster meanwhile treats both alike.
pub fn in_turn<E>(runs: u16, mut run: impl FnMut(Scheduler) -> Result<Trial, E>) -> Result<Trials, E> {
    let mut trials = Trials::default();
    for round in 0..=runs {
        let mut order = [Scheduler::Kernel, Scheduler::Policy];
        if round % 2 == 1 {
            order.reverse();
        }
        for scheduler in order {
            let trial = run(scheduler)?;
            match scheduler {
                _ if round == 0 => {}
                Scheduler::Kernel => trials.kernel.push(trial),
                Scheduler::Policy => trials.policy.push(trial),
            }
        }
    }
    Ok(trials)
}

/// Measures the plan. Also returns why the energy is unknown, if it is.
///
/// # Errors
/// The kernel cannot run policies, which is checked before anything runs; or a run fails.
pub fn measure(plan: &Plan) -> Result<(Trials, Option<Absent>), Failure> {
    requirements::check()?;
    let (mut meter, absent) = match Meter::open() {
        Ok(meter) => (Some(meter), None),
        Err(absent) => (None, Some(absent)),
    };
    let mut warned = false;
    let trials = progress::during("running", 2 * (usize::from(plan.runs) + 1), |step| {
        in_turn(plan.runs, |scheduler| {
            let trial = plan.run(scheduler, meter.as_mut(), &mut warned)?;
            step();
            Ok::<Trial, Failure>(trial)
        })
    })?;
    Ok((trials, absent))
}

/// Wake-up latencies under both.
#[derive(Serialize)]
pub struct Latencies {
    pub kernel_us: Latency,
    pub policy_us: Latency,
    /// Events that the two recordings lack.
    pub lost_events: u64,
}

/// Records one more run of each. It costs time, so that the others are not recorded.
///
/// # Errors
/// The kernel cannot be recorded, or a run fails.
pub fn latencies(plan: &Plan) -> Result<Latencies, Failure> {
    let folder =
        tempfile::tempdir().map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
    let recorded = |scheduler: Scheduler| {
        let path = folder.path().join(format!("{scheduler:?}.trace"));
        plan.record(scheduler, &path)?;
        let measured = Measures::default().of(Reader::open(&path)?, "")?;
        let summary = measured.summary;
        Ok::<_, Failure>((summary.wakeup_latency_us, summary.lost_events.unwrap_or(0)))
    };
    progress::during("recording", 2, |step| {
        let (kernel_us, kernel_lost) = recorded(Scheduler::Kernel)?;
        step();
        let (policy_us, policy_lost) = recorded(Scheduler::Policy)?;
        step();
        Ok(Latencies { kernel_us, policy_us, lost_events: kernel_lost.saturating_add(policy_lost) })
    })
}

impl Plan<'_> {
    fn record(&self, scheduler: Scheduler, path: &Path) -> Result<(), Failure> {
        self.prepare()?;
        let silent = ["sh", "-c", r#"exec "$0" "$@" </dev/null >/dev/null 2>&1"#].map(str::to_owned);
        let command = [&silent, self.command].concat();
        let status = match scheduler {
            Scheduler::Kernel => {
                let options = hearth_recorder::Options::default();
                hearth_recorder::Session::prepare(Subject::Command(&command), options)?.write_to(path)?.status
            }
            Scheduler::Policy => {
                let options = Options { record: Some(observer::record(path.into())), ..self.options() };
                let mut session = Session::start(self.policy.clone(), options)?;
                let mut process = Command::new(&command[0]);
                process.args(&command[1..]);
                let (status, ended) = session.command(process)?;
                if let Some(error) = ended {
                    return Err(self.ended(&error));
                }
                session.finish()?;
                Some(status)
            }
        };
        match status {
            Some(status) if !status.success() => {
                Err(Failure::new(format_args!("{} ended with {status}", self.command[0])))
            }
            _ => Ok(()),
        }
    }

    /// The policy ended before the command.
    fn ended(&self, error: &hearth_scx::Error) -> Failure {
        Failure::new(format_args!("{} ended before the command: {error}", self.policy.name()))
    }

    fn prepare(&self) -> Result<(), Failure> {
        let Some(prepare) = self.prepare else { return Ok(()) };
        let mut command = Command::new("sh");
        quiet(command.args(["-c", prepare]), |command| command.status())
    }

    /// `warned`: the user was told what the policy lacks here.
    fn run(
        &self,
        scheduler: Scheduler,
        mut meter: Option<&mut Meter>,
        warned: &mut bool,
    ) -> Result<Trial, Failure> {
        self.prepare()?;
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Failure::usage("no command is named"))?;
        let mut command = Command::new(program);
        command.args(arguments);
        // The policy is loaded before the time starts.
        let start = || Session::start(self.policy.clone(), self.options());
        let mut session = (scheduler == Scheduler::Policy).then(start).transpose()?;
        if let Some(session) = session.as_ref().filter(|_| !*warned) {
            warn(session, self.policy.name());
            *warned = true;
        }
        meter.iter_mut().for_each(|meter| meter.reset());
        let (mut time_s, mut ended) = (0.0, None);
        quiet(&mut command, |command| {
            let start = Instant::now();
            let status = match &mut session {
                None => command.status(),
                Some(session) => {
                    let (status, error) = session.command(std::mem::replace(command, Command::new("")))?;
                    ended = error;
                    Ok(status)
                }
            };
            time_s = start.elapsed().as_secs_f64();
            status
        })?;
        let energy = meter.map(Meter::energy);
        if let Some(session) = session {
            session.finish()?;
        }
        match ended {
            Some(error) => Err(self.ended(&error)),
            None => Ok(Trial { time_s, energy }),
        }
    }

    fn options(&self) -> Options {
        Options {
            params: self.params.clone(),
            partial: Some(Partial::Command),
            command: self.command.to_vec(),
            ..Options::default()
        }
    }
}

/// Runs a command without input and output. Its errors are shown only if it fails.
fn quiet(
    command: &mut Command,
    run: impl FnOnce(&mut Command) -> std::io::Result<ExitStatus>,
) -> Result<(), Failure> {
    let program = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: std::io::Error| Failure::new(format_args!("cannot run {program}: {error}"));
    let mut said: File = tempfile::tempfile().map_err(cannot)?;
    let errors = said.try_clone().map_err(cannot)?;
    let status = run(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors)).map_err(cannot)?;
    if status.success() {
        return Ok(());
    }
    let mut text = Vec::new();
    let read = said.seek(SeekFrom::Start(0)).and_then(|_| said.read_to_end(&mut text));
    let text = read.map_or_else(|_| String::new(), |_| String::from_utf8_lossy(&text).into_owned());
    let last: Vec<&str> = text.lines().rev().take(5).collect();
    let last: Vec<&str> = last.into_iter().rev().collect();
    Err(Failure::new(format_args!("{program} ended with {status}: {}", last.join("\n"))))
}

/// The times of a command under both.
#[derive(Serialize)]
pub struct Comparison {
    policy: String,
    runs: u16,
    kernel_s: f64,
    policy_s: f64,
    speedup: f64,
    speedup_ci95: Option<[f64; 2]>,
}

impl Comparison {
    /// Whether the policy is surely faster (95%).
    pub fn is_faster(&self) -> bool {
        self.speedup_ci95.is_some_and(|[low, _]| low > 0.0)
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Comparison { policy, runs, kernel_s, policy_s, .. } = self;
        write!(
            f,
            "On this machine, {runs} runs each: {kernel_s:.3} s under the kernel's scheduler, {policy_s:.3} s under {policy}"
        )?;
        write!(f, ": {:+.1}%", self.speedup * 100.0)?;
        self.speedup_ci95
            .map_or(Ok(()), |[low, high]| write!(f, " ({:.1} to {:.1})", low * 100.0, high * 100.0))
    }
}

/// Compares the mean times of both. `policy` is the name of the plan's policy.
pub fn compare(policy: &str, plan: &Plan) -> Result<Comparison, Failure> {
    let (trials, _) = measure(plan)?;
    let sample = |trials: &[Trial]| Sample::of(trials.iter().map(|trial| trial.time_s));
    let (Some(kernel), Some(own)) = (sample(&trials.kernel), sample(&trials.policy)) else {
        return Err(Failure::new("no run was measured"));
    };
    let Change { value, ci95 } = speedup(&kernel, &own);
    Ok(Comparison {
        policy: policy.to_owned(),
        runs: plan.runs,
        kernel_s: kernel.mean,
        policy_s: own.mean,
        speedup: value,
        speedup_ci95: ci95,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_run_in_turn_and_the_first_round_does_not_count() {
        use Scheduler::{Kernel, Policy};
        let mut order = Vec::new();
        let trials = in_turn(3, |scheduler| {
            order.push(scheduler);
            Ok::<_, ()>(Trial { time_s: order.len() as f64, energy: None })
        })
        .unwrap();
        assert_eq!(order, [Kernel, Policy, Policy, Kernel, Kernel, Policy, Policy, Kernel]);
        let times = |trials: &[Trial]| trials.iter().map(|trial| trial.time_s).collect::<Vec<_>>();
        assert_eq!(
            (times(&trials.kernel), times(&trials.policy)),
            (vec![4.0, 5.0, 8.0], vec![3.0, 6.0, 7.0])
        );
    }

    #[test]
    fn a_failed_run_ends_the_comparison() {
        let mut runs = 0;
        let failed = in_turn(5, |_| {
            runs += 1;
            if runs == 3 { Err("failed") } else { Ok(Trial { time_s: 1.0, energy: None }) }
        });
        assert_eq!((failed, runs), (Err("failed"), 3));
    }

    #[test]
    fn a_run_says_why_it_failed() {
        let policy = hearth_policy::load("nest").unwrap();
        let settings = Settings::default();
        let run = |command: &[&str], prepare| {
            let command: Vec<String> = command.iter().map(|word| word.to_string()).collect();
            let plan = Plan { policy: &policy, params: &settings, command: &command, prepare, runs: 1 };
            plan.run(Scheduler::Kernel, None, &mut false)
        };
        let trial = run(&["sleep", "0.02"], Some("true")).unwrap();
        assert!(trial.time_s >= 0.02 && trial.energy.is_none(), "{trial:?}");
        let failure = |command: &[&str], prepare| format!("{:?}", run(command, prepare).unwrap_err());
        let said = failure(&["sh", "-c", "echo why >&2; exit 3"], None);
        assert!(said.contains("exit status: 3: why"), "{said}");
        assert!(failure(&["no-such-program"], None).contains("cannot run no-such-program"));
        assert!(failure(&["true"], Some("exit 4")).contains("exit status: 4"));
    }
}
