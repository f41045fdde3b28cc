//! Validation of machine files.
//!
//! Checks what the types cannot express. A machine that passes can be built and simulated without
//! panic or overflow.

use crate::file::MachineFile;
use crate::frequency::{Control, FrequencySpec, PowerSpec, Powersave, pstate_count};
use crate::idle::IdleState;
use crate::topology::{Kind, MAX_CORES, Numbering, Shape};

/// Upper bound for frequencies; larger values have the wrong unit.
const MAX_KHZ: u32 = 10_000_000;
/// Lower bound for frequencies; smaller values have the wrong unit.
const MIN_KHZ: u32 = 100_000;
/// Maximum window and time constant of the hardware: one second.
const MAX_WINDOW_US: u32 = 1_000_000;
/// Maximum delay of turbo accounting and governor: ten seconds.
const MAX_DELAY_US: u32 = 10_000_000;
/// Maximum time constant of a power limit: 1000 seconds.
const MAX_TAU_US: u32 = 1_000_000_000;
/// Maximum power of a socket, in watts.
const MAX_W: f64 = 10_000.0;
/// ACPI SLIT distance of a node to itself.
const LOCAL_DISTANCE: u8 = 10;

/// A key with an invalid value.
pub(crate) struct Bad {
    pub key: String,
    pub problem: String,
}

type Check = Result<(), Bad>;

/// Returns an error for `key` unless `right`.
fn ensure(right: bool, key: impl Into<String>, problem: impl FnOnce() -> String) -> Check {
    if right {
        return Ok(());
    }
    Err(Bad { key: key.into(), problem: problem() })
}

/// Validates a machine file; returns the first error.
pub(crate) fn check(file: &MachineFile) -> Check {
    ensure(!file.name.trim().is_empty(), "name", || "is empty; give the machine a short name".into())?;
    topology(&file.topology)?;
    kinds(&file.topology)?;
    frequency(&file.frequency, &file.topology)?;
    maxima(&file.frequency, &file.topology)?;
    if let Some(spec) = &file.power {
        power(spec, file.topology.cores_per_socket)?;
        power_limits(spec)?;
        idle_power(&file.idle, spec, file.topology.cores_per_socket)?;
    } else {
        let state = file.idle.iter().position(|state| state.power_w.is_some());
        ensure(state.is_none(), format!("idle[{}].power_w", state.unwrap_or(0)), || {
            "needs the section [power]; without it the machine's power is unknown".into()
        })?;
    }
    let stall = file.costs.stall_permille;
    ensure(stall <= 1000, "costs.stall_permille", || {
        format!(
            "is {stall}; give the share of a thread's time that is memory stall in thousandths, 0 to 1000"
        )
    })?;
    let share = file.costs.smt_share_permille;
    ensure((1..=1000).contains(&share), "costs.smt_share_permille", || {
        format!("is {share}; give a hyperthread's share of the core in thousandths, 1 to 1000")
    })?;
    idle(&file.idle)
}

fn topology(shape: &Shape) -> Check {
    for (key, count) in [
        ("sockets", shape.sockets),
        ("numa_per_socket", shape.numa_per_socket),
        ("llcs_per_socket", shape.llcs_per_socket),
        ("cores_per_socket", shape.cores_per_socket),
        ("threads_per_core", shape.threads_per_core),
    ] {
        ensure(count > 0, format!("topology.{key}"), || "is 0; it must be at least 1".into())?;
    }
    let sockets = usize::from(shape.sockets);
    let most = shape.kinds.iter().map(|kind| kind.threads_per_core).max().unwrap_or(shape.threads_per_core);
    let threads =
        sockets.saturating_mul(usize::from(shape.cores_per_socket)).saturating_mul(usize::from(most));
    ensure(threads <= MAX_CORES, "topology.cores_per_socket", || {
        format!(
            "gives {threads} hardware threads ({} sockets × {} cores × {} threads); the maximum is {MAX_CORES}",
            shape.sockets, shape.cores_per_socket, most
        )
    })?;
    let own_caches = shape.kinds.iter().any(|kind| kind.llcs > 0);
    for (key, parts) in [
        // `kinds` checks caches of their own.
        ("llcs_per_socket", if own_caches { 1 } else { shape.llcs_per_socket }),
        ("numa_per_socket", shape.numa_per_socket),
    ] {
        ensure(shape.cores_per_socket.is_multiple_of(parts), format!("topology.{key}"), || {
            format!("is {parts}; it must divide cores_per_socket = {}", shape.cores_per_socket)
        })?;
    }
    ensure(shape.llcs_per_socket.is_multiple_of(shape.numa_per_socket), "topology.llcs_per_socket", || {
        format!(
            "is {}; it must be a multiple of numa_per_socket = {}, because a last-level cache belongs to one NUMA node",
            shape.llcs_per_socket, shape.numa_per_socket
        )
    })?;
    distances(&shape.numa_distances, shape.numa_nodes())
}

