//! Decoding the words of the BPF programs, which `record.bpf.c` describes, into kernel events.

use hearth_trace::Stop;
use hearth_trace::ftrace::{Decision, EventKind, Item, KernelEvent};

/// `enum kind`
mod kind {
    pub const DECISION: u64 = 0;
    pub const SWITCH: u64 = 1;
    pub const WAKING: u64 = 2;
    pub const WAKING_IN_INTERRUPT: u64 = 3;
    pub const WAKEUP_NEW: u64 = 4;
    pub const MIGRATE: u64 = 5;
    pub const IDLE: u64 = 6;
    pub const TICK: u64 = 7;
    pub const RESYNC: u64 = 8;
    pub const FORK: u64 = 9;
    pub const EXEC: u64 = 10;
    pub const EXIT: u64 = 11;
    pub const WAIT: u64 = 12;
    pub const FREQUENCY: u64 = 13;
    pub const NAME: u64 = 14;
    pub const HERE: u64 = 15;
}

/// Number of words of each kind of record.
const LENGTHS: [usize; 16] = [3, 1, 1, 1, 1, 2, 1, 1, 3, 5, 3 + PATH_WORDS + 1, 2, 2, 3, 5, 2];
const PATH_WORDS: usize = 7;
const TIME_BITS: u64 = 24;

fn bits(word: u64, from: u64, count: u64) -> u64 {
    word >> from & ((1 << count) - 1)
}

/// Words of one core that are not decoded yet.
#[derive(Debug, Default)]
pub struct Lane {
    cpu: u32,
    words: Vec<u64>,
    at: usize,
    /// Time of the last fast record.
    time: u64,
    /// The running thread, if known.
    current: Option<i32>,
    /// Last known length of the run queue.
    length: u16,
}

impl Lane {
    pub fn new(cpu: u32) -> Self {
        Lane { cpu, ..Lane::default() }
    }

    /// Appends words.
    pub fn extend(&mut self, bytes: &[u8]) {
        self.words.drain(..self.at);
        self.at = 0;
        let word = |bytes: &[u8]| bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
        self.words.extend(bytes.chunks_exact(8).map(word));
    }

    /// Time of the next record, if it is complete.
    pub fn time(&self) -> Option<u64> {
        let words = &self.words[self.at..];
        let header = *words.first()?;
        let kind = bits(header, 0, 4);
        match LENGTHS[kind as usize] {
            length if words.len() < length => None,
            _ if is_slow(kind) => Some(words[1]),
            _ => Some(
                self.time + (bits(header, 4, TIME_BITS).wrapping_sub(self.time) & ((1 << TIME_BITS) - 1)),
            ),
        }
    }

