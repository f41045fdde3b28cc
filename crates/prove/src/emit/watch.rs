//! What a program models: each property depends on other effects of a handler.

use crate::whyml::Why;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_expr};
use hearth_ipanema::ir::{BaseType, Block, Effects, Expr, ExprKind, FunctionId, Policy, ThreadField};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watch {
    /// Where threads are, and which cores are idle. Searches are modelled exactly.
    Cores,
    /// The same on a core's own queues, in `schedule`.
    OwnCore,
    /// The core to which the thread goes. Of the values that are read, only affinity matters.
    Affinity,
    /// The policy's sets.
    Sets,
    /// Claims of cores.
    Claims,
    /// The thread's timer, and the attributes that its handler reads.
    Timer,
    /// Attributes, preemptions, and where threads are, with nobody else at work.
    Alone,
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
            Watch::Timer => !effects.timers.is_empty(),
            Watch::Alone => !effects.is_pure(),
        }
    }

    /// True if values that are only read are arbitrary.
    pub fn is_vague(self) -> bool {
        matches!(self, Watch::Sets | Watch::Claims)
    }

    /// True if values that do not depend on affinity are arbitrary.
    pub fn is_about_affinity(self) -> bool {
        matches!(self, Watch::Affinity | Watch::Timer)
    }

    /// The expression that reads shared state.
    pub fn look(self) -> Why {
        match self {
            Watch::OwnCore => Why::Text("look_at_own own_core"),
            Watch::Affinity | Watch::Timer | Watch::Alone => Why::Any("readings"),
            _ => Why::Text("look ()"),
        }
    }
}

/// True if a value depends on a thread's affinity or on a set that was passed as an argument.
pub fn tells_affinity(policy: &Policy, e: &Expr) -> bool {
    let mut tells = Tells { policy, found: false };
    tells.expr(e);
    tells.found
}

/// The same for a block.
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
