//! Records a running policy: the recorder's session on a thread, from the policy's attachment to its end.

use crate::error::Error;
use hearth_recorder::{self as recorder, FrequencyChange, MethodChoice, RunningPolicy, Stop, Subject};
use hearth_trace::Writer;
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

/// A trace that is being recorded. Dropped, it ends, and the trace is complete up to then.
pub struct Recording {
    path: PathBuf,
    stop: Stop,
    state: State,
}

enum State {
    /// The buffers may be filling, but nobody reads them yet.
    Prepared(Box<recorder::Session>),
    Running(JoinHandle<Result<recorder::Recorded<()>, recorder::Error>>),
    Ended,
}

/// Result of a recording.
#[derive(Clone, Debug)]
pub struct Recorded {
    pub path: PathBuf,
    pub events: u64,
    pub threads: usize,
    /// Number of lost events, without inserted ones.
    pub lost: u64,
}

impl Recording {
    /// Prepares the recorder.
    ///
    /// # Errors
    /// A trace cannot be written to `path`, or the kernel cannot be recorded.
    pub fn prepare(path: &Path) -> Result<Recording, Error> {
        Writer::check(path)?;
        let options =
            recorder::Options { method: MethodChoice::Bpf, all_ticks: true, ..recorder::Options::default() };
        let session =
            recorder::Session::prepare(Subject::UntilStopped, options).map_err(|error| match error {
                // Its message suggests tracefs, which has no decisions.
                recorder::Error::NoBpf { why } => {
                    Error::Object(format!("the policy cannot be recorded: {why}"))
                }
                error => error.into(),
            })?;
        let stop = session.stop_handle();
        Ok(Recording { path: path.into(), stop, state: State::Prepared(Box::new(session)) })
    }

    fn session(&mut self) -> Result<&mut recorder::Session, Error> {
        match &mut self.state {
            State::Prepared(session) => Ok(session),
            _ => Err(Error::Object("the recording runs already".into())),
        }
    }

    /// Begins to fill the buffers. The policy is loaded, and not attached yet, so that no decision is missed.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn follow(&mut self, policy: RunningPolicy) -> Result<(), Error> {
        let session = self.session()?;
        session
            .follow(policy)
            .map_err(|why| Error::Object(format!("the policy's decisions cannot be recorded: {why}")))?;
        Ok(session.start()?)
    }

    /// Returns where to send the frequencies of a model. To be called before [`Recording::run`].
    ///
    /// # Errors
    /// The recording runs already.
    pub fn model(&mut self, machine: &str, khz_range: (u32, u32)) -> Result<Sender<FrequencyChange>, Error> {
        Ok(self.session()?.model_frequencies(machine.into(), khz_range))
    }

    /// Begins to write the trace. With a command, the trace is that of this process and its descendants.
    pub fn run(&mut self, command: Option<(i32, Vec<String>)>) {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Prepared(mut session) => {
                if let Some((pid, command)) = command {
                    session.trace_descendants(pid, command);
                }
                let path = self.path.clone();
                self.state = State::Running(thread::spawn(move || session.write_to(&path)));
            }
            state => self.state = state,
        }
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The kernel's buffers cannot be read, or the trace cannot be written.
    pub fn finish(mut self) -> Result<Recorded, Error> {
        self.run(None);
        self.stop.stop();
        let State::Running(thread) = std::mem::replace(&mut self.state, State::Ended) else {
            return Err(Error::Object("the recording has ended already".into()));
        };
        let recorded = thread.join().map_err(|_| recorder::Error::ConverterFailed)??;
        let recorder::Assembled { header, events, inferred, .. } = recorded.assembled;
        let lost = header.lost.iter().sum::<u64>().saturating_sub(inferred);
        Ok(Recorded { path: self.path.clone(), events, threads: header.threads.len(), lost })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.stop();
        if let State::Running(thread) = std::mem::replace(&mut self.state, State::Ended) {
            let _ = thread.join(); // `drop` cannot report errors
        }
    }
}
