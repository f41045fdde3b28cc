use crate::arguments::{examples, or_stdin};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use hearth_ipanema::diagnostic::render_all;
use hearth_policy::Error;
use serde::Serialize;
use serde_json::Value;
use std::process::ExitCode;

/// Check policies: syntax, types, units, transitions, termination
///
/// Prints errors and warnings with their place in the file. Exits with 1 if any policy has an error.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth check mine.ipa",
    "hearth check policies/*.ipa --quiet",
]))]
pub struct Args {
    /// Policies: paths of .ipa files, or names of built-in policies
    #[arg(required = true, value_name = "POLICY", value_parser = or_stdin)]
    policies: Vec<String>,
    /// Print JSON (schema hearth.check/1) instead of text
    #[arg(long)]
    json: bool,
    /// Do not print the verdict on sound policies
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Serialize)]
struct Checked {
    files: Vec<CheckedFile>,
}

#[derive(Serialize)]
struct CheckedFile {
    path: String,
    /// The policy's name; `None` if it does not compile.
    policy: Option<String>,
    diagnostics: Vec<Value>,
    /// Why a thread that is placed on an idle core waits in a queue until the core chooses it; `None` if it runs at once.
    queued_because: Option<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let colour = output::has_colours(&std::io::stdout());
        let mut sound = true;
        let mut files = Vec::new();
        for path in &self.policies {
            let loaded = hearth_policy::load(path);
            let (name, diagnostics, sources) = match &loaded {
                Ok(policy) => (Some(policy.name()), policy.warnings(), policy.sources()),
                Err(Error::Rejected(failed)) => (None, &*failed.diagnostics, &failed.sources),
                Err(_) => return Err(loaded.map_or_else(Failure::from, |_| Failure::quiet())),
            };
            sound &= loaded.is_ok();
            let queued = loaded.as_ref().ok().and_then(|policy| policy.runs_first().err());
            if self.json {
                let diagnostics: Vec<Value> = diagnostics.iter().map(|d| d.to_json(sources)).collect();
                let policy = name.map(str::to_owned);
                files.push(CheckedFile { path: path.clone(), policy, diagnostics, queued_because: queued });
                continue;
            }
            let errors = diagnostics.iter().filter(|d| d.is_error()).count();
            let verdict = match (name, diagnostics.len() - errors) {
                (Some(_), _) if self.quiet => String::new(),
                (Some(name), 0) => format!("{path}: policy `{name}` is sound\n"),
                (Some(name), n) => {
                    format!("{path}: policy `{name}` is sound, with {}\n", count(n, "warning"))
                }
                (None, _) => format!("{path}: {}\n", count(errors, "error")),
            };
            output::diagnostics(&render_all(diagnostics, sources, colour))?;
            output::text(&verdict)?;
            if let Some(why) = queued.filter(|_| !self.quiet) {
                output::text(&format!(
                    "  in a kernel, a thread that is placed on an idle core waits in its queue first, because {why}\n"
                ))?;
            }
        }
        if self.json {
            output::json(&Document { schema: "hearth.check/1", content: Checked { files } })?;
        }
        if sound { Ok(ExitCode::SUCCESS) } else { Err(Failure::quiet()) }
    }
}
