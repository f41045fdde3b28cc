//! The simulations that claims need, each once, and the results of the claims.

mod measure;
mod observe;
mod result;

pub use measure::Run;
pub use observe::{Observation, RampTimes, Watch};
pub use result::{
    ClaimResult, MachineResult, NamedQuantity, NamedSide, Reproduction, Score, SettingResult, Tally,
    UntestedRow,
};

use crate::Error;
use crate::claims::{Book, Claim, Quantity, Side};
use crate::statistics::{Change, difference, mean_of};
use hearth_sim::{Job, SimError, World};
use measure::{Runs, measure};
use observe::Observer;
use result::MeanMetrics;

/// The simulations of a list of claims.
pub struct Plan<'b> {
    book: &'b Book,
    claims: Vec<Planned<'b>>,
    points: Vec<Point<'b>>,
    /// The world of all points, if not each claim's own.
    world: Option<World>,
}

struct Planned<'b> {
    claim: &'b Claim,
    /// For each machine of the claim, the sides of the quantity and of the one that is subtracted, for each of its
    /// workloads.
    sides: Vec<(Vec<Sides>, Option<Vec<Sides>>)>,
}

/// Where the sides of a quantity are among the points.
#[derive(Clone, Copy)]
struct Sides {
    subject: usize,
    baseline: Option<usize>,
}

/// A setting to simulate, under each seed.
struct Point<'b> {
    workload: usize,
    machine: usize,
    world: World,
    side: &'b Side,
    watches: Vec<Watch>,
}

impl<'b> Point<'b> {
    fn is(&self, workload: usize, machine: usize, world: World, side: &Side) -> bool {
        let same = |side: &Side| (side.policy, side.governor) == (self.side.policy, self.side.governor);
        (self.workload, self.machine, self.world) == (workload, machine, world)
            && same(side)
            && side.params == self.side.params
    }
}

