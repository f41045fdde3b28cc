//! The player: prepares a workload once and plays it any number of times.

use crate::calibration::Calibration;
use crate::clock::now;
use crate::error::{Error, Place};
use crate::host::allowed_cores;
use crate::options::{Options, check_positive};
use crate::program::{self, Program, programs};
use crate::run::Run;
use crate::shared::{Script, Shared};
use crate::thread::Attributes;
use crate::work::Work;
use hearth_workload::{ThreadIdx, Workload};
use rustix::process::getpriority_process;
use rustix::thread::{CpuSet, current_timer_slack, set_current_timer_slack};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// A workload that is ready to be played.
pub struct Player {
    script: Arc<Script>,
    timeout: Duration,
}

/// Time that threads get to stop after a timeout.
const GRACE: Duration = Duration::from_secs(10);

impl Player {
    /// Prepares `workload`. Its nice values are relative to that of the calling thread, usually 0. Its core
    /// numbers are the kernel's.
    ///
    /// Fails if the graph is not [well formed](Workload::validate), if an option is out of range, or if a thread's
    /// affinity contains no allowed core.
    pub fn new(workload: &Workload, options: Options, calibration: Calibration) -> Result<Self, Error> {
        options.check()?;
        check_positive("the speed of a core (--rate)", calibration.loops_per_s)?;
        let problems = workload.validate();
        if !problems.is_empty() {
            let origin = workload.origin.clone();
            return Err(Error::Workload(hearth_workload::Error::Invalid { origin, problems }));
        }
        let programs = programs(workload);
        let script = Script {
            attributes: attributes(workload, &programs)?,
            programs,
            work: Work::new(&options, &calibration),
            workload: workload.clone(),
        };
        Ok(Player { script: Arc::new(script), timeout: options.timeout })
    }

    /// Plays the workload to its end; the calling thread sleeps until then.
    ///
    /// Fails on a timeout, or if the kernel refuses a thread, a nice value or an affinity. All threads have ended
    /// when it returns, unless the error says that some could not be stopped.
    pub fn play(&self) -> Result<Run, Error> {
        let shared = Shared::new(&self.script)?;
        let slack = TimerSlack::finest();
        let started = now();
        for thread in self.script.workload.roots() {
            if !shared.stopped() {
                shared.fork(thread);
            }
        }
        shared.leave();
        let timeout = u64::try_from(self.timeout.as_nanos()).unwrap_or(u64::MAX);
        let in_time = shared.done.wait_until(started.saturating_add(timeout));
        drop(slack);
        let stuck = if in_time { None } else { Some(self.stop(&shared)) };
        match stuck {
            // Starving threads still hold references to `shared` and execute on its stacks.
            Some(error @ Error::Timeout { abandoned: 1.., .. }) => {
                std::mem::forget(shared);
                return Err(error);
            }
            Some(error) => {
                shared.stacks.join_retired();
                return Err(shared.take_fault().unwrap_or(error));
            }
            None => shared.stacks.join_retired(),
        }
        match shared.take_fault() {
            Some(error) => Err(error),
            None => Ok(Run::of(&shared, started)),
        }
    }

    /// Stops a play that has timed out and returns the error.
    fn stop(&self, shared: &Shared) -> Error {
        let left = self.left(shared);
        let ended = shared.slots.iter().filter(|slot| slot.forked.load(Relaxed)).count() - left.len();
        shared.stop();
        let stopped = shared.done.wait_until(now() + GRACE.as_nanos() as u64);
        let abandoned = if stopped { 0 } else { shared.alive() };
        Error::Timeout { after: self.timeout, threads: shared.slots.len(), ended, left, abandoned }
    }

    /// The live threads, each with a description of its step.
    fn left(&self, shared: &Shared) -> Vec<(Place, String)> {
        let Script { workload, programs, .. } = &*self.script;
        let left = |(thread, step): (ThreadIdx, usize)| {
            let path = program::path(&workload.threads[thread as usize].ops, step);
            let at = programs[thread as usize].steps[step].to_string();
            (Place { step: path, ..shared.place(thread) }, at)
        };
        shared.under_way().map(left).collect()
    }
}

/// The attributes that each thread must set because they differ from what it inherits.
fn attributes(workload: &Workload, programs: &[Program]) -> Result<Vec<Attributes>, Error> {
    let allowed = allowed_cores();
    let base = getpriority_process(None).unwrap_or(0);
    let nice = |thread: usize| (base + i32::from(workload.threads[thread].nice)).clamp(-20, 19);
    let cores = |thread: usize| &workload.threads[thread].affinity[..];
    let attributes = |(thread, program): (usize, &Program)| {
        let parent = program.parent.map(|parent| parent as usize);
        let inherited = (parent.map_or(base, nice), parent.map_or(&[][..], cores));
        Ok(Attributes {
            nice: (nice(thread) != inherited.0).then(|| nice(thread)),
            affinity: match cores(thread) == inherited.1 {
                true => None,
                false => Some(Box::new(affinity(workload, thread, &allowed)?)),
            },
        })
    };
    programs.iter().enumerate().map(attributes).collect()
}

/// The intersection of a thread's affinity in the graph with `allowed`. No affinity means all allowed cores.
fn affinity(workload: &Workload, thread: usize, allowed: &CpuSet) -> Result<CpuSet, Error> {
    let wanted = &workload.threads[thread].affinity;
    if wanted.is_empty() {
        return Ok(*allowed);
    }
    let mut cores = CpuSet::new();
    for &core in wanted.iter().filter(|&&core| usize::from(core) < CpuSet::MAX_CPU) {
        if allowed.is_set(core.into()) {
            cores.set(core.into());
        }
    }
    if cores.count() > 0 {
        return Ok(cores);
    }
    let name = workload.threads[thread].name.clone();
    Err(Error::Affinity {
        place: Place { thread: thread as ThreadIdx, name, step: Vec::new() },
        wanted: wanted.clone(),
        allowed: (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).map(|core| core as u16).collect(),
    })
}

/// Sets the timer slack of this thread and its descendants to the minimum, 1 ns. The default lets timers expire
/// up to 50 us late so that the kernel can batch them. Restores the previous slack on drop.
struct TimerSlack(Option<NonZeroU64>);

impl TimerSlack {
    fn finest() -> Self {
        let before = current_timer_slack().ok().and_then(NonZeroU64::new);
        // If this fails, delays are longer by the slack.
        let _ = set_current_timer_slack(NonZeroU64::new(1));
        TimerSlack(before)
    }
}

impl Drop for TimerSlack {
    fn drop(&mut self) {
        let _ = set_current_timer_slack(self.0);
    }
}
