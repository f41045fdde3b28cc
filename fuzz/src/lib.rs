//! What the fuzz targets share.

use hearth_formats::{ImportFormat, import_bytes};
use hearth_trace::Event;
use std::io::Cursor;
use std::path::PathBuf;

/// Any bytes as a foreign trace: a trace in order of time, or an error.
pub fn import(bytes: &[u8], format: ImportFormat) {
    let mut events: Vec<Event> = Vec::new();
    if import_bytes(Cursor::new(bytes), format, &std::env::temp_dir(), &mut events).is_ok() {
        assert!(events.is_sorted_by_key(|event| event.time));
    }
}

/// Writes inputs to start from into the folder that SEEDS names, if it names one: `content`, each behind the byte that
/// says what it replaces.
pub fn seeds<'a>(contents: impl IntoIterator<Item = (u8, &'a [u8])>) {
    let Some(folder) = std::env::var_os("SEEDS").map(PathBuf::from) else { return };
    for (which, content) in contents {
        std::fs::write(folder.join(which.to_string()), [&[which], content].concat()).unwrap();
    }
}
