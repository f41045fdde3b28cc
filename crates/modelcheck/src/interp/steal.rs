//! Steals: balancing in three phases.

use hearth_ipanema::ir::{FunctionId, OrderKind, QueueId, Steal, StealId};

use super::Interp;
use crate::access::Access;
use crate::cores::Cores;
use crate::env::Stop;
use crate::scenario::Stealing;
use crate::world::Line;

/// What follows the third phase on a candidate.
#[derive(PartialEq)]
enum Continue {
    NextCandidate,
    Stop,
}

/// A steal in progress: the arguments of its phases, and how many threads it has stolen.
struct Attempt<'x> {
    steal: &'x Steal,
    thief: u8,
    victims: i64,
    stolen: i64,
}

impl<'x> Interp<'_, '_, 'x> {
    pub(super) fn steal(&mut self, id: StealId, thief: u8, victims: i64) -> Result<(), Stop> {
        self.env.steals_for(thief);
        let steal = &self.policy.steals[id.index()];
        let mut attempt = Attempt { steal, thief, victims, stolen: 0 };
        let mut candidates = Cores::EMPTY;
        for src in Cores(victims as u8).iter().filter(|src| *src != thief) {
            if self.phase_holds(steal.can_steal_core, &attempt, i64::from(src))? {
                candidates.insert(src);
            }
        }
        while let Some(src) = self.select(&attempt, candidates)? {
            candidates.remove(src);
            if self.env.model.stealing == Stealing::Locked {
                self.env.begin_atomic();
            }
            let then = self.steal_from(&mut attempt, src)?;
            self.env.end_atomic();
            if then == Continue::Stop || self.env.model.faults.one_victim {
                break;
            }
        }
        Ok(())
    }

    fn call_phase(&mut self, phase: FunctionId, attempt: &Attempt<'_>, own: i64) -> super::Value {
        self.call_value(phase, &[i64::from(attempt.thief), attempt.victims, own])
    }

    fn phase_holds(&mut self, phase: FunctionId, attempt: &Attempt<'_>, own: i64) -> Result<bool, Stop> {
        Ok(self.call_phase(phase, attempt, own)? != 0)
    }

    /// The second phase: selects a candidate.
    fn select(&mut self, attempt: &Attempt<'x>, candidates: Cores) -> Result<Option<u8>, Stop> {
        let order = attempt.steal.select.as_ref().map_or(OrderKind::Nearest, |select| select.order);
        let walk = self.env.model.map.order(order, attempt.thief).iter().copied();
        let mut walk = walk.filter(|core| candidates.contains(*core)).collect::<Vec<u8>>().into_iter();
        let Some(select) = &attempt.steal.select else { return Ok(walk.next()) };
        let mut best: Option<(u8, Vec<i64>)> = None;
        for src in walk {
            let so_far = best.as_ref().map(|(_, keys)| keys.as_slice());
            let keys =
                select.by.iter().map(|key| |this: &mut Self| this.call_phase(*key, attempt, i64::from(src)));
            if let Some(keys) = self.improving_keys(select.extreme, keys, so_far)? {
                best = Some((src, keys));
            }
        }
        Ok(best.map(|(src, _)| src))
    }

    /// The third phase on one candidate. It checks again what may have changed.
    fn steal_from(&mut self, attempt: &mut Attempt<'x>, src: u8) -> Result<Continue, Stop> {
        let steal = attempt.steal;
        let mut from_core = 0;
        for queue in (0..self.env.model.queues as u32).map(QueueId) {
            let line = Line(self.env.access(Access::Queue(src, queue))? as u32);
            for thread in line.iter() {
                let locked = self.env.model.stealing == Stealing::Locked;
                if !locked && self.env.access(Access::InQueue(thread, src, queue))? == 0 {
                    continue;
                }
                let rechecks = !self.env.model.faults.no_recheck;
                if rechecks && !self.phase_holds(steal.can_steal_core, attempt, i64::from(src))? {
                    return Ok(Continue::NextCandidate);
                }
                let may = match steal.steal_thread {
                    Some(phase) => self.phase_holds(phase, attempt, i64::from(thread))?,
                    None => self.env.model.affinity[usize::from(thread)].contains(attempt.thief),
                };
                if !may {
                    continue;
                }
                self.from = Some((src, queue));
                let moved = self.call_phase(steal.move_thread, attempt, i64::from(thread));
                self.from = None;
                moved?;
                // Another thief has taken it.
                if !self.moved {
                    continue;
                }
                if let Some(stop) = steal.stop {
                    attempt.stolen += 1;
                    if self.phase_holds(stop, attempt, attempt.stolen)? {
                        return Ok(Continue::Stop);
                    }
                }
                if let Some(stop_core) = steal.stop_core {
                    from_core += 1;
                    if self.phase_holds(stop_core, attempt, from_core)? {
                        return Ok(Continue::NextCandidate);
                    }
                }
            }
        }
        Ok(Continue::NextCandidate)
    }
}
