//! Accelerators for the guest's code.

/// The accelerator that executes the guest's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// KVM: the processor itself.
    Kvm,
    /// TCG: emulation; works everywhere, but is slow.
    Tcg,
    /// TCG with `-icount`: emulates one CPU at a time; each instruction takes one nanosecond of the guest's time.
    Counted,
}

impl Accelerator {
    pub fn emulated(self) -> bool {
        self != Accelerator::Kvm
    }
}

/// The user's choice of accelerator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceleration {
    /// KVM where it works, emulation otherwise.
    #[default]
    Auto,
    /// KVM; an error if it does not work.
    Kvm,
    /// Emulation.
    Tcg,
    /// Emulation in which the guest's time is the number of executed instructions.
    Counted,
}
