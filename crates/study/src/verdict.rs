//! What a prediction says: the best setting of each machine, and how sure that is.

use crate::prediction::{Row, Setting};
use crate::sensitivity::{Sensitivity, in_words};
use crate::statistics::Change;
use hearth_machine::{Driver, Scaling};
use serde::Serialize;

/// The best setting of a machine, compared with its baseline: the first policy under the first governor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    /// The best, or of slower ones the least slow.
    #[serde(flatten)]
    pub best: Effect,
    pub baseline: String,
    pub baseline_governor: String,
    /// The baseline's policy under the best other governor; `None`: one governor was simulated.
    pub governor_alone: Option<Effect>,
}

/// A setting compared with the baseline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Effect {
    pub conclusion: Conclusion,
    #[serde(flatten)]
    pub setting: Setting,
    pub speedup: f64,
    /// From the lowest to the highest end of all uncertainties below; `None`: one run.
    pub range: Option<[f64; 2]>,
    /// The uncertainty that reaches farthest from the speed-up, in words; may be empty.
    pub mostly: String,
    /// 95% confidence interval over the seeds.
    pub seeds_ci95: Option<[f64; 2]>,
    /// Number of recordings.
    pub recordings: usize,
    /// Whether the workload was recorded, so that another recording differs.
    #[serde(skip)]
    pub recorded: bool,
    /// 95% confidence interval over the recordings; `None`: there is one.
    pub recordings_ci95: Option<[f64; 2]>,
    /// What other assumptions give; `None`: not simulated.
    pub model: Option<Sensitivity>,
    pub energy_saving: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The setting is faster than the baseline.
    Faster,
    /// The setting, the best one, is slower than the baseline.
    Slower,
    /// The setting is not noticeably faster than the baseline.
    NoDifference,
    /// The scatter of seeds or recordings includes no difference, or one run has none.
    CannotTell,
    /// The difference changes its sign with what is assumed.
    DependsOnModel,
}

/// Why a recording gives no verdict.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct NoVerdict {
    pub reason: Reason,
    pub sentence: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The command failed.
    Failed,
    /// A recording is shorter than [`SHORTEST_S`].
    TooShort,
    /// The work of the recordings differs more than twofold.
    TooNoisy,
}

/// A smaller speed-up is none to a user.
pub const NOTICEABLE: f64 = 0.01;

/// Shortest recording that gives a verdict, in seconds. A core takes up to 29 ms to reach its frequency, and the kernel
/// looks at it every 4 ms: what ran before decides a shorter run.
pub const SHORTEST_S: f64 = 0.05;

const DIFFERING: &str = "how much the recordings differ";

/// How far another recording's gain lies from that of the only one. Assumption: a little more than the largest difference of
/// 12 commands' gains, 2.5 points (docs/src/commands.md).
const ONLY_RECORDING: f64 = 0.03;

/// A governor that alone gives this share of the best speed-up is the first thing to try.
const MOST: f64 = 0.5;

/// Results of the papers' claims in range, and all. docs/src/results.md has them; a test compares.
const IN_RANGE: [u32; 2] = [256, 371];

/// How far to trust a verdict, in a line.
pub fn accuracy() -> String {
    let [inside, all] = IN_RANGE;
    format!(
        "Accuracy: {inside} of {all} simulated results are in the range that a paper measured (`hearth reproduce` lists them)."
    )
}

