//! The recorder: a command and its children, as the kernel's own trace events show them.
//!
//! It works on a stock kernel, needs neither BPF nor `trace-cmd`, and is polled, never woken per
//! event: a reader that is woken by what it records records itself.
//!
//! `tracefs` (the kernel's folder) → pages → `page` and `merge` (bytes to a stream in order of
//! time) → `format` and `decode` (what the bytes say) → `assemble` (what it means) → a trace.

mod assemble;
mod command;
mod decode;
mod error;
mod format;
mod merge;
mod moves;
mod page;
mod recent;
mod signals;
mod tracefs;

pub use assemble::{Assembled, Assembler, Scope};
pub use decode::{Decoder, EVENTS, KernelEvent, What};
pub use error::Error;
pub use page::{Error as PageError, Layout as PageLayout, Missed, Page, Record as PageRecord};

use crate::Host;
use crate::host::per_cpu;
use command::Held;
use hearth_trace::{Event, Source, Trace};
use merge::{Item, Pages};
use page::Layout;
use signals::Signals;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;
use tracefs::Instance;

/// How to record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Size of the kernel's buffer of each core in KiB. It must hold the events of one `poll`;
    /// an event takes about 50 bytes.
    pub buffer_kb: u32,
    /// How often the buffers are emptied.
    pub poll: Duration,
}

impl Default for Options {
    /// 4 MiB a core, emptied every 100 ms: 800 000 events per second and core.
    fn default() -> Self {
        Options { buffer_kb: 4096, poll: Duration::from_millis(100) }
    }
}

/// What [`record`] returns.
#[derive(Clone, Debug)]
pub struct Recording {
    pub trace: Trace,
    /// How the command ended.
    pub status: ExitStatus,
    /// Switches and moves that the kernel did not tell of. They were put in where other events show that
    /// they happened, and are counted in the header's `lost`.
    pub inferred: u64,
}

/// Runs a command, and records what its threads do until it ends.
///
/// The command inherits standard input, output and error. Time 0 is when it is let go; the
/// trace ends when the last of its threads has ended, or, if some outlive it, with the command.
/// Needs root, or the rights to use tracefs.
pub fn record(command: &[String], options: Options) -> Result<Recording, Error> {
    if command.is_empty() {
        return Err(Error::NoCommand);
    }
    if cfg!(target_endian = "big") {
        return Err(Error::format("its trace buffer", "big-endian processors are not supported yet"));
    }
    let host = Host::detect();
    let tracefs = tracefs::find()?;
    let signals = Signals::hold();
    let instance = Instance::create(&tracefs)?;
    let setup = Setup::new(&instance, options)?;
    let mut readers = Readers::open(&instance, &setup.layout, &host)?;
    let mut child = Held::spawn(command)?;
    let khz = host.present_khz();
    instance.set("tracing_on", "1")?;
    child.release()?;
    let status = loop {
        let ended = child.wait(options.poll)?;
        readers.drain()?;
        if let Some(status) = ended {
            break status;
        }
        signals.take().for_each(|signal| pass_on(signal, &child));
    };
    // The kernel tells of the end of a process shortly before its last thread leaves its core.
    std::thread::sleep(LAST_SWITCH);
    instance.set("tracing_on", "0")?;
    readers.drain()?;
    let Assembled { sink: events, header, inferred, .. } =
        assemble(&host, command, child.pid(), &khz, &setup, &readers)?;
    Ok(Recording { trace: Trace { header, events }, status, inferred })
}

/// How long the last thread of a command may take from its end to its last switch.
const LAST_SWITCH: Duration = Duration::from_millis(10);

/// The terminal sends Ctrl-C (and Ctrl-\) to the command too. Other signals were meant to end the
/// recorder: then the command must end.
fn pass_on(signal: i32, child: &Held) {
    if signal != libc::SIGINT && signal != libc::SIGQUIT {
        child.signal(signal);
    }
}

/// How this kernel writes its events.
struct Setup {
    layout: Layout,
    decoder: Decoder,
}

