//! Built-in policies and features, as source text.

use crate::syntax::ast;
use std::borrow::Cow;

/// The policies that tables show: name and source text. The first is the default baseline: the scheduler of today's Linux.
const POLICIES: &[(&str, &str)] = &[
    ("eevdf", include_str!("../../../policies/eevdf.ipa")),
    ("ember", include_str!("../../../policies/ember.ipa")),
    ("cfs", include_str!("../../../policies/cfs.ipa")),
    ("cfs-5-4", include_str!("../../../policies/cfs-5-4.ipa")),
    ("slocal", include_str!("../../../policies/slocal.ipa")),
    ("smove", include_str!("../../../policies/smove.ipa")),
    ("nest", include_str!("../../../policies/nest.ipa")),
    ("cfs-cwc", include_str!("../../../policies/cfs-cwc.ipa")),
    ("cfs-cwc-flat", include_str!("../../../policies/cfs-cwc-flat.ipa")),
    ("ule", include_str!("../../../policies/ule.ipa")),
    ("ule-cwc", include_str!("../../../policies/ule-cwc.ipa")),
];

/// The bases of the products of the feature models, and some of them.
const FAMILY: &[(&str, &str)] = &[
    ("family", include_str!("../../../policies/features/family.ipa")),
    ("cfs-like", include_str!("../../../policies/features/cfs-like.ipa")),
    ("ule-like", include_str!("../../../policies/features/ule-like.ipa")),
    ("warm", include_str!("../../../policies/features/warm.ipa")),
    ("nest-like", include_str!("../../../policies/features/nest-like.ipa")),
    ("smove-like", include_str!("../../../policies/features/smove-like.ipa")),
    ("eevdf-like", include_str!("../../../policies/features/eevdf-like.ipa")),
    ("cwc-like", include_str!("../../../policies/features/cwc-like.ipa")),
];

/// Slot, name and source text of each feature.
const FEATURES: &[(&str, &str, &str)] = &[
    ("election", "rbtree", include_str!("../../../policies/features/rbtree.ipa")),
    ("election", "list", include_str!("../../../policies/features/list.ipa")),
    ("election", "fifo", include_str!("../../../policies/features/fifo.ipa")),
    ("slice", "infinite", include_str!("../../../policies/features/infinite.ipa")),
    ("slice", "fixed", include_str!("../../../policies/features/fixed.ipa")),
    ("slice", "split", include_str!("../../../policies/features/split.ipa")),
    ("metric", "nrRun", include_str!("../../../policies/features/nrRun.ipa")),
    ("metric", "nrRunBlock", include_str!("../../../policies/features/nrRunBlock.ipa")),
    ("metric", "usedTime", include_str!("../../../policies/features/usedTime.ipa")),
    ("distance", "smt", include_str!("../../../policies/features/smt.ipa")),
    ("distance", "llc", include_str!("../../../policies/features/llc.ipa")),
    ("distance", "all", include_str!("../../../policies/features/all.ipa")),
    ("executor", "one", include_str!("../../../policies/features/one.ipa")),
    ("executor", "node", include_str!("../../../policies/features/node.ipa")),
    ("executor", "each", include_str!("../../../policies/features/each.ipa")),
    ("idleness", "idle", include_str!("../../../policies/features/idle.ipa")),
    ("election", "deadline", include_str!("../../../policies/features/deadline.ipa")),
    ("nest", "nests", include_str!("../../../policies/features/nests.ipa")),
    ("nest", "recent", include_str!("../../../policies/features/recent.ipa")),
    ("choice", "whole", include_str!("../../../policies/features/whole.ipa")),
    ("choice", "fast", include_str!("../../../policies/features/fast.ipa")),
    ("search", "beyond", include_str!("../../../policies/features/beyond.ipa")),
    ("moves", "defer", include_str!("../../../policies/features/defer.ipa")),
    ("moves", "local", include_str!("../../../policies/features/local.ipa")),
    ("spinning", "spin", include_str!("../../../policies/features/spin.ipa")),
];

/// Names of the built-in policies, in display order.
pub const NAMES: [&str; POLICIES.len()] = {
    let mut names = [""; POLICIES.len()];
    let mut i = 0;
    while i < names.len() {
        names[i] = POLICIES[i].0;
        i += 1;
    }
    names
};

/// Names of the built-in features, by slot.
pub fn features() -> impl Iterator<Item = &'static str> {
    FEATURES.iter().map(|(_, name, _)| *name)
}

/// Names of the built-in features for a slot.
pub fn features_for(slot: &str) -> Vec<&'static str> {
    FEATURES.iter().filter(|(of, ..)| *of == slot).map(|(_, name, _)| *name).collect()
}

/// Source text of a built-in policy or feature, or of a product: a policy that is named by its features.
pub fn source(name: &str) -> Option<Cow<'static, str>> {
    let policies = POLICIES.iter().chain(FAMILY).map(|(name, text)| (name, text));
    let mut all = policies.chain(FEATURES.iter().map(|(_, name, text)| (name, text)));
    let found = all.find(|(n, _)| **n == name).map(|(_, text)| Cow::Borrowed(*text));
    found.or_else(|| product(name).map(Cow::Owned))
}

/// The base of a product whose name does not begin with one.
const DEFAULT_BASE: &str = "family";

/// The text of a product: names of features, joined with `+`. The first may be the name of a base.
fn product(name: &str) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+');
    let parts: Vec<&str> = name.split('+').collect();
    if parts.len() < 2 || !name.chars().all(is_name) || parts.contains(&"") {
        return None;
    }
    let is_base = POLICIES.iter().chain(FAMILY).any(|(name, _)| *name == parts[0]);
    let (base, with) = if is_base { (parts[0], &parts[1..]) } else { (DEFAULT_BASE, &parts[..]) };
    Some(format!("policy {name} extends {base} with {};\n", with.join(", ")))
}

/// The name of a product in the order of the slots. `None` for another policy.
pub(crate) fn product_of(chain: &[ast::Policy]) -> Option<String> {
    let policy = chain.first().filter(|policy| policy.name.name.contains('+'))?;
    let base = policy.base.as_ref().map(|base| base.name.as_str()).filter(|base| *base != DEFAULT_BASE);
    let features = chain[1..].iter().take(policy.with.len()).map(|feature| feature.name.name.as_str());
    Some(base.into_iter().chain(features).collect::<Vec<_>>().join("+"))
}
