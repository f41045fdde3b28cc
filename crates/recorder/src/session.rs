//! One recording, from its preparation to its end.

use crate::Host;
use crate::bpf::{Programs, Words};
use crate::buffers::{Readers, Setup};
use crate::command::Held;
use crate::convert::{Converter, Quiet};
use crate::how::How;
use crate::round::{Decode, Round};
use crate::signals::Signals;
use crate::spool::Spool;
use crate::tracefs::{self, Instance};
use crate::{Error, Method, Options, Subject};
use hearth_ftrace::{Assembled, Assembler, DamagedPage, Item, PageMerger, Scope};
use hearth_trace::{Header, Sink, Source};
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

/// How long the last thread of a command may take from its end to its last switch.
const LAST_SWITCH: Duration = Duration::from_millis(10);

/// A recording that can begin at once.
pub struct Session {
    host: Host,
    options: Options,
    signals: Signals,
    child: Option<Held>,
    scope: Scope,
    duration: Option<Duration>,
    header: Header,
    means: Means,
    decode: Box<dyn Decode>,
    /// Of each set of the policy that is followed.
    members: Vec<Vec<u32>>,
}

/// What a policy that Hearth runs says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunningPolicy {
    /// By the numbers that its decisions have.
    pub reasons: Vec<String>,
    pub sets: Vec<String>,
    /// The present members of each set, by the kernel's numbers.
    pub members: Vec<Vec<u32>>,
}

/// What a recording ends with.
pub struct Recorded<S> {
    pub assembled: Assembled<S>,
    /// How the command ended, if there was one.
    pub status: Option<ExitStatus>,
    /// Bytes that came through the buffers, and the kernel's events that they held.
    pub bytes: u64,
    pub kernel_events: u64,
    /// Time from the end of the command until all was converted.
    pub finishing: Duration,
}

/// Where the kernel's events come from.
enum Means {
    Bpf(Programs),
    /// The readers are dropped first: an instance whose buffers are open cannot be removed.
    Tracefs {
        readers: Readers,
        instance: Instance,
    },
}

impl Session {
    /// Prepares everything: the buffers, and the command, which is held back.
    ///
    /// # Errors
    /// There is no command, or this machine does not let us record.
    pub fn prepare(subject: Subject<'_>, options: Options) -> Result<Session, Error> {
        if cfg!(target_endian = "big") {
            return Err(Error::format("its trace buffer", "big-endian processors are not supported yet"));
        }
        let (command, duration) = match subject {
            Subject::Command([]) | Subject::SystemWhile([]) => return Err(Error::NoCommand),
            Subject::Command(command) | Subject::SystemWhile(command) => (command, None),
            Subject::System(duration) => (&[][..], duration),
        };
        let host = Host::detect();
        let signals = Signals::hold();
        let child = if command.is_empty() { None } else { Some(Held::spawn(command)?) };
        let scope = match (subject, &child) {
            (Subject::Command(_), Some(child)) => Scope::Tree { root_pid: child.pid() },
            _ => Scope::All,
        };
        let (means, decode, how) = Means::prepare(&host, options)?;
        let source = Source::Recorded {
            method: how.to_string(),
            command: command.to_vec(),
            kernel: host.kernel.clone(),
        };
        let header = host.header(source);
        Ok(Session {
            host,
            options,
            signals,
            child,
            scope,
            duration,
            header,
            means,
            decode,
            members: Vec::new(),
        })
    }

    /// What the trace will say, as far as it is known: how it is recorded, and the machine.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Records what the policy that Hearth runs here decides, too.
    ///
    /// # Errors
    /// Why that cannot be done; all else is recorded all the same.
    pub fn follow(&mut self, policy: RunningPolicy) -> Result<(), String> {
        match &mut self.means {
            Means::Bpf(programs) => programs.follow_policy()?,
            Means::Tracefs { .. } => return Err("only BPF can see them".into()),
        }
        (self.header.reasons, self.header.sets) = (policy.reasons, policy.sets);
        self.members = policy.members;
        Ok(())
    }

