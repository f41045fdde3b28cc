//! The command line: its verbs. Each verb's flags stand in its own module.

use crate::failure::Outcome;
use crate::verbs::{build, check, fmt, list, predict, record, report, reproduce, sim};
use clap::{Parser, Subcommand};

/// Keeps work on warm cores: write a scheduler once; predict, on any machine, what it would do for a workload.
#[derive(Parser)]
#[command(name = "hearth", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Record(record::Args),
    Report(report::Args),
    Predict(predict::Args),
    Sim(sim::Args),
    Reproduce(reproduce::Args),
    Check(check::Args),
    Build(build::Args),
    Fmt(fmt::Args),
    List(list::Args),
}

impl Cli {
    pub fn run(self) -> Outcome {
        match self.verb {
            Verb::Record(args) => args.run(),
            Verb::Report(args) => args.run(),
            Verb::Predict(args) => args.run(),
            Verb::Sim(args) => args.run(),
            Verb::Reproduce(args) => args.run(),
            Verb::Check(args) => args.run(),
            Verb::Build(args) => args.run(),
            Verb::Fmt(args) => args.run(),
            Verb::List(args) => args.run(),
        }
    }
}