fn kinds(shape: &Shape) -> Check {
    if shape.kinds.is_empty() {
        return Ok(());
    }
    let list = "topology.kind";
    for (i, kind) in shape.kinds.iter().enumerate() {
        let at = |key: &str| format!("{list}[{i}].{key}");
        for (key, count) in [("cores", kind.cores), ("threads_per_core", kind.threads_per_core)] {
            ensure(count > 0, at(key), || "is 0; it must be at least 1".into())?;
        }
        ensure(kind.cores <= shape.cores_per_socket, at("cores"), || {
            format!("is {}; a socket has {} physical cores", kind.cores, shape.cores_per_socket)
        })?;
        ensure(
            kind.cores_per_clock > 0 && kind.cores.is_multiple_of(kind.cores_per_clock),
            at("cores_per_clock"),
            || format!("is {}; it must divide cores = {}", kind.cores_per_clock, kind.cores),
        )?;
        ensure(kind.llcs == 0 || kind.cores.is_multiple_of(kind.llcs), at("llcs"), || {
            format!("is {}; it must divide cores = {}", kind.llcs, kind.cores)
        })?;
        ensure((MIN_KHZ..=kind.max_khz).contains(&kind.min_khz), at("min_khz"), || {
            format!("is {} kHz; give {MIN_KHZ} kHz to max_khz = {} kHz", kind.min_khz, kind.max_khz)
        })?;
        for (key, permille) in
            [("work_permille", kind.work_permille), ("power_permille", kind.power_permille)]
        {
            ensure((1..=10_000).contains(&permille), at(key), || {
                format!("is {permille}; give thousandths, 1 to 10000")
            })?;
        }
    }
    let cores: u32 = shape.kinds.iter().map(|kind| u32::from(kind.cores)).sum();
    ensure(cores == u32::from(shape.cores_per_socket), "topology.cores_per_socket", || {
        format!("is {}, but the kinds have {cores} cores in all", shape.cores_per_socket)
    })?;
    let threads = |kind: &Kind| kind.threads_per_core == shape.kinds[0].threads_per_core;
    ensure(
        shape.kinds.iter().all(threads) || shape.numbering == Numbering::Adjacent,
        "topology.numbering",
        || "must be \"adjacent\", because the kinds differ in threads_per_core".into(),
    )?;
    let first = shape.kinds[0].threads_per_core;
    ensure(shape.threads_per_core == first, "topology.threads_per_core", || {
        format!("is {}; it must be that of the first kind, {first}", shape.threads_per_core)
    })?;
    kinds_caches(shape)
}

/// The caches of kinds that have their own, and those that the others share.
fn kinds_caches(shape: &Shape) -> Check {
    let own: u32 = shape.kinds.iter().map(|kind| u32::from(kind.llcs)).sum();
    let sharing: u32 = shape.kinds.iter().filter(|k| k.llcs == 0).map(|k| u32::from(k.cores)).sum();
    let shared = u32::from(shape.llcs_per_socket).checked_sub(own);
    let right = match (shared, sharing) {
        (Some(shared), 0) => shared == 0,
        (Some(shared), sharing) => shared > 0 && sharing.is_multiple_of(shared),
        (None, _) => false,
    };
    ensure(right, "topology.llcs_per_socket", || {
        format!(
            "is {}; the kinds have {own} caches of their own, and the other {sharing} cores must share the rest evenly",
            shape.llcs_per_socket
        )
    })?;
    ensure(own == 0 || shape.numa_per_socket == 1, "topology.numa_per_socket", || {
        "must be 1 where kinds have caches of their own".into()
    })
}

