//! Writes the machine file: each number has a comment above it with its source.

use super::frequency::Frequencies;
use super::topology::{Regular, numbering_name};
use super::{Measured, Processor, SourcedValue, Vendor};
use crate::report::{Direction, Verdict};
use hearth_machine::frequency::{Hwp, VoltagePoint};
use hearth_machine::{Control, Driver, IdleState, Machine, Powersave};
use std::fmt::Display;

pub struct Parts<'a> {
    pub name: &'a str,
    pub processor: &'a Processor,
    pub shape: &'a Regular,
    pub frequency: &'a Frequencies,
    pub idle: &'a SourcedValue<Vec<IdleState>>,
    /// In watts.
    pub tdp: Option<f64>,
    /// Whether the machine has energy counters.
    pub counts_energy: bool,
    pub nearest: &'a Machine,
    pub measured: &'a Measured,
    pub rate_limit: Option<u32>,
    pub notes: &'a [String],
}

pub fn file(parts: &Parts<'_>) -> String {
    let mut out = Out::default();
    out.comment(&format!("{}. Keys and units: docs/src/machines.md.", parts.processor.name));
    out.comment("Written by `hearth machine detect`; each number has its source above it.");
    for note in parts.notes {
        out.comment(&format!("note: {note}"));
    }
    out.line("");
    out.key("name", text(parts.name));
    out.key("model", text(&parts.processor.name));
    topology(&mut out, parts);
    frequency(&mut out, parts);
    power(&mut out, parts);
    costs(&mut out, parts);
    idle(&mut out, parts);
    out.text
}

#[derive(Default)]
struct Out {
    text: String,
}

impl Out {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn section(&mut self, name: &str) {
        self.line(&format!("\n[{name}]"));
    }

    /// Writes a comment in lines of about 100 characters. Text from the machine cannot break out of the comment.
    fn comment(&mut self, comment: &str) {
        let mut line = String::from("#");
        for word in
            comment.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty())
        {
            if line.chars().count() + word.chars().count() > 98 && line != "#" {
                self.line(&line);
                line = String::from("#");
            }
            line.push(' ');
            line.push_str(word);
        }
        self.line(&line);
    }

    fn key(&mut self, key: &str, value: impl Display) {
        self.line(&format!("{key} = {value}"));
    }

    fn known(&mut self, key: &str, value: impl Display, source: &str) {
        self.comment(source);
        self.key(key, value);
    }
}

/// Quotes any string for TOML.
fn text(value: &str) -> String {
    toml::Value::String(value.chars().map(|c| if c.is_control() { ' ' } else { c }).take(200).collect())
        .to_string()
}

/// `1_200_000`
fn digits(number: u32) -> String {
    let plain = number.to_string();
    let mut shown = String::new();
    for (i, digit) in plain.chars().enumerate() {
        if i > 0 && (plain.len() - i).is_multiple_of(3) {
            shown.push('_');
        }
        shown.push(digit);
    }
    shown
}

fn topology(out: &mut Out, parts: &Parts<'_>) {
    let shape = parts.shape;
    out.section("topology");
    out.comment("sysfs: cpu*/topology, cpu*/cache, node*/cpulist.");
    out.key("sockets", shape.sockets);
    out.key("numa_per_socket", shape.numa_per_socket);
    out.key("llcs_per_socket", shape.llcs_per_socket);
    out.key("cores_per_socket", shape.cores_per_socket);
    out.key("threads_per_core", shape.threads_per_core);
    out.key("numbering", text(numbering_name(shape.numbering)));
    out.comment(match (shape.numa_distances.len(), shape.assumed_distances) {
        (_, true) => "assumption: 21, a typical distance, because sysfs reports none.",
        (1, false) => "One node.",
        _ => "sysfs, node*/distance.",
    });
    let rows: Vec<String> = shape.numa_distances.iter().map(|row| format!("{row:?}")).collect();
    match rows.len() {
        0 | 1 => out.key("numa_distances", format!("[{}]", rows.join(""))),
        _ => out.key("numa_distances", format!("[\n  {},\n]", rows.join(",\n  "))),
    }
    for kind in &shape.kinds {
        out.line("\n[[topology.kind]]");
        out.comment(
            "sysfs: cpu_capacity, cpufreq/cpuinfo_min_freq and cpuinfo_max_freq, cpufreq/related_cpus.",
        );
        out.key("name", text(&kind.name));
        out.key("cores", kind.cores);
        out.key("threads_per_core", kind.threads_per_core);
        out.key("cores_per_clock", kind.cores_per_clock);
        out.key("llcs", kind.llcs);
        out.key("min_khz", digits(kind.min_khz));
        out.key("max_khz", digits(kind.max_khz));
        out.known("work_permille", kind.work_permille, &shape.work_source);
        out.known("power_permille", kind.power_permille, "assumption: the cube of its work per cycle.");
    }
}

