//! Source of the frequencies that a policy sees: the kernel, none, or the model of a machine, driven by the activity
//! of the cores. The model is for virtual machines, whose cores have no frequency counters.

use crate::arena::{Arena, read, store};
use crate::error::Error;
use crate::layout::frequency_source::{KERNEL, MODEL, UNKNOWN};
use crate::layout::{CoreWord, MAX_CORES};
use hearth_host::{Host, now};
use hearth_machine::{Governor, Machine, Model};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// Sampling interval of the model.
pub const STEP: Duration = Duration::from_millis(1);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Source {
    /// `Kernel` if this machine has frequencies, else `Unknown`.
    #[default]
    Auto,
    Kernel,
    /// All cores count as fast.
    Unknown,
    /// All cores count as slow.
    Slow,
    /// `model:MACHINE[:GOVERNOR]`
    Model {
        machine: String,
        governor: Governor,
    },
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "auto" => Ok(Source::Auto),
            None if text == "kernel" => Ok(Source::Kernel),
            None if text == "unknown" => Ok(Source::Unknown),
            None if text == "slow" => Ok(Source::Slow),
            Some(("model", machine)) if !machine.is_empty() => {
                // A machine file may have a colon in its path; a governor's name has none.
                let (machine, governor) = match machine.rsplit_once(':') {
                    Some((machine, governor)) => {
                        (machine, governor.parse().map_err(|error| format!("{error}"))?)
                    }
                    None => (machine, Governor::Schedutil),
                };
                Ok(Source::Model { machine: machine.into(), governor })
            }
            _ => Err("expected kernel, unknown, slow, or model:MACHINE, such as model:xeon-5218".into()),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::Auto => f.write_str("auto"),
            Source::Kernel => f.write_str("kernel"),
            Source::Unknown => f.write_str("unknown"),
            Source::Slow => f.write_str("slow"),
            Source::Model { machine, governor } => write!(f, "model:{machine}:{governor}"),
        }
    }
}

impl Source {
    /// Replaces `Auto` by the source that this machine has.
    pub fn resolve(self, host: &Host) -> Source {
        match self {
            Source::Auto if host.khz_range.1 > 0 => Source::Kernel,
            Source::Auto => Source::Unknown,
            source => source,
        }
    }

    /// The driver of the model, if this is one.
    ///
    /// # Errors
    /// As [`Driver::new`].
    pub(crate) fn driver(&self, host: &Host) -> Result<Option<Driver>, Error> {
        match self {
            Source::Model { machine, governor } => Driver::new(machine, *governor, host, now()).map(Some),
            _ => Ok(None),
        }
    }

    /// Writes the source and the lowest frequencies into the arena, before the policy starts. `driver`: the model's.
    pub(crate) fn store(&self, arena: &Arena, host: &Host, driver: Option<&Driver>) {
        let source = match self {
            Source::Auto | Source::Unknown | Source::Slow => UNKNOWN,
            Source::Kernel => KERNEL,
            Source::Model { .. } => MODEL,
        };
        store!(arena.world(), frequency_source, source);
        let min_khz = match self {
            Source::Auto | Source::Unknown => 0,
            // The policy sees 0, which is below any minimum.
            Source::Slow => 1,
            Source::Kernel => return,
            Source::Model { .. } => return driver.into_iter().for_each(|driver| driver.begin(arena)),
        };
        for &cpu in host.cpus.iter().filter(|cpu| (**cpu as usize) < MAX_CORES) {
            store!(arena.core(cpu as usize), min_khz, min_khz);
        }
    }
}

/// A core of the host, and the modelled core that stands for it.
#[derive(Clone, Debug)]
struct Core {
    cpu: usize,
    core: u16,
    /// Of the modelled core: the policy sees it.
    capacity: u32,
    /// `busy_ns` of the core at the last sample.
    busy_ns: u64,
    /// Utilisation, 0..=1024, with a half-life of 32 ms as in `schedutil`.
    util: f64,
}

/// Drives the frequency model of a machine by the activity of the host's cores.
pub struct Driver {
    model: Model,
    cores: Vec<Core>,
    range: (u32, u32),
    start: u64,
}

/// Decay of the utilisation in 1 ms: 0.5^(1/32).
const DECAY_1MS: f64 = 0.978_572;

impl Driver {
    /// Loads a machine, scaled to the host's sockets and cores; `now` is CLOCK_MONOTONIC in ns.
    ///
    /// # Errors
    /// There is no such machine, or it cannot be scaled to the host.
    pub fn new(name: &str, governor: Governor, host: &Host, now: u64) -> Result<Driver, Error> {
        let machine = Machine::load(name)?;
        let (machine, pairs) = fit(machine, host)?;
        let limits = machine.frequency.turbo.limits.iter().map(|limit| limit.khz);
        let max = limits.max().unwrap_or(machine.frequency.nominal_khz).max(machine.frequency.nominal_khz);
        Ok(Driver {
            range: (machine.frequency.min_khz, max),
            model: machine.frequency_model(governor),
            cores: pairs
                .into_iter()
                .map(|(cpu, core)| Core {
                    cpu: cpu as usize,
                    core,
                    capacity: machine.capacity(core).into(),
                    busy_ns: 0,
                    util: 0.0,
                })
                .collect(),
            start: now,
        })
    }

    /// Lowest and highest frequency in kHz.
    pub fn range(&self) -> (u32, u32) {
        self.range
    }

    /// Writes limits, first frequencies and capacities into the arena.
    fn begin(&self, arena: &Arena) {
        for core in &self.cores {
            let memory = arena.core(core.cpu);
            store!(memory, min_khz, self.range.0);
            store!(memory, max_khz, self.range.1);
            store!(memory, capacity, core.capacity);
            store!(memory, model_khz, self.model.khz(core.core));
        }
    }

