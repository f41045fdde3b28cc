use crate::failure::{Failure, Outcome};
use crate::{output, policy};
use hearth_conform::{Report, replay};
use hearth_scx::log::{Ending, Reader, hash};
use hearth_sim::Native;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;
use std::process::ExitCode;

/// Repeat a run of the kernel with the simulator's build of the same policy, and compare every decision
///
/// `hearth run --log` and `hearth exec --log` write the log. Each handler is called again with what it saw in the
/// kernel; what it decides, what becomes of the queues and sets, and the policy's own state must be the same. Exits
/// with 1 if anything is not.
#[derive(clap::Args)]
pub struct Args {
    #[arg(value_name = "FILE.log")]
    log: PathBuf,

    /// The policy that the log is of, if it is not a built-in one: the path of its .ipa file
    #[arg(long, value_name = "FILE.ipa")]
    policy: Option<String>,

    /// Print JSON (schema hearth.conform/1) instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    schema: &'static str,
    handlers_total: u64,
    decisions_total: u64,
    #[serde(flatten)]
    report: &'a Report,
}

impl Args {
    pub fn run(self) -> Outcome {
        let wrong =
            |error: &dyn std::fmt::Display| Failure::new(format_args!("{}: {error}", self.log.display()));
        let file = File::open(&self.log).map_err(|error| wrong(&format!("it cannot be read: {error}")))?;
        let log = Reader::new(BufReader::with_capacity(1 << 20, file)).map_err(|error| wrong(&error))?;
        let name = self.policy.as_deref().unwrap_or(&log.header.policy);
        let policy = policy::load(name)?;
        if hash(&policy.c()) != log.header.c {
            eprintln!("warning: the log was made with another version of policy {}", log.header.policy);
        }
        let report = replay(log, &Native::build(policy)?).map_err(|error| wrong(&error))?;
        if self.json {
            let (handlers_total, decisions_total) = (report.handlers(), report.decisions());
            output::json(&Json {
                schema: "hearth.conform/1",
                handlers_total,
                decisions_total,
                report: &report,
            })?;
        } else {
            output::text(&text(&report))?;
        }
        if report.agrees() { Ok(ExitCode::SUCCESS) } else { Err(Failure::quiet()) }
    }
}

fn text(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} on Linux {}, {} cores: {} handlers and {} decisions compared, {} handlers disagree",
        report.policy,
        report.kernel,
        report.cores,
        report.handlers(),
        report.decisions(),
        report.disagreements
    );
    let _ = writeln!(text, "  handlers:  {}", list(&report.handlers));
    let _ = writeln!(text, "  decisions: {}", list(&report.decisions));
    let (threads, visits) = (report.threads, report.visits);
    let _ = writeln!(text, "  {threads} threads; {visits} looks at a thread in a queue");
    let ending = match report.ending {
        Ending::Whole => "the log is whole",
        Ending::Truncated => "the log ends before the run did: compared up to there",
        Ending::Lost => "records were lost: compared up to the first of them",
        Ending::Torn => "handlers did not wait for one another: the log is worth nothing",
    };
    let _ = writeln!(text, "  {ending}");
    for d in &report.first {
        let about = if d.thread == 0 {
            format!("core {}", d.core)
        } else {
            format!("thread {}, core {}", d.thread, d.core)
        };
        let _ = writeln!(
            text,
            "disagreement in handler {} (record {}), {} of {about}, at {} ns:",
            d.handler, d.record, d.event, d.now
        );
        let _ = writeln!(text, "  kernel: {}\n  native: {}", d.kernel, d.native);
    }
    text
}

fn list(counts: &BTreeMap<&str, u64>) -> String {
    counts.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
}
