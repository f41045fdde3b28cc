//! The claims' file: what a paper found, and how to look for it. Everything that it names is loaded here.

use crate::failure::Failure;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, load};
use hearth_sim::Native;
use hearth_workload::Workload;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use toml::Spanned;

/// All claims of a file, with what they are about. Claims refer to it by number.
pub struct Book {
    pub claims: Vec<Claim>,
    pub workloads: Pool<Workload>,
    pub machines: Pool<Machine>,
    pub policies: Pool<Native>,
}

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

#[derive(Clone, Copy, PartialEq, Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    Speedup,
    EnergySaving,
    Underload,
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

    pub fn get(&self, index: usize) -> &T {
        &self.0[index].1
    }

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
    /// `name` is what the file is called in errors.
    pub fn parse(name: &str, text: &str) -> Result<Book, Failure> {
        let file: FileOfClaims =
            toml::from_str(text).map_err(|error| Failure::new(format_args!("{name}: {error}")))?;
        if file.claim.is_empty() {
            return Err(Failure::new(format_args!("{name}: there are no claims in it"))
                .help("begin one with [[claim]]"));
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

    fn claim(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Claim, Failure> {
        let id = entry.id.get_ref();
        if id.is_empty() || self.claims.iter().any(|claim| claim.id == *id) {
            return Err(place
                .fail(&entry.id, "this id is empty, or another claim has it")
                .help("give each claim its own"));
        }
        let [low, high] = *entry.range.get_ref();
        if !(low.is_finite() && high.is_finite() && low <= high) {
            return Err(place
                .fail(&entry.range, format_args!("the range [{low}, {high}] is empty"))
                .help("write [lowest, highest], both finite; for a point the same number twice"));
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

    fn machines_of(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Vec<usize>, Failure> {
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

    fn baseline(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Option<Side>, Failure> {
        match &entry.baseline {
            Some(side) if entry.metric.get_ref().compares() => self.side(side.get_ref(), place).map(Some),
            Some(side) => Err(place
                .fail(side, "overload is the subject's own: it is compared with no baseline")
                .help("leave the baseline out")),
            None if entry.metric.get_ref().compares() => Err(place
                .fail(&entry.metric, "this metric compares with a baseline, and there is none")
                .help("add baseline = { policy = \"cfs\", governor = \"schedutil\" }")),
            None => Ok(None),
        }
    }

    fn side(&mut self, entry: &SideEntry, place: &Place) -> Result<Side, Failure> {
        let name = entry.policy.get_ref();
        let index = self.policies.load(name, |name| {
            let policy =
                load(name).map_err(|error| helped(place.fail(&entry.policy, &error), error.help()))?;
            Native::build(policy).map_err(|error| place.fail(&entry.policy, error))
        })?;
        let policy = self.policies.get(index).policy();
        let mut params = Settings::default();
        for (name, value) in &entry.params {
            params
                .set(policy, name, value.get_ref())
                .map_err(|error| helped(place.fail(value, &error), error.help()))?;
        }
        Ok(Side { policy: index, governor: entry.governor, params })
    }
}

fn helped(failure: Failure, help: Option<String>) -> Failure {
    match help {
        Some(help) => failure.help(help),
        None => failure,
    }
}

/// Where an error is: the file, and the claim in it.
struct Place<'a> {
    name: &'a str,
    text: &'a str,
    id: &'a str,
}

impl Place<'_> {
    fn fail<T>(&self, at: &Spanned<T>, what: impl Display) -> Failure {
        let Range { start, .. } = at.span();
        let line = 1 + self.text.bytes().take(start).filter(|byte| *byte == b'\n').count();
        Failure::new(format_args!("{}:{line}: claim `{}`: {what}", self.name, self.id))
    }
}

#[cfg(test)]
mod tests;
