//! Idle states, from the kernel's idle driver.

use super::SourcedValue;
use crate::sysfs::Files;
use hearth_machine::{IdleState, Machine};

/// The kernel's maximum of idle states.
const MOST: u32 = 16;

/// The states in which a core counts as active for the turbo limit (assumption).
const COUNTED: [&str; 3] = ["C1", "C1E", "C1_ACPI"];

/// Idle states from shallow to deep; those of the nearest machine if the kernel reports none.
pub fn read(files: &Files, cpu: u32, nearest: &Machine) -> SourcedValue<Vec<IdleState>> {
    let mut states: Vec<IdleState> = Vec::new();
    for state in (0..MOST).map_while(|state| one(files, cpu, state)).flatten() {
        let deeper = states.last().is_none_or(|last| {
            state.target_residency_us > last.target_residency_us
                && state.exit_latency_us >= last.exit_latency_us
        });
        if deeper {
            let counts = state.counts && states.last().is_none_or(|last| last.counts);
            states.push(IdleState { counts, ..state });
        }
    }
    if states.is_empty() {
        return SourcedValue::new(
            nearest.idle.clone(),
            format!("assumption: as {}; the kernel reports no idle states", nearest.name),
        );
    }
    let driver = files.text("sys/devices/system/cpu/cpuidle/current_driver").unwrap_or_default();
    SourcedValue::new(states, format!("sysfs, cpuidle: driver {driver}; polling left out"))
}

/// Reads one state. The outer `None` ends the list; the inner one marks a state to skip (disabled or polling).
fn one(files: &Files, cpu: u32, state: u32) -> Option<Option<IdleState>> {
    let file = |file: &str| format!("cpuidle/state{state}/{file}");
    let name: String = files.cpu(cpu, &file("name"))?;
    let off = files.cpu(cpu, &file("disable")).is_some_and(|off: String| off != "0");
    let latency: Option<u32> = files.cpu(cpu, &file("latency"));
    let residency: Option<u32> = files.cpu(cpu, &file("residency"));
    let (Some(latency), false, false) = (latency, off, name == "POLL") else { return Some(None) };
    Some(Some(IdleState {
        counts: COUNTED.contains(&name.as_str()),
        name,
        power_w: None,
        exit_latency_us: latency,
        // A sleep shorter than the wake-up latency never saves energy, even if the firmware reports it.
        target_residency_us: residency.unwrap_or(0).max(latency).max(1),
    }))
}
