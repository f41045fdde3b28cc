//! What can run the guest's code.

/// What runs the guest's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor itself.
    Kvm,
    /// An emulator: everywhere, but slow.
    Tcg,
    /// The emulator, one CPU at a time; time is what was executed: a nanosecond for each instruction.
    Counted,
}

impl Accelerator {
    pub fn emulated(self) -> bool {
        self != Accelerator::Kvm
    }
}

/// What the user wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Acceleration {
    /// KVM where it works, emulation otherwise.
    #[default]
    Auto,
    /// KVM, or an error.
    Kvm,
    /// Emulation.
    Tcg,
    /// Emulation in which time is the number of executed instructions.
    Counted,
}
