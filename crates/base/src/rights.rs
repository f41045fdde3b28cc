//! What this process may do: the kernel asks for capabilities, not for user 0.

pub use rustix::thread::CapabilitySet;

/// What the kernel asks of a program that loads BPF programs which look at the scheduler or are the scheduler.
pub const BPF: CapabilitySet = CapabilitySet::BPF.union(CapabilitySet::PERFMON);
/// What it takes to run a command as another user and to give that user the result.
pub const OTHER_USER: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID).union(CapabilitySet::CHOWN);

/// Names of capabilities that this process lacks: `CAP_BPF and CAP_PERFMON`. `None`: it has all, or the kernel does not say.
pub fn missing(needed: CapabilitySet) -> Option<String> {
    let own = rustix::thread::capabilities(None).ok()?.effective;
    lacking(own, needed)
}

fn lacking(own: CapabilitySet, needed: CapabilitySet) -> Option<String> {
    // As the kernel's bpf_capable() and perfmon_capable().
    let implied = if own.contains(CapabilitySet::SYS_ADMIN) { BPF } else { CapabilitySet::empty() };
    let lacking = needed.difference(own.union(implied));
    let names: Vec<String> = lacking.iter_names().map(|(name, _)| format!("CAP_{name}")).collect();
    match names.split_last()? {
        (last, []) => Some(last.clone()),
        (last, others) => Some(format!("{} and {last}", others.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        assert_eq!(lacking(BPF, BPF), None);
        assert_eq!(lacking(CapabilitySet::BPF, BPF).unwrap(), "CAP_PERFMON");
        let chown = CapabilitySet::CHOWN;
        assert_eq!(lacking(chown, BPF).unwrap(), "CAP_PERFMON and CAP_BPF");
        assert_eq!(lacking(CapabilitySet::SYS_ADMIN, BPF), None);
        assert_eq!(lacking(BPF, OTHER_USER).unwrap(), "CAP_CHOWN, CAP_SETGID and CAP_SETUID");
    }
}
