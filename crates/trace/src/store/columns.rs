//! Conversion between events and columns.

use crate::event::{Event, Kind, Stop, Waker};
use crate::record::tag;

/// Payload of an event as a row. Columns that a kind does not use are zero, so events are equal if
/// and only if their rows are equal. `docs/src/trace.md` says what the columns mean for each kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Row {
    pub kind: u8,
    pub thread: u32,
    pub other: u32,
    pub target: u16,
    pub detail: u16,
    pub value: u32,
}

/// `detail` of a wake-up by the idle thread, to distinguish it from an interrupt.
const IDLE_WAKER: u16 = 1;

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
            Kind::Wakeup { thread, waker, target, sync } => {
                let (other, detail) = match waker {
                    Waker::Interrupt => (0, 0),
                    Waker::Thread(0) => (0, IDLE_WAKER),
                    Waker::Thread(waker) => (waker, 0),
                };
                Row { kind: tag::WAKEUP, thread, other, target, detail, value: sync.into() }
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

    /// The event kind of this row; `None` if the row is invalid (unknown kind, value out of range,
    /// or a nonzero column that the kind does not use).
    #[inline]
    pub fn kind(&self) -> Option<Kind> {
        let Row { kind, thread, other, target, detail, value } = *self;
        let unused = |columns: u32| (columns == 0).then_some(());
        let (target32, detail32) = (u32::from(target), u32::from(detail));
        Some(match kind {
            tag::SWITCH => {
                unused(target32 | value)?;
                let stop = match detail {
                    0 => Stop::Preempted,
                    1 => Stop::Yielded,
                    2 => Stop::Blocked,
                    3 => Stop::Exited,
                    _ => return None,
                };
                Kind::Switch { prev: thread, stop, next: other }
            }
            tag::WAKEUP => {
                unused(value & !1)?;
                let waker = match (other, detail) {
                    (0, 0) => Waker::Interrupt,
                    (0, IDLE_WAKER) | (_, 0) => Waker::Thread(other),
                    _ => return None,
                };
                Kind::Wakeup { thread, waker, target, sync: value == 1 }
            }
            tag::FORK => {
                unused(detail32 | value)?;
                Kind::Fork { parent: thread, child: other, target }
            }
            tag::EXEC => {
                unused(target32 | detail32 | value)?;
                Kind::Exec { thread, name: other }
            }
            tag::EXIT | tag::WAIT => {
                unused(other | target32 | detail32 | value)?;
                if kind == tag::EXIT { Kind::Exit { thread } } else { Kind::Wait { thread } }
            }
            tag::MIGRATE => {
                unused(other | value)?;
                Kind::Migrate { thread, from: detail, to: target }
            }
            tag::PLACE => {
                unused(other)?;
                Kind::Place { thread, target, reason: detail, seen_khz: value }
            }
            tag::FREQUENCY | tag::TICK => {
                unused(thread | other | target32 | detail32)?;
                if kind == tag::TICK { Kind::Tick { khz: value } } else { Kind::Frequency { khz: value } }
            }
            tag::IDLE => {
                unused(thread | other | target32 | value)?;
                Kind::Idle { state: u8::try_from(detail).ok()? }
            }
            tag::SPIN => {
                unused(thread | other | target32 | value | (detail32 & !1))?;
                Kind::Spin { on: detail == 1 }
            }
            tag::QUEUE => {
                unused(thread | other | target32 | detail32)?;
                Kind::Queue { length: u16::try_from(value).ok()? }
            }
            tag::SET => {
                unused(thread | other | target32 | (value & !1))?;
                Kind::Set { set: u8::try_from(detail).ok()?, member: value == 1 }
            }
            _ => return None,
        })
    }
}

/// Columns of a group of events, with Parquet's signed integers.
#[derive(Default)]
pub struct Columns {
    pub time: Vec<i64>,
    pub narrow: [Vec<i32>; NARROW.len()],
}

/// All columns except `time`, in file order, with the width of their values in bits.
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

    /// Sets the length of all columns to `rows`.
    pub fn resize(&mut self, rows: usize) {
        self.time.resize(rows, 0);
        self.narrow.iter_mut().for_each(|column| column.resize(rows, 0));
    }

    /// Appends the rows as events. `Err` holds the index of an invalid row. All columns must have
    /// the same length.
    pub fn events(&self, events: &mut Vec<Event>) -> Result<(), usize> {
        // Zipping tells the compiler that the columns are equally long, and an iterator without
        // early exit tells the vector its length. Both avoid checks in each row.
        const WRONG: Event = Event { time: 0, core: 0, kind: Kind::Exit { thread: 0 } };
        let [core, kind, thread, other, target, detail, value] =
            self.narrow.each_ref().map(|c| c.iter().copied());
        let (front, threads) = (core.zip(kind), thread.zip(other));
        let back = target.zip(detail).zip(value).zip(self.time.iter().copied());
        let rows = front.zip(threads).zip(back);
        let mut sound = true;
        events.extend(rows.map(|(((core, kind), (thread, other)), (((target, detail), value), time))| {
            let row = Row {
                kind: kind as u8,
                thread: thread as u32,
                other: other as u32,
                target: target as u16,
                detail: detail as u16,
                value: value as u32,
            };
            // Parquet stores 32 bits; the value may exceed the column's width.
            let small = (core | target | detail) as u32 <= u32::from(u16::MAX) && kind as u32 <= 0xff;
            match row.kind() {
                Some(kind) if small => Event { time: time as u64, core: core as u16, kind },
                _ => {
                    sound = false;
                    WRONG
                }
            }
        }));
        match sound {
            true => Ok(()),
            false => Err(self.first_wrong()),
        }
    }

    /// Index of the first invalid row. Requires that there is one.
    fn first_wrong(&self) -> usize {
        let alone = |row: usize| Columns {
            time: vec![self.time[row]],
            narrow: self.narrow.each_ref().map(|column| vec![column[row]]),
        };
        let wrong = |row: &usize| alone(*row).events(&mut Vec::new()).is_err();
        (0..self.time.len() - 1).find(wrong).unwrap_or(self.time.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_event;
    use proptest::prelude::*;

    #[test]
    fn the_first_invalid_row_is_reported() {
        let event = Event { time: 0, core: 0, kind: Kind::Exit { thread: 0 } };
        for (column, value) in [(1, 200), (1, 256), (0, 1 << 16), (0, -1)] {
            let mut columns = Columns::default();
            columns.set(&[event; 5]);
            assert_eq!(columns.events(&mut Vec::new()), Ok(()));
            columns.narrow[column][2] = value;
            columns.narrow[column][4] = value;
            assert_eq!(columns.events(&mut Vec::new()), Err(2));
        }
    }

    proptest! {
        #[test]
        fn a_row_is_its_event(event in any_event()) {
            prop_assert_eq!(Row::of(&event.kind).kind(), Some(event.kind));
        }

        /// Different rows never give the same event.
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
