//! One policy at work, from its loading to its end.

use crate::arena::{read, store};
use crate::cgroup::Cgroup;
use crate::client::Client;
use crate::error::Error;
use crate::frequency::{self, Driver, Source};
use crate::load::{self, LoadOptions, Loaded};
use crate::log::{self, Logged, Logging};
use crate::protocol::{Changed, Info, ParamInfo, Place, Refusal, Request, SOCKET, SetInfo};
use crate::recording::{Recorded, Recording};
use crate::server::{Server, Service};
use crate::statistics::{self, Cores, Statistics};
use crate::topology::Domains;
use crate::{object, requirements, schedule};
use hearth_policy::{Capacity, ParamError, Policy, Settings};
use hearth_recorder::{FrequencyChange, Host, RunningPolicy};
use hearth_trace::RecordedPolicy;
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

/// How often it is looked whether the kernel still wants the policy, and who is in the cgroup.
const LOOK: Duration = Duration::from_millis(100);
/// How long a scheduler that is to be replaced may take to go.
const GOING: Duration = Duration::from_secs(15);
/// A policy is loaded again when no core has come or gone for this long.
const SETTLED: Duration = Duration::from_millis(200);

/// What a policy schedules if not the whole system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Partial {
    /// A command and its children.
    Command,
    /// All threads of a cgroup and of those below it.
    Cgroup(PathBuf),
}

/// How a policy is to run.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub params: Settings,
    pub partial: Option<Partial>,
    pub frequency: Source,
    /// The trace to write.
    pub record: Option<PathBuf>,
    /// The log to write (see [`crate::log`]); then nothing is recorded.
    pub log: Option<PathBuf>,
    /// What the trace says was recorded.
    pub command: Vec<String>,
    /// One of Hearth's policies that runs already is asked to go.
    pub replace: bool,
    /// Intervals are watched for underload, at a small cost at each wake-up.
    pub underload: bool,
    /// The kernel measures how long a placement takes.
    pub cost: bool,
    /// How long a ready thread may wait before the kernel ejects the policy [default: the kernel's 30 s].
    pub watchdog: Option<Duration>,
    /// Called when the policy was loaded again because a core came or went, with the number of cores there are.
    pub reloaded: Option<fn(usize)>,
}

/// Why a session's wait is over.
#[derive(Clone, Debug)]
pub enum Ended {
    /// By this signal.
    Signal(i32),
    /// `hearth stop`, or another policy takes over.
    Asked,
}

/// What remains of a session.
#[derive(Clone, Debug)]
pub struct Summary {
    pub statistics: Statistics,
    pub recorded: Option<Recorded>,
    pub logged: Option<Logged>,
}

enum Event {
    Signal(i32),
    Asked,
    Command(std::io::Result<ExitStatus>),
}

/// A policy that schedules. Dropped, it gives the kernel its own scheduler back.
pub struct Session {
    shared: Arc<Shared>,
    events: Receiver<Event>,
    object: Vec<u8>,
    options: Options,
    signals: Handle,
    server: Option<Server>,
    cgroup: Option<Cgroup>,
    model: Option<Stepper>,
    recording: Option<Recording>,
    /// What became of a recording that is over.
    recorded: Option<Recorded>,
    logging: Option<Logging>,
    logged: Option<Logged>,
}

/// What the server's threads see.
struct Shared {
    policy: Policy,
    scope: String,
    frequency: Source,
    recording: Mutex<Option<PathBuf>>,
    /// A log is written: parameters must stay.
    logging: AtomicBool,
    since: SystemTime,
    running: RwLock<Option<Running>>,
    events: Mutex<Sender<Event>>,
}

struct Running {
    loaded: Loaded,
    host: Host,
    /// CLOCK_MONOTONIC of its start, in ns.
    since: u64,
    /// How often the policy was loaded again before.
    restarts: u64,
}

