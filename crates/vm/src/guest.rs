//! A running guest: the QEMU process, its sockets and its events.

use crate::accelerator::Accelerator;
use crate::architecture::Architecture;
use crate::error::{Console, Error};
use crate::initramfs::Initramfs;
use crate::kernel::Kernel;
use crate::parameters::parameters;
use crate::qemu::{Device, Launch, Qemu, acpi};
use crate::share::{Access, Share};
use crate::stream::End;
use crate::topology::Topology;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Beginning of the name of a guest's temporary folder.
pub const PREFIX: &str = "hearth-vm-";
/// Number of console lines in an error message.
const TAIL: usize = 25;
/// Number of console lines from the start of an oops or panic, if there is one.
const DISASTER: usize = 40;
/// Beginnings of the kernel's messages about an oops or panic.
const DISASTERS: [&str; 5] =
    ["BUG: ", "Oops: ", "kernel BUG at ", "general protection fault", "Kernel panic - not syncing: "];
/// The kernel's message about an unknown breakpoint. The kernel patches its code through breakpoints, and removes
/// them when all CPUs have seen them. QEMU invalidates its translations of a page just before it writes there. If
/// CPUs are emulated in parallel, another one may translate the breakpoint again in between and keep that
/// translation (`notdirty_write`, QEMU 10.0).
const BREAKPOINT: &str = "Oops: int3:";
const TICK: Duration = Duration::from_millis(100);

/// An event of a running guest.
pub enum Event {
    /// A message of the guest's scripts: `ready`, `failed WHY` or `exit STATUS`.
    Said(String),
    /// An output stream has ended.
    Drained,
    /// The guest's kernel log.
    Log(Vec<u8>),
    /// The reader of the command's output is gone.
    Unread(io::Error),
    /// This process received a signal.
    Signal(i32),
    /// The user pressed the escape keys that end the guest.
    Escape,
    /// `hearth vm stop`.
    Stop,
}

/// A guest; dropping it ends QEMU and removes its files.
pub struct Guest {
    folder: TempDir,
    console: PathBuf,
    keep_console: bool,
    /// Length of the console's output when the guest became ready, in bytes.
    printed_before: usize,
    pub sender: Sender<Event>,
    events: Receiver<Event>,
    devices: Vec<Device>,
    ends: Vec<End>,
    shares: Vec<Share>,
    qemu: Option<Child>,
    accelerator: Option<Accelerator>,
}

impl Guest {
    /// Creates the temporary folder for the guest's sockets.
    pub fn prepare() -> Result<Self, Error> {
        Guest::prepare_in(&std::env::temp_dir())
    }

    /// Creates that folder in another one.
    pub fn prepare_in(parent: &Path) -> Result<Self, Error> {
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(parent);
        let folder = folder.map_err(Error::file("write into", parent))?;
        let (sender, events) = channel();
        Ok(Guest {
            console: folder.path().join("console"),
            folder,
            keep_console: false,
            printed_before: 0,
            sender,
            events,
            devices: Vec::new(),
            ends: Vec::new(),
            shares: Vec::new(),
            qemu: None,
            accelerator: None,
        })
    }

    /// Writes the kernel's console to `path` and keeps the file.
    pub fn keep_console(&mut self, path: &Path) -> Result<(), Error> {
        File::create(path).map_err(Error::file("write", path))?;
        self.console = std::path::absolute(path).map_err(Error::file("find", path))?;
        self.keep_console = true;
        Ok(())
    }

    /// Adds the port for messages of the guest's scripts.
    pub fn listen(&mut self) -> Result<(), Error> {
        let sender = self.sender.clone();
        let end = self.port("status", move |stream| {
            for line in BufReader::new(stream).lines() {
                let _ = sender.send(Event::Said(line?));
            }
            Ok(())
        })?;
        self.ends.push(end);
        Ok(())
    }

    /// Adds a port that is drained before the guest is dropped.
    pub fn add_port(
        &mut self,
        name: &'static str,
        use_it: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let end = self.port(name, use_it)?;
        self.ends.push(end);
        Ok(())
    }

