//! Checks transitions against `runtime/saakm.h`: in each event, the right thread enters the right
//! state, once.
//!
//! A transition ends the handler. Whether a function moves its thread on all paths, on some or on
//! none is therefore part of its interface; it is computed here and stored in [`Function::moves`].

use crate::codes::{
    ILLEGAL_TRANSITION, MISSING_RETURN, MISSING_TRANSITION, RESULT_AND_TRANSITION, UNREACHABLE, WRONG_CORE,
    WRONG_THREAD,
};
use crate::diagnostic::Diagnostic;
use crate::ir::visit::{Visitor, walk_block, walk_stmt};
use crate::ir::{
    Block, Event, Expr, ExprKind, Function, FunctionId, LocalId, Moves, Over, Policy, Role, State, Stmt,
    StmtKind, Target, ThreadField,
};
use crate::syntax::Span;

/// Target states of transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Ready,
    Running,
    Blocked,
    Terminated,
}

impl To {
    fn name(self) -> &'static str {
        match self {
            To::Ready => "ready",
            To::Running => "running",
            To::Blocked => "blocked",
            To::Terminated => "terminated",
        }
    }
}

/// Transitions that a handler must or may make.
enum Duty {
    /// No transitions.
    None,
    /// Its thread enters this state exactly once.
    Once(To),
    /// Its thread becomes ready on its own core, exactly once.
    OwnCore,
    /// Its thread may become ready, on any core.
    Maybe,
    /// A thread from the core's queues may become running.
    Schedule,
}

/// Duties by event: the table in `saakm.h`.
fn duty(event: Event) -> Duty {
    match event {
        Event::New | Event::Unblock | Event::Preempt => Duty::Once(To::Ready),
        Event::Yield => Duty::OwnCore,
        Event::Block => Duty::Once(To::Blocked),
        Event::Terminate => Duty::Once(To::Terminated),
        Event::Timer => Duty::Maybe,
        Event::Schedule => Duty::Schedule,
        Event::Enqueue
        | Event::Tick
        | Event::NewlyIdle
        | Event::EnterIdle
        | Event::ExitIdle
        | Event::Balance
        | Event::Entry
        | Event::Exit => Duty::None,
    }
}

/// A transition made by a body, directly or through a call.
#[derive(Clone)]
struct Move {
    /// Local variable of the body; `None` for a thread chosen by the base's `on schedule`.
    thread: Option<LocalId>,
    to: To,
    /// Core on which the thread becomes ready.
    core: Where,
    /// The transition statement.
    span: Span,
    /// The statement of this body that makes the transition.
    here: Span,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Where {
    /// The thread's own core.
    Own,
    /// A parameter or variable of this body.
    Local(LocalId),
    Elsewhere,
}

/// Summary of the paths through a block.
#[derive(Default)]
struct Flow {
    /// Some path reaches the end of the block.
    falls: bool,
    /// Some path ends in a transition.
    moved: bool,
    /// Paths that return without a transition.
    returns: Vec<Span>,
}

pub fn check(policy: &mut Policy, order: &[FunctionId], diagnostics: &mut Vec<Diagnostic>) {
    let mut moves: Vec<Vec<Move>> = vec![Vec::new(); policy.functions.len()];
    for &id in order {
        let function = policy.function(id);
        let mut body =
            Body { policy, function, known: &moves, moves: Vec::new(), diagnostics: &mut *diagnostics };
        let flow = body.block(&function.body);
        body.returns_a_value(&flow);
        body.check(&flow);
        let summary = body.summary(&flow);
        let leaves_core = body.moves.iter().any(|made| made.to == To::Ready && made.core != Where::Own);
        moves[id.index()] = body.moves;
        let function = &mut policy.functions[id.index()];
        (function.moves, function.leaves_core) = (summary, leaves_core);
    }
}

struct Body<'p, 'd> {
    policy: &'p Policy,
    function: &'p Function,
    /// Moves of the functions that the body calls.
    known: &'p [Vec<Move>],
    moves: Vec<Move>,
    diagnostics: &'d mut Vec<Diagnostic>,
}

impl Body<'_, '_> {
    // ---- paths ----------------------------------------------------------------------------

    fn block(&mut self, block: &Block) -> Flow {
        let mut flow = Flow { falls: true, ..Flow::default() };
        for stmt in block {
            if !flow.falls {
                let message = "this statement is unreachable";
                self.diagnostics.push(
                    Diagnostic::warning(UNREACHABLE, stmt.span, message)
                        .help("a transition ends the handler, and so does a call that always makes one"),
                );
                break;
            }
            let next = self.stmt(stmt);
            flow.falls = next.falls;
            flow.moved |= next.moved;
            flow.returns.extend(next.returns);
        }
        flow
    }