impl<'b> Plan<'b> {
    /// The simulations that these claims of the book need.
    pub fn new(book: &'b Book, claims: &[&'b Claim]) -> Self {
        let mut points: Vec<Point> = Vec::new();
        let claims = claims
            .iter()
            .map(|claim| {
                let mut sides = |machine: usize| {
                    let mut of = |quantity: &'b Quantity| sides(&mut points, quantity, machine);
                    (of(&claim.quantity), claim.than.as_ref().map(of))
                };
                Planned { claim, sides: claim.machines.iter().map(|&machine| sides(machine)).collect() }
            })
            .collect();
        Plan { book, claims, points, world: None }
    }

    /// The same simulations, all in this world.
    pub fn in_world(self, world: World) -> Self {
        Plan { world: Some(world), ..self }
    }

    /// The jobs of each point, with seeds 1 to `runs`.
    pub fn jobs(&self, runs: u64) -> Vec<Job<'b>> {
        let book = self.book;
        let job = |point: &Point<'b>, seed| Job {
            governor: point.side.governor,
            params: &point.side.params,
            seed,
            world: self.world.unwrap_or(point.world),
            ..Job::new(
                book.workloads.get(point.workload),
                book.machines.get(point.machine),
                book.policies.get(point.side.policy),
            )
        };
        self.points.iter().flat_map(|point| (1..=runs).map(move |seed| job(point, seed))).collect()
    }

    /// Number of simulations, with this number of runs of each point.
    pub fn simulations(&self, runs: u64) -> usize {
        self.points.len() * runs as usize
    }

    /// Simulates and evaluates the claims, on `threads` threads (0 means one per core). Calls `done` after each
    /// simulation, from several threads.
    pub fn run(&self, runs: u64, threads: usize, done: impl Fn() + Sync) -> Result<Reproduction<'b>, Error> {
        let outcomes = hearth_sim::map_jobs(&self.jobs(runs), threads, |number, job| {
            let mut observer =
                Observer::new(&self.points[number / runs as usize].watches, &hearth_sim::header(job));
            let outcome = hearth_sim::run(job, &mut observer);
            done();
            outcome.map(|outcome| Run { seen: observer.finish(outcome.header.duration), outcome })
        });
        self.evaluate(runs, outcomes)
    }

    /// Evaluates the claims. `outcomes` are those of [`jobs`](Self::jobs), in that order.
    pub fn evaluate(
        &self,
        runs: u64,
        outcomes: Vec<Result<Run, SimError>>,
    ) -> Result<Reproduction<'b>, Error> {
        let runs_of_points = outcomes
            .into_iter()
            .enumerate()
            .map(|(i, outcome)| outcome.map_err(|error| self.failed(&self.points[i / runs as usize], error)))
            .collect::<Result<Vec<_>, Error>>()?;
        let points: Vec<&[Run]> = runs_of_points.chunks(runs as usize).collect();
        let claims = self.claims.iter().map(|planned| self.result(planned, &points)).collect();
        let setting = |(point, runs): (&Point<'b>, &&[Run])| {
            SettingResult::new(self.book, point.workload, point.machine, point.side, runs)
        };
        let settings = self.points.iter().zip(&points).map(setting).collect();
        Ok(Reproduction::new(runs, claims, &self.book.unasked, settings))
    }

    fn failed(&self, point: &Point, source: SimError) -> Error {
        let book = self.book;
        Error::Claim {
            workload: book.workloads.name(point.workload).into(),
            machine: book.machines.name(point.machine).into(),
            policy: book.policies.name(point.side.policy).into(),
            source: Box::new(source),
        }
    }

    fn result(&self, planned: &Planned<'b>, points: &[&[Run]]) -> ClaimResult<'b> {
        let Planned { claim, sides } = planned;
        let results = claim.machines.iter().zip(sides).map(|(&machine, (sides, than))| {
            let own = self.value(&claim.quantity, sides, points);
            let other = claim.than.as_ref().zip(than.as_ref());
            let change =
                other.map_or(own, |(than, sides)| difference(&own, &self.value(than, sides, points)));
            let all =
                |side: fn(&Sides) -> Option<usize>| sides.iter().filter_map(side).flat_map(|i| points[i]);
            MachineResult {
                machine: self.book.machines.name(machine),
                value: change.value,
                ci95: change.ci95,
                in_range: (claim.range[0]..=claim.range[1]).contains(&change.value),
                subject: MeanMetrics::of(all(|sides| Some(sides.subject))),
                baseline: claim
                    .quantity
                    .baseline
                    .as_ref()
                    .map(|_| MeanMetrics::of(all(|sides| sides.baseline))),
            }
        });
        ClaimResult::new(self.book, claim, results.collect())
    }

    /// The mean over the workloads.
    fn value(&self, quantity: &Quantity, sides: &[Sides], points: &[&[Run]]) -> Change {
        let runs = |index: usize| {
            let watches = &self.points[index].watches;
            let watch =
                Watch::of(quantity).and_then(|watch| watches.iter().position(|known| *known == watch));
            Runs { runs: points[index], watch }
        };
        let one = |sides: &Sides| measure(&quantity.metric, runs(sides.subject), sides.baseline.map(runs));
        mean_of(&sides.iter().map(one).collect::<Vec<_>>())
    }
}

/// The points of a quantity's sides, for each of its workloads. Adds those that are missing, and what the quantity
/// watches.
fn sides<'b>(points: &mut Vec<Point<'b>>, quantity: &'b Quantity, machine: usize) -> Vec<Sides> {
    let watch = Watch::of(quantity);
    let mut number = |workload: usize, side: &'b Side| {
        let machine = side.machine.unwrap_or(machine);
        let known = points.iter().position(|point| point.is(workload, machine, quantity.world, side));
        let index = known.unwrap_or_else(|| {
            points.push(Point { workload, machine, world: quantity.world, side, watches: Vec::new() });
            points.len() - 1
        });
        let watches = &mut points[index].watches;
        watches.extend(watch.clone().filter(|watch| !watches.contains(watch)));
        index
    };
    let mut sides = |&workload: &usize| Sides {
        subject: number(workload, &quantity.subject),
        baseline: quantity.baseline.as_ref().map(|side| number(workload, side)),
    };
    quantity.workloads.iter().map(&mut sides).collect()
}

#[cfg(test)]
mod tests;
