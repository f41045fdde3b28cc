mod print;

use crate::failure::{Failure, Outcome};
use crate::{output, progress};
use hearth_study::claims::Book;
use hearth_study::reproduction::Plan;
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

impl Args {
    pub fn run(self) -> Outcome {
        let book = self.book()?;
        let plan = Plan::new(&book, &book.starting_with(&self.only)?);
        let bar = progress::bar("simulating", plan.simulations(self.runs));
        let reproduction = plan.run(self.runs, self.jobs.map_or(0, usize::from), || bar.inc(1));
        bar.finish_and_clear();
        let reproduction = reproduction?;
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
        let Some(path) = &self.claims else { return Ok(Book::built_in()?) };
        let name = path.display().to_string();
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::new(format_args!("cannot read the claims {name}: {error}")))?;
        Ok(Book::parse(&name, &text)?)
    }
}
