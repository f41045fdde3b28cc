//! A machine: loaded, checked, ready to be simulated.

use crate::builtin::MACHINES;
use crate::costs::Costs;
use crate::error::Error;
use crate::file::MachineFile;
use crate::frequency::{FrequencySpec, Governor, Model, PowerSpec};
use crate::idle::{self, IdleState};
use crate::topology::{Level, Shape, Topology};
use crate::validate;
use hearth_base::suggest::closest;
use std::path::Path;

/// One machine.
///
/// All fields have been checked against each other: nothing that takes a
/// `Machine` fails.
#[derive(Debug, Clone, PartialEq)]
pub struct Machine {
    /// Short name, as in the file's name.
    pub name: String,
    /// What the processor is sold as.
    pub model: String,
    /// Where the cores are.
    pub topology: Topology,
    /// How fast they can run.
    pub frequency: FrequencySpec,
    /// What they draw.
    pub power: PowerSpec,
    /// What the kernel's paths cost.
    pub costs: Costs,
    /// Idle states, shallow to deep.
    pub idle: Vec<IdleState>,
}

impl Machine {
    /// A built-in machine by name, or the machine file at that path.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`] if it is neither, [`Error::Read`], [`Error::Parse`] or
    /// [`Error::Invalid`] for a file that cannot be used.
    pub fn load(path_or_name: &str) -> Result<Machine, Error> {
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

    /// A built-in machine.
    ///
    /// # Errors
    ///
    /// [`Error::Unknown`], with the closest name.
    pub fn builtin(name: &str) -> Result<Machine, Error> {
        Machine::find(name).unwrap_or_else(|| Err(Machine::unknown(name)))
    }

    /// The built-in machines.
    pub fn names() -> impl Iterator<Item = &'static str> {
        MACHINES.iter().map(|&(name, _)| name)
    }

    /// The machine that `text` describes. `origin` is where the text came from,
    /// for error messages.
    ///
    /// # Errors
    ///
    /// [`Error::Parse`] or [`Error::Invalid`].
    pub fn parse(origin: &str, text: &str) -> Result<Machine, Error> {
        let file: MachineFile = toml::from_str(text)
            .map_err(|source| Error::Parse { origin: origin.to_owned(), source: Box::new(source) })?;
        Machine::checked(origin, file)
    }

    /// The machine as a machine file, without comments.
    pub fn to_toml(&self) -> String {
        // Every field is a plain value with string keys, and numbers that do not
        // fit TOML's i64 cannot pass the checks: serialising cannot fail.
        toml::to_string(&self.to_file()).unwrap_or_default()
    }

    /// The same kind of machine with another number of cores, for benchmarks.
    ///
    /// Cores per last-level cache stay what they were if that divides
    /// `cores_per_socket`, else each socket gets one cache; each socket is one
    /// NUMA node; the turbo table is cut, or its last entry stretched; the
    /// socket's power grows with its cores.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if no such machine can exist, as with zero cores.
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
            ..*old
        };
        file.frequency.turbo.stretch_to(cores_per_socket);
        file.power.scale_by(f64::from(cores_per_socket) / f64::from(old.cores_per_socket));
        let origin = file.name.clone();
        Machine::checked(&origin, file)
    }

    /// The frequency and energy of this machine, idle, at time 0.
    pub fn frequency_model(&self, governor: Governor) -> Model {
        Model::new(&self.topology, &self.frequency, &self.power, governor)
    }

    /// The deepest idle state that a core idle for `idle_ns` has reached by
    /// promotion (see [`idle`]); `None` while it still polls.
    pub fn idle_state_after(&self, idle_ns: u64) -> Option<&IdleState> {
        idle::state_after(&self.idle, idle_ns)
    }

    /// Time to leave the idle state reached after `idle_ns`, in nanoseconds.
    pub fn exit_latency_after(&self, idle_ns: u64) -> u64 {
        self.idle_state_after(idle_ns).map_or(0, IdleState::exit_latency_ns)
    }

    /// Time that a thread loses by moving from core `from` to core `to`.
    pub fn migration_ns(&self, from: u16, to: u16) -> u32 {
        self.costs.migration_ns(self.topology.level(from, to))
    }

    /// How far apart two cores are; see [`Topology::level`].
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
            topology: Topology::new(file.topology),
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
