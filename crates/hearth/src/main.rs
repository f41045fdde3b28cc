//! The command line of Hearth: reads arguments, calls the crate that does the work, and prints the result.

/// Prints text on standard error. Unlike std's macro, it does not panic if nobody reads: `hearth ... 2>&1 | head`.
macro_rules! eprint {
    ($($argument:tt)*) => { $crate::output::error(&std::fmt::format(format_args!($($argument)*))) };
}

macro_rules! eprintln {
    ($($argument:tt)*) => { eprint!("{}\n", format_args!($($argument)*)) };
}

#[cfg(test)]
mod advice;
mod arguments;
mod cli;
mod combinations;
mod failure;
mod here;
mod live;
mod metrics;
mod observer;
mod output;
mod place;
mod policy;
mod prediction;
mod progress;
mod provenance;
mod recording;
mod replay;
mod table;
mod verbs;

use std::process::ExitCode;

fn main() -> ExitCode {
    failure::install_panic_hook();
    cli::Cli::read().and_then(cli::Cli::run).unwrap_or_else(|failure| failure.report())
}
