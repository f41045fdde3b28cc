//! The command line of Hearth: reads arguments, calls the crate that does the work, and prints the result.

mod arguments;
mod cli;
mod combinations;
mod failure;
mod here;
mod live;
mod output;
mod policy;
mod prediction;
mod progress;
mod provenance;
mod recording;
mod replay;
mod table;
mod verbs;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    failure::install_panic_hook();
    cli::Cli::parse().run().unwrap_or_else(|failure| failure.report())
}
