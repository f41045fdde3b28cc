//! QEMU's versions, parsed from its output and from package versions.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl Version {
    /// Parses `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
    pub fn of_program(said: &str) -> Option<Self> {
        Version::parse(said.split_once("version ")?.1)
    }

    /// Parses a package version: `1:10.0.2+ds-2`.
    pub fn of_package(version: &str) -> Option<Self> {
        Version::parse(version.split_once(':').map_or(version, |(_, version)| version))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut numbers = text.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
        Some(Version { major: numbers.next()??, minor: numbers.next()?? })
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_compared() {
        let program = |said| Version::of_program(said);
        let version = |major, minor| Some(Version { major, minor });
        assert_eq!(program("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)"), version(10, 0));
        assert_eq!(program("QEMU emulator version 7.2.11\nCopyright"), version(7, 2));
        assert_eq!(program("error while loading shared libraries"), None);
        assert_eq!(Version::of_package("1:10.0.2+ds-2+deb13u1~bpo12+1"), version(10, 0));
        assert_eq!(Version::of_package("9.1-1"), version(9, 1));
        assert!(version(7, 2) < version(8, 2) && version(8, 2) < version(10, 0));
        assert_eq!(version(8, 2).unwrap().to_string(), "8.2");
    }
}
