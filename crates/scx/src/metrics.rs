//! The statistics as Prometheus reads them: its text format, version 0.0.4, which node_exporter's textfile collector takes,
//! too. (Of OpenMetrics that collector would lose the types of counters.)
//!
//! The name of a metric is that of the statistic: `idle_ns` is `hearth_idle_seconds_total`. What was not measured is absent.

use crate::protocol::Info;
use crate::statistics::{Field, Statistics};
use hearth_base::escape::prometheus_label as quoted;
use serde_json::Value;
use std::fmt::Write;

/// The statistics that go up and down. All other integers only grow while the policy runs.
const GAUGES: [&str; 6] = ["uptime_ns", "cores_online", "threads", "slots", "runnable", "sets"];
/// Counters that grow only if they were asked for, and the one that tells.
const OPTIONAL: [(&str, &str); 4] = [
    ("place_runs", "place_runs"),
    ("place_ns", "place_runs"),
    ("intervals", "intervals"),
    ("underload", "intervals"),
];

/// The text of one reading. Each sample has the label `policy`, because the counters of another policy are others.
pub fn text(info: &Info, statistics: &Statistics) -> String {
    let values = serde_json::to_value(statistics).unwrap_or_default();
    let policy = format!("policy={}", quoted(&statistics.policy));
    let mut text = String::new();
    for field in Statistics::SCHEMA.fields {
        let told = OPTIONAL.iter().find(|(name, _)| *name == field.name);
        if told.is_none_or(|(_, by)| values[by] != 0) {
            add(&mut text, field, &policy, &values[field.name]);
        }
    }
    let about = [
        ("version", &info.version),
        ("kernel", &info.kernel),
        ("scope", &info.scope),
        ("frequency", &info.frequency),
    ];
    let labels: String = about.iter().map(|(name, value)| format!(",{name}={}", quoted(value))).collect();
    head(&mut text, "hearth_info", "The policy that runs, and where.", "gauge");
    let _ = writeln!(text, "hearth_info{{{policy}{labels}}} 1");
    text + "# EOF\n"
}

/// Adds the samples of a statistic. Strings are labels of `hearth_info`, and fractions are derived from other statistics.
fn add(text: &mut String, field: &Field, policy: &str, value: &Value) {
    let gauge = GAUGES.contains(&field.name);
    let (base, in_ns) = field.name.strip_suffix("_ns").map_or((field.name, false), |base| (base, true));
    let name =
        format!("hearth_{base}{}{}", if in_ns { "_seconds" } else { "" }, if gauge { "" } else { "_total" });
    let shown = |value: u64| if in_ns { (value as f64 / 1e9).to_string() } else { value.to_string() };
    let samples: Vec<(String, u64)> = match value {
        Value::Number(number) => number.as_u64().map(|value| (String::new(), value)).into_iter().collect(),
        Value::Object(members) => {
            let label = if field.name == "placements" { "reason" } else { "set" };
            let sample = |(key, value): (&String, &Value)| {
                Some((format!(",{label}={}", quoted(key)), value.as_u64()?))
            };
            members.iter().filter_map(sample).collect()
        }
        _ => Vec::new(),
    };
    if !samples.is_empty() {
        head(text, &name, field.doc.trim(), if gauge { "gauge" } else { "counter" });
    }
    for (labels, value) in samples {
        let _ = writeln!(text, "{name}{{{policy}{labels}}} {}", shown(value));
    }
}

fn head(text: &mut String, name: &str, help: &str, kind: &str) {
    let help = help.replace('\\', "\\\\").replace('\n', " ");
    let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statistics() -> Statistics {
        Statistics {
            policy: "nest".into(),
            uptime_ns: 2_500_000_000,
            switches: 7,
            idle_ns: 1_250_000_000,
            placements: [("primary".into(), 3), ("a\"b\n".into(), 1)].into(),
            sets: [("primary".into(), 2)].into(),
            ..Statistics::default()
        }
    }

    #[test]
    fn names_and_units_are_those_of_prometheus() {
        let info = Info { scope: "cgroup /a\"b".into(), kernel: "7.3".into(), ..Info::default() };
        let text = text(&info, &statistics());
        for line in [
            "# HELP hearth_switches_total Context switches to a thread.",
            "# TYPE hearth_switches_total counter",
            "hearth_switches_total{policy=\"nest\"} 7",
            "# TYPE hearth_uptime_seconds gauge",
            "hearth_uptime_seconds{policy=\"nest\"} 2.5",
            "hearth_idle_seconds_total{policy=\"nest\"} 1.25",
            "hearth_placements_total{policy=\"nest\",reason=\"a\\\"b \"} 1",
            "hearth_placements_total{policy=\"nest\",reason=\"primary\"} 3",
            "hearth_sets{policy=\"nest\",set=\"primary\"} 2",
            "hearth_info{policy=\"nest\",version=\"\",kernel=\"7.3\",scope=\"cgroup /a\\\"b\",frequency=\"\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn what_was_not_measured_is_absent() {
        let counted = Statistics { place_runs: 1, intervals: 1, ..statistics() };
        let (none, some) = (text(&Info::default(), &statistics()), text(&Info::default(), &counted));
        for name in [
            "hearth_place_runs_total",
            "hearth_place_seconds_total",
            "hearth_intervals_total",
            "hearth_underload_total",
        ] {
            assert!(!none.contains(name) && some.contains(name), "{name}");
        }
        // Derived from others.
        assert!(!some.contains("percent") && !some.contains("per_s") && !some.contains("mean"), "{some}");
    }

    #[test]
    fn gauges_and_options_are_statistics() {
        let is_field = |name: &str| Statistics::SCHEMA.fields.iter().any(|field| field.name == name);
        assert!(
            GAUGES.iter().chain(OPTIONAL.iter().flat_map(|(name, by)| [name, by])).all(|name| is_field(name))
        );
    }
}