impl Session {
    /// Checks, loads, and attaches.
    ///
    /// # Errors
    /// Whatever speaks against it; then the kernel's scheduler is what it was.
    pub fn start(policy: Policy, options: Options) -> Result<Session, Error> {
        requirements::check()?;
        let old = who_runs(options.replace)?;
        let object = object::for_policy(&policy, purpose(&options))?;
        let hotplugs = requirements::hotplugs();
        let host = Host::detect();
        let frequency = options.frequency.clone().resolve(&host);
        let cgroup = match &options.partial {
            Some(Partial::Cgroup(path)) => Some(Cgroup::open(path)?),
            _ => None,
        };
        // Finds out early whether the machine fits.
        let driver = driver(&frequency, &host)?;
        let recording = options.record.as_deref().map(Recording::prepare).transpose()?;
        let loaded = load::load(&policy, &object, &host, hotplugs, &load_options(&policy, &options)?)?;
        if let Some((mut old, ops)) = old {
            old.stop()?;
            wait_until_gone(&ops)?;
        }
        let (sender, events) = channel();
        let signals = watch_signals(sender.clone())?;
        let scope = match (&options.partial, &cgroup) {
            (Some(Partial::Command), _) => "command".into(),
            (_, Some(cgroup)) => format!("cgroup {}", cgroup.path().display()),
            _ => "system".into(),
        };
        frequency.tell(&loaded.arena);
        let since = statistics::now();
        let shared = Arc::new(Shared {
            policy,
            scope,
            frequency,
            recording: Mutex::new(options.record.clone()),
            logging: AtomicBool::new(options.log.is_some()),
            since: SystemTime::now(),
            running: RwLock::new(Some(Running { loaded, host, since, restarts: 0 })),
            events: Mutex::new(sender),
        });
        let mut session = Session {
            shared,
            events,
            object,
            options,
            signals,
            server: None,
            cgroup,
            model: None,
            recording,
            recorded: None,
            logging: None,
            logged: None,
        };
        let frequencies = session.begin_recording(driver.as_ref())?;
        // Before it schedules, so that whoever sees it can ask it.
        session.server = Some(Server::open(Path::new(SOCKET), session.shared.clone())?);
        session.begin_log()?;
        session.attach()?;
        if session.options.partial != Some(Partial::Command)
            && let Some(recording) = &mut session.recording
        {
            recording.run(None);
        }
        session.begin(driver, frequencies);
        Ok(session)
    }

    /// The policy looks at frequencies, and this machine shows none: all cores count as being at their lowest. (Not if it
    /// was asked for.)
    pub fn misses_frequencies(&self) -> bool {
        self.shared.policy.sees_frequencies()
            && self.options.frequency == Source::Auto
            && self.shared.frequency == Source::Unknown
    }

    fn attach(&mut self) -> Result<(), Error> {
        let mut running = self.shared.running.write().unwrap_or_else(PoisonError::into_inner);
        running.as_mut().map_or(Ok(()), |running| running.loaded.attach())
    }

    /// Before the policy schedules: its first handler is in the log.
    fn begin_log(&mut self) -> Result<(), Error> {
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
        let ring = loaded.records().ok_or_else(|| Error::Object("the object cannot be logged".into()))?;
        self.logging = Some(Logging::start(path, &header, &ring)?);
        Ok(())
    }

    /// Ends the log: the policy was detached.
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
        recording.follow(RunningPolicy {
            policy: RecordedPolicy { name: policy.name().to_owned(), params },
            reasons: policy.reasons().to_vec(),
            sets: policy.set_names(),
            members: (0..sets).map(|set| running.loaded.arena.set(policy.params().len(), set)).collect(),
        })?;
        match (&self.shared.frequency, driver) {
            (Source::Model { machine, .. }, Some(driver)) => {
                recording.model(machine, driver.range()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// What accompanies a policy that was attached.
    fn begin(&mut self, driver: Option<Driver>, frequencies: Option<Sender<FrequencyChange>>) {
        self.model = driver.map(|driver| Stepper::start(driver, self.shared.clone(), frequencies));
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.update();
        }
    }

    /// Waits until somebody ends it.
    ///
    /// # Errors
    /// The kernel ended it: [`Error::Ended`].
    pub fn wait(&mut self) -> Result<Ended, Error> {
        loop {
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Signal(signal)) => return Ok(Ended::Signal(signal)),
                Ok(Event::Asked) | Err(RecvTimeoutError::Disconnected) => return Ok(Ended::Asked),
                Ok(Event::Command(_)) | Err(RecvTimeoutError::Timeout) => {}
            }
            self.look()?;
        }
    }

