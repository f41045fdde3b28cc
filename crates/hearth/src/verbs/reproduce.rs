mod figures;
mod page;
mod print;
mod words;

use crate::arguments::{Jobs, examples};
use crate::failure::{Failure, Outcome};
use crate::{output, progress};
use hearth_sim::World;
use hearth_study::claims::Book;
use hearth_study::reproduction::Plan;
use std::path::PathBuf;

/// Run the papers' experiments and check the papers' claims
///
/// Prints a table of claims: the paper's range, our result, and whether it is in range; then the score of each half of
/// the papers' rows. The exit status does not depend on the results.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth reproduce --only N15 F3 --runs 20",
    "hearth reproduce --report claims.html",
]))]
pub struct Args {
    /// Select the claims whose id starts with one of these
    #[arg(long, value_name = "ID", num_args = 1..)]
    only: Vec<String>,

    /// Number of runs of each simulation, with successive seeds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    runs: u64,

    #[command(flatten)]
    jobs: Jobs,

    /// The world around the workloads instead of each claim's own, as for `hearth sim`: `all`, `empty`, or parts
    /// separated by commas
    #[arg(long, value_name = "PARTS")]
    world: Option<World>,

    /// Read the claims of these files instead, in the format of crates/study/claims
    #[arg(long, value_name = "FILE.toml", num_args = 1..)]
    claims: Vec<PathBuf>,

    /// Also write a page with all claims as intervals, and figures of the papers
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,

    /// Print JSON (schema hearth.reproduce/2) instead of a table
    #[arg(long)]
    json: bool,

    /// Print a Markdown table
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

impl Args {
    pub fn run(self) -> Outcome {
        if let Some(report) = &self.report {
            output::check_writable(report)?;
        }
        let book = self.book()?;
        let plan = Plan::new(&book, &book.starting_with(&self.only)?);
        let plan = match self.world {
            Some(world) => plan.in_world(world),
            None => plan,
        };
        let reproduction = progress::during("simulating", plan.simulations(self.runs), |step| {
            plan.run(self.runs, self.jobs.threads(), step)
        })?;
        if let Some(report) = &self.report {
            output::file(report, page::page(&reproduction).as_bytes())?;
        }
        let text = if self.markdown { print::markdown } else { print::text };
        output::print(self.json, &reproduction, || text(&reproduction))
    }

    fn book(&self) -> Result<Book, Failure> {
        if self.claims.is_empty() {
            return Ok(Book::built_in()?);
        }
        let read = |path: &PathBuf| Ok((path.display().to_string(), output::read("the claims", path)?));
        let files = self.claims.iter().map(read).collect::<Result<Vec<_>, Failure>>()?;
        let files: Vec<_> = files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        Ok(Book::parse(&files)?)
    }
}