impl NoVerdict {
    /// Checks recordings of one command: its exit status, their lengths in seconds and their work in cycles. Status and
    /// lengths are `None` where they are unknown.
    pub fn of(status: Option<u8>, seconds: &[f64], cycles: &[u64]) -> Option<NoVerdict> {
        let none = |reason, why: String| Some(NoVerdict { reason, sentence: format!("No verdict: {why}.") });
        if let Some(status) = status.filter(|status| *status != 0) {
            return none(Reason::Failed, format!("the command failed (exit status {status})"));
        }
        let shortest = seconds.iter().copied().fold(f64::INFINITY, f64::min);
        if shortest < SHORTEST_S {
            let (took, least) = (shortest * 1e3, SHORTEST_S * 1e3);
            return none(
                Reason::TooShort,
                format!("the recording is too short ({took:.1} ms; at least {least:.0} ms are needed)"),
            );
        }
        let (least, most) = (cycles.iter().min()?, cycles.iter().max()?);
        if most / 2 > *least {
            let why = "the work of the recordings differs more than twofold; a run must not find the results of the \
                       one before: record `sh -c 'make clean && make'`"
                .to_owned();
            return none(Reason::TooNoisy, why);
        }
        None
    }
}

impl Effect {
    fn of(row: &Row) -> Option<Effect> {
        let against = row.against.as_ref()?;
        let effect = Effect {
            conclusion: Conclusion::CannotTell,
            setting: row.setting.clone(),
            speedup: against.speedup.value,
            range: None,
            mostly: String::new(),
            seeds_ci95: against.seeds.ci95,
            recordings: against.recordings,
            recorded: false,
            recordings_ci95: against.speedup.ci95.filter(|_| against.recordings > 1),
            model: None,
            energy_saving: against.saving.value,
        };
        Some(effect.concluded())
    }

    /// The same of a recorded workload.
    #[must_use]
    pub fn of_recording(self) -> Effect {
        Effect { recorded: true, ..self }.concluded()
    }

    /// Adds what other assumptions do to it.
    #[must_use]
    pub fn with(self, model: Sensitivity) -> Effect {
        Effect { model: Some(model), ..self }.concluded()
    }

    /// Finds the range, what dominates it, and the conclusion.
    fn concluded(mut self) -> Effect {
        let model = self.model.as_ref();
        let sources = [
            (self.seeds_ci95, "chance (the seeds)"),
            (self.another_recording(), DIFFERING),
            (model.map(|model| [model.low, model.high]), model.map_or("", |model| in_words(&model.by))),
        ];
        let known = || sources.iter().filter_map(|(ends, words)| Some(((*ends)?, *words)));
        let reach = |[low, high]: [f64; 2]| (self.speedup - low).max(high - self.speedup);
        let widest = known().max_by(|a, b| reach(a.0).total_cmp(&reach(b.0)));
        let range = known().map(|(ends, _)| ends).reduce(|a, b| [a[0].min(b[0]), a[1].max(b[1])]);
        let mostly = widest.map_or("", |(_, words)| words).to_owned();
        let scatter = Change { value: self.speedup, ci95: self.recordings_ci95.or(self.seeds_ci95) };
        let clear = conclusion(scatter.ci95);
        let by_model =
            widest.is_some_and(|(ends, _)| model.is_some_and(|model| ends == [model.low, model.high]));
        self.conclusion = match clear {
            _ if conclusion(range) == clear => clear,
            Conclusion::Faster | Conclusion::Slower if by_model => Conclusion::DependsOnModel,
            _ => Conclusion::CannotTell,
        };
        Effect { range, mostly, ..self }
    }

    /// The 95% prediction interval of another recording: √(n + 1) times as wide as the confidence interval of the mean of n.
    /// Assumed if there is one.
    fn another_recording(&self) -> Option<[f64; 2]> {
        if self.recorded && self.recordings == 1 {
            return Some([self.speedup - ONLY_RECORDING, self.speedup + ONLY_RECORDING]);
        }
        let wider = (self.recordings as f64 + 1.0).sqrt();
        self.recordings_ci95.map(|ends| ends.map(|end| self.speedup + (end - self.speedup) * wider))
    }

    /// `+8.0 to +20.0%, mostly how much of the work waits for memory`
    fn uncertainty(&self) -> String {
        match self.range {
            None => "one run, range unknown".into(),
            Some(range) if self.mostly.is_empty() => span(range),
            Some(range) => format!("{}, mostly {}", span(range), self.mostly),
        }
    }
}

