//! Verdicts by features: the few combinations of features that decide a claim, instead of a row for each product.

use crate::model::{Model, Product, Slot};
use crate::verdict::{Claim, ProductVerdicts, Verdict};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The verdicts on a claim, by features. Each product matches one rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rules {
    pub claim: Claim,
    pub rules: Vec<Rule>,
}

/// A set of products with the same verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// Slots that matter, and the values that match. Other slots may have any.
    pub when: Vec<(String, Vec<String>)>,
    pub products: usize,
    /// The first of the products with the shortest schedule.
    pub example: String,
    /// The verdict on the example. The other products have the same, maybe by another schedule.
    #[serde(flatten)]
    pub verdict: Verdict,
}

impl Rule {
    pub fn matches(&self, model: &Model, product: &Product) -> bool {
        self.when.iter().all(|(name, values)| {
            let slot = model.slots().iter().find(|slot| slot.name == *name);
            slot.is_some_and(|slot| values.iter().any(|value| value == slot.value(product)))
        })
    }
}

/// The condition of a rule, for people: `Load metric nrRun or usedTime; Executor each`.
pub fn when(rule: &Rule) -> String {
    let slots = rule.when.iter().map(|(slot, values)| format!("{slot} {}", values.join(" or ")));
    let text = slots.collect::<Vec<_>>().join("; ");
    if text.is_empty() { "all products".into() } else { text }
}

/// For each slot, the values that a set of products has.
type Values<'m> = Vec<BTreeSet<&'m str>>;

impl Rules {
    /// The rules for a claim. All products of the model must be judged.
    pub fn of(model: &Model, judged: &[ProductVerdicts], claim: Claim) -> Rules {
        let slots = model.slots();
        let values = |product: &ProductVerdicts| -> Vec<String> {
            slots.iter().map(|slot| slot.value(&product.product).to_owned()).collect()
        };
        let verdicts: BTreeMap<Vec<String>, &'static str> =
            judged.iter().map(|product| (values(product), product.verdict(claim).name())).collect();
        let classes: Vec<Vec<BTreeSet<&str>>> =
            slots.iter().enumerate().map(|(at, slot)| classes(slot, at, &verdicts)).collect();
        // One set of products for each combination of classes.
        let mut cells: Vec<Values> = vec![Vec::new()];
        for classes in &classes {
            cells = cells
                .iter()
                .flat_map(|cell| {
                    classes.iter().map(|class| [&cell[..], std::slice::from_ref(class)].concat())
                })
                .collect();
        }
        let mut by_verdict: BTreeMap<&'static str, Vec<Values>> = BTreeMap::new();
        for cell in cells {
            let fits = |key: &&Vec<String>| {
                key.iter().zip(&cell).all(|(value, class)| class.contains(value.as_str()))
            };
            if let Some(verdict) = verdicts.keys().find(fits).map(|key| verdicts[key]) {
                by_verdict.entry(verdict).or_default().push(cell);
            }
        }
        let mut rules = Vec::new();
        for cells in by_verdict.into_values() {
            rules.extend(merged(cells).iter().map(|cell| rule(model, judged, claim, cell)));
        }
        Rules { claim, rules }
    }
}

/// Values of a slot that can replace each other in every product without another verdict.
fn classes<'m>(
    slot: &'m Slot,
    at: usize,
    verdicts: &BTreeMap<Vec<String>, &'static str>,
) -> Vec<BTreeSet<&'m str>> {
    let alike = |a: &str, b: &str| {
        verdicts.iter().filter(|(key, _)| key[at] == a).all(|(key, verdict)| {
            let mut other = key.clone();
            other[at] = b.to_owned();
            verdicts.get(&other).is_none_or(|found| found == verdict)
        })
    };
    let mut classes: Vec<BTreeSet<&str>> = Vec::new();
    for value in slot.values() {
        match classes.iter_mut().find(|class| class.iter().all(|other| alike(value, other))) {
            Some(class) => {
                class.insert(value);
            }
            None => classes.push(BTreeSet::from([value])),
        }
    }
    classes
}

