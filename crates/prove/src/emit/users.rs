//! What events run: handlers, and the `move` of steals.

use hearth_ipanema::ir::effects::{Effects, Whose};
use hearth_ipanema::ir::{Event, Function, Policy};

/// A handler, or a steal's `move`: everything that an event can run.
pub struct User<'p> {
    pub name: &'p str,
    pub function: &'p Function,
    pub effects: &'p Effects,
    /// The event, if it places its thread.
    pub placement: Option<Event>,
}

impl User<'_> {
    /// True if it is a placement and arms or cancels at most the timer of the thread that it places, which does not
    /// wait yet.
    pub fn arms_its_own(&self) -> bool {
        self.placement.is_some() && self.effects.timers.iter().all(|of| *of == Whose::Param(0))
    }
}

pub fn users(policy: &Policy) -> Vec<User<'_>> {
    let handlers = policy.handlers.iter().map(|handler| {
        let function = policy.function(handler.function);
        let placement = Some(handler.event).filter(|event| matches!(event, Event::New | Event::Unblock));
        User { name: handler.event.name(), function, effects: &function.effects, placement }
    });
    let steals = policy.steals.iter().filter(|steal| !steal.superseded).map(|steal| {
        let function = policy.function(steal.move_thread);
        User { name: &steal.name, function, effects: &steal.effects, placement: None }
    });
    handlers.chain(steals).collect()
}