impl Verdict {
    /// The verdict on the rows of one machine; `None` without two settings.
    pub fn of(rows: &[Row]) -> Option<Verdict> {
        let baseline = rows.first()?.setting;
        let best = |alone: bool| {
            let of =
                |setting: &Setting| setting.policy == baseline.policy && setting.params == baseline.params;
            let effects = || rows.iter().filter(|row| !alone || of(row.setting)).filter_map(Effect::of);
            let best = effects().max_by(|a, b| a.speedup.total_cmp(&b.speedup))?;
            // Another governor is a change, too, and another driver a larger one: it has to gain something.
            let as_good = || {
                effects().filter(|effect| {
                    (&effect.setting.policy, &effect.setting.params)
                        == (&best.setting.policy, &best.setting.params)
                        && effect.speedup > best.speedup - NOTICEABLE
                })
            };
            let kept = as_good().find(|effect| effect.setting.governor == baseline.governor);
            let smaller = kept.or_else(|| as_good().find(|effect| driver_of(&effect.setting).is_none()));
            Some(smaller.unwrap_or(best))
        };
        Some(Verdict {
            best: best(false)?,
            baseline: baseline.label(),
            baseline_governor: baseline.governor.clone(),
            governor_alone: best(true),
        })
    }

    /// The governor alone, and the best setting if it is another one.
    pub fn effects(&self) -> impl Iterator<Item = &Effect> {
        let best = (!self.best_is_governor()).then_some(&self.best);
        self.governor_alone.iter().chain(best)
    }

    pub(crate) fn effects_mut(&mut self) -> impl Iterator<Item = &mut Effect> {
        self.governor_alone.iter_mut().chain([&mut self.best])
    }

    fn best_is_governor(&self) -> bool {
        self.governor_alone.as_ref().is_some_and(|alone| alone.setting == self.best.setting)
    }

    /// The cheapest action that is clearly faster: a governor that alone gives most of the best speed-up, or the best setting.
    pub fn action(&self) -> Option<&Effect> {
        let faster = |effect: &&Effect| effect.conclusion == Conclusion::Faster;
        let most = |effect: &&Effect| effect.speedup >= MOST * self.best.speedup;
        let alone = self.governor_alone.as_ref().filter(faster).filter(most);
        alone.or(Some(&self.best).filter(faster))
    }

    /// The answer for people; `program` is what was simulated.
    pub fn sentence(&self, program: &str) -> String {
        let Effect { conclusion, setting, speedup, .. } = &self.best;
        let machine = &setting.machine;
        let baseline = match &*self.baseline_governor {
            "" => self.baseline.clone(),
            governor => format!("{} under {governor}", self.baseline),
        };
        let (best, range) = (setting.name(), self.best.uncertainty());
        let tail = match conclusion {
            Conclusion::Faster => format!("{} with {best} ({range})", percent(*speedup)),
            Conclusion::Slower => format!("keep {baseline}: the next, {best}, is slower ({range})"),
            Conclusion::NoDifference => {
                format!("keep {baseline}: nothing is {:.0}% faster ({range})", NOTICEABLE * 100.0)
            }
            Conclusion::CannotTell if self.best.range.is_none() => {
                format!("no verdict: one run cannot tell {best} from {baseline}")
            }
            Conclusion::CannotTell if self.best.mostly == DIFFERING && self.best.recordings == 1 => {
                format!(
                    "no verdict: one recording cannot tell {best} from {baseline} ({range}); use `--repeat 4`"
                )
            }
            Conclusion::CannotTell => {
                format!("no verdict: too noisy to tell {best} from {baseline} ({range})")
            }
            Conclusion::DependsOnModel => {
                format!("no verdict: whether {best} helps depends on the assumptions ({range})")
            }
        };
        match self.action() {
            Some(alone)
                if Some(&alone.setting) == self.governor_alone.as_ref().map(|alone| &alone.setting) =>
            {
                let change = match driver_of(&alone.setting) {
                    None => format!("set the governor to {}", alone.setting.governor),
                    Some(Scaling { driver, governor }) => {
                        let boot = driver.map_or("", Driver::kernel_parameter);
                        format!("boot with {boot} and set the governor to {governor}")
                    }
                };
                let (gain, range) = (percent(alone.speedup), alone.uncertainty());
                let more = if self.best_is_governor() { String::new() } else { format!("; {tail}") };
                format!(
                    "{machine}: {change}: {gain} for `{program}` without a new scheduler ({range}){more}, over {baseline}."
                )
            }
            Some(_) => format!("{machine}: `{program}` gains {tail}, over {baseline}."),
            None => format!("{machine}: {tail}."),
        }
    }
}

