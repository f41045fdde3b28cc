//! Runs one command in one guest.

use crate::accel;
use crate::accelerator::{Acceleration, Accelerator};
use crate::architecture::Architecture;
use crate::busybox;
use crate::cache::Cache;
use crate::error::Error;
use crate::guest::{Event, Guest};
use crate::initramfs::{Command, Initramfs, Settings};
use crate::kernel::Kernel;
use crate::progress::{Progress, Watch};
use crate::qemu::Qemu;
use crate::share::Access;
use crate::stream::{Streams, copy_until};
use crate::system;
use crate::terminal::{self, Escape, Raw};
use crate::topology::Topology;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Environment variables that the command inherits from this process; `Options::env` adds to them.
const INHERITED: [&str; 6] = ["PATH", "HOME", "TERM", "LANG", "SHELL", "HEARTH_LIB"];
/// The guest's folder with the link `hearth` (see init.sh).
const PROGRAMS: &str = "/run/hearth/bin";
/// Default memory; half of the host's memory if that is less.
const MEMORY_MIB: u64 = 4096;
/// Time that a guest gets to finish its output.
pub const LAST_WORDS: Duration = Duration::from_secs(20);

/// Options of a guest.
#[derive(Debug, Clone)]
pub struct Options {
    /// Of the guest's processors.
    pub architecture: Architecture,
    /// `latest`, a version or its first numbers (`6.18`), or the path of an image.
    pub kernel: String,
    /// Ask apt for a newer kernel even if a matching one is in the cache.
    pub update: bool,
    pub topology: Topology,
    pub memory_mib: Option<u64>,
    pub acceleration: Acceleration,
    /// The command's working directory, shared for writing.
    pub directory: PathBuf,
    /// Other folders that are shared for writing.
    pub rw: Vec<PathBuf>,
    /// Added to the command's environment.
    pub env: Vec<(OsString, OsString)>,
    /// Maximum run time of the command.
    pub timeout: Option<Duration>,
    /// File that receives the kernel's console.
    pub console: Option<PathBuf>,
    /// File that receives the kernel's log when the command has ended.
    pub dmesg: Option<PathBuf>,
    /// Additional kernel parameters.
    pub append: String,
    /// Give the command the user's terminal instead of `Streams`.
    pub terminal: bool,
    /// End the guest when this process receives a signal.
    pub signals: bool,
    /// The program that the guest finds as `hearth`, first in its PATH; not for a foreign architecture.
    pub hearth: Option<PathBuf>,
    /// Folder that the guest sees as `/run/hearth/objects`.
    pub objects: Option<PathBuf>,
}

impl Default for Options {
    /// Four cores, the newest kernel, the current folder.
    fn default() -> Self {
        Options {
            architecture: Architecture::HOST,
            kernel: "latest".into(),
            update: false,
            topology: Topology::default(),
            memory_mib: None,
            acceleration: Acceleration::default(),
            directory: std::env::current_dir().unwrap_or_else(|_| "/".into()),
            rw: Vec::new(),
            env: Vec::new(),
            timeout: None,
            console: None,
            dmesg: None,
            append: String::new(),
            terminal: false,
            signals: false,
            hearth: None,
            objects: None,
        }
    }
}

/// The result of a command in a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exit {
    /// Exit status; 128 + N if signal N killed the command; 126 or 127 if it could not be run.
    pub status: u8,
    /// The kernel's release.
    pub kernel: String,
    pub accelerator: Accelerator,
    pub booted_in: Duration,
}

