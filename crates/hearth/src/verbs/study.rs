mod learn;
mod report;
mod search;
mod sweep;

use crate::failure::Outcome;
use clap::Subcommand;

/// Simulate many applications under many policies, and find the features of a scheduler that matter for each
#[derive(clap::Args)]
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
