//! How the products did on other applications.

use crate::sweep::Row;
use crate::tune::pool::{Pool, space};
use crate::tune::{Error, search::Prior};
use hearth_features::Model;
use hearth_workload::{Profile, Workload};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The experience that is part of Hearth, by model: the programs of the suite. `hearth study learn` computes it.
const BUILT_IN: [(&str, &[u8]); 2] = [
    ("family", include_bytes!("../../data/family.json.zst")),
    ("warm", include_bytes!("../../data/warm.json.zst")),
];

/// The times of a model's products for some applications.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Experience {
    pub model: String,
    pub products: Vec<String>,
    pub applications: Vec<Application>,
}

/// A workload on a machine under a governor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Application {
    pub workload: String,
    pub machine: String,
    pub governor: String,
    /// `None` if the workload is not one that Hearth can find by its name.
    pub profile: Option<Profile>,
    /// Mean time of each product in seconds. `None` if a run did not complete.
    pub times: Vec<Option<f64>>,
}

impl Application {
    /// The program: the workload's name up to the first `-`, or the generator's up to `:`. Recordings of one program
    /// are alike, so a test of what was learned leaves out all of them.
    pub fn program(&self) -> &str {
        self.workload.split(['-', ':']).next().unwrap_or_default()
    }

    /// For each product, by how much it is slower than the best one; 0.1 is 10%. Products that failed count as 20
    /// times slower than the best one.
    pub(crate) fn regrets(&self) -> Vec<f64> {
        let best = self.times.iter().flatten().copied().fold(f64::INFINITY, f64::min);
        self.times.iter().map(|time| time.map_or(19.0, |time| time / best - 1.0)).collect()
    }
}

/// The times of the runs of each product. `None`: a run did not complete.
type TimesByProduct<'r> = BTreeMap<&'r str, Vec<Option<f64>>>;

impl Experience {
    /// What Hearth brings for this model, if it does.
    ///
    /// # Panics
    /// If the file in the source is not valid, which a test checks.
    pub fn built_in(model: &str) -> Option<Experience> {
        let (_, file) = BUILT_IN.iter().find(|(name, _)| *name == model)?;
        let text = zstd::decode_all(*file).expect("a test decodes it");
        Some(serde_json::from_slice(&text).expect("a test parses it"))
    }

    /// What the tables of `hearth study run` say of the model's products.
    ///
    /// # Errors
    /// If no product has a completed run.
    pub fn of(rows: &[Row], model: &Model) -> Result<Experience, Error> {
        let space = space(model);
        let mut products: Vec<String> = Vec::new();
        let mut found: BTreeMap<(&str, &str, &str), TimesByProduct> = BTreeMap::new();
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        for row in rows.iter().filter(|row| row.params.is_empty()) {
            let name = row.policy.as_str();
            let is_product = *known.entry(name).or_insert_with(|| {
                let is = space.features_of(name).is_some();
                if is {
                    products.push(name.to_owned());
                }
                is
            });
            if is_product {
                let application = (row.workload.as_str(), row.machine.as_str(), row.governor.as_str());
                found.entry(application).or_default().entry(name).or_default().push(row.time_s);
            }
        }
        let applications = found.into_iter().map(|((workload, machine, governor), times)| Application {
            workload: workload.to_owned(),
            machine: machine.to_owned(),
            governor: governor.to_owned(),
            profile: Workload::resolve(workload).ok().and_then(|workload| workload.profile()),
            times: products.iter().map(|name| times.get(name.as_str()).and_then(|all| mean(all))).collect(),
        });
        let applications: Vec<_> = applications.filter(|one| one.times.iter().any(Option::is_some)).collect();
        if applications.is_empty() {
            return Err(Error::NoProduct { model: model.name().to_owned() });
        }
        Ok(Experience { model: model.name().to_owned(), products, applications })
    }

