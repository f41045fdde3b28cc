//! Numbers and signatures of functions, handlers and steals, assigned before bodies are lowered.

use super::{Context, Lowered, Top, doc, ty};
use crate::codes::{BAD_ITERATION, BAD_SIGNATURE, BAD_STORAGE, DECLARED_TWICE};
use crate::diagnostic::Diagnostic;
use crate::ir::{self, BaseType, Event, FunctionId, Role, StealId, Type};
use crate::resolve::{Body, Key, Version};
use crate::syntax::{Span, ast};

/// A body to be lowered.
pub struct Job<'a> {
    pub function: FunctionId,
    pub policy: usize,
    pub body: JobBody<'a>,
}

pub enum JobBody<'a> {
    Block(&'a ast::Block),
    /// The function returns this expression, of any scalar type.
    Value(&'a ast::Expr),
    /// The function returns this boolean expression.
    Condition(&'a ast::Expr),
}

/// Parameter types of an event's handler.
pub fn of_event(event: Event) -> &'static [Type] {
    match event {
        Event::New | Event::Unblock | Event::Enqueue => &[Type::THREAD, Type::CORE],
        Event::Tick | Event::Yield | Event::Preempt | Event::Block | Event::Terminate | Event::Timer => {
            &[Type::THREAD]
        }
        Event::Schedule
        | Event::NewlyIdle
        | Event::EnterIdle
        | Event::ExitIdle
        | Event::Balance
        | Event::Entry
        | Event::Exit => &[Type::CORE],
    }
}

/// Adds the functions (without bodies) and steals to the policy; returns the bodies.
pub fn signatures<'a>(context: &mut Context<'a>, diagnostics: &mut Vec<Diagnostic>) -> Vec<Job<'a>> {
    let mut jobs = Vec::new();
    let merged = context.merged;
    for (index, version) in merged.versions.iter().enumerate() {
        let lowered = match version.body {
            Body::Function(node) => function(context, version, node, &mut jobs, diagnostics),
            Body::Handler(node) => handler(context, version, node, &mut jobs, diagnostics),
            Body::Steal(node) => steal(context, version, node, &mut jobs, diagnostics),
        };
        context.versions.push(lowered.unwrap_or(Lowered::Nothing));
        if let (Key::Name(name), false) = (version.key(), version.superseded) {
            context.top.insert(name, Top::Version(index));
        }
    }
    for declared in &merged.invariants {
        let stub = Stub {
            name: declared.node.name.name.clone(),
            role: Role::Invariant,
            locals: Vec::new(),
            result: Some(Type::BOOL),
            doc: doc(declared.doc),
            span: declared.span,
        };
        let function = push(context, declared.policy, false, stub);
        context.policy.invariants.push(function);
        let body = JobBody::Condition(&declared.node.condition);
        jobs.push(Job { function, policy: declared.policy, body });
    }
    jobs
}

/// Signature of a function.
struct Stub {
    name: String,
    role: Role,
    locals: Vec<ir::Local>,
    result: Option<Type>,
    doc: String,
    span: Span,
}

fn push(context: &mut Context, policy: usize, superseded: bool, stub: Stub) -> FunctionId {
    let id = FunctionId(context.policy.functions.len() as u32);
    let at = context.place(policy, stub.span);
    context.policy.functions.push(ir::Function {
        name: stub.name,
        role: stub.role,
        superseded,
        doc: stub.doc,
        at,
        arity: stub.locals.len() as u32,
        locals: stub.locals,
        result: stub.result,
        body: Vec::new(),
        moves: ir::Moves::Never,
        leaves_core: false,
        effects: ir::Effects::default(),
    });
    id
}

fn locals(formals: &[ast::Formal], diagnostics: &mut Vec<Diagnostic>) -> Vec<ir::Local> {
    for (i, formal) in formals.iter().enumerate() {
        let before = formals[..i].iter().find(|f| f.name.name == formal.name.name);
        if let Some(before) = before {
            let message = format!("`{}` is declared twice", formal.name.name);
            diagnostics.push(
                Diagnostic::error(DECLARED_TWICE, formal.name.span, message)
                    .label(before.name.span, "first declared here"),
            );
        }
    }
    formals.iter().map(|f| local(&f.name, ty(&f.ty))).collect()
}

