//! A recording, from its preparation to its end.

use crate::backend::Backend;
use crate::command::HeldCommand;
use crate::convert::{Converter, LowPriority};
use crate::frequency::ModelFrequencies;
use crate::round::{Decode, Round};
use crate::signals::Signals;
use crate::spool::Spool;
use crate::{Error, Options, Subject, User};
use hearth_host::Host;
use hearth_host::rapl::{Log, Meter, in_trace};
use hearth_trace::ftrace::{Assembled, Assembler, DamagedPage, Item, Scope};
use hearth_trace::{
    Energy, Filter, FrequencyChange, Header, Recording, RunningPolicy, Sink, Source, Time, Writer,
};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Maximum time between the end of a process and the last switch of its threads.
const LAST_SWITCH: Duration = Duration::from_millis(10);

/// A prepared recording.
pub struct Session {
    host: Host,
    options: Options,
    /// Catches signals, unless the caller handles them.
    signals: Option<Signals>,
    stop: Stop,
    child: Option<HeldCommand>,
    scope: Scope,
    duration: Option<Duration>,
    header: Header,
    backend: Backend,
    started: bool,
    decode: Box<dyn Decode>,
    /// Members of each set of the followed policy.
    members: Vec<Vec<u32>>,
    model: Option<ModelFrequencies>,
    energy: Option<Meter>,
    /// Who owns the trace; `None`: the user of this process.
    owner: Option<(u32, u32)>,
}

/// The status of the command, if there was one; the energy, and the energy over time on the kernel's clock.
type Ended = (Option<ExitStatus>, Option<(Energy, Vec<(Time, u64)>)>);

/// Ends a recording of [`Subject::UntilStopped`] from another thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Result of a recording.
pub struct Recorded<S> {
    pub assembled: Assembled<S>,
    /// Status of the command, if there was one.
    pub status: Option<ExitStatus>,
    /// Number of bytes that came through the buffers, and of kernel events in them.
    pub bytes: u64,
    pub kernel_events: u64,
    /// Time from the end of the command to the end of the conversion.
    pub finishing: Duration,
}

impl Session {
    /// Prepares the buffers and the command, which does not run yet.
    ///
    /// # Errors
    /// There is no command, or recording is not possible on this machine.
    pub fn prepare(subject: Subject<'_>, options: Options) -> Result<Session, Error> {
        Session::prepare_as(None, subject, options)
    }

    /// The same; the command runs as `user`, who owns the trace.
    ///
    /// # Errors
    /// As [`Session::prepare`].
    pub fn prepare_as(user: Option<&User>, subject: Subject<'_>, options: Options) -> Result<Session, Error> {
        user.map_or(Ok(()), User::check)?;
        if cfg!(target_endian = "big") {
            return Err(Error::format("its trace buffer", "big-endian processors are not supported yet"));
        }
        let (command, duration) = match subject {
            Subject::Command([]) | Subject::SystemWhile([]) => return Err(Error::NoCommand),
            Subject::Command(command) | Subject::SystemWhile(command) => (command, None),
            Subject::System(duration) => (&[][..], duration),
            Subject::UntilStopped => (&[][..], None),
        };
        if matches!(subject, Subject::Command(_)) && is_in_pid_namespace() {
            return Err(Error::PidNamespace);
        }
        let host = Host::detect()?;
        let signals = (subject != Subject::UntilStopped).then(Signals::hold);
        let child = if command.is_empty() { None } else { Some(HeldCommand::spawn(command, user)?) };
        let (scope, filter) = match (subject, &child) {
            (Subject::Command(_), Some(child)) => (Scope::Tree { root_pid: child.pid() }, Filter::Command),
            _ => (Scope::All, Filter::System),
        };
        let (backend, decode, method) = Backend::prepare(&host, options)?;
        let mut header = host.header(Source::Recorded(Recording {
            method,
            command: command.to_vec(),
            kernel: host.kernel.clone(),
            begin_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            host: host.name.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            clock: host.clock.clone(),
            filter,
            ..Recording::default()
        }));
        header.sync = backend.knows_sync();
        Ok(Session {
            host,
            options,
            signals,
            stop: Stop::default(),
            child,
            scope,
            duration,
            header,
            backend,
            started: false,
            decode,
            members: Vec::new(),
            model: None,
            energy: Meter::open().ok(),
            owner: user.map(User::ids).or_else(hearth_base::environment::caller),
        })
    }

    /// The part of the trace's header that is known before the first event.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Ends a recording of [`Subject::UntilStopped`].
    pub fn stop_handle(&self) -> Stop {
        self.stop.clone()
    }