    /// Runs a command that the policy schedules, and its children, until it ends. If the policy ends before, the
    /// command goes on under the kernel's own scheduler; then the second part of the answer says why.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn command(&mut self, mut command: Command) -> std::io::Result<(ExitStatus, Option<Error>)> {
        let mut child = schedule::with_policy(&mut command).spawn()?;
        let pid = child.id() as i32;
        if let Some(recording) = &mut self.recording {
            recording.run(Some((pid, self.options.command.clone())));
        }
        let sender = self.shared.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        thread::spawn(move || {
            // The receiver outlives the command.
            let _ = sender.send(Event::Command(child.wait()));
        });
        let mut ended = None;
        loop {
            match self.events.recv_timeout(LOOK) {
                Ok(Event::Command(status)) => return Ok((status?, ended)),
                // The terminal sends these to the command too.
                Ok(Event::Signal(SIGINT | SIGQUIT)) => {}
                Ok(Event::Signal(signal)) => {
                    // SAFETY: no pointers. The pid is the child's: nobody has waited for it yet.
                    unsafe { libc::kill(pid, signal) };
                }
                Ok(Event::Asked) => {
                    self.detach();
                    ended = Some(Error::Object("somebody stopped the policy".into()));
                }
                Err(RecvTimeoutError::Timeout) if ended.is_none() => ended = self.look().err(),
                Err(_) => {}
            }
        }
    }

    fn look(&mut self) -> Result<(), Error> {
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.update();
        }
        let exit = self.shared.running().as_ref().and_then(|running| running.loaded.exit());
        match exit {
            None => Ok(()),
            Some(info) if info.restart() => self.restart(),
            Some(info) => Err(Error::Ended(Box::new(info))),
        }
    }

    /// A core came or went, and the kernel has taken over: loads the policy again, with the parameters that it had. A
    /// recording or log ends here, because its cores and threads have other numbers from now on.
    fn restart(&mut self) -> Result<(), Error> {
        self.model = None;
        self.end_log()?;
        if let Some(recording) = self.recording.take() {
            self.recorded = Some(recording.finish()?);
            *self.shared.recording.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        // Who asks meanwhile is told that it is being loaded.
        let old = self.shared.running.write().unwrap_or_else(PoisonError::into_inner).take();
        let restarts = old.as_ref().map_or(0, |old| old.restarts) + 1;
        if let Some(old) = old {
            let policy = &self.shared.policy;
            let value = |index| read_param(&old.loaded, index);
            let values: Vec<i64> = (0..policy.params().len()).map(value).collect();
            self.options.params = Settings::from_values(policy, &values)?;
            // The arena can be mapped only once.
            drop(old);
        }
        if self.options.log.take().is_some() {
            self.object = object::for_policy(&self.shared.policy, object::Purpose::Run)?;
        }
        let options = load_options(&self.shared.policy, &self.options)?;
        loop {
            let hotplugs = wait_until_settled();
            let host = Host::detect();
            let driver = driver(&self.shared.frequency, &host)?;
            // To verify it takes a while, for which the system is without it.
            let hurry = Hurry::new();
            let mut loaded = load::load(&self.shared.policy, &self.object, &host, hotplugs, &options)?;
            self.shared.frequency.tell(&loaded.arena);
            let since = statistics::now();
            match loaded.attach() {
                // Another one, meanwhile.
                Err(Error::Ended(info)) if info.restart() => continue,
                attached => attached?,
            }
            drop(hurry);
            let cores = host.cpus.len();
            let running = Some(Running { loaded, host, since, restarts });
            *self.shared.running.write().unwrap_or_else(PoisonError::into_inner) = running;
            self.begin(driver, None);
            if let Some(reloaded) = self.options.reloaded {
                reloaded(cores);
            }
            return Ok(());
        }
    }

    /// Gives the kernel its own scheduler back.
    ///
    /// # Errors
    /// The recording cannot be written.
    pub fn finish(mut self) -> Result<Summary, Error> {
        let statistics = self.shared.statistics().unwrap_or_default();
        self.detach();
        self.end_log()?;
        let mut recorded = self.recorded.take();
        if let Some(recording) = self.recording.take() {
            recorded = Some(recording.finish()?);
        }
        Ok(Summary { statistics, recorded, logged: self.logged.take() })
    }

    fn detach(&mut self) {
        // Another policy may want the socket as soon as this one is gone.
        self.server = None;
        self.model = None;
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
        Source::Model { machine, governor } => {
            Driver::new(machine, *governor, host, statistics::now()).map(Some)
        }
        _ => Ok(None),
    }
}

