//! The program in the guest that starts the commands of a machine that keeps running.

use super::SLOTS;
use super::frame::{Frame, Job, PART};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use rustix::termios::{Winsize, tcsetwinsize};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time that a command has to end after a hang-up.
const GRACE: Duration = Duration::from_secs(5);
/// Time until the next look whether the host is connected.
const ABSENT: Duration = Duration::from_millis(20);
/// The ports appear while the kernel starts.
const PATIENCE: Duration = Duration::from_secs(60);

/// Serves the slots, for ever.
///
/// # Errors
/// A port is missing or broken.
pub fn agent() -> io::Result<()> {
    let (sender, ends) = channel();
    for slot in SLOTS {
        let port = Port::open(slot)?;
        let end = End(sender.clone());
        thread::Builder::new().spawn(move || {
            let end = end;
            let _ = end.0.send(serve(port));
        })?;
    }
    drop(sender);
    fs::write(device("status")?, "ready\n")?;
    ends.recv().unwrap_or(Ok(()))
}

/// Reports the end of a slot, also by a panic.
struct End(Sender<io::Result<()>>);

impl Drop for End {
    fn drop(&mut self) {
        let _ = self.0.send(Err(io::Error::other("a slot failed")));
    }
}

/// The device of a virtio port.
fn device(name: &str) -> io::Result<PathBuf> {
    let (wanted, until) = (format!("hearth.{name}"), Instant::now() + PATIENCE);
    loop {
        for port in fs::read_dir("/sys/class/virtio-ports")?.flatten() {
            if fs::read_to_string(port.path().join("name")).is_ok_and(|name| name.trim() == wanted) {
                return Ok(PathBuf::from("/dev").join(port.file_name()));
            }
        }
        if Instant::now() > until {
            return Err(io::Error::other(format!("there is no port {wanted}")));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// Runs the commands of a slot, one after the other.
fn serve(port: impl Slot) -> io::Result<()> {
    let mut reader = port.second()?;
    let mut running: Option<Running> = None;
    while let Some(frame) = Frame::read(&mut reader)? {
        if let Frame::Run(job) = frame {
            let line = Arc::new(Line { port: Mutex::new(Some(Box::new(port.second()?))) });
            running = match Running::start(&job, &line) {
                Ok(running) => Some(running),
                Err(error) => {
                    let (why, status) = reason(&job, &error);
                    line.send(&Frame::Errors(format!("hearth: {why}\n").into_bytes()));
                    line.end(status);
                    None
                }
            };
        } else if let Some(running) = &mut running {
            running.take(frame);
        }
    }
    Ok(())
}

/// Why a command does not start, and the exit status that says so.
fn reason(job: &Job, error: &io::Error) -> (String, u8) {
    let program = job.words.first().map_or(OsStr::new(""), |word| word.as_ref()).display();
    let directory = job.directory.display();
    match error.kind() {
        _ if !PathBuf::from(&job.directory).is_dir() => {
            (format!("the guest has no folder {directory}: share it with `hearth vm start --rw FOLDER`"), 125)
        }
        io::ErrorKind::NotFound => (format!("{program}: not found in the guest"), 127),
        _ => (format!("cannot run {program}: {error}"), 126),
    }
}

/// A port, or a socket in tests.
trait Slot: Read + Write + Send + Sized + 'static {
    fn second(&self) -> io::Result<Self>;
}

/// A virtio port.
struct Port(File);

impl Port {
    fn open(name: &str) -> io::Result<Port> {
        File::options().read(true).write(true).open(device(name)?).map(Port)
    }
}

impl Read for Port {
    /// Without a host, the kernel reports the end of the stream. The host connects some time after the open, and stays.
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Ok(0) => thread::sleep(ABSENT),
                read => return read,
            }
        }
    }
}

impl Write for Port {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Slot for Port {
    fn second(&self) -> io::Result<Self> {
        self.0.try_clone().map(Port)
    }
}

/// The way to the host for one command; closed behind its exit status.
struct Line {
    port: Mutex<Option<Box<dyn Write + Send>>>,
}

impl Line {
    fn send(&self, frame: &Frame) {
        let mut port = self.port.lock().unwrap_or_else(PoisonError::into_inner);
        // An error means that the host is gone; then the reader ends the agent.
        if let Some(mut port) = port.as_mut() {
            let _ = frame.write(&mut port);
        }
    }