/// The driver that a setting names, which is not the baseline's.
fn driver_of(setting: &Setting) -> Option<Scaling> {
    setting.governor.parse().ok().filter(|scaling: &Scaling| scaling.driver.is_some())
}

/// `+1.2 to +3.4%`
pub(crate) fn span([low, high]: [f64; 2]) -> String {
    format!("{:+.1} to {:+.1}%", low * 100.0, high * 100.0)
}

/// A share in per cent, with its sign.
pub(crate) fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}

fn conclusion(ci95: Option<[f64; 2]>) -> Conclusion {
    match ci95 {
        Some([_, high]) if high < 0.0 => Conclusion::Slower,
        Some([low, high]) if low > -NOTICEABLE && high < NOTICEABLE => Conclusion::NoDifference,
        Some([low, _]) if low > 0.0 => Conclusion::Faster,
        _ => Conclusion::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(policy: &str, governor: &str, speedup: f64, reach: f64) -> Effect {
        let setting = Setting {
            machine: "m".into(),
            governor: governor.into(),
            policy: policy.into(),
            params: Default::default(),
        };
        let effect = Effect {
            conclusion: Conclusion::CannotTell,
            setting,
            speedup,
            range: None,
            mostly: String::new(),
            seeds_ci95: Some([speedup - reach, speedup + reach]),
            recordings: 1,
            recorded: false,
            recordings_ci95: None,
            model: None,
            energy_saving: f64::NAN,
        };
        effect.concluded()
    }

    fn verdict(best: Effect, governor_alone: Option<Effect>) -> Verdict {
        Verdict { best, baseline: "eevdf".into(), baseline_governor: "schedutil".into(), governor_alone }
    }

    fn model(low: f64, high: f64) -> Sensitivity {
        Sensitivity { low, high, by: "costs.stall_permille halved".into() }
    }

    #[test]
    fn an_interval_that_includes_no_difference_tells_nothing() {
        for (ends, expected) in [
            ([-0.01, 0.2], Conclusion::CannotTell),
            ([0.0, 0.2], Conclusion::CannotTell),
            ([-0.3, 0.005], Conclusion::CannotTell),
            ([0.01, 0.2], Conclusion::Faster),
            ([-0.2, -0.01], Conclusion::Slower),
            ([-0.001, 0.005], Conclusion::NoDifference),
            ([0.001, 0.005], Conclusion::NoDifference),
        ] {
            assert_eq!(conclusion(Some(ends)), expected, "{ends:?}");
        }
        assert_eq!(conclusion(None), Conclusion::CannotTell);
    }

    #[test]
    fn the_range_is_the_widest_and_names_what_dominates_it() {
        let narrow = effect("nest", "schedutil", 0.1, 0.002);
        assert_eq!(narrow.mostly, "chance (the seeds)");
        let wide = narrow.clone().with(model(0.08, 0.2));
        assert_eq!((wide.conclusion, wide.range), (Conclusion::Faster, Some([0.08, 0.2])));
        assert_eq!(wide.clone().of_recording().range, Some([0.1 - ONLY_RECORDING, 0.2]));
        assert_eq!(
            verdict(wide, None).sentence("make"),
            "m: `make` gains +10.0% with nest, schedutil (+8.0 to +20.0%, mostly how much of the work waits for memory), \
             over eevdf under schedutil."
        );
        let small = effect("nest", "schedutil", 0.02, 0.002).of_recording();
        assert_eq!(
            (small.conclusion, &*small.mostly),
            (Conclusion::CannotTell, "how much the recordings differ")
        );
        let turning = narrow.clone().with(model(-0.02, 0.2));
        assert_eq!(turning.conclusion, Conclusion::DependsOnModel);
        assert!(verdict(turning, None).action().is_none());
        // √(3 + 1) = 2 times as wide as the interval of the mean.
        let three =
            Effect { recordings: 3, recordings_ci95: Some([0.08, 0.12]), ..narrow.clone() }.concluded();
        let [low, high] = three.range.unwrap();
        assert!((low - 0.06).abs() < 1e-12 && (high - 0.14).abs() < 1e-12, "{low} {high}");
        assert_eq!(three.conclusion, Conclusion::Faster);
        let recorded = Effect { recordings_ci95: Some([-0.1, 0.3]), ..narrow }.concluded();
        assert_eq!(
            (recorded.conclusion, &*recorded.mostly),
            (Conclusion::CannotTell, "how much the recordings differ")
        );
    }

    #[test]
    fn the_cheapest_action_comes_first() {
        let alone = |speedup| Some(effect("eevdf", "performance", speedup, 0.001));
        let best = || effect("nest", "performance", 0.3, 0.001);
        let both = verdict(best(), alone(0.24));
        assert_eq!(both.action().unwrap().setting.policy, "eevdf");
        let sentence = both.sentence("make");
        assert!(
            sentence.starts_with("m: set the governor to performance: +24.0% for `make` without"),
            "{sentence}"
        );
        assert!(sentence.contains("; +30.0% with nest, performance"), "{sentence}");
        assert_eq!(verdict(best(), alone(0.05)).action().unwrap().setting.policy, "nest");
        let only = verdict(alone(0.24).unwrap(), alone(0.24));
        assert_eq!(only.effects().count(), 1);
        assert_eq!(only.sentence("make").matches("performance").count(), 1);
        let driver = || effect("eevdf", "amd-pstate-epp/powersave", 0.3, 0.001);
        let sentence = verdict(driver(), Some(driver())).sentence("make");
        assert!(
            sentence.starts_with(
                "m: boot with amd_pstate=active and set the governor to powersave: +30.0% for `make`"
            ),
            "{sentence}"
        );
    }

    #[test]
    fn a_slower_policy_is_never_called_a_gain() {
        let sentence = verdict(effect("nest", "schedutil", -0.027, 0.001), None).sentence("make");
        assert!(
            sentence.starts_with("m: keep eevdf under schedutil: the next, nest, schedutil, is slower"),
            "{sentence}"
        );
    }

    #[test]
    fn failed_short_and_noisy_recordings_have_no_verdict() {
        let reason = |status, seconds: &[f64], cycles: &[u64]| {
            NoVerdict::of(status, seconds, cycles).map(|none| none.reason)
        };
        assert_eq!(reason(Some(1), &[1.0], &[1000]), Some(Reason::Failed));
        assert_eq!(reason(Some(0), &[1.0, 0.049], &[1000, 1000]), Some(Reason::TooShort));
        assert_eq!(reason(None, &[1.0, 1.0], &[1000, 2003]), Some(Reason::TooNoisy));
        assert_eq!(reason(Some(0), &[0.05, 1.0], &[1000, 1900]), None);
        assert_eq!(reason(None, &[], &[1000]), None, "a simulated trace has no length that was recorded");
    }

    #[test]
    fn the_accuracy_is_that_of_the_book() {
        let book = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/src/results.md");
        let [inside, all] = IN_RANGE;
        let row = format!("{inside} of {all} results are in the papers' ranges");
        assert!(std::fs::read_to_string(book).unwrap().contains(&row), "{row}");
    }
}
