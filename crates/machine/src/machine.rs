//! A loaded and validated machine.

use crate::builtin::MACHINES;
use crate::costs::Costs;
use crate::error::Error;
use crate::file::MachineFile;
use crate::frequency::{Control, FrequencySpec, Model, PowerSpec, Scaling};
use crate::idle::IdleState;
use crate::overrides;
use crate::topology::{Level, Shape, Topology};
use crate::validate;
use hearth_base::suggest::closest;
use std::path::Path;

/// A machine, ready to be simulated.
///
/// The fields have been validated against each other, so no function that takes a `Machine` fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Short name; the file's name without its extension.
    pub name: String,
    /// Product name of the processor.
    pub model: String,
    /// Arrangement of the cores.
    pub topology: Topology,
    /// Frequency range, requests and turbo.
    pub frequency: FrequencySpec,
    /// Power parameters; `None` if its power is unknown.
    pub power: Option<PowerSpec>,
    /// Costs of kernel operations.
    pub costs: Costs,
    /// Idle states, shallow to deep.
    pub idle: Vec<IdleState>,
}

impl Machine {
    /// Loads a built-in machine by name, or a machine file by path. After `:`, values may replace
    /// those of the file: `xeon-5218:frequency.turbo.release_us=40_000,frequency.hwp.tau_us=2_000`.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if `source` is neither; [`Error::Read`], [`Error::Parse`] or
    /// [`Error::Invalid`] for an unusable file; [`Error::Override`] for an unusable replacement.
    pub fn load(source: &str) -> Result<Machine, Error> {
        match overrides::split(source) {
            Some((plain, values)) => Machine::load_plain(plain)?.with(source, values),
            None => Machine::load_plain(source),
        }
    }

    /// This machine with other values, written as in [`Self::load`]. `name` becomes its name.
    ///
    /// # Errors
    ///
    /// [`Error::Override`] for an unusable replacement, [`Error::Invalid`] if the machine is impossible with it.
    pub fn with(&self, name: &str, values: &str) -> Result<Machine, Error> {
        let text = overrides::apply(&self.to_toml(), values)
            .map_err(|problem| Error::Override { origin: name.to_owned(), problem })?;
        Ok(Machine { name: name.to_owned(), ..Machine::parse(name, &text)? })
    }

    fn load_plain(path_or_name: &str) -> Result<Machine, Error> {
        if let Some(machine) = Machine::find(path_or_name) {
            return machine;
        }
        let path = Path::new(path_or_name);
        let meant_as_path =
            path.exists() || path.components().count() > 1 || path.extension().is_some_and(|e| e == "toml");
        if !meant_as_path {
            return Err(Machine::unknown(path_or_name));
        }
        let text =
            std::fs::read_to_string(path).map_err(|source| Error::Read { path: path.to_owned(), source })?;
        Machine::parse(path_or_name, &text)
    }

    /// Loads a built-in machine by name.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], with the closest name as suggestion.
    pub fn builtin(name: &str) -> Result<Machine, Error> {
        Machine::find(name).unwrap_or_else(|| Err(Machine::unknown(name)))
    }

