use crate::arguments::{examples, time};
use crate::failure::{Failure, Outcome};
use crate::metrics::Exporter;
use crate::observer;
use crate::output::{self, count};
use crate::place;
use crate::policy::PolicyArgs;
use hearth_policy::{Assignment, Settings};
use hearth_scx::frequency::Source;
use hearth_scx::limits::{Limit, Slow};
use hearth_scx::object::Purpose;
use hearth_scx::protocol::SOCKET;
use hearth_scx::{Ended, Options, Partial, Session, Summary};
use sd_notify::NotifyState;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Run a policy in the kernel, for the whole system or for a cgroup
///
/// The policy schedules until this process ends: by Ctrl-C, SIGTERM, `hearth stop`, or another `hearth run
/// --replace`. On any error, or if this process is killed, the kernel's own scheduler takes over. Needs root
/// and a kernel with sched_ext.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "sudo hearth run nest",
    "sudo hearth run nest:s_max=1tick --record day.trace",
]))]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Schedule only the threads of this cgroup and of its descendants, including threads that enter later
    #[arg(long, value_name = "PATH")]
    cgroup: Option<PathBuf>,

    /// Replace a policy of Hearth that runs already
    #[arg(long)]
    replace: bool,

    /// Set a parameter while the machine's power profile saves power, and reset it afterwards: `s_max=0ms` keeps Nest from
    /// spinning then. Repeatable
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "log")]
    power_save: Vec<Assignment>,

    /// Write metrics for Prometheus to this file every 5 seconds, and remove it at the end. node_exporter reads it if its name ends
    /// in .prom and it is in the folder of the textfile collector
    #[arg(long, value_name = "FILE.prom")]
    metrics: Option<PathBuf>,

    #[command(flatten)]
    common: Common,
}

/// The flags that `run` and `exec` share.
#[derive(clap::Args)]
pub struct Common {
    /// Source of the core frequencies that the policy sees: kernel, unknown (all cores count as fast), slow (all count as
    /// slow), or model:MACHINE or model:MACHINE:GOVERNOR [default: kernel if this machine reports frequencies, otherwise
    /// unknown]
    #[arg(long, value_name = "SOURCE", default_value = "auto", hide_default_value = true)]
    frequency: Source,

    /// Record a trace of all events and decisions
    #[arg(long, value_name = "FILE.trace")]
    record: Option<PathBuf>,

    /// Log each handler of the policy with its inputs, for `hearth conform`. Handlers then run one at a time,
    /// which is slower
    #[arg(long, value_name = "FILE.log", conflicts_with = "record")]
    log: Option<PathBuf>,

    /// Count underload, for which all cores write the same words at each wake-up
    #[arg(long)]
    underload: bool,

    /// Measure the time of placements, which costs a little time at each operation of the policy
    #[arg(long)]
    cost: bool,

    /// Eject the policy if a ready thread waits longer than this: 1ms to 30s [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = watchdog)]
    watchdog: Option<Duration>,
}

impl Common {
    pub fn purpose(&self) -> Purpose {
        if self.log.is_some() { Purpose::Log } else { Purpose::Run }
    }

    pub fn options(self, params: Settings) -> Result<Options, Failure> {
        self.record.as_deref().map_or(Ok(()), output::check_recording)?;
        self.log.as_deref().map_or(Ok(()), output::check_writable)?;
        Ok(Options {
            params,
            frequency: self.frequency,
            record: self.record.map(observer::record),
            log: self.log,
            underload: self.underload,
            cost: self.cost,
            watchdog: self.watchdog,
            restarted: Some(|cores| {
                eprintln!(
                    "hearth: the set of online cores changed; the policy starts again, on {}",
                    count(cores, "core")
                );
            }),
            ..Options::default()
        })
    }
}

impl Args {
    /// The policy that it loads, and the variant of its object.
    pub fn loads(&self) -> (&str, Purpose) {
        (self.policy.source(), self.common.purpose())
    }

