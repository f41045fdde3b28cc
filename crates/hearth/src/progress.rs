//! Progress of long work, on standard error: a bar if that is a terminal, else a line every ten seconds.

use crate::output::is_dumb_terminal;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use std::fmt;
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Shows how many of `length` steps are done while `work` runs, which calls its argument after each.
pub fn during<T>(what: &'static str, length: usize, work: impl FnOnce(&(dyn Fn() + Sync)) -> T) -> T {
    let bar = ProgressBar::new(length as u64);
    let line = || format!("{what}: {} of {length}, {}", bar.position(), left_of(&bar));
    shown(&bar, "{msg} [{bar:40}] {pos}/{len}, {left}", what, line, || work(&|| bar.inc(1)))
}

/// Shows for how long `work` has been running, which cannot say how much is left.
pub fn meanwhile<T>(what: &'static str, work: impl FnOnce() -> T) -> T {
    let bar = ProgressBar::new_spinner();
    let line = || format!("{what}: {}", left_of(&bar));
    shown(&bar, "{spinner} {msg}, {left}", what, line, work)
}

fn left_of(bar: &ProgressBar) -> String {
    left(bar.elapsed(), bar.position(), bar.length().unwrap_or(0))
}

/// Time between two lines.
const INTERVAL: Duration = Duration::from_secs(10);

/// As a bar on a terminal, else in lines.
fn shown<T>(
    bar: &ProgressBar,
    template: &str,
    what: &'static str,
    line: impl Fn() -> String + Sync,
    work: impl FnOnce() -> T,
) -> T {
    if std::io::stderr().is_terminal() && !is_dumb_terminal() {
        show(bar, template, what);
        let result = work();
        bar.finish_and_clear();
        return result;
    }
    bar.set_draw_target(ProgressDrawTarget::hidden());
    // A closed standard error must not end the work.
    every(INTERVAL, || crate::output::error(&(line() + "\n")), work)
}

/// Calls `tell` again and again while `work` runs.
fn every<T>(interval: Duration, tell: impl Fn() + Sync, work: impl FnOnce() -> T) -> T {
    let (running, ended) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let ended = ended;
            while ended.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                tell();
            }
        });
        let result = work();
        drop(running);
        result
    })
}

fn show(bar: &ProgressBar, template: &str, what: &'static str) {
    bar.set_message(what);
    if let Ok(style) = ProgressStyle::with_template(template) {
        let left = |state: &ProgressState, out: &mut dyn fmt::Write| {
            let _ = out.write_str(&left(state.elapsed(), state.pos(), state.len().unwrap_or(0)));
        };
        bar.set_style(style.progress_chars("=> ").with_key("left", left));
    }
    bar.enable_steady_tick(Duration::from_millis(200));
}

/// The time left, if the remaining steps take as long as those before. Nothing is known before the first one.
fn left(elapsed: Duration, done: u64, all: u64) -> String {
    if done == 0 {
        return format!("{} so far", rounded(elapsed.as_secs_f64()));
    }
    let left = elapsed.as_secs_f64() / done as f64 * all.saturating_sub(done) as f64;
    format!("about {} left", rounded(left))
}

fn rounded(seconds: f64) -> String {
    match seconds {
        ..90.0 => format!("{seconds:.0} s"),
        ..5400.0 => format!("{:.0} min", seconds / 60.0),
        _ => format!("{:.1} h", seconds / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_at_intervals_until_the_work_ends() {
        let (told, heard) = channel();
        let tell = || _ = told.send(());
        let third = every(Duration::from_millis(1), tell, || heard.iter().take(3).count());
        assert_eq!(third, 3);
        assert_eq!(every(Duration::from_secs(3600), || panic!("too early"), || 7), 7);
    }

    #[test]
    fn time_left_is_by_the_steps_so_far() {
        let after = |seconds, done, all| left(Duration::from_secs(seconds), done, all);
        assert_eq!(after(7, 0, 10), "7 s so far");
        assert_eq!(after(10, 1, 5), "about 40 s left");
        assert_eq!(after(10, 1, 31), "about 5 min left");
        assert_eq!(after(100, 1, 181), "about 5.0 h left");
        assert_eq!(after(100, 5, 5), "about 0 s left");
    }
}
