//! Generators: small models of kinds of programs, for use without a recording.
//!
//! A generator is deterministic in its parameters on every platform: random numbers and
//! distributions use integers only (`random.rs`). Sizes are CPU times at a nominal frequency of 2.1
//! GHz, that of the papers' Xeon E7-8870 v4 and Gold 6130 (Nest paper, table 2), and are converted
//! to cycles. The costs of steps are measured or taken from a paper, with the source at each place;
//! none is tuned to match a figure.

mod barrier;
mod builder;
mod bursts;
mod busy_loop;
mod cmake;
mod configure;
mod daemons;
mod fork_wait;
mod hackbench;
mod jvm;
mod kbuild;
mod mkl;
mod params;
mod producer_consumer;
mod programs;
mod random;
mod schbench;
mod server;
mod shell;
mod wavefront;

pub use crate::graph::NOMINAL_KHZ;
pub use params::Param;

use params::Args;

use crate::recorded::recorded;
use crate::{Error, Workload};

/// Cycles per microsecond of CPU time at [`NOMINAL_KHZ`].
pub(crate) const CYCLES_PER_US: u64 = NOMINAL_KHZ as u64 / 1000;

/// A model of a kind of program.
#[derive(Debug)]
pub struct Generator {
    pub name: &'static str,
    /// One-line description.
    pub summary: &'static str,
    pub params: &'static [Param],
    /// Builds the graph; the caller sets name and origin.
    build: fn(&Args) -> Workload,
}

/// All generators, in display order.
pub fn generators() -> &'static [Generator] {
    &GENERATORS
}

static GENERATORS: [Generator; 15] = [
    fork_wait::GENERATOR,
    configure::GENERATOR,
    cmake::GENERATOR,
    kbuild::GENERATOR,
    producer_consumer::GENERATOR,
    barrier::GENERATOR,
    server::GENERATOR,
    mkl::GENERATOR,
    hackbench::GENERATOR,
    schbench::GENERATOR,
    bursts::GENERATOR,
    wavefront::GENERATOR,
    jvm::GENERATOR,
    daemons::GENERATOR,
    busy_loop::GENERATOR,
];

/// Generates a workload from a specification `name` or `name:key=value,key=value`.
pub fn generate(spec: &str) -> Result<Workload, Error> {
    let fail = |message| Error::Spec { spec: spec.to_string(), message };
    let (name, settings) = spec.split_once(':').unwrap_or((spec, ""));
    let generator =
        generators().iter().find(|g| g.name == name).ok_or_else(|| fail(unknown_generator(name)))?;
    let args = Args::parse(generator.params, settings).map_err(fail)?;
    let mut workload = (generator.build)(&args);
    workload.name = generator.name.to_string();
    workload.origin = args.spec(generator.name);
    // Each parameter is bounded, but the product of several may still be too large.
    let problems = workload.validate();
    match problems.is_empty() {
        true => Ok(workload),
        false => Err(Error::Invalid { origin: workload.origin, problems }),
    }
}

fn unknown_generator(name: &str) -> String {
    use std::fmt::Write;
    let mut text =
        "it is neither a generator, nor a recorded program, nor the path of a .json file".to_string();
    let recorded = recorded().iter().map(|recorded| recorded.name.as_str());
    if let Some(near) =
        hearth_base::suggest::closest(name, generators().iter().map(|g| g.name).chain(recorded))
    {
        let _ = write!(text, "; did you mean `{near}`?");
    }
    text.push_str("\ngenerators:");
    for generator in generators() {
        let _ = write!(text, "\n  {:<18} {}", generator.name, generator.summary);
    }
    text.push_str("\n`hearth list workloads` has them with their parameters, and the recorded programs");
    text
}

#[cfg(test)]
mod tests;