    /// Records the decisions of a policy of Hearth that is loaded.
    ///
    /// # Errors
    /// The reason why its decisions cannot be recorded. Everything else still can.
    pub fn follow(&mut self, policy: RunningPolicy) -> Result<(), String> {
        match &mut self.backend {
            Backend::Bpf(programs) => programs.follow_policy()?,
            Backend::Tracefs { .. } => return Err("only BPF can see them".into()),
        }
        (self.header.reasons, self.header.sets) = (policy.reasons, policy.sets);
        self.members = policy.members;
        self.recording(|recording| recording.policy = Some(policy.policy));
        Ok(())
    }

    /// Records the frequencies of a model in place of the hardware's ([`Options::all_ticks`] should be set). Returns
    /// where to send them. `machine` and `khz_range` describe the machine of the model.
    pub fn model_frequencies(&mut self, machine: String, khz_range: (u32, u32)) -> Sender<FrequencyChange> {
        (self.header.machine, self.header.khz_range) = (machine, khz_range);
        // It would be the energy of another machine.
        self.energy = None;
        let (sender, model) = ModelFrequencies::new();
        self.model = Some(model);
        sender
    }

    /// Limits `traced` to a process and its descendants, and the trace to their lifetime. The process may start after
    /// [`Session::start`].
    pub fn trace_descendants(&mut self, pid: i32, command: Vec<String>) {
        self.scope = Scope::Tree { root_pid: pid };
        self.recording(|recording| (recording.filter, recording.command) = (Filter::Command, command));
    }

    fn recording(&mut self, change: impl FnOnce(&mut Recording)) {
        if let Source::Recorded(recording) = &mut self.header.source {
            change(recording);
        }
    }

    /// Begins to fill the buffers. [`Session::run`] does this too; an earlier call loses no event in between, as
    /// long as the buffers have room.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn start(&mut self) -> Result<(), Error> {
        if !std::mem::replace(&mut self.started, true) {
            self.backend.start()?;
        }
        Ok(())
    }

    /// Records into a trace file, as [`Session::run`] does. A trace of that name is kept as `NAME.old`.
    ///
    /// # Errors
    /// Those of [`Session::run`], and those of the writer.
    pub fn write_to(self, path: &Path) -> Result<Recorded<()>, Error> {
        let header = self.header.clone();
        let writer = LowPriority::new(|| Writer::create_for(self.owner, path, &header)).transpose()?;
        // The trace's file system has room for waiting rounds, too.
        let folder = hearth_base::file::folder(path);
        let Recorded { assembled, status, bytes, kernel_events, finishing } =
            self.run(folder, writer, Writer::flush)?;
        let Assembled { sink, header, begin, events, inferred } = assembled;
        sink.commit_and_keep_old(&header)?;
        let assembled = Assembled { sink: (), header, begin, events, inferred };
        Ok(Recorded { assembled, status, bytes, kernel_events, finishing })
    }

    /// Releases the command and records until the end. Rounds that wait for conversion may go to a file in `folder`.
    /// Calls `flush` every few seconds.
    ///
    /// # Errors
    /// The command cannot be run, or the kernel's buffers cannot be read.
    pub fn run<S: Sink + Send>(
        mut self,
        folder: &Path,
        sink: LowPriority<S>,
        flush: impl FnMut(&mut S) + Send,
    ) -> Result<Recorded<S>, Error> {
        let spool = Spool::new(folder.into());
        let converter = Converter::new(&spool, &sink);
        let mut assembler = Assembler::new(self.header.clone(), &self.host.cpus, self.scope, sink.sink);
        if self.model.is_none() {
            assembler.set_initial_khz(&self.host.present_khz());
        }
        assembler.set_initial_members(&self.members);
        self.start()?;
        // In a PID namespace, `/proc` has other numbers than the events.
        if !is_in_pid_namespace() {
            describe_threads(&mut assembler);
        }
        let (status, converted, energy, bytes, finishing) = std::thread::scope(|scope| {
            let decode = std::mem::replace(&mut self.decode, Box::new(()));
            let model = self.model.take();
            let thread = scope.spawn(|| converter.run(decode, assembler, model, flush));
            let mut bytes = 0;
            let mut end = Instant::now();
            let recorded = self.record(|round| {
                bytes += round.bytes() as u64;
                end = Instant::now();
                converter.push(round)
            });
            spool.close();
            converter.hurry();
            let converted = thread.join().map_err(|_| Error::ConverterFailed)?;
            let (status, energy) = recorded?;
            Ok::<_, Error>((status, converted?, energy, bytes, end.elapsed()))
        })?;
        let (mut assembler, kernel_events) = converted;
        for &cpu in &self.host.cpus {
            match &self.backend {
                Backend::Bpf(programs) => assembler.lost(cpu, Some(programs.lost(cpu))),
                Backend::Tracefs { readers, .. } => assembler.lost_at_least(cpu, readers.dropped(cpu)),
            }
        }
        let mut assembled = assembler.finish().ok_or(Error::NothingSeen)?;
        assembled.header.sync = self.backend.knows_sync();
        if let Source::Recorded(recording) = &mut assembled.header.source {
            recording.inferred = assembled.inferred;
            recording.energy = energy.as_ref().map(|(energy, _)| Box::new(*energy));
        }
        if let Some((energy, samples)) = energy {
            assembled.header.energy_uj = energy.total_uj();
            assembled.header.energy_by_time = in_trace(samples, assembled.begin, assembled.header.duration);
        }
        Ok(Recorded { assembled, status, bytes, kernel_events, finishing })
    }

    /// Polls the buffers until the end. Returns the status of the command, and the energy until its end.
    fn record(&mut self, mut push: impl FnMut(Round) -> Result<(), Error>) -> Result<Ended, Error> {
        let begin = Instant::now();
        let mut energy = self.energy.take().map(Log::begin);
        if let Some(child) = &mut self.child {
            child.release()?;
        }
        let status = loop {
            let left = self.duration.map(|duration| duration.saturating_sub(begin.elapsed()));
            let poll = left.map_or(self.options.poll, |left| left.min(self.options.poll));
            let ended = match &mut self.child {
                Some(child) => child.wait(poll)?,
                None => {
                    pause(poll);
                    None
                }
            };
            energy.iter_mut().for_each(Log::poll);
            push(self.backend.drain()?)?;
            if ended.is_some() {
                break ended;
            }
            let signals: Vec<i32> = self.signals.iter().flat_map(Signals::take).collect();
            match &self.child {
                Some(child) => signals.iter().for_each(|signal| pass_on(*signal, child)),
                None if !signals.is_empty() => break None,
                None => {}
            }
            if left.is_some_and(|left| left.is_zero()) || self.stop.stopped() {
                break None;
            }
        };
        let energy = energy.map(Log::finish);
        // The kernel reports the end of a process shortly before its last thread leaves its core.
        if self.scope != Scope::All || self.child.is_some() {
            std::thread::sleep(LAST_SWITCH);
        }
        self.backend.stop()?;
        push(Round { complete_to: u64::MAX, ..self.backend.drain()? })?;
        Ok((status, energy))
    }
}

