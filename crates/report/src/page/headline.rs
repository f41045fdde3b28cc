//! The result in one sentence for each machine and governor.

use super::html::escape;
use super::number::{bare_percent, percent, rough};
use super::table::{known, machines};
use super::{Estimate, Row, Setting};
use std::fmt::Write;

/// A smaller speed-up is none to a reader.
const NOTICEABLE: f64 = 0.01;

pub fn section(answer: &str, rows: &[Row]) -> String {
    let mut html = String::from("<section id=\"result\"><h2>Result</h2>");
    if !answer.is_empty() {
        let _ = write!(html, "<p>{}</p>", escape(answer));
    }
    if rows.is_empty() {
        return html + "<p>No results: nothing was run.</p></section>";
    }
    html.push_str("<div class=\"findings\">");
    for machine in machines(rows) {
        let _ = write!(html, "<div><h3>{}</h3>", escape(machine.name));
        for (governor, group) in &machine.governors {
            let sentence = sentence(group, rows);
            let _ = match *governor {
                "" => write!(html, "<p>{sentence}</p>"),
                name => {
                    let name = escape(name);
                    write!(html, "<p class=\"under\"><b class=\"governor\">{name}</b> {sentence}</p>")
                }
            };
        }
        html.push_str("</div>");
    }
    html + "</div></section>"
}

/// Compares the best policy of one machine and governor with the first one under this governor.
fn sentence(group: &[&Row], rows: &[Row]) -> String {
    let compared = group.iter().filter_map(|row| {
        let (baseline, speedup) = row.within.as_ref()?;
        Some((*row, known(Some(*speedup))?, baseline))
    });
    let Some((best, speedup, against)) = compared.max_by(|a, b| a.1.mean.total_cmp(&b.1.mean)) else {
        return match group {
            [only] => {
                format!("Only {} was run, so there is no comparison.", escape(&only.setting.policy))
            }
            _ => "No speed-up is known.".into(),
        };
    };
    let policy = escape(&best.setting.policy);
    let other = other(against, &best.setting);
    let between = interval(&speedup);
    match verdict(&speedup) {
        Verdict::Faster if speedup.high < NOTICEABLE => {
            format!(
                "<strong>No noticeable difference</strong>: the best, {policy}, is {} {other}{between}.",
                than(speedup.mean)
            )
        }
        Verdict::Unclear => {
            format!(
                "<strong>No clear difference</strong>: the best, {policy}, is {} {other}{between}.",
                than(speedup.mean)
            )
        }
        Verdict::Slower => {
            format!(
                "<strong>{other} is the fastest</strong>: the next, {policy}, is {} it{between}.",
                than(speedup.mean)
            )
        }
        Verdict::Faster | Verdict::OneRun => {
            let baseline = rows.iter().find(|row| row.setting == *against);
            // The saving has the baseline of the machine, which another governor may have.
            let saving = known(best.energy_saving).filter(|_| best.against.as_ref() == Some(against));
            format!(
                "<strong>{policy} is {}</strong> than {other}{between}{}.",
                by(speedup.mean),
                also(best, saving, baseline)
            )
        }
    }
}

/// `23.1% faster`, `3.0% slower`
fn by(speedup: f64) -> String {
    format!("{} {}", percent(speedup.abs()), if speedup < 0.0 { "slower" } else { "faster" })
}

/// `23.1% faster than`, or `as fast as` if the difference rounds to 0.
fn than(speedup: f64) -> String {
    match by(speedup) {
        zero if zero.starts_with("0.0%") => "as fast as".into(),
        by => by + " than",
    }
}

/// `cfs with schedutil`: the policy, and the parts of the setting that differ.
fn other(against: &Setting, from: &Setting) -> String {
    let mut text = escape(&against.policy);
    if against.governor != from.governor {
        let _ = write!(text, " with {}", escape(&against.governor));
    }
    if against.machine != from.machine {
        let _ = write!(text, " on {}", escape(&against.machine));
    }
    text
}

fn interval(speedup: &Estimate) -> String {
    if !bounded(speedup) {
        return " <span class=\"ci\">(one run, no interval)</span>".into();
    }
    let (low, high) = (bare_percent(speedup.low), bare_percent(speedup.high));
    format!(" <span class=\"ci\">({low} to {high}%)</span>")
}

/// The effect of the best policy on energy and underload.
fn also(best: &Row, saving: Option<Estimate>, baseline: Option<&Row>) -> String {
    let energy = saving.map(|saving| match verdict(&saving) {
        Verdict::Unclear => "no clear change in energy".to_string(),
        _ if saving.mean < 0.0 => format!("{} more energy", percent(-saving.mean)),
        _ => format!("{} less energy", percent(saving.mean)),
    });
    let underload = baseline.map(|row| (row.underload_per_s, best.underload_per_s));
    let underload = underload.filter(|(a, b)| a.is_finite() && b.is_finite() && rough(*a) != rough(*b));
    let underload = underload.map(|(a, b)| {
        format!(
            "underload {} from {} to {} per second",
            if b < a { "down" } else { "up" },
            rough(a),
            rough(b)
        )
    });
    let both: Vec<String> = energy.into_iter().chain(underload).collect();
    if both.is_empty() { String::new() } else { format!(", with {}", both.join(" and ")) }
}

