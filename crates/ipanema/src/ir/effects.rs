//! Effects: what a body and its callees read and change. Used by the checks, by proofs, and for the
//! kernel, where reading another core's attribute is a race.

use std::collections::{BTreeSet, HashSet};

use serde::Serialize;

use super::visit::{Visitor, walk_block, walk_effect, walk_expr, walk_stmt};
use super::{
    AttributeId, Block, CoreField, Effect, Event, Expr, ExprKind, Function, FunctionId, KeptSet, LocalId,
    Policy, SetId, State, StealId, Stmt, StmtKind, Target, ThreadField,
};

/// Effects of a function, in terms of its parameters.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Effects {
    pub reads: BTreeSet<Access>,
    pub writes: BTreeSet<Access>,
    /// Reads core frequencies.
    pub frequencies: bool,
    /// Reads weights of threads.
    pub weights: bool,
    /// Claims or releases cores.
    pub claims: bool,
    /// Makes a transition.
    pub moves: bool,
    /// The threads whose timers it arms or cancels.
    pub timers: BTreeSet<Whose>,
    pub keeps_warm: bool,
    pub preempts: bool,
    pub steals: BTreeSet<StealId>,
}

/// Object of a read or write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    Set(SetId),
    /// Read only.
    Kept(KeptSet),
    Global(AttributeId),
    Thread {
        attribute: AttributeId,
        of: Whose,
    },
    Core {
        attribute: AttributeId,
        of: Whose,
    },
}

/// Owner of an attribute, as far as known statically.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Whose {
    /// The core or thread passed as this parameter.
    Param(u32),
    /// The core of the thread passed as this parameter.
    CoreOf(u32),
    /// Any other core or thread: a remote access.
    Other,
}

impl Effects {
    /// True if nothing is changed.
    pub fn is_pure(&self) -> bool {
        self.writes.is_empty()
            && self.timers.is_empty()
            && self.steals.is_empty()
            && !(self.claims || self.moves || self.keeps_warm || self.preempts)
    }

    /// Adds the effects of a callee; `whose` maps its parameters to the caller's.
    fn add(&mut self, callee: &Effects, whose: impl Fn(Whose) -> Whose) {
        let renamed = |access: &Access| match *access {
            Access::Thread { attribute, of } => Access::Thread { attribute, of: whose(of) },
            Access::Core { attribute, of } => Access::Core { attribute, of: whose(of) },
            other => other,
        };
        self.reads.extend(callee.reads.iter().map(renamed));
        self.writes.extend(callee.writes.iter().map(renamed));
        self.frequencies |= callee.frequencies;
        self.weights |= callee.weights;
        self.claims |= callee.claims;
        self.moves |= callee.moves;
        self.timers.extend(callee.timers.iter().map(|of| whose(*of)));
        self.keeps_warm |= callee.keeps_warm;
        self.preempts |= callee.preempts;
        self.steals.extend(&callee.steals);
    }
}

impl Access {
    /// True if both are the same set or the same attribute, whoever owns it.
    pub fn is_same_object(self, other: Access) -> bool {
        let any_owner = |access| match access {
            Access::Thread { attribute, .. } => Access::Thread { attribute, of: Whose::Other },
            Access::Core { attribute, .. } => Access::Core { attribute, of: Whose::Other },
            access => access,
        };
        any_owner(self) == any_owner(other)
    }
}

/// Computes the effects of all functions and steals. `order` lists callees before callers.
pub fn compute(policy: &mut Policy, order: &[FunctionId]) {
    for &id in order {
        let effects = {
            let function = policy.function(id);
            of_block(policy, function, &function.body)
        };
        policy.functions[id.index()].effects = effects;
    }
    for index in 0..policy.steals.len() {
        policy.steals[index].effects = of_steal(policy, StealId(index as u32));
    }
}

/// Of a steal's parameters, only the thief (parameter 0) is a core.
fn of_steal(policy: &Policy, id: StealId) -> Effects {
    let steal = &policy.steals[id.index()];
    let keys = steal.select.iter().flat_map(|select| &select.by);
    let optional = [steal.steal_thread, steal.stop_core, steal.stop].into_iter().flatten();
    let mut effects = Effects::default();
    for &phase in
        [steal.can_steal_core, steal.move_thread].iter().chain(keys).chain(&Vec::from_iter(optional))
    {
        effects.add(&policy.function(phase).effects, |whose| match whose {
            Whose::Param(0) => Whose::Param(0),
            _ => Whose::Other,
        });
    }
    effects
}

struct Collector<'p> {
    policy: &'p Policy,
    function: &'p Function,
    /// Variables that change. None of them is an alias.
    assigned: HashSet<LocalId>,
    /// Variables that alias a parameter.
    aliases: Vec<(LocalId, Whose)>,
    effects: Effects,
}

impl<'p> Collector<'p> {
    fn new(policy: &'p Policy, function: &'p Function) -> Self {
        let assigned = assigned(&function.body);
        Collector { policy, function, assigned, aliases: Vec::new(), effects: Effects::default() }
    }

