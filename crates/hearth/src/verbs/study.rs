mod sweep;

use crate::failure::Outcome;

/// Simulate many applications under many policies, into one table
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(clap::Subcommand)]
enum Verb {
    Run(Box<sweep::Args>),
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.verb {
            Verb::Run(args) => args.run(),
        }
    }
}
