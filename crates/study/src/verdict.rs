//! What a prediction says: the best policy of each machine and governor, and how sure that is.

use crate::prediction::{Row, Setting};
use crate::sensitivity::Sensitivity;
use crate::statistics::Change;
use serde::Serialize;

/// The best policy of a machine and governor, compared with the first policy under the same governor.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Verdict {
    pub conclusion: Conclusion,
    /// The best, or of slower ones the least slow.
    #[serde(flatten)]
    pub best: Setting,
    pub baseline: String,
    pub speedup: f64,
    /// 95% confidence interval over the seeds.
    pub seeds_ci95: Option<[f64; 2]>,
    /// 95% confidence interval over the recordings; `None`: there is one.
    pub recordings_ci95: Option<[f64; 2]>,
    /// What other values of the machine's assumed parameters give; `None`: not simulated.
    pub model: Option<Sensitivity>,
    pub energy_saving: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// The best policy is faster than the baseline.
    Faster,
    /// All policies are slower than the baseline.
    Slower,
    /// No policy is noticeably faster than the baseline.
    NoDifference,
    /// An interval includes no difference, or one run has none.
    CannotTell,
    /// The difference changes its sign with the machine's assumed parameters.
    DependsOnModel,
}

impl Verdict {
    /// The verdict on the rows of one machine and governor; `None` without two policies.
    pub fn of(rows: &[&Row]) -> Option<Verdict> {
        let (baseline, others) = rows.split_first()?;
        let compared = others.iter().filter_map(|row| Some((row, row.within.as_ref()?)));
        let (row, within) = compared.max_by(|a, b| a.1.speedup.value.total_cmp(&b.1.speedup.value))?;
        let recordings_ci95 = within.speedup.ci95.filter(|_| within.recordings > 1);
        Some(Verdict {
            conclusion: conclusion(&within.speedup),
            best: row.setting.clone(),
            baseline: baseline.setting.label(),
            speedup: within.speedup.value,
            seeds_ci95: within.seeds.ci95,
            recordings_ci95,
            model: None,
            energy_saving: within.saving.value,
        })
    }

    /// Adds what the model's assumptions do to it.
    #[must_use]
    pub fn with(self, model: Sensitivity) -> Verdict {
        let turns = match self.conclusion {
            Conclusion::Faster => model.low <= 0.0,
            Conclusion::Slower => model.high >= 0.0,
            _ => false,
        };
        let conclusion = if turns { Conclusion::DependsOnModel } else { self.conclusion };
        Verdict { conclusion, model: Some(model), ..self }
    }

    /// The speed-up and its uncertainties: `nest on xeon-5218, schedutil: +12.3% over eevdf; 95% over seeds …`.
    pub fn uncertainties(&self) -> String {
        let Setting { machine, governor, .. } = &self.best;
        let range = |[low, high]: [f64; 2]| format!("{:+.1} to {:+.1}%", low * 100.0, high * 100.0);
        let mut text = format!(
            "{} on {machine}, {governor}: {:+.1}% over {}",
            self.best.label(),
            self.speedup * 100.0,
            self.baseline
        );
        for (what, ci95) in [("seeds", self.seeds_ci95), ("recordings", self.recordings_ci95)] {
            text += &ci95.map_or_else(String::new, |ends| format!("; 95% over {what} {}", range(ends)));
        }
        if let Some(model) = self.model.as_ref().filter(|model| !model.by.is_empty()) {
            text += &format!(
                "; with other assumptions on the machine {} ({})",
                range([model.low, model.high]),
                model.by
            );
        }
        text
    }

    /// The widest of the confidence intervals.
    pub fn ci95(&self) -> Option<[f64; 2]> {
        self.recordings_ci95.or(self.seeds_ci95)
    }
}

/// A smaller speed-up is none to a user.
pub const NOTICEABLE: f64 = 0.01;

fn conclusion(speedup: &Change) -> Conclusion {
    match speedup.ci95 {
        Some([_, high]) if high < 0.0 => Conclusion::Slower,
        Some([_, high]) if high < NOTICEABLE => Conclusion::NoDifference,
        Some([low, _]) if low > 0.0 => Conclusion::Faster,
        _ => Conclusion::CannotTell,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(ci95: Option<[f64; 2]>) -> Verdict {
        let speedup = Change { value: 0.1, ci95 };
        Verdict {
            conclusion: conclusion(&speedup),
            best: Setting {
                machine: "m".into(),
                governor: "schedutil".into(),
                policy: "nest".into(),
                params: Default::default(),
            },
            baseline: "eevdf".into(),
            speedup: 0.1,
            seeds_ci95: ci95,
            recordings_ci95: None,
            model: None,
            energy_saving: 0.0,
        }
    }

    fn model(low: f64, high: f64) -> Sensitivity {
        Sensitivity { low, high, by: "frequency.window_us doubled".into() }
    }

    #[test]
    fn an_interval_that_includes_no_difference_tells_nothing() {
        assert_eq!(verdict(None).conclusion, Conclusion::CannotTell);
        assert_eq!(verdict(Some([-0.01, 0.2])).conclusion, Conclusion::CannotTell);
        assert_eq!(verdict(Some([0.0, 0.2])).conclusion, Conclusion::CannotTell);
        assert_eq!(verdict(Some([0.01, 0.2])).conclusion, Conclusion::Faster);
        assert_eq!(verdict(Some([-0.2, -0.01])).conclusion, Conclusion::Slower);
        assert_eq!(verdict(Some([-0.001, 0.005])).conclusion, Conclusion::NoDifference);
        assert_eq!(verdict(Some([0.001, 0.005])).conclusion, Conclusion::NoDifference);
    }

    #[test]
    fn a_sign_that_depends_on_assumptions_is_no_verdict() {
        let faster = verdict(Some([0.05, 0.15]));
        assert_eq!(faster.clone().with(model(0.02, 0.2)).conclusion, Conclusion::Faster);
        assert_eq!(faster.with(model(-0.02, 0.2)).conclusion, Conclusion::DependsOnModel);
        assert_eq!(verdict(None).with(model(-0.02, 0.2)).conclusion, Conclusion::CannotTell);
        assert_eq!(
            verdict(Some([0.05, 0.15])).with(model(0.02, 0.2)).uncertainties(),
            "nest on m, schedutil: +10.0% over eevdf; 95% over seeds +5.0 to +15.0%; with other assumptions on the \
             machine +2.0 to +20.0% (frequency.window_us doubled)"
        );
    }
}