/// Decodes nothing: the place of a decoder that was moved to the converter.
impl Decode for () {
    fn round(&mut self, _: Round, _: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage> {
        Ok(())
    }
}

/// Waits for this time or for a signal.
fn pause(time: Duration) {
    let ms = time.as_millis().min(i32::MAX as u128) as i32;
    // SAFETY: no descriptors.
    unsafe { libc::poll(std::ptr::null_mut(), 0, ms) };
}

/// The terminal sends Ctrl-C and Ctrl-\ to the command, too. Any other signal is passed on.
fn pass_on(signal: i32, child: &HeldCommand) {
    if signal != libc::SIGINT && signal != libc::SIGQUIT {
        child.signal(signal);
    }
}

/// Passes the names and processes of all threads of the system, and the parents of the processes.
fn describe_threads<S: Sink>(assembler: &mut Assembler<S>) {
    let numbers = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).collect::<Vec<_>>()
    };
    for process in numbers(Path::new("/proc")) {
        let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        if let Some(parent) = parent_of(&stat) {
            assembler.parent(process, parent);
        }
        let threads = format!("/proc/{process}/task");
        for thread in numbers(Path::new(&threads)) {
            // A thread may have exited in the meantime.
            if let Ok(name) = std::fs::read(format!("{threads}/{thread}/comm")) {
                assembler.name(thread, name.trim_ascii_end());
                assembler.member(thread, process);
            }
        }
    }
}

/// The parent of a process by its `/proc/PID/stat`: `PID (COMM) STATE PARENT ...`. The name may have parentheses.
fn parent_of(stat: &str) -> Option<i32> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Whether this process has other process numbers than the kernel's events. The first namespace has a fixed number
/// (`PROC_PID_INIT_INO` of the kernel's include/linux/proc_ns.h).
fn is_in_pid_namespace() -> bool {
    const FIRST: u64 = 0xEFFF_FFFC;
    std::fs::metadata("/proc/self/ns/pid").is_ok_and(|namespace| namespace.ino() != FIRST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_look_like_the_fields_after_it() {
        assert_eq!(parent_of("12 (a) S 7) R 34 12 12 0 -1"), Some(34));
        assert_eq!(parent_of(""), None);
        assert_eq!(parent_of("12 (a) R"), None);
    }
}
