//! Events as columns, and back.

use crate::event::{Event, Kind, Stop, Waker};
use crate::record::tag;

/// The payload of an event. What a kind does not use is zero, so that equal events are equal rows
/// and the other way round.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    pub kind: u8,
    pub thread: u32,
    pub other: u32,
    pub target: u16,
    pub detail: u16,
    pub value: u32,
}

/// `detail` of a wake-up by the idle thread, which would otherwise look like an interrupt.
const IDLE_WAKER: u16 = 1;

/// The bits that a kind may have in each column. All of these are values that it has.
const USED: [Row; 15] = {
    const ALL: u32 = u32::MAX;
    const ALL16: u16 = u16::MAX;
    const NONE: Row = Row { kind: 0, thread: 0, other: 0, target: 0, detail: 0, value: 0 };
    let mut used = [NONE; 15];
    used[tag::SWITCH as usize] = Row { thread: ALL, other: ALL, detail: 3, ..NONE };
    used[tag::WAKEUP as usize] = Row { thread: ALL, other: ALL, target: ALL16, detail: IDLE_WAKER, ..NONE };
    used[tag::FORK as usize] = Row { thread: ALL, other: ALL, target: ALL16, ..NONE };
    used[tag::EXEC as usize] = Row { thread: ALL, other: ALL, ..NONE };
    used[tag::EXIT as usize] = Row { thread: ALL, ..NONE };
    used[tag::WAIT as usize] = Row { thread: ALL, ..NONE };
    used[tag::MIGRATE as usize] = Row { thread: ALL, target: ALL16, detail: ALL16, ..NONE };
    used[tag::PLACE as usize] = Row { thread: ALL, target: ALL16, detail: ALL16, value: ALL, ..NONE };
    used[tag::FREQUENCY as usize] = Row { value: ALL, ..NONE };
    used[tag::TICK as usize] = Row { value: ALL, ..NONE };
    used[tag::IDLE as usize] = Row { detail: 0xff, ..NONE };
    used[tag::SPIN as usize] = Row { detail: 1, ..NONE };
    used[tag::QUEUE as usize] = Row { value: 0xffff, ..NONE };
    used[tag::SET as usize] = Row { detail: 0xff, value: 1, ..NONE };
    used
};

impl Row {
    #[inline]
    pub fn of(kind: &Kind) -> Row {
        let row = Row::default();
        match *kind {
            Kind::Switch { prev, stop, next } => {
                let detail = match stop {
                    Stop::Preempted => 0,
                    Stop::Yielded => 1,
                    Stop::Blocked => 2,
                    Stop::Exited => 3,
                };
                Row { kind: tag::SWITCH, thread: prev, other: next, detail, ..row }
            }
            Kind::Wakeup { thread, waker, target } => {
                let (other, detail) = match waker {
                    Waker::Interrupt => (0, 0),
                    Waker::Thread(0) => (0, IDLE_WAKER),
                    Waker::Thread(waker) => (waker, 0),
                };
                Row { kind: tag::WAKEUP, thread, other, target, detail, ..row }
            }
            Kind::Fork { parent, child, target } => {
                Row { kind: tag::FORK, thread: parent, other: child, target, ..row }
            }
            Kind::Exec { thread, name } => Row { kind: tag::EXEC, thread, other: name, ..row },
            Kind::Exit { thread } => Row { kind: tag::EXIT, thread, ..row },
            Kind::Wait { thread } => Row { kind: tag::WAIT, thread, ..row },
            Kind::Migrate { thread, from, to } => {
                Row { kind: tag::MIGRATE, thread, target: to, detail: from, ..row }
            }
            Kind::Place { thread, target, reason, seen_khz } => {
                Row { kind: tag::PLACE, thread, target, detail: reason, value: seen_khz, ..row }
            }
            Kind::Frequency { khz } => Row { kind: tag::FREQUENCY, value: khz, ..row },
            Kind::Tick { khz } => Row { kind: tag::TICK, value: khz, ..row },
            Kind::Idle { state } => Row { kind: tag::IDLE, detail: state.into(), ..row },
            Kind::Spin { on } => Row { kind: tag::SPIN, detail: on.into(), ..row },
            Kind::Queue { length } => Row { kind: tag::QUEUE, value: length.into(), ..row },
            Kind::Set { set, member } => {
                Row { kind: tag::SET, detail: set.into(), value: member.into(), ..row }
            }
        }
    }

