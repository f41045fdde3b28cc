//! Checks that each handler terminates: no recursion, and no loop over a set that its body
//! replaces. (Loops are finite by construction: they iterate only over sets and queues.)

use crate::codes::{LOOP_SET_REPLACED, RECURSION, TOO_MANY_CALLS};
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Calls, Visitor, walk_block, walk_expr, walk_stmt};
use crate::ir::{
    Event, Expr, ExprKind, FunctionId, Iteration, LocalId, Over, Policy, SetId, Stmt, StmtKind, Target,
};

/// Most calls of an event, counted where each is written out. The kernel's verifier and the provers follow all of them.
const MOST_CALLS: usize = 4096;

/// All functions, callees before callers; `None` if there is recursion, or too many calls.
pub fn check(policy: &Policy, diagnostics: &mut Vec<Diagnostic>) -> Option<Vec<FunctionId>> {
    for function in &policy.functions {
        let mut loops = Loops { sets: Vec::new(), diagnostics };
        walk_block(&mut loops, &function.body);
    }
    let callees: Vec<Vec<FunctionId>> = policy.functions.iter().map(|f| calls(policy, f)).collect();
    let mut search = Search {
        policy,
        callees: &callees,
        state: vec![State::New; policy.functions.len()],
        order: Vec::new(),
    };
    let mut total = true;
    for index in 0..policy.functions.len() {
        if let Some(cycle) = search.visit(FunctionId(index as u32)) {
            diagnostics.push(recursion(policy, &cycle));
            total = false;
        }
    }
    let order = total.then_some(search.order)?;
    let found = too_many_calls(policy, &callees, &order);
    total = found.is_none();
    diagnostics.extend(found);
    total.then_some(order)
}

/// The first function that makes more than [`MOST_CALLS`], if each call is replaced by the calls that it makes. Functions
/// that call others twice, which call others twice, would else keep every later pass busy for ever.
fn too_many_calls(policy: &Policy, callees: &[Vec<FunctionId>], order: &[FunctionId]) -> Option<Diagnostic> {
    let mut calls = vec![0_usize; callees.len()];
    for id in order {
        let made = callees[id.index()].iter().map(|callee| calls[callee.index()].saturating_add(1));
        calls[id.index()] = made.fold(0, usize::saturating_add);
        if calls[id.index()] > MOST_CALLS {
            let function = policy.function(*id);
            let message = format!(
                "`{}` makes more than {MOST_CALLS} calls, with those of what it calls",
                function.name
            );
            let help = "store in a variable what is called more than once";
            return Some(Diagnostic::error(TOO_MANY_CALLS, function.at.span, message).help(help));
        }
    }
    None
}

fn calls(policy: &Policy, function: &crate::ir::Function) -> Vec<FunctionId> {
    let calls = Calls::of(&function.body);
    let mut callees = calls.functions;
    for steal in calls.steals {
        callees.extend(policy.steals[steal.index()].phases());
    }
    if calls.enqueues {
        callees.extend(policy.handler(Event::Enqueue));
    }
    callees
}

fn recursion(policy: &Policy, cycle: &[FunctionId]) -> Diagnostic {
    let names: Vec<&str> = cycle.iter().map(|&id| policy.function(id).name.as_str()).collect();
    let first = policy.function(cycle[0]);
    let mut diagnostic = Diagnostic::error(
        RECURSION,
        first.at.span,
        format!("`{}` calls itself: {}", first.name, names.join(" -> ")),
    )
    .help("a policy must always terminate: use a loop over a set");
    for &id in cycle.iter().skip(1).filter(|id| **id != cycle[0]) {
        diagnostic = diagnostic.label(policy.function(id).at.span, "through this function");
    }
    diagnostic
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    New,
    Open,
    Done,
}

/// Depth-first search with an explicit stack, because chains of calls may be long.
struct Search<'p> {
    policy: &'p Policy,
    callees: &'p [Vec<FunctionId>],
    state: Vec<State>,
    order: Vec<FunctionId>,
}

impl Search<'_> {
    /// Visits `root` and everything it calls. Returns the first cycle found, as a closed path.
    fn visit(&mut self, root: FunctionId) -> Option<Vec<FunctionId>> {
        if self.state[root.index()] != State::New {
            return None;
        }
        let mut found = None;
        self.state[root.index()] = State::Open;
        let mut path = vec![(root, 0)];
        while let Some((id, next)) = path.last_mut() {
            let id = *id;
            let Some(&callee) = self.callees[id.index()].get(*next) else {
                self.state[id.index()] = State::Done;
                self.order.push(id);
                path.pop();
                continue;
            };
            *next += 1;
            match self.state[callee.index()] {
                State::New => {
                    self.state[callee.index()] = State::Open;
                    path.push((callee, 0));
                }
                State::Open if found.is_none() => {
                    let start = path.iter().position(|(id, _)| *id == callee).unwrap_or(0);
                    let round = path[start..].iter().map(|(id, _)| *id).chain([callee]);
                    found = Some(round.collect());
                }
                _ => {}
            }
        }
        debug_assert!(self.order.len() <= self.policy.functions.len());
        found
    }
}

/// Finds assignments to sets that an enclosing loop iterates over. (`add` and `remove` are allowed:
/// a loop iterates over the set as it was at its start.)
struct Loops<'d> {
    sets: Vec<SetName>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

#[derive(Clone, Copy, PartialEq)]
enum SetName {
    Policy(SetId),
    Local(LocalId),
}

impl Visitor for Loops<'_> {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::For { iteration, body } => {
                let outer = self.sets.len();
                self.sets.extend(sets_of(iteration));
                walk_block(self, body);
                self.sets.truncate(outer);
            }
            StmtKind::Assign { target, .. } => {
                let assigned = match target {
                    Target::Set(id) => SetName::Policy(*id),
                    Target::Local(id) => SetName::Local(*id),
                    _ => return,
                };
                if self.sets.contains(&assigned) {
                    let message = "this replaces a set while a loop iterates over it";
                    self.diagnostics.push(
                        Diagnostic::error(LOOP_SET_REPLACED, stmt.span, message)
                            .help("build the new set in a variable, and assign it after the loop"),
                    );
                }
            }
            _ => walk_stmt(self, stmt),
        }
    }
}

fn sets_of(iteration: &Iteration) -> Vec<SetName> {
    struct Sets(Vec<SetName>);
    impl Visitor for Sets {
        fn expr(&mut self, expr: &Expr) {
            match expr.kind {
                ExprKind::Set(id) => self.0.push(SetName::Policy(id)),
                ExprKind::Local(id) if expr.ty == crate::ir::Type::SET => {
                    self.0.push(SetName::Local(id));
                }
                _ => walk_expr(self, expr),
            }
        }
    }
    let mut sets = Sets(Vec::new());
    if let Over::Cores(set) = &iteration.over {
        sets.expr(set);
    }
    sets.0
}
