//! Formatting of the policy and its items.

use super::Printer;
use super::expression::{Place, expr, extreme_word, keys, operand_place, order, parenthesised, ty};
use super::layout::Layout::{Blank, Group, Indent};
use super::layout::{Layout, text};
use crate::syntax::ast::*;

/// Column widths of a table of parameters.
#[derive(Clone, Copy, Default)]
struct Columns {
    name: usize,
    ty: usize,
}

impl Printer<'_> {
    pub(super) fn policy(mut self, policy: &Policy) -> String {
        let named = [&policy.slot, &policy.base].into_iter().flatten().chain(&policy.with);
        let head_end = named.last().unwrap_or(&policy.name).span.end;
        self.begin_documented(&policy.doc, policy.span.start, head_end);
        match &policy.slot {
            Some(slot) => self.write(&format!("feature {} : {}", policy.name.name, slot.name)),
            None => self.write(&format!("policy {}", policy.name.name)),
        }
        if let Some(base) = &policy.base {
            self.write(&format!(" extends {}", base.name));
        }
        self.write_layout(&features(&policy.with));
        if !policy.with.is_empty() && policy.items.is_empty() && !self.has_comment_in(0, policy.span.end) {
            self.write(";");
            self.comments_behind(policy.span.end);
            self.comments_before(u32::MAX);
            return self.out + "\n";
        }
        self.write(" {");
        self.depth += 1;
        self.fresh = true;
        self.items(&policy.items);
        self.separate = false;
        self.comments_before(policy.span.end);
        self.depth -= 1;
        self.begin_line();
        self.write("}");
        self.comments_behind(policy.span.end);
        self.comments_before(u32::MAX);
        self.out + "\n"
    }

    fn items(&mut self, items: &[Item]) {
        let mut columns = Columns::default();
        for (i, item) in items.iter().enumerate() {
            if i > 0 {
                self.separate |= stands_apart(&items[i - 1].kind, &item.kind);
            }
            if i == 0 || !self.continues_run(&items[i - 1], item) {
                columns = self.columns(&items[i..]);
            }
            let head_end = match &item.kind {
                ItemKind::Param(_)
                | ItemKind::Set(_)
                | ItemKind::Queue(_)
                | ItemKind::Invariant(_)
                | ItemKind::Need(_) => item.span.end,
                ItemKind::Attributes(_) => item.span.start,
                ItemKind::Function(function) => function.body.span.start,
                ItemKind::Handler(handler) => handler.body.span.start,
                ItemKind::Steal(steal) => steal.body_span.start,
                ItemKind::Slot(slot) => slot.body_span.start,
            };
            self.begin_documented(&item.doc, item.span.start, head_end);
            self.item(item, columns);
            self.comments_behind(item.span.end);
        }
    }

    /// True if a parameter belongs to the same table as the previous item.
    fn continues_run(&self, previous: &Item, item: &Item) -> bool {
        let start = item.doc.as_ref().map_or(item.span, |doc| doc.span).start;
        matches!(previous.kind, ItemKind::Param(_)) && !self.blank_line_before(start)
    }

    /// Column widths of the table of parameters at the start of `items`.
    fn columns(&self, items: &[Item]) -> Columns {
        let mut columns = Columns::default();
        for (i, item) in items.iter().enumerate() {
            let ItemKind::Param(param) = &item.kind else { break };
            if i > 0 && !self.continues_run(&items[i - 1], item) {
                break;
            }
            columns.name = columns.name.max(param.name.name.len());
            columns.ty = columns.ty.max(param_type(param).len());
        }
        columns
    }

    fn item(&mut self, item: &Item, columns: Columns) {
        match &item.kind {
            ItemKind::Param(param) => {
                let (name, ty) = (&param.name.name, param_type(param));
                self.write(&format!("param {name:0$} : {ty:1$} = ", columns.name, columns.ty));
                self.write_layout(&Group(vec![expr(&param.default, Place::Anywhere), text(";")]));
            }
            ItemKind::Set(set) => {
                self.write(&format!("set {}", set.name.name));
                if let Some(capacity) = &set.capacity {
                    self.write(" max ");
                    self.write_layout(&Group(vec![expr(capacity, Place::Anywhere), text(";")]));
                } else {
                    self.write(";");
                }
            }
            ItemKind::Attributes(attributes) => self.attributes(attributes, item.span.end),
            ItemKind::Queue(queue) => {
                let order = match &queue.order {
                    QueueOrder::Fifo => "fifo".to_owned(),
                    QueueOrder::List => "list".to_owned(),
                    QueueOrder::Rbtree { by } => format!("rbtree by {}", by.name),
                };
                self.write(&format!("queue {} : {order};", queue.name.name));
            }
            ItemKind::Invariant(invariant) => {
                self.write(&format!("invariant {} : ", invariant.name.name));
                self.write_layout(&Group(vec![expr(&invariant.condition, Place::Anywhere), text(";")]));
            }
            ItemKind::Function(function) => {
                self.function_head(&function.result, &function.name, &function.formals, " {");
                self.block_behind_brace(&function.body);
            }
            ItemKind::Handler(handler) => {
                self.handler_head(handler.event, &handler.formals, " {");
                self.block_behind_brace(&handler.body);
            }
            ItemKind::Steal(steal) => self.steal(steal),
            ItemKind::Slot(slot) => self.slot(slot),
            ItemKind::Need(Need::Queue(name)) => self.write(&format!("queue {};", name.name)),
            ItemKind::Need(Need::Handler { event, formals, .. }) => self.handler_head(*event, formals, ";"),
            ItemKind::Need(Need::Function { result, name, formals }) => {
                self.function_head(result, name, formals, ";");
            }
        }
    }

    fn function_head(&mut self, result: &Option<Type>, name: &Ident, list: &[Formal], end: &'static str) {
        let result = result.as_ref().map_or("void".to_owned(), ty);
        self.write(&format!("{result} {}", name.name));
        self.write_layout(&Group(vec![formals(list), text(end)]));
    }

    fn handler_head(&mut self, event: Event, list: &[Formal], end: &'static str) {
        self.write(&format!("on {} ", event.name()));
        self.write_layout(&Group(vec![formals(list), text(end)]));
    }

    fn slot(&mut self, slot: &Slot) {
        self.write(&format!("slot {} {{", slot.name.name));
        self.comments_behind(slot.body_span.start + 1);
        self.depth += 1;
        self.fresh = true;
        self.items(&slot.items);
        self.separate = false;
        self.comments_before(slot.body_span.end);
        self.depth -= 1;
        self.begin_line();
        self.write("}");
    }

    fn attributes(&mut self, attributes: &Attributes, end: u32) {
        self.write(match attributes.owner {
            Owner::Global => "global {",
            Owner::Thread => "thread {",
            Owner::Core => "core {",
        });
        if attributes.fields.is_empty() && !self.has_comment_in(0, end) {
            return self.write(" }");
        }
        self.depth += 1;
        self.fresh = true;
        for field in &attributes.fields {
            self.begin_documented(&field.doc, field.span.start, field.span.end);
            self.write(&format!("{} ", ty(&field.ty)));
            self.write_layout(&Group(vec![Indent(field_names(&field.names)), text(";")]));
            self.comments_behind(field.span.end);
        }
        self.comments_before(end);
        self.depth -= 1;
        self.begin_line();
        self.write("}");
    }

    fn steal(&mut self, steal: &Steal) {
        let (thief, victims) = (formal(&steal.thief), formal(&steal.victims));
        self.write(&format!("steal {} ({thief}, {victims}) {{", steal.name.name));
        self.comments_behind(steal.body_span.start + 1);
        self.depth += 1;
        self.fresh = true;
        self.phase("can_steal_core", &steal.can_steal_core);
        if let Some(select) = &steal.select_core {
            self.begin_documented(&select.doc, select.span.start, select.span.end);
            let mut parts = vec![
                text(format!(
                    "select_core ({}) {} by ",
                    formal(&select.subject),
                    extreme_word(select.extreme)
                )),
                keys(&select.by),
            ];
            if let Some(found) = &select.order {
                parts.extend([Indent(vec![Blank, order(found)])]);
            }
            parts.push(text(";"));
            self.write_layout(&Group(parts));
            self.comments_behind(select.span.end);
        }
        self.phase("steal_thread", &steal.steal_thread);
        self.stop_phase("stop_core", &steal.stop_core);
        self.stop_phase("stop", &steal.stop);
        self.phase("move", &steal.move_thread);
        self.comments_before(steal.body_span.end);
        self.depth -= 1;
        self.begin_line();
        self.write("}");
    }

    fn phase(&mut self, word: &str, phase: &Option<Phase>) {
        if let Some(phase) = phase {
            let head = format!("{word} ({}) {{", formal(&phase.subject));
            self.phase_block(&head, &phase.doc, &phase.body, phase.span);
        }
    }

    fn stop_phase(&mut self, word: &str, phase: &Option<StopPhase>) {
        if let Some(phase) = phase {
            self.phase_block(&format!("{word} {{"), &phase.doc, &phase.body, phase.span);
        }
    }

    /// A phase with one short statement is written on one line.
    fn phase_block(&mut self, head: &str, doc: &Option<Doc>, body: &Block, span: Span) {
        self.begin_documented(doc, span.start, body.span.start);
        self.write(head);
        match self.one_line_block(body, head.len()) {
            Some(line) => self.write(&line),
            None => self.block_behind_brace(body),
        }
        self.comments_behind(span.end);
    }
}

