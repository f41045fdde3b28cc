//! The results for people: a table for the terminal, and one for a book.

use super::claims::Metric;
use super::evaluation::{ClaimResult, Found, Reproduction};
use crate::table::{Plain, number, percent};

pub fn text(reproduction: &Reproduction) -> String {
    let mut table = Plain::new(2);
    table.head(&["claim", "machine", "paper", "ours", "in range"]);
    for claim in &reproduction.claims {
        for (i, found) in claim.results.iter().enumerate() {
            let id = if i == 0 { claim.id } else { "" };
            let (paper, ours) = (range(claim), value(claim.metric, found));
            table.row(&[id, found.machine, &paper, &ours, verdict(claim, found)]);
        }
    }
    let mut text = table.render() + "\n" + &summary(reproduction) + "\n";
    let missed = |claim: &&ClaimResult| claim.results.iter().any(|found| !found.in_range);
    let mut misses = reproduction.claims.iter().filter(missed).peekable();
    if misses.peek().is_some() {
        text += "\nOutside the range:\n";
    }
    for claim in misses {
        text += &format!("  {}: {} ({})\n", claim.id, claim.says, claim.paper);
    }
    text
}

pub fn markdown(reproduction: &Reproduction) -> String {
    let mut text = "| claim | what the paper says | machine | paper | ours | in range |\n".to_owned();
    text += "|---|---|---|---|---|---|\n";
    for claim in &reproduction.claims {
        for (i, found) in claim.results.iter().enumerate() {
            let (id, says) = match i {
                0 => (
                    format!("`{}`", claim.id),
                    format!("{} ({})", claim.says, claim.paper).replace('|', "\\|"),
                ),
                _ => Default::default(),
            };
            let (paper, ours) = (range(claim), value(claim.metric, found));
            let verdict = match verdict(claim, found) {
                "yes" => "yes".to_owned(),
                no => format!("**{no}**"),
            };
            text += &format!("| {id} | {says} | {} | {paper} | {ours} | {verdict} |\n", found.machine);
        }
    }
    text + "\n" + &summary(reproduction) + "\n"
}

fn summary(reproduction: &Reproduction) -> String {
    let Reproduction { results, in_range, runs, .. } = reproduction;
    let counted = format!("{in_range} of {results} lie in the range that the paper gives.");
    match runs {
        1 => format!("{counted} One run of each: no confidence intervals (--runs N)."),
        runs => format!("{counted} Means of {runs} runs; ± is half of the 95% confidence interval."),
    }
}

fn verdict(claim: &ClaimResult, found: &Found) -> &'static str {
    match () {
        () if found.in_range => "yes",
        () if found.value < claim.range[0] => "no, below",
        () => "no, above",
    }
}

/// What the metric counts, as text.
fn amount(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Speedup | Metric::EnergySaving => percent(value),
        Metric::Underload | Metric::Overload => number(value),
    }
}

fn range(claim: &ClaimResult) -> String {
    let end = |value| match claim.metric {
        Metric::Speedup | Metric::EnergySaving => percent(value).replace(".0%", "%"),
        // As short as it was written.
        Metric::Underload | Metric::Overload => value.to_string(),
    };
    let [low, high] = claim.range.map(end);
    let unit = if claim.metric == Metric::Overload { " core·ms/s" } else { "" };
    if low == high { low + unit } else { format!("{low} to {high}{unit}") }
}

fn value(metric: Metric, found: &Found) -> String {
    let value = amount(metric, found.value);
    match (metric, found.ci95.map(|[low, high]| (high - low) / 2.0)) {
        (_, None) => value,
        (Metric::Speedup | Metric::EnergySaving, Some(half)) => format!("{value} ±{:.1}", half * 100.0),
        (Metric::Underload | Metric::Overload, Some(half)) => {
            let digits = value.split_once('.').map_or(0, |(_, digits)| digits.len());
            format!("{value} ±{half:.digits$}")
        }
    }
}