/// Frequencies of kinds and of single cores.
fn maxima(spec: &FrequencySpec, shape: &Shape) -> Check {
    let range = spec.min_khz..=spec.max_khz();
    for (i, kind) in shape.kinds.iter().enumerate() {
        for (key, khz) in [("min_khz", kind.min_khz), ("max_khz", kind.max_khz)] {
            ensure(range.contains(&khz), format!("topology.kind[{i}].{key}"), || {
                format!("is {khz} kHz; the machine has {} to {} kHz", range.start(), range.end())
            })?;
        }
    }
    let key = "frequency.core_max_khz";
    let all = &spec.core_max_khz;
    ensure(all.is_empty() || all.len() == usize::from(shape.cores_per_socket), key, || {
        format!(
            "has length {}; give one for each of the {} cores of a socket",
            all.len(),
            shape.cores_per_socket
        )
    })?;
    for (i, &khz) in all.iter().enumerate() {
        let lowest = shape.kinds.get(shape.kind_of(i as u16)).map_or(spec.min_khz, |kind| kind.min_khz);
        ensure((lowest..=spec.max_khz()).contains(&khz), format!("{key}[{i}]"), || {
            format!("is {khz} kHz; give {lowest} to {} kHz", spec.max_khz())
        })?;
    }
    ensure(spec.control != Control::None || spec.hwp.is_none(), "frequency.hwp", || {
        "is only for control = \"speedshift\" or powersave = \"hardware\"; remove it".into()
    })
}

fn distances(matrix: &[Vec<u8>], nodes: usize) -> Check {
    let key = "topology.numa_distances";
    ensure(matrix.len() == nodes, key, || {
        format!("has length {}; it must have one row for each of the {nodes} NUMA nodes", matrix.len())
    })?;
    for (i, row) in matrix.iter().enumerate() {
        ensure(row.len() == nodes, format!("{key}[{i}]"), || {
            format!("has length {}; it must have one entry for each of the {nodes} NUMA nodes", row.len())
        })?;
        for (j, &distance) in row.iter().enumerate() {
            let right = if i == j { distance == LOCAL_DISTANCE } else { distance > LOCAL_DISTANCE };
            ensure(right, format!("{key}[{i}][{j}]"), || {
                if i == j {
                    format!("is {distance}; the distance of a node to itself must be {LOCAL_DISTANCE}")
                } else {
                    format!(
                        "is {distance}; the distance to another node must be greater than {LOCAL_DISTANCE}"
                    )
                }
            })?;
        }
    }
    Ok(())
}

