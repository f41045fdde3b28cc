//! The results as a table for the terminal, and as a Markdown table.

use super::words;
use crate::table::Plain;
use hearth_study::claims::Half;
use hearth_study::reproduction::{ClaimResult, Reproduction, Tally};

pub fn text(reproduction: &Reproduction) -> String {
    let mut table = Plain::new(2);
    table.head(&["claim", "machine", "paper", "ours", "in range"]);
    for claim in &reproduction.claims {
        for (i, found) in claim.results.iter().enumerate() {
            let id = if i == 0 { claim.id } else { "" };
            let (paper, ours) = (words::range(claim), words::value(claim, found));
            table.row(&[id, words::machine(found), &paper, &ours, words::verdict(claim, found)]);
        }
    }
    let mut text = table.render();
    let mut misses = reproduction.claims.iter().filter(|claim| !claim.holds()).peekable();
    if misses.peek().is_some() {
        text += "\nOutside the range:\n";
    }
    for claim in misses {
        text += &format!("  {}: {} ({})\n", claim.id, claim.says, claim.paper);
    }
    if !reproduction.unasked.is_empty() {
        text += "\nNot asked:\n";
    }
    for row in &reproduction.unasked {
        text += &format!("  {}: {}\n", row.id, row.why);
    }
    text + "\n" + &score(reproduction) + "\n" + &runs(reproduction) + "\n"
}

pub fn markdown(reproduction: &Reproduction) -> String {
    let mut text = format!("{}\n\n{}\n\n", markdown_score(reproduction), runs(reproduction));
    text += "| claim | half | what the paper says | measured | machine | paper | ours | in range |\n";
    text += "|---|---|---|---|---|---|---|---|\n";
    for claim in &reproduction.claims {
        for (i, found) in claim.results.iter().enumerate() {
            let named = match i {
                0 => named(claim),
                _ => "|  |  |  |  |".to_owned(),
            };
            let (paper, ours) = (words::range(claim), words::value(claim, found));
            let verdict = match words::verdict(claim, found) {
                "yes" => "yes".to_owned(),
                no => format!("**{no}**"),
            };
            text += &format!("{named} {} | {paper} | {ours} | {verdict} |\n", words::machine(found));
        }
    }
    if reproduction.unasked.is_empty() {
        return text;
    }
    text += "\n| not asked | half | what the paper says | why |\n|---|---|---|---|\n";
    for row in &reproduction.unasked {
        let says = cell(&format!("{} ({})", row.says, row.paper));
        text += &format!("| `{}` | {} | {says} | {} |\n", row.id, row.half, cell(row.why));
    }
    text
}

/// The cells of a claim that its results share.
fn named(claim: &ClaimResult) -> String {
    let (says, what) = (cell(&format!("{} ({})", claim.says, claim.paper)), cell(&words::quantity(claim)));
    format!("| `{}` | {} | {says} | {what} |", claim.id, claim.half)
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The titles of the table of scores.
pub const COLUMNS: [&str; 4] = ["half", "rows in range", "results in range", "rows not asked"];

/// The rows of the table of scores.
pub fn scores(reproduction: &Reproduction) -> Vec<[String; 4]> {
    let row = |name: &str, tally: Tally| {
        let Tally { rows, rows_in_range, results, in_range, unasked } = tally;
        [name.to_owned(), share(rows_in_range, rows), share(in_range, results), unasked.to_string()]
    };
    let halves = Half::ALL.map(|half| row(&half.to_string(), reproduction.score.of(half)));
    halves.into_iter().chain([row("both", reproduction.score.all)]).collect()
}

fn share(part: usize, whole: usize) -> String {
    match whole {
        0 => "none".to_owned(),
        _ => format!("{part} of {whole} ({:.0}%)", part as f64 * 100.0 / whole as f64),
    }
}

fn score(reproduction: &Reproduction) -> String {
    let mut table = Plain::new(1);
    table.head(&COLUMNS);
    for row in scores(reproduction) {
        table.row(&row.each_ref().map(String::as_str));
    }
    table.render()
}

fn markdown_score(reproduction: &Reproduction) -> String {
    let line = |cells: &[&str]| format!("| {} |", cells.join(" | "));
    let rows = scores(reproduction);
    let rows = rows.iter().map(|row| line(&row.each_ref().map(String::as_str)));
    let lines: Vec<String> =
        [line(&COLUMNS), "|---|---|---|---|".to_owned()].into_iter().chain(rows).collect();
    lines.join("\n")
}

/// What the scores and intervals mean.
pub fn runs(reproduction: &Reproduction) -> String {
    let rule =
        "A row is in range if all its results are. Only the choosing half may choose the model's physics.";
    match reproduction.runs {
        1 => format!("{rule} One run of each: no confidence intervals (--runs N)."),
        runs => format!("{rule} Means of {runs} runs; ± is half of the 95% confidence interval."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_study::claims::{Book, Claim};
    use hearth_study::reproduction::{Plan, Run};

    const CLAIMS: &str =
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../study/tests/data/claims.toml"));

    /// A run with this time, and with two core·ms of overload.
    fn run(time_s: f64) -> Run {
        let summary =
            hearth_trace::Summary { overload_core_ms: 2.0, duration_s: time_s, ..Default::default() };
        let outcome = hearth_sim::Outcome { summary, time_s, energy_j: time_s * 100.0, ..Default::default() };
        Run { outcome, seen: Vec::new() }
    }

    #[test]
    fn the_table() {
        let book = Book::parse(&[("claims.toml", CLAIMS)]).unwrap();
        let claims: Vec<&Claim> = book.claims.iter().collect();
        // Nest and CFS on the Xeon, on the Ryzen, and CFS with the governor `performance`.
        let runs = [8.0, 10.0, 20.0, 10.0, 40.0].map(|time| Ok(run(time))).into();
        let reproduction = Plan::new(&book, &claims).evaluate(1, runs).unwrap();
        let (text, markdown) = (text(&reproduction), markdown(&reproduction));
        let expected = "\
claim         machine               paper           ours   in range
X1-faster     xeon-5218     -8.4% to +30%         +25.0%        yes
              ryzen-3400g   -8.4% to +30%         -50.0%  no, below
X1-more       xeon-5218       +10% or more        +75.0%        yes
X2-saves      xeon-5218       +50% to +90%        +80.0%        yes
X3-overloads  xeon-5218  1 to 2 core·ms/s  0.200 core·ms/s  no, below
";
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let rows: Vec<&str> = text.lines().filter(|line| !line.starts_with('-')).take(6).collect();
        assert_eq!(words(&rows.join(" ")), words(expected), "{text}");
        assert!(text.contains("1 of 3 (33%)"), "{text}");
        assert!(
            text.contains(
                "\nOutside the range:\n  X1-faster: nest | cfs (P, 1)\n  X3-overloads: a little (P, 3)\n"
            ),
            "{text}"
        );
        assert!(text.contains("\nNot asked:\n  X4: Needs an oracle.\n\nhalf"), "{text}");
        let first = "| `X1-faster` | reported | nest \\| cfs (P, 1) | speed-up of nest schedutil over cfs schedutil |";
        assert!(markdown.contains(first), "{markdown}");
        assert!(markdown.contains(" | xeon-5218 | -8.4% to +30% | +25.0% | yes |"), "{markdown}");
        assert!(
            markdown.contains("\n|  |  |  |  | ryzen-3400g | -8.4% to +30% | -50.0% | **no, below** |\n"),
            "{markdown}"
        );
        assert!(markdown.contains("| `X4` | "), "{markdown}");
    }
}
