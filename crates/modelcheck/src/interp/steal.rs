//! Steals: balancing in three phases.

use hearth_ipanema::ir::{FunctionId, OrderKind, QueueId, Steal, StealId};

use super::Interp;
use crate::access::Access;
use crate::cores::Cores;
use crate::env::Stop;
use crate::scenario::Stealing;
use crate::world::Line;

/// What the third phase says of a candidate.
#[derive(PartialEq)]
enum Then {
    NextCandidate,
    Done,
}

/// The arguments of the phases, and what was stolen so far.
struct Theft<'x> {
    steal: &'x Steal,
    thief: u8,
    victims: i64,
    stolen: i64,
}

impl<'x> Interp<'_, '_, 'x> {
    pub(super) fn steal(&mut self, id: StealId, thief: u8, victims: i64) -> Result<(), Stop> {
        self.env.steals_for(thief);
        let steal = &self.policy.steals[id.index()];
        let mut theft = Theft { steal, thief, victims, stolen: 0 };
        let mut candidates = Cores::EMPTY;
        for src in Cores(victims as u8).iter().filter(|src| *src != thief) {
            if self.asks(steal.can_steal_core, &theft, i64::from(src))? {
                candidates.insert(src);
            }
        }
        while let Some(src) = self.select(&theft, candidates)? {
            candidates.remove(src);
            if self.env.model.stealing == Stealing::Locked {
                self.env.begin_atomic();
            }
            let then = self.take(&mut theft, src)?;
            self.env.end_atomic();
            if then == Then::Done || self.env.model.faults.one_victim {
                break;
            }
        }
        Ok(())
    }

    fn phase(&mut self, phase: FunctionId, theft: &Theft<'_>, own: i64) -> super::Value {
        self.result(phase, &[i64::from(theft.thief), theft.victims, own])
    }

    fn asks(&mut self, phase: FunctionId, theft: &Theft<'_>, own: i64) -> Result<bool, Stop> {
        Ok(self.phase(phase, theft, own)? != 0)
    }

    /// The candidate that comes first.
    fn select(&mut self, theft: &Theft<'x>, candidates: Cores) -> Result<Option<u8>, Stop> {
        let order = theft.steal.select.as_ref().map_or(OrderKind::Nearest, |select| select.order);
        let walk = self.env.model.map.order(order, theft.thief).iter().copied();
        let mut walk = walk.filter(|core| candidates.contains(*core)).collect::<Vec<u8>>().into_iter();
        let Some(select) = &theft.steal.select else { return Ok(walk.next()) };
        let mut best: Option<(u8, Vec<i64>)> = None;
        for src in walk {
            let so_far = best.as_ref().map(|(_, keys)| keys.as_slice());
            let keys = select.by.iter().map(|key| |this: &mut Self| this.phase(*key, theft, i64::from(src)));
            if let Some(keys) = self.better(select.extreme, keys, so_far)? {
                best = Some((src, keys));
            }
        }
        Ok(best.map(|(src, _)| src))
    }

    /// The third phase on one candidate: what was true may be so no longer.
    fn take(&mut self, theft: &mut Theft<'x>, src: u8) -> Result<Then, Stop> {
        let steal = theft.steal;
        let mut from_core = 0;
        for queue in (0..self.env.model.queues as u32).map(QueueId) {
            let line = Line(self.env.access(Access::Queue(src, queue))? as u32);
            for thread in line.iter() {
                let locked = self.env.model.stealing == Stealing::Locked;
                if !locked && self.env.access(Access::InQueue(thread, src, queue))? == 0 {
                    continue;
                }
                let trusts = self.env.model.faults.no_recheck;
                if !trusts && !self.asks(steal.can_steal_core, theft, i64::from(src))? {
                    return Ok(Then::NextCandidate);
                }
                let may = match steal.steal_thread {
                    Some(phase) => self.asks(phase, theft, i64::from(thread))?,
                    None => self.env.model.affinity[usize::from(thread)].contains(theft.thief),
                };
                if !may {
                    continue;
                }
                self.from = Some((src, queue));
                let moved = self.phase(steal.move_thread, theft, i64::from(thread));
                self.from = None;
                moved?;
                // Another thief may have been faster: that counts for nothing.
                if !self.moved {
                    continue;
                }
                if let Some(stop) = steal.stop {
                    theft.stolen += 1;
                    if self.asks(stop, theft, theft.stolen)? {
                        return Ok(Then::Done);
                    }
                }
                if let Some(stop_core) = steal.stop_core {
                    from_core += 1;
                    if self.asks(stop_core, theft, from_core)? {
                        return Ok(Then::NextCandidate);
                    }
                }
            }
        }
        Ok(Then::NextCandidate)
    }
}