    fn end(&self, status: u8) {
        self.send(&Frame::Exit(status));
        *self.port.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A command that runs. It leads a process group and a session.
struct Running {
    process: Arc<Process>,
    input: Option<Sender<Vec<u8>>>,
    terminal: Option<OwnedFd>,
}

/// A process; its number is not reused while `alive` is locked and true.
struct Process {
    pid: Pid,
    alive: Mutex<bool>,
}

impl Process {
    fn signal(&self, signal: Signal) {
        if *self.alive.lock().unwrap_or_else(PoisonError::into_inner) {
            let _ = kill_process_group(self.pid, signal);
        }
    }
}

impl Running {
    fn start(job: &Job, line: &Arc<Line>) -> io::Result<Running> {
        let program = job.words.first().ok_or(io::ErrorKind::InvalidInput)?;
        let mut command = Command::new(program);
        command.args(&job.words[1..]).current_dir(&job.directory);
        command.env_clear().envs(job.environment.iter().cloned());
        let terminal = job.terminal.map(|size| terminal(size, &mut command)).transpose()?;
        if terminal.is_none() {
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        }
        let has_terminal = terminal.is_some();
        // SAFETY: system calls only, which are safe after a fork.
        unsafe { command.pre_exec(move || lead_session(has_terminal)) };
        let mut child = command.spawn()?;
        // With it the agent's ends of the command's terminal close.
        drop(command);

        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).ok_or(io::ErrorKind::InvalidData)?;
        let process = Arc::new(Process { pid, alive: Mutex::new(true) });
        let (input, inputs) = channel();
        let (ended, end) = io::pipe()?;
        let mut pumps = Vec::new();
        let mut pump = |from: OwnedFd, frame: fn(Vec<u8>) -> Frame| -> io::Result<()> {
            let (line, ended) = (line.clone(), ended.try_clone()?);
            pumps.push(thread::Builder::new().spawn(move || forward(from, &ended, &line, frame))?);
            Ok(())
        };
        match &terminal {
            Some(master) => {
                pump(master.try_clone()?, Frame::Output)?;
                take_input(File::from(master.try_clone()?), inputs, line.clone())?;
            }
            None => {
                let missing = || io::Error::from(io::ErrorKind::BrokenPipe);
                pump(child.stdout.take().ok_or_else(missing)?.into(), Frame::Output)?;
                pump(child.stderr.take().ok_or_else(missing)?.into(), Frame::Errors)?;
                let stdin = OwnedFd::from(child.stdin.take().ok_or_else(missing)?);
                take_input(File::from(stdin), inputs, line.clone())?;
            }
        }
        let (line, alive) = (line.clone(), process.clone());
        thread::Builder::new().spawn(move || {
            let status = wait(child, &alive);
            drop(end);
            pumps.into_iter().for_each(|pump| drop(pump.join()));
            line.end(status);
        })?;
        Ok(Running { process, input: Some(input), terminal })
    }

    fn take(&mut self, frame: Frame) {
        match frame {
            Frame::Input(bytes) => {
                if let Some(input) = &self.input {
                    let _ = input.send(bytes);
                }
            }
            Frame::EndOfInput => self.input = None,
            Frame::Signal(number) => {
                if let Some(signal) = Signal::from_named_raw(number) {
                    self.process.signal(signal);
                }
            }
            Frame::Size(rows, columns) => {
                if let Some(terminal) = &self.terminal {
                    let _ = tcsetwinsize(terminal, size(rows, columns));
                }
            }
            Frame::HangUp => self.hang_up(),
            _ => {}
        }
    }

    fn hang_up(&mut self) {
        self.input = None;
        self.process.signal(Signal::HUP);
        self.process.signal(Signal::CONT); // a stopped process would not see it
        let process = self.process.clone();
        let _ = thread::Builder::new().spawn(move || {
            thread::sleep(GRACE);
            process.signal(Signal::KILL);
        });
    }
}

/// Gives the command a terminal of this size; returns the other side.
fn terminal((rows, columns): (u16, u16), command: &mut Command) -> io::Result<OwnedFd> {
    let (mut master, mut slave) = (-1, -1);
    let size = libc::winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the pointers are valid for the call or null, which means the default.
    let made = unsafe {
        libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &raw const size)
    };
    if made != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned two new descriptors.
    let (master, slave) = unsafe { (OwnedFd::from_raw_fd(master), OwnedFd::from_raw_fd(slave)) };
    rustix::io::fcntl_setfd(&master, rustix::io::FdFlags::CLOEXEC)?;
    rustix::io::fcntl_setfd(&slave, rustix::io::FdFlags::CLOEXEC)?;
    command.stdin(slave.try_clone()?).stdout(slave.try_clone()?).stderr(slave);
    Ok(master)
}

/// Makes the process the leader of a session, with its standard input as the terminal.
fn lead_session(has_terminal: bool) -> io::Result<()> {
    rustix::process::setsid()?;
    if has_terminal {
        rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?;
    }
    // As after a login: who started the agent may ignore them.
    for signal in [libc::SIGINT, libc::SIGQUIT, libc::SIGHUP] {
        // SAFETY: installs no handler.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    Ok(())
}

fn size(rows: u16, columns: u16) -> Winsize {
    Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }
}

/// Waits for a process; returns its status as a shell has it.
fn wait(mut child: Child, process: &Process) -> u8 {
    // Without reaping it, so that its number stays its own until it is marked.
    while waitid(WaitId::Pid(process.pid), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT)
        .is_err_and(|error| error == rustix::io::Errno::INTR)
    {}
    *process.alive.lock().unwrap_or_else(PoisonError::into_inner) = false;
    match child.wait() {
        Ok(status) => match (status.code(), status.signal()) {
            (Some(code), _) => code as u8,
            (None, signal) => 128u8.saturating_add(signal.unwrap_or(0) as u8),
        },
        Err(_) => 125,
    }
}

/// Writes input to the command, and reports what it took.
fn take_input(mut to: File, inputs: Receiver<Vec<u8>>, line: Arc<Line>) -> io::Result<()> {
    thread::Builder::new()
        .spawn(move || {
            // A command that closes its input gets no more; the host then sends no more either.
            for bytes in inputs {
                if to.write_all(&bytes).is_err() {
                    return;
                }
                line.send(&Frame::Taken(bytes.len() as u32));
            }
        })
        .map(drop)
}

/// Forwards a stream until its end. When the command has ended (`ended` closes), only what is there already: processes
/// that it leaves behind may keep the stream open.
fn forward(from: OwnedFd, ended: &PipeReader, line: &Line, frame: fn(Vec<u8>) -> Frame) {
    let mut from = File::from(from);
    let mut buffer = vec![0; PART];
    loop {
        let (readable, over) = poll(&from, ended);
        if !readable && over {
            return;
        }
        if readable {
            match from.read(&mut buffer) {
                Ok(0) => return,
                Ok(read) => line.send(&frame(buffer[..read].to_vec())),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // EIO: the other side of a terminal is closed.
                Err(_) => return,
            }
        }
    }
}

/// Waits until a stream can be read, or the other one is closed; tells both.
fn poll(stream: &impl AsFd, closed: &impl AsFd) -> (bool, bool) {
    let wait =
        |stream: &dyn AsRawFd| libc::pollfd { fd: stream.as_raw_fd(), events: libc::POLLIN, revents: 0 };
    let mut both = [wait(&stream.as_fd()), wait(&closed.as_fd())];
    // SAFETY: two valid entries.
    let found = unsafe { libc::poll(both.as_mut_ptr(), 2, -1) };
    (found > 0 && both[0].revents != 0, found > 0 && both[1].revents != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    impl Slot for UnixStream {
        fn second(&self) -> io::Result<Self> {
            self.try_clone()
        }
    }

    /// The host's end of a slot.
    fn slot() -> UnixStream {
        let (host, guest) = UnixStream::pair().unwrap();
        thread::spawn(move || serve(guest));
        host.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        host
    }

    fn start(slot: &mut UnixStream, script: &str, terminal: Option<(u16, u16)>) {
        let job = Job {
            words: ["sh", "-c", script].map(Into::into).to_vec(),
            directory: "/".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "it's".into())],
            terminal,
        };
        Frame::Run(job).write(slot).unwrap();
    }

