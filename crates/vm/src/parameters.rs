//! The kernel's command line.

use crate::accelerator::Accelerator;
use crate::architecture::Architecture;

/// Parameters of every guest: an exit at the first panic or oops (results after it would be
/// worthless), and no protections or self-tests that take time without benefit here.
const ALWAYS: &str = "panic=-1 oops=panic mitigations=off random.trust_cpu=on \
    cryptomgr.notests audit=0 lsm=capability,bpf log_buf_len=4M";

/// Parameters of an architecture.
const X86_64: &str = "console=ttyS0 no_timer_check";
const ARM64: &str = "console=ttyAMA0";

/// Longest watchdog timeouts, for emulation, where many guest CPUs share few host CPUs. No check is disabled.
const PATIENT: &str = "watchdog_thresh=60 rcupdate.rcu_cpu_stall_timeout=300 workqueue.watchdog_thresh=300 \
    sysctl.kernel.hung_task_timeout_secs=600";

/// Tells the recorder in the guest that a nanosecond is an instruction of any CPU.
const COUNTS: &str = "hearth.clock=instructions";

/// Builds the command line of a guest. `jiffies` is the kernel's number of jiffies per second.
pub fn parameters(architecture: Architecture, accelerator: Accelerator, jiffies: u64, own: &str) -> String {
    let its = if architecture == Architecture::X86_64 { X86_64 } else { ARM64 };
    let mut all = format!("{its} {ALWAYS}");
    if accelerator.emulated() {
        all = format!("{all} {PATIENT}");
    }
    // The counter of arm64 tells its frequency.
    let khz = match (architecture, accelerator) {
        (Architecture::Arm64, _) | (_, Accelerator::Kvm) => None,
        (_, Accelerator::Tcg) => Some(tsc_khz()),
        (_, Accelerator::Counted) => Some(1_000_000),
    };
    if let Some(khz) = khz {
        all = format!("{all} {}", clock(khz, jiffies));
    }
    if accelerator == Accelerator::Counted {
        all = format!("{all} {COUNTS}");
    }
    format!("{all} {own}").trim_end().into()
}

/// Parameters that declare the time stamp counter reliable, with its frequency. Under emulation it is the host's
/// counter (or counts instructions) and the same for all CPUs. Without these parameters the kernel calibrates it,
/// slowly and inaccurately, and then prefers a clock whose every reading stops all CPUs.
fn clock(khz: u64, jiffies: u64) -> String {
    let loops_per_jiffy = khz * 1000 / jiffies;
    format!("tsc=reliable tsc_early_khz={khz} lpj={loops_per_jiffy}")
}

#[cfg(target_arch = "x86_64")]
fn tsc_khz() -> u64 {
    use std::time::{Duration, Instant};
    // SAFETY: reads a counter.
    let counter = || unsafe { std::arch::x86_64::_rdtsc() };
    let (from, at) = (counter(), Instant::now());
    std::thread::sleep(Duration::from_millis(30));
    let (ticks, nanoseconds) = (counter() - from, at.elapsed().as_nanos() as u64);
    (u128::from(ticks) * 1_000_000 / u128::from(nanoseconds.max(1))) as u64
}

/// On other architectures QEMU's counter counts nanoseconds.
#[cfg(not(target_arch = "x86_64"))]
fn tsc_khz() -> u64 {
    1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_is_given() {
        assert_eq!(clock(2_000_000, 250), "tsc=reliable tsc_early_khz=2000000 lpj=8000000");
        let khz = tsc_khz();
        assert!((500_000..10_000_000).contains(&khz), "{khz}");
    }

    #[test]
    fn ones_own_parameters_come_last() {
        let parameters =
            |accelerator, jiffies, own| parameters(Architecture::X86_64, accelerator, jiffies, own);
        let kvm = parameters(Accelerator::Kvm, 250, "panic=5");
        assert!(kvm.ends_with(" panic=5") && !kvm.contains("tsc="));
        let tcg = parameters(Accelerator::Tcg, 250, "");
        assert!(tcg.contains(" tsc_early_khz=") && !tcg.ends_with(' ') && !tcg.contains(COUNTS));
        let counted = parameters(Accelerator::Counted, 250, "");
        assert!(counted.contains(" tsc_early_khz=1000000 ") && counted.ends_with(COUNTS));
    }

    #[test]
    fn arm64_has_another_console_and_knows_its_clock() {
        let arm = parameters(Architecture::Arm64, Accelerator::Tcg, 250, "");
        assert!(arm.starts_with("console=ttyAMA0 ") && arm.ends_with(PATIENT), "{arm}");
    }
}
