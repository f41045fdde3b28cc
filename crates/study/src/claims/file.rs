//! The format of a file of claims.

use super::{Book, Claim, Metric, Quantity, Side, UntestedClaim, Until, row};
use crate::Error;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Settings, Spec, load};
use hearth_sim::{Native, World};
use hearth_workload::Workload;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileOfClaims {
    /// What every machine of the file gets: `KEY=VALUE,...`.
    #[serde(default)]
    every_machine: String,
    /// What surrounds the runs of the file; nothing if it is missing.
    world: Option<String>,
    /// Groups of workloads by name.
    #[serde(default)]
    groups: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    claim: Vec<ClaimEntry>,
    #[serde(default)]
    unasked: Vec<UnaskedEntry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    id: Spanned<String>,
    paper: String,
    says: String,
    workload: Spanned<String>,
    machines: Spanned<Vec<Spanned<String>>>,
    subject: Spanned<String>,
    baseline: Option<Spanned<String>>,
    metric: Spanned<Metric>,
    until: Option<Spanned<Until>>,
    than: Option<Spanned<ThanEntry>>,
    range: Spanned<[f64; 2]>,
}

/// What differs in the quantity that is subtracted.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ThanEntry {
    workload: Option<Spanned<String>>,
    machine: Option<Spanned<String>>,
    subject: Option<Spanned<String>>,
    baseline: Option<Spanned<String>>,
    metric: Option<Spanned<Metric>>,
    until: Option<Spanned<Until>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UnaskedEntry {
    id: Spanned<String>,
    paper: String,
    says: String,
    why: Spanned<String>,
}

/// A quantity as the file states it.
struct Stated<'a> {
    workload: &'a Spanned<String>,
    machine: Option<&'a Spanned<String>>,
    subject: &'a Spanned<String>,
    baseline: Option<&'a Spanned<String>>,
    metric: &'a Spanned<Metric>,
    until: Option<&'a Spanned<Until>>,
}

impl ClaimEntry {
    fn quantity(&self) -> Stated<'_> {
        Stated {
            workload: &self.workload,
            machine: None,
            subject: &self.subject,
            baseline: self.baseline.as_ref(),
            metric: &self.metric,
            until: self.until.as_ref(),
        }
    }

    /// The quantity that is subtracted: the claim's, with what `than` replaces.
    fn subtracted<'a>(&'a self, than: &'a ThanEntry) -> Stated<'a> {
        let own = self.quantity();
        Stated {
            workload: than.workload.as_ref().unwrap_or(own.workload),
            machine: than.machine.as_ref(),
            subject: than.subject.as_ref().unwrap_or(own.subject),
            baseline: than.baseline.as_ref().or(own.baseline),
            metric: than.metric.as_ref().unwrap_or(own.metric),
            until: than.until.as_ref().or(own.until),
        }
    }
}

/// Parses a file of claims into the book. `name` is the file's name in errors.
pub(super) fn parse(book: &mut Book, name: &str, text: &str) -> Result<(), Error> {
    let file: FileOfClaims =
        toml::from_str(text).map_err(|error| Error::claims(format_args!("{name}: {error}")))?;
    if file.claim.is_empty() && file.unasked.is_empty() {
        return Err(Error::claims(format_args!("{name}: the file has no claims"))
            .with_help("begin one with [[claim]]"));
    }
    let world = file.world.as_deref().map_or(Ok(World::default()), str::parse);
    let world = world.map_err(|error| Error::claims(format_args!("{name}: {error}")))?;
    let (every_machine, groups) = (&*file.every_machine, &file.groups);
    for entry in &file.claim {
        let place = Place { name, text, id: entry.id.get_ref(), every_machine, groups, world };
        let claim = book.claim(entry, &place)?;
        book.claims.push(claim);
    }
    for entry in file.unasked {
        let place = Place { name, text, id: entry.id.get_ref(), every_machine, groups, world };
        book.check_id(&entry.id, &place)?;
        if entry.why.get_ref().trim().is_empty() {
            return Err(place.fail(&entry.why, "it does not say why it is not asked"));
        }
        if book.claims.iter().any(|claim| claim.row() == row(place.id)) {
            return Err(place.fail(&entry.id, "a claim asks this row").with_help("remove one of the two"));
        }
        let (id, why) = (entry.id.into_inner(), entry.why.into_inner());
        book.unasked.push(UntestedClaim { id, paper: entry.paper, says: entry.says, why });
    }
    Ok(())
}