    /// Output, errors, bytes of input taken, and exit status.
    fn rest(slot: &mut UnixStream) -> (String, String, u32, u8) {
        let (mut output, mut errors, mut taken) = (Vec::new(), Vec::new(), 0);
        loop {
            match Frame::read(slot).unwrap().expect("a frame") {
                Frame::Output(bytes) => output.extend(bytes),
                Frame::Errors(bytes) => errors.extend(bytes),
                Frame::Taken(bytes) => taken += bytes,
                Frame::Exit(status) => {
                    let text = |bytes| String::from_utf8(bytes).unwrap();
                    return (text(output), text(errors), taken, status);
                }
                other => panic!("{other:?}"),
            }
        }
    }

    fn say(frame: Frame, slot: &mut UnixStream) {
        frame.write(slot).unwrap();
    }

    #[test]
    fn a_command_has_its_streams_and_a_status() {
        let mut slot = slot();
        start(&mut slot, "cat; echo \"$A\" >&2; pwd; exit 7", None);
        say(Frame::Input(b"in".into()), &mut slot);
        say(Frame::Input(b"put\n".into()), &mut slot);
        say(Frame::EndOfInput, &mut slot);
        assert_eq!(rest(&mut slot), ("input\n/\n".into(), "it's\n".into(), 6, 7));
        // What comes too late is ignored, and the slot serves the next command.
        say(Frame::Input(b"late".into()), &mut slot);
        say(Frame::HangUp, &mut slot);
        start(&mut slot, "kill -9 $$", None);
        assert_eq!(rest(&mut slot).3, 137);
    }