/// The conclusion from an estimate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    Faster,
    Slower,
    /// The interval spans zero.
    Unclear,
    OneRun,
}

pub fn verdict(estimate: &Estimate) -> Verdict {
    match estimate {
        e if !bounded(e) => Verdict::OneRun,
        e if e.low > 0.0 => Verdict::Faster,
        e if e.high < 0.0 => Verdict::Slower,
        _ => Verdict::Unclear,
    }
}

pub fn bounded(estimate: &Estimate) -> bool {
    estimate.low.is_finite() && estimate.high.is_finite()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(governor: &str, policy: &str) -> Setting {
        Setting { machine: "m".into(), governor: governor.into(), policy: policy.into() }
    }

    fn row(policy: &str, speedup: Option<(f64, f64, f64)>) -> Row {
        let speedup = speedup.map(|(mean, low, high)| Estimate { mean, low, high });
        let against = speedup.map(|_| setting("schedutil", "cfs"));
        let within = against.clone().zip(speedup);
        Row { setting: setting("schedutil", policy), against, speedup, within, ..Row::default() }
    }

    fn of(rows: &[Row]) -> String {
        sentence(&rows.iter().collect::<Vec<_>>(), rows)
    }

    #[test]
    fn a_clear_winner() {
        let mut rows = [
            row("cfs", None),
            row("smove", Some((0.02, 0.01, 0.03))),
            row("nest", Some((0.213, 0.201, 0.226))),
        ];
        assert_eq!(
            of(&rows),
            "<strong>nest is 21.3% faster</strong> than cfs <span class=\"ci\">(20.1 to 22.6%)</span>."
        );
        rows[0].underload_per_s = 153.2;
        rows[2].underload_per_s = 2.1;
        rows[2].energy_saving = Some(Estimate { mean: 0.11, low: 0.10, high: 0.12 });
        assert!(
            of(&rows).ends_with(", with 11.0% less energy and underload down from 153 to 2.1 per second.")
        );
    }

    #[test]
    fn no_clear_difference_when_the_interval_spans_zero() {
        let text = of(&[row("cfs", None), row("nest", Some((0.01, -0.004, 0.023)))]);
        assert!(
            text.starts_with("<strong>No clear difference</strong>: the best, nest, is 1.0% faster than cfs"),
            "{text}"
        );
    }

    #[test]
    fn less_than_one_per_cent_is_not_noticeable() {
        let text = of(&[row("cfs", None), row("nest", Some((0.003, 0.002, 0.004)))]);
        assert!(
            text.starts_with("<strong>No noticeable difference</strong>: the best, nest, is 0.3%"),
            "{text}"
        );
        let text = of(&[row("cfs", None), row("nest", Some((0.009, 0.002, 0.016)))]);
        assert!(text.starts_with("<strong>nest is 0.9% faster"), "{text}");
    }

    #[test]
    fn the_baseline_can_win() {
        let text = of(&[row("cfs", None), row("slocal", Some((-0.05, -0.06, -0.04)))]);
        assert!(
            text.starts_with("<strong>cfs is the fastest</strong>: the next, slocal, is 5.0% slower than it"),
            "{text}"
        );
    }

    #[test]
    fn headlines_compare_within_one_governor() {
        let mut other = row("nest", Some((0.9, 0.8, 1.0)));
        other.setting.governor = "performance".into();
        other.within = Some((setting("performance", "cfs"), Estimate { mean: 0.1, low: 0.05, high: 0.15 }));
        other.energy_saving = Some(Estimate { mean: 0.5, low: 0.4, high: 0.6 });
        let text = of(&[other]);
        assert!(text.starts_with("<strong>nest is 10.0% faster</strong> than cfs <span"), "{text}");
        assert!(!text.contains("energy"), "{text}");
    }

    #[test]
    fn little_to_say() {
        assert_eq!(of(&[row("cfs", None)]), "Only cfs was run, so there is no comparison.");
        let nan = f64::NAN;
        assert_eq!(of(&[row("a", Some((nan, nan, nan))), row("b", None)]), "No speed-up is known.");
        assert!(of(&[row("cfs", None), row("nest", Some((0.1, nan, nan)))]).contains("one run"));
    }

    #[test]
    fn says_what_differs() {
        let from = setting("performance", "nest");
        assert_eq!(other(&setting("schedutil", "cfs"), &from), "cfs with schedutil");
        assert_eq!(other(&setting("performance", "<i>"), &from), "&lt;i&gt;");
    }
}
