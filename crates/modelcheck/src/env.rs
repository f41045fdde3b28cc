//! The world as a handler sees it, access by access.

use hearth_ipanema::ir::Event;

use crate::access::Access;
use crate::cores::Cores;
use crate::log::{Happening, Log};
use crate::model::Model;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::world::{Activity, World};

/// Why a handler does not go on.
#[derive(Debug)]
pub enum Stop {
    /// It has made its step.
    Suspended,
    Violated(Violation),
}

/// How far a handler may go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Up to its first shared access.
    Nothing,
    /// One shared access.
    Step,
    /// To its end.
    All,
}

/// A handler's view: what it did already comes from the record, what is new happens.
pub struct Env<'a> {
    pub model: &'a Model<'a>,
    pub world: &'a mut World,
    pub reduction: &'a mut Reduction,
    /// The core on which it runs.
    pub me: u8,
    pub event: Event,
    /// Taken out of the world while it goes on.
    pub activity: Activity,
    /// Of the record, so much was repeated.
    at: usize,
    budget: Budget,
    /// In a block that others see wholly or not at all.
    atomic: bool,
    /// The atomic block has begun in this step.
    paid: bool,
    /// What was done in this step, if anybody wants to know.
    pub log: Option<&'a mut Log>,
}

impl<'a> Env<'a> {
    pub fn new(
        model: &'a Model<'a>,
        world: &'a mut World,
        reduction: &'a mut Reduction,
        me: u8,
        activity: Activity,
        budget: Budget,
    ) -> Env<'a> {
        Env {
            model,
            world,
            reduction,
            me,
            event: activity.event(),
            activity,
            at: 0,
            budget,
            atomic: false,
            paid: false,
            log: None,
        }
    }

    /// Reads or changes something shared, or repeats that it did.
    pub fn access(&mut self, access: Access) -> Result<i64, Stop> {
        if self.budget == Budget::All {
            return self.make(access);
        }
        if let Some(result) = self.activity.record.get(self.at) {
            self.at += 1;
            return Ok(*result);
        }
        let free = (self.atomic && self.paid)
            || self.reduction.is_private(&access, self.me, &self.activity, self.world);
        if !free {
            if self.budget == Budget::Nothing {
                return Err(Stop::Suspended);
            }
            self.budget = Budget::Nothing;
            self.paid = self.atomic;
        }
        let result = self.make(access)?;
        self.activity.record.push(result);
        self.at += 1;
        Ok(result)
    }

    fn make(&mut self, access: Access) -> Result<i64, Stop> {
        self.reduction.note(&access, self.me, &self.activity, self.world);
        let result = self.perform(access).map_err(Stop::Violated)?;
        if let Some(log) = &mut self.log {
            log.push(Happening::Access { event: self.event, access, result });
        }
        Ok(result)
    }

    /// What is left of it.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// What is accessed until `end_atomic` is one step.
    pub fn begin_atomic(&mut self) {
        self.atomic = true;
    }

    pub fn end_atomic(&mut self) {
        (self.atomic, self.paid) = (false, false);
    }

    /// A steal for this core begins. Balancing is responsible for the cores that it steals for.
    pub fn steals_for(&mut self, thief: u8) {
        let ghost = &mut self.world.core_mut(self.me).ghost;
        ghost.thieves = ghost.thieves | Cores::one(thief);
    }
}