    #[test]
    fn all_output_arrives_before_the_status() {
        let mut slot = slot();
        // Some of these fill the way to the host, so that the command ends before its output is read.
        for size in [1_000, 150_000, 200_000, 220_000, 240_000, 260_000, 1_000_000] {
            start(&mut slot, &format!("head -c {size} /dev/zero | tr '\\0' x"), None);
            thread::sleep(Duration::from_millis(200));
            assert_eq!(rest(&mut slot).0.len(), size);
        }
    }

    #[test]
    fn what_a_command_leaves_behind_does_not_hold_it_up() {
        let mut slot = slot();
        let begun = Instant::now();
        start(&mut slot, "sleep 30 & echo done", None);
        assert_eq!(rest(&mut slot), ("done\n".into(), String::new(), 0, 0));
        assert!(begun.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn signals_and_hang_ups_end_a_command() {
        let mut slot = slot();
        start(&mut slot, "trap 'echo INT; exit 9' INT; echo begun; while :; do sleep 0.1; done", None);
        assert_eq!(Frame::read(&mut slot).unwrap(), Some(Frame::Output(b"begun\n".into())));
        say(Frame::Signal(libc::SIGINT), &mut slot);
        assert_eq!(rest(&mut slot), ("INT\n".into(), String::new(), 0, 9));

        start(&mut slot, "sleep 60; true", None);
        say(Frame::HangUp, &mut slot);
        assert_eq!(rest(&mut slot).3, 128 + 1);

        start(&mut slot, "trap '' HUP; echo begun; sleep 60; sleep 60", None);
        assert_eq!(Frame::read(&mut slot).unwrap(), Some(Frame::Output(b"begun\n".into())));
        say(Frame::HangUp, &mut slot);
        assert_eq!(rest(&mut slot).3, 128 + 9, "it ignored the hang-up");
    }

    #[test]
    fn a_terminal_has_a_size_and_keys() {
        let mut slot = slot();
        start(&mut slot, "stty size; read line; stty size; echo \"<$line>\"; sleep 60", Some((33, 101)));
        assert_eq!(Frame::read(&mut slot).unwrap(), Some(Frame::Output(b"33 101\r\n".into())));
        say(Frame::Size(10, 40), &mut slot);
        say(Frame::Input(b"keys\r".into()), &mut slot);
        let mut shown = String::new();
        while !shown.contains("<keys>") {
            match Frame::read(&mut slot).unwrap().expect("a frame") {
                Frame::Output(bytes) => shown += &String::from_utf8(bytes).unwrap(),
                Frame::Taken(_) => {}
                other => panic!("{other:?}"),
            }
        }
        assert!(shown.contains("10 40\r\n<keys>\r\n"), "{shown}");
        say(Frame::Input(vec![3]), &mut slot); // Ctrl-C
        assert_eq!(rest(&mut slot).3, 128 + 2);
    }

    #[test]
    fn a_command_that_cannot_start_says_why() {
        let mut slot = slot();
        let job = |program: &str, directory: &str| Job {
            words: vec![program.into()],
            directory: directory.into(),
            environment: Vec::new(),
            terminal: None,
        };
        for (program, directory, expected, status) in [
            ("/no/such", "/", "hearth: /no/such: not found in the guest\n", 127),
            ("/etc/passwd", "/", "hearth: cannot run /etc/passwd: Permission denied (os error 13)\n", 126),
            (
                "true",
                "/no/such",
                "hearth: the guest has no folder /no/such: share it with `hearth vm start --rw FOLDER`\n",
                125,
            ),
        ] {
            Frame::Run(job(program, directory)).write(&mut slot).unwrap();
            assert_eq!(rest(&mut slot), (String::new(), expected.into(), 0, status));
        }
    }
}