fn frequency(spec: &FrequencySpec, shape: &Shape) -> Check {
    let cores = shape.kinds.iter().map(|kind| kind.cores).max().unwrap_or(shape.cores_per_socket);
    ensure(spec.min_khz >= MIN_KHZ, "frequency.min_khz", || {
        format!("is {} kHz; it must be at least {MIN_KHZ} kHz; check the unit", spec.min_khz)
    })?;
    ensure(spec.min_khz <= spec.nominal_khz, "frequency.min_khz", || {
        format!("is {} kHz, above the nominal frequency ({} kHz)", spec.min_khz, spec.nominal_khz)
    })?;
    ensure(spec.step_khz > 0, "frequency.step_khz", || {
        "is 0; give the distance between two P-states in kHz, e.g. 100_000 on Intel".into()
    })?;
    turbo(spec, cores)?;
    let most = crate::frequency::MAX_PSTATES;
    // Checked before the P-states are built: a step of 1 kHz would give millions.
    let steps = (spec.max_khz() - spec.min_khz) / spec.step_khz;
    ensure((steps as usize) < most && pstate_count(spec, shape) <= most, "frequency.step_khz", || {
        format!("is {} kHz, which gives more than {most} P-states; use a larger step", spec.step_khz)
    })?;
    ensure((1..=MAX_WINDOW_US).contains(&spec.window_us), "frequency.window_us", || {
        format!("is {}; give 1 to {MAX_WINDOW_US} microseconds", spec.window_us)
    })?;
    requests(spec)?;
    drivers(spec)?;
    hwp(spec)?;
    let invariant = spec.schedutil.invariant_khz;
    let range = spec.min_khz..=spec.max_khz();
    ensure(invariant == 0 || range.contains(&invariant), "frequency.schedutil.invariant_khz", || {
        format!(
            "is {invariant} kHz; give 0 for no frequency invariance, or {} to {} kHz",
            range.start(),
            range.end()
        )
    })?;
    let limit = spec.schedutil.rate_limit_us;
    ensure(limit <= MAX_DELAY_US, "frequency.schedutil.rate_limit_us", || {
        format!("is {limit}; give at most {MAX_DELAY_US} microseconds")
    })
}

/// Which governors and requests the control has.
fn requests(spec: &FrequencySpec) -> Check {
    let sampler = spec.powersave == Powersave::Sampler;
    ensure(!sampler || spec.control == Control::SpeedStep, "frequency.powersave", || {
        "is \"sampler\", which needs control = \"speedstep\"; with HWP, intel_pstate leaves the choice to \
         the hardware: powersave = \"hardware\""
            .into()
    })?;
    let key = "frequency.requests_khz";
    let khz = &spec.requests_khz;
    let (Some(&first), Some(&last)) = (khz.first(), khz.last()) else { return Ok(()) };
    ensure(spec.control == Control::PerCore, key, || {
        "is only for control = \"percore\"; Intel's drivers can request every P-state".into()
    })?;
    ensure(khz.windows(2).all(|pair| pair[0] < pair[1]), key, || "must be in ascending order".into())?;
    ensure(first == spec.min_khz && last == spec.nominal_khz, key, || {
        format!(
            "goes from {first} to {last} kHz; it must go from min_khz = {} to nominal_khz = {}",
            spec.min_khz, spec.nominal_khz
        )
    })
}

/// The first driver has the control that the file says.
fn drivers(spec: &FrequencySpec) -> Check {
    let key = "frequency.drivers";
    let Some(&first) = spec.drivers.first() else { return Ok(()) };
    ensure(spec.control != Control::None, key, || "is only for machines with a control; remove it".into())?;
    for (i, driver) in spec.drivers.iter().enumerate() {
        ensure(!spec.drivers[..i].contains(driver), key, || format!("names {driver} twice"))?;
    }
    let by_driver = first.control(spec);
    ensure((by_driver.control, by_driver.powersave) == (spec.control, spec.powersave), key, || {
        format!(
            "begins with {first}, which has control = \"{}\" and powersave = \"{}\"; give these, or other drivers, or none: \
             drivers = []",
            by_driver.control.name(),
            by_driver.powersave.name()
        )
    })
}

fn hwp(spec: &FrequencySpec) -> Check {
    let chooses =
        |spec: &FrequencySpec| spec.control == Control::SpeedShift || spec.powersave == Powersave::Hardware;
    let needed = chooses(spec) || spec.drivers.iter().any(|driver| chooses(&driver.control(spec)));
    let Some(hwp) = &spec.hwp else {
        return ensure(!needed, "frequency.hwp", || {
            "is missing; the hardware chooses frequencies on this machine, so give tau_us and full_permille"
                .into()
        });
    };
    ensure(needed, "frequency.hwp", || {
        "is only for control = \"speedshift\" or powersave = \"hardware\"; remove it".into()
    })?;
    ensure((1..=MAX_WINDOW_US).contains(&hwp.tau_us), "frequency.hwp.tau_us", || {
        format!("is {}; give 1 to {MAX_WINDOW_US} microseconds", hwp.tau_us)
    })?;
    ensure((1..=1000).contains(&hwp.full_permille), "frequency.hwp.full_permille", || {
        format!("is {}; give an activity in thousandths, 1 to 1000", hwp.full_permille)
    })
}

