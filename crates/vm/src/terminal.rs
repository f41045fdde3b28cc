//! The user's terminal, connected to the guest.

use rustix::termios::{self, OptionalActions, Termios};
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

/// Ctrl-], pressed three times, ends a guest that no longer responds.
const ESCAPE: u8 = 0x1d;
const TIMES: u32 = 3;
const WITHIN: Duration = Duration::from_secs(1);

/// Rows and columns of the terminal.
pub fn size() -> (u16, u16) {
    match termios::tcgetwinsize(io::stdout()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => (24, 80),
    }
}

/// Whether this process may read its standard input: a background job (`&`) that reads the terminal is stopped.
pub fn may_read() -> bool {
    match termios::tcgetpgrp(io::stdin()) {
        Ok(foreground) => foreground == rustix::process::getpgrp(),
        // Not a terminal, or not this session's.
        Err(_) => true,
    }
}

/// Raw mode of the terminal, until dropped: each key goes to the guest at once.
pub struct Raw(Option<Termios>);

impl Raw {
    pub fn new() -> io::Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Raw(None));
        }
        let before = termios::tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        termios::tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Raw(Some(before)))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = termios::tcsetattr(io::stdin(), OptionalActions::Drain, before);
        }
    }
}

/// Detects the keys that end the guest.
#[derive(Default)]
pub struct Escape {
    presses: u32,
    first: Option<Instant>,
}

impl Escape {
    /// Whether these keys complete the escape sequence.
    pub fn wanted(&mut self, keys: &[u8], now: Instant) -> bool {
        for key in keys {
            let late = self.first.is_none_or(|first| now.duration_since(first) > WITHIN);
            (self.presses, self.first) = match *key {
                ESCAPE if late => (1, Some(now)),
                ESCAPE => (self.presses + 1, self.first),
                _ => (0, None),
            };
            if self.presses >= TIMES {
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quick_presses_end_the_guest() {
        let start = Instant::now();
        let at = |milliseconds| start + Duration::from_millis(milliseconds);
        let mut escape = Escape::default();
        assert!(!escape.wanted(b"ls\n", at(0)));
        assert!(!escape.wanted(&[ESCAPE], at(10)));
        assert!(!escape.wanted(&[ESCAPE], at(20)));
        assert!(escape.wanted(&[ESCAPE], at(30)));

        let mut escape = Escape::default();
        assert!(!escape.wanted(&[ESCAPE, ESCAPE, b'x', ESCAPE], at(0)), "interrupted");
        assert!(!escape.wanted(&[ESCAPE], at(1500)), "too slow");
        assert!(!escape.wanted(&[ESCAPE], at(1600)));
        assert!(escape.wanted(&[ESCAPE], at(1700)));
    }
}