/// Runs a command in a guest.
pub fn run(options: &Options, command: &[OsString], streams: Streams, watch: Watch) -> Result<Exit, Error> {
    let parts = Parts::get(options, command.first().map(Path::new), watch)?;
    let (shares, mark) = (shares(options)?, mark()?);
    let mut guest = Guest::prepare()?;
    if let Some(path) = &options.console {
        guest.keep_console(path)?;
    }
    let mut session = Session::connect(&mut guest, options, streams, &mark)?;
    parts.share(&mut guest, &shares)?;
    let environment = environment(options);
    let environment: Vec<_> =
        environment.iter().map(|(name, value)| (name.as_ref(), value.as_ref())).collect();
    let words: Vec<&OsStr> = command.iter().map(AsRef::as_ref).collect();
    let command_file = Command { words: &words, directory: &options.directory, environment: &environment };
    let settings = settings(options, command, &parts.kernel, &shares, &mark);
    let _signals = options.signals.then(|| watch_signals(&guest, options.terminal)).transpose()?;

    let begun = Instant::now();
    parts.start(&mut guest, options, settings, &command_file)?;
    let booted_in = session.boot(&mut guest, options, &parts, begun, watch)?;
    let raw = options.terminal.then(Raw::new).transpose().map_err(Error::file("set up", "the terminal"))?;
    let ended = session.attend(&mut guest, options);
    if let (Some(path), Some(log)) = (&options.dmesg, &session.log) {
        hearth_base::file::write(path, log).map_err(Error::file("write", path))?;
    }
    if ended.is_ok() {
        let _ = session.say.send("bye".into());
        guest.finish(LAST_WORDS);
    } else {
        drop(guest);
    }
    drop(raw);
    Ok(Exit { status: ended?, kernel: parts.kernel.release, accelerator: parts.accelerator, booted_in })
}

/// What a guest is made of, found here or fetched.
pub struct Parts {
    pub kernel: Kernel,
    pub accelerator: Accelerator,
    architecture: Architecture,
    qemu: Qemu,
    /// The programs of a foreign architecture.
    system: Option<PathBuf>,
    busybox: Vec<u8>,
}

impl Parts {
    /// `program` must be one that the guest's processor can run.
    pub fn get(options: &Options, program: Option<&Path>, watch: Watch) -> Result<Parts, Error> {
        let (cache, architecture) = (Cache::of_user()?, options.architecture);
        let kernel = Kernel::get(&options.kernel, architecture, options.update, &cache, watch)?;
        let qemu = Qemu::get(architecture, &cache, watch)?;
        let system =
            architecture.is_foreign().then(|| system::get(architecture, &cache, watch)).transpose()?;
        if let (Some(system), Some(program)) = (&system, program) {
            system::check(program, &options.directory, system, architecture)?;
        }
        let busybox = system
            .as_ref()
            .map_or_else(|| busybox::get(&cache, watch), |system| busybox::of_system(system))?;
        let (accelerator, slow) =
            accel::decide(options.acceleration, architecture, &kernel, &qemu, &busybox, &cache)?;
        if let Some(why) = slow {
            watch(Progress::Note(&format!("using emulation, which is slow: KVM does not work here ({why})")));
        }
        Ok(Parts { kernel, accelerator, architecture, qemu, system, busybox })
    }

    /// Shares the root, the programs of a foreign architecture, and folders for writing.
    pub fn share(&self, guest: &mut Guest, folders: &[PathBuf]) -> Result<(), Error> {
        guest.add_share("root", Path::new("/"), Access::ReadOnly, self.architecture)?;
        if let Some(system) = &self.system {
            guest.add_share("system", system, Access::ReadOnly, self.architecture)?;
        }
        for (number, folder) in folders.iter().enumerate() {
            guest.add_share(&format!("rw{number}"), folder, Access::ReadWrite, self.architecture)?;
        }
        Ok(())
    }

    pub fn start(
        &self,
        guest: &mut Guest,
        options: &Options,
        settings: Settings,
        command: &Command,
    ) -> Result<(), Error> {
        let initramfs = Initramfs {
            busybox: self.busybox.clone(),
            modules: self.kernel.needed_modules()?,
            config: self.kernel.config()?,
            settings,
            command,
        };
        let memory_mib = options.memory_mib.unwrap_or_else(default_memory);
        let (topology, append) = (&options.topology, &options.append);
        guest.start(&self.qemu, &self.kernel, &initramfs, self.accelerator, topology, memory_mib, append)
    }
}

/// The settings of the guest's scripts.
fn settings(
    options: &Options,
    command: &[OsString],
    kernel: &Kernel,
    shares: &[PathBuf],
    mark: &str,
) -> Settings {
    let mut settings = places(options, command, kernel, shares);
    let (rows, columns) = terminal::size();
    let log = options.dmesg.is_some();
    settings.set("mode", "run");
    settings.set("mark", mark);
    settings.set("want_dmesg", if log { "yes" } else { "" });
    settings.set("terminal", if options.terminal { format!("{rows} {columns}") } else { String::new() });
    let (log, streams) =
        (if log { "dmesg" } else { "" }, if options.terminal { "" } else { "stdin stdout stderr" });
    settings.set("ports", format!("control {log} {streams}"));
    settings
}

