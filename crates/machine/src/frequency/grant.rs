//! When and what the hardware grants.
//!
//! The power control unit changes frequencies in windows of 500 us (Hackenberg et al. 2015, Schöne
//! et al. 2019). A request that comes in between waits for the next window.

use super::pstate::PState;
use super::request::Bounds;

/// The update windows, in step on all sockets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    length_ns: u64,
}

impl Windows {
    pub fn new(window_us: u32) -> Windows {
        Windows { length_ns: u64::from(window_us.max(1)) * 1000 }
    }

    /// First window at or after `at`.
    pub fn from(&self, at: u64) -> u64 {
        at.div_ceil(self.length_ns).saturating_mul(self.length_ns)
    }

    /// First window after `at`.
    pub fn after(&self, at: u64) -> u64 {
        self.from(at + 1)
    }
}

/// P-state of a busy core: the hardware's choice within the bounds, below the turbo limit.
pub(super) fn grant(choice: PState, bounds: Bounds, limit: PState) -> PState {
    choice.min(bounds.ceiling).max(bounds.floor).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn windows_are_multiples_of_their_length() {
        let windows = Windows::new(500);
        let found = [0, 1, 499_999, 500_000, 500_001].map(|at| (windows.from(at), windows.after(at)));
        let (w, ww) = (500_000, 1_000_000);
        assert_eq!(found, [(0, w), (w, w), (w, w), (w, ww), (ww, ww)]);
    }

    #[test]
    fn the_limit_is_above_all() {
        let p = PState::from_index;
        let bounds = Bounds { floor: p(3), ceiling: p(6) };
        let granted = [0, 5, 9].map(|choice| grant(p(choice), bounds, p(20)));
        assert_eq!(granted, [p(3), p(5), p(6)]);
        assert_eq!(grant(p(5), bounds, p(2)), p(2));
    }
}
