use crate::failure::{Failure, Outcome};
use crate::output::{self, Document};
use crate::table::{Column, table};
use hearth_features::{Model, NAMES};
use hearth_study::sweep::read;
use hearth_study::tune::{Experience, Method, Replay, ReplayResult, replay};
use serde::Serialize;
use std::path::PathBuf;

/// Measure how close to the best product each method of search comes, after so many runs
///
/// Replays searches on a table of all products: for each application, a method tries one product after the other, with one
/// run each, and recommends one. Its regret is by how much the recommended product is slower than the best one of the
/// table. Methods that learn know the other applications, but none of the same program.
#[derive(clap::Args)]
pub struct Args {
    /// A table of `hearth study run --products MODEL`
    #[arg(value_name = "TABLE.parquet")]
    table: PathBuf,

    /// The feature model of the table's policies
    #[arg(long, value_name = "MODEL", default_value = NAMES[0], value_parser = NAMES)]
    model: String,

    /// A method: random or transfer-profile. Repeatable [default: both]
    #[arg(long = "method", value_name = "METHOD")]
    methods: Vec<Method>,

    /// Learn from this file of `hearth study learn`, and not from the table
    #[arg(long, value_name = "FILE")]
    experience: Option<PathBuf>,

    /// A number of runs after which to look. Repeatable
    #[arg(long = "after", value_name = "RUNS", default_values_t = [0, 5, 10, 25, 50], value_parser = clap::value_parser!(u16))]
    after: Vec<u16>,

    /// Searches for each application and method, with successive seeds
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=1000))]
    searches: u64,

    /// Print JSON (schema hearth.study.search/1)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Content {
    /// Workload and machine, in the order of the regrets.
    applications: Vec<[String; 2]>,
    found: Vec<ReplayResult>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let model = Model::named(&self.model)?;
        let rows = read(&self.table)?;
        let own = Experience::of(&rows, &model).map_err(|error| {
            Failure::from(error).help("make the table with: hearth study run --products MODEL -w WORKLOAD -m MACHINE -o TABLE.parquet")
        })?;
        let loaded = self.experience.as_deref().map(Experience::load).transpose()?;
        let methods = if self.methods.is_empty() { Method::ALL.to_vec() } else { self.methods };
        let plan = Replay {
            model: &model,
            methods,
            after: self.after.iter().map(|runs| usize::from(*runs)).collect(),
            searches: self.searches,
        };
        let found = replay(&rows, loaded.as_ref().unwrap_or(&own), &plan)?;
        let applications =
            own.applications.iter().map(|one| [one.workload.clone(), one.machine.clone()]).collect();
        let content = Content { applications, found };
        output::print(self.json, &Document { schema: "hearth.study.search/1", content: &content }, || {
            text(&content)
        })
    }
}

fn text(content: &Content) -> String {
    let columns: [Column<&ReplayResult>; 6] = [
        ("method", |one| one.method.to_string()),
        ("runs", |one| one.runs.to_string()),
        ("median regret", |one| share(one.median)),
        ("worst", |one| share(one.worst)),
        ("within 1%", |one| whole(one.within_1_percent)),
        ("top three", |one| whole(one.top_three)),
    ];
    table(1, &columns, &content.found)
        + &format!(
            "\n{} applications. `within 1%`: share of them where the recommended product is at most 1% slower than the best one;\n\
             `top three`: the same for the best of the first three recommended.\n",
            content.applications.len()
        )
}

fn share(value: f64) -> String {
    format!("{:.2}%", value * 100.0)
}

fn whole(value: f64) -> String {
    format!("{:.0}%", value * 100.0)
}
