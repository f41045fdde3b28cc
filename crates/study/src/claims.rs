//! Files of claims: results that a paper states, and the simulations that reproduce them. Loads everything that a claim
//! names.

use crate::Error;
use crate::error::did_you_mean;
use hearth_base::suggest::closest;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::Native;
use hearth_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use toml::Spanned;

/// The papers' claims: experiments/claims.toml.
const BUILT_IN: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/claims.toml"));

/// All claims of a file, and the workloads, machines and policies to which they refer by index.
pub struct Book {
    pub claims: Vec<Claim>,
    pub workloads: Pool<Workload>,
    pub machines: Pool<Machine>,
    pub policies: Pool<Native>,
}

/// A result that a paper states, and the range that it gives.
pub struct Claim {
    pub id: String,
    /// Paper and section.
    pub paper: String,
    /// The claim in words.
    pub says: String,
    pub workload: usize,
    /// Indices of at least one machine, without duplicates.
    pub machines: Vec<usize>,
    pub subject: Side,
    /// The baseline of the comparison, if the metric has one.
    pub baseline: Option<Side>,
    pub metric: Metric,
    /// The range of the paper, both ends included.
    pub range: [f64; 2],
}

/// A policy with parameters under a governor.
#[derive(PartialEq)]
pub struct Side {
    pub policy: usize,
    pub governor: Governor,
    pub params: Settings,
}

/// The metric of a claim.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// [`speedup`](crate::statistics::speedup) of the run times.
    Speedup,
    /// [`saving`](crate::statistics::saving) of the energies.
    EnergySaving,
    /// The subject's underload per second, divided by the baseline's.
    Underload,
    /// The subject's overload, in core-milliseconds per second.
    Overload,
}

