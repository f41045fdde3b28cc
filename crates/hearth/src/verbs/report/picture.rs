//! The picture of `hearth report --plot`.

use super::summary::origin;
use crate::failure::Failure;
use crate::output;
use hearth_report::analysis::plot::{Run, png, svg};
use hearth_study::measure::Measured;
use hearth_trace::Source;
use std::path::Path;

/// Fails if the picture cannot be written or converted. This is checked before the traces are read.
pub fn check(path: &Path) -> Result<(), Failure> {
    output::check_writable(path)?;
    match kind(path) {
        "svg" => Ok(()),
        "png" if png::is_possible() => Ok(()),
        "png" => Err(no_converter()),
        _ => Err(Failure::new(format_args!("cannot draw {}: unknown format", path.display()))
            .help("use the extension .svg or .png")),
    }
}

pub fn draw(path: &Path, traces: &[Measured]) -> Result<(), Failure> {
    let names = names(traces);
    let runs = traces.iter().zip(&names).filter_map(|(trace, name)| {
        Some(Run { name, summary: &trace.summary, underload: trace.underload.as_ref()? })
    });
    let svg = svg(&runs.collect::<Vec<_>>());
    match kind(path) {
        "png" => output::file(path, &png::from_svg(&svg)?.ok_or_else(no_converter)?),
        _ => output::file(path, svg.as_bytes()),
    }
}

fn kind(path: &Path) -> &str {
    path.extension().and_then(|extension| extension.to_str()).unwrap_or_default()
}

/// Names that distinguish the traces: policy and governor if they differ, otherwise the file.
fn names(traces: &[Measured]) -> Vec<String> {
    let short = |trace: &Measured| match &trace.source {
        Source::Simulated { policy, governor, .. } => format!("{policy}, {governor}"),
        source => origin(source),
    };
    let file = |trace: &Measured| {
        let name = Path::new(&trace.path).file_name();
        name.map_or(trace.path.clone(), |name| name.to_string_lossy().into_owned())
    };
    let names: Vec<String> = traces.iter().map(short).collect();
    match &names[..] {
        [a, b] if a == b => traces.iter().map(file).collect(),
        _ => names.into_iter().map(|name| name.chars().take(60).collect()).collect(),
    }
}

fn no_converter() -> Failure {
    Failure::new(format_args!("cannot write a PNG: none of {} works here", png::converters()))
        .help("write an .svg, or install a converter: apt install librsvg2-bin")
}
