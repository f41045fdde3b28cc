//! Built-in policies, as source text.

/// Name and source text of each policy. The first is the default baseline: the scheduler of today's Linux.
const POLICIES: &[(&str, &str)] = &[
    ("eevdf", include_str!("../../../policies/eevdf.ipa")),
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

/// Source text of a built-in policy.
pub fn source(name: &str) -> Option<&'static str> {
    POLICIES.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}