impl Setup {
    /// Prepares the instance: everything but the last switch, `tracing_on`.
    fn new(instance: &Instance, options: Options) -> Result<Self, Error> {
        instance.set("tracing_on", "0")?;
        instance.set("trace_clock", "mono")?;
        instance.set("buffer_size_kb", &options.buffer_kb.to_string())?;
        let events = instance.path().join("events");
        let mut formats = Vec::new();
        for (event, needed) in EVENTS {
            if !needed && !events.join(event).is_dir() {
                continue;
            }
            formats.push((event, tracefs::read(&events.join(event).join("format"))?));
            instance.set(&format!("events/{event}/enable"), "1")?;
        }
        let decoder = Decoder::new(&formats).map_err(|(what, why)| Error::format(what, why))?;
        let layout = Layout::parse(&tracefs::read(&events.join("header_page"))?)
            .map_err(|why| Error::format("its trace buffer", why))?;
        Ok(Setup { layout, decoder })
    }
}

/// The open buffers of all cores, and what was read from them.
struct Readers<'a> {
    instance: &'a Path,
    layout: &'a Layout,
    files: Vec<File>,
    pages: Vec<Pages>,
    /// Room for one page.
    buffer: Vec<u8>,
}

impl<'a> Readers<'a> {
    fn open(instance: &'a Instance, layout: &'a Layout, host: &Host) -> Result<Self, Error> {
        let open = |cpu: &u32| {
            let path = per_cpu(instance.path(), *cpu, "trace_pipe_raw");
            File::options()
                .read(true)
                .custom_flags(libc::O_NONBLOCK)
                .open(&path)
                .map_err(|error| Error::file("open", &path, error))
        };
        Ok(Readers {
            instance: instance.path(),
            layout,
            files: host.cpus.iter().map(open).collect::<Result<_, _>>()?,
            pages: host.cpus.iter().map(|&cpu| Pages { cpu, pages: Vec::new() }).collect(),
            buffer: vec![0; layout.size],
        })
    }

    /// Empties all buffers. Pages are only copied here: while the command runs, every microsecond
    /// of ours may be one of its own.
    fn drain(&mut self) -> Result<(), Error> {
        for (file, pages) in self.files.iter_mut().zip(&mut self.pages) {
            loop {
                match file.read(&mut self.buffer) {
                    Ok(0) => break,
                    Ok(length) => {
                        let used = Page::used(self.layout, &self.buffer[..length]);
                        pages.pages.push(self.buffer[..used].into());
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(error) => {
                        let path = per_cpu(self.instance, pages.cpu, "trace_pipe_raw");
                        return Err(Error::file("read", &path, error));
                    }
                }
            }
        }
        Ok(())
    }

    /// Events that the kernel says it dropped on a core.
    fn dropped(&self, cpu: u32) -> u64 {
        let stats = std::fs::read_to_string(per_cpu(self.instance, cpu, "stats")).unwrap_or_default();
        let value = |name: &str| stats.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        ["overrun:", "commit overrun:", "dropped events:"]
            .iter()
            .map(|name| value(name).unwrap_or(0u64))
            .sum()
    }
}

fn assemble(
    host: &Host,
    command: &[String],
    root: i32,
    khz: &[u32],
    setup: &Setup,
    readers: &Readers,
) -> Result<Assembled<Vec<Event>>, Error> {
    let (command, kernel) = (command.to_vec(), host.kernel.clone());
    let header = host.header(Source::Recorded { method: "tracefs".into(), command, kernel });
    let mut assembler = Assembler::new(header, &host.cpus, Scope::Tree { root_pid: root }, Vec::new());
    assembler.starts_with_khz(khz);
    let take = |item: Item| match item {
        Item::Lost { cpu, count } => assembler.lost(cpu, count),
        Item::Event { cpu, record } => {
            if let Some(event) = setup.decoder.decode(cpu, record.time, record.payload) {
                assembler.event(&event);
            }
        }
    };
    merge::merge(&setup.layout, &readers.pages, take).map_err(|(cpu, why)| Error::Page { cpu, why })?;
    for &cpu in &host.cpus {
        assembler.lost_at_least(cpu, readers.dropped(cpu));
    }
    assembler.finish().ok_or(Error::NothingSeen)
}
