//! Architectures of guests.

/// The architecture of a guest's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    X86_64,
    Arm64,
}

impl Architecture {
    /// The host's; x86-64 on hosts whose programs no guest can run.
    pub const HOST: Architecture =
        if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::X86_64 };

    /// Whether guests need other programs than the host's.
    pub fn is_foreign(self) -> bool {
        self != Architecture::HOST
    }

    /// Debian's name.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Architecture::X86_64 => "amd64",
            Architecture::Arm64 => "arm64",
        }
    }

    /// A name in the cache, which says the architecture unless it is the host's.
    pub(crate) fn named(self, name: &str) -> String {
        if self.is_foreign() { format!("{name}-{}", self.debian()) } else { name.into() }
    }

    /// The architecture of a 64-bit ELF program from the start of its file. `None` if it is no ELF program, or one of
    /// another architecture.
    pub(crate) fn of_elf(start: &[u8]) -> Option<Self> {
        if !start.starts_with(b"\x7fELF\x02\x01") {
            return None;
        }
        match u16::from_le_bytes(start.get(18..20)?.try_into().ok()?) {
            62 => Some(Architecture::X86_64),
            183 => Some(Architecture::Arm64),
            _ => None,
        }
    }
}

impl std::fmt::Display for Architecture {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Architecture::X86_64 => "x86-64",
            Architecture::Arm64 => "arm64",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_name_their_architecture() {
        let this = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(Architecture::of_elf(&this), Some(Architecture::HOST));
        assert_eq!(Architecture::of_elf(b"#!/bin/sh\n"), None);
        let mut other = this[..64].to_vec();
        other[18..20].copy_from_slice(&183u16.to_le_bytes());
        assert_eq!(Architecture::of_elf(&other), Some(Architecture::Arm64));
    }

    #[test]
    fn only_foreign_names_say_their_architecture() {
        assert_eq!(Architecture::HOST.named("qemu"), "qemu");
        assert!(
            [Architecture::X86_64, Architecture::Arm64]
                .iter()
                .any(|one| one.named("qemu") == format!("qemu-{}", one.debian()))
        );
    }
}
