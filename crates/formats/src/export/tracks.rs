//! Hearth's own tracks. Each is described before its first use.

use crate::perfetto::{Group, Track, descriptor};
use crate::wire::Put;
use hearth_trace::Header;
use std::collections::HashSet;

/// Tracks that are described.
#[derive(Default)]
pub struct Tracks(HashSet<Track>);

/// `TrackDescriptor.child_ordering`: by rank.
const BY_RANK: u64 = 3;

impl Tracks {
    /// Missing descriptions of `track` and its parents, parents first.
    pub fn needed(&mut self, track: Track, header: &Header) -> Vec<Vec<u8>> {
        let mut needed = Vec::new();
        let mut next = Some(track);
        while let Some(track) = next.filter(|track| self.0.insert(*track)) {
            needed.push(describe(track, header));
            next = above(track);
        }
        needed.reverse();
        needed
    }
}

fn above(track: Track) -> Option<Track> {
    match track {
        Track::Root => None,
        Track::Core(group, _) => Some(Track::Group(group)),
        _ => Some(Track::Root),
    }
}

fn describe(track: Track, header: &Header) -> Vec<u8> {
    let mut message = Vec::new();
    message.number(descriptor::UUID, track.uuid());
    message.text(descriptor::NAME, &name(track, header));
    if let Some(above) = above(track) {
        message.number(descriptor::PARENT, above.uuid());
        message.number(descriptor::RANK, rank(track));
    }
    let (counter, unit) = match track {
        Track::Underload | Track::SetSize(_) => (true, "cores"),
        Track::Power => (true, "mW"),
        Track::Core(Group::Queue, _) => (true, "threads"),
        Track::Core(Group::Tick, _) => (true, "kHz"),
        _ => (false, ""),
    };
    if counter {
        message.message(descriptor::COUNTER, |counter| counter.text(6, unit));
    }
    if matches!(track, Track::Root | Track::Group(_)) {
        message.number(descriptor::ORDERING, BY_RANK);
    }
    message
}

fn name(track: Track, header: &Header) -> String {
    let set = |set: u8| header.sets.get(usize::from(set)).map_or_else(|| format!("set {set}"), String::clone);
    match track {
        Track::Root => "Hearth".into(),
        Track::About => "about".into(),
        Track::Underload => "underload".into(),
        Track::Power => "power".into(),
        Track::SetSize(number) => format!("cores in {}", set(number)),
        Track::Group(Group::Place) => "placements".into(),
        Track::Group(Group::Queue) => "run queues".into(),
        Track::Group(Group::Spin) => "kept warm by spinning".into(),
        Track::Group(Group::Tick) => "frequency at ticks".into(),
        Track::Group(Group::Set(number)) => set(number),
        Track::Core(group, core) => match group {
            Group::Queue => format!("run queue of core {core}"),
            Group::Tick => format!("frequency at ticks of core {core}"),
            _ => format!("core {core}"),
        },
    }
}

fn rank(track: Track) -> u64 {
    match track {
        Track::Underload => 1,
        Track::Power => 2,
        Track::SetSize(set) => 3 + u64::from(set),
        Track::Group(Group::Set(set)) => 300 + u64::from(set),
        Track::Group(Group::Place) => 600,
        Track::Group(Group::Queue) => 601,
        Track::Group(Group::Spin) => 602,
        Track::Group(Group::Tick) => 603,
        Track::About => 900,
        Track::Root => 0,
        Track::Core(_, core) => core.into(),
    }
}
