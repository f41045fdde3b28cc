//! The files that `make web` builds from `web/`, as parts of the binary.

const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// A built file by its name. `None` also if `make web` did not run before the build.
pub fn file(name: &str) -> Option<&'static [u8]> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, bytes)| *bytes)
}

/// The same as text.
pub fn text(name: &str) -> Option<&'static str> {
    std::str::from_utf8(file(name)?).ok()
}
