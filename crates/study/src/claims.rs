//! A file of claims: what a paper found, and how to look for it. Everything that a claim names is loaded here.

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

/// All claims of a file, with what they are about. Claims refer to it by number.
pub struct Book {
    pub claims: Vec<Claim>,
    pub workloads: Pool<Workload>,
    pub machines: Pool<Machine>,
    pub policies: Pool<Native>,
}

/// A result that a paper states, and the range that it gives.
pub struct Claim {
    pub id: String,
    /// Where it stands, and what it says.
    pub paper: String,
    pub says: String,
    pub workload: usize,
    /// Each once; at least one.
    pub machines: Vec<usize>,
    pub subject: Side,
    /// What the subject is compared with, if the metric compares.
    pub baseline: Option<Side>,
    pub metric: Metric,
    /// What the paper gives, both ends included.
    pub range: [f64; 2],
}

/// A policy under a governor.
#[derive(PartialEq)]
pub struct Side {
    pub policy: usize,
    pub governor: Governor,
    pub params: Settings,
}

/// What a claim is about.
#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// See [`speedup`](crate::statistics::speedup), of times.
    Speedup,
    /// See [`saving`](crate::statistics::saving), of energies.
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

/// Things that were loaded, each once, by the name under which they were asked for.
pub struct Pool<T>(Vec<(String, T)>);

impl<T> Pool<T> {
    fn load<E>(&mut self, name: &str, load: impl FnOnce(&str) -> Result<T, E>) -> Result<usize, E> {
        if let Some(index) = self.0.iter().position(|(known, _)| known == name) {
            return Ok(index);
        }
        self.0.push((name.to_owned(), load(name)?));
        Ok(self.0.len() - 1)
    }

    /// The thing with this number.
    pub fn get(&self, index: usize) -> &T {
        &self.0[index].1
    }

    /// The name under which it was asked for.
    pub fn name(&self, index: usize) -> &str {
        &self.0[index].0
    }
}

// ---- the file ---------------------------------------------------------------------------------------------

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

// ---- from the file to claims ------------------------------------------------------------------------------

impl Book {
    /// The papers' claims, which are built in.
    pub fn built_in() -> Result<Book, Error> {
        Book::parse("experiments/claims.toml", BUILT_IN)
    }

    /// `name` is what the file is called in errors.
    pub fn parse(name: &str, text: &str) -> Result<Book, Error> {
        let file: FileOfClaims =
            toml::from_str(text).map_err(|error| Error::claims(format_args!("{name}: {error}")))?;
        if file.claim.is_empty() {
            return Err(Error::claims(format_args!("{name}: there are no claims in it"))
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

    /// The claims whose id begins with one of `starts`; all of them if there is none.
    ///
    /// # Errors
    /// One of `starts` begins no id.
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
                .fail(&entry.id, "this id is empty, or another claim has it")
                .with_help("give each claim its own"));
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
            Some(side) => Err(place
                .fail(side, "overload is the subject's own: it is compared with no baseline")
                .with_help("leave the baseline out")),
            None if entry.metric.get_ref().compares() => Err(place
                .fail(&entry.metric, "this metric compares with a baseline, and there is none")
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

/// Where an error is: the file, and the claim in it.
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

    /// The same, with the help that comes with `error`.
    fn because<T>(&self, at: &Spanned<T>, error: &Error) -> Error {
        match error.help() {
            Some(help) => self.fail(at, error).with_help(help),
            None => self.fail(at, error),
        }
    }
}

#[cfg(test)]
mod tests;
