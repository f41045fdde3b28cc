use crate::failure::{Failure, Outcome};
use crate::output::{self, Document, count};
use hearth_features::{Model, NAMES};
use hearth_study::sweep::read;
use hearth_study::tune::Experience;
use serde::Serialize;
use std::path::PathBuf;

/// Learn from tables of `hearth study run` how the products of a model do on applications
///
/// Writes a file for `hearth tune --experience` and `hearth study search --experience`: the mean times of the products, and
/// the profile of each application.
#[derive(clap::Args)]
pub struct Args {
    /// Tables of `hearth study run --products MODEL`
    #[arg(value_name = "TABLE.parquet", required = true)]
    tables: Vec<PathBuf>,

    /// The feature model of the tables' policies
    #[arg(long, value_name = "MODEL", default_value = NAMES[0], value_parser = NAMES)]
    model: String,

    /// The file to write
    #[arg(short, long, value_name = "FILE.json.zst")]
    output: PathBuf,

    /// Print a summary as JSON (schema hearth.study.learn/1)
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Summary {
    model: String,
    products: usize,
    applications: usize,
}

impl Args {
    pub fn run(self) -> Outcome {
        output::check_writable(&self.output)?;
        let model = Model::named(&self.model)?;
        let mut rows = Vec::new();
        for table in &self.tables {
            rows.extend(read(table)?);
        }
        let learned = Experience::of(&rows, &model).map_err(|error| {
            Failure::from(error).help("make the tables with: hearth study run --products MODEL -w WORKLOAD -m MACHINE -o TABLE.parquet")
        })?;
        learned.write(&self.output)?;
        let content = Summary {
            model: self.model,
            products: learned.products.len(),
            applications: learned.applications.len(),
        };
        let text = || {
            format!(
                "{}: {}, {}\n",
                self.output.display(),
                count(content.products, "product"),
                count(content.applications, "application")
            )
        };
        output::print(self.json, &Document { schema: "hearth.study.learn/1", content: &content }, text)
    }
}