    /// Names of the built-in machines, in display order.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MACHINES.iter().map(|&(name, _)| name)
    }

    /// Parses and validates a machine file. Error messages name `origin` as the place.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] or [`Error::Invalid`].
    pub fn parse(origin: &str, text: &str) -> Result<Machine, Error> {
        let file: MachineFile = toml::from_str(text)
            .map_err(|source| Error::Parse { origin: origin.to_owned(), source: Box::new(source) })?;
        Machine::checked(origin, file)
    }

    /// Serialises the machine as a machine file, without comments.
    pub fn to_toml(&self) -> String {
        // Cannot fail: each field is a plain value with string keys, and validation rejects numbers
        // that do not fit TOML's i64.
        toml::to_string(&self.to_file()).unwrap_or_default()
    }

    /// Derives a machine with another number of cores, for benchmarks.
    ///
    /// The number of cores per last-level cache stays if it divides `cores_per_socket`; otherwise
    /// each socket has one cache. Each socket is one NUMA node. The turbo table is truncated, or
    /// its last entry extended. The socket's power scales with its cores. All cores are of one kind, with the
    /// machine's `threads_per_core` and frequencies.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if such a machine is impossible, e.g. with zero cores.
    pub fn scaled(&self, sockets: u16, cores_per_socket: u16) -> Result<Machine, Error> {
        let mut file = self.to_file();
        file.name = format!("{}-{sockets}x{cores_per_socket}", self.name);
        let old = self.topology.shape();
        let per_llc = old.cores_per_socket / old.llcs_per_socket;
        file.topology = Shape {
            sockets,
            cores_per_socket,
            numa_per_socket: 1,
            llcs_per_socket: if cores_per_socket.is_multiple_of(per_llc) {
                (cores_per_socket / per_llc).max(1)
            } else {
                1
            },
            numa_distances: old.uniform_distances(sockets),
            kinds: Vec::new(),
            ..*old
        };
        file.frequency.core_max_khz.clear();
        file.frequency.turbo.stretch_to(cores_per_socket);
        if let Some(power) = &mut file.power {
            power.scale_by(f64::from(cores_per_socket) / f64::from(old.cores_per_socket));
        }
        let origin = file.name.clone();
        Machine::checked(&origin, file)
    }

    /// Frequency and energy model of this machine at time 0, with all cores idle for long.
    pub fn frequency_model(&self, scaling: impl Into<Scaling>) -> Model {
        Model::new(self, scaling.into())
    }

    /// Speed of `core` relative to the fastest one; see [`Topology::capacity`].
    pub fn capacity(&self, core: u16) -> u16 {
        self.topology.capacity(core)
    }

    /// Place of `core` in the preferred order; see [`Topology::rank`].
    pub fn rank(&self, core: u16) -> u16 {
        self.topology.rank(core)
    }

    /// Whether the kernel requests frequencies on this machine (cpufreq). If not, it has no governor.
    pub fn has_governor(&self) -> bool {
        self.frequency.control != Control::None
    }

    /// Cycles of work that `core` does per millisecond at `khz`, alone on its physical core.
    pub fn work_khz(&self, core: u16, khz: u32) -> u64 {
        let rate = self.costs.work_khz(khz, self.frequency.nominal_khz);
        self.topology.kind(core).map_or(rate, |kind| rate * u64::from(kind.work_permille) / 1000)
    }

    /// Time that a thread loses by moving from core `from` to core `to`, in nanoseconds.
    pub fn migration_ns(&self, from: u16, to: u16) -> u32 {
        self.costs.migration_ns(self.topology.level(from, to))
    }

    /// Distance between two cores; see [`Topology::level`].
    pub fn level(&self, a: u16, b: u16) -> Level {
        self.topology.level(a, b)
    }

    fn find(name: &str) -> Option<Result<Machine, Error>> {
        MACHINES.iter().find(|(known, _)| *known == name).map(|(name, text)| Machine::parse(name, text))
    }

    fn unknown(name: &str) -> Error {
        let known: Vec<&str> = Machine::names().collect();
        Error::Unknown { suggestion: closest(name, known.iter().copied()), name: name.to_owned(), known }
    }

    fn checked(origin: &str, file: MachineFile) -> Result<Machine, Error> {
        validate::check(&file).map_err(|bad| Error::Invalid {
            origin: origin.to_owned(),
            key: bad.key,
            problem: bad.problem,
        })?;
        Ok(Machine {
            name: file.name,
            model: file.model,
            topology: {
                let maxima = file.frequency.core_maxima(&file.topology);
                Topology::new(file.topology, &maxima)
            },
            frequency: file.frequency,
            power: file.power,
            costs: file.costs,
            idle: file.idle,
        })
    }

    fn to_file(&self) -> MachineFile {
        MachineFile {
            name: self.name.clone(),
            model: self.model.clone(),
            topology: self.topology.shape().clone(),
            frequency: self.frequency.clone(),
            power: self.power.clone(),
            costs: self.costs.clone(),
            idle: self.idle.clone(),
        }
    }
}