fn local(name: &ast::Ident, ty: Type) -> ir::Local {
    ir::Local { name: name.name.clone(), ty, span: name.span }
}

fn function<'a>(
    context: &mut Context<'a>,
    version: &Version,
    node: &'a ast::Function,
    jobs: &mut Vec<Job<'a>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lowered> {
    let result = node.result.as_ref().map(ty);
    if let (Some(Type { base: BaseType::Set, .. }), Some(written)) = (result, &node.result) {
        diagnostics.push(
            Diagnostic::error(BAD_STORAGE, written.span, "a function cannot return a set")
                .help("return a domain, or compute the set where it is used"),
        );
    }
    let stub = Stub {
        name: node.name.name.clone(),
        role: Role::Function,
        locals: locals(&node.formals, diagnostics),
        result,
        doc: doc(version.doc),
        span: node.name.span,
    };
    let function = push(context, version.policy, version.superseded, stub);
    jobs.push(Job { function, policy: version.policy, body: JobBody::Block(&node.body) });
    Some(Lowered::Function(function))
}

fn handler<'a>(
    context: &mut Context<'a>,
    version: &Version,
    node: &'a ast::Handler,
    jobs: &mut Vec<Job<'a>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lowered> {
    let want = of_event(node.event);
    let have: Vec<Type> = node.formals.iter().map(|f| ty(&f.ty)).collect();
    if have != want {
        let list: Vec<String> = want.iter().map(Type::to_string).collect();
        let message =
            format!("the parameters of the handler of `{}` must be ({})", node.event.name(), list.join(", "));
        let span = match node.formals.as_slice() {
            [] => node.event_span,
            [first, .., last] => first.span.to(last.span),
            [only] => only.span,
        };
        diagnostics.push(Diagnostic::error(BAD_SIGNATURE, span, message));
        return None;
    }
    let stub = Stub {
        name: node.event.name().to_owned(),
        role: Role::Handler(node.event),
        locals: locals(&node.formals, diagnostics),
        result: None,
        doc: doc(version.doc),
        span: node.event_span,
    };
    let function = push(context, version.policy, version.superseded, stub);
    jobs.push(Job { function, policy: version.policy, body: JobBody::Block(&node.body) });
    Some(Lowered::Function(function))
}

fn steal<'a>(
    context: &mut Context<'a>,
    version: &Version,
    node: &'a ast::Steal,
    jobs: &mut Vec<Job<'a>>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Lowered> {
    for (formal, want) in [(&node.thief, Type::CORE), (&node.victims, Type::SET)] {
        if ty(&formal.ty) != want {
            diagnostics.push(
                Diagnostic::error(
                    BAD_SIGNATURE,
                    formal.ty.span,
                    "the parameters of a steal must be (core, set)",
                )
                .help("they are the core that steals and the set of cores to steal from"),
            );
            return None;
        }
    }
    let id = StealId(context.policy.steals.len() as u32);
    let phases = Phases { context, version, node, id, jobs, diagnostics };
    let steal = phases.lower()?;
    context.policy.steals.push(steal);
    Some(Lowered::Steal(id))
}

/// Lowers the phases of one steal to functions.
struct Phases<'s, 'a, 'v> {
    context: &'s mut Context<'a>,
    version: &'s Version<'v>,
    node: &'a ast::Steal,
    id: StealId,
    jobs: &'s mut Vec<Job<'a>>,
    diagnostics: &'s mut Vec<Diagnostic>,
}

impl<'a> Phases<'_, 'a, '_> {
    fn lower(mut self) -> Option<ir::Steal> {
        let node = self.node;
        let Some(can_steal_core) = &node.can_steal_core else {
            return self.missing("can_steal_core", "without it, a steal would never end");
        };
        let Some(move_thread) = &node.move_thread else {
            return self.missing("move", "it puts a stolen thread into a queue of the thief");
        };
        let can_steal_core = self.looks_at("can_steal_core", can_steal_core, Type::CORE, Some(Type::BOOL))?;
        let select = match &node.select_core {
            Some(select) => Some(self.select(select)?),
            None => None,
        };
        let steal_thread = match &node.steal_thread {
            Some(phase) => Some(self.looks_at("steal_thread", phase, Type::THREAD, Some(Type::BOOL))?),
            None => None,
        };
        let stop_core = node.stop_core.as_ref().map(|phase| self.stops("stop_core", phase));
        let stop = node.stop.as_ref().map(|phase| self.stops("stop", phase));
        let move_thread = self.looks_at("move", move_thread, Type::THREAD, None)?;
        Some(ir::Steal {
            name: node.name.name.clone(),
            doc: doc(self.version.doc),
            at: self.context.place(self.version.policy, node.name.span),
            superseded: self.version.superseded,
            thief: local(&node.thief.name, Type::CORE),
            victims: local(&node.victims.name, Type::SET),
            can_steal_core,
            select,
            steal_thread,
            stop_core,
            stop,
            move_thread,
            effects: ir::Effects::default(),
        })
    }

