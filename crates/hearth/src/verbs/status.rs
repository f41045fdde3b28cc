use crate::failure::{Failure, Outcome};
use crate::output;
use crate::table::{Plain, number};
use hearth_probe::sysfs::show_list;
use hearth_scx::client::Client;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::{SCHEMAS, Statistics};
use serde::Serialize;
use std::process::ExitCode;
use std::time::Duration;

/// Show the policy that runs in the kernel: its parameters, what it did since it was loaded, and its sets of cores
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON (schema hearth.status/1) instead of a table
    #[arg(long)]
    json: bool,
    /// Say what each statistic means, and nothing else
    #[arg(long, conflicts_with = "json")]
    explain: bool,
}

/// The document of `--json`, documented in docs/src/json.md. Field names stay; new ones may come.
#[derive(Serialize)]
struct Document {
    schema: &'static str,
    info: Info,
    statistics: Statistics,
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.explain {
            output::text(&explain())?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut client = Client::of_this_machine()?;
        let info = client.info()?;
        let statistics = client.statistics().map_err(Failure::from)?;
        if self.json {
            output::json(&Document { schema: "hearth.status/1", info, statistics })?;
        } else {
            output::text(&text(&info, &statistics))?;
        }
        Ok(ExitCode::SUCCESS)
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
        "{} schedules {scope}, for {} now, on {} cores (Linux {}, process {})\n",
        info.policy,
        humantime::format_duration(seconds),
        s.cores_online,
        info.kernel,
        info.pid,
    );
    if let Some(path) = &info.recording {
        text += &format!("recording to {path}; {} records lost\n", s.lost);
    }
    text += &format!("frequencies: {}\n\n", info.frequency);
    text += &parameters(info);
    text += &counts(s);
    text += &sets(info);
    text
}

/// The parameters that are not what the policy says, if any.
fn parameters(info: &Info) -> String {
    let changed: Vec<String> = (info.params.iter())
        .filter(|param| param.value != param.initial)
        .map(|param| format!("{}={}", param.name, param.shown))
        .collect();
    let all = info.params.iter().map(|param| format!("{}={}", param.name, param.shown)).collect::<Vec<_>>();
    let changed = if changed.is_empty() { "all as the policy says".into() } else { changed.join(" ") };
    format!("parameters: {}\n   changed: {changed}\n\n", all.join(" "))
}

/// Work of all cores, as a count and per second.
fn counts(s: &Statistics) -> String {
    let seconds = s.uptime_ns as f64 / 1e9;
    let mut table = Plain::new(1);
    table.head(&["", "count", "per s"]);
    let mut row = |name: String, count: u64| {
        let rate = if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
        table.row(&[name, count.to_string(), number(rate)]);
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
        ("underload", s.underload),
        ("bypassed the policy", s.bypassed),
        ("moves that came too late", s.moves_failed),
    ] {
        row(name.into(), count);
    }
    let mut text = table.render();
    text += &format!(
        "\n{}{} cores are used in 4 ms; {} threads, {} of them runnable\n\
         cores are idle {} % of the time, and kept warm {} %\n",
        match s.place_runs {
            0 => String::new(),
            _ => format!("a placement takes {} ns; ", number(s.place_mean_ns)),
        },
        number(s.cores_used),
        s.threads,
        s.runnable,
        number(s.idle_percent),
        number(s.spin_percent),
    );
    if s.no_slot > 0 {
        text += &format!(
            "{} threads found no room in the policy: the kernel's global queue runs them\n",
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