    fn stmt(&mut self, stmt: &Stmt) -> Flow {
        match &stmt.kind {
            StmtKind::Let { .. } | StmtKind::Assign { .. } | StmtKind::Effect(_) | StmtKind::Steal { .. } => {
                Flow { falls: true, ..Flow::default() }
            }
            StmtKind::If { then, otherwise, .. } | StmtKind::IfSome { then, otherwise, .. } => {
                let (then, otherwise) = (self.block(then), self.block(otherwise));
                Flow {
                    falls: then.falls || otherwise.falls,
                    moved: then.moved || otherwise.moved,
                    returns: [then.returns, otherwise.returns].concat(),
                }
            }
            // The set may be empty.
            StmtKind::For { body, .. } => Flow { falls: true, ..self.block(body) },
            StmtKind::Break | StmtKind::Continue => Flow::default(),
            StmtKind::Return(_) => Flow { returns: vec![stmt.span], ..Flow::default() },
            StmtKind::Transition { thread, to, .. } => {
                self.transition(thread, to, stmt.span);
                Flow { moved: true, ..Flow::default() }
            }
            StmtKind::Call { function, args } => {
                self.call(*function, args, stmt.span);
                match self.policy.function(*function).moves {
                    Moves::Never => Flow { falls: true, ..Flow::default() },
                    Moves::Maybe { .. } => Flow { falls: true, moved: true, returns: Vec::new() },
                    Moves::Always { .. } => Flow { moved: true, ..Flow::default() },
                }
            }
            StmtKind::Block(block) => self.block(block),
        }
    }

    // ---- which thread, where to -------------------------------------------------------------

    fn transition(&mut self, thread: &Expr, to: &State, span: Span) {
        let ExprKind::Local(thread) = thread.kind else { return };
        let (to, core) = match to {
            State::Ready { core, .. } => (To::Ready, self.core(core, thread)),
            State::Running => (To::Running, Where::Own),
            State::Blocked => (To::Blocked, Where::Own),
            State::Terminated => (To::Terminated, Where::Own),
        };
        self.moves.push(Move { thread: Some(thread), to, core, span, here: span });
    }

    fn call(&mut self, callee: FunctionId, args: &[Expr], here: Span) {
        // `super;` in `on schedule` runs for the same core, and the base's handler has been checked
        // itself.
        let schedules = self.policy.function(callee).role == Role::Handler(Event::Schedule);
        for made in &self.known[callee.index()] {
            if schedules {
                self.moves.push(Move { thread: None, here, ..made.clone() });
                continue;
            }
            let thread = made.thread.and_then(|thread| args.get(thread.index())).map(|arg| &arg.kind);
            let Some(&ExprKind::Local(thread)) = thread else {
                let message = "this call moves a thread that is not in a variable";
                self.diagnostics
                    .push(Diagnostic::error(WRONG_THREAD, here, message).label(made.span, "moved here"));
                continue;
            };
            let core = match made.core {
                Where::Local(core) => {
                    args.get(core.index()).map_or(Where::Elsewhere, |arg| self.core(arg, thread))
                }
                other => other,
            };
            self.moves.push(Move { thread: Some(thread), core, here, ..made.clone() });
        }
    }

    /// Classifies a core relative to a thread.
    fn core(&self, core: &Expr, thread: LocalId) -> Where {
        match &core.kind {
            ExprKind::ThreadField { field: ThreadField::Core, thread: of } if matches!(of.kind, ExprKind::Local(id) if id == thread) => {
                Where::Own
            }
            ExprKind::Local(id) => match self.only_value(*id) {
                Some(value) if !matches!(value.kind, ExprKind::Local(_)) => self.core(value, thread),
                _ => Where::Local(*id),
            },
            _ => Where::Elsewhere,
        }
    }

