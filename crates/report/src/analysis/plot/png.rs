//! Conversion of SVG to PNG by an installed program.

use std::io::{self, Write};
use std::process::{Command, Stdio};

/// Programs that convert an SVG on standard input to a PNG on standard output, and their arguments.
const CONVERTERS: [(&str, &[&str]); 4] = [
    ("rsvg-convert", &["--zoom", "2"]),
    ("resvg", &["--zoom", "2", "-", "-c"]),
    ("inkscape", &["--pipe", "--export-type=png", "--export-filename=-", "--export-dpi=192"]),
    ("magick", &["-density", "192", "svg:-", "png:-"]),
];

/// The names of the supported programs, for messages.
pub fn converters() -> String {
    CONVERTERS.map(|(program, _)| program).join(", ")
}

/// Whether one of the programs is installed.
pub fn is_possible() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = |program| std::env::split_paths(&path).any(|folder| folder.join(program).is_file());
    CONVERTERS.iter().any(|(program, _)| installed(program))
}

/// Converts an SVG to a PNG at twice its size. `None` if no installed program succeeds.
///
/// # Errors
/// If the output of a program cannot be read.
pub fn from_svg(svg: &str) -> io::Result<Option<Vec<u8>>> {
    for (program, arguments) in CONVERTERS {
        let child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else { continue };
        // The programs read all input before they write, so the pipes cannot deadlock.
        let written = child.stdin.take().map(|mut input| input.write_all(svg.as_bytes()));
        let made = child.wait_with_output()?;
        if matches!(written, Some(Ok(()))) && made.status.success() && made.stdout.starts_with(b"\x89PNG") {
            return Ok(Some(made.stdout));
        }
    }
    Ok(None)
}
