//! The machine's power profile, and parameters of the policy that hold while it saves power.

use std::path::Path;

/// Set by power-profiles-daemon, TuneD or the firmware's hot key (Documentation/ABI/testing/sysfs-platform_profile).
const PLATFORM: &str = "sys/firmware/acpi/platform_profile";
/// Set by the same daemons on machines without the former (Documentation/admin-guide/pm/intel_pstate.rst).
const PREFERENCE: &str = "sys/devices/system/cpu/cpufreq/policy0/energy_performance_preference";

/// Whether the machine whose file system begins at `root` saves power. `None`: it has no power profile.
pub fn saves_power(root: &Path) -> Option<bool> {
    let read = |file: &str| std::fs::read_to_string(root.join(file)).ok();
    let platform = read(PLATFORM).map(|text| matches!(text.trim(), "low-power" | "quiet" | "cool"));
    let preference = read(PREFERENCE).map(|text| text.trim() == "power");
    match (platform, preference) {
        (None, None) => None,
        (platform, preference) => Some(platform == Some(true) || preference == Some(true)),
    }
}

/// Parameters that have other values while the machine saves power.
#[derive(Debug)]
pub struct Saving {
    /// Index of a parameter, and its value meanwhile.
    values: Vec<(usize, i64)>,
    /// The values before, while the machine saves power.
    before: Option<Vec<(usize, i64)>>,
}

impl Saving {
    pub fn new(values: Vec<(usize, i64)>) -> Saving {
        Saving { values, before: None }
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The parameters to set now that the machine saves power, or no longer does. `value` reads a parameter.
    pub fn change(&mut self, saves: bool, value: impl Fn(usize) -> i64) -> Vec<(usize, i64)> {
        match (saves, self.before.take()) {
            (true, None) => {
                self.before = Some(self.values.iter().map(|(index, _)| (*index, value(*index))).collect());
                self.values.clone()
            }
            (false, Some(before)) => before,
            (_, before) => {
                self.before = before;
                Vec::new()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_saves_power_if_its_profile_or_preference_says_so() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            hearth_base::file::write(&root.path().join(file), text.as_bytes()).unwrap()
        };
        for file in [PLATFORM, PREFERENCE] {
            std::fs::create_dir_all(root.path().join(file).parent().unwrap()).unwrap();
        }
        assert_eq!(saves_power(root.path()), None);
        write(PREFERENCE, "balance_power\n");
        assert_eq!(saves_power(root.path()), Some(false));
        write(PREFERENCE, "power\n");
        assert_eq!(saves_power(root.path()), Some(true));
        write(PREFERENCE, "performance\n");
        write(PLATFORM, "balanced\n");
        assert_eq!(saves_power(root.path()), Some(false));
        write(PLATFORM, "low-power\n");
        assert_eq!(saves_power(root.path()), Some(true));
    }

    #[test]
    fn values_change_and_come_back_once() {
        let mut saving = Saving::new(vec![(2, 0)]);
        assert_eq!(saving.change(false, |_| 8), []);
        assert_eq!(saving.change(true, |_| 8), [(2, 0)]);
        // Set by the user meanwhile.
        assert_eq!(saving.change(true, |_| 5), []);
        assert_eq!(saving.change(false, |_| 5), [(2, 8)]);
        assert_eq!(saving.change(false, |_| 8), []);
    }
}
