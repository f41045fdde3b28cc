//! `hearth run --metrics`: a file that is written again and again, for node_exporter's textfile collector.

use crate::failure::Failure;
use hearth_base::file::AtomicFile;
use hearth_scx::metrics;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::Statistics;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Time between two readings. Prometheus scrapes each 15 s or less often.
const INTERVAL: Duration = Duration::from_secs(5);

/// Keeps a file of metrics up to date. Dropped, it removes the file: a policy that has ended has no metrics.
pub struct Exporter {
    path: PathBuf,
    /// Dropped, it ends the thread.
    end: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Exporter {
    /// `read` gives the state of the policy; `None` while it starts again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn start(
        path: PathBuf,
        read: impl Fn() -> Option<(Info, Statistics)> + Send + 'static,
    ) -> Result<Exporter, Failure> {
        Exporter::every(INTERVAL, path, read)
    }

    fn every(
        interval: Duration,
        path: PathBuf,
        read: impl Fn() -> Option<(Info, Statistics)> + Send + 'static,
    ) -> Result<Exporter, Failure> {
        let failed = |path: &Path, error: &io::Error| {
            format!("cannot write the metrics to {}: {error}", path.display())
        };
        write(&path, read()).map_err(|error| Failure::new(failed(&path, &error)))?;
        let (end, ended) = channel();
        let to = path.clone();
        let thread = thread::spawn(move || {
            let mut works = true;
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                let written = write(&to, read());
                // Once, until it works again. The file's time of change tells Prometheus.
                if let Some(error) = written.as_ref().err().filter(|_| works) {
                    eprintln!("warning: {}", failed(&to, error));
                }
                works = written.is_ok();
            }
        });
        Ok(Exporter { path, end: Some(end), thread: Some(thread) })
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        self.end = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        if !hearth_base::file::is_special(&self.path) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes a reading, if there is one. The exporter is another user's process.
fn write(path: &Path, reading: Option<(Info, Statistics)>) -> io::Result<()> {
    let Some((info, statistics)) = reading else { return Ok(()) };
    let mut file = AtomicFile::create(path)?;
    file.open_to_readers()?;
    file.write_all(metrics::text(&info, &statistics).as_bytes())?;
    file.commit()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::MetadataExt;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn the_file_is_renewed_and_ends_with_the_policy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hearth.prom");
        let switches = AtomicU64::new(0);
        let read = move || {
            let switches = switches.fetch_add(1, Ordering::Relaxed);
            Some((Info::default(), Statistics { switches, ..Statistics::default() }))
        };
        let exporter = Exporter::every(Duration::from_millis(10), path.clone(), read).unwrap();
        let switches = || -> u64 {
            let text = fs::read_to_string(&path).unwrap();
            let (_, rest) = text.split_once("hearth_switches_total{policy=\"\"} ").unwrap();
            rest.lines().next().unwrap().parse().unwrap()
        };
        while switches() < 3 {
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o644);
        drop(exporter);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let read = || Some((Info::default(), Statistics::default()));
        let failed = Exporter::start(folder.path().join("none/hearth.prom"), read).err().expect("an error");
        assert!(failed.message().starts_with("cannot write the metrics to "), "{failed:?}");
    }
}
