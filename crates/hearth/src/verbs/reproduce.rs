mod claims;
mod evaluation;
mod print;

use crate::failure::{Failure, Outcome};
use crate::{output, progress};
use claims::{Book, Claim};
use evaluation::Plan;
use hearth_base::suggest::closest;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Run the papers' experiments, and put what comes out beside what the papers found
///
/// Exits with 0 also if something lies outside the paper's range: that is a result.
#[derive(clap::Args)]
pub struct Args {
    /// Only claims whose id begins so
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,

    /// Runs of each simulation, with successive seeds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: u64,

    /// Simulations at a time [default: one on each core]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,

    /// Other claims than the papers'; in the form of experiments/claims.toml
    #[arg(long, value_name = "FILE.toml")]
    claims: Option<PathBuf>,

    /// Print JSON (schema hearth.reproduce/1) instead of a table
    #[arg(long)]
    json: bool,

    /// Print the table in Markdown
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

const BUILT_IN: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/claims.toml"));

impl Args {
    pub fn run(self) -> Outcome {
        let book = self.book()?;
        let claims = chosen(&book.claims, &self.only)?;
        let plan = Plan::new(&book, &claims);
        let jobs = plan.jobs(self.runs);
        let bar = progress::bar("simulating", jobs.len());
        let outcomes = hearth_sim::run_all(&jobs, self.jobs.map_or(0, usize::from), || bar.inc(1));
        bar.finish_and_clear();
        let reproduction = plan.evaluate(self.runs, outcomes)?;
        if self.json {
            output::json(&reproduction)?;
        } else if self.markdown {
            output::text(&print::markdown(&reproduction))?;
        } else {
            output::text(&print::text(&reproduction))?;
        }
        Ok(ExitCode::SUCCESS)
    }

    fn book(&self) -> Result<Book, Failure> {
        let Some(path) = &self.claims else { return Book::parse("experiments/claims.toml", BUILT_IN) };
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::new(format_args!("cannot read the claims {name}: {error}")))?;
        Book::parse(&name, &text)
    }
}

/// The claims whose id begins with one of `only`, or all.
fn chosen<'b>(claims: &'b [Claim], only: &[String]) -> Result<Vec<&'b Claim>, Failure> {
    for start in only {
        if !claims.iter().any(|claim| claim.id.starts_with(start)) {
            let failure = Failure::usage(format_args!("--only {start}: no claim's id begins so"));
            let ids = || claims.iter().map(|claim| claim.id.as_str());
            return Err(match closest(start, ids()) {
                Some(near) => failure.help(format_args!("did you mean `{near}`?")),
                None => {
                    failure.help(format_args!("the claims are: {}", ids().collect::<Vec<_>>().join(", ")))
                }
            });
        }
    }
    let wanted = |claim: &&Claim| only.is_empty() || only.iter().any(|start| claim.id.starts_with(start));
    Ok(claims.iter().filter(wanted).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_claims_are_valid() {
        let book = Book::parse("experiments/claims.toml", BUILT_IN).unwrap();
        assert!(book.claims.len() > 10);
    }

    #[test]
    fn claims_are_chosen_by_how_their_ids_begin() {
        let book = Book::parse("experiments/claims.toml", BUILT_IN).unwrap();
        let ids = |only: &[&str]| {
            let only: Vec<String> = only.iter().map(|id| id.to_string()).collect();
            chosen(&book.claims, &only).map(|claims| claims.iter().map(|c| c.id.as_str()).collect::<Vec<_>>())
        };
        assert_eq!(ids(&[]).unwrap().len(), book.claims.len());
        assert_eq!(ids(&["smove-mkl"]).unwrap(), ["smove-mkl"]);
        assert_eq!(ids(&["smove-mk", "slocal-f"]).unwrap(), ["slocal-fork-wait", "smove-mkl"]);
        assert!(ids(&["smove-mkl", "smov-mkl"]).is_err());
    }
}
