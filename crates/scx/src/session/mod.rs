//! A session: a policy from loading to its end, with everything that accompanies it.
//!
//! The thread of the [`Session`] loads, attaches and detaches the policy. While the policy is loaded, it lies in a
//! `slot`, because the threads of the socket (`service`) and of the frequency model (`companions`) use it, too. The
//! slot is empty while the policy starts again after a hot-plug (`restart`).

mod companions;
mod events;
mod options;
mod outputs;
mod replace;
mod restart;
mod service;
mod slot;

pub use events::Ended;
pub use options::{Options, Partial};
pub use replace::wait_until_gone;

use crate::cgroup::{self, Cgroup};
use crate::error::Error;
use crate::frequency::{Driver, Source};
use crate::limits::{self, Limit, Slow};
use crate::log::Logged;
use crate::observer::Recorded;
use crate::profile::{self, Saving};
use crate::protocol::{Info, SOCKET};
use crate::server::Server;
use crate::statistics::Statistics;
use crate::{load, object, requirements};
use companions::Companions;
use events::Event;
use hearth_host::Host;
use hearth_policy::Policy;
use outputs::Outputs;
use service::Shared;
use signal_hook::iterator::Handle;
use slot::{Running, Slot};
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant, SystemTime};

/// The kernel's default, and maximum.
const WATCHDOG: Duration = Duration::from_secs(30);

/// Result of a session.
#[derive(Clone, Debug)]
pub struct Summary {
    pub statistics: Statistics,
    pub recorded: Option<Recorded>,
    pub logged: Option<Logged>,
}

/// A policy that schedules. Dropping it returns to the kernel's own scheduler.
pub struct Session {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    options: Options,
    signals: Handle,
    server: Option<Server>,
    cgroup: Option<Cgroup>,
    /// When the power profile and the whole cgroup were last looked at.
    looked: Instant,
    saving: Saving,
    companions: Companions,
    outputs: Outputs,
}

impl Session {
    /// Loads the policy and makes it the scheduler.
    ///
    /// # Errors
    /// On an error before the policy is attached, the previous scheduler stays active, unless it was asked to end
    /// (`replace`). On a later one, the kernel's own scheduler takes over.
    pub fn start(policy: Policy, options: Options) -> Result<Session, Error> {
        let (mut session, driver) = Session::load(policy, options)?;
        let shared = session.shared.clone();
        let params = &session.options.params;
        let frequencies = session.outputs.begin_recording(&shared, params, driver.as_ref())?;
        // Before the policy schedules, so that a client that sees the policy can connect.
        session.server = match Server::open(Path::new(SOCKET), shared.clone()) {
            // This user may run policies, but not make the folder.
            Err(Error::File { source, .. }) if source.kind() == ErrorKind::PermissionDenied => None,
            server => Some(server?),
        };
        session.outputs.start_log(&shared, &session.options)?;
        if shared.slot.change(Running::attach).unwrap_or(Ok(false))? {
            // A hot-plug since the topology was read.
            session.restart()?;
            return Ok(session);
        }
        if session.options.partial != Some(Partial::Command) {
            session.outputs.attached(None);
        }
        session.start_companions(driver, frequencies)?;
        Ok(session)
    }

    /// Loads the policy, and ends the one that it replaces. Also returns the driver of the frequency model.
    fn load(policy: Policy, options: Options) -> Result<(Session, Option<Driver>), Error> {
        requirements::check()?;
        let old = replace::loader_to_replace(options.replace)?;
        let object = object::for_policy(&policy, options.purpose())?;
        let hotplugs = requirements::hotplugs();
        let host = Host::detect()?;
        let frequency = options.frequency.clone().resolve(&host);
        let cgroup = options.cgroup().map(Cgroup::open).transpose()?;
        // Fails early if the machine of the model does not fit.
        let driver = frequency.driver(&host)?;
        let outputs = Outputs::prepare(options.record.as_ref())?;
        let loaded = load::load(&policy, &object, &host, &options.load_options(&policy)?)?;
        replace::end(old)?;
        let (sender, events) = channel();
        let signals = events::watch_signals(sender.clone())?;
        frequency.store(&loaded.arena, &host, driver.as_ref());
        let shared = Arc::new(Shared {
            scope: options.scope(cgroup.as_ref()),
            slot: Slot::new(Running::new(loaded, host, hotplugs, &options)),
            policy,
            frequency,
            since: SystemTime::now(),
            events: sender,
        });
        let session = Session {
            shared,
            events,
            saving: Saving::new(options.power_save.clone()),
            options,
            signals,
            server: None,
            cgroup,
            looked: Instant::now(),
            companions: Companions::default(),
            outputs,
        };
        Ok((session, driver))
    }

    /// Whether the policy reads frequencies although this machine has none, so that all cores count as fast. False if the
    /// user chose the source.
    pub fn misses_frequencies(&self) -> bool {
        self.shared.policy.sees_frequencies()
            && self.options.frequency == Source::Auto
            && self.shared.frequency == Source::Unknown
    }

    /// Whether clients cannot connect, because this user may not make the socket.
    pub fn misses_socket(&self) -> bool {
        self.server.is_none()
    }

    /// Whether parameters shall follow the power profile, and this machine has none.
    pub fn misses_power_profile(&self) -> bool {
        !self.saving.is_empty() && profile::saves_power(Path::new("/")).is_none()
    }

    /// Limits that the policy does not respect, of the cgroups whose threads it schedules. Of a command, none are looked for.
    pub fn ignored_limits(&self) -> Vec<Limit> {
        let known = load::operations();
        let ignored =
            limits::ignored(self.shared.policy.sees_weights(), |operation| known.contains(operation));
        match (&self.options.partial, &self.cgroup) {
            (_, Some(cgroup)) => limits::of(cgroup.path(), &ignored),
            (Some(_), None) => Vec::new(),
            (None, None) => limits::of(Path::new(cgroup::MOUNT), &ignored),
        }
    }

    /// Cgroups whose quota lets a ready thread wait longer than the watchdog allows.
    pub fn slow_cgroups(&self) -> Vec<Slow> {
        let whole = || Path::new(cgroup::MOUNT).to_owned();
        let cgroup = self.cgroup.as_ref().map_or_else(whole, |cgroup| cgroup.path().to_owned());
        limits::slower_than(&cgroup, self.options.watchdog.unwrap_or(WATCHDOG))
    }

    /// Reads the state of the policy, as the socket's clients do, also after this session's end; `None` while the policy is
    /// not loaded.
    pub fn reader(&self) -> impl Fn() -> Option<(Info, Statistics)> + Send + use<> {
        let shared = self.shared.clone();
        move || shared.slot.read(|running| (shared.info(running), running.statistics(&shared.policy)))
    }

    /// Detaches the policy and completes the recording and the log.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn finish(mut self) -> Result<Summary, Error> {
        let Shared { slot, policy, .. } = &*self.shared;
        let statistics = slot.read(|running| running.statistics(policy)).unwrap_or_default();
        self.detach();
        self.outputs.end(&self.shared.slot)?;
        let Outputs { recorded, logged, .. } = std::mem::take(&mut self.outputs);
        Ok(Summary { statistics, recorded, logged })
    }

    fn detach(&mut self) {
        // Before detaching: another policy may need the socket at once.
        self.server = None;
        self.companions = Companions::default();
        if let Some(mut cgroup) = self.cgroup.take() {
            cgroup.release();
        }
        self.shared.slot.change(|running| running.loaded.detach());
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.detach();
        self.signals.close();
        // The server's threads keep `shared` until their clients disconnect.
        self.shared.slot.take();
    }
}
