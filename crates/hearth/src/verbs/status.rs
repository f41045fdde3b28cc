mod monitor;

use crate::arguments::{examples, time};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use crate::table::{Plain, number};
use hearth_host::sysfs::show_list;
use hearth_scx::client::Client;
use hearth_scx::metrics;
use hearth_scx::protocol::{Info, ParamInfo};
use hearth_scx::statistics::{Difference, SCHEMAS, Statistics};
use serde::Serialize;
use std::time::Duration;

/// Show the policy that runs in the kernel
///
/// Prints its parameters, its statistics since it was loaded (as counts and per second), and its sets of
/// cores. With --monitor, prints a line of rates for each interval until the policy ends.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth status --explain",
    "hearth status --monitor 5",
    "hearth status --metrics",
]))]
pub struct Args {
    /// Print JSON (schema hearth.status/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Print a line with rates for each interval of SECS seconds; with --json, the counters so far
    #[arg(short, long, value_name = "SECS", value_parser = time)]
    monitor: Option<Duration>,
    /// Print metrics in Prometheus' text format instead
    #[arg(long, conflicts_with_all = ["json", "monitor"])]
    metrics: bool,
    /// Print the unit and meaning of each statistic instead
    #[arg(long, conflicts_with_all = ["json", "monitor", "metrics"])]
    explain: bool,
}

#[derive(Serialize)]
struct Status {
    info: Info,
    statistics: Statistics,
}

fn read(client: &mut Client) -> Result<Status, Failure> {
    Ok(Status { info: client.info()?, statistics: client.statistics()? })
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.explain {
            return output::text(&explain());
        }
        let mut client = Client::of_this_machine()?;
        if let Some(interval) = self.monitor {
            return monitor::run(client, interval, self.json);
        }
        if self.metrics {
            let Status { info, statistics } = read(&mut client)?;
            return output::raw(metrics::text(&info, &statistics).as_bytes());
        }
        let document = Document { schema: "hearth.status/1", content: read(&mut client)? };
        output::print(self.json, &document, || text(&document.content.info, &document.content.statistics))
    }
}

fn explain() -> String {
    let mut text = String::new();
    for schema in &SCHEMAS {
        let mut table = Plain::new(3);
        for field in schema.fields {
            table.row(&[field.name, field.unit, field.doc.trim()]);
        }
        text += &format!("{}: {}\n\n{}\n", schema.name, schema.doc.trim(), table.render());
    }
    text
}

fn text(info: &Info, s: &Statistics) -> String {
    let seconds = Duration::from_secs(s.uptime_ns / 1_000_000_000);
    let scope = match info.scope.as_str() {
        "system" => "the system",
        "command" => "a command and its children",
        scope => scope,
    };
    let mut text = format!(
        "{} schedules {scope}, for {} now, on {} (Linux {}, process {})\n",
        info.policy,
        humantime::format_duration(seconds),
        count(s.cores_online, "core"),
        info.kernel,
        info.pid,
    );
    if let Some(path) = &info.recording {
        text += &format!("recording to {path}\n");
    }
    text += &format!("frequencies: {}\n\n", info.frequency);
    text += &parameters(info);
    text += &counts(s);
    text += &sets(info);
    text
}

/// All parameters, and those that differ from the policy's defaults.
fn parameters(info: &Info) -> String {
    let list = |wanted: fn(&&ParamInfo) -> bool| {
        let params = info.params.iter().filter(wanted);
        params.map(|param| format!("{}={}", param.name, param.shown)).collect::<Vec<_>>().join(" ")
    };
    let changed = list(|param| param.value != param.initial);
    let changed = if changed.is_empty() { "none" } else { &changed };
    format!("parameters: {}\n   changed: {changed}\n\n", list(|_| true))
}

/// The statistics, as counts and per second.
fn counts(s: &Statistics) -> String {
    let seconds = Difference::new(None, s).seconds();
    let mut table = Plain::new(1);
    table.head(&["", "count", "per s"]);
    let mut row = |name: String, count: u64| {
        table.row(&[name, count.to_string(), number(count as f64 / seconds)]);
    };
    let placed: u64 = s.placements.values().sum();
    row("placements".into(), placed);
    for (reason, count) in &s.placements {
        row(format!("  {reason}"), *count);
    }
    for (name, count) in [
        ("new threads", s.news),
        ("wake-ups", s.wakeups),
        ("switches", s.switches),
        ("migrations", s.migrations),
        ("steals", s.steals),
        ("preemptions", s.preemptions),
        ("timers armed", s.timers_armed),
        ("timers fired", s.timers_fired),
        ("timers that moved a thread", s.timers_moved),
        ("claims lost", s.claims_lost),
        ("times idle", s.idles),
        ("times kept warm", s.spins),
        ("bypassed the policy", s.bypassed),
        ("throttled by cpu.max", s.throttled),
        ("failed moves", s.moves_failed),
        ("refused moves", s.moves_refused),
    ] {
        row(name.into(), count);
    }
    let mut text = table.render();
    text += &format!(
        "\n{}{}{} threads, {} of them runnable\n\
         cores are idle {} % of the time, and kept warm {} %\n",
        match s.place_runs {
            0 => String::new(),
            _ => format!("placement: {} ns; ", number(s.place_mean_ns)),
        },
        match s.intervals {
            0 => String::new(),
            _ => format!(
                "{} cores used per 4 ms on average; {} underload per second; ",
                number(s.cores_used),
                number(s.underload_per_s)
            ),
        },
        s.threads,
        s.runnable,
        number(s.idle_percent),
        number(s.spin_percent),
    );
    if s.no_slot > 0 {
        text += &format!(
            "{} threads exceeded the policy's capacity and run from the kernel's global queue\n",
            s.no_slot
        );
    }
    text
}

fn sets(info: &Info) -> String {
    let mut text = String::new();
    for set in &info.sets {
        let most = set.most.map_or_else(String::new, |most| format!(" of at most {most}"));
        let members = match set.members.as_slice() {
            [] => "no core".to_owned(),
            members => show_list(members),
        };
        text += &format!("{}: {}{most} ({members})\n", set.name, set.members.len());
    }
    if text.is_empty() { text } else { format!("\n{text}") }
}
