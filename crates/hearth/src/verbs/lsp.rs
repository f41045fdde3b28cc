use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use std::io::{BufReader, stdin, stdout};
use std::process::ExitCode;

/// Serve editors: diagnostics, hover, renaming, simulations
///
/// Speaks the Language Server Protocol on standard input and output. The editor starts it; `editors/README.md` says how.
#[derive(clap::Args)]
#[command(after_help = examples(&["hearth lsp", "hearth lsp --stdio"]))]
pub struct Args {
    /// Speak on standard input and output: the default, which some editors name
    #[arg(long)]
    stdio: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let clean = hearth_lsp::serve(BufReader::new(stdin()), stdout()).map_err(|error| {
            Failure::new(format_args!("the editor's messages cannot be read or answered: {error}"))
        })?;
        // As the protocol wants it.
        Ok(if clean { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}