    /// Value of a variable that is never reassigned.
    fn only_value(&self, id: LocalId) -> Option<&Expr> {
        struct Values<'b> {
            id: LocalId,
            first: Option<&'b Expr>,
            assigned: bool,
        }
        fn look<'b>(values: &mut Values<'b>, block: &'b Block) {
            for stmt in block {
                match &stmt.kind {
                    StmtKind::Let { local, value } if *local == values.id => {
                        values.first = Some(value);
                    }
                    StmtKind::Assign { target: Target::Local(local), .. } => {
                        values.assigned |= *local == values.id;
                    }
                    StmtKind::If { then, otherwise, .. } | StmtKind::IfSome { then, otherwise, .. } => {
                        look(values, then);
                        look(values, otherwise);
                    }
                    StmtKind::For { body, .. } | StmtKind::Block(body) => look(values, body),
                    _ => {}
                }
            }
        }
        let mut values = Values { id, first: None, assigned: false };
        look(&mut values, &self.function.body);
        values.first.filter(|_| !values.assigned)
    }

    // ---- rules ------------------------------------------------------------------------------

    fn returns_a_value(&mut self, flow: &Flow) {
        if self.function.result.is_some() && flow.falls {
            let message = format!("`{}` can end without a return value", self.function.name);
            self.diagnostics.push(
                Diagnostic::error(MISSING_RETURN, self.function.at.span, message)
                    .help("end every path with `return`"),
            );
        }
    }

    fn check(&mut self, flow: &Flow) {
        match self.function.role {
            Role::Function | Role::Invariant => self.function_moves(),
            Role::Handler(event) => self.handler(event, flow),
            Role::Phase(steal) => {
                let moving = &self.policy.steals[steal.index()].move_thread;
                if std::ptr::eq(self.policy.function(*moving), self.function) {
                    self.move_phase(flow);
                } else {
                    self.none("this phase of a steal must not make transitions");
                }
            }
        }
    }

    /// A function may move one of its parameters, and must not return a value if it does.
    fn function_moves(&mut self) {
        let Some(first) = self.moves.first().map(|m| m.thread) else { return };
        let moves = self.moves.clone();
        if self.function.result.is_some() {
            let message = format!("`{}` returns a value and moves a thread", self.function.name);
            self.diagnostics.push(
                Diagnostic::error(RESULT_AND_TRANSITION, moves[0].here, message)
                    .label(self.function.at.span, "this function")
                    .help("a transition ends the handler: return the target core, and make the transition in the handler"),
            );
        }
        for made in &moves {
            if made.thread.is_none_or(|thread| thread.0 >= self.function.arity) {
                let message = "a function can move only a thread passed as a parameter";
                self.diagnostics.push(Diagnostic::error(WRONG_THREAD, made.here, message));
            } else if made.thread != first {
                let message = "a function can move only one of its parameters";
                self.diagnostics.push(
                    Diagnostic::error(WRONG_THREAD, made.here, message)
                        .label(moves[0].here, "another thread is moved here"),
                );
            }
        }
    }

    fn handler(&mut self, event: Event, flow: &Flow) {
        let name = event.name();
        match duty(event) {
            Duty::None => {
                let message = format!("`on {name}` must not make transitions");
                self.none(&message);
            }
            Duty::Once(to) => {
                self.own_thread(name, to);
                self.exactly_once(name, to, flow);
            }
            Duty::OwnCore => {
                self.own_thread(name, To::Ready);
                self.own_core(name);
                self.exactly_once(name, To::Ready, flow);
            }
            Duty::Maybe => self.own_thread(name, To::Ready),
            Duty::Schedule => self.schedule(),
        }
    }

    fn none(&mut self, message: &str) {
        for made in &self.moves {
            self.diagnostics.push(labelled(
                Diagnostic::error(ILLEGAL_TRANSITION, made.span, message)
                    .help("use `preempt(core)` to make a core reschedule, and a steal to move threads"),
                made,
            ));
        }
    }

    /// Checks that all transitions move parameter 0 to state `to`.
    fn own_thread(&mut self, event: &str, to: To) {
        let own = &self.function.locals[0].name;
        for made in &self.moves {
            if made.thread != Some(LocalId(0)) {
                let message = format!("`on {event}` can move only `{own}`");
                self.diagnostics.push(labelled(Diagnostic::error(WRONG_THREAD, made.span, message), made));
            } else if made.to != to {
                let message = format!("in `on {event}`, `{own}` must not become {}", made.to.name());
                self.diagnostics.push(labelled(
                    Diagnostic::error(ILLEGAL_TRANSITION, made.span, message)
                        .help(format!("it must become {}", to.name())),
                    made,
                ));
            }
        }
    }

    fn own_core(&mut self, event: &str) {
        let own = &self.function.locals[0].name;
        for made in &self.moves {
            if made.thread == Some(LocalId(0)) && made.to == To::Ready && made.core != Where::Own {
                let message = format!("in `on {event}`, `{own}` must become ready on its own core");
                self.diagnostics.push(labelled(
                    Diagnostic::error(WRONG_CORE, made.span, message)
                        .help(format!("write `{own} => {own}.core...`")),
                    made,
                ));
            }
        }
    }

    fn exactly_once(&mut self, event: &str, to: To, flow: &Flow) {
        if !flow.falls && flow.returns.is_empty() {
            return;
        }
        let own = &self.function.locals[0].name;
        let (at, message) = if !flow.moved {
            let message = format!("`on {event}` never makes `{own}` {}", to.name());
            (self.function.at.span, message)
        } else {
            let message = format!("on some paths, `on {event}` does not make `{own}` {}", to.name());
            (self.function.at.span, message)
        };
        let mut missing = Diagnostic::error(MISSING_TRANSITION, at, message);
        for &span in flow.returns.iter().take(4) {
            missing = missing.label(span, "returns without the transition");
        }
        if flow.falls && flow.moved {
            missing = missing.at("the end of this handler can be reached");
        }
        self.diagnostics.push(missing.help(format!("end every path with `{own} => ...` or `super;`")));
    }

    /// Checks that only threads of the core's own queues become running.
    fn schedule(&mut self) {
        let queued = Queued::of(&self.function.body);
        for made in &self.moves {
            let Some(thread) = made.thread else { continue };
            let from = queued.iter().find(|(queued, _)| *queued == thread);
            let diagnostic = match from {
                _ if made.to != To::Running => {
                    let message = format!("in `on schedule`, a thread must not become {}", made.to.name());
                    Diagnostic::error(ILLEGAL_TRANSITION, made.span, message)
                        .help("the chosen thread must become `running`")
                }
                Some((_, true)) => continue,
                Some((_, false)) => {
                    Diagnostic::error(WRONG_CORE, made.span, "a core can run only threads of its own queues")
                        .help("steal threads from other cores in `newly_idle`")
                }
                None => Diagnostic::error(
                    WRONG_THREAD,
                    made.span,
                    "this thread is not from the core's ready queue",
                )
                .help("find it with `first(thread t in c.ready)`"),
            };
            self.diagnostics.push(labelled(diagnostic, made));
        }
    }

    /// Checks that only the stolen thread, parameter 2, becomes ready, on the thief, parameter 0.
    fn move_phase(&mut self, flow: &Flow) {
        for made in &self.moves {
            if made.thread != Some(LocalId(2)) || made.to != To::Ready {
                let message = "`move` must make the stolen thread ready, and no other";
                self.diagnostics
                    .push(labelled(Diagnostic::error(ILLEGAL_TRANSITION, made.span, message), made));
            } else if made.core != Where::Local(LocalId(0)) {
                let message = "a stolen thread must become ready on the core that steals";
                self.diagnostics.push(labelled(Diagnostic::error(WRONG_CORE, made.span, message), made));
            }
        }
        if flow.falls || !flow.returns.is_empty() {
            let message = "the stolen thread must become ready on every path";
            self.diagnostics.push(Diagnostic::error(MISSING_TRANSITION, self.function.at.span, message));
        }
    }

    fn summary(&self, flow: &Flow) -> Moves {
        if self.moves.is_empty() {
            return Moves::Never;
        }
        let params = 0..self.function.arity;
        let thread = self.moves[0].thread.map(|thread| thread.0).filter(|thread| params.contains(thread));
        if flow.falls || !flow.returns.is_empty() {
            Moves::Maybe { thread }
        } else {
            Moves::Always { thread }
        }
    }
}

/// Labels the statement that leads to a transition in another function.
fn labelled(diagnostic: Diagnostic, made: &Move) -> Diagnostic {
    if made.here == made.span { diagnostic } else { diagnostic.label(made.here, "reached from here") }
}

/// Variables that hold threads of ready queues, and whether the queue belongs to parameter 0.
struct Queued(Vec<(LocalId, bool)>);

impl Queued {
    fn of(body: &Block) -> Vec<(LocalId, bool)> {
        let mut queued = Queued(Vec::new());
        walk_block(&mut queued, body);
        queued.0
    }

    fn add(&mut self, local: LocalId, over: &Over) {
        if let Over::Threads { core, .. } = over {
            self.0.push((local, matches!(core.kind, ExprKind::Local(LocalId(0)))));
        }
    }
}

impl Visitor for Queued {
    fn stmt(&mut self, stmt: &Stmt) {
        match &stmt.kind {
            StmtKind::IfSome { local, value, .. } => {
                if let ExprKind::Search(search) = &value.kind {
                    self.add(*local, &search.iteration.over);
                }
            }
            StmtKind::For { iteration, .. } => self.add(iteration.local, &iteration.over),
            _ => {}
        }
        walk_stmt(self, stmt);
    }
}
