//! The user's side of a machine that keeps running.

use super::frame::{Ask, Frame, Job, PART, Request, WINDOW};
use super::place::Place;
use crate::error::Error;
use crate::run::{LAST_WORDS, inherited};
use crate::stream::Streams;
use crate::terminal::{self, Escape, Raw};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGWINCH};
use signal_hook::iterator::Signals;
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// So many signals end the shell even if the command does not end.
const SIGNALS: u32 = 3;
/// Time after which a waiting user reads why.
const BRIEF: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(100);
/// Time for a machine to end.
const PATIENCE: Duration = Duration::from_secs(40);

/// A command to run in a machine.
#[derive(Debug)]
pub struct Call {
    pub command: Vec<OsString>,
    /// Its working directory.
    pub directory: PathBuf,
    /// Added to the environment that it inherits from this process.
    pub env: Vec<(OsString, OsString)>,
    /// Give the command the user's terminal instead of `Streams`.
    pub terminal: bool,
}

enum Event {
    Frame(Frame),
    /// The supervisor has closed the connection.
    Closed,
    Signal(i32),
    Escape,
}

/// Runs a command in a machine; returns its exit status. Calls `waiting` if the machine boots still.
///
/// # Errors
/// [`Error::NotRunning`], [`Error::Refused`]; [`Error::Ended`]: the machine ended before the command.
pub fn shell(place: &Place, call: &Call, streams: Streams, waiting: impl FnOnce()) -> Result<u8, Error> {
    let stream = connect(place)?;
    let writer = Arc::new(Mutex::new(stream.try_clone().map_err(failed)?));
    let (sender, events) = channel();
    watch_signals(&sender, call.terminal)?;
    let job = Job {
        words: call.command.clone(),
        directory: call.directory.clone().into(),
        environment: inherited(true, |name| std::env::var_os(name), &call.env),
        terminal: call.terminal.then(terminal::size),
    };
    send(&writer, &request(Ask::Run(job))).map_err(failed)?;
    let from = sender.clone();
    spawn(move || receive(stream, &from))?;
    accepted(place, &events, waiting)?;

    let raw = call.terminal.then(Raw::new).transpose().map_err(Error::file("set up", "the terminal"))?;
    let (credit, taken) = channel();
    let Streams { stdin, mut stdout, mut stderr } = streams;
    let input = Input { writer: writer.clone(), taken, escape: call.terminal.then_some(sender) };
    spawn(move || input.forward(stdin))?;
    let ended = attend(place, &events, &writer, &credit, &mut stdout, &mut stderr);
    drop(raw);
    ended
}

/// Ends a machine. Returns when it is gone; one that does not end is killed.
///
/// # Errors
/// [`Error::NotRunning`].
pub fn stop(place: &Place) -> Result<(), Error> {
    let mut stream = connect(place)?;
    // If it fails, the machine is just ending.
    let _ = request(Ask::Stop).write(&mut stream);
    if place.wait_until_free(PATIENCE) {
        return Ok(());
    }
    place.kill()?;
    match place.wait_until_free(LAST_WORDS) {
        true => Ok(()),
        false => Err(Error::Unresponsive { name: place.name().into() }),
    }
}

fn request(ask: Ask) -> Frame {
    Frame::Request(Request { version: env!("CARGO_PKG_VERSION").into(), ask })
}

fn failed(source: io::Error) -> Error {
    Error::file("use", "the connection to the machine")(source)
}

fn spawn(work: impl FnOnce() + Send + 'static) -> Result<(), Error> {
    thread::Builder::new().spawn(work).map(drop).map_err(Error::file("start", "a thread"))
}

