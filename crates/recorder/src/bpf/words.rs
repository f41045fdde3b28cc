//! Decoding the words of the BPF programs, which `runtime/record/record.h` describes, into kernel events.

use super::bindings as record;
use hearth_trace::Stop;
use hearth_trace::ftrace::{Decision, EventKind, Item, KernelEvent};

const PATH_WORDS: usize = record::PATH_WORDS as usize;

/// `count` bits of a word, from bit `at` on.
fn bits(word: u64, at: u32, count: u32) -> u64 {
    word >> at & ((1 << count) - 1)
}

fn kind(header: u64) -> u32 {
    bits(header, 0, record::KIND_BITS) as u32
}

/// Number of words of a record.
fn length(kind: u32) -> usize {
    bits(record::LENGTHS, record::LENGTH_BITS * kind, record::LENGTH_BITS) as usize
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
        let kind = kind(header);
        if words.len() < length(kind) {
            return None;
        }
        if is_slow(kind) {
            return Some(words[1]);
        }
        let since = (header >> record::KIND_BITS).wrapping_sub(self.time);
        Some(self.time + bits(since, 0, record::TIME_BITS))
    }

    /// Passes the next record, whose time is `time`.
    pub fn take(&mut self, time: u64, take: &mut dyn FnMut(Item<'_>)) {
        let header = self.words[self.at];
        let (kind, payload) = (kind(header), header >> record::PAYLOAD_AT);
        let count = length(kind);
        let more: [u64; 3 + PATH_WORDS] =
            std::array::from_fn(|i| if i + 1 < count { self.words[self.at + 1 + i] } else { 0 });
        self.at += count;
        if !is_slow(kind) {
            self.time = time;
        }
        let pid = bits(payload, 0, record::PID_BITS) as i32;
        let cpu = bits(payload, record::PID_BITS, record::CPU_BITS) as u32;
        let lost = |count| Item::Lost { cpu: self.cpu, count: Some(count) };
        match kind {
            record::RESYNC => {
                self.time = time;
                self.current = Some(pid);
                if more[1] > 0 {
                    take(lost(more[1]));
                }
            }
            record::HERE | record::EXIT => self.current = Some(pid),
            record::EXEC => self.current = Some(more[1] as i32),
            record::FORK | record::NAME => self.current = Some(more[3] as i32),
            _ => {}
        }
        let Some(mut current) = self.current else { return };
        let mut length = None;
        let what = match kind {
            record::SWITCH => {
                self.current = Some(pid);
                length = Some(bits(payload, record::QUEUE_AT, record::QUEUE_BITS) as u16);
                EventKind::Switch {
                    prev: current,
                    prev_comm: b"",
                    stop: stop(bits(payload, record::PID_BITS, record::STOP_BITS) as u32),
                    next: pid,
                    next_comm: b"",
                }
            }
            record::WAKING | record::WAKING_IN_INTERRUPT | record::WAKING_SYNC => {
                EventKind::Waking { pid, comm: b"", target: cpu, sync: kind == record::WAKING_SYNC }
            }
            record::WAKEUP_NEW => EventKind::WakeupNew { pid, comm: b"", target: cpu },
            record::MIGRATE => EventKind::Migrate {
                pid,
                from: more[0] as u32,
                to: cpu,
                queued: more[0] >> record::QUEUED_AT != 0,
            },
            record::IDLE => {
                (self.current, current) = (Some(0), 0); // if another thread was running, a switch is missing
                EventKind::Idle { cpu: self.cpu, state: Some(payload as u32) }
            }
            record::TICK => EventKind::Tick { khz: u32::try_from(payload).unwrap_or(0) },
            record::FREQUENCY => {
                EventKind::Frequency { cpu: payload as u32, khz: u32::try_from(more[1]).unwrap_or(0) }
            }
            record::DECISION => match decision(pid, cpu, more[1]) {
                Some(decision) => EventKind::Decision(decision),
                None => EventKind::Running,
            },
            record::EXIT => match bits(payload, record::PID_BITS, 1) as u32 {
                record::WAITS => EventKind::Wait,
                _ => EventKind::Exit { pid: current },
            },
            record::FORK | record::NAME => {
                let name = name(more[1], more[2]);
                let comm = until_zero(&name);
                let event = match kind {
                    record::FORK => EventKind::Fork { parent: current, child: pid, child_comm: comm },
                    _ => EventKind::Name { pid, comm },
                };
                take(Item::Event(self.event(time, current, false, event)));
                let member = EventKind::Member { pid, process: (more[3] >> record::PROCESS_AT) as i32 };
                return take(Item::Event(self.event(time, current, false, member)));
            }
            record::EXEC => {
                let path = path(&more[2..]);
                let (pid, old_pid) = (more[1] as i32, pid);
                let what = EventKind::Exec { pid, old_pid, filename: until_zero(&path) };
                return take(Item::Event(self.event(time, pid, false, what)));
            }
            _ => EventKind::Running,
        };
        take(Item::Event(self.event(time, current, kind == record::WAKING_IN_INTERRUPT, what)));
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
fn is_slow(kind: u32) -> bool {
    kind >= record::RESYNC || kind == record::DECISION
}

fn decision(pid: i32, cpu: u32, word: u64) -> Option<Decision> {
    let (khz, number) = (word as u32, (word >> record::REASON_AT) as u16);
    let flag = bits(word, record::FLAG_AT, 1) == 1;
    match bits(word, record::DECISION_AT, 8) as u32 {
        record::SAAKM_D_PLACE | record::SAAKM_D_MOVE => {
            Some(Decision::Place { pid, target: cpu, reason: number, khz })
        }
        record::SAAKM_D_SPIN => Some(Decision::Spin { cpu, on: flag }),
        record::SAAKM_D_SET => Some(Decision::Set { cpu, set: number, member: flag }),
        _ => None,
    }
}

pub(super) fn stop(number: u32) -> Stop {
    match number {
        record::BLOCKED => Stop::Blocked,
        record::EXITED => Stop::Exited,
        _ => Stop::Preempted,
    }
}

/// Joins a name of 15 bytes from two words.
fn name(first: u64, second: u64) -> [u8; 16] {
    let bits = u128::from(first) | u128::from(second) << record::NAME_BITS;
    bits.to_le_bytes()
}

/// Joins a path from seven words, whose highest bits are in the last word.
fn path(words: &[u64]) -> [u8; 8 * PATH_WORDS] {
    let mut path = [0; 8 * PATH_WORDS];
    let highest = words.get(PATH_WORDS).copied().unwrap_or(0);
    for (index, (bytes, word)) in path.chunks_exact_mut(8).zip(words).enumerate() {
        bytes.copy_from_slice(&(word | bits(highest, index as u32, 1) << 63).to_le_bytes());
    }
    path
}

fn until_zero(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
