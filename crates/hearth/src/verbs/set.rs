use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use hearth_policy::Assignment;
use hearth_scx::client::Client;
use std::process::ExitCode;

/// Change parameters of the policy that runs in the kernel
///
/// A new value applies from the next decision until the policy stops. It must be within the bounds that the
/// policy declares. If the limit of a set of cores shrinks below its size, the set shrinks as cores leave it.
/// Needs root.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth set s_max=1tick",
    "sudo hearth set attachment=false r_max=3",
]))]
pub struct Args {
    /// Parameters and their new values: `s_max=4ticks`, `attachment=false`
    #[arg(value_name = "NAME=VALUE", required = true)]
    params: Vec<Assignment>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut client = Client::of_this_machine()?;
        let policy = client.info()?.policy;
        for Assignment { name, value } in &self.params {
            let changed = client.set(name, value).map_err(|error| {
                Failure::from(error).help(format_args!("`hearth status` shows the parameters of {policy}"))
            })?;
            let note = changed.note.map_or_else(String::new, |note| format!(" ({note})"));
            println!("{policy}: {} was {}, is {}{note}", changed.name, changed.old, changed.new);
        }
        Ok(ExitCode::SUCCESS)
    }
}
