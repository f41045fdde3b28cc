//! A session: a policy from loading to its end, with everything that accompanies it.

use crate::arena::{read, store};
use crate::cgroup::{self, Cgroup, Move, Moves};
use crate::client::{Client, RESTART_TIMEOUT};
use crate::error::Error;
use crate::frequency::{self, Driver, Source};
use crate::limits::{self, Limit};
use crate::load::{self, LoadOptions, Loaded};
use crate::log::{self, Logged, Logging};
use crate::observer::{Observer, Record, Recorded};
use crate::profile::{self, Saving};
use crate::protocol::{Changed, Info, ParamInfo, Place, Refusal, Request, SOCKET, SetInfo};
use crate::server::{Server, Service};
use crate::statistics::{self, Cores, Statistics};
use crate::topology::Domains;
use crate::{object, requirements, schedule};
use hearth_host::{Host, now};
use hearth_policy::{Capacity, ParamError, Policy, Settings};
use hearth_trace::{FrequencyChange, RecordedPolicy, RunningPolicy};
use serde_json::Value;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Poll interval for scheduler exit.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which the power profile and a whole cgroup are looked at. The cgroup's moves are known at once; this finds
/// threads that changed their class themselves, and moves that did not fit into the ring buffer.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);
/// Time without a hot-plug before the policy starts again.
const HOTPLUG_SETTLE: Duration = Duration::from_millis(200);

/// Scope of a policy that does not schedule the whole system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partial {
    /// A command and its children.
    Command,
    /// All threads of a cgroup and of its descendants.
    Cgroup(PathBuf),
}

/// Options of a session.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub params: Settings,
    pub partial: Option<Partial>,
    pub frequency: Source,
    pub record: Option<Record>,
    /// File of the log to write (see [`crate::log`]); excludes `record`.
    pub log: Option<PathBuf>,
    /// Command that the trace or log names.
    pub command: Vec<String>,
    /// Replace a running policy of Hearth.
    pub replace: bool,
    /// Count underload, for which all cores write the same words at each wake-up.
    pub underload: bool,
    /// Let the kernel measure how long a placement takes.
    pub cost: bool,
    /// Longest wait of a ready thread before the kernel ejects the policy [default: the kernel's 30 s].
    pub watchdog: Option<Duration>,
    /// Index of a parameter, and its value while the machine's power profile saves power. Excludes `log`: parameters must
    /// not change while a log is being written.
    pub power_save: Vec<(usize, i64)>,
    /// Called with the number of cores after a hot-plug, when the policy schedules again.
    pub restarted: Option<fn(usize)>,
}

/// Why [`Session::wait`] returned.
#[derive(Clone, Debug)]
pub enum Ended {
    /// A signal.
    Signal(i32),
    /// A client asked: `hearth stop`, or another policy takes over.
    Asked,
}

/// Result of a session.
#[derive(Clone, Debug)]
pub struct Summary {
    pub statistics: Statistics,
    pub recorded: Option<Recorded>,
    pub logged: Option<Logged>,
}

enum Event {
    Signal(i32),
    Moved(Move),
    Asked,
    Command(std::io::Result<ExitStatus>),
}

/// A policy that schedules. Dropping it returns to the kernel's own scheduler.
pub struct Session {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    options: Options,
    signals: Handle,
    server: Option<Server>,
    cgroup: Option<Cgroup>,
    moves: Option<Moves>,
    /// When the power profile and the whole cgroup were last looked at.
    looked: Instant,
    saving: Saving,
    model: Option<ModelThread>,
    recording: Option<Box<dyn Observer>>,
    /// Summary of a recording that a hot-plug ended.
    recorded: Option<Recorded>,
    logging: Option<Logging>,
    logged: Option<Logged>,
}

