use crate::failure::{Failure, Outcome};
use crate::output;
use crate::policy::PolicyArgs;
use hearth_policy::Settings;
use hearth_scx::frequency::Source;
use hearth_scx::{Ended, Options, Partial, Session, Summary};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a policy in the kernel, for the whole system or for a cgroup, until it is stopped
///
/// The policy is the scheduler until SIGINT or SIGTERM comes, `hearth stop` is called, another `hearth run
/// --replace` takes over, or the kernel ejects it; then the kernel's own scheduler goes on. Nothing remains if
/// this process is killed. Needs root, and a kernel with sched_ext.
#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Only for the threads of this cgroup, those below it, and all that enter later
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Take over from a policy of Hearth's that runs already
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    common: Common,
}

/// What `run` and `exec` have in common.
#[derive(clap::Args)]
pub struct Common {
    /// Where the policy's knowledge of frequencies comes from: kernel, unknown, or model:MACHINE[:GOVERNOR]
    /// [default: kernel if this machine has frequencies]
    #[arg(long, value_name = "SOURCE", default_value = "auto", hide_default_value = true)]
    frequency: Source,

    /// Write a trace of all events and decisions
    #[arg(long, value_name = "FILE.trace")]
    record: Option<PathBuf>,

    /// Write a log of every handler of the policy, with all that it saw, for `hearth conform`: handlers run one at a
    /// time, which costs
    #[arg(long, value_name = "FILE.log", conflicts_with = "record")]
    log: Option<PathBuf>,

    /// Do not watch for underload (a small cost at each wake-up)
    #[arg(long)]
    no_underload: bool,

    /// Have the kernel measure how long placements take (a small cost at each operation of the policy)
    #[arg(long)]
    cost: bool,

    /// Eject the policy if it lets a ready thread wait longer than this: 5s; at most 30s [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = watchdog)]
    watchdog: Option<Duration>,
}

impl Common {
    pub fn options(self, params: Settings) -> Result<Options, Failure> {
        self.record.as_deref().map_or(Ok(()), output::check_trace)?;
        self.log.as_deref().map_or(Ok(()), output::check_writable)?;
        Ok(Options {
            params,
            frequency: self.frequency,
            record: self.record,
            log: self.log,
            underload: !self.no_underload,
            cost: self.cost,
            watchdog: self.watchdog,
            reloaded: Some(|cores| {
                eprintln!("hearth: a core came or went; the policy is loaded again, for {cores} cores");
            }),
            ..Options::default()
        })
    }
}

impl Args {
    pub fn run(self) -> Outcome {
        let (policy, params) = self.policy.load()?;
        let name = policy.name().to_owned();
        let options = Options {
            partial: self.cgroup.map(Partial::Cgroup),
            replace: self.replace,
            ..self.common.options(params)?
        };
        let mut session = Session::start(policy, options)?;
        eprintln!(
            "hearth: {name} schedules; `hearth status` and `hearth top` show it, Ctrl-C or `hearth stop` ends it"
        );
        warn(&session, &name);
        let ended = session.wait();
        let summary = session.finish();
        let ended = ended?;
        tell(&summary?);
        match ended {
            Ended::Asked => eprintln!("hearth: {name} was asked to stop"),
            Ended::Signal(_) => eprintln!("hearth: {name} stopped"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Says what the user will want to know from the start.
pub fn warn(session: &Session, policy: &str) {
    if session.misses_frequencies() {
        eprintln!(
            "warning: {policy} looks at frequencies, and this machine does not show any: all cores count as slow\n  \
             help: `--frequency model:MACHINE` runs the model of a machine in their place (`hearth list machines`); \
             `--frequency unknown` leaves it so"
        );
    }
}

/// Says what was recorded.
pub fn tell(summary: &Summary) {
    if let Some(logged) = &summary.logged {
        let lost = match logged.lost {
            0 => String::new(),
            lost => format!("; {lost} records were lost, and it is good up to the first of them only"),
        };
        let torn = if logged.torn == 0 {
            ""
        } else {
            "; handlers did not wait for one another, so that it is worth nothing"
        };
        eprintln!("hearth: {} records in {}{lost}{torn}", logged.records, logged.path.display());
    }
    if let Some(recorded) = &summary.recorded {
        let lost = match recorded.lost {
            0 => String::new(),
            lost => format!("; {lost} events were lost"),
        };
        let (events, threads) = (recorded.events, recorded.threads);
        eprintln!("hearth: {events} events of {threads} threads in {}{lost}", recorded.path.display());
    }
}

fn watchdog(text: &str) -> Result<Duration, String> {
    let time = text.parse().map(Duration::from_secs);
    let time = time.or_else(|_| humantime::parse_duration(text)).map_err(|error| error.to_string())?;
    let allowed = Duration::from_millis(1)..=Duration::from_secs(30);
    if allowed.contains(&time) { Ok(time) } else { Err("the kernel allows 1ms to 30s".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_watchdog_has_bounds() {
        assert_eq!(watchdog("5"), Ok(Duration::from_secs(5)));
        assert_eq!(watchdog("200ms"), Ok(Duration::from_millis(200)));
        assert!(watchdog("31s").is_err() && watchdog("0").is_err() && watchdog("never").is_err());
    }
}
