//! Expressions.

use hearth_ipanema::ir::{Comparison, CoreField, Expr, ExprKind, Extreme, Fact, KeptSet, SetOp, ThreadField};

use super::{Interp, Value};
use crate::access::Access;
use crate::arithmetic;
use crate::env::Stop;
use crate::model::{MIN_KHZ, capacity};
use crate::step::{waker_exits, waker_sleeps};
use crate::topology::DomainId;

fn compare(op: Comparison, a: i64, b: i64) -> bool {
    match op {
        Comparison::Eq => a == b,
        Comparison::Ne => a != b,
        Comparison::Lt => a < b,
        Comparison::Le => a <= b,
        Comparison::Gt => a > b,
        Comparison::Ge => a >= b,
    }
}

impl<'x> Interp<'_, '_, 'x> {
    pub(super) fn expr(&mut self, expr: &'x Expr) -> Value {
        use ExprKind as E;
        match &expr.kind {
            E::Bool(value) => Ok(i64::from(*value)),
            E::Number(value) => Ok(*value),
            E::None => Ok(-1),
            E::Some(held) => self.expr(held),
            E::Local(id) => Ok(*self.local(*id)),
            E::Param(id) => Ok(self.env.model.params[id.index()]),
            E::Set(id) => self.env.access(Access::Set(*id)),
            E::Global(id) => self.env.access(Access::Global(*id)),
            E::Thread { attribute, thread } => {
                let thread = self.expr(thread)? as u8;
                self.env.access(Access::ThreadAttribute(thread, *attribute))
            }
            E::Core { attribute, core } => {
                let core = self.expr(core)? as u8;
                self.env.access(Access::CoreAttribute(core, *attribute))
            }
            E::ThreadField { field, thread } => self.thread_field(*field, thread),
            E::CoreField { field, core } => self.core_field(*field, core),
            E::Now => Ok(self.env.world.now),
            E::Fact(Fact::WakerExits) => {
                let env = &self.env;
                Ok(waker_exits(env.model, env.world, env.me, env.event).into())
            }
            E::Fact(Fact::WakerSleeps) => {
                let env = &self.env;
                Ok(waker_sleeps(env.model, env.world, env.me, &env.activity).into())
            }
            E::Kept(KeptSet::Online) => Ok(i64::from(self.env.model.map.online.0)),
            E::Kept(kept) => self.env.access(Access::Kept(*kept)),
            E::Machine => Ok(self.env.model.map.machine().to_value()),
            E::DomainOf { level, core } => {
                let core = self.expr(core)? as u8;
                Ok(self.env.model.map.domain_of(core, *level).to_value())
            }
            E::CoresOf(domain) => {
                let domain = DomainId::from_value(self.expr(domain)?);
                Ok(i64::from(self.env.model.map.cores_of(domain).0))
            }
            E::Call { function, args } => {
                let args = self.args(args)?;
                self.call_value(*function, &args)
            }
            E::Effect(effect) => self.effect(effect),
            E::Decay { value, time, half_life } => {
                let (value, time) = (self.expr(value)?, self.expr(time)?);
                Ok(arithmetic::decay(value, time, self.expr(half_life)?))
            }
            E::Pick { extreme, left, right } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                Ok(match extreme {
                    Extreme::Min => left.min(right),
                    Extreme::Max => left.max(right),
                })
            }
            E::Count(set) => Ok(i64::from(self.expr(set)?.count_ones())),
            E::Empty(set) => Ok(i64::from(self.expr(set)? == 0)),
            E::Not(inner) => Ok(i64::from(!self.holds(inner)?)),
            E::Neg(inner) => Ok(self.expr(inner)?.wrapping_neg()),
            E::Logic { and, left, right } => {
                if self.holds(left)? == *and {
                    self.expr(right)
                } else {
                    Ok(i64::from(!*and))
                }
            }
            E::Compare { op, left, right } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                Ok(i64::from(compare(*op, left, right)))
            }
            E::In { core, set } => {
                let core = self.expr(core)?;
                Ok(i64::from(core >= 0 && self.member(core, set)?))
            }
            E::Arithmetic { op, left, right } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                Ok(arithmetic::apply(*op, left, right))
            }
            E::SetOp { op, left, right } => {
                let (left, right) = (self.expr(left)?, self.expr(right)?);
                Ok(match op {
                    SetOp::Union => left | right,
                    SetOp::Intersection => left & right,
                    SetOp::Difference => left & !right,
                })
            }
            E::Conditional { test, then, otherwise } => {
                if self.holds(test)? {
                    self.expr(then)
                } else {
                    self.expr(otherwise)
                }
            }
            E::Default { optional, default } => match self.expr(optional)? {
                held if held >= 0 => Ok(held),
                _ => self.expr(default),
            },
            E::Search(search) => self.search(search),
        }
    }

    fn thread_field(&mut self, field: ThreadField, thread: &'x Expr) -> Value {
        let thread = self.expr(thread)? as u8;
        match field {
            ThreadField::Core => self.env.access(Access::ThreadCore(thread)),
            ThreadField::Runtime => self.env.access(Access::Runtime(thread)),
            ThreadField::Weight => Ok(self.env.model.weight[usize::from(thread)]),
            ThreadField::Affinity => Ok(i64::from(self.env.model.affinity[usize::from(thread)].0)),
        }
    }

    fn core_field(&mut self, field: CoreField, core: &'x Expr) -> Value {
        let core = self.expr(core)? as u8;
        match field {
            // Constant, so not a shared access.
            CoreField::Frequency => Ok(self.env.model.frequency(core)),
            CoreField::MinFrequency => Ok(MIN_KHZ),
            CoreField::Capacity => Ok(capacity(core)),
            field => self.env.access(Access::CoreField(core, field)),
        }
    }

    /// Evaluates membership in a set expression with the short circuits of the C code.
    fn member(&mut self, core: i64, set: &'x Expr) -> Result<bool, Stop> {
        match &set.kind {
            ExprKind::SetOp { op, left, right } => {
                let left = self.member(core, left)?;
                match op {
                    SetOp::Union => Ok(left || self.member(core, right)?),
                    SetOp::Intersection => Ok(left && self.member(core, right)?),
                    SetOp::Difference => Ok(left && !self.member(core, right)?),
                }
            }
            _ => Ok(self.expr(set)? >> core & 1 == 1),
        }
    }
}