impl Book {
    fn check_id(&self, id: &Spanned<String>, place: &Place) -> Result<(), Error> {
        if id.get_ref().is_empty() || self.knows(id.get_ref()) {
            return Err(place
                .fail(id, "its id is empty, or another claim has it")
                .with_help("give each claim its own id"));
        }
        Ok(())
    }

    fn claim(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Claim, Error> {
        self.check_id(&entry.id, place)?;
        let range = *entry.range.get_ref();
        let [low, high] = range;
        if !(low <= high && low < f64::INFINITY && high > f64::NEG_INFINITY) {
            return Err(place
                .fail(&entry.range, format_args!("the range [{low}, {high}] is empty"))
                .with_help(
                    "write [lowest, highest]; for a point the same number twice; inf or -inf for an open end",
                ));
        }
        if low.is_infinite() && high.is_infinite() {
            return Err(place
                .fail(&entry.range, "any value is in the range")
                .with_help("give one end a number"));
        }
        let than = entry.than.as_ref().map(|than| entry.subtracted(than.get_ref()));
        Ok(Claim {
            id: entry.id.get_ref().clone(),
            paper: entry.paper.clone(),
            says: entry.says.clone(),
            machines: self.machines_of(entry, place)?,
            quantity: self.quantity(&entry.quantity(), place)?,
            than: than.map(|than| self.quantity(&than, place)).transpose()?,
            range,
        })
    }

    fn machines_of(&mut self, entry: &ClaimEntry, place: &Place) -> Result<Vec<usize>, Error> {
        if entry.machines.get_ref().is_empty() {
            return Err(place.fail(&entry.machines, "it names no machine"));
        }
        let mut machines = Vec::new();
        for machine in entry.machines.get_ref() {
            let index = self.machine(machine.get_ref(), machine, place)?;
            if machines.contains(&index) {
                return Err(place.fail(machine, format_args!("it names `{}` twice", machine.get_ref())));
            }
            machines.push(index);
        }
        Ok(machines)
    }

    fn machine(&mut self, name: &str, at: &Spanned<String>, place: &Place) -> Result<usize, Error> {
        let name = place.machine(name);
        self.machines.load(&name, Machine::load).map_err(|error| place.fail(at, error))
    }

    fn quantity(&mut self, stated: &Stated, place: &Place) -> Result<Quantity, Error> {
        let (metric, until) = (stated.metric.get_ref(), stated.until.map(Spanned::get_ref));
        if metric.compares() && stated.baseline.is_none() {
            return Err(place
                .fail(stated.metric, "this metric needs a baseline")
                .with_help("add baseline = \"cfs schedutil\""));
        }
        if let Some(baseline) = stated.baseline.filter(|_| *metric == Metric::Deviation) {
            return Err(place
                .fail(baseline, format_args!("the {metric} has no baseline"))
                .with_help("remove it"));
        }
        if until.is_some() && !metric.of_parts() {
            return Err(place
                .fail(stated.metric, format_args!("the {metric} is known of whole runs only"))
                .with_help("remove until"));
        }
        let machine = stated.machine.map(|at| self.machine(at.get_ref(), at, place)).transpose()?;
        let mut side = |at: &Spanned<String>| {
            let side = self.side(at, place)?;
            Ok::<Side, Error>(Side { machine: side.machine.or(machine), ..side })
        };
        let (subject, baseline) = (side(stated.subject)?, stated.baseline.map(side).transpose()?);
        let (workload, workloads) = self.workloads_of(stated.workload, place)?;
        if let Some(at) = stated.until {
            for &index in &workloads {
                check_end(at, self.workloads.get(index), place)?;
            }
        }
        Ok(Quantity {
            workload,
            workloads,
            world: place.world,
            metric: metric.clone(),
            subject,
            baseline,
            until: until.cloned(),
        })
    }

    /// The workload's name, and the index of the workload or of each of the group.
    fn workloads_of(&mut self, at: &Spanned<String>, place: &Place) -> Result<(String, Vec<usize>), Error> {
        let name = at.get_ref();
        let group = place.groups.get(name).map_or(std::slice::from_ref(name), Vec::as_slice);
        if group.is_empty() {
            return Err(place.fail(at, format_args!("the group `{name}` has no workload")));
        }
        let mut load = |name: &String| {
            self.workloads.load(name, Workload::resolve).map_err(|error| place.fail(at, error))
        };
        Ok((name.clone(), group.iter().map(&mut load).collect::<Result<_, _>>()?))
    }

    /// Parses `POLICY[:NAME=VALUE,...] GOVERNOR [on MACHINE]`.
    fn side(&mut self, at: &Spanned<String>, place: &Place) -> Result<Side, Error> {
        let words: Vec<&str> = at.get_ref().split_whitespace().collect();
        let (spec, governor, machine) = match words[..] {
            [spec, governor] => (spec, governor, None),
            [spec, governor, "on", machine] => (spec, governor, Some(machine)),
            _ => {
                return Err(place
                    .fail(at, format_args!("`{}` is not a policy and a governor", at.get_ref()))
                    .with_help("write \"nest schedutil\", \"nest:s_max=4ms performance\" or \"cfs schedutil on xeon-5218\""));
            }
        };
        let governor: Governor = governor.parse().map_err(|error| place.fail(at, error))?;
        let machine = machine.map(|name| self.machine(name, at, place)).transpose()?;
        let spec: Spec = spec.parse().map_err(|error| place.fail(at, error))?;
        let index = self.policies.load(&spec.source, |name| {
            let policy = load(name).map_err(|error| place.because(at, &error.into()))?;
            Native::build(policy).map_err(|error| place.fail(at, error))
        })?;
        let policy = self.policies.get(index).policy();
        let mut params = Settings::default();
        for assignment in &spec.params {
            let set = params.set(policy, &assignment.name, &assignment.value);
            set.map_err(|error| place.because(at, &error.into()))?;
        }
        Ok(Side { policy: index, governor, params, machine })
    }
}

/// Checks that the end of a part occurs in the workload.
fn check_end(at: &Spanned<Until>, workload: &Workload, place: &Place) -> Result<(), Error> {
    let missing = |what: String| Err(place.fail(at, format_args!("the workload has no {what}")));
    match at.get_ref() {
        Until::Seconds(seconds) if !(*seconds > 0.0 && seconds.is_finite()) => {
            Err(place.fail(at, format_args!("{seconds} is not a positive number of seconds")))
        }
        Until::Exec(name) if !workload.program_names().contains(name) => missing(format!("program `{name}`")),
        Until::Exit(name) if !workload.threads.iter().any(|thread| thread.name == *name) => {
            missing(format!("thread `{name}`"))
        }
        _ => Ok(()),
    }
}

/// The place of an error: a claim in a file.
struct Place<'a> {
    name: &'a str,
    text: &'a str,
    id: &'a str,
    every_machine: &'a str,
    groups: &'a BTreeMap<String, Vec<String>>,
    world: World,
}

impl Place<'_> {
    /// The name of a machine with what every machine of the file gets.
    fn machine(&self, name: &str) -> String {
        match (self.every_machine, name.contains(':')) {
            ("", _) => name.to_owned(),
            (all, false) => format!("{name}:{all}"),
            (all, true) => format!("{name},{all}"),
        }
    }

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
