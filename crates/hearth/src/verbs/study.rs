mod learn;
mod report;
mod search;
mod sweep;

use crate::arguments::examples;
use crate::failure::Outcome;
use clap::Subcommand;

/// Simulate many policies, and find the features that matter
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth study run -w zstd-10-16 -m xeon-e5645 --products family -o family.parquet",
    "hearth study report family.parquet",
]))]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Run(Box<sweep::Args>),
    Report(report::Args),
    Learn(learn::Args),
    Search(search::Args),
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.verb {
            Verb::Run(args) => args.run(),
            Verb::Report(args) => args.run(),
            Verb::Learn(args) => args.run(),
            Verb::Search(args) => args.run(),
        }
    }
}
