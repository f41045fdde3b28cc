//! What a session waits for.

use super::Session;
use super::slot::Running;
use crate::cgroup::{Cgroup, Move};
use crate::error::Error;
use crate::{profile, schedule};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// Poll interval for scheduler exit.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// Interval at which the power profile and a whole cgroup are looked at. The cgroup's moves are known at once; this finds
/// threads that changed their class themselves, and moves that did not fit into the ring buffer.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// Why [`Session::wait`] returned.
#[derive(Clone, Debug)]
pub enum Ended {
    /// A signal.
    Signal(i32),
    /// A client asked: `hearth stop`, or another policy takes over.
    Asked,
}

pub enum Event {
    Signal(i32),
    Moved(Move),
    Asked,
    Command(std::io::Result<ExitStatus>),
}

impl Session {
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
        self.outputs.attached(Some((pid, self.options.command.clone())));
        let sender = self.shared.events.clone();
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
        let ended = |running: &Running| {
            let info = running.loaded.exit()?;
            Some((running.ended_by_hotplug(&info), info))
        };
        match self.shared.slot.read(ended).flatten() {
            None => Ok(()),
            Some((true, _)) => self.restart(),
            Some((false, info)) => Err(Error::Ended(Box::new(info))),
        }
    }

    /// Looks at the cgroup and the power profile.
    pub(super) fn look(&mut self) {
        self.looked = Instant::now();
        self.cgroup.iter_mut().for_each(Cgroup::update);
        self.look_at_profile();
    }

    /// Sets the parameters of the machine's power profile.
    fn look_at_profile(&mut self) {
        if self.saving.is_empty() {
            return;
        }
        let saves = profile::saves_power(Path::new("/")) == Some(true);
        let saving = &mut self.saving;
        self.shared.slot.read(|running| {
            let arena = &running.loaded.arena;
            for (index, value) in saving.change(saves, |index| arena.read_param(index)) {
                arena.write_param(index, value);
            }
        });
    }
}

/// Sends the signals that end a session to it.
pub(super) fn watch_signals(events: Sender<Event>) -> Result<Handle, Error> {
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