    /// Samples the cores, advances the model, and writes changed frequencies into the arena. Calls `changed` for each,
    /// with the kernel's number of the core and kHz.
    pub fn step(&mut self, arena: &Arena, now: u64, mut changed: impl FnMut(u32, u32)) {
        let at = now.saturating_sub(self.start);
        self.model.advance(at.saturating_sub(STEP.as_nanos() as u64));
        for core in &mut self.cores {
            let memory = arena.core(core.cpu);
            let busy_ns = read!(memory, busy_ns);
            let ran = busy_ns.saturating_sub(core.busy_ns).min(STEP.as_nanos() as u64);
            core.busy_ns = busy_ns;
            let spins = read!(memory, spin_since) != 0;
            let runs = !CoreWord(read!(memory, word)).sleeps();
            // It ran and stopped between two samples.
            if ran > 0 && !runs && !spins {
                self.model.set_active(at.saturating_sub(ran), core.core, true);
            }
            self.model.set_active(at, core.core, runs || spins);
            let load = if runs { 1.0 } else { ran as f64 / STEP.as_nanos() as f64 };
            core.util = core.util * DECAY_1MS + 1024.0 * load * (1.0 - DECAY_1MS);
            let util = core.util as u32;
            self.model.update_util(at, core.core, core.core, || util);
        }
        let mut any = false;
        self.model.drain_changed(|_| any = true);
        if !any {
            return;
        }
        for core in &self.cores {
            let (memory, khz) = (arena.core(core.cpu), self.model.khz(core.core));
            if read!(memory, model_khz) != khz {
                store!(memory, model_khz, khz);
                changed(core.cpu as u32, khz);
            }
        }
    }
}

/// Scales a machine to the host's shape; returns it and, for each core of the host (the kernel's number), the
/// modelled core that stands for it.
fn fit(machine: Machine, host: &Host) -> Result<(Machine, Vec<(u32, u16)>), Error> {
    let bad = |why: String| Error::Topology { machine: machine.name.clone(), why };
    // Socket → physical core → hyperthreads.
    let mut sockets: BTreeMap<u16, BTreeMap<u16, Vec<u32>>> = BTreeMap::new();
    for (cpu, info) in host.cpus.iter().zip(&host.cores) {
        sockets.entry(info.socket).or_default().entry(info.physical).or_default().push(*cpu);
    }
    let most = |sizes: &mut dyn Iterator<Item = usize>| sizes.max().unwrap_or(1) as u16;
    let cores_per_socket = most(&mut sockets.values().map(BTreeMap::len));
    let threads = most(&mut sockets.values().flat_map(BTreeMap::values).map(Vec::len));
    let shape = machine.topology.shape();
    if threads > shape.threads_per_core {
        return Err(bad(format!(
            "its cores have {} hardware threads each, this machine's have {threads}",
            shape.threads_per_core
        )));
    }
    let scaled = if (shape.sockets, shape.cores_per_socket) == (sockets.len() as u16, cores_per_socket) {
        machine
    } else {
        machine.scaled(sockets.len() as u16, cores_per_socket)?
    };
    let mut pairs = Vec::new();
    for (s, physicals) in sockets.values().enumerate() {
        for (p, cpus) in physicals.values().enumerate() {
            let physical = s as u16 * cores_per_socket + p as u16;
            let cores = scaled.topology.cores_of_physical(physical);
            pairs.extend(cpus.iter().copied().zip(cores.iter().copied()));
        }
    }
    Ok((scaled, pairs))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::CoreInfo;

    fn host(sockets: u16, cores: u16, threads: u16) -> Host {
        let n = sockets * cores * threads;
        let info = |cpu: u16| {
            let physical = cpu / threads;
            CoreInfo { physical, llc: physical / cores, numa: physical / cores, socket: physical / cores }
        };
        Host { cpus: (0..n.into()).collect(), cores: (0..n).map(info).collect(), ..Host::default() }
    }

    #[test]
    fn sources_are_parsed() {
        let model = |machine: &str, governor| Source::Model { machine: machine.into(), governor };
        assert_eq!("kernel".parse(), Ok(Source::Kernel));
        assert_eq!("model:xeon-5218".parse(), Ok(model("xeon-5218", Governor::Schedutil)));
        assert_eq!("model:xeon-5218:performance".parse(), Ok(model("xeon-5218", Governor::Performance)));
        assert!("model:".parse::<Source>().is_err() && "fast".parse::<Source>().is_err());
        assert!("model:xeon-5218:turbo".parse::<Source>().is_err());
        let shown = model("xeon-5218", Governor::Schedutil);
        assert_eq!(shown.to_string().parse(), Ok(shown));
    }

    #[test]
    fn every_core_has_one_that_stands_for_it() {
        for (sockets, cores, threads) in [(1, 4, 1), (2, 16, 2), (4, 16, 1), (3, 5, 2)] {
            let host = host(sockets, cores, threads);
            let (machine, mut pairs) = fit(Machine::load("xeon-5218").unwrap(), &host).unwrap();
            assert_eq!(pairs.len(), host.cpus.len());
            for &(cpu, core) in &pairs {
                let at = machine.topology.cores[usize::from(core)];
                assert_eq!(at.socket, host.cores[cpu as usize].socket);
            }
            pairs.sort_by_key(|(_, core)| *core);
            pairs.dedup_by_key(|(_, core)| *core);
            assert_eq!(pairs.len(), host.cpus.len());
        }
        assert!(matches!(
            fit(Machine::load("xeon-5218").unwrap(), &host(1, 2, 4)),
            Err(Error::Topology { .. })
        ));
    }
}