/// Who is to be replaced: how to ask him, and the name of his policy.
fn who_runs(replace: bool) -> Result<Option<(Client, String)>, Error> {
    let Some(ops) = requirements::running() else { return Ok(None) };
    let asked = Client::of_this_machine().and_then(|mut client| Ok((client.info()?, client)));
    match asked {
        Ok((_, client)) if replace => Ok(Some((client, ops))),
        Ok((info, _)) => {
            let by = Some(format!("hearth, process {}, for {}", info.pid, info.scope));
            Err(Error::Busy { ops, by, ours: true })
        }
        Err(_) => Err(Error::Busy { ops, by: None, ours: false }),
    }
}

/// Waits until no scheduler runs through sched_ext; `ops` is the name of the one that does.
///
/// # Errors
/// It does not go.
pub fn wait_until_gone(ops: &str) -> Result<(), Error> {
    let begun = Instant::now();
    while requirements::running().is_some() {
        if begun.elapsed() > GOING {
            return Err(Error::DoesNotGo { ops: ops.into(), seconds: GOING.as_secs() });
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// As long as it lives, this thread comes before others.
struct Hurry(i32);

impl Hurry {
    fn new() -> Hurry {
        // SAFETY: no pointers; 0 is this thread. Linux's nice values are of threads.
        unsafe {
            let before = libc::getpriority(libc::PRIO_PROCESS, 0);
            libc::setpriority(libc::PRIO_PROCESS, 0, -20);
            Hurry(before)
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        // SAFETY: no pointers.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, self.0) };
    }
}

/// Returns how often cores have come and gone.
fn wait_until_settled() -> u64 {
    loop {
        let before = requirements::hotplugs();
        thread::sleep(SETTLED);
        if requirements::hotplugs() == before && !requirements::hotplugging() {
            return before;
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
    // What is ignored (`nohup`) stays ignored.
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

/// A thread that lets a model follow the cores.
struct Stepper {
    ending: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Stepper {
    fn start(
        mut driver: Driver,
        shared: Arc<Shared>,
        frequencies: Option<Sender<FrequencyChange>>,
    ) -> Stepper {
        let ending = Arc::new(AtomicBool::new(false));
        let stop = ending.clone();
        if let Some(running) = &*shared.running() {
            driver.begin(&running.loaded.arena);
        }
        let thread = thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                if let Some(running) = &*shared.running() {
                    let time = statistics::now();
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
        Stepper { ending, thread: Some(thread) }
    }
}

impl Drop for Stepper {
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
                "a log is being written, in which parameters must not change",
            ));
        }
        let refused = |error: ParamError| Refusal::new(libc::EINVAL, error.to_string());
        let (index, new) = self.policy.parse_value(name, text).map_err(refused)?;
        let old = read_param(&running.loaded, index);
        // SAFETY: a parameter is in the arena, which lives as long as `running`.
        unsafe { std::ptr::write_volatile(running.loaded.arena.param(index), new) };
        store!(running.loaded.arena.world(), params[index], new);
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
        let running = self.running();
        let running =
            running.as_ref().ok_or_else(|| Refusal::new(libc::EAGAIN, "the policy is being loaded"))?;
        let argument = |name: &str| {
            let value = request.args.get(name).map(String::as_str);
            value.ok_or_else(|| Refusal::new(libc::EINVAL, format!("the argument `{name}` is missing")))
        };
        let changes = matches!(request.req.as_str(), "set" | "stop");
        if changes && !root {
            return Err(Refusal::new(libc::EPERM, "only root may change the kernel's scheduler"));
        }
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
                ))),
                other => Err(Refusal::new(libc::EINVAL, format!("there are no statistics `{other}`"))),
            },
            "stats_meta" => Ok(statistics::meta()),
            "info" => json(serde_json::to_value(self.info(running))),
            "set" => json(serde_json::to_value(self.set(running, argument("name")?, argument("value")?)?)),
            "stop" => {
                let sender = self.events.lock().unwrap_or_else(PoisonError::into_inner);
                let _ = sender.send(Event::Asked);
                Ok(Value::Null)
            }
            other => Err(Refusal::new(libc::EINVAL, format!("there is no request `{other}`"))),
        }
    }
}

/// What a user should know about a change of parameter `index` while the policy runs.
fn note(policy: &Policy, index: usize, old: i64, new: i64) -> Option<String> {
    let set = policy.sets().iter().find(|set| set.capacity == Capacity::Param(index))?;
    (new < old).then(|| format!("{} may have more members than that until cores leave it", set.name))
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