fn frequency(out: &mut Out, parts: &Parts<'_>) {
    let f = parts.frequency;
    out.section("frequency");
    for (key, known) in [("min_khz", &f.min_khz), ("nominal_khz", &f.nominal_khz), ("step_khz", &f.step_khz)]
    {
        out.known(key, digits(known.value), &known.source);
    }
    out.known("control", text(f.control.value.name()), &f.control.source);
    out.known("powersave", text(f.powersave.value.name()), &f.powersave.source);
    if !f.drivers.value.is_empty() {
        let names: Vec<String> = f.drivers.value.iter().map(|driver| text(driver.name())).collect();
        out.known("drivers", format!("[{}]", names.join(", ")), &f.drivers.source);
    }
    if let Some(requests) = &f.requests {
        let khz: Vec<String> = requests.value.iter().map(|&khz| digits(khz)).collect();
        out.known("requests_khz", format!("[{}]", khz.join(", ")), &requests.source);
    }
    if !f.core_max_khz.value.is_empty() {
        let khz: Vec<String> = f.core_max_khz.value.iter().map(|&khz| digits(khz)).collect();
        out.known("core_max_khz", format!("[{}]", khz.join(", ")), &f.core_max_khz.source);
    }
    transitions(out, parts);
    out.known("window_us", digits(parts.nearest.frequency.window_us), &assumed(parts));
    out.section("frequency.turbo");
    out.known("release_us", digits(parts.nearest.frequency.turbo.release_us), &assumed(parts));
    out.comment(&f.limits.source);
    out.line("limits = [");
    for limit in &f.limits.value {
        out.line(&format!("  {{ cores = {}, khz = {} }},", limit.cores, digits(limit.khz)));
    }
    out.line("]");
    let chooses = f.control.value == Control::SpeedShift || f.powersave.value == Powersave::Hardware;
    if chooses || f.drivers.value.contains(&Driver::AmdPstateEpp) {
        let hwp = parts.nearest.frequency.hwp.clone().unwrap_or(HWP);
        out.section("frequency.hwp");
        out.known("tau_us", digits(hwp.tau_us), "assumption: as the built-in machines with Speed Shift.");
        out.key("full_permille", hwp.full_permille);
    }
    schedutil(out, parts);
}

/// The values of the built-in machines, for hardware that chooses frequencies but is not Intel's.
const HWP: Hwp = Hwp { tau_us: 1_000, full_permille: 300 };

fn schedutil(out: &mut Out, parts: &Parts<'_>) {
    let f = parts.frequency;
    out.section("frequency.schedutil");
    match parts.rate_limit {
        Some(us) => out.known("rate_limit_us", digits(us), "sysfs, cpufreq/schedutil/rate_limit_us"),
        None => out.known(
            "rate_limit_us",
            digits(parts.nearest.frequency.schedutil.rate_limit_us),
            &assumed(parts),
        ),
    }
    let limit =
        |cores: u16| f.limits.value.iter().find(|limit| limit.cores >= cores).or(f.limits.value.last());
    let khz = |cores| limit(cores).map_or(f.nominal_khz.value, |limit| limit.khz);
    let (khz, source) = match parts.processor.vendor {
        Vendor::Intel => {
            (khz(4), "Linux 5.7 and later, intel_set_max_freq_ratio: the turbo frequency of four cores.")
        }
        _ => (
            f.nominal_khz.value.midpoint(khz(1)),
            "Linux 5.11 and later, amd_set_max_freq_ratio: halfway from the nominal to the highest.",
        ),
    };
    out.known("invariant_khz", digits(khz), source);
}

/// The measured transition latencies, as comments: they result from governor and hardware.
fn transitions(out: &mut Out, parts: &Parts<'_>) {
    for (up, what) in [(true, "up"), (false, "down")] {
        match measured_phase(parts, up) {
            Ok((times, source)) => out.comment(&format!(
                "{source}: {what} in {} ms, settled after {} ms (medians). This results from governor and \
                 hardware; it is no key.",
                tenths(times.reached),
                tenths(times.settled)
            )),
            Err(Some(why)) => out.comment(&why),
            Err(None) => {}
        }
    }
}

fn assumed(parts: &Parts<'_>) -> String {
    format!("assumption: as {}, the nearest known machine.", parts.nearest.name)
}

/// In milliseconds.
struct Times {
    reached: f64,
    settled: f64,
}

/// The times that `hearth ftl` measured and a description of the measurement, or why there are none.
fn measured_phase(parts: &Parts<'_>, up: bool) -> Result<(Times, String), Option<String>> {
    let report = parts.measured.ftl.as_ref().ok_or(None)?;
    let (phase, wanted) = if up { (&report.up, Direction::Rises) } else { (&report.down, Direction::Falls) };
    let on = format!("on core {} by {}", report.core, report.source.kind);
    let times = phase.reached_ms.zip(phase.settled_ms).filter(|_| phase.direction == Some(wanted));
    match times {
        Some((reached, settled)) => {
            let source =
                format!("Measured {on}, {} rounds, resolution {} ms", phase.usable, phase.resolution_ms);
            Ok((Times { reached: reached.median, settled: settled.median }, source))
        }
        None if phase.verdict == Verdict::NotSeen => {
            Err(Some(format!("Measured {on}: no transition was seen.")))
        }
        None => Err(Some(format!("Measured {on}: no clear transition was seen."))),
    }
}

