//! Encoding of an event in 24 bytes, the input of the hash.
//!
//! Numbers are little-endian. Fields that a kind does not use are zero, so events are equal if and
//! only if their bytes are equal.
//!
//! | bytes  | content                                                    |
//! |--------|------------------------------------------------------------|
//! | 0..8   | time in ns                                                 |
//! | 8..10  | core                                                       |
//! | 10     | kind (`tag` below)                                         |
//! | 11     | `small`: stop, kind of waker, idle state, on/off, or set    |
//! | 12..16 | `a`: thread of the event, or a frequency                    |
//! | 16..20 | `b`: second thread, a name, or the frequency seen           |
//! | 20..22 | `c`: target core, or queue length                          |
//! | 22..24 | `d`: reason, source core, or membership                    |

use crate::event::{Event, Kind, Stop, Waker};

/// Length of an encoded event.
pub const RECORD_BYTES: usize = 24;

/// Number of each kind of event, in the hash and in the store.
pub mod tag {
    pub const SWITCH: u8 = 1;
    pub const WAKEUP: u8 = 2;
    pub const FORK: u8 = 3;
    pub const EXEC: u8 = 4;
    pub const EXIT: u8 = 5;
    pub const WAIT: u8 = 6;
    pub const MIGRATE: u8 = 7;
    pub const PLACE: u8 = 8;
    pub const FREQUENCY: u8 = 9;
    pub const TICK: u8 = 10;
    pub const IDLE: u8 = 11;
    pub const SPIN: u8 = 12;
    pub const QUEUE: u8 = 13;
    pub const SET: u8 = 14;
}

/// Payload of an event before encoding.
#[derive(Default, PartialEq, Eq)]
struct Fields {
    tag: u8,
    small: u8,
    a: u32,
    b: u32,
    c: u16,
    d: u16,
}

/// Encodes an event.
#[inline]
pub fn encode(event: &Event) -> [u8; RECORD_BYTES] {
    let f = fields(&event.kind);
    let mut out = [0; RECORD_BYTES];
    out[0..8].copy_from_slice(&event.time.to_le_bytes());
    out[8..10].copy_from_slice(&event.core.to_le_bytes());
    out[10] = f.tag;
    out[11] = f.small;
    out[12..16].copy_from_slice(&f.a.to_le_bytes());
    out[16..20].copy_from_slice(&f.b.to_le_bytes());
    out[20..22].copy_from_slice(&f.c.to_le_bytes());
    out[22..24].copy_from_slice(&f.d.to_le_bytes());
    out
}

#[inline]
fn fields(kind: &Kind) -> Fields {
    let mut f = Fields::default();
    match *kind {
        Kind::Switch { prev, stop, next } => {
            f.tag = tag::SWITCH;
            f.small = match stop {
                Stop::Preempted => 0,
                Stop::Yielded => 1,
                Stop::Blocked => 2,
                Stop::Exited => 3,
            };
            (f.a, f.b) = (prev, next);
        }
        Kind::Wakeup { thread, waker, target, sync } => {
            f.tag = tag::WAKEUP;
            f.d = sync.into();
            (f.small, f.b) = match waker {
                Waker::Thread(tid) => (0, tid),
                Waker::Interrupt => (1, 0),
            };
            (f.a, f.c) = (thread, target);
        }
        Kind::Fork { parent, child, target } => {
            f.tag = tag::FORK;
            (f.a, f.b, f.c) = (parent, child, target);
        }
        Kind::Exec { thread, name } => {
            f.tag = tag::EXEC;
            (f.a, f.b) = (thread, name);
        }
        Kind::Exit { thread } => (f.tag, f.a) = (tag::EXIT, thread),
        Kind::Wait { thread } => (f.tag, f.a) = (tag::WAIT, thread),
        Kind::Migrate { thread, from, to } => {
            f.tag = tag::MIGRATE;
            (f.a, f.c, f.d) = (thread, to, from);
        }
        Kind::Place { thread, target, reason, seen_khz } => {
            f.tag = tag::PLACE;
            (f.a, f.b, f.c, f.d) = (thread, seen_khz, target, reason);
        }
        Kind::Frequency { khz } => (f.tag, f.a) = (tag::FREQUENCY, khz),
        Kind::Tick { khz } => (f.tag, f.a) = (tag::TICK, khz),
        Kind::Idle { state } => (f.tag, f.small) = (tag::IDLE, state),
        Kind::Spin { on } => (f.tag, f.small) = (tag::SPIN, on.into()),
        Kind::Queue { length } => (f.tag, f.c) = (tag::QUEUE, length),
        Kind::Set { set, member } => {
            f.tag = tag::SET;
            (f.small, f.d) = (set, member.into());
        }
    }
    f
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::any_event;
    use proptest::prelude::*;

    #[test]
    fn the_layout_is_the_documented_one() {
        let event = Event {
            time: 0x0807_0605_0403_0201,
            core: 0x0a09,
            kind: Kind::Place { thread: 0x1413_1211, target: 0x2221, reason: 0x3231, seen_khz: 0x4443_4241 },
        };
        let mut expected = vec![1, 2, 3, 4, 5, 6, 7, 8, 9, 10, tag::PLACE, 0];
        expected.extend([0x11, 0x12, 0x13, 0x14, 0x41, 0x42, 0x43, 0x44, 0x21, 0x22, 0x31, 0x32]);
        assert_eq!(encode(&event).to_vec(), expected);
    }

    proptest! {
        /// Different events have different bytes. Random pairs mostly differ in many fields, so
        /// this changes one field at a time.
        #[test]
        fn every_field_counts(a in any_event(), b in any_event()) {
            prop_assert_eq!(encode(&a) == encode(&b), a == b);
            let other_time = Event { time: a.time ^ 1, ..a };
            let other_core = Event { core: a.core ^ 1, ..a };
            let other_kind = Event { kind: b.kind, ..a };
            prop_assert_ne!(encode(&a), encode(&other_time));
            prop_assert_ne!(encode(&a), encode(&other_core));
            prop_assert_eq!(encode(&a) == encode(&other_kind), a.kind == b.kind);
        }
    }
}