    fn missing(self, phase: &str, help: &str) -> Option<ir::Steal> {
        let message = format!("steal `{}` has no `{phase}`", self.node.name.name);
        self.diagnostics.push(Diagnostic::error(BAD_SIGNATURE, self.node.name.span, message).help(help));
        None
    }

    /// A phase with a core or thread as parameter.
    fn looks_at(
        &mut self,
        name: &str,
        phase: &'a ast::Phase,
        want: Type,
        result: Option<Type>,
    ) -> Option<FunctionId> {
        if ty(&phase.subject.ty) != want {
            let message = format!("the parameter of `{name}` must be a {want}");
            self.diagnostics.push(Diagnostic::error(BAD_SIGNATURE, phase.subject.ty.span, message));
            return None;
        }
        let subject = local(&phase.subject.name, want);
        let doc = doc(phase.doc.as_ref());
        Some(self.phase(name, subject, result, doc, phase.span, JobBody::Block(&phase.body)))
    }

    /// A phase that decides whether to stop.
    fn stops(&mut self, name: &str, phase: &'a ast::StopPhase) -> FunctionId {
        let stolen = ir::Local { name: "stolen".to_owned(), ty: Type::INT, span: phase.span };
        let doc = doc(phase.doc.as_ref());
        let body = JobBody::Block(&phase.body);
        self.phase(name, stolen, Some(Type::BOOL), doc, phase.span, body)
    }

    fn select(&mut self, select: &'a ast::SelectCore) -> Option<ir::Select> {
        if ty(&select.subject.ty) != Type::CORE {
            let message = "the parameter of `select_core` must be a core";
            self.diagnostics.push(Diagnostic::error(BAD_SIGNATURE, select.subject.ty.span, message));
            return None;
        }
        let mut by = Vec::new();
        for (i, key) in select.by.iter().enumerate() {
            let name = if i == 0 { "select_core".to_owned() } else { format!("select_core_{}", i + 1) };
            let subject = local(&select.subject.name, Type::CORE);
            let doc = if i == 0 { doc(select.doc.as_ref()) } else { String::new() };
            // Placeholder type: a key has the type of its expression, which may be any scalar.
            by.push(self.phase(&name, subject, Some(Type::INT), doc, key.span, JobBody::Value(key)));
        }
        let mut order = ir::OrderKind::Nearest;
        if let Some(said) = &select.order {
            order = said.kind;
            if said.origin.kind == ast::ExprKind::Name(self.node.thief.name.name.clone()) {
                let thief = &self.node.thief.name;
                self.context.uses(self.context.within(said.origin.span, &thief.name), thief.span);
            } else {
                let message = "the order of a steal must start at the thief";
                self.diagnostics.push(
                    Diagnostic::error(BAD_ITERATION, said.origin.span, message)
                        .help(format!("write `{}`", self.node.thief.name.name)),
                );
            }
        }
        Some(ir::Select { extreme: select.extreme, by, order })
    }

    fn phase(
        &mut self,
        name: &str,
        subject: ir::Local,
        result: Option<Type>,
        doc: String,
        span: Span,
        body: JobBody<'a>,
    ) -> FunctionId {
        let node = self.node;
        let stub = Stub {
            name: format!("{}.{name}", node.name.name),
            role: Role::Phase(self.id),
            locals: vec![local(&node.thief.name, Type::CORE), local(&node.victims.name, Type::SET), subject],
            result,
            doc,
            span,
        };
        let function = push(self.context, self.version.policy, self.version.superseded, stub);
        self.jobs.push(Job { function, policy: self.version.policy, body });
        function
    }
}
