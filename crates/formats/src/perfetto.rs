//! Field numbers of Perfetto and numbers of Hearth's own tracks.
//!
//! Field numbers are those of Perfetto's public `.proto` files (`trace_packet.proto`, `ftrace_event_bundle.proto`,
//! `ftrace/sched.proto`, `ftrace/power.proto`, `track_event.proto`, `track_descriptor.proto`).

/// `Trace.packet`.
pub const PACKET: u32 = 1;

pub mod packet {
    pub const FTRACE_EVENTS: u32 = 1;
    pub const PROCESS_TREE: u32 = 2;
    pub const TIMESTAMP: u32 = 8;
    pub const SEQUENCE: u32 = 10;
    pub const TRACK_EVENT: u32 = 11;
    pub const SYSTEM_INFO: u32 = 45;
    pub const COMPRESSED: u32 = 50;
    pub const TRACK_DESCRIPTOR: u32 = 60;
}

pub mod bundle {
    pub const CPU: u32 = 1;
    pub const EVENT: u32 = 2;
    pub const LOST: u32 = 3;
    pub const COMPACT: u32 = 4;
}

/// `FtraceEvent`: its fields and the supported members of its `oneof`.
pub mod ftrace {
    pub const TIME: u32 = 1;
    pub const PID: u32 = 2;
    pub const FLAGS: u32 = 5;
    pub const SWITCH: u32 = 4;
    pub const FREQUENCY: u32 = 11;
    pub const IDLE: u32 = 13;
    pub const WAKEUP: u32 = 17;
    pub const WAKING: u32 = 20;
    pub const WAKEUP_NEW: u32 = 114;
    pub const NEWTASK: u32 = 235;
    pub const RENAME: u32 = 236;
    pub const EXEC: u32 = 237;
    pub const EXIT: u32 = 238;
    pub const FORK: u32 = 239;
    pub const WAIT: u32 = 242;
    pub const MIGRATE: u32 = 491;
}

pub mod event {
    pub const TYPE: u32 = 9;
    pub const TRACK: u32 = 11;
    pub const CATEGORY: u32 = 22;
    pub const NAME: u32 = 23;
    pub const ANNOTATION: u32 = 4;
    pub const COUNTER: u32 = 30;

    pub const BEGIN: u64 = 1;
    pub const END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNT: u64 = 4;
}

pub mod annotation {
    pub const NAME: u32 = 10;
    pub const UINT: u32 = 3;
    pub const INT: u32 = 4;
    pub const STRING: u32 = 6;
}

pub mod descriptor {
    pub const UUID: u32 = 1;
    pub const NAME: u32 = 2;
    pub const PARENT: u32 = 5;
    pub const COUNTER: u32 = 8;
    pub const ORDERING: u32 = 11;
    pub const RANK: u32 = 12;
}

/// `common_flags` of an event in a hardware interrupt.
pub const INTERRUPT: u64 = 0x08;
/// In `common_flags` of exports of Hearth: the importer ignores the event.
pub const DERIVED: u64 = 1 << 31;
/// In `common_flags` of exports of Hearth, above this bit: by how many ns the event was moved.
pub const SHIFT: u32 = 8;

/// Time of an event in an export of Hearth before it was moved.
pub fn unmoved(time: u64, flags: u64) -> u64 {
    time.saturating_sub((flags & (DERIVED - 1)) >> SHIFT)
}

/// `prev_state` of Linux 4.14 and later.
pub mod state {
    use hearth_trace::Stop;

    pub const RUNNABLE: u64 = 0;
    pub const SLEEPING: u64 = 0x01;
    pub const ZOMBIE: u64 = 0x20;
    /// Printed as `R+`.
    pub const PREEMPTED: u64 = 0x100;

    /// State in exports of Hearth, which distinguish yielded and preempted threads.
    pub fn of(stop: Stop) -> u64 {
        match stop {
            Stop::Preempted => PREEMPTED,
            Stop::Yielded => RUNNABLE,
            Stop::Blocked => SLEEPING,
            Stop::Exited => ZOMBIE,
        }
    }

    /// Inverse of [`of`].
    pub fn stop(state: u64) -> Stop {
        match state {
            RUNNABLE => Stop::Yielded,
            PREEMPTED => Stop::Preempted,
            ZOMBIE => Stop::Exited,
            _ => Stop::Blocked,
        }
    }
}

/// Names of the annotations that hold the header.
pub const HEADER: &str = "hearth.header";
pub const PROCESSES: &str = "hearth.processes";
pub const THREADS: &str = "hearth.threads";
/// Category of Hearth's own events.
pub const CATEGORY: &str = "hearth";

/// One of Hearth's tracks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Track {
    /// Parent of all others.
    Root,
    /// Holds the header.
    About,
    /// Derived counters, which the importer ignores.
    Underload,
    Power,
    SetSize(u8),
    /// Parent of the tracks of one kind of all cores.
    Group(Group),
    Core(Group, u16),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Group {
    Place,
    Queue,
    Spin,
    Tick,
    Set(u8),
}

impl Group {
    fn code(self) -> u64 {
        match self {
            Group::Place => 1,
            Group::Queue => 2,
            Group::Spin => 3,
            Group::Tick => 4,
            Group::Set(set) => 0x100 + u64::from(set),
        }
    }

    fn of(code: u64) -> Option<Self> {
        Some(match code {
            1 => Group::Place,
            2 => Group::Queue,
            3 => Group::Spin,
            4 => Group::Tick,
            0x100..=0x1ff => Group::Set(code as u8),
            _ => return None,
        })
    }
}

/// "Hear": the upper half of the number of each of Hearth's tracks.
const OURS: u64 = 0x4865_6172 << 32;

impl Track {
    /// Number of the track in events.
    pub fn uuid(self) -> u64 {
        OURS | match self {
            Track::Root => 0,
            Track::About => 1,
            Track::Underload => 2,
            Track::Power => 3,
            Track::SetSize(set) => 0x100 + u64::from(set),
            Track::Group(group) => 1 << 28 | group.code() << 16,
            Track::Core(group, core) => 2 << 28 | group.code() << 16 | u64::from(core),
        }
    }

    pub fn of(uuid: u64) -> Option<Self> {
        let low = uuid & 0xffff_ffff;
        let group = || Group::of(low >> 16 & 0xfff);
        Some(match (uuid & !0xffff_ffff, low >> 28) {
            (OURS, 0) => match low {
                0 => Track::Root,
                1 => Track::About,
                2 => Track::Underload,
                3 => Track::Power,
                0x100..=0x1ff => Track::SetSize(low as u8),
                _ => return None,
            },
            (OURS, 1) if low & 0xffff == 0 => Track::Group(group()?),
            (OURS, 2) => Track::Core(group()?, low as u16),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_track_has_a_number_of_its_own() {
        let groups = [Group::Place, Group::Queue, Group::Spin, Group::Tick, Group::Set(0), Group::Set(255)];
        let (first, last) = (Track::SetSize(0), Track::SetSize(255));
        let mut tracks = vec![Track::Root, Track::About, Track::Underload, Track::Power, first, last];
        for group in groups {
            tracks.extend([Track::Group(group), Track::Core(group, 0), Track::Core(group, u16::MAX)]);
        }
        for track in &tracks {
            assert_eq!(Track::of(track.uuid()), Some(*track));
        }
        assert_eq!(Track::of(7), None);
        assert_eq!(Track::of(OURS | 3 << 28), None);
    }
}
