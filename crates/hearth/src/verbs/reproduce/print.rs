//! The results as a table for the terminal, and as a Markdown table.

use crate::table::{Plain, number, percent};
use hearth_study::claims::Metric;
use hearth_study::reproduction::{ClaimResult, Found, Reproduction};

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

/// A value of the metric, as text.
fn amount(metric: Metric, value: f64) -> String {
    match metric {
        Metric::Speedup | Metric::EnergySaving => percent(value),
        Metric::Underload | Metric::Overload => number(value),
    }
}

fn range(claim: &ClaimResult) -> String {
    let end = |value| match claim.metric {
        Metric::Speedup | Metric::EnergySaving => percent(value).replace(".0%", "%"),
        // As the claim states it.
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

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_study::claims::{Book, Claim};
    use hearth_study::reproduction::Plan;

    const CLAIMS: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../study/tests/data/claims.toml"));

    /// The outcome of a run with this time, and with two core·ms of overload.
    fn outcome(time_s: f64) -> hearth_sim::Outcome {
        let summary = hearth_trace::Summary { overload_core_ms: 2.0, ..Default::default() };
        hearth_sim::Outcome { summary, time_s, energy_j: time_s * 100.0, ..Default::default() }
    }

    #[test]
    fn the_table() {
        let book = Book::parse("claims.toml", CLAIMS).unwrap();
        let claims: Vec<&Claim> = book.claims.iter().collect();
        // Nest and CFS on the Xeon, on the Ryzen, and CFS with the governor `performance`.
        let outcomes = [8.0, 10.0, 20.0, 10.0, 40.0].map(|time| Ok(outcome(time))).into();
        let reproduction = Plan::new(&book, &claims).evaluate(1, outcomes).unwrap();
        let (text, markdown) = (text(&reproduction), markdown(&reproduction));
        let expected = "\
claim      machine               paper    ours   in range
---------------------------------------------------------
faster     xeon-5218    -8.4% to +30%  +25.0%        yes
           ryzen-3400g  -8.4% to +30%  -50.0%  no, below
saves      xeon-5218     +50% to +90%  +80.0%        yes
overloads  xeon-5218   1 to 2 core·ms/s   0.200  no, below

2 of 4 lie in the range that the paper gives. One run of each: no confidence intervals (--runs N).

Outside the range:
  faster: nest | cfs (P, 1)
  overloads: a little (P, 3)
";
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(&text.replace('-', "")), words(&expected.replace('-', "")), "{text}");
        let lines: Vec<&str> = markdown.lines().collect();
        assert_eq!(lines[2], "| `faster` | nest \\| cfs (P, 1) | xeon-5218 | -8.4% to +30% | +25.0% | yes |");
        assert_eq!(lines[3], "|  |  | ryzen-3400g | -8.4% to +30% | -50.0% | **no, below** |");
    }
}