    /// `None`: this row is no event (an unknown kind, a value out of its range, or something in a
    /// column that the kind does not use).
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        let most = USED.get(usize::from(self.kind))?;
        let unused = (self.thread & !most.thread) | (self.other & !most.other) | (self.value & !most.value);
        let unused_narrow = (self.target & !most.target) | (self.detail & !most.detail);
        if unused != 0 || unused_narrow != 0 {
            return None;
        }
        // Only the idle thread needs to be told from an interrupt.
        if self.kind == tag::WAKEUP && self.detail != 0 && self.other != 0 {
            return None;
        }
        self.lenient()
    }

    #[inline]
    fn lenient(&self) -> Option<Kind> {
        let Row { thread, other, target, detail, value, .. } = *self;
        Some(match self.kind {
            tag::SWITCH => Kind::Switch {
                prev: thread,
                stop: match detail {
                    0 => Stop::Preempted,
                    1 => Stop::Yielded,
                    2 => Stop::Blocked,
                    3 => Stop::Exited,
                    _ => return None,
                },
                next: other,
            },
            tag::WAKEUP => {
                let waker = if other == 0 && detail == 0 { Waker::Interrupt } else { Waker::Thread(other) };
                Kind::Wakeup { thread, waker, target }
            }
            tag::FORK => Kind::Fork { parent: thread, child: other, target },
            tag::EXEC => Kind::Exec { thread, name: other },
            tag::EXIT => Kind::Exit { thread },
            tag::WAIT => Kind::Wait { thread },
            tag::MIGRATE => Kind::Migrate { thread, from: detail, to: target },
            tag::PLACE => Kind::Place { thread, target, reason: detail, seen_khz: value },
            tag::FREQUENCY => Kind::Frequency { khz: value },
            tag::TICK => Kind::Tick { khz: value },
            tag::IDLE => Kind::Idle { state: detail as u8 },
            tag::SPIN => Kind::Spin { on: detail != 0 },
            tag::QUEUE => Kind::Queue { length: value as u16 },
            tag::SET => Kind::Set { set: detail as u8, member: value != 0 },
            _ => return None,
        })
    }
}

/// The columns of a group of events, as Parquet has them: its integers are signed.
#[derive(Default)]
pub struct Columns {
    pub time: Vec<i64>,
    pub narrow: [Vec<i32>; NARROW.len()],
}

/// All columns but `time`, in the order of the file, and the bits that their values may have.
pub const NARROW: [(&str, i8); 7] =
    [("core", 16), ("kind", 8), ("thread", 32), ("other", 32), ("target", 16), ("detail", 16), ("value", 32)];

impl Columns {
    pub fn set(&mut self, events: &[Event]) {
        self.clear();
        self.time.extend(events.iter().map(|event| event.time as i64));
        for column in &mut self.narrow {
            column.reserve(events.len());
        }
        for event in events {
            let row = Row::of(&event.kind);
            let values = [
                event.core.into(),
                row.kind.into(),
                row.thread as i32,
                row.other as i32,
                row.target.into(),
                row.detail.into(),
                row.value as i32,
            ];
            for (column, value) in self.narrow.iter_mut().zip(values) {
                column.push(value);
            }
        }
    }

    pub fn clear(&mut self) {
        self.time.clear();
        self.narrow.iter_mut().for_each(Vec::clear);
    }

    /// Makes all columns so long.
    pub fn resize(&mut self, rows: usize) {
        self.time.resize(rows, 0);
        self.narrow.iter_mut().for_each(|column| column.resize(rows, 0));
    }

    /// Appends the events. `Err`: the number of a row that is none. All columns are equally long.
    pub fn events(&self, events: &mut Vec<Event>) -> Result<(), usize> {
        let [core, kind, thread, other, target, detail, value] = self.narrow.each_ref().map(Vec::as_slice);
        let time = self.time.as_slice();
        let n = time.len();
        let (core, kind, thread, other) = (&core[..n], &kind[..n], &thread[..n], &other[..n]);
        let (target, detail, value) = (&target[..n], &detail[..n], &value[..n]);
        let event = |i: usize| {
            // Values that are too large for their column.
            if (core[i] | target[i] | detail[i]) as u32 > u32::from(u16::MAX) || kind[i] as u32 > 0xff {
                return None;
            }
            let row = Row {
                kind: kind[i] as u8,
                thread: thread[i] as u32,
                other: other[i] as u32,
                target: target[i] as u16,
                detail: detail[i] as u16,
                value: value[i] as u32,
            };
            Some(Event { time: time[i] as u64, core: core[i] as u16, kind: row.kind()? })
        };
        // Of an iterator that cannot end early the vector knows the length beforehand, which is worth
        // a check in each row.
        const WRONG: Event = Event { time: 0, core: 0, kind: Kind::Exit { thread: 0 } };
        let mut wrong = None;
        events.extend((0..n).map(|i| {
            event(i).unwrap_or_else(|| {
                wrong.get_or_insert(i);
                WRONG
            })
        }));
        wrong.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_event;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_row_is_its_event(event in any_event()) {
            prop_assert_eq!(Row::of(&event.kind).kind(), Some(event.kind));
        }

        /// Two different rows are never the same event.
        #[test]
        fn rows_are_canonical(
            kind in 0u8..16, thread in 0u32..2, other in 0u32..2, target in 0u16..2, detail in 0u16..5,
            value in prop_oneof![0u32..3, Just(1 << 16)],
        ) {
            let row = Row { kind, thread, other, target, detail, value };
            if let Some(kind) = row.kind() {
                prop_assert_eq!(Row::of(&kind), row);
            }
        }
    }
}