/// Merges sets that differ in one slot, until there are none.
fn merged(mut cells: Vec<Values>) -> Vec<Values> {
    loop {
        let pair =
            (0..cells.len()).flat_map(|a| (a + 1..cells.len()).map(move |b| (a, b))).find_map(|(a, b)| {
                let differ: Vec<usize> =
                    (0..cells[a].len()).filter(|at| cells[a][*at] != cells[b][*at]).collect();
                (differ.len() <= 1).then(|| (a, b, differ.first().copied()))
            });
        let Some((a, b, at)) = pair else { return cells };
        let gone = cells.remove(b);
        if let Some(at) = at {
            cells[a][at].extend(&gone[at]);
        }
    }
}

fn rule(model: &Model, judged: &[ProductVerdicts], claim: Claim, cell: &Values) -> Rule {
    let matter = model.slots().iter().zip(cell).filter(|(slot, values)| values.len() < slot.values().len());
    let when = matter.map(|(slot, values)| {
        let values = slot.values().into_iter().filter(|value| values.contains(value));
        (slot.name.clone(), values.map(str::to_owned).collect())
    });
    let when: Vec<(String, Vec<String>)> = when.collect();
    let own = |judged: &&ProductVerdicts| {
        let mut slots = model.slots().iter().zip(cell);
        slots.all(|(slot, values)| values.contains(slot.value(&judged.product)))
    };
    let all: Vec<&ProductVerdicts> = judged.iter().filter(own).collect();
    let steps = |judged: &&&ProductVerdicts| match judged.verdict(claim) {
        Verdict::Refuted { steps, .. } => *steps,
        _ => 0,
    };
    let example = all.iter().min_by_key(steps).expect("a rule has products");
    Rule {
        when,
        products: all.len(),
        example: example.product.name(),
        verdict: example.verdict(claim).clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::uvl;

    const MODEL: &str = "features\n r {abstract}\n  mandatory\n   X {abstract}\n    alternative\n     a\n     b\n     c\n   \
                         Y {abstract}\n    optional\n     y\n   Z {abstract}\n    alternative\n     u\n     v\n";

    /// The products of the model, with what `holds` says of the first claim.
    fn judged(model: &Model, holds: impl Fn(&str) -> Verdict) -> Vec<ProductVerdicts> {
        let of = |product: Product| ProductVerdicts { verdicts: vec![holds(&product.name())], product };
        model.products().into_iter().map(of).collect()
    }

    fn shown(rules: &Rules) -> Vec<String> {
        let when = |rule: &Rule| {
            let when: Vec<String> =
                rule.when.iter().map(|(slot, values)| format!("{slot} {}", values.join("|"))).collect();
            format!("{} {}: {}", rule.products, rule.verdict.name(), when.join(", "))
        };
        rules.rules.iter().map(when).collect()
    }

    #[test]
    fn only_slots_that_matter_are_named() {
        let model = Model::of(uvl::parse(MODEL).unwrap());
        let refuted = || Verdict::Refuted { scenario: "s".into(), steps: 3 };
        let judged = judged(&model, |name| {
            if name.contains("+y") && !name.contains("+c") { Verdict::Proved } else { refuted() }
        });
        let rules = Rules::of(&model, &judged, Claim::Conserves);
        assert_eq!(shown(&rules), ["4 proved: X a|b, Y y", "6 refuted: Y no", "2 refuted: X c, Y y"]);
        for product in &judged {
            let own: Vec<_> =
                rules.rules.iter().filter(|rule| rule.matches(&model, &product.product)).collect();
            assert_eq!(own.len(), 1, "{}", product.product.name());
            assert_eq!(own[0].verdict.name(), product.verdict(Claim::Conserves).name());
        }
    }

    #[test]
    fn one_rule_without_conditions_is_enough_for_one_verdict() {
        let model = Model::of(uvl::parse(MODEL).unwrap());
        let rules = Rules::of(&model, &judged(&model, |_| Verdict::Open), Claim::Conserves);
        assert_eq!(shown(&rules), ["12 open: "]);
    }
}