/// State that the server's threads use too.
struct Shared {
    policy: Policy,
    scope: String,
    frequency: Source,
    recording: Mutex<Option<PathBuf>>,
    /// A log is being written, so parameters must not change.
    logging: AtomicBool,
    since: SystemTime,
    running: RwLock<Option<Running>>,
    events: Mutex<Sender<Event>>,
}

struct Running {
    loaded: Loaded,
    host: Host,
    /// CLOCK_MONOTONIC when the policy became the scheduler, in ns.
    since: u64,
    /// Number of new starts after hot-plugs.
    restarts: u64,
}

impl Session {
    /// Loads the policy and makes it the scheduler.
    ///
    /// # Errors
    /// On an error before the policy is attached, the previous scheduler stays active, unless it was asked to end
    /// (`replace`). On a later one, the kernel's own scheduler takes over.
    pub fn start(policy: Policy, options: Options) -> Result<Session, Error> {
        requirements::check()?;
        let old = loader_to_replace(options.replace)?;
        let object = object::for_policy(&policy, purpose(&options))?;
        let host = Host::detect();
        let frequency = options.frequency.clone().resolve(&host);
        let cgroup = match &options.partial {
            Some(Partial::Cgroup(path)) => Some(Cgroup::open(path)?),
            _ => None,
        };
        // Fails early if the machine of the model does not fit.
        let driver = driver(&frequency, &host)?;
        let record = options.record.as_ref();
        let recording = record.map(|record| (record.prepare)(&record.path)).transpose()?;
        let loaded = load::load(&policy, &object, &host, &load_options(&policy, &options)?)?;
        if let Some((mut old, ops)) = old {
            old.stop()?;
            wait_until_gone(&ops)?;
        }
        let saving = Saving::new(options.power_save.clone());
        let (sender, events) = channel();
        let signals = watch_signals(sender.clone())?;
        let scope = match (&options.partial, &cgroup) {
            (Some(Partial::Command), _) => "command".into(),
            (_, Some(cgroup)) => format!("cgroup {}", cgroup.path().display()),
            _ => "system".into(),
        };
        frequency.store(&loaded.arena, &host, driver.as_ref());
        let since = now();
        let shared = Arc::new(Shared {
            policy,
            scope,
            frequency,
            recording: Mutex::new(options.record.as_ref().map(|record| record.path.clone())),
            logging: AtomicBool::new(options.log.is_some()),
            since: SystemTime::now(),
            running: RwLock::new(Some(Running { loaded, host, since, restarts: 0 })),
            events: Mutex::new(sender),
        });
        let mut session = Session {
            shared,
            events,
            options,
            signals,
            server: None,
            cgroup,
            moves: None,
            looked: Instant::now(),
            saving,
            model: None,
            recording,
            recorded: None,
            logging: None,
            logged: None,
        };
        let frequencies = session.begin_recording(driver.as_ref())?;
        // Before the policy schedules, so that a client that sees the policy can connect.
        session.server = Some(Server::open(Path::new(SOCKET), session.shared.clone())?);
        session.start_log()?;
        match session.attach() {
            // A hot-plug since the topology was read.
            Err(Error::Ended(info)) if info.restart() => {
                session.restart()?;
                return Ok(session);
            }
            attached => attached?,
        }
        if session.options.partial != Some(Partial::Command)
            && let Some(recording) = &mut session.recording
        {
            recording.attached(None);
        }
        session.start_companions(driver, frequencies)?;
        Ok(session)
    }

