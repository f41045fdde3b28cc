//! Errors of a play.

use hearth_workload::ThreadIdx;
use std::fmt;
use std::io;
use std::time::Duration;

/// A thread of the graph and its current step.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    pub thread: ThreadIdx,
    pub name: String,
    /// Path of the step, counted from 0 as in messages about a workload: `[2, 1]` is the second step of the
    /// repeat that is the third step. Empty if the step does not matter.
    pub step: Vec<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}", self.thread)?;
        if !self.name.is_empty() {
            write!(f, " ({})", self.name)?;
        }
        for (level, step) in self.step.iter().enumerate() {
            write!(f, "{}{step}", if level == 0 { ", step " } else { "." })?;
        }
        Ok(())
    }
}

/// An error of a play.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The graph is not well formed.
    #[error("{0}")]
    Workload(hearth_workload::Error),

    #[error("{what} is {value}; it must be a number greater than 0")]
    Option { what: &'static str, value: f64 },

    /// This process may run on none of the cores that the graph allows the thread.
    #[error(
        "{place} may run on cores {wanted:?} only, but this process may run on none of them (only on {allowed:?}); \
         change the thread's \"affinity\", or the affinity of hearth (taskset)"
    )]
    Affinity { place: Place, wanted: Vec<u16>, allowed: Vec<u16> },

    #[error("cannot set the affinity of {place}: {source}")]
    SetAffinity { place: Place, source: io::Error },

    #[error(
        "{place} has nice {nice}, below its parent's, and this process may not lower nice values: \
         {source}\nplay it as root or with CAP_SYS_NICE, raise the limit (ulimit -e), or remove \"nice\" from the workload"
    )]
    Nice { place: Place, nice: i32, source: io::Error },

    #[error("no memory for the stacks of {threads} threads: {source}\nplay a smaller workload")]
    Stacks { threads: usize, source: io::Error },

    #[error(
        "cannot start {place} while {alive} of the workload's {threads} threads are alive: {source}\n\
         limits: {limits}\nraise the limit that was reached, or play a smaller workload"
    )]
    TooManyThreads { place: Place, alive: usize, threads: usize, limits: String, source: io::Error },

    #[error("{}", timeout(*after, *threads, *ended, left, *abandoned))]
    Timeout {
        after: Duration,
        threads: usize,
        ended: usize,
        /// The threads that were alive, each with a description of its step. Threads not yet forked are not
        /// listed.
        left: Vec<(Place, String)>,
        /// Threads that did not stop when asked, because they got no core.
        abandoned: u32,
    },
}

/// Number of threads that a message names; it counts the rest.
const SHOWN: usize = 20;

fn timeout(
    after: Duration,
    threads: usize,
    ended: usize,
    left: &[(Place, String)],
    abandoned: u32,
) -> String {
    use std::fmt::Write;
    let mut text = format!(
        "the play was stopped after {} s: {ended} of {threads} threads had ended, {} were alive:",
        after.as_secs_f64(),
        left.len()
    );
    for (place, at) in left.iter().take(SHOWN) {
        let _ = write!(text, "\n  {place}: {at}");
    }
    if left.len() > SHOWN {
        let _ = write!(text, "\n  and {} more", left.len() - SHOWN);
    }
    if abandoned > 0 {
        let _ = write!(
            text,
            "\n{abandoned} of them could not stop because the kernel's scheduler gave them no core"
        );
    }
    text + "\nif the play needs more time, raise --timeout; if its threads wait for each other forever, correct \
            the workload"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_stuck_is_told_but_not_of_thousands() {
        let place = |thread| Place { thread, name: "sender".into(), step: vec![3, 0] };
        let left = (0..25).map(|thread| (place(thread), "it sleeps".into())).collect();
        let error =
            Error::Timeout { after: Duration::from_millis(1500), threads: 40, ended: 15, left, abandoned: 0 };
        let text = error.to_string();
        assert!(
            text.starts_with("the play was stopped after 1.5 s: 15 of 40 threads had ended, 25 were alive:\n  thread 0 (sender), step 3.0: it sleeps\n"),
            "{text}"
        );
        assert!(text.contains("\n  and 5 more\nif the play needs more time"), "{text}");
    }
}
