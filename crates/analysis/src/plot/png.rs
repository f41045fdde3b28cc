//! PNG from SVG, by programs that many machines have.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Programs that make a PNG of an SVG on their standard input, and how they are told to.
const CONVERTERS: [(&str, &[&str]); 4] = [
    ("rsvg-convert", &["--zoom", "2"]),
    ("resvg", &["--zoom", "2", "-", "-c"]),
    ("inkscape", &["--pipe", "--export-type=png", "--export-filename=-", "--export-dpi=192"]),
    ("magick", &["-density", "192", "svg:-", "png:-"]),
];

/// Their names, for people.
pub fn converters() -> String {
    CONVERTERS.map(|(program, _)| program).join(", ")
}

/// Is one of them installed?
pub fn is_possible() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = |program| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    CONVERTERS.iter().any(|(program, _)| installed(program))
}

/// `None`: none of the programs is installed and works.
pub fn from_svg(svg: &str) -> io::Result<Option<Vec<u8>>> {
    for (program, arguments) in CONVERTERS {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { continue };
        // Each of them reads all before it writes: the pipes cannot block each other.
        let written = child.stdin.take().map(|mut input| input.write_all(svg.as_bytes()));
        let made = child.wait_with_output()?;
        if matches!(written, Some(Ok(()))) && made.status.success() && made.stdout.starts_with(b"\x89PNG") {
            return Ok(Some(made.stdout));
        }
    }
    Ok(None)
}
