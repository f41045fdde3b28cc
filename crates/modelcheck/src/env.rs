//! The environment of a running handler: executes or repeats its accesses.

use hearth_ipanema::ir::Event;

use crate::access::Access;
use crate::cores::Cores;
use crate::log::{Log, LogEntry};
use crate::model::Model;
use crate::property::Violation;
use crate::reduction::Reduction;
use crate::world::{Activity, World};

/// Why a handler stopped before its end.
#[derive(Debug)]
pub enum Stop {
    /// Its budget is used up.
    Suspended,
    Violated(Violation),
}

/// How far a handler may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Budget {
    /// Up to its first shared access.
    Nothing,
    /// One shared access.
    Step,
    /// To its end.
    All,
}

/// The environment of a handler. Accesses of earlier steps return their recorded results; new ones are executed.
pub struct Env<'a> {
    pub model: &'a Model<'a>,
    pub world: &'a mut World,
    pub reduction: &'a mut Reduction,
    /// The core on which the handler runs.
    pub me: u8,
    pub event: Event,
    /// Taken out of the world while the handler runs.
    pub activity: Activity,
    /// Number of recorded results returned so far.
    repeated: usize,
    budget: Budget,
    /// In an atomic block.
    atomic: bool,
    /// The atomic block has used the budget of this step.
    paid: bool,
    /// The log of this step, if the caller wants one.
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
            repeated: 0,
            budget,
            atomic: false,
            paid: false,
            log: None,
        }
    }

    /// Executes an access, or returns its recorded result.
    pub fn access(&mut self, access: Access) -> Result<i64, Stop> {
        if self.budget == Budget::All {
            return self.execute(access);
        }
        if let Some(result) = self.activity.record.get(self.repeated) {
            self.repeated += 1;
            return Ok(*result);
        }
        let free =
            (self.atomic && self.paid) || self.reduction.merges(&access, self.me, &self.activity, self.world);
        if !free {
            if self.budget == Budget::Nothing {
                return Err(Stop::Suspended);
            }
            self.budget = Budget::Nothing;
            self.paid = self.atomic;
        }
        let result = self.execute(access)?;
        self.activity.record.push(result);
        self.repeated += 1;
        Ok(result)
    }

    fn execute(&mut self, access: Access) -> Result<i64, Stop> {
        self.reduction.observe(&access, self.me, &self.activity, self.world);
        let result = self.perform(access).map_err(Stop::Violated)?;
        if let Some(log) = &mut self.log {
            log.push(LogEntry::Access { event: self.event, access, result });
        }
        Ok(result)
    }

    /// The remaining budget.
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// All accesses until `end_atomic` are one step.
    pub fn begin_atomic(&mut self) {
        self.atomic = true;
    }

    pub fn end_atomic(&mut self) {
        (self.atomic, self.paid) = (false, false);
    }

    /// Notes that a steal for this core begins: CWC holds the event responsible for these cores.
    pub fn steals_for(&mut self, thief: u8) {
        let ghost = &mut self.world.core_mut(self.me).ghost;
        ghost.thieves = ghost.thieves | Cores::one(thief);
    }
}
