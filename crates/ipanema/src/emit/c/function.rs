//! Emission of functions, in source order.

use super::Unit;
use super::body::{Body, takes};
use super::declare::{c_type, declarator, place};
use super::shared::parameters;
use super::statement::reports;
use super::text::Text;
use crate::ir::visit::Calls;
use crate::ir::{Event, Function, FunctionId, LocalId, QueueId, Role, StealId, StmtKind, Type};

impl Unit<'_> {
    pub fn functions(&self, out: &mut Text) {
        self.prototypes(out);
        for index in 0..self.policy.queues.len() {
            self.enter(out, QueueId(index as u32));
        }
        for (index, function) in self.policy.functions.iter().enumerate() {
            // Invariants are for proofs only; no C code calls them.
            if function.role == Role::Invariant {
                continue;
            }
            let id = FunctionId(index as u32);
            self.function(out, id);
            // A steal is emitted after its last phase.
            if let Role::Phase(steal) = function.role {
                let last = self.policy.steals[steal.index()].phases().into_iter().max();
                if last == Some(id) {
                    self.steal(out, steal);
                }
            }
        }
    }

    /// Declares functions that are called before their definition.
    fn prototypes(&self, out: &mut Text) {
        let mut early: Vec<FunctionId> = self.policy.handler(Event::Enqueue).into_iter().collect();
        let mut early_steals: Vec<StealId> = Vec::new();
        for (index, function) in self.policy.functions.iter().enumerate() {
            let calls = Calls::of(&function.body);
            early.extend(calls.functions.into_iter().filter(|callee| callee.index() >= index));
            early_steals.extend(calls.steals.into_iter().filter(|steal| {
                let phases = self.policy.steals[steal.index()].phases();
                phases.into_iter().max().is_some_and(|last| last.index() >= index)
            }));
        }
        early.sort_unstable();
        early.dedup();
        early_steals.sort_unstable();
        early_steals.dedup();
        if !early.is_empty() || !early_steals.is_empty() {
            out.blank();
        }
        for id in early {
            let (head, _) = self.signature(self.policy.function(id), id);
            out.line(&format!("{head};"));
        }
        for steal in early_steals {
            out.line(&format!("{};", self.steal_signature(steal)));
        }
    }

    /// Emits the function that enqueues a thread in `queue`; there is no other way in.
    fn enter(&self, out: &mut Text, queue: QueueId) {
        let names = &self.names;
        let declared = &self.policy.queues[queue.index()];
        out.blank();
        out.comment(&place(&declared.at), &format!("t => c.{}", declared.name));
        let name = &names.ready[queue.index()];
        self.enter_contract(out, name, &declared.at);
        out.line(&format!("SAAKM_ENTER({name})"));
        out.open("{");
        if let Some(enqueue) = self.policy.handler(Event::Enqueue) {
            if self.walks_queues(enqueue) {
                out.line("SAAKM_READ_QUEUES();");
                out.blank();
            }
            out.line(&format!("{}(s, t, c);", names.functions[enqueue.index()]));
        }
        let key = match declared.by {
            Some(attribute) => {
                format!("{}_thread(t)->{}", names.prefix, names.thread[attribute.index()])
            }
            None => "0".to_owned(),
        };
        let constant = &names.queue_constants[queue.index()];
        out.line(&format!("saakm_ready(s, t, c, {constant}, {key}, reason);"));
        out.close("}");
    }

    fn function(&self, out: &mut Text, id: FunctionId) {
        let function = self.policy.function(id);
        let (head, params) = self.signature(function, id);
        let sums = if self.contracts { self.define_sums(id) } else { Vec::new() };
        let mut body = Body::new(self, function);
        // A function with a result returns on every path.
        body.block(&function.body, function.result.is_none());
        if reports(function) && !ends(&function.body) {
            body.out.line("return false;");
        }
        let is_read = |name: &String| {
            let ids = (0..function.arity).map(LocalId);
            ids.filter(|id| body.name_of(*id) == name).all(|id| body.is_read(id))
        };
        let unread: Vec<String> = params.iter().filter(|name| !is_read(name)).cloned().collect();
        let gaps = body.gaps.take();
        let text = body.out;
        out.blank();
        out.comment(&place(&function.at), &function.doc);
        self.contract(out, id, sums, gaps);
        let shared = self.is_shared(id);
        out.line(&if shared { self.shared_head(function, id) } else { head });
        out.line("{");
        let unused: Vec<&String> =
            params.iter().filter(|name| !text.contains(name) || unread.contains(name)).collect();
        out.indent += 1;
        if (shared || self.is_event(id)) && self.walks_queues(id) {
            out.line("SAAKM_READ_QUEUES();");
            out.blank();
        }
        for name in &unused {
            out.line(&format!("(void){name};"));
        }
        if !unused.is_empty() && !text.is_empty() {
            out.blank();
        }
        out.indent -= 1;
        out.append(text);
        out.line("}");
    }

    /// Whether the runtime calls the function as a handler. It does not call `enqueue`, which each transition to READY contains.
    fn is_event(&self, id: FunctionId) -> bool {
        let handlers = &self.policy.handlers;
        handlers.iter().any(|handler| handler.function == id && handler.event != Event::Enqueue)
    }

    /// Head of a shared function.
    fn shared_head(&self, function: &Function, id: FunctionId) -> String {
        let body = Body::new(self, function);
        let mut params: Vec<String> = parameters(function)
            .map(|id| format!(", {}, {}", c_type(function.locals[id.index()].ty), body.name_of(id)))
            .collect();
        if !body.memos.is_empty() {
            params.push(format!(", memo_t, {}", body.memo_name));
        }
        let result = function.result.map_or("void", c_type);
        let name = &self.names.functions[id.index()];
        format!("SAAKM_SHARED_{}({result}, {name}{})", params.len(), params.concat())
    }

    /// Head of a C function, with the names of its parameters.
    fn signature(&self, function: &Function, id: FunctionId) -> (String, Vec<String>) {
        let body = Body::new(self, function);
        let result = match function.result {
            Some(ty) => c_type(ty).to_owned(),
            None if reports(function) => c_type(Type::BOOL).to_owned(),
            None => "void".to_owned(),
        };
        let mut names = vec!["s".to_owned()];
        let mut params = vec!["saakm_t s".to_owned()];
        for (index, local) in function.params().iter().enumerate() {
            let local_id = LocalId(index as u32);
            if !takes(function, local_id) {
                continue;
            }
            let name = body.name_of(local_id).to_owned();
            params.push(declarator(local.ty, &name));
            names.push(name);
        }
        let name = &self.names.functions[id.index()];
        (format!("SAAKM_LOCAL {result} {name}({})", params.join(", ")), names)
    }
}

/// True if the last statement leaves the function.
fn ends(block: &[crate::ir::Stmt]) -> bool {
    match block.last().map(|stmt| &stmt.kind) {
        Some(StmtKind::Return(_) | StmtKind::Transition { .. }) => true,
        Some(StmtKind::Block(block)) => ends(block),
        _ => false,
    }
}
