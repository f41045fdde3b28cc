//! The table of all numbers, and the grouping of rows that all sections share.

use super::colour::named_policy;
use super::headline::{Verdict, bounded, verdict};
use super::html::escape;
use super::number::{bare_percent, count, four, signed_percent, spread, three};
use super::{Estimate, Row};
use std::fmt::Write;

/// The rows of one machine by governor, in order of appearance.
pub struct Machine<'a> {
    pub name: &'a str,
    pub governors: Vec<(&'a str, Vec<&'a Row>)>,
}

pub fn machines(rows: &[Row]) -> Vec<Machine<'_>> {
    let mut machines = Vec::new();
    for (name, rows) in grouped(rows.iter(), |row| &row.setting.machine) {
        let governors = grouped(rows.into_iter(), |row| &row.setting.governor);
        machines.push(Machine { name, governors });
    }
    machines
}

/// Groups of equal keys, in order of appearance.
pub fn grouped<'a, T>(
    all: impl Iterator<Item = &'a T>,
    key: impl Fn(&'a T) -> &'a str,
) -> Vec<(&'a str, Vec<&'a T>)> {
    let mut groups: Vec<(&str, Vec<&T>)> = Vec::new();
    for it in all {
        match groups.iter_mut().find(|(name, _)| *name == key(it)) {
            Some((_, members)) => members.push(it),
            None => groups.push((key(it), vec![it])),
        }
    }
    groups
}

/// The distinct policies in order of appearance. The index selects the colour.
pub fn policies<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut policies = Vec::new();
    for name in names {
        if !policies.contains(&name) {
            policies.push(name);
        }
    }
    policies
}

/// The width of a chart's column of names, as a style.
pub fn name_width<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let longest = names.map(|name| name.chars().count()).max().unwrap_or(0);
    format!("--name:{}ch", (longest + 4).clamp(14, 26))
}

/// The estimate, if its mean is known.
pub fn known(estimate: Option<Estimate>) -> Option<Estimate> {
    estimate.filter(|e| e.mean.is_finite())
}

/// The papers mark differences of more than 5%.
pub const MARK: f64 = 0.05;

/// The CSS class of an improvement. `better` and `worse` are clear and beyond 5%.
pub fn tone(estimate: &Estimate) -> &'static str {
    match verdict(estimate) {
        Verdict::Unclear => "unclear",
        _ if estimate.mean > MARK => "better",
        _ if estimate.mean < -MARK => "worse",
        _ => "small",
    }
}

struct Column {
    name: &'static str,
    unit: &'static str,
    value: fn(&Row) -> f64,
    /// The second argument is the machine's largest value: it sets the number of decimals.
    text: fn(&Row, f64) -> String,
    /// Whether a bar compares the values of a machine.
    bar: bool,
}

const COLUMNS: [Column; 12] = [
    Column { name: "Time", unit: "s", value: |r| r.time_s, text: time, bar: true },
    Column {
        name: "Speed-up",
        unit: "95% CI",
        value: |r| mean(r.speedup),
        text: |r, _| improvement(r.speedup),
        bar: false,
    },
    Column { name: "Energy", unit: "J", value: |r| r.energy_j, text: |r, _| three(r.energy_j), bar: false },
    Column {
        name: "Saving",
        unit: "95% CI",
        value: |r| mean(r.energy_saving),
        text: |r, _| improvement(r.energy_saving),
        bar: false,
    },
    Column {
        name: "Wake-up",
        unit: "mean, µs",
        value: |r| r.wakeup_mean_us,
        text: |r, _| three(r.wakeup_mean_us),
        bar: true,
    },
    Column {
        name: "Underload",
        unit: "per s",
        value: |r| r.underload_per_s,
        text: |r, _| three(r.underload_per_s),
        bar: true,
    },
    Column {
        name: "Overload",
        unit: "core·ms",
        value: |r| r.overload_core_ms,
        text: |r, _| three(r.overload_core_ms),
        bar: true,
    },
    Column {
        name: "Inversions",
        unit: "core·ms",
        value: |r| r.inversion_core_ms,
        text: |r, _| three(r.inversion_core_ms),
        bar: true,
    },
    Column {
        name: "Cores",
        unit: "used",
        value: |r| r.cores_used,
        text: |r, _| count(r.cores_used),
        bar: true,
    },
    Column {
        name: "Sockets",
        unit: "used",
        value: |r| r.sockets_used,
        text: |r, _| count(r.sockets_used),
        bar: false,
    },
    Column {
        name: "Migrations",
        unit: "",
        value: |r| r.migrations,
        text: |r, _| count(r.migrations),
        bar: true,
    },
    Column {
        name: "Busy cores",
        unit: "GHz",
        value: |r| r.busy_ghz_mean,
        text: |r, _| three(r.busy_ghz_mean),
        bar: false,
    },
];