/// The settings of the guest's files.
pub fn places(options: &Options, command: &[OsString], kernel: &Kernel, shares: &[PathBuf]) -> Settings {
    let mut settings = Settings::default();
    let lines = |folders: &[PathBuf]| -> Vec<u8> {
        folders.iter().map(|folder| folder.as_os_str().as_bytes()).collect::<Vec<_>>().join(&b'\n')
    };
    let bytes = |path: Option<&Path>| path.map_or(&[][..], |path| path.as_os_str().as_bytes()).to_owned();
    let hearth = own_hearth(options);
    let words: Vec<OsString> = command.iter().cloned().chain(hearth.map(Into::into)).collect();
    settings.set("system", if options.architecture.is_foreign() { "yes" } else { "" });
    settings.set_bytes("shares", &lines(shares));
    settings.set_bytes("seen", &lines(&seen(&options.directory, &words)));
    settings.set_bytes("modules", &bytes(kernel.modules.as_deref()));
    settings.set_bytes("hearth", &bytes(hearth));
    settings.set_bytes("objects", &bytes(options.objects.as_deref()));
    settings
}

/// The program that the guest finds as `hearth`.
fn own_hearth(options: &Options) -> Option<&Path> {
    options.hearth.as_deref().filter(|_| !options.architecture.is_foreign())
}

/// The command's environment. In a guest with its own programs, PATH leads to them.
fn environment(options: &Options) -> Vec<(OsString, OsString)> {
    let value = |name: &str| match name {
        "PATH" if options.architecture.is_foreign() => Some(system::PATH.into()),
        "SHELL" if options.architecture.is_foreign() => Some("/bin/bash".into()),
        name => std::env::var_os(name),
    };
    inherited(own_hearth(options).is_some(), value, &options.env)
}

/// The environment that a guest's command inherits from this process, and `own` variables. `with_hearth`: the guest
/// has a `hearth` of its own.
pub fn inherited(
    with_hearth: bool,
    value: impl Fn(&str) -> Option<OsString>,
    own: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let value = |name| match value(name) {
        Some(path) if name == "PATH" && with_hearth => {
            Some([OsStr::new(PROGRAMS), &path].join(OsStr::new(":")))
        }
        value => value,
    };
    let inherited = INHERITED.iter().filter_map(|name| Some((OsString::from(name), value(name)?)));
    inherited.chain(own.iter().cloned()).collect()
}

/// State of a running command.
pub struct Session {
    /// Lines for the guest's scripts.
    pub say: Sender<String>,
    wants_log: bool,
    log: Option<Vec<u8>>,
    to_drain: usize,
    status: Option<u8>,
}

impl Session {
    /// Creates the guest's ports.
    fn connect(guest: &mut Guest, options: &Options, streams: Streams, mark: &str) -> Result<Self, Error> {
        let mut session = Session::without_command(guest)?;
        let wants_log = options.dmesg.is_some();
        if wants_log {
            let (mark, sender) = (mark.to_owned(), guest.sender.clone());
            guest.add_port("dmesg", move |mut stream| {
                let mut log = Vec::new();
                copy_until(mark.as_bytes(), &mut stream, &mut log)?;
                let _ = sender.send(Event::Log(log));
                Ok(())
            })?;
        }
        if options.terminal {
            let sender = guest.sender.clone();
            guest.add_terminal(move |stream| attend(stream, sender))?;
        } else {
            connect(guest, streams, mark)?;
        }
        session.wants_log = wants_log;
        session.to_drain = if options.terminal { 0 } else { 2 };
        Ok(session)
    }

    /// A guest without a command: it has only the ports of its scripts.
    pub fn without_command(guest: &mut Guest) -> Result<Self, Error> {
        guest.listen()?;
        let (say, to_say) = channel();
        guest.add_loose_port("control", move |stream| speak(stream, &to_say))?;
        Ok(Session { say, wants_log: false, log: None, to_drain: 0, status: None })
    }

