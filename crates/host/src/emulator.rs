//! Whether software executes this machine's code.

/// The emulator that executes this machine's code, if it says so. Its CPUs share those of its host in turns, so that times
/// differ from those of a processor in unknown ways.
///
/// - x86-64: hypervisors sign leaf 0x40000000 of CPUID; QEMU's emulator (TCG) as `TCGTCGTCGTCG` (`target/i386/cpu.c`).
/// - arm64: implementer 0x00 of MIDR_EL1 is reserved for software use (Arm ARM, D24.2.122). QEMU's processor `max` has it.
pub fn emulator() -> Option<&'static str> {
    #[cfg(target_arch = "x86_64")]
    return of_signature(signature()?);
    #[cfg(target_arch = "aarch64")]
    return of_cpuinfo(&std::fs::read_to_string("/proc/cpuinfo").ok()?);
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    None
}

/// The signature of the hypervisor, if there is one.
#[cfg(target_arch = "x86_64")]
fn signature() -> Option<[u8; 12]> {
    use std::arch::x86_64::__cpuid;
    #[allow(unused_unsafe)] // since Rust 1.94 it is safe
    // SAFETY: every x86-64 processor has CPUID.
    let leaf = |number| unsafe { __cpuid(number) };
    const HYPERVISOR: u32 = 1 << 31;
    let signed = leaf(1).ecx & HYPERVISOR != 0;
    signed.then(|| {
        let leaf = leaf(0x4000_0000);
        let mut text = [0; 12];
        let words = [leaf.ebx, leaf.ecx, leaf.edx];
        text.chunks_exact_mut(4)
            .zip(words)
            .for_each(|(part, word)| part.copy_from_slice(&word.to_le_bytes()));
        text
    })
}

#[cfg(any(target_arch = "x86_64", test))]
fn of_signature(signature: [u8; 12]) -> Option<&'static str> {
    (&signature == b"TCGTCGTCGTCG").then_some("QEMU's emulator (TCG)")
}

#[cfg(any(target_arch = "aarch64", test))]
fn of_cpuinfo(cpuinfo: &str) -> Option<&'static str> {
    let is_software = |line: &str| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == "CPU implementer").then(|| value.trim() == "0x00")
    };
    cpuinfo.lines().find_map(is_software)?.then_some("an emulator")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emulators_are_told_from_hypervisors() {
        assert!(of_signature(*b"TCGTCGTCGTCG").is_some());
        assert!(of_signature(*b"KVMKVMKVM\0\0\0").is_none());
        assert!(of_signature([0; 12]).is_none());
        let cpuinfo = |implementer: &str| {
            format!("processor\t: 0\nCPU implementer\t: {implementer}\nCPU part\t: 0x051\n")
        };
        assert!(of_cpuinfo(&cpuinfo("0x00")).is_some());
        assert!(of_cpuinfo(&cpuinfo("0x41")).is_none());
        assert!(of_cpuinfo("processor : 0\n").is_none());
    }
}
