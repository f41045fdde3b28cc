//! The process behind a machine.

use super::SLOTS;
use super::frame::{Ask, Frame, Job, Request};
use super::place::{Lock, Place, Running, start_time};
use crate::error::Error;
use crate::guest::{Event, Guest};
use crate::initramfs::{Command, Settings};
use crate::progress::Watch;
use crate::run::{self, LAST_WORDS, Options, Parts, Session};
use std::collections::BTreeMap;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

/// Time for the commands to end after a hang-up; the agent kills them before it is over.
const HANG_UP: Duration = Duration::from_secs(10);
const TICK: Duration = Duration::from_millis(100);

/// Runs a machine until it is stopped, a signal arrives, or it fails. Calls `ready` when it accepts commands. `lock` is
/// that of the place.
///
/// The command of the options (`terminal`, `timeout`, `dmesg`) does not exist here; `hearth` must be the agent.
///
/// # Errors
/// Those of [`crate::run`].
pub fn supervise(
    options: &Options,
    place: &Place,
    lock: &Lock,
    watch: Watch,
    ready: impl FnOnce(&Running),
) -> Result<(), Error> {
    place.clear(lock)?;
    let desk = Arc::new(Desk::default());
    let socket = place.socket();
    let listener = UnixListener::bind(&socket).map_err(Error::file("make the socket", &socket))?;
    let mut guest = Guest::prepare_in(place.folder())?;
    let sender = guest.sender.clone();
    let serving = desk.clone();
    spawn(move || serving.listen(&listener, &sender))?;
    let ended = run_guest(options, place, &desk, &mut guest, watch, ready);
    desk.close();
    let cleared = match ended {
        Ok(session) => {
            desk.hang_up();
            let _ = session.say.send("stop".into());
            guest.finish(LAST_WORDS);
            place.clear(lock)
        }
        Err(error) => {
            drop(guest);
            place.clear(lock).and(Err(error))
        }
    };
    match cleared {
        // Asked to end before it had booted.
        Err(Error::Interrupted(_)) => Ok(()),
        result => result,
    }
}

/// Boots the guest, and returns when it shall end.
fn run_guest(
    options: &Options,
    place: &Place,
    desk: &Arc<Desk>,
    guest: &mut Guest,
    watch: Watch,
    ready: impl FnOnce(&Running),
) -> Result<Session, Error> {
    let parts = Parts::get(options, None, watch)?;
    let _signals = run::watch_signals(guest, false)?;
    if let Some(path) = &options.console {
        guest.keep_console(path)?;
    }
    let mut session = Session::without_command(guest)?;
    for slot in SLOTS {
        let desk = desk.clone();
        guest.add_loose_port(slot, move |stream| {
            desk.state().free.push(stream);
            Ok(())
        })?;
    }
    let shared = run::shares(options)?;
    parts.share(guest, &shared)?;
    let nothing = Command { words: &[], directory: Path::new("/"), environment: &[] };
    let options = &Options { objects: Some(place.objects()?), ..options.clone() };
    let settings = settings(options, place, &parts, &shared);
    let begun = Instant::now();
    parts.start(guest, options, settings, &nothing)?;
    session.boot(guest, options, &parts, begun, watch)?;
    let pid = std::process::id();
    let running = Running {
        name: place.name().into(),
        kernel: parts.kernel.release.clone(),
        cpus: options.topology.cpus(),
        since: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(),
        shared,
        pid,
        started: start_time(pid).unwrap_or(0),
    };
    place.record(&running)?;
    desk.open();
    ready(&running);
    let forever = Duration::from_secs(3600);
    loop {
        match guest.next(Instant::now() + forever)? {
            Some(Event::Stop | Event::Signal(_)) => return Ok(session),
            Some(event) => session.take(guest, event)?,
            None => {}
        }
    }
}

fn settings(options: &Options, place: &Place, parts: &Parts, shared: &[std::path::PathBuf]) -> Settings {
    let mut settings = run::places(options, &[], &parts.kernel, shared);
    settings.set("mode", "stay");
    settings.set("name", place.name());
    settings.set("ports", format!("control {}", SLOTS.join(" ")));
    settings
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().spawn(work).map(drop).map_err(Error::file("start", "a thread"))
}

/// Where shells meet the slots of the guest.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    phase: Phase,
    /// Host's ends of the slots without a command.
    free: Vec<UnixStream>,
    /// Connections of the shells whose commands run.
    shells: BTreeMap<u64, UnixStream>,
    served: u64,
}

#[derive(Default, PartialEq, Clone, Copy)]
enum Phase {
    #[default]
    Booting,
    Open,
    Closed,
}