    /// Adds a port whose thread may block on something other than the guest; the thread is not joined.
    pub fn add_loose_port(
        &mut self,
        name: &'static str,
        use_it: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        self.port(name, use_it).map(drop)
    }

    fn port(
        &mut self,
        name: &'static str,
        use_it: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> Result<End, Error> {
        let end = End::new(self.folder.path().join(name), use_it)?;
        self.devices.push(Device::Port { name, socket: end.socket().into() });
        Ok(end)
    }

    pub fn add_terminal(
        &mut self,
        use_it: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> Result<(), Error> {
        let end = End::new(self.folder.path().join("terminal"), use_it)?;
        self.devices.push(Device::Terminal { socket: end.socket().into() });
        self.ends.push(end);
        Ok(())
    }

    pub fn add_share(
        &mut self,
        tag: &str,
        folder: &Path,
        access: Access,
        architecture: Architecture,
    ) -> Result<(), Error> {
        let socket = self.folder.path().join(format!("share-{tag}"));
        self.shares.push(Share::offer(folder, access, architecture, &socket)?);
        self.devices.push(Device::Share { tag: tag.into(), socket });
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // each is a part of the machine
    pub fn start(
        &mut self,
        qemu: &Qemu,
        kernel: &Kernel,
        initramfs: &Initramfs,
        accelerator: Accelerator,
        topology: &Topology,
        memory_mib: u64,
        own_parameters: &str,
    ) -> Result<(), Error> {
        let path = self.folder.path().join("initramfs");
        initramfs.write(&path)?;
        let acpi = self.folder.path().join("acpi");
        let described = qemu.architecture == Architecture::X86_64 && !topology.idle_us.is_empty();
        if described {
            let table = acpi::idle_states(topology.cpus(), &topology.idle_us);
            std::fs::write(&acpi, table).map_err(Error::file("write", &acpi))?;
        }
        let launch = Launch {
            architecture: qemu.architecture,
            accelerator,
            topology,
            memory_mib,
            kernel: &kernel.image,
            initramfs: &path,
            acpi: described.then_some(acpi.as_path()),
            parameters: &parameters(qemu.architecture, accelerator, kernel.jiffies(), own_parameters),
            console: &self.console,
            devices: &self.devices,
        };
        let messages = self.messages();
        let open = || File::create(&messages).map_err(Error::file("write", &messages));
        let mut command = qemu.command();
        command.args(launch.arguments()?).stdout(open()?).stderr(open()?);
        // In its own process group: the terminal's Ctrl-C is for this process, not for QEMU.
        command.process_group(0);
        // SAFETY: one system call, which is safe after a fork.
        unsafe { command.pre_exec(die_with_parent) };
        let program = command.get_program().to_string_lossy().into_owned();
        let child = command.spawn();
        let help = "Check that QEMU can be run";
        self.qemu = Some(child.map_err(|source| Error::Program { program, source, help })?);
        self.accelerator = Some(accelerator);
        Ok(())
    }

    /// The next event, or `None` at the deadline. Fails if QEMU has ended or cannot continue.
    pub fn next(&mut self, until: Instant) -> Result<Option<Event>, Error> {
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.events.recv_timeout(left.min(TICK)) {
                Ok(event) => return Ok(Some(event)),
                // `self.sender` is alive, so the channel cannot be disconnected.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            if let Some(status) = self.ended() {
                // Its last message may have arrived in the meantime.
                return match self.events.try_recv() {
                    Ok(event) => Ok(Some(event)),
                    Err(_) => Err(self.why_it_ended(status)),
                };
            }
            if self.said_by_qemu().contains("KVM internal error") {
                return Err(Error::Qemu("KVM cannot run this kernel here (\"KVM internal error\")".into()));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Waits for the guest's scripts to start.
    pub fn wait_until_ready(&mut self, patience: Duration) -> Result<(), Error> {
        let until = Instant::now() + patience;
        loop {
            match self.next(until)? {
                Some(Event::Said(line)) if line == "ready" => return Ok(()),
                Some(_) => {}
                None => return Err(self.failed(format!("has not booted within {} s", patience.as_secs()))),
            }
        }
    }

    /// Waits for the guest to power off, then kills QEMU.
    pub fn finish(mut self, patience: Duration) {
        let until = Instant::now() + patience;
        while self.ended().is_none() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.end();
        // Drains the ports.
        self.ends.drain(..).for_each(End::join);
    }

    /// An error that shows the console's last lines.
    pub fn failed(&self, what: impl Into<String>) -> Error {
        Error::Guest { what: what.into(), console: self.tail() }
    }

    /// The last lines of the console, from when the guest became ready if it did.
    pub fn tail(&self) -> Console {
        let text = self.printed();
        let all: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let disaster = all.iter().position(|line| DISASTERS.iter().any(|words| line.contains(words)));
        let lines = match disaster {
            Some(first) => &all[first..all.len().min(first + DISASTER)],
            None => &all[all.len().saturating_sub(TAIL)..],
        };
        let clean = |line: &&str| line.chars().filter(|c| !c.is_control()).collect();
        let kept = self.keep_console.then(|| self.console.clone());
        Console { tail: lines.iter().map(clean).collect(), kept }
    }

    /// The console's output, from when the guest became ready if it did.
    fn printed(&self) -> String {
        let text = fs::read(&self.console).unwrap_or_default();
        String::from_utf8_lossy(text.get(self.printed_before..).unwrap_or_default()).into_owned()
    }

    /// Notes that the guest's scripts have started: error messages omit earlier console output.
    pub fn is_ready(&mut self) {
        self.printed_before = fs::metadata(&self.console).map_or(0, |file| file.len() as usize);
    }

    fn ended(&mut self) -> Option<ExitStatus> {
        self.qemu.as_mut()?.try_wait().ok()?
    }

    fn why_it_ended(&self, status: ExitStatus) -> Error {
        let said = self.said_by_qemu();
        let printed = self.printed();
        if self.accelerator == Some(Accelerator::Tcg) && printed.contains(BREAKPOINT) {
            return Error::StaleCode { console: self.tail() };
        }
        if let Some((_, reason)) = printed.split_once("Kernel panic - not syncing: ") {
            let reason = reason.lines().next().unwrap_or_default().trim();
            return self.failed(format!("panicked: {reason}"));
        }
        match (status.signal(), status.success()) {
            (Some(signal), _) => {
                self.failed(format!("ended, because QEMU crashed (signal {signal}): {said}"))
            }
            (None, true) => self.failed("powered off before its command ended"),
            (None, false) => Error::Qemu(said),
        }
    }

    fn messages(&self) -> PathBuf {
        self.folder.path().join("qemu.log")
    }

    fn said_by_qemu(&self) -> String {
        fs::read(self.messages())
            .map(|text| String::from_utf8_lossy(&text).trim().to_owned())
            .unwrap_or_default()
    }

    fn end(&mut self) {
        if let Some(mut qemu) = self.qemu.take() {
            let _ = qemu.kill();
            let _ = qemu.wait();
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // First QEMU, because the threads behind its sockets wait for it.
        self.end();
        self.shares.clear();
    }
}

/// Makes the kernel kill QEMU when this process dies.
fn die_with_parent() -> io::Result<()> {
    Ok(rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    /// Why a guest ended whose kernel printed this.
    fn why(accelerator: Accelerator, printed: &str) -> Error {
        let mut guest = Guest::prepare().unwrap();
        guest.accelerator = Some(accelerator);
        fs::write(&guest.console, printed).unwrap();
        guest.why_it_ended(ExitStatus::from_raw(0))
    }

    #[test]
    fn breakpoints_that_nobody_set_are_the_emulators_fault() {
        let oops = |kind| {
            format!(
                "[ 1.0] Oops: {kind}: 0000 [#1] SMP\n[ 1.1] Kernel panic - not syncing: Fatal exception\n"
            )
        };
        assert!(matches!(why(Accelerator::Tcg, &oops("int3")), Error::StaleCode { .. }));
        // With one CPU at a time, and on the processor, it would be the kernel's.
        for accelerator in [Accelerator::Counted, Accelerator::Kvm] {
            assert!(why(accelerator, &oops("int3")).to_string().contains("panicked: Fatal exception"));
        }
        assert!(why(Accelerator::Tcg, &oops("general protection fault")).to_string().contains("panicked"));
    }
}
