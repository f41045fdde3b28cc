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

    pub fn woken(&mut self, now: u64, thread: u32, from: u32, to: u32) {
        let util = &mut self.threads[thread as usize];
        if from != to {
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
