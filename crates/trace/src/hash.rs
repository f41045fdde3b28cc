//! Hash of a trace, to compare traces by 32 characters.

use crate::event::{Event, Sink};
use crate::record::{self, RECORD_BYTES};
use xxhash_rust::xxh3::Xxh3;

/// Number of records that are hashed at once.
const TOGETHER: usize = 64;

/// XXH3-128 over the 24-byte records of the events, in order.
///
/// The header is not hashed: two runs with the same decisions at the same times have the same hash,
/// whatever their names. The hash is not cryptographic.
#[derive(Clone, Default)]
pub struct TraceHash(Xxh3);

impl TraceHash {
    /// Hash of an empty trace.
    pub fn new() -> Self {
        Self::default()
    }

    /// Hash of the events so far.
    pub fn value(&self) -> u128 {
        self.0.digest128()
    }

    /// [`TraceHash::value`] as 32 lower-case hexadecimal digits, most significant first.
    pub fn hex(&self) -> String {
        format!("{:032x}", self.value())
    }
}

impl Sink for TraceHash {
    fn event(&mut self, event: &Event) {
        self.0.update(&record::encode(event));
    }

    fn events(&mut self, events: &[Event]) {
        let mut bytes = [0; TOGETHER * RECORD_BYTES];
        for events in events.chunks(TOGETHER) {
            let (records, _) = bytes.as_chunks_mut();
            for (record, event) in records.iter_mut().zip(events) {
                *record = record::encode(event);
            }
            self.0.update(&bytes[..events.len() * RECORD_BYTES]);
        }
    }
}

impl std::fmt::Debug for TraceHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TraceHash({})", self.hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Kind;

    fn tick(time: u64, khz: u32) -> Event {
        Event { time, core: 0, kind: Kind::Tick { khz } }
    }

    fn hash(events: &[Event]) -> String {
        let mut hash = TraceHash::new();
        events.iter().for_each(|event| hash.event(event));
        hash.hex()
    }

    #[test]
    fn the_empty_hash_is_that_of_xxh3() {
        // XXH3_128bits of the empty input, from the xxHash test vectors.
        assert_eq!(hash(&[]), "99aa06d3014798d86001c324468d497f");
    }

    /// Pins the hash: a change makes the hashes published by earlier versions useless.
    #[test]
    fn the_hash_of_an_event_is_pinned() {
        let bytes = record::encode(&tick(1, 2));
        assert_eq!(hash(&[tick(1, 2)]), format!("{:032x}", xxhash_rust::xxh3::xxh3_128(&bytes)));
    }

    #[test]
    fn many_events_at_once_give_the_same_hash() {
        let events: Vec<Event> = (0..200).map(|time| tick(time, 7)).collect();
        let mut at_once = TraceHash::new();
        at_once.events(&events[..3]);
        at_once.events(&events[3..]);
        assert_eq!(at_once.hex(), hash(&events));
    }

    #[test]
    fn order_time_and_payload_count() {
        let base = hash(&[tick(1, 2), tick(1, 3)]);
        assert_eq!(base, hash(&[tick(1, 2), tick(1, 3)]));
        assert_ne!(base, hash(&[tick(1, 3), tick(1, 2)]));
        assert_ne!(base, hash(&[tick(0, 2), tick(1, 3)]));
        assert_ne!(base, hash(&[tick(1, 2)]));
    }
}
