//! The table of threads: pids, names and who forked whom.

use super::{Assembler, Scope};
use crate::ftrace::names::Names;
use crate::{CoreId, IDLE, Kind, Sink, ThreadInfo, Tid, Time};

/// Maximum length of a thread's name in the kernel.
const COMM_BYTES: usize = 15;

/// State of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    /// It existed before the recording and has neither run nor been woken since.
    Unknown,
    Running,
    Ready,
    Blocked,
    Ended,
}

/// Kept for every thread of the recording, so its size matters.
#[derive(Clone, Debug)]
pub(super) struct Thread {
    pub(super) pid: i32,
    pub(super) parent: Tid,
    /// The last name: that of the last executed program, or the one that the thread gave itself later.
    pub(super) name: u32,
    pub(super) traced: bool,
    pub(super) exiting: bool,
    pub(super) life: Life,
    /// The core that it last left, and the lower 32 bits of the number of that switch.
    pub(super) left: Option<(CoreId, u32)>,
    /// Index of its process; `None`: unknown.
    pub(super) process: Option<u32>,
}

impl<S: Sink> Assembler<S> {
    /// Sets the name of the thread that currently has this `pid`.
    pub fn name(&mut self, pid: i32, comm: &[u8]) {
        match self.pids.get(&pid) {
            Some(&tid) => self.rename(tid, comm),
            None => {
                let name = self.thread_names.number(comm);
                self.early_names.insert(pid, name);
            }
        }
    }

    /// Takes note that the thread with this `pid` belongs to a process: the one that lives, or the next one.
    pub fn member(&mut self, pid: i32, process: i32) {
        if pid <= 0 || process <= 0 {
            return;
        }
        match self.pids.get(&pid) {
            Some(&tid) => {
                let thread = &mut self.threads[tid as usize - 1];
                thread.process = thread.process.or_else(|| Some(self.processes.living(process)));
            }
            None => self.processes.expect(pid, process),
        }
    }

    /// Takes note that a process which exists when the recording begins has this parent.
    pub fn parent(&mut self, process: i32, parent: i32) {
        if process > 0 && parent > 0 {
            self.processes.parent(process, parent);
        }
    }

    /// The thread `creator` creates a thread.
    pub(super) fn created(&mut self, pid: i32, creator: i32, in_process: bool) {
        match in_process {
            false => self.processes.expect(pid, pid),
            true => {
                let creator = self.tid(creator);
                let process = self.threads.get(creator.wrapping_sub(1) as usize).and_then(|it| it.process);
                self.processes.expect_in(pid, process);
            }
        }
    }

    pub(super) fn new_thread(&mut self, pid: i32, parent: Tid, traced: bool, name: &[u8]) -> Tid {
        let name = self.thread_names.number(name);
        let traced = traced || self.scope == Scope::All;
        self.alive += u64::from(traced);
        let (exiting, life, left) = (false, Life::Unknown, None);
        let process = self.processes.of_new_thread(pid);
        self.threads.push(Thread { pid, parent, name, traced, exiting, life, left, process });
        let tid = self.threads.len() as Tid;
        self.pids.insert(pid, tid);
        tid
    }

    pub(super) fn thread(&mut self, tid: Tid) -> &mut Thread {
        &mut self.threads[tid as usize - 1]
    }

    /// The thread that currently has this `pid`.
    pub(super) fn tid(&mut self, pid: i32) -> Tid {
        match self.pids.get(&pid) {
            _ if pid == 0 => IDLE,
            Some(tid) => *tid,
            None => {
                let tid = self.new_thread(pid, IDLE, false, b"");
                if let Some(name) = self.early_names.remove(&pid) {
                    self.thread(tid).name = name;
                }
                tid
            }
        }
    }

    pub(super) fn set_life(&mut self, tid: Tid, life: Life) {
        let thread = self.thread(tid);
        let before = std::mem::replace(&mut thread.life, life);
        if thread.traced {
            self.alive -= u64::from(before != Life::Ended);
            self.alive += u64::from(life != Life::Ended);
        }
    }

    /// The thread that currently has this `pid`; sets its name.
    pub(super) fn named(&mut self, pid: i32, comm: &[u8]) -> Tid {
        let tid = self.tid(pid);
        self.rename(tid, comm);
        tid
    }

    pub(super) fn rename(&mut self, tid: Tid, comm: &[u8]) {
        if tid == IDLE || comm.is_empty() {
            return;
        }
        let name = self.threads[tid as usize - 1].name;
        if self.thread_names.get(name) != comm {
            self.thread(tid).name = self.thread_names.number(comm);
        }
    }

    /// Adds a thread, which is not ready yet.
    pub(super) fn fork(&mut self, pid: i32, parent: Tid, comm: &[u8]) -> Tid {
        // The root of the process tree was added by `new`: it may be forked during the recording.
        let is_root = self.scope == (Scope::Tree { root_pid: pid });
        if is_root
            && let Some(&tid) = self.pids.get(&pid)
            && self.thread(tid).life == Life::Unknown
        {
            self.processes.ended(pid);
            let process = self.processes.of_new_thread(pid);
            let thread = self.thread(tid);
            (thread.parent, thread.process) = (parent, process);
            self.rename(tid, comm);
            return tid;
        }
        let traced = parent != IDLE && self.thread(parent).traced;
        self.processes.ended(pid);
        self.new_thread(pid, parent, traced, comm)
    }

    pub(super) fn exec(&mut self, time: Time, core: CoreId, pid: i32, old_pid: i32, filename: &[u8]) {
        let thread = self.tid(old_pid);
        if pid != old_pid && thread != IDLE {
            // The thread takes the place and pid of the first thread of its process.
            self.pids.remove(&old_pid);
            self.pids.insert(pid, thread);
            self.thread(thread).pid = pid;
        }
        let program = filename.rsplit(|byte| *byte == b'/').next().unwrap_or(filename);
        self.rename(thread, &program[..program.len().min(COMM_BYTES)]);
        let name = self.programs.number(program);
        self.emit(time, core, Kind::Exec { thread, name });
    }
}

/// Description of a thread for the trace.
pub(super) fn describe(threads: &[Thread], names: &Names, tid: Tid) -> ThreadInfo {
    let thread = &threads[tid as usize - 1];
    ThreadInfo {
        tid,
        name: names.text(thread.name),
        parent: thread.parent,
        traced: thread.traced,
        kernel_tid: u32::try_from(thread.pid).ok(),
        process: thread.process,
    }
}
