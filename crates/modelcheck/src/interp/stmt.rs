//! Statements.

use hearth_ipanema::ir::{BaseType, Effect, Event, Expr, ReasonId, State, Stmt, StmtKind, Target};

use super::{Flow, Interp, Value};
use crate::access::Access;
use crate::env::Stop;

impl<'x> Interp<'_, '_, 'x> {
    pub(super) fn stmt(&mut self, stmt: &'x Stmt) -> Result<Flow, Stop> {
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                let value = self.expr(value)?;
                *self.local(*local) = value;
            }
            StmtKind::Assign { target, value } => self.assign(target, value)?,
            StmtKind::If { test, then, otherwise } => {
                let taken = if self.holds(test)? { then } else { otherwise };
                return self.block(taken);
            }
            StmtKind::IfSome { local, value, then, otherwise } => {
                let value = self.expr(value)?;
                if value < 0 {
                    return self.block(otherwise);
                }
                *self.local(*local) = value;
                return self.block(then);
            }
            StmtKind::For { iteration, body } => {
                for element in self.elements(iteration)? {
                    *self.local(iteration.local) = element;
                    match self.block(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        flow => return Ok(flow),
                    }
                }
            }
            StmtKind::Break => return Ok(Flow::Break),
            StmtKind::Continue => return Ok(Flow::Continue),
            StmtKind::Return(None) => return Ok(Flow::Return(0)),
            StmtKind::Return(Some(value)) => return Ok(Flow::Return(self.expr(value)?)),
            StmtKind::Transition { thread, to, reason } => {
                self.transition(thread, to, *reason)?;
                return Ok(Flow::Moved);
            }
            StmtKind::Call { function, args } => {
                let args = self.args(args)?;
                if self.call(*function, &args)? == Flow::Moved {
                    return Ok(Flow::Moved);
                }
            }
            StmtKind::Effect(effect) => {
                self.effect(effect)?;
            }
            StmtKind::Steal { steal, thief, victims } => {
                let thief = self.expr(thief)? as u8;
                let victims = self.expr(victims)?;
                self.steal(*steal, thief, victims)?;
            }
            StmtKind::Block(block) => return self.block(block),
        }
        Ok(Flow::Next)
    }

    pub(super) fn args(&mut self, args: &'x [Expr]) -> Result<Vec<i64>, Stop> {
        args.iter().map(|arg| self.expr(arg)).collect()
    }

    /// Evaluates the value before the thread or core of the target.
    fn assign(&mut self, target: &'x Target, value: &'x Expr) -> Result<(), Stop> {
        let write = match target {
            Target::Local(id) => {
                let value = self.expr(value)?;
                *self.local(*id) = value;
                return Ok(());
            }
            Target::Set(id) => Access::SetSet(*id, self.expr(value)?),
            Target::Global(id) => Access::SetGlobal(*id, self.expr(value)?),
            Target::Thread { attribute, thread } => {
                let value = self.expr(value)?;
                Access::SetThread(self.expr(thread)? as u8, *attribute, value)
            }
            Target::Core { attribute, core } => {
                let value = self.expr(value)?;
                Access::SetCore(self.expr(core)? as u8, *attribute, value)
            }
        };
        self.env.access(write).map(|_| ())
    }

    fn transition(&mut self, thread: &'x Expr, to: &'x State, reason: ReasonId) -> Result<(), Stop> {
        let t = self.expr(thread)? as u8;
        let access = match to {
            State::Ready { core, queue } => {
                let core = self.expr(core)? as u8;
                if let Some(enqueue) = self.env.model.handler(Event::Enqueue) {
                    self.call(enqueue, &[i64::from(t), i64::from(core)])?;
                }
                let key = match self.policy.queues[queue.index()].by {
                    Some(attribute) => self.env.access(Access::ThreadAttribute(t, attribute))?,
                    None => 0,
                };
                Access::Ready { thread: t, core, queue: *queue, key, reason, from: self.from }
            }
            State::Running => Access::Run(t),
            State::Blocked => Access::Blocked(t),
            State::Terminated => Access::Terminated(t),
        };
        self.moved = self.env.access(access)? != 0;
        Ok(())
    }

    /// Executes an effect. The result is 1 if it succeeded.
    pub(super) fn effect(&mut self, effect: &'x Effect) -> Value {
        let access = match effect {
            Effect::Add { set, core } => {
                let max = match &self.policy.sets[set.index()].capacity {
                    Some(capacity) => self.expr(capacity)?,
                    None => i64::MAX,
                };
                Access::Add { set: *set, core: self.expr(core)? as u8, max }
            }
            Effect::Remove { set, core } => Access::Remove { set: *set, core: self.expr(core)? as u8 },
            Effect::Claim(core) => Access::Claim(self.expr(core)? as u8),
            Effect::Release(core) => Access::Release(self.expr(core)? as u8),
            Effect::Arm { thread, after } => {
                let thread = self.expr(thread)? as u8;
                Access::Arm(thread, self.expr(after)?)
            }
            Effect::Cancel(thread) => Access::Cancel(self.expr(thread)? as u8),
            // The idle loop is not modelled.
            Effect::KeepWarm { core, time } => {
                self.expr(core)?;
                return self.expr(time);
            }
            Effect::Preempt(core) => Access::Preempt(self.expr(core)? as u8),
        };
        self.env.access(access)
    }

    pub(super) fn holds(&mut self, test: &'x Expr) -> Result<bool, Stop> {
        debug_assert_eq!(test.ty.base, BaseType::Bool);
        Ok(self.expr(test)? != 0)
    }
}