    /// # Errors
    /// If the file cannot be read, or is no experience.
    pub fn load(path: &Path) -> Result<Experience, Error> {
        let failed = |source| Error::Unreadable { path: path.to_owned(), source };
        let text = zstd::decode_all(&*fs::read(path).map_err(failed)?).map_err(failed)?;
        serde_json::from_slice(&text).map_err(|source| Error::NotExperience { path: path.to_owned(), source })
    }

    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Error> {
        let failed = |source| Error::Unwritable { path: path.to_owned(), source };
        let text = serde_json::to_vec(&self.rounded()).map_err(|error| failed(error.into()))?;
        let packed = zstd::encode_all(&*text, 19).map_err(failed)?;
        hearth_base::file::write(path, &packed).map_err(failed)
    }

    /// With four digits, which suffice.
    fn rounded(&self) -> Experience {
        let mut all = self.clone();
        for time in all.applications.iter_mut().flat_map(|one| &mut one.times).flatten() {
            *time = format!("{time:.3e}").parse().unwrap_or(*time);
        }
        all
    }

    /// What is known about the products of `pool` from the applications that `counts` selects. Those whose profile is like
    /// `profile` weigh more; without a profile, all weigh the same.
    pub fn learned(
        &self,
        pool: &Pool,
        profile: Option<&Profile>,
        counts: impl Fn(&Application) -> bool,
    ) -> Option<Prior> {
        let applications: Vec<&Application> = self.applications.iter().filter(|one| counts(one)).collect();
        let position: Vec<Option<usize>> =
            pool.names.iter().map(|name| self.products.iter().position(|product| product == name)).collect();
        let regrets: Vec<Vec<f64>> = applications
            .iter()
            .map(|one| {
                let all = one.regrets();
                position.iter().map(|at| at.map_or(f64::NAN, |at| all[at])).collect()
            })
            .collect();
        // Nothing is known about a product of another model.
        if regrets.is_empty() || regrets[0].iter().any(|regret| regret.is_nan()) {
            return None;
        }
        let profiles: Option<Vec<&Profile>> = applications.iter().map(|one| one.profile.as_ref()).collect();
        let weights = match (profile, profiles) {
            (Some(profile), Some(profiles)) => likeness(profile, &profiles),
            _ => vec![1.0; regrets.len()],
        };
        let labels = applications.iter().map(|one| (one.workload.clone(), one.machine.clone())).collect();
        Some(Prior::new(labels, regrets, weights))
    }
}

/// Mean of the times, if all runs completed.
fn mean(times: &[Option<f64>]) -> Option<f64> {
    let all = times.iter().copied().collect::<Option<Vec<f64>>>()?;
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

/// How like the profile each of the others is: a normal density of their distance, as wide as the distance of the
/// nearest tenth.
fn likeness(profile: &Profile, others: &[&Profile]) -> Vec<f64> {
    let coordinates: Vec<Vec<f64>> = others.iter().map(|one| coordinates(one)).collect();
    let wanted = coordinates_of_like(profile, &coordinates);
    let mut sorted = wanted.clone();
    sorted.sort_by(f64::total_cmp);
    let width = sorted[(sorted.len() / 10).max(1).min(sorted.len() - 1)].max(1e-3);
    wanted.iter().map(|distance| (-0.5 * (distance / width).powi(2)).exp()).collect()
}

/// The distance from the profile to each of the others, in standard deviations of the others.
fn coordinates_of_like(profile: &Profile, others: &[Vec<f64>]) -> Vec<f64> {
    let (own, n) = (coordinates(profile), others.len() as f64);
    let mut squares = vec![0.0; others.len()];
    for axis in 0..own.len() {
        let mean = others.iter().map(|one| one[axis]).sum::<f64>() / n;
        let variance = others.iter().map(|one| (one[axis] - mean).powi(2)).sum::<f64>() / n;
        for (sum, other) in squares.iter_mut().zip(others) {
            *sum += (other[axis] - own[axis]).powi(2) / variance.max(1e-6);
        }
    }
    squares.into_iter().map(f64::sqrt).collect()
}

/// The profile as numbers: shares as they are, all else as orders of magnitude.
fn coordinates(profile: &Profile) -> Vec<f64> {
    let log = |value: f64| value.ln_1p();
    vec![
        log(profile.parallelism),
        profile.idle,
        profile.serial,
        profile.wide,
        log(profile.burst_us),
        log(profile.long_burst_us),
        log(profile.gap_us),
        log(profile.forks_per_s),
        log(profile.wakeups_per_s),
        profile.barriers,
    ]
}