    /// Lets the command go, and records until the end. What waits to be converted may lie in a file in `folder`.
    /// Every few seconds `flush` is called.
    ///
    /// # Errors
    /// The command cannot be run; or what the kernel gives cannot be read.
    pub fn run<S: Sink + Send>(
        mut self,
        folder: &Path,
        sink: Quiet<S>,
        flush: impl FnMut(&mut S) + Send,
    ) -> Result<Recorded<S>, Error> {
        let spool = Spool::new(folder.into());
        let converter = Converter::new(&spool, &sink);
        let mut assembler = Assembler::new(self.header.clone(), &self.host.cpus, self.scope, sink.sink);
        assembler.set_initial_khz(&self.host.present_khz());
        assembler.set_initial_members(&self.members);
        self.means.start()?;
        names_of_threads(|pid, name| assembler.name(pid, name));
        let (status, converted, bytes, finishing) = std::thread::scope(|scope| {
            let decode = std::mem::replace(&mut self.decode, Box::new(()));
            let thread = scope.spawn(|| converter.run(decode, assembler, flush));
            let mut bytes = 0;
            let mut end = Instant::now();
            let recorded = self.record(|round| {
                bytes += round.bytes() as u64;
                end = Instant::now();
                converter.take(round)
            });
            spool.close();
            converter.hurry();
            let converted = thread.join().map_err(|_| Error::ConverterFailed)?;
            Ok::<_, Error>((recorded?, converted?, bytes, end.elapsed()))
        })?;
        let (mut assembler, kernel_events) = converted;
        for &cpu in &self.host.cpus {
            match &self.means {
                Means::Bpf(programs) => assembler.lost(cpu, Some(programs.lost(cpu))),
                Means::Tracefs { readers, .. } => assembler.lost_at_least(cpu, readers.dropped(cpu)),
            }
        }
        let assembled = assembler.finish().ok_or(Error::NothingSeen)?;
        Ok(Recorded { assembled, status, bytes, kernel_events, finishing })
    }

    /// While the command runs.
    fn record(
        &mut self,
        mut give: impl FnMut(Round) -> Result<(), Error>,
    ) -> Result<Option<ExitStatus>, Error> {
        let begin = Instant::now();
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
            // A round holds all before a time; later events of the same drain wait for the next.
            give(self.means.drain()?)?;
            if ended.is_some() {
                break ended;
            }
            match &self.child {
                Some(child) => self.signals.take().for_each(|signal| pass_on(signal, child)),
                None if self.signals.take().next().is_some() => break None,
                None => {}
            }
            if left.is_some_and(|left| left.is_zero()) {
                break None;
            }
        };
        // The kernel tells of the end of a process shortly before its last thread leaves its core.
        if self.child.is_some() {
            std::thread::sleep(LAST_SWITCH);
        }
        self.means.stop()?;
        give(Round { complete_to: u64::MAX, ..self.means.drain()? })?;
        Ok(status)
    }
}

/// Nothing is decoded: stands in where a decoder was taken from.
impl Decode for () {
    fn round(&mut self, _: Round, _: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage> {
        Ok(())
    }
}

/// Waits, but not if a signal comes.
fn pause(time: Duration) {
    let ms = time.as_millis().min(i32::MAX as u128) as i32;
    // SAFETY: no descriptors.
    unsafe { libc::poll(std::ptr::null_mut(), 0, ms) };
}

/// The terminal sends Ctrl-C (and Ctrl-\) to the command too. Other signals were meant to end the
/// recorder: then the command must end.
fn pass_on(signal: i32, child: &Held) {
    if signal != libc::SIGINT && signal != libc::SIGQUIT {
        child.signal(signal);
    }
}

/// The threads that there are, with their names.
fn names_of_threads(mut take: impl FnMut(i32, &[u8])) {
    let numbers = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok()).collect::<Vec<_>>()
    };
    for process in numbers(Path::new("/proc")) {
        let threads = format!("/proc/{process}/task");
        for thread in numbers(Path::new(&threads)) {
            // Threads that have ended in the meantime have no name.
            if let Ok(name) = std::fs::read(format!("{threads}/{thread}/comm")) {
                take(thread, name.trim_ascii_end());
            }
        }
    }
}

impl Means {
    fn prepare(host: &Host, options: Options) -> Result<(Means, Box<dyn Decode>, How), Error> {
        let bpf = || Programs::load(host, u64::from(options.buffer_kb) * 1024);
        let why_not_bpf = match options.method {
            Method::Tracefs => None,
            Method::Bpf => {
                let programs = bpf().map_err(|why| Error::NoBpf { why })?;
                return Ok((Means::Bpf(programs), Box::new(Words::new(host)), How::Bpf));
            }
            Method::Auto => match bpf() {
                Ok(programs) => return Ok((Means::Bpf(programs), Box::new(Words::new(host)), How::Bpf)),
                Err(why) => Some(why),
            },
        };
        let instance = Instance::create(&tracefs::find()?)?;
        let setup = Setup::new(&instance, options.buffer_kb)?;
        let readers = Readers::open(&instance, &setup.layout, host)?;
        Ok((
            Means::Tracefs { instance, readers },
            Box::new(PageMerger::new(setup.layout, setup.decoder, &host.cpus)),
            How::Tracefs { why_not_bpf },
        ))
    }

    fn start(&mut self) -> Result<(), Error> {
        match self {
            Means::Bpf(programs) => programs.attach().map_err(|why| Error::NoBpf { why }),
            Means::Tracefs { instance, .. } => instance.set("tracing_on", "1"),
        }
    }

    fn stop(&mut self) -> Result<(), Error> {
        match self {
            Means::Bpf(programs) => programs.detach(),
            Means::Tracefs { instance, .. } => instance.set("tracing_on", "0")?,
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<Round, Error> {
        match self {
            Means::Bpf(programs) => Ok(programs.drain()),
            Means::Tracefs { readers, .. } => readers.drain(),
        }
    }
}