impl Desk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enter(&self, phase: Phase) {
        self.state().phase = phase;
        self.changed.notify_all();
    }

    fn open(&self) {
        self.enter(Phase::Open);
    }

    fn close(&self) {
        self.enter(Phase::Closed);
    }

    /// Waits until the machine has booted; returns whether it has.
    fn wait_for_boot(&self) -> bool {
        let state = self.state();
        let waited = self.changed.wait_while(state, |state| state.phase == Phase::Booting);
        waited.unwrap_or_else(PoisonError::into_inner).phase == Phase::Open
    }

    /// Ends all commands, and waits until they have ended.
    fn hang_up(&self) {
        let until = Instant::now() + HANG_UP;
        // The thread that reads from the shell takes this for the shell's end.
        self.state().shells.values().for_each(|shell| drop(shell.shutdown(Shutdown::Read)));
        while !self.state().shells.is_empty() && Instant::now() < until {
            thread::sleep(TICK);
        }
    }

    fn listen(self: Arc<Self>, listener: &UnixListener, sender: &Sender<Event>) {
        for shell in listener.incoming().flatten() {
            let (desk, sender) = (self.clone(), sender.clone());
            // Without a thread the connection closes, which the shell reports.
            let _ = spawn(move || desk.answer(shell, &sender));
        }
    }

    /// Serves a connection. Errors mean that the other side is gone.
    fn answer(&self, mut shell: UnixStream, sender: &Sender<Event>) {
        let Ok(Some(Frame::Request(Request { version, ask }))) = Frame::read(&mut shell) else { return };
        match ask {
            // Also from another version: there must be a way to end the machine.
            Ask::Stop => {
                let _ = sender.send(Event::Stop);
                // The connection lasts as long as the machine.
                let _ = Frame::read(&mut shell);
            }
            Ask::Run(_) if version != env!("CARGO_PKG_VERSION") => {
                let why = format!(
                    "the machine was started by hearth {}, and this is hearth {version}: stop and start it again",
                    env!("CARGO_PKG_VERSION")
                );
                let _ = Frame::Refused(why).write(&mut shell);
            }
            Ask::Run(job) => {
                if self.wait_for_boot() {
                    let _ = self.run(shell, job);
                }
            }
        }
    }

    /// Connects a shell with a slot, until its command ends.
    fn run(&self, mut shell: UnixStream, job: Job) -> io::Result<()> {
        let Some(slot) = self.state().free.pop() else {
            let why = format!("{} commands run already in the machine: end one", SLOTS.len());
            return Frame::Refused(why).write(&mut shell);
        };
        let number = {
            let mut state = self.state();
            state.served += 1;
            let number = state.served;
            state.shells.insert(number, shell.try_clone()?);
            number
        };
        // Stopped in the meantime: nobody will hang up this shell.
        if self.state().phase == Phase::Closed {
            let _ = shell.shutdown(Shutdown::Read);
        }
        let ended = connect(&mut shell, &slot, job);
        let mut state = self.state();
        state.shells.remove(&number);
        if ended.is_ok() {
            state.free.push(slot);
        }
        ended
    }
}