    /// Passes the next record, whose time is `time`.
    pub fn take(&mut self, time: u64, take: &mut dyn FnMut(Item<'_>)) {
        let header = self.words[self.at];
        let (kind, payload) = (bits(header, 0, 4), header >> 28);
        let count = LENGTHS[kind as usize];
        let more: [u64; 3 + PATH_WORDS] =
            std::array::from_fn(|i| if i + 1 < count { self.words[self.at + 1 + i] } else { 0 });
        self.at += count;
        if !is_slow(kind) {
            self.time = time;
        }
        let pid = bits(payload, 0, 22) as i32;
        let cpu = bits(payload, 22, 13) as u32;
        let lost = |count| Item::Lost { cpu: self.cpu, count: Some(count) };
        match kind {
            kind::RESYNC => {
                self.time = time;
                self.current = Some(pid);
                if more[1] > 0 {
                    take(lost(more[1]));
                }
            }
            kind::HERE | kind::EXIT | kind::WAIT => self.current = Some(pid),
            kind::EXEC => self.current = Some(more[1] as i32),
            kind::FORK | kind::NAME => self.current = Some(more[3] as i32),
            _ => {}
        }
        let Some(mut current) = self.current else { return };
        let mut length = None;
        let what = match kind {
            kind::SWITCH => {
                self.current = Some(pid);
                length = Some(bits(payload, 24, 8) as u16);
                EventKind::Switch {
                    prev: current,
                    prev_comm: b"",
                    stop: stop(bits(payload, 22, 2)),
                    next: pid,
                    next_comm: b"",
                }
            }
            kind::WAKING | kind::WAKING_IN_INTERRUPT => EventKind::Waking { pid, comm: b"", target: cpu },
            kind::WAKEUP_NEW => EventKind::WakeupNew { pid, comm: b"", target: cpu },
            kind::MIGRATE => {
                EventKind::Migrate { pid, from: more[0] as u32, to: cpu, queued: more[0] >> 32 != 0 }
            }
            kind::IDLE => {
                (self.current, current) = (Some(0), 0); // if another thread was running, a switch is missing
                EventKind::Idle { cpu: self.cpu, state: Some(payload as u32) }
            }
            kind::TICK => EventKind::Tick { khz: u32::try_from(payload).unwrap_or(0) },
            kind::FREQUENCY => {
                EventKind::Frequency { cpu: payload as u32, khz: u32::try_from(more[1]).unwrap_or(0) }
            }
            kind::DECISION => match decision(pid, cpu, more[1]) {
                Some(decision) => EventKind::Decision(decision),
                None => EventKind::Running,
            },
            kind::EXIT => EventKind::Exit { pid: current },
            kind::WAIT => EventKind::Wait,
            kind::FORK | kind::NAME => {
                let name = name(more[1], more[2]);
                let comm = until_zero(&name);
                let event = match kind {
                    kind::FORK => EventKind::Fork { parent: current, child: pid, child_comm: comm },
                    _ => EventKind::Name { pid, comm },
                };
                return take(Item::Event(self.event(time, current, false, event)));
            }
            kind::EXEC => {
                let path = path(&more[2..]);
                let (pid, old_pid) = (more[1] as i32, pid);
                let what = EventKind::Exec { pid, old_pid, filename: until_zero(&path) };
                return take(Item::Event(self.event(time, pid, false, what)));
            }
            _ => EventKind::Running,
        };
        take(Item::Event(self.event(time, current, kind == kind::WAKING_IN_INTERRUPT, what)));
        if let Some(length) = length {
            // A length of 0 or 1 follows from the switch.
            if length != self.length && (length > 1 || self.length > 1) {
                take(Item::Event(self.event(time, pid, false, EventKind::Queue { length })));
            }
            self.length = length;
        }
    }

    fn event<'a>(&self, time: u64, pid: i32, interrupt: bool, kind: EventKind<'a>) -> KernelEvent<'a> {
        KernelEvent { time, cpu: self.cpu, pid, interrupt, kind }
    }
}

/// True if the second word is the full time.
fn is_slow(kind: u64) -> bool {
    kind >= kind::RESYNC || kind == kind::DECISION
}

/// Kinds are those of `enum saakm_decision` of `runtime/bpf/decisions.h`.
fn decision(pid: i32, cpu: u32, word: u64) -> Option<Decision> {
    let (khz, number, flag) = (word as u32, bits(word, 32, 16) as u16, bits(word, 56, 1) == 1);
    match bits(word, 48, 8) {
        4 | 5 => Some(Decision::Place { pid, target: cpu, reason: number, khz }),
        10 => Some(Decision::Spin { cpu, on: flag }),
        13 => Some(Decision::Set { cpu, set: number, member: flag }),
        _ => None,
    }
}

pub(super) fn stop(number: u64) -> Stop {
    match number {
        2 => Stop::Blocked,
        3 => Stop::Exited,
        _ => Stop::Preempted,
    }
}

/// Joins a name of 15 bytes from two words of 62 and 58 bits.
fn name(first: u64, second: u64) -> [u8; 16] {
    let bits = u128::from(first) | u128::from(second) << 62;
    bits.to_le_bytes()
}

/// Joins a path from seven words, whose highest bits are in the last word.
fn path(words: &[u64]) -> [u8; 8 * PATH_WORDS] {
    let mut path = [0; 8 * PATH_WORDS];
    let highest = words.get(PATH_WORDS).copied().unwrap_or(0);
    for (index, (bytes, word)) in path.chunks_exact_mut(8).zip(words).enumerate() {
        bytes.copy_from_slice(&(word | bits(highest, index as u64, 1) << 63).to_le_bytes());
    }
    path
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
