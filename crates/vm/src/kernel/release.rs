//! Kernel releases, such as `7.3.4+deb13-cloud-amd64`, and how one is chosen.

use crate::architecture::Architecture;
use std::cmp::Ordering;

/// A release, ordered by version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub name: String,
    numbers: Vec<u32>,
}

impl Release {
    pub fn new(name: &str) -> Self {
        let version = name.split(['+', '-', '~']).next().unwrap_or_default();
        Release {
            name: name.into(),
            numbers: version.split('.').map_while(|part| part.parse().ok()).collect(),
        }
    }

    /// The release of a package name; `None` for other packages, such as debugging symbols.
    pub fn of_package(package: &str, architecture: Architecture) -> Option<Self> {
        let release = Release::new(package.strip_prefix("linux-image-")?);
        (release.is_for(architecture) && release.numbers.len() >= 2).then_some(release)
    }

    /// Whether it is one of Debian's kernels for virtual machines of an architecture.
    pub fn is_for(&self, architecture: Architecture) -> bool {
        self.name.strip_suffix(architecture.debian()).is_some_and(|name| name.ends_with("-cloud-"))
    }

    /// Its version: `7.3.4`.
    pub fn version(&self) -> String {
        self.numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
    }

    /// Whether `wanted` matches this release: `latest`, the full name, or the first numbers of the version.
    pub fn is_meant_by(&self, wanted: &str) -> bool {
        let numbers: Option<Vec<u32>> = wanted.split('.').map(|part| part.parse().ok()).collect();
        wanted == "latest"
            || wanted == self.name
            || numbers.is_some_and(|numbers| self.numbers.starts_with(&numbers))
    }
}

impl PartialOrd for Release {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Release {
    fn cmp(&self, other: &Self) -> Ordering {
        self.numbers.cmp(&other.numbers).then_with(|| self.name.cmp(&other.name))
    }
}

/// The newest release that matches `wanted`.
pub fn choose<'a>(releases: &'a [Release], wanted: &str) -> Option<&'a Release> {
    releases.iter().filter(|release| release.is_meant_by(wanted)).max()
}

/// The series of the releases, newest first: `7.3, 7.2, 6.18`.
pub fn series(releases: &[Release]) -> String {
    let mut series: Vec<_> = releases.iter().map(|release| release.numbers[..2].to_vec()).collect();
    series.sort();
    series.dedup();
    let names = series.iter().rev().map(|numbers| format!("{}.{}", numbers[0], numbers[1]));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn releases() -> Vec<Release> {
        let packages = [
            "linux-image-6.16.3+deb13-cloud-amd64",
            "linux-image-6.16.12+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64",
            "linux-image-6.18.15+deb13-cloud-amd64-dbg",
            "linux-image-7.3.4+deb13-cloud-amd64",
            "linux-image-7.2.12+deb13-cloud-amd64",
            "linux-image-7.3.4+deb13-amd64",
            "linux-image-7.3.4+deb13-rt-amd64",
            "linux-image-cloud-amd64",
            "linux-base-7.3.4+deb13-cloud-amd64",
            "linux-image-7.3.4+deb13-cloud-arm64",
        ];
        let release = |package| Release::of_package(package, Architecture::X86_64);
        packages.into_iter().filter_map(release).collect()
    }

    fn chosen(wanted: &str) -> Option<String> {
        choose(&releases(), wanted).map(|release| release.name.clone())
    }

    #[test]
    fn only_cloud_kernels_count() {
        assert_eq!(releases().len(), 5);
    }

    #[test]
    fn the_newest_that_is_meant() {
        assert_eq!(chosen("latest").as_deref(), Some("7.3.4+deb13-cloud-amd64"));
        assert_eq!(chosen("7").as_deref(), Some("7.3.4+deb13-cloud-amd64"));
        assert_eq!(chosen("7.2").as_deref(), Some("7.2.12+deb13-cloud-amd64"));
        assert_eq!(chosen("6.16").as_deref(), Some("6.16.12+deb13-cloud-amd64"));
        assert_eq!(chosen("6.16.3").as_deref(), Some("6.16.3+deb13-cloud-amd64"));
        assert_eq!(chosen("6.16.3+deb13-cloud-amd64").as_deref(), Some("6.16.3+deb13-cloud-amd64"));
        // Numbers are compared whole: 6.1 is not 6.16.
        for nothing in ["6.1", "6.17", "8", "", "x", "6.16."] {
            assert_eq!(chosen(nothing), None, "{nothing}");
        }
    }

    #[test]
    fn series_are_listed_once() {
        assert_eq!(series(&releases()), "7.3, 7.2, 6.18, 6.16");
        assert_eq!(releases()[0].version(), "6.16.3");
    }
}
