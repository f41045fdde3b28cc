//! Composition: the features of a policy fill the slots of its base.
//!
//! A slot lists what each of its features declares, and functions and handlers that a feature may replace (those with
//! a body). A feature may also declare new names, which no other feature has. So features of different
//! slots are independent, and their order does not matter.

use super::names::{Name, declared, needed};
use crate::builtin;
use crate::codes::{OUTSIDE_SLOT, SLOT_USE};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::{Ident, ItemKind, Policy, Slot};
use hearth_base::suggest::closest;

/// Sorts the features of each policy in a chain by the slots of its base, and checks that they fit.
pub fn compose(chain: &mut [Policy], diagnostics: &mut Vec<Diagnostic>) {
    for at in 0..chain.len() {
        let (above, base) = chain.split_at_mut(at + 1 + chain[at].with.len());
        let [policy, features @ ..] = &mut above[at..] else { continue };
        if !features.is_empty() {
            let base = Base { policies: base, slots: slots(base) };
            features.sort_by_cached_key(|feature| (base.place(feature), feature.name.name.clone()));
            base.check(policy, features, diagnostics);
        }
    }
    for at in 0..chain.len() {
        let (above, base) = chain.split_at(at);
        for slot in slots(&base[..1]) {
            filled(above, &base[0], slot, diagnostics);
        }
    }
}

/// The slots of a policy and its bases: those of the farthest base first.
fn slots(base: &[Policy]) -> Vec<&Slot> {
    let items = base.iter().rev().flat_map(|policy| &policy.items);
    items.filter_map(|item| if let ItemKind::Slot(slot) = &item.kind { Some(slot) } else { None }).collect()
}

fn is_for(feature: &Policy, slot: &Slot) -> bool {
    feature.slot.as_ref().is_some_and(|wanted| wanted.name == slot.name.name)
}

/// What a policy with features extends.
struct Base<'a> {
    policies: &'a [Policy],
    slots: Vec<&'a Slot>,
}

impl Base<'_> {
    fn place(&self, feature: &Policy) -> Option<usize> {
        self.slots.iter().position(|slot| is_for(feature, slot))
    }

    fn check(&self, policy: &Policy, features: &[Policy], diagnostics: &mut Vec<Diagnostic>) {
        for (i, feature) in features.iter().enumerate() {
            let named = policy.with.iter().rfind(|name| name.name == feature.name.name);
            let named = named.unwrap_or(&policy.name);
            let found = match self.place(feature) {
                None => vec![self.no_slot(feature, named)],
                Some(place) => match features[..i].iter().find(|other| is_for(other, self.slots[place])) {
                    Some(other) => vec![two(self.slots[place], other, feature, named)],
                    None => self.misfits(feature, self.slots[place], &features[..i]),
                },
            };
            diagnostics.extend(found);
        }
    }

    fn no_slot(&self, feature: &Policy, named: &Ident) -> Diagnostic {
        let base = &self.policies[0].name.name;
        let wanted = feature.slot.as_ref().unwrap_or(&feature.name);
        let slots: Vec<&str> = self.slots.iter().map(|slot| slot.name.name.as_str()).collect();
        let help = match closest(&wanted.name, slots.iter().copied()) {
            Some(near) => format!("did you mean slot `{near}`?"),
            None if slots.is_empty() => format!("`{base}` has no slots; `family` has"),
            None => format!("the slots of `{base}` are {}", slots.join(", ")),
        };
        let message = format!("`{}` is for slot `{}`, and `{base}` has none", named.name, wanted.name);
        Diagnostic::error(SLOT_USE, named.span, message).label(wanted.span, "its slot").help(help)
    }

    /// A feature declares what its slot needs, and otherwise nothing that the base or another feature declares.
    fn misfits(&self, feature: &Policy, slot: &Slot, others: &[Policy]) -> Vec<Diagnostic> {
        let (name, slot_name) = (&feature.name.name, &slot.name.name);
        let own = declared(&feature.items);
        let needed = needed(slot);
        let replaceable = declared(&slot.items);
        let mut found = Vec::new();
        for need in &needed {
            let problem = match own.iter().find(|own| own.key == need.key) {
                None => format!("does not declare {need}"),
                Some(own) if own.types != need.types => format!("declares {need} with other types"),
                Some(_) => continue,
            };
            let message = format!("`{name}` {problem}, as slot `{slot_name}` needs");
            found.push(
                Diagnostic::error(OUTSIDE_SLOT, feature.name.span, message).label(need.span, "needed here"),
            );
        }
        let fits = |own: &&Name| !needed.iter().chain(&replaceable).any(|slot| slot.key == own.key);
        for own in own.iter().filter(fits) {
            let of_base = self.policies.iter().map(|policy| (policy, "`", "is declared by"));
            let of_others = others.iter().map(|feature| (feature, "feature `", "is also declared by"));
            let clash = of_base.chain(of_others).find_map(|(policy, what, how)| {
                let theirs = declared(&policy.items).into_iter().find(|theirs| theirs.key == own.key)?;
                Some((theirs.span, format!("{how} {what}{}`", policy.name.name)))
            });
            let Some((span, by)) = clash else { continue };
            let message = format!("{own} of feature `{name}` {by}");
            found.push(
                Diagnostic::error(OUTSIDE_SLOT, own.span, message)
                    .label(span, "declared here")
                    .help(format!("give it another name: slot `{slot_name}` does not have it")),
            );
        }
        found
    }
}

fn two(slot: &Slot, first: &Policy, second: &Policy, named: &Ident) -> Diagnostic {
    let (slot_name, first, second) = (&slot.name.name, &first.name.name, &second.name.name);
    let message = format!("`{first}` and `{second}` are both for slot `{slot_name}`");
    Diagnostic::error(SLOT_USE, named.span, message)
        .label(slot.name.span, "a slot takes one feature")
        .help(format!("remove `{first}` or `{second}`"))
}

/// What a slot needs is declared by a feature, by a policy that extends the base, or by the base as a default.
/// `above`: nearest first.
fn filled(above: &[Policy], base: &Policy, slot: &Slot, diagnostics: &mut Vec<Diagnostic>) {
    // What its feature lacks is reported there.
    if above.iter().any(|policy| is_for(policy, slot)) {
        return;
    }
    let all: Vec<Name> = above.iter().chain([base]).flat_map(|policy| declared(&policy.items)).collect();
    let Some(need) = needed(slot).into_iter().find(|need| !all.iter().any(|name| name.key == need.key))
    else {
        return;
    };
    let policy = above.iter().rev().find(|policy| policy.slot.is_none()).unwrap_or(base);
    let at = policy.with.last().or(policy.base.as_ref()).unwrap_or(&policy.name);
    let message = format!("slot `{}` of `{}` has no feature", slot.name.name, base.name.name);
    let mut found =
        Diagnostic::error(SLOT_USE, at.span, message).label(need.span, format!("{need} is missing"));
    let known: Vec<&str> = builtin::features_for(&slot.name.name);
    match (known.is_empty(), above.is_empty()) {
        (true, _) => {}
        (false, true) => {
            let example = format!("`policy mine extends {} with {}, ...;`", base.name.name, known[0]);
            found = found.help(format!("give each slot a feature: {example}"));
        }
        (false, false) => found = found.help(format!("add one after `with`: {}", known.join(", "))),
    }
    diagnostics.push(found);
}
