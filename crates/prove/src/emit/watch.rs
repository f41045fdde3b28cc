//! What a program is made for: each property watches other things that a handler does.

use hearth_ipanema::ir::Effects;

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
    /// Could a function with these effects matter? (For a timer: besides what its handler reads.)
    pub fn minds(self, effects: &Effects) -> bool {
        use hearth_ipanema::ir::effects::Access;
        effects.moves
            || match self {
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
