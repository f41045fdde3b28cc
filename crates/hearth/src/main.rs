//! The command line of Hearth. Thin: a verb reads its flags, calls the crate that does the work, and prints.

mod cli;
mod combinations;
mod failure;
mod output;
mod policy;
mod prediction;
mod progress;
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
