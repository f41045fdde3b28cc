use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::{policy, progress};
use hearth_conform::{Report, replay};
use hearth_scx::log::{Ending, Reader, hash};
use hearth_sim::Native;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

/// Compare each decision in the kernel with the simulator's
///
/// Replays the log of `hearth run --log` or `hearth exec --log` in the simulator's build of the same policy: calls each handler
/// with its inputs in the kernel, and compares its decisions, the queues and sets, and the policy's state. Exits with 1 if
/// anything differs.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth conform nest.log",
    "hearth conform mine.log --policy mine.ipa",
]))]
pub struct Args {
    /// The log
    #[arg(value_name = "FILE.log")]
    log: PathBuf,

    /// The .ipa file of the policy, if it is not a built-in policy
    #[arg(long, value_name = "FILE.ipa")]
    policy: Option<String>,

    /// Print JSON (schema hearth.conform/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    handlers_total: u64,
    decisions_total: u64,
    #[serde(flatten)]
    report: &'a Report,
}

impl Args {
    pub fn run(self) -> Outcome {
        let wrong =
            |error: &dyn std::fmt::Display| Failure::new(format_args!("{}: {error}", self.log.display()));
        let file = File::open(&self.log).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
        let log = Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| wrong(&error))?;
        let name = self.policy.as_deref().unwrap_or(&log.header.policy);
        let policy = policy::load(name)?;
        if hash(&policy.c()) != log.header.c {
            eprintln!("warning: the log is of another version of policy {}", log.header.policy);
        }
        let policy = Native::build(policy)?;
        let report =
            progress::meanwhile("replaying", || replay(log, &policy)).map_err(|error| wrong(&error))?;
        let (handlers_total, decisions_total) = (report.handlers(), report.decisions());
        let content = Json { handlers_total, decisions_total, report: &report };
        let document = Document { schema: "hearth.conform/1", content };
        let shown = output::print(self.json, &document, || text(&report))?;
        if report.agrees() { Ok(shown) } else { Err(Failure::quiet()) }
    }
}

fn text(report: &Report) -> String {
    let ending = match report.ending {
        Ending::Whole => "the log is complete",
        Ending::Truncated => "the log ends before the run did; compared up to its end",
        Ending::Lost => "records were lost; compared up to the first lost record",
        Ending::Torn => "handlers overlapped, so that the log is unusable",
    };
    let mut text = format!(
        "{} on Linux {}, {} cores: {} handlers and {} decisions compared, {} handlers disagree\n  \
         handlers:  {}\n  decisions: {}\n  {} threads; {} reads of queued threads\n  {ending}\n",
        report.policy,
        report.kernel,
        report.cores,
        report.handlers(),
        report.decisions(),
        report.disagreements,
        list(&report.handlers),
        list(&report.decisions),
        report.threads,
        report.visits
    );
    for d in &report.first {
        let thread = if d.thread == 0 { String::new() } else { format!("thread {}, ", d.thread) };
        text += &format!(
            "disagreement in handler {} (record {}), {} of {thread}core {}, at {} ns:\n  kernel: {}\n  native: {}\n",
            d.handler, d.record, d.event, d.core, d.now, d.kernel, d.native
        );
    }
    text
}

fn list(counts: &BTreeMap<&str, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
