//! Removes what does nothing, as defaults of slots often do: optional handlers without statements, and calls of functions
//! without statements.

use super::effects::is_pure;
use super::{Block, Event, Policy, Role, StmtKind};

pub fn drop_empty(policy: &mut Policy) {
    // A function may be empty without its calls.
    loop {
        let empty: Vec<bool> =
            policy.functions.iter().map(|f| f.role == Role::Function && f.body.is_empty()).collect();
        let mut bodies: Vec<Block> =
            policy.functions.iter_mut().map(|f| std::mem::take(&mut f.body)).collect();
        let dropped =
            bodies.iter_mut().fold(false, |dropped, body| drop_calls(policy, &empty, body) | dropped);
        policy.functions.iter_mut().zip(bodies).for_each(|(f, body)| f.body = body);
        if !dropped {
            break;
        }
    }
    let functions = &policy.functions;
    policy.handlers.retain(|handler| {
        Event::NEEDED.contains(&handler.event) || !functions[handler.function.index()].body.is_empty()
    });
}

/// Returns whether there were any.
fn drop_calls(policy: &Policy, empty: &[bool], block: &mut Block) -> bool {
    let before = block.len();
    block.retain(|stmt| match &stmt.kind {
        StmtKind::Call { function, args } => {
            !(empty[function.index()] && args.iter().all(|arg| is_pure(policy, arg)))
        }
        _ => true,
    });
    let mut dropped = block.len() < before;
    for stmt in block {
        dropped |= match &mut stmt.kind {
            StmtKind::If { then, otherwise, .. } | StmtKind::IfSome { then, otherwise, .. } => {
                drop_calls(policy, empty, then) | drop_calls(policy, empty, otherwise)
            }
            StmtKind::For { body, .. } | StmtKind::Block(body) => drop_calls(policy, empty, body),
            _ => false,
        };
    }
    dropped
}