fn send(writer: &Mutex<UnixStream>, frame: &Frame) -> io::Result<()> {
    frame.write(&mut *writer.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Connects to the supervisor. A machine that has just been started may not listen yet.
fn connect(place: &Place) -> Result<UnixStream, Error> {
    let until = Instant::now() + PATIENCE;
    loop {
        match UnixStream::connect(place.socket()) {
            Ok(stream) => return Ok(stream),
            Err(_) if !place.is_taken() => {
                return Err(Error::NotRunning { name: place.name().into(), last: place.last_error() });
            }
            Err(error) if Instant::now() > until => return Err(failed(error)),
            Err(_) => thread::sleep(TICK),
        }
    }
}

fn receive(mut stream: UnixStream, sender: &Sender<Event>) {
    while let Ok(Some(frame)) = Frame::read(&mut stream) {
        if sender.send(Event::Frame(frame)).is_err() {
            return;
        }
    }
    let _ = sender.send(Event::Closed);
}

/// Waits until the command starts.
fn accepted(place: &Place, events: &Receiver<Event>, waiting: impl FnOnce()) -> Result<(), Error> {
    let mut waiting = Some(waiting);
    loop {
        match events.recv_timeout(BRIEF) {
            Ok(Event::Frame(Frame::Accepted)) => return Ok(()),
            Ok(Event::Frame(Frame::Refused(why))) => return Err(Error::Refused(why)),
            Ok(Event::Signal(SIGWINCH) | Event::Frame(_) | Event::Escape) => {}
            Ok(Event::Signal(signal)) => return Err(Error::Interrupted(signal)),
            Ok(Event::Closed) | Err(RecvTimeoutError::Disconnected) => return Err(gone(place)),
            Err(RecvTimeoutError::Timeout) => {
                if let Some(waiting) = waiting.take() {
                    waiting();
                }
            }
        }
    }
}

/// Forwards output and signals until the command has ended.
fn attend(
    place: &Place,
    events: &Receiver<Event>,
    writer: &Mutex<UnixStream>,
    credit: &Sender<usize>,
    stdout: &mut dyn Write,
    stderr: &mut dyn Write,
) -> Result<u8, Error> {
    let mut signals = 0;
    loop {
        match events.recv() {
            Ok(Event::Frame(frame)) => match frame {
                Frame::Output(bytes) => print(stdout, &bytes)?,
                Frame::Errors(bytes) => print(stderr, &bytes)?,
                Frame::Taken(bytes) => drop(credit.send(bytes as usize)),
                Frame::Exit(status) => return Ok(status),
                _ => {}
            },
            Ok(Event::Signal(SIGWINCH)) => {
                let (rows, columns) = terminal::size();
                let _ = send(writer, &Frame::Size(rows, columns));
            }
            // The terminal is gone: the supervisor hangs up the command.
            Ok(Event::Signal(SIGHUP)) => return Err(Error::Interrupted(SIGHUP)),
            Ok(Event::Escape) => return Err(Error::Interrupted(SIGINT)),
            Ok(Event::Signal(signal)) => {
                signals += 1;
                if signals >= SIGNALS {
                    return Err(Error::Interrupted(signal));
                }
                let _ = send(writer, &Frame::Signal(signal));
            }
            Ok(Event::Closed) | Err(_) => return Err(gone(place)),
        }
    }
}

fn print(out: &mut dyn Write, bytes: &[u8]) -> Result<(), Error> {
    out.write_all(bytes).and_then(|()| out.flush()).map_err(Error::Unread)
}

/// The supervisor is gone; it may write why until it has ended.
fn gone(place: &Place) -> Error {
    place.wait_until_free(LAST_WORDS);
    Error::Ended { name: place.name().into(), why: place.last_error() }
}

/// Forwards the user's input.
struct Input {
    writer: Arc<Mutex<UnixStream>>,
    /// Numbers of bytes that the command took.
    taken: Receiver<usize>,
    /// On a terminal: where to report the keys that leave the command.
    escape: Option<Sender<Event>>,
}

impl Input {
    fn forward(self, mut stdin: Box<dyn Read + Send>) {
        let (mut buffer, mut under_way, mut escape) = (vec![0; PART], 0, Escape::default());
        loop {
            let read = match stdin.read(&mut buffer) {
                Ok(read @ 1..) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Ok(0) | Err(_) => break,
            };
            if let Some(sender) = &self.escape
                && escape.wanted(&buffer[..read], Instant::now())
            {
                let _ = sender.send(Event::Escape);
            }
            while under_way + read > WINDOW {
                let Ok(taken) = self.taken.recv() else { return };
                under_way -= taken.min(under_way);
            }
            under_way += read;
            while let Ok(taken) = self.taken.try_recv() {
                under_way -= taken.min(under_way);
            }
            if send(&self.writer, &Frame::Input(buffer[..read].to_vec())).is_err() {
                return;
            }
        }
        let _ = send(&self.writer, &Frame::EndOfInput);
    }
}

fn watch_signals(sender: &Sender<Event>, terminal: bool) -> Result<(), Error> {
    let mut wanted = vec![SIGINT, SIGTERM, SIGQUIT, SIGHUP];
    wanted.extend(terminal.then_some(SIGWINCH));
    let mut signals = Signals::new(wanted).map_err(Error::file("watch for", "signals"))?;
    let sender = sender.clone();
    spawn(move || {
        for signal in signals.forever() {
            let _ = sender.send(Event::Signal(signal));
        }
    })
}
