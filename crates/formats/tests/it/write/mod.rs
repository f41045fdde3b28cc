//! Writers of other tools' files: the same events as trace.dat, perf.data, Perfetto and text.

mod formats;
pub mod perf_data;
pub mod perfetto;
pub mod schedviz;
pub mod text;
pub mod trace_dat;

use hearth_trace::ftrace::Order;

/// A kernel whose formats are written.
#[derive(Clone, Copy, Debug)]
pub struct Kernel {
    pub release: &'static str,
    pub version: (u32, u32),
}

/// Kernels between which a format changed.
pub const KERNELS: [Kernel; 7] = [
    Kernel { release: "4.4.302", version: (4, 4) },
    Kernel { release: "4.9.0-19-amd64", version: (4, 9) },
    Kernel { release: "4.14.336", version: (4, 14) },
    Kernel { release: "5.15.0", version: (5, 15) },
    Kernel { release: "6.1.0-37-amd64", version: (6, 1) },
    Kernel { release: "6.18.0", version: (6, 18) },
    Kernel { release: "7.3.0", version: (7, 3) },
];

/// Sizes and order of bytes of a machine.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    pub long: usize,
    pub order: Order,
}

pub const MACHINES: [Machine; 4] = [
    Machine { long: 8, order: Order::Little },
    Machine { long: 4, order: Order::Little },
    Machine { long: 8, order: Order::Big },
    Machine { long: 4, order: Order::Big },
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    pub pid: i32,
    pub process: i32,
    pub comm: String,
}

/// An event, with the thread that was running.
#[derive(Clone, Debug)]
pub struct Entry {
    pub time: u64,
    pub cpu: u32,
    pub task: Task,
    pub interrupt: bool,
    pub what: What,
}

#[derive(Clone, Debug)]
pub enum What {
    /// Away from the thread of the entry.
    Switch {
        state: State,
        next: Task,
    },
    Waking {
        woken: Task,
        target: u32,
    },
    Wakeup {
        woken: Task,
        target: u32,
    },
    WakeupNew {
        woken: Task,
        target: u32,
    },
    /// Comes before its fork. The thread belongs to the process of the one that creates it, or is one of its own.
    NewTask {
        child: Task,
        in_process: bool,
    },
    Fork {
        child: Task,
    },
    Exec {
        filename: String,
    },
    Exit,
    Wait,
    Migrate {
        moved: Task,
        from: u32,
        to: u32,
    },
    Frequency {
        of: u32,
        khz: u32,
    },
    Idle {
        of: u32,
        state: u32,
    },
    Rename {
        new: String,
    },
}

/// Why a thread stops, as `prev_state` says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Runnable,
    Preempted,
    Sleeping,
    Uninterruptible,
    Killable,
    /// A kernel thread that does not count as load.
    NoLoad,
    Stopped,
    Dead,
}

impl Kernel {
    pub fn since(self, version: (u32, u32)) -> bool {
        self.version >= version
    }

    /// The number of a state.
    pub fn bits(self, state: State) -> i64 {
        let since_4_14 = self.since((4, 14));
        match state {
            State::Runnable => 0,
            State::Preempted if since_4_14 => 0x100,
            State::Preempted if self.since((4, 8)) => 0x1000,
            State::Preempted => 0x800,
            State::Sleeping => 1,
            State::Uninterruptible => 2,
            State::Killable if since_4_14 => 2,
            State::Killable => 0x82,
            State::NoLoad if since_4_14 => 0x80,
            State::NoLoad => 0x402,
            State::Stopped => 4,
            State::Dead if since_4_14 => 0x20,
            State::Dead => 0x40,
        }
    }

    /// A state as the kernel prints it.
    pub fn letters(self, state: State) -> &'static str {
        let since_4_14 = self.since((4, 14));
        match state {
            State::Runnable => "R",
            State::Preempted => "R+",
            State::Sleeping => "S",
            State::Killable if !since_4_14 => "D|K",
            State::Uninterruptible | State::Killable => "D",
            State::NoLoad if since_4_14 => "I",
            State::NoLoad => "D|N",
            State::Stopped => "T",
            State::Dead if since_4_14 => "Z",
            State::Dead => "x",
        }
    }
}

/// Appends numbers in an order.
#[derive(Clone, Debug, Default)]
pub struct Bytes {
    pub out: Vec<u8>,
    pub order: Order,
}

impl Bytes {
    pub fn new(order: Order) -> Self {
        Bytes { out: Vec::new(), order }
    }

    pub fn number(&mut self, value: u64, size: usize) {
        let little = value.to_le_bytes();
        match self.order {
            Order::Little => self.out.extend(&little[..size]),
            Order::Big => self.out.extend(little[..size].iter().rev()),
        }
    }

    pub fn u16(&mut self, value: u16) {
        self.number(value.into(), 2);
    }

    pub fn u32(&mut self, value: u32) {
        self.number(value.into(), 4);
    }

    pub fn u64(&mut self, value: u64) {
        self.number(value, 8);
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
    }

    /// A text with a zero byte.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
        self.out.push(0);
    }

    /// Bytes after their number, in 8 bytes.
    pub fn sized(&mut self, bytes: &[u8]) {
        self.u64(bytes.len() as u64);
        self.bytes(bytes);
    }

    /// Overwrites 8 bytes.
    pub fn set_u64(&mut self, at: usize, value: u64) {
        let mut bytes = Bytes::new(self.order);
        bytes.u64(value);
        self.out[at..at + 8].copy_from_slice(&bytes.out);
    }
}

/// `clone_flags` of a new thread: those of glibc for a thread, and for `fork`.
pub fn clone_flags(in_process: bool) -> i64 {
    if in_process { 0x3d_0f00 } else { 0x120_0011 }
}

/// Number of cores of a recording.
pub fn cores(entries: &[Entry]) -> u32 {
    entries.iter().map(|entry| entry.cpu + 1).max().unwrap_or(1)
}