fn power(out: &mut Out, parts: &Parts<'_>) {
    let Some(theirs) = parts.nearest.power.as_ref().filter(|_| parts.counts_energy) else {
        return out
            .comment("No section [power]: this machine has no energy counters, so its power is unknown.");
    };
    let old = parts.nearest.topology.shape();
    let size = f64::from(parts.shape.cores_per_socket) / f64::from(old.cores_per_socket.max(1));
    let tdp = parts.tdp.unwrap_or(theirs.tdp_w * size);
    let factor = tdp / theirs.tdp_w.max(1.0);
    let scaled = format!("assumption: as {}, in proportion to the TDP.", parts.nearest.name);
    out.section("power");
    match parts.tdp {
        Some(_) => out.comment("sysfs, powercap: the package's long-term limit."),
        None => out.comment(&format!("assumption: as {}, in proportion to the cores.", parts.nearest.name)),
    }
    let tdp_w = tenths(tdp).max(0.2);
    let uncore_w = tenths(theirs.uncore_w * factor).min(tenths(tdp_w / 2.0));
    out.key("tdp_w", float(tdp_w));
    out.known("uncore_w", float(uncore_w), &scaled);
    out.known("package_idle_w", float(tenths(theirs.package_idle_w * factor).min(uncore_w)), &scaled);
    let busy = (tdp_w - uncore_w) / f64::from(parts.shape.cores_per_socket);
    let core_idle_w = (theirs.core_idle_w.min(busy / 2.0) * 1000.0).floor() / 1000.0;
    out.known("core_idle_w", float(core_idle_w), &assumed(parts));
    out.known("leakage", float(theirs.leakage), &assumed(parts));
    out.comment(&format!("assumption: the voltages of {} at the ends of its ranges.", parts.nearest.name));
    out.line("voltage = [");
    for point in voltage(parts) {
        out.line(&format!("  {{ khz = {}, mv = {} }},", digits(point.khz), point.mv));
    }
    out.line("]");
}

fn tenths(watts: f64) -> f64 {
    (watts * 10.0).round() / 10.0
}

/// Formats a float so that TOML does not read it as an integer.
fn float(value: f64) -> String {
    format!("{value:?}")
}

/// Assigns the nearest machine's first, middle and last voltages to our lowest, nominal and highest frequency.
fn voltage(parts: &Parts<'_>) -> Vec<VoltagePoint> {
    let theirs = parts.nearest.power.as_ref().map_or(&[][..], |power| &power.voltage);
    let f = parts.frequency;
    let highest = f.limits.value.first().map_or(f.nominal_khz.value, |limit| limit.khz);
    let ours = [f.min_khz.value, f.nominal_khz.value, highest];
    let mv = |i: usize| theirs.get((i * theirs.len().saturating_sub(1)) / 2).map_or(1000, |point| point.mv);
    let mut points: Vec<VoltagePoint> =
        ours.iter().enumerate().map(|(i, &khz)| VoltagePoint { khz, mv: mv(i) }).collect();
    points.dedup_by_key(|point| point.khz);
    points
}

fn costs(out: &mut Out, parts: &Parts<'_>) {
    let costs = &parts.nearest.costs;
    out.section("costs");
    out.comment(&assumed(parts));
    out.key("stall_permille", costs.stall_permille);
    out.key("context_switch_ns", digits(costs.context_switch_ns));
    out.key("remote_wakeup_ns", digits(costs.remote_wakeup_ns));
    out.key("smt_share_permille", costs.smt_share_permille);
    out.section("costs.migration");
    out.comment(&assumed(parts));
    for (key, ns) in [
        ("smt_ns", costs.migration.smt_ns),
        ("llc_ns", costs.migration.llc_ns),
        ("numa_ns", costs.migration.numa_ns),
        ("machine_ns", costs.migration.machine_ns),
    ] {
        out.key(key, digits(ns));
    }
}

fn idle(out: &mut Out, parts: &Parts<'_>) {
    for (i, state) in parts.idle.value.iter().enumerate() {
        out.line("\n[[idle]]");
        if i == 0 {
            out.comment(&parts.idle.source);
        }
        out.key("name", text(&state.name));
        out.key("exit_latency_us", digits(state.exit_latency_us));
        out.key("target_residency_us", digits(state.target_residency_us));
        if state.counts {
            out.comment("assumption: C1 and C1E count as active for the turbo limit.");
            out.key("counts", true);
        }
    }
}
