//! The utilisation that the kernel tracks for its frequency governor, by thread and core. [`hearth_machine::pelt`]
//! implements the arithmetic.

use hearth_machine::pelt::{CoreUtil, Util};

pub struct KernelLoad {
    cores: Vec<CoreUtil>,
    threads: Vec<Util>,
}

impl KernelLoad {
    pub fn new(cores: usize, threads: usize) -> Self {
        KernelLoad { cores: vec![CoreUtil::new(); cores], threads: vec![Util::default(); threads] }
    }

    /// Utilisation that `schedutil` acts on, 0 to 1024.
    pub fn util(&self, now: u64, core: u32) -> u32 {
        self.cores[core as usize].requested(now)
    }

    /// `updated` is when the kernel last updated the core while it was idle.
    pub fn forked(&mut self, now: u64, updated: u64, thread: u32, core: u32) {
        let core = &mut self.cores[core as usize];
        core.refresh(updated);
        self.threads[thread as usize] = core.fork(now);
        core.enqueue(now, &mut self.threads[thread as usize]);
    }

    /// `updated` is when the kernel last updated the core `from` while it was idle: until then, the thread has decayed.
    pub fn woken(&mut self, now: u64, updated: u64, thread: u32, from: u32, to: u32) {
        let util = &mut self.threads[thread as usize];
        if from != to {
            self.cores[from as usize].refresh(updated);
            self.cores[from as usize].leave(util);
            self.cores[to as usize].attach(now, util);
        }
        self.cores[to as usize].enqueue(now, util);
    }

    /// A ready thread migrated.
    pub fn moved(&mut self, now: u64, thread: u32, from: u32, to: u32) {
        let util = &mut self.threads[thread as usize];
        self.cores[from as usize].dequeue(now, util, false);
        self.cores[from as usize].detach(now, util);
        self.cores[to as usize].attach(now, util);
        self.cores[to as usize].enqueue(now, util);
    }

    pub fn started(&mut self, now: u64, thread: u32, core: u32) {
        self.cores[core as usize].start(now, &mut self.threads[thread as usize]);
    }

    pub fn stopped(&mut self, now: u64, thread: u32, core: u32) {
        self.cores[core as usize].stop(now, &mut self.threads[thread as usize]);
    }

    /// `scale` is the weight of running time from now on (frequency invariance).
    pub fn tick(&mut self, now: u64, thread: u32, core: u32, scale: u32) {
        self.cores[core as usize].tick(now, &mut self.threads[thread as usize]);
        self.cores[core as usize].set_scale(now, scale);
    }

    pub fn idle(&mut self, now: u64, core: u32) {
        self.cores[core as usize].idle(now);
    }

    pub fn blocked(&mut self, now: u64, thread: u32, core: u32) {
        self.cores[core as usize].dequeue(now, &mut self.threads[thread as usize], true);
    }

    pub fn exited(&mut self, now: u64, thread: u32, core: u32) {
        let util = &mut self.threads[thread as usize];
        self.cores[core as usize].dequeue(now, util, false);
        self.cores[core as usize].leave(util);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Utilisation of core 1 at 200 ms, after a thread of core 0, which slept from 100 ms on, has woken up there.
    fn after_sleep(updated: u64) -> u32 {
        const MS: u64 = 1_000_000;
        let mut load = KernelLoad::new(2, 1);
        load.forked(0, 0, 0, 0);
        load.started(0, 0, 0);
        load.stopped(100 * MS, 0, 0);
        load.blocked(100 * MS, 0, 0);
        load.idle(100 * MS, 0);
        load.woken(200 * MS, updated * MS, 0, 0, 1);
        load.cores[1].value(200 * MS)
    }

    #[test]
    fn a_thread_that_wakes_elsewhere_decays_until_its_core_was_updated() {
        let [never, half, late] = [0, 132, 196].map(after_sleep);
        assert!(never > 900 && half.abs_diff(never / 2) < 20 && late < never / 7, "{never}, {half}, {late}");
    }
}
