//! Any bytes as a foreign trace: a trace in order of time, or an error.

#![no_main]

use hearth_exchange::{ImportFormat, import_bytes};
use hearth_trace::Event;
use libfuzzer_sys::fuzz_target;
use std::io::Cursor;

fuzz_target!(|bytes: &[u8]| {
    let mut events: Vec<Event> = Vec::new();
    if import_bytes(Cursor::new(bytes), ImportFormat::TraceDat, &std::env::temp_dir(), &mut events).is_ok() {
        assert!(events.is_sorted_by_key(|event| event.time));
    }
});
