use crate::arguments::examples;
use crate::failure::Outcome;
use hearth_scx::client::Client;
use hearth_scx::session::wait_until_gone;
use std::process::ExitCode;

/// Stop the policy that runs in the kernel
///
/// Returns when the kernel's own scheduler has taken over. Needs root.
#[derive(clap::Args)]
#[command(after_help = examples(&["sudo hearth stop"]))]
pub struct Args {}

impl Args {
    pub fn run(self) -> Outcome {
        let mut client = Client::of_this_machine()?;
        let policy = client.loaded_info()?.policy;
        client.stop()?;
        wait_until_gone(&policy)?;
        eprintln!("hearth: {policy} stopped");
        Ok(ExitCode::SUCCESS)
    }
}
