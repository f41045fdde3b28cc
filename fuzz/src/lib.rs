//! What the fuzz targets share.

use hearth_formats::{ImportFormat, import_bytes};
use hearth_trace::Event;
use std::io::Cursor;
use std::path::PathBuf;

#[cfg(fuzzing)]
pub use libfuzzer_sys::fuzz_target;

/// Defines a target that runs once for each file on its command line. cargo-fuzz puts libFuzzer in its place.
#[cfg(not(fuzzing))]
#[macro_export]
macro_rules! fuzz_target {
    (|$input:ident: $type:ty| $body:expr) => {
        fn run($input: $type) {
            $body
        }

        fn main() {
            for path in std::env::args_os().skip(1) {
                let bytes = std::fs::read(&path).expect("the arguments are readable files");
                if let Some(input) = $crate::Input::from_bytes(&bytes) {
                    run(input);
                }
            }
        }
    };
}

/// What a target takes. Text that is not UTF-8 is no input, as in libFuzzer.
pub trait Input<'a>: Sized {
    fn from_bytes(bytes: &'a [u8]) -> Option<Self>;
}

impl<'a> Input<'a> for &'a [u8] {
    fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        Some(bytes)
    }
}

impl<'a> Input<'a> for &'a str {
    fn from_bytes(bytes: &'a [u8]) -> Option<Self> {
        std::str::from_utf8(bytes).ok()
    }
}

/// Imports any bytes as a foreign trace. The result is an error, or events in order of time.
pub fn import(bytes: &[u8], format: ImportFormat) {
    let mut events: Vec<Event> = Vec::new();
    if import_bytes(Cursor::new(bytes), format, &std::env::temp_dir(), &mut events).is_ok() {
        assert!(events.is_sorted_by_key(|event| event.time));
    }
}

/// Writes initial inputs into the folder that the environment variable SEEDS names: each content after its selector byte.
pub fn seeds<'a>(contents: impl IntoIterator<Item = (u8, &'a [u8])>) {
    let Some(folder) = std::env::var_os("SEEDS").map(PathBuf::from) else { return };
    for (which, content) in contents {
        std::fs::write(folder.join(which.to_string()), [&[which], content].concat()).unwrap();
    }
}