fn turbo(spec: &FrequencySpec, cores: u16) -> Check {
    let release = spec.turbo.release_us;
    ensure(release <= MAX_DELAY_US, "frequency.turbo.release_us", || {
        format!("is {release}; give at most {MAX_DELAY_US} microseconds")
    })?;
    let limits = &spec.turbo.limits;
    let list = "frequency.turbo.limits";
    ensure(!limits.is_empty(), list, || {
        format!(
            "is empty; for a machine without turbo, write {{ cores = {cores}, khz = {} }}",
            spec.nominal_khz
        )
    })?;
    let mut before: Option<crate::frequency::TurboLimit> = None;
    for (i, limit) in limits.iter().enumerate() {
        let at = |key: &str| format!("{list}[{i}].{key}");
        ensure(limit.cores > 0, at("cores"), || "is 0; it must be at least 1".into())?;
        ensure(limit.cores <= cores, at("cores"), || {
            format!("is {}; a socket has {cores} physical cores", limit.cores)
        })?;
        ensure(limit.khz >= spec.nominal_khz, at("khz"), || {
            format!("is {} kHz, below the nominal frequency ({} kHz)", limit.khz, spec.nominal_khz)
        })?;
        ensure(limit.khz <= MAX_KHZ, at("khz"), || {
            format!("is {} kHz; it must be at most {MAX_KHZ} kHz; check the unit", limit.khz)
        })?;
        if let Some(before) = before {
            ensure(limit.cores > before.cores, at("cores"), || {
                format!(
                    "is {}, but the previous entry covers {} cores; list the limits in ascending order of cores",
                    limit.cores, before.cores
                )
            })?;
            ensure(limit.khz < before.khz, at("khz"), || {
                format!(
                    "is {} kHz; it must be below the previous limit ({} kHz), because the limit falls with the number of active cores; merge entries with equal limits",
                    limit.khz, before.khz
                )
            })?;
        }
        before = Some(*limit);
    }
    let covered = before.map_or(0, |l| l.cores);
    ensure(covered == cores, format!("{list}[{}].cores", limits.len() - 1), || {
        format!("is {covered}; the last limit must cover all {cores} cores of the socket")
    })
}

fn power(spec: &PowerSpec, cores: u16) -> Check {
    for (key, watts) in [
        ("tdp_w", spec.tdp_w),
        ("uncore_w", spec.uncore_w),
        ("package_idle_w", spec.package_idle_w),
        ("core_idle_w", spec.core_idle_w),
    ] {
        // Also rejects NaN and infinities, which TOML allows.
        ensure((0.0..=MAX_W).contains(&watts), format!("power.{key}"), || {
            format!("is {watts}; give 0 to {MAX_W} watts")
        })?;
    }
    ensure(spec.uncore_w < spec.tdp_w, "power.uncore_w", || {
        format!("is {} W; it must be below the TDP ({} W)", spec.uncore_w, spec.tdp_w)
    })?;
    ensure(spec.package_idle_w <= spec.uncore_w, "power.package_idle_w", || {
        format!("is {} W, more than uncore_w ({} W)", spec.package_idle_w, spec.uncore_w)
    })?;
    ensure((0.0..=1.0).contains(&spec.leakage), "power.leakage", || {
        format!("is {}; give the fraction of a busy core's power that is leakage, 0 to 1", spec.leakage)
    })?;
    let busy = (spec.tdp_w - spec.uncore_w) / f64::from(cores);
    ensure(spec.core_idle_w <= busy, "power.core_idle_w", || {
        format!(
            "is {} W, more than the {busy:.2} W of a busy core ((tdp_w − uncore_w) / cores)",
            spec.core_idle_w
        )
    })?;
    ensure(!spec.voltage.is_empty(), "power.voltage", || {
        "is empty; give at least one point { khz = …, mv = … }".into()
    })?;
    for (i, point) in spec.voltage.iter().enumerate() {
        ensure((100..=5000).contains(&point.mv), format!("power.voltage[{i}].mv"), || {
            format!("is {}; give 100 to 5000 millivolts", point.mv)
        })?;
    }
    for (i, pair) in spec.voltage.windows(2).enumerate() {
        let (low, high) = (pair[0], pair[1]);
        let at = |key: &str| format!("power.voltage[{}].{key}", i + 1);
        ensure(high.khz > low.khz, at("khz"), || {
            format!(
                "is {} kHz; it must be above the previous point ({} kHz): list the points in ascending order of frequency",
                high.khz, low.khz
            )
        })?;
        ensure(high.mv >= low.mv, at("mv"), || {
            format!(
                "is {} mV, below the {} mV of a lower frequency; voltage must not fall with frequency",
                high.mv, low.mv
            )
        })?;
    }
    Ok(())
}