    /// Whether the policy reads frequencies although this machine has none, so that all cores count as fast. False if the
    /// user chose the source.
    pub fn misses_frequencies(&self) -> bool {
        self.shared.policy.sees_frequencies()
            && self.options.frequency == Source::Auto
            && self.shared.frequency == Source::Unknown
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

    fn attach(&mut self) -> Result<(), Error> {
        let mut running = self.shared.running.write().unwrap_or_else(PoisonError::into_inner);
        running.as_mut().map_or(Ok(()), |running| running.loaded.attach())
    }

    /// Starts the log, before the policy schedules, so that it contains the first handler.
    fn start_log(&mut self) -> Result<(), Error> {
        let (Some(path), Some(running)) = (&self.options.log, &*self.shared.running()) else { return Ok(()) };
        let Running { host, loaded, .. } = running;
        let policy = &self.shared.policy;
        let min_khz = |cpu: &u32| read!(loaded.arena.core(*cpu as usize), min_khz);
        let header = log::Header {
            command: self.options.command.clone(),
            cores: host.cpus.iter().map(|cpu| log::Core { cpu: *cpu, min_khz: min_khz(cpu) }).collect(),
            domains: Domains::of(host),
            ..log::Header::new(policy, &self.options.params.values(policy)?, &host.kernel)
        };
        let ring = loaded
            .log_ring()
            .ok_or_else(|| Error::Object("the policy's object has no ring buffer for the log".into()))?;
        self.logging = Some(Logging::start(path, &header, &ring)?);
        Ok(())
    }

    /// Ends the log, after the policy was detached.
    fn end_log(&mut self) -> Result<(), Error> {
        if let (Some(logging), Some(running)) = (self.logging.take(), &*self.shared.running()) {
            let world = running.loaded.arena.world();
            self.logged = Some(logging.finish(read!(world, logged), read!(world, torn).into())?);
            self.shared.logging.store(false, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Before the policy schedules: its first decision is in the trace. Returns where to send the model's frequencies.
    fn begin_recording(&mut self, driver: Option<&Driver>) -> Result<Option<Sender<FrequencyChange>>, Error> {
        let (Some(recording), Some(running)) = (&mut self.recording, &*self.shared.running()) else {
            return Ok(None);
        };
        let policy = &self.shared.policy;
        let params = self.options.params.shown(policy).collect();
        let sets = policy.sets().len();
        recording.loaded(RunningPolicy {
            policy: RecordedPolicy { name: policy.name().to_owned(), params },
            reasons: policy.reasons().to_vec(),
            sets: policy.set_names(),
            members: (0..sets).map(|set| running.loaded.arena.set(policy.params().len(), set)).collect(),
        })?;
        match (&self.shared.frequency, driver) {
            (Source::Model { machine, .. }, Some(driver)) => {
                Ok(Some(recording.model(machine, driver.range())?))
            }
            _ => Ok(None),
        }
    }

    /// Starts the frequency model and the watch on the cgroup, after the policy was attached.
    fn start_companions(
        &mut self,
        driver: Option<Driver>,
        frequencies: Option<Sender<FrequencyChange>>,
    ) -> Result<(), Error> {
        self.model = driver.map(|driver| ModelThread::start(driver, self.shared.clone(), frequencies));
        self.watch_moves()?;
        self.look();
        Ok(())
    }

    /// Learns of each thread that moves between cgroups.
    fn watch_moves(&mut self) -> Result<(), Error> {
        let sender = self.shared.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut running = self.shared.running.write().unwrap_or_else(PoisonError::into_inner);
        let Some(running) = &mut *running else { return Ok(()) };
        self.moves = match running.loaded.moves()? {
            Some(ring) => Some(Moves::watch(&ring, move |moved| {
                // The session may be about to end.
                let _ = sender.send(Event::Moved(moved));
            })?),
            None => None,
        };
        Ok(())
    }

    fn look(&mut self) {
        self.looked = Instant::now();
        self.cgroup.iter_mut().for_each(Cgroup::update);
        self.look_at_profile();
    }

    /// Sets the parameters of the machine's power profile.
    fn look_at_profile(&mut self) {
        if self.saving.is_empty() {
            return;
        }
        let Some(running) = &*self.shared.running() else { return };
        let saves = profile::saves_power(Path::new("/")) == Some(true);
        for (index, value) in self.saving.change(saves, |index| read_param(&running.loaded, index)) {
            write_param(&running.loaded, index, value);
        }
    }

    /// Waits for a signal or a request to end.
    ///
    /// # Errors
    /// The kernel ended it: [`Error::Ended`].
    pub fn wait(&mut self) -> Result<Ended, Error> {
        loop {
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(Event::Signal(signal)) => return Ok(Ended::Signal(signal)),
                Ok(Event::Asked) | Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Asked),
                Ok(Event::Moved(moved)) => self.cgroup.iter_mut().for_each(|cgroup| cgroup.moved(moved)),
                Ok(Event::Command(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.poll()?;
        }
    }

    /// Runs a command and its children under the policy until the command ends. If the policy ends first, the command
    /// continues under the kernel's own scheduler, and the second part of the result says why the policy ended.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn command(&mut self, mut command: Command) -> std::io::Result<(ExitStatus, Option<Error>)> {
        let mut child = schedule::with_policy(&mut command).spawn()?;
        let pid = child.id() as i32;
        if let Some(recording) = &mut self.recording {
            recording.attached(Some((pid, self.options.command.clone())));
        }
        let sender = self.shared.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        thread::spawn(move || {
            // The receiver outlives the command.
            let _ = sender.send(Event::Command(child.wait()));
        });
        let mut ended = None;
        loop {
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(Event::Command(status)) => return Ok((status?, ended)),
                // The terminal sends these to the command too.
                Ok(Event::Signal(SIGINT | SIGQUIT) | Event::Moved(_)) => {}
                Ok(Event::Signal(signal)) => {
                    // SAFETY: no pointers. The pid is the child's: nobody has waited for it yet.
                    unsafe { libc::kill(pid, signal) };
                }
                Ok(Event::Asked) => {
                    self.detach();
                    ended = Some(Error::Object(
                        "the policy was stopped (`hearth stop`, or another policy took over)".into(),
                    ));
                }
                Err(RecvTimeoutError::Timeout) if ended.is_none() => ended = self.poll().err(),
                Err(_) => {}
            }
        }
    }

    /// Looks at the cgroup and the power profile, and handles the end of the policy.
    fn poll(&mut self) -> Result<(), Error> {
        if self.looked.elapsed() >= LOOK_INTERVAL {
            self.look();
        }
        let exit = self.shared.running().as_ref().and_then(|running| running.loaded.exit());
        match exit {
            None => Ok(()),
            Some(info) if info.restart() => self.restart(),
            Some(info) => Err(Error::Ended(Box::new(info))),
        }
    }

    /// Starts the policy again with its current parameters, after a hot-plug has ended it. A recording or log ends here,
    /// because threads get new serial numbers and the cores may have changed.
    fn restart(&mut self) -> Result<(), Error> {
        self.model = None;
        self.moves = None;
        self.end_log()?;
        if let Some(recording) = self.recording.take() {
            self.recorded = Some(recording.ended()?);
            *self.shared.recording.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // Requests meanwhile are answered with EAGAIN.
        let Some(old) = self.shared.running.write().unwrap_or_else(PoisonError::into_inner).take() else {
            return Ok(());
        };
        let restarts = old.restarts + 1;
        let policy = &self.shared.policy;
        let value = |index| read_param(&old.loaded, index);
        let values: Vec<i64> = (0..policy.params().len()).map(value).collect();
        self.options.params = Settings::from_values(policy, &values)?;
        let logged = self.options.log.take().is_some();
        let options = load_options(policy, &self.options)?;
        let mut loaded = old.loaded;
        loaded.detach();
        if logged {
            // The arena has a fixed address, so unmap the old one first.
            drop(loaded);
            let object = object::for_policy(policy, object::Purpose::Run)?;
            loaded = load::load(policy, &object, &Host::detect(), &options)?;
        }
        loop {
            wait_until_settled();
            let host = Host::detect();
            let driver = driver(&self.shared.frequency, &host)?;
            loaded.begin_again(&host, &options)?;
            self.shared.frequency.store(&loaded.arena, &host, driver.as_ref());
            let since = now();
            match loaded.attach() {
                // Another hot-plug meanwhile.
                Err(Error::Ended(info)) if info.restart() => continue,
                attached => attached?,
            }
            let cores = host.cpus.len();
            let running = Some(Running { loaded, host, since, restarts });
            *self.shared.running.write().unwrap_or_else(PoisonError::into_inner) = running;
            self.start_companions(driver, None)?;
            if let Some(restarted) = self.options.restarted {
                restarted(cores);
            }
            return Ok(());
        }
    }

    /// Detaches the policy and completes the recording and the log.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn finish(mut self) -> Result<Summary, Error> {
        let statistics = self.shared.statistics().unwrap_or_default();
        self.detach();
        self.end_log()?;
        let mut recorded = self.recorded.take();
        if let Some(recording) = self.recording.take() {
            recorded = Some(recording.ended()?);
        }
        Ok(Summary { statistics, recorded, logged: self.logged.take() })
    }

    fn detach(&mut self) {
        // Before detaching: another policy may need the socket at once.
        self.server = None;
        self.model = None;
        self.moves = None;
        if let Some(mut cgroup) = self.cgroup.take() {
            cgroup.release();
        }
        if let Some(running) = &mut *self.shared.running.write().unwrap_or_else(PoisonError::into_inner) {
            running.loaded.detach();
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.detach();
        self.signals.close();
        *self.shared.running.write().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn load_options(policy: &Policy, options: &Options) -> Result<LoadOptions, Error> {
    Ok(LoadOptions {
        params: options.params.values(policy)?,
        partial: options.partial.is_some(),
        moves: matches!(options.partial, Some(Partial::Cgroup(_))),
        watchdog: options.watchdog,
        log: options.log.is_some(),
        underload: options.underload,
        cost: options.cost,
    })
}

fn purpose(options: &Options) -> object::Purpose {
    if options.log.is_some() { object::Purpose::Log } else { object::Purpose::Run }
}

fn driver(frequency: &Source, host: &Host) -> Result<Option<Driver>, Error> {
    match frequency {
        Source::Model { machine, governor } => Driver::new(machine, *governor, host, now()).map(Some),
        _ => Ok(None),
    }
}

/// The loader to replace and the name of its policy; an error if a scheduler runs that must not be replaced. While a
/// policy starts again after a hot-plug, the kernel knows of no scheduler.
fn loader_to_replace(replace: bool) -> Result<Option<(Client, String)>, Error> {
    let ops = requirements::running();
    let told = Client::of_this_machine().and_then(|mut client| Ok((client.loaded_info()?, client)));
    match (told, ops) {
        (Ok((info, client)), _) if replace => Ok(Some((client, info.policy))),
        (Ok((info, _)), ops) => {
            let by = Some(format!("hearth, process {}, for {}", info.pid, info.scope));
            Err(Error::Busy { ops: ops.unwrap_or(info.policy), by, ours: true })
        }
        (Err(_), Some(ops)) => Err(Error::Busy { ops, by: None, ours: false }),
        (Err(Error::NotRunning { .. }), None) => Ok(None),
        (Err(error), None) => Err(error),
    }
}

/// Waits until no sched_ext scheduler runs and no loader serves; `ops` is the name of the running one.
///
/// # Errors
/// It does not end in time.
pub fn wait_until_gone(ops: &str) -> Result<(), Error> {
    let begun = Instant::now();
    while Client::of_this_machine().is_ok() || requirements::running().is_some() {
        if begun.elapsed() > RESTART_TIMEOUT {
            return Err(Error::DoesNotEnd { ops: ops.into(), seconds: RESTART_TIMEOUT.as_secs() });
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// Waits until no hot-plug is in progress.
fn wait_until_settled() {
    loop {
        let before = requirements::hotplugs();
        thread::sleep(HOTPLUG_SETTLE);
        if requirements::hotplugs() == before && !requirements::hotplugging() {
            return;
        }
    }
}

fn watch_signals(events: Sender<Event>) -> Result<Handle, Error> {
    let ignored = |signal: i32| {
        // SAFETY: an all-zero `sigaction` is valid, and `before` for the call.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(signal, std::ptr::null(), &mut before) == 0
                && before.sa_sigaction == libc::SIG_IGN
        }
    };
    // Ignored signals (`nohup`) stay ignored.
    let wanted = [SIGINT, SIGTERM, SIGHUP, SIGQUIT].into_iter().filter(|signal| !ignored(*signal));
    let mut signals =
        Signals::new(wanted).map_err(|error| Error::Object(format!("signals cannot be caught: {error}")))?;
    let handle = signals.handle();
    thread::spawn(move || {
        for signal in &mut signals {
            if events.send(Event::Signal(signal)).is_err() {
                return;
            }
        }
    });
    Ok(handle)
}

fn read_param(loaded: &Loaded, index: usize) -> i64 {
    // SAFETY: a parameter is in the arena, which lives as long as `loaded`.
    unsafe { std::ptr::read_volatile(loaded.arena.param(index)) }
}

fn write_param(loaded: &Loaded, index: usize, value: i64) {
    // SAFETY: a parameter is in the arena, which lives as long as `loaded`.
    unsafe { std::ptr::write_volatile(loaded.arena.param(index), value) };
    store!(loaded.arena.world(), params[index], value);
}

/// A thread that drives a frequency model.
struct ModelThread {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ModelThread {
    fn start(
        mut driver: Driver,
        shared: Arc<Shared>,
        frequencies: Option<Sender<FrequencyChange>>,
    ) -> ModelThread {
        let ending = Arc::new(AtomicBool::new(false));
        let stop = ending.clone();
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if let Some(running) = &*shared.running() {
                    let time = now();
                    driver.step(&running.loaded.arena, time, |cpu, khz| {
                        if let Some(frequencies) = &frequencies {
                            // The recording may have ended.
                            let _ = frequencies.send(FrequencyChange { time, cpu, khz });
                        }
                    });
                }
                thread::sleep(frequency::STEP);
            }
        });
        ModelThread { ending, thread: Some(thread) }
    }
}

impl Drop for ModelThread {
    fn drop(&mut self) {
        self.ending.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn running(&self) -> RwLockReadGuard<'_, Option<Running>> {
        self.running.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn statistics(&self) -> Option<Statistics> {
        let running = self.running();
        running.as_ref().map(|running| self.read(running))
    }

    fn read(&self, running: &Running) -> Statistics {
        let Running { loaded, since, restarts, .. } = running;
        Statistics {
            restarts: *restarts,
            ..Statistics::read(&loaded.arena, &self.policy, *since, loaded.placing())
        }
    }

    fn info(&self, running: &Running) -> Info {
        let Running { loaded, host, .. } = running;
        let value = |index: usize| read_param(loaded, index);
        let params = self.policy.params().iter().enumerate().map(|(index, param)| ParamInfo {
            name: param.name.clone(),
            doc: param.doc.clone(),
            value: value(index),
            initial: param.initial,
            min: param.min,
            max: param.max,
            shown: param.unit.show(value(index)),
        });
        let sets = self.policy.sets().iter().enumerate().map(|(index, set)| SetInfo {
            name: set.name.clone(),
            doc: set.doc.clone(),
            most: match set.capacity {
                Capacity::All => None,
                Capacity::Constant(most) => Some(most),
                Capacity::Param(param) => Some(value(param)),
            },
            members: loaded.arena.set(self.policy.params().len(), index),
        });
        let recording = self.recording.lock().unwrap_or_else(PoisonError::into_inner);
        let places = host.cpus.iter().zip(&host.cores).map(|(cpu, at)| Place { cpu: *cpu, at: *at });
        Info {
            policy: self.policy.name().to_owned(),
            doc: self.policy.doc().to_owned(),
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: host.kernel.clone(),
            machine: host.model.clone(),
            pid: std::process::id(),
            since: self.since.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            scope: self.scope.clone(),
            frequency: self.frequency.to_string(),
            recording: recording.as_ref().map(|path| path.display().to_string()),
            params: params.collect(),
            reasons: self.policy.reasons().to_vec(),
            sets: sets.collect(),
            topology: places.collect(),
        }
    }

    fn set(&self, running: &Running, name: &str, text: &str) -> Result<Changed, Refusal> {
        if self.logging.load(Ordering::Relaxed) {
            return Err(Refusal::new(
                libc::EBUSY,
                "parameters cannot change while a log is being written; stop the policy and run it without --log",
            ));
        }
        let refused = |error: ParamError| Refusal::new(libc::EINVAL, error.to_string());
        let (index, new) = self.policy.parse_value(name, text).map_err(refused)?;
        let old = read_param(&running.loaded, index);
        write_param(&running.loaded, index, new);
        let unit = self.policy.params()[index].unit;
        Ok(Changed {
            name: name.into(),
            old: unit.show(old),
            new: unit.show(new),
            note: note(&self.policy, index, old, new),
        })
    }
}

impl Service for Shared {
    fn answer(&self, request: &Request, root: bool) -> Result<Value, Refusal> {
        let argument = |name: &str| {
            let value = request.args.get(name).map(String::as_str);
            value.ok_or_else(|| Refusal::new(libc::EINVAL, format!("the argument `{name}` is missing")))
        };
        let changes = matches!(request.req.as_str(), "set" | "stop");
        if changes && !root {
            return Err(Refusal::new(libc::EPERM, "only root may change the kernel's scheduler"));
        }
        if request.req == "stop" {
            let sender = self.events.lock().unwrap_or_else(PoisonError::into_inner);
            let _ = sender.send(Event::Asked);
            return Ok(Value::Null);
        }
        let running = self.running();
        let running = running.as_ref().ok_or_else(|| {
            Refusal::new(libc::EAGAIN, "the policy starts again after a hot-plug; try again")
        })?;
        let json = |value: serde_json::Result<Value>| {
            value.map_err(|error| Refusal::new(libc::EINVAL, error.to_string()))
        };
        match request.req.as_str() {
            "stats" => match request.args.get("target").map_or("top", String::as_str) {
                "top" => json(serde_json::to_value(self.read(running))),
                "cores" => json(serde_json::to_value(Cores::read(
                    &running.loaded.arena,
                    &self.policy,
                    &running.host,
                    running.since,
                ))),
                other => Err(Refusal::new(
                    libc::EINVAL,
                    format!("unknown statistics `{other}`; known are `top` and `cores`"),
                )),
            },
            "stats_meta" => Ok(statistics::meta()),
            "info" => json(serde_json::to_value(self.info(running))),
            "set" => json(serde_json::to_value(self.set(running, argument("name")?, argument("value")?)?)),
            other => Err(Refusal::new(libc::EINVAL, format!("unknown request `{other}`"))),
        }
    }
}

/// A remark on the change of parameter `index` of a running policy.
fn note(policy: &Policy, index: usize, old: i64, new: i64) -> Option<String> {
    let set = policy.sets().iter().find(|set| set.capacity == Capacity::Param(index))?;
    (new < old).then(|| format!("{} may have more members until cores leave it", set.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_set_may_stay_too_large_for_a_while() {
        let nest = hearth_policy::load("nest").unwrap();
        let (r_max, _) = nest.parse_value("r_max", "1").unwrap();
        let told = note(&nest, r_max, 5, 1).unwrap();
        assert!(told.starts_with("reserve"), "{told}");
        assert_eq!(note(&nest, r_max, 5, 6), None);
        assert_eq!(note(&nest, nest.parse_value("s_max", "0").unwrap().0, 8, 0), None);
    }
}
