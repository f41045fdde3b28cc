//! Frequencies of a model, recorded in place of the hardware's.

use hearth_trace::FrequencyChange;
use std::collections::{HashMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};

/// Changes that wait for kernel events of a later time.
pub struct ModelFrequencies {
    changes: Receiver<FrequencyChange>,
    waiting: VecDeque<FrequencyChange>,
    /// Present frequency of each core.
    khz: HashMap<u32, u32>,
}

impl ModelFrequencies {
    pub fn new() -> (Sender<FrequencyChange>, Self) {
        let (sender, changes) = channel();
        (sender, ModelFrequencies { changes, waiting: VecDeque::new(), khz: HashMap::new() })
    }

    /// Applies the changes up to `time`.
    pub fn until(&mut self, time: u64, mut apply: impl FnMut(FrequencyChange)) {
        self.waiting.extend(self.changes.try_iter());
        while self.waiting.front().is_some_and(|change| change.time <= time) {
            let Some(change) = self.waiting.pop_front() else { return };
            self.khz.insert(change.cpu, change.khz);
            apply(change);
        }
    }

    /// Present frequency of a core; 0: unknown.
    pub fn khz(&self, cpu: u32) -> u32 {
        self.khz.get(&cpu).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_wait_for_their_time() {
        let (sender, mut model) = ModelFrequencies::new();
        let change = |time, cpu, khz| FrequencyChange { time, cpu, khz };
        for change in [change(10, 0, 1000), change(10, 4, 2000), change(20, 0, 3000)] {
            sender.send(change).unwrap();
        }
        let mut applied = Vec::new();
        model.until(9, |change| applied.push(change));
        assert_eq!((applied.len(), model.khz(0)), (0, 0));
        model.until(19, |change| applied.push(change));
        assert_eq!((applied.len(), model.khz(0), model.khz(4)), (2, 1000, 2000));
        drop(sender);
        model.until(20, |change| applied.push(change));
        assert_eq!((applied.len(), model.khz(0)), (3, 3000));
    }
}