    fn whose(&self, object: &Expr) -> Whose {
        match &object.kind {
            ExprKind::Local(id) if self.assigned.contains(id) => Whose::Other,
            ExprKind::Local(id) if id.0 < self.function.arity => Whose::Param(id.0),
            ExprKind::Local(id) => {
                let alias = self.aliases.iter().rev().find(|(alias, _)| alias == id);
                alias.map_or(Whose::Other, |(_, whose)| *whose)
            }
            ExprKind::ThreadField { field: ThreadField::Core, thread } => match self.whose(thread) {
                Whose::Param(thread) => Whose::CoreOf(thread),
                _ => Whose::Other,
            },
            _ => Whose::Other,
        }
    }

    fn call(&mut self, callee: FunctionId, args: &[Expr]) {
        let of_args: Vec<Whose> = args.iter().map(|arg| self.whose(arg)).collect();
        let rename = |whose| match whose {
            Whose::Param(i) => of_args.get(i as usize).copied().unwrap_or(Whose::Other),
            Whose::CoreOf(i) => match of_args.get(i as usize) {
                Some(Whose::Param(thread)) => Whose::CoreOf(*thread),
                _ => Whose::Other,
            },
            Whose::Other => Whose::Other,
        };
        self.effects.add(&self.policy.function(callee).effects, rename);
    }
}

impl Visitor for Collector<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::Let { local, value } => {
                let whose = self.whose(value);
                self.aliases.push((*local, whose));
            }
            StmtKind::Assign { target, .. } => {
                let written = match target {
                    Target::Local(_) => None,
                    Target::Set(id) => Some(Access::Set(*id)),
                    Target::Global(id) => Some(Access::Global(*id)),
                    Target::Thread { attribute, thread } => {
                        Some(Access::Thread { attribute: *attribute, of: self.whose(thread) })
                    }
                    Target::Core { attribute, core } => {
                        Some(Access::Core { attribute: *attribute, of: self.whose(core) })
                    }
                };
                self.effects.writes.extend(written);
            }
            StmtKind::Transition { thread, to, .. } => {
                self.effects.moves = true;
                if let (State::Ready { core, .. }, Some(enqueue)) = (to, self.policy.handler(Event::Enqueue))
                {
                    self.call(enqueue, &[thread.clone(), core.clone()]);
                }
            }
            StmtKind::Steal { steal, .. } => {
                self.effects.steals.insert(*steal);
            }
            _ => {}
        }
        walk_stmt(self, stmt);
    }

    fn effect(&mut self, effect: &Effect) {
        match effect {
            Effect::Add { set, .. } | Effect::Remove { set, .. } => {
                self.effects.writes.insert(Access::Set(*set));
            }
            Effect::Claim(_) | Effect::Release(_) => self.effects.claims = true,
            Effect::Arm { thread, .. } | Effect::Cancel(thread) => {
                self.effects.timers.insert(self.whose(thread));
            }
            Effect::KeepWarm { .. } => self.effects.keeps_warm = true,
            Effect::Preempt(_) => self.effects.preempts = true,
        }
        walk_effect(self, effect);
    }

    fn expr(&mut self, expr: &Expr) {
        let read = match &expr.kind {
            ExprKind::Set(id) => Some(Access::Set(*id)),
            ExprKind::Kept(set) => Some(Access::Kept(*set)),
            ExprKind::Global(id) => Some(Access::Global(*id)),
            ExprKind::Thread { attribute, thread } => {
                Some(Access::Thread { attribute: *attribute, of: self.whose(thread) })
            }
            ExprKind::Core { attribute, core } => {
                Some(Access::Core { attribute: *attribute, of: self.whose(core) })
            }
            _ => None,
        };
        self.effects.frequencies |=
            matches!(expr.kind, ExprKind::CoreField { field: CoreField::Frequency, .. });
        self.effects.weights |= matches!(expr.kind, ExprKind::ThreadField { field: ThreadField::Weight, .. });
        self.effects.reads.extend(read);
        walk_expr(self, expr);
    }

    fn call(&mut self, function: FunctionId, args: &[Expr]) {
        Collector::call(self, function, args);
    }
}

/// The variables, parameters included, that a body assigns after their initial value.
pub fn assigned(body: &Block) -> HashSet<LocalId> {
    struct Assigned(HashSet<LocalId>);
    impl Visitor for Assigned {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { target: Target::Local(local), .. } = stmt.kind {
                self.0.insert(local);
            }
            walk_stmt(self, stmt);
        }
    }
    let mut found = Assigned(HashSet::new());
    walk_block(&mut found, body);
    found.0
}

/// Effects of a block of a function.
pub fn of_block(policy: &Policy, function: &Function, block: &Block) -> Effects {
    let mut collector = Collector::new(policy, function);
    walk_block(&mut collector, block);
    collector.effects
}

/// Effects of evaluating an expression of a function.
pub fn of_expr(policy: &Policy, function: &Function, expr: &Expr) -> Effects {
    let mut collector = Collector::new(policy, function);
    collector.expr(expr);
    collector.effects
}

/// True if evaluating the expression changes nothing. Requires the effects of all functions.
pub fn is_pure(policy: &Policy, expr: &Expr) -> bool {
    struct Purity<'p> {
        policy: &'p Policy,
        pure: bool,
    }
    impl Visitor for Purity<'_> {
        fn effect(&mut self, _effect: &Effect) {
            self.pure = false;
        }
        fn call(&mut self, function: FunctionId, _args: &[Expr]) {
            self.pure &= self.policy.function(function).effects.is_pure();
        }
    }
    let mut purity = Purity { policy, pure: true };
    purity.expr(expr);
    purity.pure
}
