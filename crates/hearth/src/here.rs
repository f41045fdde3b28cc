//! This machine as a machine to simulate.

use crate::failure::Failure;
use hearth_host::detect::{self, Detected};
use hearth_host::sysfs::Files;
use hearth_machine::{Governor, Machine};
use hearth_study::Gaps;
use std::path::Path;

pub struct Here {
    pub machine: Machine,
    /// The governor of core 0; `None`: unknown, or one that is not simulated.
    pub governor: Option<Governor>,
    /// What is not printed of it.
    pub gaps: Gaps,
    /// What is known and what is assumed of the machine, in a sentence.
    pub about: String,
}

impl Here {
    /// # Errors
    /// The machine cannot be described, for example because its lists of cores cannot be read.
    pub fn detect() -> Result<Here, Failure> {
        Here::under(&Files::under(Path::new("/")))
    }

    fn under(files: &Files) -> Result<Here, Failure> {
        let detected = detect::detect(files, &detect::registers, &Default::default(), &Default::default())
            .map_err(|error| {
                Failure::from(error).help("name a machine: --machine NAME (`hearth list machines`)")
            })?;
        let machine = Machine::parse("this machine", &detected.toml)?;
        let governor: Option<String> = files.cpu(0, "cpufreq/scaling_governor");
        Ok(Here {
            about: about(&machine, &detected),
            gaps: Gaps {
                machine: machine.name.clone(),
                governor: governor.is_none(),
                power: detected.assumed.iter().any(|section| section.starts_with("power")),
            },
            governor: governor.and_then(|name| name.parse().ok()),
            machine,
        })
    }
}

fn about(machine: &Machine, detected: &Detected) -> String {
    let assumed = detected.assumed.join(", ");
    let mut about = format!(
        "this machine is {}, {} cores; not known of it and taken from {}, the nearest built-in machine: {assumed} (`hearth machine detect` shows the values)",
        machine.model,
        machine.topology.core_count(),
        detected.nearest,
    );
    for note in &detected.notes {
        about += "; ";
        about += note;
    }
    about
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn gaps_are_named_with_their_source() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("sys/devices/system/cpu/online", "0-1\n");
        write("proc/cpuinfo", "vendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC\ncpu MHz\t\t: 2600.0\n");
        for cpu in ["cpu0", "cpu1"] {
            write(&format!("sys/devices/system/cpu/{cpu}/topology/physical_package_id"), "0\n");
            write(&format!("sys/devices/system/cpu/{cpu}/topology/core_cpus_list"), &cpu[3..]);
        }
        let here = Here::under(&Files::under(root.path())).unwrap();
        assert_eq!(here.governor, None);
        assert!(here.gaps.governor && here.machine.power.is_none(), "{:?}", here.gaps);
        assert!(here.about.starts_with("this machine is AMD EPYC, 2 cores;"), "{}", here.about);
        assert!(here.about.contains("taken from ryzen-3400g"), "{}", here.about);
        assert!(here.about.contains("frequency, frequency.turbo"), "{}", here.about);
        write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave\n");
        assert_eq!(Here::under(&Files::under(root.path())).unwrap().governor, Some(Governor::Powersave));
    }
}
