//! Claims, ranges and values in words.

use crate::table::{number, percent as signed};
use hearth_study::claims::Metric;
use hearth_study::reproduction::{ClaimResult, MachineResult, NamedQuantity, NamedSide};

/// Whether a result lies in the range.
pub fn verdict(claim: &ClaimResult, found: &MachineResult) -> &'static str {
    match () {
        () if found.in_range => "yes",
        () if found.value < claim.range[0] => "no, below",
        () if found.value > claim.range[1] => "no, above",
        () => "no, unknown",
    }
}

/// Whether the values of a claim are shown in percent.
pub fn is_percent(claim: &ClaimResult) -> bool {
    claim.quantity.metric.is_percent() && !is_ratio(&claim.quantity)
}

fn is_ratio(quantity: &NamedQuantity) -> bool {
    quantity.baseline.is_some() && !quantity.metric.compares()
}

/// A change with its sign, a share without.
fn percent(claim: &ClaimResult, value: f64) -> String {
    let share = !claim.quantity.metric.compares() && claim.than.is_none();
    let text = signed(value);
    if share { text.trim_start_matches('+').to_owned() } else { text }
}

/// The unit after a number that is not in percent, with a space.
fn unit(claim: &ClaimResult) -> String {
    match claim.quantity.metric.unit() {
        unit if unit.is_empty() || is_percent(claim) || is_ratio(&claim.quantity) => String::new(),
        unit => format!(" {unit}"),
    }
}

/// The range of the paper.
pub fn range(claim: &ClaimResult) -> String {
    let end = |value: f64| match is_percent(claim) {
        true => percent(claim, value).replace(".0%", "%"),
        // As the claim states it.
        false => value.to_string(),
    };
    let text = match claim.range {
        [low, high] if low == high => end(low),
        [f64::NEG_INFINITY, high] => format!("{} or less", end(high)),
        [low, f64::INFINITY] => format!("{} or more", end(low)),
        [low, high] => format!("{} to {}", end(low), end(high)),
    };
    text + &unit(claim)
}

/// Our value with its confidence interval.
pub fn value(claim: &ClaimResult, found: &MachineResult) -> String {
    let half = found.ci95.map(|[low, high]| (high - low) / 2.0);
    let text = match (is_percent(claim), half) {
        _ if found.value.is_nan() => return "unknown".to_owned(),
        (true, None) => percent(claim, found.value),
        (true, Some(half)) => format!("{} ±{:.1}", percent(claim, found.value), half * 100.0),
        (false, None) => number(found.value),
        (false, Some(half)) => {
            let value = number(found.value);
            let digits = value.split_once('.').map_or(0, |(_, digits)| digits.len());
            format!("{value} ±{half:.digits$}")
        }
    };
    text + &unit(claim)
}

/// What is measured: "speed-up of nest schedutil over cfs schedutil, less the same on xeon-5218".
pub fn quantity(claim: &ClaimResult) -> String {
    let own = one(&claim.quantity);
    match &claim.than {
        None => own,
        Some(than) => format!("{own}, less {}", differing(&claim.quantity, than)),
    }
}

/// The machine of a result, without the values that its file of claims changes.
pub fn machine<'n>(found: &MachineResult<'n>) -> &'n str {
    base(found.machine)
}

/// The name of a machine without changed values.
pub fn base(machine: &str) -> &str {
    machine.split(':').next().unwrap_or(machine)
}

fn one(quantity: &NamedQuantity) -> String {
    let (metric, subject) = (quantity.metric, side(&quantity.subject));
    let mut text = match (metric, quantity.baseline.as_ref().map(side)) {
        (_, None) => format!("{metric} of {subject}"),
        (Metric::Speedup, Some(baseline)) => format!("{metric} of {subject} over {baseline}"),
        (metric, Some(baseline)) if metric.compares() => format!("{metric} by {subject} against {baseline}"),
        (_, Some(baseline)) => format!("{metric} of {subject}, divided by that of {baseline}"),
    };
    if let Some(until) = quantity.until {
        text += &format!(", {until}");
    }
    if let [_, _, ..] = quantity.workloads[..] {
        text += &format!(", mean over {} {}", quantity.workloads.len(), quantity.workload);
    }
    text
}

/// A quantity that is subtracted, by what differs.
fn differing(own: &NamedQuantity, than: &NamedQuantity) -> String {
    let bare = |of: &NamedSide| (of.policy.to_owned(), of.governor.to_owned(), of.params.clone());
    let same = own.metric == than.metric && bare(&own.subject) == bare(&than.subject);
    let mut text = if same { "the same".to_owned() } else { one(than) };
    if let Some(machine) = than.subject.machine.filter(|_| same) {
        text += &format!(" on {}", base(machine));
    }
    if than.workload != own.workload {
        text += &format!(" of `{}`", than.workload);
    }
    text
}

fn side(side: &NamedSide) -> String {
    let mut text = side.policy.to_owned();
    for (index, (name, value)) in side.params.iter().enumerate() {
        text += &format!("{}{name}={value}", if index == 0 { ":" } else { "," });
    }
    text += &format!(" {}", side.governor);
    if let Some(machine) = side.machine {
        text += &format!(" on {}", base(machine));
    }
    text
}
