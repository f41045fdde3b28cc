//! The files that `make web` builds from `web/`, as parts of the binary. The repository contains them, so that building
//! hearth does not need Node.

macro_rules! files {
    ($($name:literal)*) => { &[$(($name, include_str!(concat!("../../../web/page/", $name)))),*] };
}

const FILES: &[(&str, &str)] =
    files!["index.html" "view.js" "view.css" "playground.html" "playground.js" "playground.css"];

/// Draws pictures; [`picture`](crate::picture) runs it.
pub const PICTURE_SCRIPT: &str = include_str!("../../../web/page/picture.js");

/// A file of the viewer by its name.
pub fn file(name: &str) -> Option<&'static str> {
    FILES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}