    /// Waits until the command runs; returns how long that took.
    pub fn boot(
        &mut self,
        guest: &mut Guest,
        options: &Options,
        parts: &Parts,
        begun: Instant,
        watch: Watch,
    ) -> Result<Duration, Error> {
        let accelerator = parts.accelerator;
        let emulated = match accelerator {
            Accelerator::Kvm => "",
            Accelerator::Tcg => ", emulated",
            Accelerator::Counted => ", emulated, with time by instructions",
        };
        let label = format!("Linux {}, {}{emulated}", parts.kernel.release, options.topology);
        let patience = match accelerator {
            Accelerator::Kvm => Duration::from_secs(120),
            Accelerator::Tcg => Duration::from_secs(120 + 6 * u64::from(options.topology.cpus())),
            Accelerator::Counted => Duration::from_secs(240 + 20 * u64::from(options.topology.cpus())),
        };
        loop {
            watch(Progress::Booting { guest: &label, since: begun.elapsed() });
            match guest.next(Instant::now() + Duration::from_millis(200))? {
                Some(Event::Said(line)) if line == "ready" => {
                    guest.is_ready();
                    watch(Progress::Running { booted_in: begun.elapsed() });
                    return Ok(begun.elapsed());
                }
                Some(event) => self.take(guest, event)?,
                None if begun.elapsed() > patience => {
                    return Err(guest.failed(format!("has not booted within {} s", patience.as_secs())));
                }
                None => {}
            }
        }
    }

    /// Waits until the command has ended and all its output has arrived; returns its exit status.
    fn attend(&mut self, guest: &mut Guest, options: &Options) -> Result<u8, Error> {
        let forever = Duration::from_secs(3600 * 24 * 365);
        let until = Instant::now() + options.timeout.unwrap_or(forever);
        while !self.complete() {
            match guest.next(until)? {
                Some(event) => self.take(guest, event)?,
                None => {
                    let error =
                        Error::Timeout { after: options.timeout.unwrap_or(forever), console: guest.tail() };
                    self.end_early(guest);
                    return Err(error);
                }
            }
        }
        Ok(self.status.unwrap_or(0))
    }

    /// Ends the command after a timeout, so that the kernel's log still arrives.
    fn end_early(&mut self, guest: &mut Guest) {
        let _ = self.say.send("end".into());
        let until = Instant::now() + LAST_WORDS;
        while self.wants_log && self.log.is_none() {
            let Ok(Some(event)) = guest.next(until) else { break };
            if self.take(guest, event).is_err() {
                break;
            }
        }
    }

    fn complete(&self) -> bool {
        self.status.is_some() && self.to_drain == 0 && self.log.is_some() == self.wants_log
    }

    pub fn take(&mut self, guest: &Guest, event: Event) -> Result<(), Error> {
        match event {
            Event::Said(line) => match line.split_once(' ') {
                Some(("exit", status)) => self.status = status.parse().ok(),
                Some(("failed", why)) => return Err(guest.failed(format!("could not be set up: {why}"))),
                _ => {}
            },
            Event::Drained => self.to_drain = self.to_drain.saturating_sub(1),
            Event::Log(log) => self.log = Some(log),
            Event::Unread(error) => return Err(Error::Unread(error)),
            Event::Signal(SIGWINCH) => {
                let (rows, columns) = terminal::size();
                let _ = self.say.send(format!("size {rows} {columns}"));
            }
            Event::Signal(signal) => return Err(Error::Interrupted(signal)),
            Event::Escape => return Err(Error::Interrupted(SIGINT)),
            Event::Stop => return Err(Error::Interrupted(SIGTERM)),
        }
        Ok(())
    }
}

/// Writes lines to the guest until the channel closes.
fn speak(mut stream: UnixStream, to_say: &Receiver<String>) -> io::Result<()> {
    for line in to_say {
        stream.write_all(format!("{line}\n").as_bytes())?;
    }
    Ok(())
}

/// Connects the command's streams to its ports.
fn connect(guest: &mut Guest, streams: Streams, mark: &str) -> Result<(), Error> {
    let Streams { mut stdin, stdout, stderr } = streams;
    guest.add_loose_port("stdin", move |mut stream| {
        io::copy(&mut stdin, &mut stream)?;
        stream.shutdown(Shutdown::Write)?;
        // Closing the socket would make QEMU discard the input that it has not read yet.
        io::copy(&mut stream, &mut io::sink()).map(drop)
    })?;
    for (name, mut output) in [("stdout", stdout), ("stderr", stderr)] {
        let (sender, mark) = (guest.sender.clone(), mark.to_owned());
        guest.add_port(name, move |mut stream| {
            let event = match copy_until(mark.as_bytes(), &mut stream, &mut output) {
                Ok(true) => Event::Drained,
                Ok(false) => return Ok(()),
                Err(error) => Event::Unread(error),
            };
            let _ = sender.send(event);
            Ok(())
        })?;
    }
    Ok(())
}

