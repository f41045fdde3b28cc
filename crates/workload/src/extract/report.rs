//! What extraction found, and what it could not see.

use std::fmt;

use serde::Serialize;

/// Counts of one extraction. Times are nanoseconds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Report {
    /// Traced threads with any event: the threads of the graph.
    pub threads: u64,
    /// Those of them that nobody in the graph forks: they existed before the trace, or a thread
    /// outside made them.
    pub roots: u64,
    /// Wake-ups by a traced thread: a post and a wait.
    pub posts: u64,
    /// Waits for the end of a thread.
    pub joins: u64,
    /// Wake-ups by an interrupt on the core where the thread had blocked: a sleep.
    pub sleeps: u64,
    /// Wake-ups by an interrupt on another core: a device.
    pub ios: u64,
    /// Wake-ups by threads outside the workload, which became delays: their cause is not in the
    /// graph.
    pub untraced: u64,
    /// The names of those threads with their wake-ups, most first.
    pub untraced_wakers: Vec<(String, u64)>,
    /// Threads that ran although they were blocked and no wake-up was seen: became delays.
    pub unseen: u64,
    /// Wake-ups of threads that were not blocked: nothing was made of them.
    pub spurious: u64,
    /// Events that contradict earlier ones (a second fork of a thread, a thread on two cores).
    pub contradictions: u64,
    /// Threads that had not exited at the end of the trace.
    pub unfinished: u64,
    /// CPU time of the workload's threads.
    pub cpu: u64,
    /// The part of `cpu` on cores whose frequency the trace does not know.
    pub cpu_assumed: u64,
    /// The frequency assumed there, in kHz.
    pub assumed_khz: u32,
    /// CPU time of all other threads.
    pub cpu_outside: u64,
    /// Events that the recorder lost.
    pub lost: u64,
}

impl Report {
    /// Wake-ups whose cause is in the graph, of all that ended a wait. 1 if there was none.
    pub fn explained(&self) -> f64 {
        let explained = self.posts + self.joins + self.sleeps + self.ios;
        match explained + self.untraced + self.unseen {
            0 => 1.0,
            all => explained as f64 / all as f64,
        }
    }

    /// What a user must know before trusting the workload; empty if all is well.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        let mut warn = |so: bool, text: String| {
            if so {
                warnings.push(text);
            }
        };
        warn(
            self.threads == 0,
            "the trace has no event of a traced thread: the workload is empty".to_string(),
        );
        warn(
            self.lost > 0,
            format!(
                "the trace lacks {} events (full buffers, or a kernel that left them out): missing switches were inferred, missing wake-ups cannot be",
                self.lost
            ),
        );
        warn(
            self.untraced > 0,
            format!(
                "wake-ups by threads outside the workload that became fixed delays: {} ({})",
                self.untraced,
                self.untraced_wakers
                    .iter()
                    .take(5)
                    .map(|(name, count)| format!("{name}: {count}"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        );
        warn(
            self.unseen > 0,
            format!("{} waits ended without a wake-up in the trace and became fixed delays", self.unseen),
        );
        warn(
            self.contradictions > 0,
            format!("{} events contradict earlier ones and were passed over", self.contradictions),
        );
        warn(
            self.cpu_assumed > 0,
            format!(
                "{:.1} % of the CPU time ran at an unknown frequency; {} kHz was assumed",
                100.0 * self.cpu_assumed as f64 / self.cpu.max(1) as f64,
                self.assumed_khz
            ),
        );
        warnings
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.cpu + self.cpu_outside;
        writeln!(f, "threads       {} ({} roots, {} unfinished)", self.threads, self.roots, self.unfinished)?;
        writeln!(
            f,
            "CPU time      {:.3} s, {:.1} % of all",
            self.cpu as f64 / 1e9,
            100.0 * self.cpu as f64 / all.max(1) as f64
        )?;
        writeln!(
            f,
            "wake-ups      {} by threads, {} by exits, {} by timers, {} by devices, {} from outside, {} unseen, {} spurious",
            self.posts, self.joins, self.sleeps, self.ios, self.untraced, self.unseen, self.spurious
        )?;
        writeln!(f, "explained     {:.1} %", 100.0 * self.explained())?;
        for warning in self.warnings() {
            writeln!(f, "warning: {warning}")?;
        }
        Ok(())
    }
}
