//! `--plot`.

use super::summary::origin;
use crate::failure::Failure;
use crate::output;
use hearth_analysis::plot::{Run, svg};
use hearth_study::measure::Measured;
use hearth_trace::Source;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Programs that make a PNG of an SVG on their standard input, and how they are told to.
const CONVERTERS: [(&str, &[&str]); 4] = [
    ("rsvg-convert", &["--zoom", "2"]),
    ("resvg", &["--zoom", "2", "-", "-c"]),
    ("inkscape", &["--pipe", "--export-type=png", "--export-filename=-", "--export-dpi=192"]),
    ("magick", &["-density", "192", "svg:-", "png:-"]),
];

/// Says early what cannot be done.
pub fn check(path: &Path) -> Result<(), Failure> {
    output::check_writable(path)?;
    match kind(path) {
        "svg" => Ok(()),
        "png" if CONVERTERS.iter().any(|(program, _)| installed(program)) => Ok(()),
        "png" => Err(no_converter()),
        _ => Err(Failure::new(format_args!("cannot draw {}: it is neither .svg nor .png", path.display()))
            .help("name a file that ends in .svg or .png")),
    }
}

pub fn draw(path: &Path, traces: &[Measured]) -> Result<(), Failure> {
    let names = names(traces);
    let runs = traces.iter().zip(&names).filter_map(|(trace, name)| {
        Some(Run { name, summary: &trace.summary, underload: trace.underload.as_ref()? })
    });
    let svg = svg(&runs.collect::<Vec<_>>()).map_err(Failure::new)?;
    match kind(path) {
        "png" => output::file(path, &png(&svg)?),
        _ => output::file(path, svg.as_bytes()),
    }
}

fn kind(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// What tells the traces apart: the policy, if they differ in it.
fn names(traces: &[Measured]) -> Vec<String> {
    let short = |trace: &Measured| match &trace.source {
        Source::Simulated { policy, governor, .. } => format!("{policy}, {governor}"),
        source => origin(source),
    };
    let file = |trace: &Measured| {
        Path::new(&trace.path)
            .file_name()
            .map_or(trace.path.clone(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = traces.iter().map(short).collect();
    match &names[..] {
        [a, b] if a == b => traces.iter().map(file).collect(),
        _ => names.into_iter().map(|name| name.chars().take(60).collect()).collect(),
    }
}

fn png(svg: &str) -> Result<Vec<u8>, Failure> {
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
            return Ok(made.stdout);
        }
    }
    Err(no_converter())
}

fn installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn no_converter() -> Failure {
    let names = CONVERTERS.map(|(program, _)| program).join(", ");
    Failure::new(format_args!("cannot make a PNG: none of {names} is installed and works"))
        .help("write an .svg, or install one: apt install librsvg2-bin")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn only_what_can_be_drawn() {
        assert!(check(Path::new("a.svg")).is_ok());
        assert!(check(Path::new("a.pdf")).is_err() && check(Path::new("no/such/a.svg")).is_err());
        assert!(fs::metadata("a.svg").is_err(), "nothing is written yet");
    }
}