impl Metric {
    fn compares(self) -> bool {
        self != Metric::Overload
    }
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

// ---- File format ------------------------------------------------------------------------------------------

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOfClaims {
    #[serde(default)]
    claim: Vec<ClaimEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    id: Spanned<String>,
    paper: String,
    says: String,
    workload: Spanned<String>,
    machines: Spanned<Vec<Spanned<String>>>,
    subject: SideEntry,
    baseline: Option<Spanned<SideEntry>>,
    metric: Spanned<Metric>,
    range: Spanned<[f64; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SideEntry {
    policy: Spanned<String>,
    governor: Governor,
    #[serde(default)]
    params: BTreeMap<String, Spanned<String>>,
}

// ---- Parsing ----------------------------------------------------------------------------------------------

impl Book {
    /// The built-in claims of the papers.
    pub fn built_in() -> Result<Book, Error> {
        Book::parse("experiments/claims.toml", BUILT_IN)
    }

    /// Parses a file of claims. `name` is the file's name in errors.
    ///
    /// # Errors
    /// The first error, with its line and claim.
    pub fn parse(name: &str, text: &str) -> Result<Book, Error> {
        let file: FileOfClaims =
            toml::from_str(text).map_err(|error| Error::claims(format_args!("{name}: {error}")))?;
        if file.claim.is_empty() {
            return Err(Error::claims(format_args!("{name}: the file has no claims"))
                .with_help("begin one with [[claim]]"));
        }
        let mut book = Book {
            claims: Vec::new(),
            workloads: Pool(Vec::new()),
            machines: Pool(Vec::new()),
            policies: Pool(Vec::new()),
        };
        for entry in file.claim {
            let place = Place { name, text, id: entry.id.get_ref() };
            let claim = book.claim(&entry, &place)?;
            book.claims.push(claim);
        }
        Ok(book)
    }

    /// The claims whose id begins with one of `starts`, or all claims if `starts` is empty.
    ///
    /// # Errors
    /// If no id begins with one of `starts`.
    pub fn starting_with(&self, starts: &[String]) -> Result<Vec<&Claim>, Error> {
        for start in starts {
            if !self.claims.iter().any(|claim| claim.id.starts_with(start)) {
                let ids: Vec<&str> = self.claims.iter().map(|claim| claim.id.as_str()).collect();
                let help = match closest(start, ids.iter().copied()) {
                    Some(near) => did_you_mean(near),
                    None => format!("the claims are: {}", ids.join(", ")),
                };
                return Err(Error::NoClaim { start: start.clone(), help });
            }
        }
        let wanted =
            |claim: &&Claim| starts.is_empty() || starts.iter().any(|start| claim.id.starts_with(start));
        Ok(self.claims.iter().filter(wanted).collect())
    }

    fn claim(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Claim, Error> {
        let id = entry.id.get_ref();
        if id.is_empty() || self.claims.iter().any(|claim| claim.id == *id) {
            return Err(place
                .fail(&entry.id, "its id is empty, or another claim has it")
                .with_help("give each claim its own id"));
        }
        let [low, high] = *entry.range.get_ref();
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(place
                .fail(&entry.range, format_args!("the range [{low}, {high}] is empty"))
                .with_help("write [lowest, highest], both finite; for a point the same number twice"));
        }
        Ok(Claim {
            id: id.clone(),
            paper: entry.paper.clone(),
            says: entry.says.clone(),
            workload: self
                .workloads
                .load(entry.workload.get_ref(), Workload::resolve)
                .map_err(|error| place.fail(&entry.workload, error))?,
            machines: self.machines_of(entry, place)?,
            subject: self.side(&entry.subject, place)?,
            baseline: self.baseline(entry, place)?,
            metric: *entry.metric.get_ref(),
            range: [low, high],
        })
    }

    fn machines_of(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Vec<usize>, Error> {
        if entry.machines.get_ref().is_empty() {
            return Err(place.fail(&entry.machines, "it names no machine"));
        }
        let mut machines = Vec::new();
        for machine in entry.machines.get_ref() {
            let index = self
                .machines
                .load(machine.get_ref(), Machine::load)
                .map_err(|error| place.fail(machine, error))?;
            if machines.contains(&index) {
                return Err(place.fail(machine, format_args!("it names `{}` twice", machine.get_ref())));
            }
            machines.push(index);
        }
        Ok(machines)
    }

    fn baseline(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Option<Side>, Error> {
        match &entry.baseline {
            Some(side) if entry.metric.get_ref().compares() => self.side(side.get_ref(), place).map(Some),
            Some(side) => {
                Err(place.fail(side, "the metric overload has no baseline").with_help("remove the baseline"))
            }
            None if entry.metric.get_ref().compares() => Err(place
                .fail(&entry.metric, "this metric needs a baseline")
                .with_help("add baseline = { policy = \"cfs\", governor = \"schedutil\" }")),
            None => Ok(None),
        }
    }

    fn side(&mut self, entry: &SideEntry, place: &Place) -> Result<Side, Error> {
        let name = entry.policy.get_ref();
        let index = self.policies.load(name, |name| {
            let policy = load(name).map_err(|error| place.because(&entry.policy, &error.into()))?;
            Native::build(policy).map_err(|error| place.fail(&entry.policy, error))
        })?;
        let policy = self.policies.get(index).policy();
        let mut params = Settings::default();
        for (name, value) in &entry.params {
            let set = params.set(policy, name, value.get_ref());
            set.map_err(|error| place.because(value, &error.into()))?;
        }
        Ok(Side { policy: index, governor: entry.governor, params })
    }
}

/// The place of an error: a claim in a file.
struct Place<'a> {
    name: &'a str,
    text: &'a str,
    id: &'a str,
}

impl Place<'_> {
    fn fail<T>(&self, at: &Spanned<T>, what: impl Display) -> Error {
        let Range { start, .. } = at.span();
        let line = 1 + self.text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        Error::claims(format_args!("{}:{line}: claim `{}`: {what}", self.name, self.id))
    }

    /// Like `fail`, with the help of `error`.
    fn because<T>(&self, at: &Spanned<T>, error: &Error) -> Error {
        match error.help() {
            Some(help) => self.fail(at, error).with_help(help),
            None => self.fail(at, error),
        }
    }
}

#[cfg(test)]
mod tests;