/// True if two such items are always separated by a blank line.
fn stands_apart(above: &ItemKind, below: &ItemKind) -> bool {
    let small = |kind: &ItemKind| {
        matches!(
            kind,
            ItemKind::Param(_)
                | ItemKind::Set(_)
                | ItemKind::Queue(_)
                | ItemKind::Invariant(_)
                | ItemKind::Need(_)
        )
    };
    !(small(above) && small(below) && std::mem::discriminant(above) == std::mem::discriminant(below))
}

/// The features of a policy, as in ` with a, b`.
fn features(names: &[Ident]) -> Layout {
    let mut parts = Vec::new();
    for (i, name) in names.iter().enumerate() {
        parts.extend([text(if i == 0 { " with" } else { "," }), Blank, text(name.name.clone())]);
    }
    Group(vec![Indent(parts)])
}

fn param_type(param: &Param) -> String {
    let Some(range) = &param.range else { return ty(&param.ty) };
    let bound = |bound: &Expr| expr(bound, operand_place()).flat();
    format!("{} in {}..{}", ty(&param.ty), bound(&range.low), bound(&range.high))
}

fn field_names(names: &[FieldName]) -> Vec<Layout> {
    let mut parts = Vec::new();
    for (i, field) in names.iter().enumerate() {
        if i > 0 {
            parts.extend([text(","), Blank]);
        }
        parts.push(text(field.name.name.clone()));
        if let Some(initial) = &field.initial {
            parts.extend([text(" = "), expr(initial, Place::Anywhere)]);
        }
    }
    parts
}

fn formals(list: &[Formal]) -> Layout {
    parenthesised(list.iter().map(formal).collect())
}

fn formal(formal: &Formal) -> String {
    format!("{} {}", ty(&formal.ty), formal.name.name)
}
