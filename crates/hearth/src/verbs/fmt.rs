use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::{output, policy};
use hearth_ipanema::{SourceId, syntax};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Format policy files
///
/// Rewrites the files in place; `-` formats standard input to standard output. A file with syntax errors stays as it is.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth fmt mine.ipa",
    "hearth fmt --check policies/*.ipa",
]))]
pub struct Args {
    /// The policy files, or `-`
    #[arg(required = true, value_name = "FILE.ipa")]
    policies: Vec<PathBuf>,
    /// Write nothing; list the files that are not formatted, and exit with 1 if there are any
    #[arg(long)]
    check: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        let mut different = Vec::new();
        for path in &self.policies {
            let dash = output::is_dash(path);
            let text = output::read("the policy", if dash { Path::new("/dev/stdin") } else { path })?;
            let formatted = format(path, &text)?;
            if self.check {
                different.extend((formatted != text).then(|| path.display().to_string()));
            } else if dash || formatted != text {
                output::file(path, formatted.as_bytes())?;
            }
        }
        if different.is_empty() {
            return Ok(ExitCode::SUCCESS);
        }
        Err(Failure::new(format_args!("not formatted: {}", different.join(", ")))
            .help(format_args!("run: hearth fmt {}", different.join(" "))))
    }
}

fn format(path: &Path, text: &str) -> Result<String, Failure> {
    syntax::format(SourceId::default(), text).or_else(|diagnostics| {
        policy::syntax_errors(&path.display().to_string(), text, &diagnostics)?;
        Err(Failure::new(format_args!("{} cannot be formatted", path.display())))
    })
}
