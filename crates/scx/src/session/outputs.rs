//! The recording and the log of a running policy.

use super::options::Options;
use super::service::Shared;
use super::slot::{Running, Slot};
use crate::arena::read;
use crate::error::Error;
use crate::frequency::{Driver, Source};
use crate::log::{self, Logged, Logging};
use crate::observer::{Observer, Record, Recorded};
use crate::topology::Domains;
use hearth_policy::{Policy, Settings};
use hearth_trace::{FrequencyChange, RecordedPolicy, RunningPolicy};
use std::path::Path;
use std::sync::mpsc::Sender;

/// What is written while the policy runs, and the summaries of what is complete. A hot-plug ends both, because threads get
/// new serial numbers and the cores may have changed.
#[derive(Default)]
pub struct Outputs {
    recording: Option<Box<dyn Observer>>,
    logging: Option<Logging>,
    pub recorded: Option<Recorded>,
    pub logged: Option<Logged>,
}

impl Outputs {
    /// Fails early if the trace cannot be recorded.
    pub fn prepare(record: Option<&Record>) -> Result<Outputs, Error> {
        let recording = record.map(|record| (record.prepare)(&record.path)).transpose()?;
        Ok(Outputs { recording, ..Outputs::default() })
    }

    /// Before the policy schedules: its first decision is in the trace. Returns where to send the model's frequencies.
    pub fn begin_recording(
        &mut self,
        shared: &Shared,
        params: &Settings,
        driver: Option<&Driver>,
    ) -> Result<Option<Sender<FrequencyChange>>, Error> {
        let Some(recording) = &mut self.recording else { return Ok(None) };
        let policy = &shared.policy;
        let set = |running: &Running, set| running.loaded.arena.set(policy.params().len(), set);
        let sets = 0..policy.sets().len();
        let members = shared.slot.read(|running| sets.map(|index| set(running, index)).collect());
        recording.loaded(RunningPolicy {
            policy: RecordedPolicy { name: policy.name().to_owned(), params: params.shown(policy).collect() },
            reasons: policy.reasons().to_vec(),
            sets: policy.set_names(),
            members: members.unwrap_or_default(),
        })?;
        match (&shared.frequency, driver) {
            (Source::Model { machine, .. }, Some(driver)) => {
                Ok(Some(recording.model(machine, driver.range())?))
            }
            _ => Ok(None),
        }
    }

    /// Starts the log, before the policy schedules, so that it contains the first handler.
    pub fn start_log(&mut self, shared: &Shared, options: &Options) -> Result<(), Error> {
        let Some(path) = &options.log else { return Ok(()) };
        let start = |running: &Running| start_log(path, &shared.policy, options, running);
        self.logging = shared.slot.read(start).transpose()?;
        Ok(())
    }

    /// The policy schedules: begins to write the trace, of all threads or of a command.
    pub fn attached(&mut self, command: Option<(i32, Vec<String>)>) {
        if let Some(recording) = &mut self.recording {
            recording.attached(command);
        }
    }

    /// Completes the log and the recording, after the policy was detached.
    pub fn end(&mut self, slot: &Slot) -> Result<(), Error> {
        let counts = |running: &Running| {
            let world = running.loaded.arena.world();
            (read!(world, logged), read!(world, torn).into())
        };
        if let (Some(logging), Some((logged, torn))) = (self.logging.take(), slot.read(counts)) {
            self.logged = Some(logging.finish(logged, torn)?);
        }
        if let Some(recording) = self.recording.take() {
            self.recorded = Some(recording.ended()?);
        }
        Ok(())
    }
}

fn start_log(path: &Path, policy: &Policy, options: &Options, running: &Running) -> Result<Logging, Error> {
    let Running { host, loaded, .. } = running;
    let core = |&cpu: &u32| {
        let core = loaded.arena.core(cpu as usize);
        log::Core { cpu, min_khz: read!(core, min_khz), capacity: read!(core, capacity) }
    };
    let header = log::Header {
        command: options.command.clone(),
        cores: host.cpus.iter().map(core).collect(),
        domains: Domains::of(host),
        ..log::Header::new(policy, &options.params.values(policy)?, &host.kernel)
    };
    let ring = loaded
        .log_ring()
        .ok_or_else(|| Error::Object("the policy's object has no ring buffer for the log".into()))?;
    Logging::start(path, &header, &ring)
}
