//! `hearth status --monitor`: a line for each interval, as of vmstat.

use super::{Status, read};
use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::table::number;
use hearth_scx::client::Client;
use hearth_scx::statistics::{Difference, Statistics};
use std::io;
use std::time::{Duration, Instant};

/// A column: its title, and its value in an interval, if it was measured.
type Column = (&'static str, fn(&Difference) -> Option<f64>);

const COLUMNS: [Column; 10] = [
    ("placed/s", |d| Some(d.rate(|s| s.placements.values().sum()))),
    ("switch/s", |d| Some(d.rate(|s| s.switches))),
    ("migr/s", |d| Some(d.rate(|s| s.migrations))),
    ("steal/s", |d| Some(d.rate(|s| s.steals))),
    ("preempt/s", |d| Some(d.rate(|s| s.preemptions))),
    ("underload/s", |d| d.underload_per_s()),
    ("cores", |d| d.cores_used()),
    ("runnable", |d| Some(d.now().runnable as f64)),
    ("idle%", |d| Some(100.0 * d.share(|s| s.idle_ns))),
    ("warm%", |d| Some(100.0 * d.share(|s| s.spin_ns))),
];

const WIDTH: usize = 11;

/// Lines between two lines of titles.
const LINES: usize = 20;

/// Prints a line after each interval until no policy of Hearth runs any more, which is an error.
pub fn run(mut client: Client, interval: Duration, json: bool) -> Outcome {
    let mut before = read(&mut client)?;
    let (mut next, mut printed) = (Instant::now(), 0);
    loop {
        next += interval;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
        let now = again(&mut client)?;
        if json {
            print_line(&now)?;
        } else {
            if printed % LINES == 0 {
                output::text(&titles())?;
            }
            output::text(&text(&before.statistics, &now.statistics))?;
        }
        printed += 1;
        before = now;
    }
}

/// Reads the status. If the policy was replaced, the new one has another socket.
fn again(client: &mut Client) -> Result<Status, Failure> {
    read(client).or_else(|_| {
        *client = Client::of_this_machine()?;
        read(client)
    })
}

/// Prints the status as one line of JSON.
fn print_line(status: &Status) -> Result<(), Failure> {
    let document = Document { schema: "hearth.status/1", content: status };
    let line = serde_json::to_string(&document).map_err(io::Error::from)?;
    output::text(&(line + "\n")).map(drop)
}

fn titles() -> String {
    line(COLUMNS.iter().map(|(title, _)| (*title).to_owned()), "policy")
}

/// The line of the interval between two readings.
fn text(before: &Statistics, now: &Statistics) -> String {
    let difference = Difference::new(Some(before), now);
    line(COLUMNS.iter().map(|(_, value)| value(&difference).map_or("-".into(), number)), &now.policy)
}

fn line(cells: impl Iterator<Item = String>, policy: &str) -> String {
    cells.map(|cell| format!("{cell:>WIDTH$} ")).collect::<String>() + policy + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_rates_of_its_interval() {
        let before = Statistics {
            policy: "nest".into(),
            uptime_ns: 1_000_000_000,
            cores_online: 4,
            switches: 100,
            intervals: 250,
            cores_used: 4.0,
            idle_ns: 1_000_000_000,
            ..Statistics::default()
        };
        let now = Statistics {
            uptime_ns: 3_000_000_000,
            switches: 500,
            intervals: 750,
            cores_used: 2.0,
            idle_ns: 5_000_000_000,
            ..before.clone()
        };
        let titles: Vec<String> = titles().split_whitespace().map(str::to_owned).collect();
        let cells: Vec<String> = text(&before, &now).split_whitespace().map(str::to_owned).collect();
        let cell = |title: &str| cells[titles.iter().position(|t| t == title).unwrap()].clone();
        assert_eq!(
            (cell("switch/s"), cell("idle%"), cell("policy")),
            ("200".into(), "50.0".into(), "nest".into())
        );
        // 250 intervals with 4 cores, then 500 with 1.
        assert_eq!(cell("cores"), "1.00");
        let uncounted = Statistics { intervals: 250, cores_used: 4.0, ..now };
        assert!(text(&before, &uncounted).contains(" - "));
    }
}
