//! What a program is made for: each property watches other things that a handler does.

use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{BaseType, Block, Effects, Expr, ExprKind, FunctionId, Policy, ThreadField};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Where threads are, and which cores are idle: searches mean what they say.
    Cores,
    /// The same on a core's own queues, in `schedule`.
    OwnCore,
    /// To which core the thread goes: of what is read, only affinity matters.
    Affinity,
    /// The policy's sets.
    Sets,
    /// Claims of cores.
    Claims,
    /// The thread's timer, and the attributes that its handler reads.
    Timer,
}

impl Watch {
    /// True if these effects include a change of what is watched.
    pub fn minds(self, effects: &Effects) -> bool {
        use hearth_ipanema::ir::effects::Access;
        match self {
            Watch::Cores | Watch::OwnCore => !effects.steals.is_empty(),
            Watch::Affinity => false,
            Watch::Sets => effects.writes.iter().any(|access| matches!(access, Access::Set(_))),
            Watch::Claims => effects.claims,
            Watch::Timer => effects.timers,
        }
    }

    /// Values that are only read are any value: they do not matter.
    pub fn is_vague(self) -> bool {
        matches!(self, Watch::Sets | Watch::Claims)
    }

    /// Of values that are only read, those that no affinity is part of do not matter.
    pub fn is_about_affinity(self) -> bool {
        matches!(self, Watch::Affinity | Watch::Timer)
    }

    /// How shared state is read.
    pub fn look(self) -> &'static str {
        match self {
            Watch::OwnCore => "look_at_own own_core",
            Watch::Affinity | Watch::Timer => "any readings",
            _ => "look ()",
        }
    }
}

/// Does the affinity of a thread, or a set that was passed on, matter to a value?
pub fn tells_affinity(policy: &Policy, e: &Expr) -> bool {
    let mut tells = Tells { policy, found: false };
    tells.expr(e);
    tells.found
}

/// The same of a block.
pub fn block_tells_affinity(policy: &Policy, block: &Block) -> bool {
    let mut tells = Tells { policy, found: false };
    walk_block(&mut tells, block);
    tells.found
}

struct Tells<'p> {
    policy: &'p Policy,
    found: bool,
}

impl Visitor for Tells<'_> {
    fn expr(&mut self, e: &Expr) {
        self.found |= match &e.kind {
            ExprKind::ThreadField { field: ThreadField::Affinity, .. } => true,
            ExprKind::Local(_) => e.ty.base == BaseType::Set,
            _ => false,
        };
        walk_expr(self, e);
    }

    fn call(&mut self, function: FunctionId, _args: &[Expr]) {
        walk_block(self, &self.policy.function(function).body);
    }
}
