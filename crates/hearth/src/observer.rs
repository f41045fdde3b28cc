//! Records a policy that hearth runs: the recorder's session on a thread, from the policy's attachment to its end.

use hearth_recorder::{Assembled, Error, MethodChoice, Options, Recorded, Session, Stop, Subject};
use hearth_scx::observer::{self, Observer, Record};
use hearth_trace::{FrequencyChange, RunningPolicy, Writer};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};

/// The trace of a policy, to be written to `path`.
pub fn record(path: PathBuf) -> Record {
    Record { path, prepare: |path| Ok(Box::new(Recording::prepare(path)?)) }
}

struct Recording {
    path: PathBuf,
    stop: Stop,
    /// Until the trace is being written. The buffers may be filling, but nobody reads them yet.
    prepared: Option<Session>,
    writer: Option<JoinHandle<Result<Recorded<()>, Error>>>,
}

impl Recording {
    fn prepare(path: &Path) -> Result<Recording, observer::Error> {
        Writer::check(path).map_err(|error| format!("cannot write the recording: {error}"))?;
        let options = Options { method: MethodChoice::Bpf, all_ticks: true, ..Options::default() };
        let session = match Session::prepare(Subject::UntilStopped, options) {
            // Its message suggests tracefs, which has no decisions.
            Err(Error::NoBpf { why }) => return Err(format!("the policy cannot be recorded: {why}").into()),
            prepared => prepared?,
        };
        Ok(Recording {
            path: path.into(),
            stop: session.stop_handle(),
            prepared: Some(session),
            writer: None,
        })
    }

    fn session(&mut self) -> Result<&mut Session, observer::Error> {
        self.prepared.as_mut().ok_or_else(|| "the recording runs already".into())
    }
}

impl Observer for Recording {
    fn loaded(&mut self, policy: RunningPolicy) -> Result<(), observer::Error> {
        let session = self.session()?;
        session.follow(policy).map_err(|why| format!("the policy's decisions cannot be recorded: {why}"))?;
        Ok(session.start()?)
    }

    fn model(
        &mut self,
        machine: &str,
        khz_range: (u32, u32),
    ) -> Result<Sender<FrequencyChange>, observer::Error> {
        Ok(self.session()?.model_frequencies(machine.into(), khz_range))
    }

    fn attached(&mut self, command: Option<(i32, Vec<String>)>) {
        let Some(mut session) = self.prepared.take() else { return };
        if let Some((pid, command)) = command {
            session.trace_descendants(pid, command);
        }
        let path = self.path.clone();
        self.writer = Some(thread::spawn(move || session.write_to(&path)));
    }

    fn ended(mut self: Box<Self>) -> Result<observer::Recorded, observer::Error> {
        self.attached(None);
        self.stop.stop();
        let writer = self.writer.take().ok_or("the recording has ended already")?;
        let recorded = writer.join().map_err(|_| Error::ConverterFailed)??;
        let Assembled { header, events, inferred, .. } = recorded.assembled;
        let lost = header.lost.iter().sum::<u64>().saturating_sub(inferred);
        Ok(observer::Recorded { path: self.path.clone(), events, threads: header.threads.len(), lost })
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.stop();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join(); // `drop` cannot report errors
        }
    }
}
