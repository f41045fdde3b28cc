//! Files of claims: results that a paper states, and the simulations that reproduce them. Loads everything that a claim
//! names.
//!
//! A claim is a [`Quantity`], or the difference of two, on some machines, and the range that the paper gives for it. A
//! row of the papers that cannot be asked is an [`UntestedClaim`] with the reason.

mod file;
mod half;
mod metric;

pub use half::Half;
pub use metric::{Metric, Until};

use crate::Error;
use crate::error::did_you_mean;
use hearth_base::suggest::closest;
use hearth_machine::{Governor, Machine};
use hearth_policy::Settings;
use hearth_sim::{Native, World};
use hearth_workload::Workload;

macro_rules! built_in {
    ($($name:literal),*) => {
        [$((
            concat!("crates/study/claims/", $name),
            include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/claims/", $name)),
        )),*]
    };
}

/// The papers' claims: the names and texts of the files in crates/study/claims.
const BUILT_IN: [(&str, &str); 3] = built_in!["nest.toml", "fewer-cores.toml", "thesis.toml"];

/// All claims of some files, and the workloads, machines and policies to which they refer by index.
pub struct Book {
    pub claims: Vec<Claim>,
    pub unasked: Vec<UntestedClaim>,
    pub workloads: Pool<Workload>,
    pub machines: Pool<Machine>,
    pub policies: Pool<Native>,
}

/// A result that a paper states, and the range that it gives.
pub struct Claim {
    /// The id of the paper's row, and what is asked of it: `N15-configure`.
    pub id: String,
    /// Paper and section.
    pub paper: String,
    /// The claim in words.
    pub says: String,
    /// Indices of at least one machine, without duplicates.
    pub machines: Vec<usize>,
    pub quantity: Quantity,
    /// The quantity that is subtracted, if the claim is about an order or a difference.
    pub than: Option<Quantity>,
    /// The range of the paper, both ends included. An end may be infinite.
    pub range: [f64; 2],
}

/// A row of the papers that is not asked.
pub struct UntestedClaim {
    pub id: String,
    pub paper: String,
    pub says: String,
    /// Why it is not asked, in a sentence.
    pub why: String,
}

/// What is measured.
#[derive(PartialEq)]
pub struct Quantity {
    /// The workload as the file names it: one, or a group.
    pub workload: String,
    /// Indices of the workload, or of those of the group. The value is the mean over them.
    pub workloads: Vec<usize>,
    /// What surrounds the runs.
    pub world: World,
    pub metric: Metric,
    pub subject: Side,
    pub baseline: Option<Side>,
    /// The end of the part of the runs that is looked at; `None` for whole runs.
    pub until: Option<Until>,
}

/// A policy with parameters under a governor.
#[derive(Clone, PartialEq)]
pub struct Side {
    pub policy: usize,
    pub governor: Governor,
    pub params: Settings,
    /// The machine, if it is not the claim's.
    pub machine: Option<usize>,
}

impl Claim {
    /// The id of the paper's row.
    pub fn row(&self) -> &str {
        row(&self.id)
    }
}

impl UntestedClaim {
    /// The id of the paper's row.
    pub fn row(&self) -> &str {
        row(&self.id)
    }
}

/// The part of a claim's id that names the paper's row.
fn row(id: &str) -> &str {
    id.split_once('-').map_or(id, |(row, _)| row)
}

/// Loaded items by name, each loaded once.
pub struct Pool<T>(Vec<(String, T)>);

impl<T> Pool<T> {
    fn load<E>(&mut self, name: &str, load: impl FnOnce(&str) -> Result<T, E>) -> Result<usize, E> {
        if let Some(index) = self.0.iter().position(|(known, _)| known == name) {
            return Ok(index);
        }
        self.0.push((name.to_owned(), load(name)?));
        Ok(self.0.len() - 1)
    }

    /// The item with this index.
    pub fn get(&self, index: usize) -> &T {
        &self.0[index].1
    }

    /// The name of the item with this index.
    pub fn name(&self, index: usize) -> &str {
        &self.0[index].0
    }
}

impl Book {
    /// The built-in claims of the papers.
    pub fn built_in() -> Result<Book, Error> {
        Book::parse(&BUILT_IN)
    }

    /// Parses files of claims, given by name and text.
    ///
    /// # Errors
    /// The first error, with its file, line and claim.
    pub fn parse(files: &[(&str, &str)]) -> Result<Book, Error> {
        let mut book = Book {
            claims: Vec::new(),
            unasked: Vec::new(),
            workloads: Pool(Vec::new()),
            machines: Pool(Vec::new()),
            policies: Pool(Vec::new()),
        };
        for (name, text) in files {
            file::parse(&mut book, name, text)?;
        }
        Ok(book)
    }

    /// The claims whose id begins with one of `starts`, or all claims if `starts` is empty.
    ///
    /// # Errors
    /// If no claim's id begins with one of `starts`.
    pub fn starting_with(&self, starts: &[String]) -> Result<Vec<&Claim>, Error> {
        for start in starts {
            if !self.claims.iter().any(|claim| claim.id.starts_with(start)) {
                return Err(Error::NoClaim { start: start.clone(), help: self.instead_of(start) });
            }
        }
        let wanted =
            |claim: &&Claim| starts.is_empty() || starts.iter().any(|start| claim.id.starts_with(start));
        Ok(self.claims.iter().filter(wanted).collect())
    }

    /// What to do about a start of an id that no claim has.
    fn instead_of(&self, start: &str) -> String {
        let ids = || self.claims.iter().map(|claim| claim.id.as_str());
        match (self.unasked.iter().find(|unasked| unasked.id.starts_with(start)), closest(start, ids())) {
            (Some(unasked), _) => format!("{} is not asked: {}", unasked.id, unasked.why),
            (None, Some(near)) => did_you_mean(near),
            (None, None) => {
                let mut rows: Vec<&str> = self.claims.iter().map(|claim| claim.row()).collect();
                rows.dedup();
                format!("rows with claims: {}", rows.join(", "))
            }
        }
    }

    fn knows(&self, id: &str) -> bool {
        self.claims.iter().any(|claim| claim.id == id) || self.unasked.iter().any(|unasked| unasked.id == id)
    }
}

#[cfg(test)]
mod tests;
