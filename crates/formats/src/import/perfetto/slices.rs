//! Slices "on a core" and instants "woken" of scxsim, which have the names of wprof.
//!
//! A switch is the end of a slice and the beginning of another on the same core at the same time. Wakers are unknown.

use super::TrackEvent;
use crate::Error;
use crate::import::collect::{Collector, Refused};
use crate::perfetto::event;
use hearth_trace::Stop;
use hearth_trace::ftrace::{EventKind, KernelEvent};
use std::collections::HashMap;

#[derive(Default)]
pub struct Slices {
    cores: HashMap<u32, Core>,
}

/// State of a core.
#[derive(Default)]
struct Core {
    running: i32,
    /// Time and reason of the end of a slice whose successor is unknown so far.
    ended: Option<(u64, Stop)>,
}

type Taken = Result<Result<(), Refused>, Error>;

impl Slices {
    pub(super) fn event(&mut self, time: u64, event: &TrackEvent, collector: &mut Collector) -> Taken {
        let number = |name| event.annotation(name).map(|value| value.number());
        let text = |name| event.annotation(name).map(|value| value.bytes());
        match (event.category, event.kind) {
            (b"ONCPU", event::BEGIN) => {
                let (Some(cpu), Some(tid)) = (number("cpu"), number("tid")) else {
                    return missing("a slice");
                };
                let comm = text("comm").unwrap_or(event.name);
                self.begin(time, cpu.min(u32::MAX.into()) as u32, thread(tid), comm, collector)
            }
            (b"ONCPU", event::END) => {
                let (Some(cpu), Some(tid)) = (number("cpu"), number("tid")) else {
                    return missing("a slice");
                };
                let Some(stop) = stop(text("offcpu_reason").unwrap_or_default()) else { return Ok(Ok(())) };
                self.end(time, cpu.min(u32::MAX.into()) as u32, thread(tid), stop, collector)
            }
            (b"WAKEE", event::INSTANT) => {
                let tid = number("wakee_tid").or(number("wakee_pid"));
                let (Some(cpu), Some(tid)) = (number("target_cpu"), tid) else { return missing("a wake-up") };
                let cpu = cpu.min(u32::MAX.into()) as u32;
                let comm = text("wakee_comm").unwrap_or_default();
                self.woken(time, cpu, thread(tid), comm, collector)
            }
            _ => {
                collector.notes.count("events of unsupported tracks");
                Ok(Ok(()))
            }
        }
    }

    pub fn begin(&mut self, time: u64, cpu: u32, tid: i32, comm: &[u8], collector: &mut Collector) -> Taken {
        if let Err(refused) = self.settle(cpu, Some(time), collector)? {
            return Ok(Err(refused));
        }
        let core = self.cores.entry(cpu).or_default();
        let stop = core.ended.take().map_or(Stop::Preempted, |(_, stop)| stop);
        let prev = std::mem::replace(&mut core.running, tid);
        if prev == tid {
            return Ok(Ok(())); // it goes on
        }
        switch(time, cpu, prev, stop, tid, comm, collector)
    }

    pub fn end(&mut self, time: u64, cpu: u32, tid: i32, stop: Stop, collector: &mut Collector) -> Taken {
        if let Err(refused) = self.settle(cpu, None, collector)? {
            return Ok(Err(refused));
        }
        let core = self.cores.entry(cpu).or_default();
        core.running = tid;
        core.ended = Some((time, stop));
        Ok(Ok(()))
    }

    /// Takes a wake-up on this core.
    pub fn woken(&mut self, time: u64, cpu: u32, tid: i32, comm: &[u8], collector: &mut Collector) -> Taken {
        collector.notes.say("slices have no wakers: interrupts count as wakers");
        if let Err(refused) = self.settle(cpu, Some(time), collector)? {
            return Ok(Err(refused));
        }
        let pid = self.cores.get(&cpu).map_or(0, |core| core.running);
        let kind = EventKind::Waking { pid: tid, comm, target: cpu, sync: false };
        collector.event(&KernelEvent { time, cpu, pid, interrupt: true, kind })
    }

    /// Makes a core idle if its slice ended before `now` without a successor.
    fn settle(&mut self, cpu: u32, now: Option<u64>, collector: &mut Collector) -> Taken {
        let Some(core) = self.cores.get_mut(&cpu) else { return Ok(Ok(())) };
        let Some((time, stop)) = core.ended.filter(|(time, _)| Some(*time) != now) else { return Ok(Ok(())) };
        core.ended = None;
        let prev = std::mem::take(&mut core.running);
        switch(time, cpu, prev, stop, 0, b"", collector)
    }

    /// Ends the last slice of each core.
    pub fn finish(&mut self, collector: &mut Collector) -> Taken {
        let mut cores: Vec<u32> = self.cores.keys().copied().collect();
        cores.sort_unstable();
        for cpu in cores {
            if let Err(refused) = self.settle(cpu, None, collector)? {
                return Ok(Err(refused));
            }
        }
        Ok(Ok(()))
    }
}

/// Reason of the end of a slice. `None`: the thread still runs at the end of the trace.
pub fn stop(reason: &[u8]) -> Option<Stop> {
    match reason {
        b"preempted" => Some(Stop::Preempted),
        b"yielded" => Some(Stop::Yielded),
        b"completed" => Some(Stop::Exited),
        b"sim_end" => None,
        _ => Some(Stop::Blocked),
    }
}

/// Idle threads have negative numbers.
fn thread(tid: u64) -> i32 {
    (tid as i32).max(0)
}

fn missing(what: &str) -> Taken {
    Ok(Err(format!("{what} does not say which core or which thread (annotations `cpu` and `tid`)")))
}

fn switch(
    time: u64,
    cpu: u32,
    prev: i32,
    stop: Stop,
    next: i32,
    next_comm: &[u8],
    collector: &mut Collector,
) -> Taken {
    let kind = EventKind::Switch { prev, prev_comm: b"", stop, next, next_comm };
    collector.event(&KernelEvent { time, cpu, pid: prev, interrupt: false, kind })
}