    pub fn run(self) -> Outcome {
        let (policy, params) = self.policy.load()?;
        self.metrics.as_deref().map_or(Ok(()), output::check_writable)?;
        let name = policy.name().to_owned();
        let values = self.power_save.iter().map(|param| policy.parse_value(&param.name, &param.value));
        let power_save = values.collect::<Result<_, _>>().map_err(|error| Failure::from(error).status(2))?;
        let options = Options {
            power_save,
            partial: self.cgroup.map(Partial::Cgroup),
            replace: self.replace,
            ..self.common.options(params)?
        };
        let mut session = Session::start(policy, options)?;
        let metrics = self.metrics.map(|path| Exporter::start(path, session.reader())).transpose()?;
        eprintln!("hearth: {name} is running; {}", place::of_policy());
        warn(&session, &name);
        if session.misses_socket() {
            eprintln!(
                "warning: `hearth status`, `set` and `stop` cannot connect: this user may not make {SOCKET}\n  help: end the \
                 policy with Ctrl-C or a signal, or let root make the folder and give it to this user"
            );
        }
        if session.misses_power_profile() {
            eprintln!("warning: this machine has no power profile, so `--power-save` has no effect");
        }
        warn_of_limits(&session.ignored_limits(), &name);
        session.slow_cgroups().first().inspect(|slow| warn_of_watchdog(slow));
        notify(&[NotifyState::Ready, NotifyState::Status(&format!("{name} schedules"))]);
        let ended = session.wait();
        notify(&[NotifyState::Stopping]);
        drop(metrics);
        let summary = session.finish();
        let ended = ended?;
        tell(&summary?);
        match ended {
            Ended::Asked => eprintln!("hearth: {name} stopped on request"),
            Ended::Signal(_) => eprintln!("hearth: {name} stopped"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Warns if the policy uses frequencies that this machine does not report.
pub fn warn(session: &Session, policy: &str) {
    if session.misses_frequencies() {
        eprintln!(
            "warning: {policy} uses core frequencies, but this machine reports none: all cores count as fast\n  \
             help: simulate frequencies with `--frequency model:MACHINE` (`hearth list machines`), or accept this \
             with `--frequency unknown`"
        );
    }
}

/// Limits that a warning names.
const SHOWN_LIMITS: usize = 3;

/// Warns of limits of cgroups.
fn warn_of_limits(limits: &[Limit], policy: &str) {
    if limits.is_empty() {
        return;
    }
    let mut shown: Vec<String> = limits.iter().take(SHOWN_LIMITS).map(Limit::to_string).collect();
    if limits.len() > SHOWN_LIMITS {
        shown.push(format!("and {} more", limits.len() - SHOWN_LIMITS));
    }
    eprintln!(
        "warning: {policy} does not respect these limits of cgroups: {}\n  help: schedule only cgroups without them, with \
         `--cgroup PATH`, or accept this",
        shown.join("; ")
    );
}

/// Warns of a cgroup whose threads may wait longer than the watchdog allows.
fn warn_of_watchdog(slow: &Slow) {
    let seconds = slow.round.as_secs_f64();
    eprintln!(
        "warning: the quota of a cgroup ({}) may let one of its {} wait for {seconds:.1} s, and the watchdog would end the \
         policy\n  help: give a longer `--watchdog`, at most 30s, or the cgroup a larger quota",
        slow.limit,
        count(slow.threads, "thread")
    );
}

/// Tells the service manager, if it waits for that (`Type=notify`).
fn notify(state: &[NotifyState]) {
    if let Err(error) = sd_notify::notify(state) {
        eprintln!("warning: cannot notify the service manager: {error}");
    }
}

/// Prints what was recorded.
pub fn tell(summary: &Summary) {
    if let Some(logged) = &summary.logged {
        let lost = match logged.lost {
            0 => String::new(),
            lost => format!("; {} lost, and the log is usable up to there", count(lost, "record")),
        };
        let torn = if logged.torn == 0 { "" } else { "; handlers overlapped, so that the log is unusable" };
        eprintln!("hearth: {} in {}{lost}{torn}", count(logged.records, "record"), logged.path.display());
    }
    if let Some(recorded) = &summary.recorded {
        let lost = match recorded.lost {
            0 => String::new(),
            lost => format!("; {} lost", count(lost, "event")),
        };
        let (events, threads) = (count(recorded.events, "event"), count(recorded.threads, "thread"));
        eprintln!("hearth: {events} of {threads} in {}{lost}", recorded.path.display());
    }
}

fn watchdog(text: &str) -> Result<Duration, String> {
    let time = time(text)?;
    let allowed = Duration::from_millis(1)..=Duration::from_secs(30);
    if allowed.contains(&time) { Ok(time) } else { Err("must be between 1ms and 30s".into()) }
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
