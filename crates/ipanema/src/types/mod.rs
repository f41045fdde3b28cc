//! Third pass: merged syntax trees to the typed [`ir`](crate::ir).
//!
//! Resolves all names, checks types and units, and makes each conversion a node. Errors are
//! collected; code that depends on something invalid is skipped silently.

mod body;
mod call;
mod constant;
mod declare;
mod expr;
mod search;
mod signature;
mod statement;
mod suggest;
mod units;

use std::cell::RefCell;
use std::collections::HashMap;

use crate::diagnostic::Diagnostic;
use crate::ir::{self, FunctionId, Owner, Role, StealId};
use crate::library::{Kind, WORDS};
use crate::resolve::{Chain, Merged};
use crate::syntax::lexer::lex;
use crate::syntax::{Sources, Span, ast};
use crate::{Meaning, Use};

pub(crate) use constant::value_of;

/// Declarations against which bodies are checked.
struct Context<'a> {
    chain: &'a Chain,
    merged: &'a Merged<'a>,
    sources: &'a Sources,
    /// All declarations; functions with signatures only.
    policy: ir::Policy,
    /// Result of lowering each version of `merged`.
    versions: Vec<Lowered>,
    /// Top-level names.
    top: HashMap<String, Top>,
    /// Names whose meaning is found.
    uses: RefCell<Vec<Use>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lowered {
    Function(FunctionId),
    Steal(StealId),
    /// The signature is invalid.
    Nothing,
}

/// Meaning of a top-level name.
#[derive(Clone, Copy)]
enum Top {
    Param(ir::ParamId),
    Set(ir::SetId),
    Global(ir::AttributeId),
    /// The effective version of a function or steal.
    Version(usize),
}

impl Context<'_> {
    fn place(&self, policy: usize, span: Span) -> ir::Place {
        let (line, _) = self.sources.line_and_column(span.source, span.start);
        ir::Place { policy: self.chain[policy].name.name.clone(), line: line as u32, span }
    }

    /// Place of a name within the parentheses around it.
    fn within(&self, span: Span, name: &str) -> Span {
        let text = self.sources.text(span);
        if text == name {
            return span;
        }
        let words = lex(span.source, text).tokens.into_iter().map(|token| token.span);
        let word = words.into_iter().find(|word| word.text(text) == name);
        word.map_or(span, |word| Span { start: span.start + word.start, end: span.start + word.end, ..span })
    }

    fn uses(&self, span: Span, declared: Span) {
        self.uses.borrow_mut().push(Use { span, meaning: Meaning::Declared(declared) });
    }

    fn uses_word(&self, span: Span, name: &str, is_it: impl Fn(Kind) -> bool) {
        if let Some(word) = WORDS.iter().find(|word| word.name == name && is_it(word.kind)) {
            self.uses.borrow_mut().push(Use { span, meaning: Meaning::Word(word) });
        }
    }

    fn attribute(&self, owner: Owner, name: &str) -> Option<(ir::AttributeId, ir::Type)> {
        let list = self.policy.attributes(owner);
        let index = list.iter().position(|a| a.name == name)?;
        Some((ir::AttributeId(index as u32), list[index].ty))
    }

    fn queue(&self, name: &str) -> Option<ir::QueueId> {
        let index = self.policy.queues.iter().position(|q| q.name == name)?;
        Some(ir::QueueId(index as u32))
    }
}

/// Lowers the merged policy to the IR. Superseded and unused functions remain, and `moves` and
/// `effects` are not yet computed. Returns `None` if there are errors. Adds the names that it resolves to `uses`.
pub fn lower(
    chain: &Chain,
    merged: &Merged,
    sources: &Sources,
    uses: &mut Vec<Use>,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ir::Policy> {
    let root = chain.first()?;
    let policy = ir::Policy {
        name: root.name.name.clone(),
        doc: doc(root.doc.as_ref()),
        bases: chain[1..].iter().map(|base| base.name.name.clone()).collect(),
        params: Vec::new(),
        sets: Vec::new(),
        globals: Vec::new(),
        thread: Vec::new(),
        core: Vec::new(),
        queues: Vec::new(),
        reasons: vec!["none".to_owned()],
        functions: Vec::new(),
        steals: Vec::new(),
        handlers: Vec::new(),
        invariants: Vec::new(),
    };
    let (versions, top, used) = (Vec::new(), HashMap::new(), RefCell::new(std::mem::take(uses)));
    let mut context = Context { chain, merged, sources, policy, versions, top, uses: used };
    let before = errors(diagnostics);
    declare::declarations(&mut context, diagnostics);
    let work = signature::signatures(&mut context, diagnostics);
    let mut reasons = std::mem::take(&mut context.policy.reasons);
    let mut done = Vec::new();
    for job in &work {
        done.push(body::lower(&context, job, &mut reasons, diagnostics));
    }
    *uses = context.uses.into_inner();
    let mut policy = context.policy;
    policy.reasons = reasons;
    for (job, (locals, body)) in work.iter().zip(done) {
        let function = &mut policy.functions[job.function.index()];
        if let signature::JobBody::Value(_) = job.body {
            // A sort key has the type of its expression.
            if let Some(ir::StmtKind::Return(Some(key))) = body.first().map(|stmt| &stmt.kind) {
                function.result = Some(key.ty);
            }
        }
        function.locals = locals;
        function.body = body;
    }
    for (index, function) in policy.functions.iter().enumerate() {
        if let Role::Handler(event) = function.role
            && !function.superseded
        {
            policy.handlers.push(ir::Handler { event, function: FunctionId(index as u32) });
        }
    }
    policy.handlers.sort_by_key(|handler| handler.event);
    (errors(diagnostics) == before).then_some(policy)
}

fn errors(diagnostics: &[Diagnostic]) -> usize {
    diagnostics.iter().filter(|d| d.is_error()).count()
}

fn doc(doc: Option<&ast::Doc>) -> String {
    doc.map_or_else(String::new, |doc| doc.text.clone())
}

fn ty(ty: &ast::Type) -> ir::Type {
    ir::Type { base: ty.base, optional: ty.optional }
}
