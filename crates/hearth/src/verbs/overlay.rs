use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::recording;
use hearth_machine::{Governor, Machine};
use hearth_sim::Overlay;
use hearth_trace::{Metrics, Residency, Sink, Source, Writer};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Give a recorded schedule the frequencies of another machine
///
/// The schedule stays as it is (open loop): a faster core does not shorten what runs on it. So this shows how warm the recorded
/// scheduler keeps its cores, without a model of that scheduler. Sockets, cores and hyperthreads of the trace take
/// the places of those of the machine, in order.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth overlay configure.trace -m xeon-5218 -o warm.trace",
    "hearth overlay configure.trace -m xeon-5218 -g performance -o fast.trace",
]))]
pub struct Args {
    /// The recorded trace
    trace: PathBuf,
    /// The machine: the name of a built-in one (`hearth list machines`), or the path of a machine file
    #[arg(short, long, value_name = "NAME|FILE")]
    machine: String,
    /// The frequency governor: schedutil, performance or powersave
    #[arg(short, long, value_name = "GOVERNOR", default_value = "schedutil")]
    governor: Governor,
    /// The trace to write
    #[arg(short, long, value_name = "TRACE")]
    output: PathBuf,
    /// Print a summary as JSON (schema hearth.overlay/1)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    trace: String,
    source: String,
    /// Mean frequency while traced threads ran.
    busy_ghz_mean: Option<f64>,
    frequency_residency: Vec<Residency>,
    /// `None`: the machine's power is unknown.
    energy_j: Option<f64>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let machine = Machine::load(&self.machine)?;
        let mut reader = recording::open(&self.trace)?;
        let header = reader.header().clone();
        check(&header.source).map_err(|help| {
            Failure::new(format!("{} is not a recorded schedule", self.trace.display())).help(help)
        })?;
        if is_same(&self.trace, &self.output) {
            return Err(Failure::usage("--output is the recording itself").help("name another trace"));
        }
        output::check_trace(&self.output)?;
        let mut metrics = Metrics::new(&header);
        let mut writer = Writer::create(&self.output, &header)?;
        let mut overlay = Overlay::new(&header, &machine, self.governor, (&mut writer, &mut metrics))
            .map_err(|error| Failure::new(error).help("`hearth list machines` shows sizes"))?;
        while let Some(events) = reader.next_group() {
            events?.iter().for_each(|event| overlay.event(event));
        }
        let header = overlay.finish(&header, &machine, self.governor);
        writer.commit(&header)?;
        let summary = metrics.finish(header.duration);
        let content = Report {
            trace: self.output.display().to_string(),
            source: header.source.to_string(),
            busy_ghz_mean: summary.busy_ghz_mean,
            frequency_residency: summary.frequency_residency,
            energy_j: (header.energy_uj > 0).then_some(header.energy_uj as f64 / 1e6),
        };
        let document = Document { schema: "hearth.overlay/1", content };
        output::print(self.json, &document, || text(&document.content))
    }
}

/// True if both paths lead to one trace that exists.
fn is_same(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// Frequencies of a simulation belong to its schedule.
fn check(source: &Source) -> Result<(), &'static str> {
    match source {
        _ if source.laid_over().is_some() => Err("it is the result of an overlay; take the recording"),
        Source::Recorded(_) | Source::Unknown => Ok(()),
        Source::Simulated { .. } => Err("it is simulated; `hearth sim` simulates it on another machine"),
    }
}

fn text(report: &Report) -> String {
    let ghz = report.busy_ghz_mean.map_or("no thread ran".into(), |ghz| format!("{ghz:.2} GHz while busy"));
    let energy = report.energy_j.map_or_else(String::new, |joules| format!(", {joules:.1} J"));
    format!("{}: {}: {ghz}{energy}\n", report.trace, report.source)
}