fn power_limits(spec: &PowerSpec) -> Check {
    ensure(spec.tdp_khz.is_none_or(|khz| (MIN_KHZ..=MAX_KHZ).contains(&khz)), "power.tdp_khz", || {
        format!("is {} kHz; give {MIN_KHZ} to {MAX_KHZ} kHz", spec.tdp_khz.unwrap_or(0))
    })?;
    for (i, limit) in spec.limits.iter().enumerate() {
        let at = |key: &str| format!("power.limit[{i}].{key}");
        ensure(limit.watts > spec.uncore_w && limit.watts <= MAX_W, at("watts"), || {
            format!(
                "is {}; give more than uncore_w ({} W), at most {MAX_W} watts",
                limit.watts, spec.uncore_w
            )
        })?;
        ensure((1..=MAX_TAU_US).contains(&limit.tau_us), at("tau_us"), || {
            format!("is {}; give 1 to {MAX_TAU_US} microseconds", limit.tau_us)
        })?;
    }
    Ok(())
}

/// Idle states draw at most a busy core's power, and a deeper one not more than a shallower one.
fn idle_power(states: &[IdleState], spec: &PowerSpec, cores: u16) -> Check {
    let mut most = (spec.tdp_w - spec.uncore_w) / f64::from(cores);
    for (i, state) in states.iter().enumerate() {
        let watts = state.power_w.unwrap_or(spec.core_idle_w);
        ensure((0.0..=most).contains(&watts), format!("idle[{i}].power_w"), || {
            format!(
                "is {watts}; give 0 to {most:.2} W: at most that of the shallower state or of a busy core"
            )
        })?;
        most = watts;
    }
    Ok(())
}

fn idle(states: &[IdleState]) -> Check {
    for (i, state) in states.iter().enumerate() {
        ensure(
            state.exit_latency_us <= state.target_residency_us,
            format!("idle[{i}].exit_latency_us"),
            || {
                format!(
                    "is {}, more than target_residency_us = {}; a sleep shorter than its exit latency never pays off",
                    state.exit_latency_us, state.target_residency_us
                )
            },
        )?;
    }
    for (i, pair) in states.windows(2).enumerate() {
        let (shallow, deep) = (&pair[0], &pair[1]);
        ensure(
            deep.target_residency_us > shallow.target_residency_us,
            format!("idle[{}].target_residency_us", i + 1),
            || {
                format!(
                    "is {}; it must be above the {} of `{}`: list the states from shallow to deep",
                    deep.target_residency_us, shallow.target_residency_us, shallow.name
                )
            },
        )?;
        ensure(
            deep.exit_latency_us >= shallow.exit_latency_us,
            format!("idle[{}].exit_latency_us", i + 1),
            || {
                format!(
                    "is {}, below the {} of the shallower `{}`",
                    deep.exit_latency_us, shallow.exit_latency_us, shallow.name
                )
            },
        )?;
        ensure(shallow.counts || !deep.counts, format!("idle[{}].counts", i + 1), || {
            format!("is true, but the shallower `{}` does not count", shallow.name)
        })?;
    }
    Ok(())
}
