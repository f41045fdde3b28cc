//! Times by which Perfetto processes events in the trace's order.

use hearth_trace::{CoreId, Time};

/// Maximum shift. It must fit above [`crate::perfetto::SHIFT`] in `common_flags`.
const MOST: Time = (1 << 20) - 1;

/// Perfetto merges the cores by time. At equal times its order is arbitrary, and a wake-up after the switch that it
/// causes would become a wait until the next switch. So an event that follows one of another core at the same time
/// moves by 1 ns. Recordings have few such events, simulations many.
#[derive(Default)]
pub struct Order(Option<(Time, CoreId)>);

impl Order {
    /// The time of the next event, at least `time`.
    pub fn time(&mut self, time: Time, core: CoreId) -> Time {
        let shown = match self.0 {
            Some((last, on)) if last >= time => {
                last.saturating_add(u64::from(on != core)).min(time.saturating_add(MOST))
            }
            _ => time,
        };
        self.0 = Some((shown, core));
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_of_several_cores_have_different_times() {
        let mut order = Order::default();
        let events = [(5, 1), (5, 1), (5, 0), (5, 1), (6, 1), (7, 0), (9, 1), (9, 1)];
        let times = events.map(|(time, core)| order.time(time, core));
        assert_eq!(times, [5, 5, 6, 7, 7, 8, 9, 9]);
        let mut order = Order::default();
        let last = (0..=2 * MOST).map(|at| order.time(5, (at % 2) as CoreId)).last();
        assert_eq!(last, Some(5 + MOST));
    }
}
