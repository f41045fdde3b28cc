use crate::failure::{Failure, Outcome};
use hearth_policy::Assignment;
use hearth_scx::client::Client;
use std::process::ExitCode;

/// Change parameters of the policy that runs in the kernel
///
/// They hold from the next decision on, until the policy stops; bounds are those that the policy declares. A set
/// of cores whose limit becomes smaller may have more members until cores leave it. Needs root.
#[derive(clap::Args)]
pub struct Args {
    /// `s_max=4ticks`, `attachment=false`. Repeatable
    #[arg(value_name = "NAME=VALUE", required = true)]
    params: Vec<Assignment>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut client = Client::of_this_machine()?;
        let policy = client.info()?.policy;
        for Assignment { name, value } in &self.params {
            let changed = client.set(name, value).map_err(|error| {
                let known = Failure::from(error);
                known.help(format_args!("`hearth status` shows the parameters of {policy}"))
            })?;
            let note = changed.note.map_or_else(String::new, |note| format!(" ({note})"));
            println!("{policy}: {} was {}, is {}{note}", changed.name, changed.old, changed.new);
        }
        Ok(ExitCode::SUCCESS)
    }
}