/// Forwards frames in both directions until the command has ended. On an error the slot is not usable any more: the
/// guest is gone.
fn connect(shell: &mut UnixStream, slot: &UnixStream, job: Job) -> io::Result<()> {
    let (mut from_slot, mut to_slot) = (slot.try_clone()?, slot.try_clone()?);
    let mut from_shell = shell.try_clone()?;
    let _ = Frame::Accepted.write(shell);
    Frame::Run(job).write(&mut to_slot)?;
    let forwarding = thread::Builder::new().spawn(move || -> io::Result<()> {
        while let Ok(Some(
            frame @ (Frame::Input(_) | Frame::EndOfInput | Frame::Signal(_) | Frame::Size(..)),
        )) = Frame::read(&mut from_shell)
        {
            frame.write(&mut to_slot)?;
        }
        Frame::HangUp.write(&mut to_slot)
    })?;
    let ended = loop {
        let frame = match Frame::read(&mut from_slot) {
            Ok(Some(frame)) => frame,
            Ok(None) => break Err(io::ErrorKind::UnexpectedEof.into()),
            Err(error) => break Err(error),
        };
        let is_last = matches!(frame, Frame::Exit(_));
        // A shell that is gone has been noticed by the other thread. The command's output must not pile up.
        let _ = frame.write(shell);
        if is_last {
            break Ok(());
        }
    };
    let _ = shell.shutdown(Shutdown::Both);
    let forwarded = forwarding.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")));
    ended.and(forwarded)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    /// A desk with these slots, and the guest's ends of the slots.
    fn desk(slots: usize) -> (Arc<Desk>, Vec<UnixStream>) {
        let (desk, mut guests) = (Arc::new(Desk::default()), Vec::new());
        for _ in 0..slots {
            let (host, guest) = UnixStream::pair().unwrap();
            guest.set_read_timeout(Some(HANG_UP)).unwrap();
            desk.state().free.push(host);
            guests.push(guest);
        }
        (desk, guests)
    }

    /// A shell that has sent this request.
    fn ask(desk: &Arc<Desk>, version: &str, ask: Ask) -> (UnixStream, Receiver<Event>) {
        let (mut near, far) = UnixStream::pair().unwrap();
        near.set_read_timeout(Some(HANG_UP)).unwrap();
        let (sender, events) = channel();
        let desk = desk.clone();
        thread::spawn(move || desk.answer(far, &sender));
        Frame::Request(Request { version: version.into(), ask }).write(&mut near).unwrap();
        (near, events)
    }

    fn run() -> Ask {
        Ask::Run(Job {
            words: vec!["true".into()],
            directory: "/".into(),
            environment: Vec::new(),
            terminal: None,
        })
    }

    const VERSION: &str = env!("CARGO_PKG_VERSION");

    fn wait_for_slot(desk: &Desk) {
        let until = Instant::now() + HANG_UP;
        while desk.state().free.is_empty() {
            assert!(Instant::now() < until, "no slot becomes free");
            thread::sleep(TICK / 10);
        }
    }

    fn next(stream: &mut UnixStream) -> Frame {
        Frame::read(stream).unwrap().expect("a frame")
    }

    #[test]
    fn a_command_has_a_slot_until_it_ends() {
        let (desk, mut guests) = desk(1);
        desk.open();
        for status in [3, 4] {
            let (mut shell, _) = ask(&desk, VERSION, run());
            assert_eq!(next(&mut shell), Frame::Accepted);
            assert!(matches!(next(&mut guests[0]), Frame::Run(_)));
            Frame::Input(b"in".into()).write(&mut shell).unwrap();
            assert_eq!(next(&mut guests[0]), Frame::Input(b"in".into()));

            let (mut other, _) = ask(&desk, VERSION, run());
            assert!(matches!(next(&mut other), Frame::Refused(_)));

            Frame::Output(b"out".into()).write(&mut guests[0]).unwrap();
            Frame::Exit(status).write(&mut guests[0]).unwrap();
            assert_eq!(next(&mut shell), Frame::Output(b"out".into()));
            assert_eq!(next(&mut shell), Frame::Exit(status));
            assert_eq!(Frame::read(&mut shell).unwrap(), None);
            assert_eq!(next(&mut guests[0]), Frame::HangUp);
            wait_for_slot(&desk);
        }
    }

    #[test]
    fn a_command_whose_shell_is_gone_is_hung_up() {
        let (desk, mut guests) = desk(1);
        desk.open();
        let (mut shell, _) = ask(&desk, VERSION, run());
        assert_eq!(next(&mut shell), Frame::Accepted);
        drop(shell);
        assert!(matches!(next(&mut guests[0]), Frame::Run(_)));
        assert_eq!(next(&mut guests[0]), Frame::HangUp);
        // Its slot is free when it has ended, not before.
        Frame::Output(vec![0; 100]).write(&mut guests[0]).unwrap();
        thread::sleep(TICK);
        assert!(desk.state().free.is_empty());
        Frame::Exit(129).write(&mut guests[0]).unwrap();
        wait_for_slot(&desk);
    }

    #[test]
    fn shells_wait_for_the_boot() {
        let (desk, _guests) = desk(1);
        let (mut early, _) = ask(&desk, VERSION, run());
        early.set_read_timeout(Some(TICK)).unwrap();
        assert!(Frame::read(&mut early).is_err(), "it was answered before the boot");
        early.set_read_timeout(Some(HANG_UP)).unwrap();
        desk.open();
        assert_eq!(next(&mut early), Frame::Accepted);

        let (desk, _guests) = self::desk(1);
        let (mut early, _) = ask(&desk, VERSION, run());
        desk.close();
        assert_eq!(Frame::read(&mut early).unwrap(), None);
    }

    #[test]
    fn another_version_may_only_stop_the_machine() {
        let (desk, _guests) = desk(1);
        desk.open();
        let (mut shell, _) = ask(&desk, "0.0.0", run());
        assert!(matches!(next(&mut shell), Frame::Refused(why) if why.contains("hearth 0.0.0")));
        let (_shell, events) = ask(&desk, "0.0.0", Ask::Stop);
        assert!(matches!(events.recv().unwrap(), Event::Stop));
    }

    #[test]
    fn a_stop_ends_the_commands_first() {
        let (desk, mut guests) = desk(1);
        desk.open();
        let (mut shell, _) = ask(&desk, VERSION, run());
        assert_eq!(next(&mut shell), Frame::Accepted);
        assert!(matches!(next(&mut guests[0]), Frame::Run(_)));
        let guest = thread::spawn(move || {
            assert_eq!(next(&mut guests[0]), Frame::HangUp);
            Frame::Exit(129).write(&mut guests[0]).unwrap();
            guests
        });
        desk.close();
        desk.hang_up();
        assert!(desk.state().shells.is_empty());
        assert_eq!(next(&mut shell), Frame::Exit(129));
        guest.join().unwrap();
    }
}