/// Connects the user's terminal.
fn attend(mut stream: UnixStream, sender: Sender<Event>) -> io::Result<()> {
    let mut to_guest = stream.try_clone()?;
    std::thread::spawn(move || {
        let (mut keys, mut escape) = ([0; 4096], Escape::default());
        while let Ok(read @ 1..) = io::stdin().read(&mut keys) {
            if escape.wanted(&keys[..read], Instant::now()) {
                let _ = sender.send(Event::Escape);
            }
            if to_guest.write_all(&keys[..read]).is_err() {
                break;
            }
        }
    });
    let mut buffer = [0; 1 << 14];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            read => {
                io::stdout().write_all(&buffer[..read])?;
                io::stdout().flush()?;
            }
        }
    }
}

/// Turns signals into events, until dropped.
pub struct Watching(signal_hook::iterator::Handle);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.close();
    }
}

pub fn watch_signals(guest: &Guest, terminal: bool) -> Result<Watching, Error> {
    let ends = [SIGINT, SIGTERM, SIGHUP, SIGQUIT];
    let failed = Error::file("watch for", "signals");
    let signals = if terminal { Signals::new([&ends[..], &[SIGWINCH]].concat()) } else { Signals::new(ends) };
    let mut signals = signals.map_err(failed)?;
    let (handle, sender) = (signals.handle(), guest.sender.clone());
    std::thread::spawn(move || {
        for signal in signals.forever() {
            let _ = sender.send(Event::Signal(signal));
        }
    });
    Ok(Watching(handle))
}

/// The folders that are shared for writing, outer ones first.
pub fn shares(options: &Options) -> Result<Vec<PathBuf>, Error> {
    let mut shares = Vec::new();
    for folder in std::iter::once(&options.directory).chain(&options.rw) {
        let folder = fs::canonicalize(folder).map_err(Error::file("share", folder))?;
        if !folder.is_dir() {
            return Err(Error::file("share", &folder)(io::ErrorKind::NotADirectory.into()));
        }
        shares.push(folder);
    }
    // The root is already there, and must stay unchanged.
    shares.retain(|folder| folder != Path::new("/"));
    shares.sort_by_key(|folder| (folder.components().count(), folder.clone()));
    shares.dedup();
    Ok(shares)
}

/// The entries of the host's `/tmp` that contain the current folder or a path among the command's words.
fn seen(directory: &Path, command: &[OsString]) -> Vec<PathBuf> {
    let words = command.iter().map(|word| directory.join(word));
    let places = words.filter_map(|path| fs::canonicalize(path).ok()).chain([directory.to_owned()]);
    let below =
        |path: PathBuf| Some(Path::new("/tmp").join(path.strip_prefix("/tmp").ok()?.components().next()?));
    BTreeSet::from_iter(places.filter_map(below)).into_iter().collect()
}

/// Default memory of a guest: half of the host's, at most `MEMORY_MIB`.
fn default_memory() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"));
    let kib: Option<u64> = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or(MEMORY_MIB, |kib| (kib / 2048).min(MEMORY_MIB))
}

/// A random end marker that no command prints by chance.
fn mark() -> Result<String, Error> {
    let path = "/proc/sys/kernel/random/uuid";
    let uuid = fs::read_to_string(path).map_err(Error::file("read", path))?;
    Ok(format!("hearth-{}", uuid.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_command_names_in_tmp_is_seen() {
        let folder = tempfile::tempdir_in("/tmp").unwrap();
        let script = folder.path().join("below/script");
        fs::create_dir(script.parent().unwrap()).unwrap();
        fs::write(&script, "").unwrap();
        let command = |words: &[&Path]| words.iter().map(|word| word.into()).collect::<Vec<OsString>>();
        let top = [folder.path().to_owned()];
        assert_eq!(seen(Path::new("/"), &command(&[Path::new("sh"), &script])), top);
        assert_eq!(seen(script.parent().unwrap(), &command(&[Path::new("script")])), top);
        let missing = folder.path().join("missing");
        assert_eq!(
            seen(Path::new("/"), &command(&[&missing, Path::new("/tmp"), Path::new("/bin/sh")])),
            top[..0]
        );
    }
}