pub fn section(rows: &[Row]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let policies = policies(rows.iter().map(|row| row.setting.policy.as_str()));
    let mut html = String::from(
        "<section id=\"numbers\"><h2>All numbers</h2>\
         <p class=\"lead\">Means over the runs of each policy. Bars compare the policies on one machine. \
         Times have their standard deviation.</p><div class=\"wide\"><table class=\"numbers\">\
         <caption class=\"hidden\">All numbers, by machine and governor</caption>\
         <thead><tr><th scope=\"col\">Policy</th><th scope=\"col\">Runs</th>",
    );
    for Column { name, unit, .. } in &COLUMNS {
        let _ = write!(html, "<th scope=\"col\">{name}<small>{unit}</small></th>");
    }
    html.push_str("</tr></thead>");
    for machine in machines(rows) {
        let most = COLUMNS.map(|column| {
            let all = machine.governors.iter().flat_map(|(_, rows)| rows);
            all.map(|row| (column.value)(row)).filter(|x| x.is_finite()).fold(0.0, f64::max)
        });
        for (governor, rows) in &machine.governors {
            let _ = write!(
                html,
                "<tbody><tr class=\"group\"><th scope=\"rowgroup\" colspan=\"{}\">{} <span>{}</span></th></tr>",
                COLUMNS.len() + 2,
                escape(machine.name),
                escape(governor)
            );
            for row in rows {
                let policy = policies.iter().position(|name| *name == row.setting.policy).unwrap_or(0);
                html.push_str(&line(row, policy, &most));
            }
            html.push_str("</tbody>");
        }
    }
    html + "</table></div></section>"
}

fn line(row: &Row, policy: usize, most: &[f64; COLUMNS.len()]) -> String {
    let (name, title) = (named_policy(policy, &row.setting.policy), escape(&row.setting.policy));
    let mut html =
        format!("<tr><th scope=\"row\" title=\"{title}\">{name}</th><td data-v=\"{0}\">{0}</td>", row.runs);
    for (column, most) in COLUMNS.iter().zip(most) {
        let value = (column.value)(row);
        let sort = if value.is_finite() { format!(" data-v=\"{value}\"") } else { String::new() };
        let bar = column.bar && value > 0.0 && *most > 0.0 && value.is_finite();
        let bar =
            if bar { format!(" class=\"bar\" style=\"--n:{:.3}\"", value / most) } else { String::new() };
        let _ = write!(html, "<td{sort}{bar}>{}</td>", (column.text)(row, *most));
    }
    html + "</tr>"
}

fn mean(estimate: Option<Estimate>) -> f64 {
    estimate.map_or(f64::NAN, |e| e.mean)
}

fn time(row: &Row, most: f64) -> String {
    let spread = spread(row.time_sd, most);
    format!(
        "{}{}",
        four(row.time_s, most),
        spread.map_or(String::new(), |x| format!(" <small>± {x}</small>"))
    )
}

fn improvement(estimate: Option<Estimate>) -> String {
    let Some(e) = known(estimate) else { return super::number::UNKNOWN.into() };
    let (tone, mean) = (tone(&e), signed_percent(e.mean));
    if !bounded(&e) {
        return format!("<b class=\"{tone}\">{mean}</b>");
    }
    let (low, high) = (bare_percent(e.low), bare_percent(e.high));
    format!("<b class=\"{tone}\">{mean}</b><small>{low} to {high}</small>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_keep_the_order_of_first_members() {
        let names = ["b", "a", "b", "c", "a"].map(String::from);
        let groups = grouped(names.iter(), |name| name);
        let sizes: Vec<_> = groups.iter().map(|(name, all)| (*name, all.len())).collect();
        assert_eq!(sizes, [("b", 2), ("a", 2), ("c", 1)]);
    }

    #[test]
    fn only_clear_and_large_differences_are_marked() {
        let e = |mean, low, high| Estimate { mean, low, high };
        assert_eq!(tone(&e(0.2, 0.1, 0.3)), "better");
        assert_eq!(tone(&e(0.2, -0.1, 0.5)), "unclear");
        assert_eq!(tone(&e(0.04, 0.03, 0.05)), "small");
        assert_eq!(tone(&e(-0.2, -0.3, -0.1)), "worse");
    }
}
