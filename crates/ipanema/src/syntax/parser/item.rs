//! Policies and their items.

use super::{Failed, Parse, Parser};
use crate::diagnostic::Diagnostic;
use crate::syntax::ast::*;
use crate::syntax::codes;
use crate::syntax::token::TokenKind;
use hearth_base::suggest::closest;

/// Tokens that begin an item and nothing else.
pub(super) fn begins_item_anywhere(kind: TokenKind) -> bool {
    use TokenKind::*;
    matches!(kind, Policy | Param | Global | Queue | Invariant | On | Steal)
}

fn begins_item(kind: TokenKind) -> bool {
    begins_item_anywhere(kind) || kind == TokenKind::Void || base_type(kind).is_some()
}

/// Type named by a keyword.
pub(super) fn base_type(kind: TokenKind) -> Option<BaseType> {
    Some(match kind {
        TokenKind::Bool => BaseType::Bool,
        TokenKind::Int => BaseType::Int,
        TokenKind::Time => BaseType::Time,
        TokenKind::Frequency => BaseType::Frequency,
        TokenKind::Load => BaseType::Load,
        TokenKind::Core => BaseType::Core,
        TokenKind::Thread => BaseType::Thread,
        TokenKind::Domain => BaseType::Domain,
        TokenKind::Set => BaseType::Set,
        _ => return None,
    })
}

const ITEM_WORDS: &[&str] =
    &["param", "set", "global", "thread", "core", "queue", "invariant", "on", "steal", "slot"];

const PHASES: [&str; 6] = ["can_steal_core", "select_core", "steal_thread", "stop_core", "stop", "move"];

impl Parser<'_> {
    pub(super) fn policy(&mut self) -> Parse<Policy> {
        let mut policy = self.head()?;
        // A policy may consist of features alone.
        if policy.with.is_empty() || !self.eat(TokenKind::Semicolon) {
            let open = self.expect(TokenKind::LeftBrace)?;
            policy.items = self.items();
            self.end_of_items(open);
        }
        policy.span = self.span_from(policy.span);
        if !self.at(TokenKind::End) {
            let help = "a file contains one policy; check for an extra `}` before this".to_owned();
            self.unexpected_help("the end of the file", Some(help));
        }
        Ok(policy)
    }

    /// What comes before the items.
    fn head(&mut self) -> Parse<Policy> {
        let doc = self.doc();
        let span = self.token().span;
        let (mut slot, mut base, mut with) = (None, None, Vec::new());
        let name;
        if self.eat_word("feature") {
            name = self.policy_name()?;
            if !self.eat(TokenKind::Colon) {
                let help = "a feature names its slot: `feature fifo : election { ... }`".to_owned();
                return Err(self.unexpected_help("`:`", Some(help)));
            }
            slot = Some(self.ident("the name of a slot")?);
        } else if self.eat(TokenKind::Policy) {
            name = self.policy_name()?;
            if self.eat(TokenKind::Extends) {
                base = Some(self.policy_name()?);
                if self.eat_word("with") {
                    with.push(self.policy_name()?);
                    while self.eat(TokenKind::Comma) {
                        with.push(self.policy_name()?);
                    }
                }
            } else if !self.at(TokenKind::LeftBrace) {
                return Err(self.unexpected_word("`extends` or `{`", &["extends"]));
            }
        } else {
            let help = "a file contains one policy: `policy name extends cfs { ... }`".to_owned();
            return Err(self.unexpected_help("`policy`", Some(help)));
        }
        Ok(Policy { doc, name, slot, base, with, items: Vec::new(), span })
    }

    fn end_of_items(&mut self, open: Span) {
        if self.at(TokenKind::End) {
            let diagnostic = Diagnostic::error(
                codes::UNCLOSED,
                self.token().span,
                "expected `}`, found the end of the file",
            )
            .at("expected `}`")
            .label(open, "the policy begins here");
            self.report(diagnostic);
        } else {
            self.bump();
        }
    }

    /// Words joined by hyphens, as in file names: `cfs-cwc`. The name of a product joins features: `fifo+fixed`.
    fn policy_name(&mut self) -> Parse<Ident> {
        let mut name = self.ident("the name of a policy")?;
        while matches!(self.kind(), TokenKind::Minus | TokenKind::Plus) {
            let (hyphen, word) = (self.token(), self.ahead(1));
            let is_word = matches!(word.kind, TokenKind::Ident | TokenKind::Number) || word.kind.is_keyword();
            let touch = name.span.end == hyphen.span.start && hyphen.span.end == word.span.start;
            if !(is_word && touch) || self.text_of(word).contains('.') {
                let help = "in the name of a policy, `-` joins words without spaces: `cfs-cwc`";
                return Err(self.unexpected_help("`extends` or `{`", Some(help.to_owned())));
            }
            self.bump();
            self.bump();
            name.name.push_str(self.text_of(hyphen));
            name.name.push_str(self.text_of(word));
            name.span = name.span.to(word.span);
        }
        Ok(name)
    }

    /// Parses items up to the `}` of the policy, or the end of the file.
    fn items(&mut self) -> Vec<Item> {
        let mut items = Vec::new();
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End) {
            match self.item() {
                Ok(item) => items.push(item),
                Err(Failed) => self.skip_to(begins_item),
            }
        }
        items
    }

    fn item(&mut self) -> Parse<Item> {
        let doc = self.doc();
        let start = self.token().span;
        let opens_block = self.ahead(1).kind == TokenKind::LeftBrace;
        let kind = match self.kind() {
            TokenKind::Param => ItemKind::Param(self.param()?),
            TokenKind::Global => ItemKind::Attributes(self.attributes(Owner::Global)?),
            TokenKind::Thread if opens_block => ItemKind::Attributes(self.attributes(Owner::Thread)?),
            TokenKind::Core if opens_block => ItemKind::Attributes(self.attributes(Owner::Core)?),
            TokenKind::Set if self.ahead(2).kind != TokenKind::LeftParen => ItemKind::Set(self.set()?),
            TokenKind::Queue => ItemKind::Queue(self.queue()?),
            TokenKind::Invariant => ItemKind::Invariant(self.invariant()?),
            TokenKind::On => ItemKind::Handler(self.handler()?),
            TokenKind::Steal => ItemKind::Steal(self.steal()?),
            TokenKind::Ident if self.at_word("slot") && self.ahead(2).kind == TokenKind::LeftBrace => {
                ItemKind::Slot(self.slot()?)
            }
            kind if kind == TokenKind::Void || base_type(kind).is_some() => {
                ItemKind::Function(self.function()?)
            }
            _ => return Err(self.unexpected_item()),
        };
        Ok(Item { doc, kind, span: self.span_from(start) })
    }

    /// `slot name { items }`
    fn slot(&mut self) -> Parse<Slot> {
        self.bump();
        let name = self.ident("the name of a slot")?;
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut items = Vec::new();
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End) {
            match self.part_of_slot() {
                Ok(item) => items.push(item),
                Err(Failed) => self.skip_to(begins_item),
            }
        }
        self.close(TokenKind::RightBrace, open)?;
        Ok(Slot { name, items, body_span: self.span_from(open) })
    }

    /// A queue, a handler or a function. Without a body, it is a need.
    fn part_of_slot(&mut self) -> Parse<Item> {
        let doc = self.doc();
        let start = self.token().span;
        let kind = match self.kind() {
            TokenKind::Queue => {
                self.bump();
                let name = self.ident("the name of a queue")?;
                self.semicolon()?;
                ItemKind::Need(Need::Queue(name))
            }
            TokenKind::On => {
                let (event, event_span, formals) = self.handler_head()?;
                match self.eat(TokenKind::Semicolon) {
                    true => ItemKind::Need(Need::Handler { event, event_span, formals }),
                    false => {
                        let body = self.block()?;
                        ItemKind::Handler(Handler { event, event_span, formals, body })
                    }
                }
            }
            kind if kind == TokenKind::Void || base_type(kind).is_some() => {
                let (result, name, formals) = self.function_head()?;
                match self.eat(TokenKind::Semicolon) {
                    true => ItemKind::Need(Need::Function { result, name, formals }),
                    false => {
                        let body = self.block()?;
                        ItemKind::Function(Function { result, name, formals, body })
                    }
                }
            }
            _ => {
                let help = "a slot has queues, handlers and functions; a body makes a default".to_owned();
                return Err(self.unexpected_help("a part of the slot", Some(help)));
            }
        };
        Ok(Item { doc, kind, span: self.span_from(start) })
    }

    fn unexpected_item(&mut self) -> Failed {
        let token = self.token();
        let word = self.text_of(token);
        if token.kind == TokenKind::Ident && self.ahead(1).kind == TokenKind::LeftParen {
            let help = match Event::from_name(word) {
                Some(_) => format!("to handle an event, write `on {word} (...)`"),
                None => format!("a function begins with its result type: `void {word}(...)`"),
            };
            return self.unexpected_help("a declaration", Some(help));
        }
        if token.kind == TokenKind::Ident
            && self.ahead(1).kind == TokenKind::Ident
            && closest(word, ITEM_WORDS.iter().copied()).is_none()
        {
            return self.unexpected_type();
        }
        self.unexpected_word("a declaration", ITEM_WORDS)
    }

    /// `param name : type in low..high = default;`
    fn param(&mut self) -> Parse<Param> {
        self.expect(TokenKind::Param)?;
        let name = self.ident("the name of a parameter")?;
        self.expect(TokenKind::Colon)?;
        let ty = self.ty()?;
        let range = match self.eat(TokenKind::In) {
            true => Some(self.range()?),
            false => None,
        };
        if !self.at(TokenKind::Assign) {
            let expected = if range.is_some() { "`=`" } else { "`in` or `=`" };
            let help = "a parameter needs a default value: `param d : time in 0us..1ms = 50us;`".to_owned();
            return Err(self.unexpected_help(expected, Some(help)));
        }
        self.bump();
        let default = self.expr()?;
        self.semicolon()?;
        Ok(Param { name, ty, range, default })
    }

    fn range(&mut self) -> Parse<Range> {
        let start = self.token().span;
        let low = self.operand()?;
        self.expect(TokenKind::DotDot)?;
        let high = self.operand()?;
        Ok(Range { low, high, span: self.span_from(start) })
    }

    /// `set name [max capacity];`
    fn set(&mut self) -> Parse<SetDecl> {
        self.expect(TokenKind::Set)?;
        let name = self.ident("the name of a set")?;
        let capacity = match self.eat_word("max") {
            true => Some(self.expr()?),
            false => None,
        };
        if capacity.is_none() && self.at(TokenKind::Ident) && !self.token().starts_line {
            return Err(self.unexpected_word("`max` or `;`", &["max"]));
        }
        self.semicolon()?;
        Ok(SetDecl { name, capacity })
    }

    fn attributes(&mut self, owner: Owner) -> Parse<Attributes> {
        self.bump();
        let open = self.expect(TokenKind::LeftBrace)?;
        let mut fields = Vec::new();
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End)
            && !begins_item_anywhere(self.kind())
        {
            match self.field() {
                Ok(field) => fields.push(field),
                Err(Failed) => self.skip_to(|kind| base_type(kind).is_some()),
            }
        }
        self.close(TokenKind::RightBrace, open)?;
        Ok(Attributes { owner, fields })
    }

    fn field(&mut self) -> Parse<Field> {
        let doc = self.doc();
        let start = self.token().span;
        let ty = self.ty()?;
        let mut names = Vec::new();
        loop {
            let name = self.ident("the name of an attribute")?;
            let initial = match self.eat(TokenKind::Assign) {
                true => Some(self.expr()?),
                false => None,
            };
            names.push(FieldName { name, initial });
            if !self.eat(TokenKind::Comma) {
                break;
            }
        }
        self.semicolon()?;
        Ok(Field { doc, ty, names, span: self.span_from(start) })
    }

    /// `queue name : fifo | list | rbtree by attribute;`
    fn queue(&mut self) -> Parse<Queue> {
        self.expect(TokenKind::Queue)?;
        let name = self.ident("the name of a queue")?;
        self.expect(TokenKind::Colon)?;
        let order = if self.eat_word("fifo") {
            QueueOrder::Fifo
        } else if self.eat_word("list") {
            QueueOrder::List
        } else if self.eat_word("rbtree") {
            if !self.eat_word("by") {
                let help = "an rbtree needs a sort key: `rbtree by vruntime`".to_owned();
                return Err(self.unexpected_help("`by`", Some(help)));
            }
            QueueOrder::Rbtree { by: self.ident("an attribute of threads")? }
        } else {
            return Err(self.unexpected_word("`fifo`, `list` or `rbtree`", &["fifo", "list", "rbtree"]));
        };
        self.semicolon()?;
        Ok(Queue { name, order })
    }

    /// `invariant name : condition;`
    fn invariant(&mut self) -> Parse<Invariant> {
        self.expect(TokenKind::Invariant)?;
        let name = self.ident("the name of an invariant")?;
        if !self.at(TokenKind::Colon) {
            let help = "an invariant needs a name: `invariant disjoint : empty(a & b);`".to_owned();
            return Err(self.unexpected_help("`:`", Some(help)));
        }
        self.bump();
        let condition = self.expr()?;
        self.semicolon()?;
        Ok(Invariant { name, condition })
    }

    fn function(&mut self) -> Parse<Function> {
        let (result, name, formals) = self.function_head()?;
        let body = self.block()?;
        Ok(Function { result, name, formals, body })
    }

    fn function_head(&mut self) -> Parse<(Option<Type>, Ident, Vec<Formal>)> {
        let result = match self.eat(TokenKind::Void) {
            true => None,
            false => Some(self.ty()?),
        };
        let name = self.ident("the name of a function")?;
        if !self.at(TokenKind::LeftParen) {
            let help = "declare variables in `global { }`, `thread { }` or `core { }`".to_owned();
            return Err(self.unexpected_help("`(`", Some(help)));
        }
        Ok((result, name, self.formals()?))
    }

    fn handler(&mut self) -> Parse<Handler> {
        let (event, event_span, formals) = self.handler_head()?;
        let body = self.block()?;
        Ok(Handler { event, event_span, formals, body })
    }

    fn handler_head(&mut self) -> Parse<(Event, Span, Vec<Formal>)> {
        self.expect(TokenKind::On)?;
        let token = self.token();
        let word = self.text_of(token);
        if token.kind != TokenKind::Ident {
            return Err(self.unexpected("an event"));
        }
        let Some(event) = Event::from_name(word) else {
            let names = Event::ALL.map(Event::name);
            let message = format!("no event is called `{word}`");
            let help = match closest(word, names) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the events are {}", names.join(", ")),
            };
            let diagnostic = Diagnostic::error(codes::UNKNOWN_EVENT, token.span, message).help(help);
            return Err(self.report(diagnostic));
        };
        self.bump();
        Ok((event, token.span, self.formals()?))
    }

    /// `(type a, type b)`
    fn formals(&mut self) -> Parse<Vec<Formal>> {
        let open = self.expect(TokenKind::LeftParen)?;
        let mut formals = Vec::new();
        if !self.at(TokenKind::RightParen) {
            loop {
                formals.push(self.formal()?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
        }
        self.close(TokenKind::RightParen, open)?;
        Ok(formals)
    }

    fn formal(&mut self) -> Parse<Formal> {
        let start = self.token().span;
        let ty = self.ty()?;
        let name = self.ident("the name of a parameter")?;
        Ok(Formal { ty, name, span: self.span_from(start) })
    }

    /// `(type a)`
    fn subject(&mut self) -> Parse<Formal> {
        let open = self.expect(TokenKind::LeftParen)?;
        let formal = self.formal()?;
        self.close(TokenKind::RightParen, open)?;
        Ok(formal)
    }

    fn steal(&mut self) -> Parse<Steal> {
        self.expect(TokenKind::Steal)?;
        let name = self.ident("the name of a steal")?;
        let open = self.expect(TokenKind::LeftParen)?;
        let thief = self.formal()?;
        if !self.at(TokenKind::Comma) {
            let help =
                "a steal needs a thief and a set of victims: `steal pull (core dst, set from)`".to_owned();
            return Err(self.unexpected_help("`,`", Some(help)));
        }
        self.bump();
        let victims = self.formal()?;
        self.close(TokenKind::RightParen, open)?;

        let open = self.expect(TokenKind::LeftBrace)?;
        let mut steal = Steal {
            name,
            thief,
            victims,
            can_steal_core: None,
            select_core: None,
            steal_thread: None,
            stop_core: None,
            stop: None,
            move_thread: None,
            body_span: open,
        };
        // Index in PHASES of the first phase that may still follow.
        let mut next = 0;
        while !matches!(self.kind(), TokenKind::RightBrace | TokenKind::End)
            && !begins_item_anywhere(self.kind())
        {
            if let Err(Failed) = self.phase(&mut steal, &mut next) {
                self.skip_to(|_| false);
            }
        }
        self.close(TokenKind::RightBrace, open)?;
        steal.body_span = self.span_from(open);
        Ok(steal)
    }

    fn phase(&mut self, steal: &mut Steal, next: &mut usize) -> Parse<()> {
        let doc = self.doc();
        let start = self.token().span;
        let word = self.text_of(self.token());
        let Some(index) = PHASES.iter().position(|phase| *phase == word) else {
            return Err(self.unexpected_word("a phase of the steal", &PHASES));
        };
        if index < *next {
            let message = match index + 1 == *next {
                true => format!("duplicate phase `{word}`"),
                false => format!("phase `{word}` is out of order"),
            };
            let diagnostic = Diagnostic::error(codes::STEAL_PHASES, start, message)
                .help(format!("each phase occurs at most once, in this order: {}", PHASES.join(", ")));
            self.report(diagnostic);
        }
        self.bump();

        match word {
            "select_core" => {
                let subject = self.subject()?;
                let (extreme, by) = self.select_core_key()?;
                let order = self.order()?;
                self.semicolon()?;
                let span = self.span_from(start);
                steal.select_core = Some(SelectCore { doc, subject, extreme, by, order, span });
            }
            "stop_core" | "stop" => {
                if self.at(TokenKind::LeftParen) {
                    let help = format!("`{word}` has no parameter: write `{word} {{ ... }}`");
                    return Err(self.unexpected_help("`{`", Some(help)));
                }
                let body = self.block()?;
                let phase = StopPhase { doc, body, span: self.span_from(start) };
                match word {
                    "stop" => steal.stop = Some(phase),
                    _ => steal.stop_core = Some(phase),
                }
            }
            _ => {
                let subject = self.subject()?;
                let body = self.block()?;
                let phase = Phase { doc, subject, body, span: self.span_from(start) };
                match word {
                    "can_steal_core" => steal.can_steal_core = Some(phase),
                    "steal_thread" => steal.steal_thread = Some(phase),
                    _ => steal.move_thread = Some(phase),
                }
            }
        }
        *next = (*next).max(index + 1);
        Ok(())
    }

    /// `max|min by expr, ...`
    fn select_core_key(&mut self) -> Parse<(Extreme, Vec<Expr>)> {
        let extreme = if self.eat_word("max") {
            Extreme::Max
        } else if self.eat_word("min") {
            Extreme::Min
        } else {
            let help =
                "`select_core` needs an order: `select_core (core src) max by src.nr_running;`".to_owned();
            return Err(self.unexpected_help("`max` or `min`", Some(help)));
        };
        if !self.eat_word("by") {
            return Err(self.unexpected_word("`by`", &["by"]));
        }
        Ok((extreme, self.keys()?))
    }

    /// A type, possibly optional.
    pub(super) fn ty(&mut self) -> Parse<Type> {
        let token = self.token();
        let Some(base) = base_type(token.kind) else {
            return Err(self.unexpected_type());
        };
        self.bump();
        let optional = self.eat(TokenKind::Question);
        let span = self.span_from(token.span);
        if optional && !base.can_be_optional() {
            let message = format!("`{}` cannot be optional", base.name());
            let help = "only a core, a thread or a domain can be `none`";
            self.report(Diagnostic::error(codes::BAD_OPTIONAL, span, message).help(help));
        }
        if self.at(TokenKind::Star) {
            let message = "Ipanema has no pointers".to_owned();
            let help = format!("write `{}`, or `{}?` if the value may be none", base.name(), base.name());
            self.report(Diagnostic::error(codes::NOT_IPANEMA, self.token().span, message).help(help));
            while self.eat(TokenKind::Star) {}
        }
        Ok(Type { base, optional, span })
    }

    pub(super) fn unexpected_type(&mut self) -> Failed {
        let token = self.token();
        let help = match self.text_of(token) {
            "struct" | "enum" | "union" => {
                Some("Ipanema has no structures: declare attributes in `thread { }` or `core { }`".into())
            }
            "u8" | "u16" | "u32" | "u64" | "s32" | "s64" | "i32" | "i64" | "unsigned" | "signed" | "long"
            | "short" | "uint64_t" | "int64_t" | "uint32_t" | "int32_t" | "size_t" => {
                Some("numbers are `int` (64 bits, signed)".into())
            }
            "float" | "double" => Some(
                "Ipanema has no floating-point numbers: use `load` (1024 is a busy core) or `int`".into(),
            ),
            "char" | "string" => Some("Ipanema has no strings".into()),
            "void" => Some("only a function can be `void`".into()),
            "task" | "task_struct" => Some("did you mean `thread`?".into()),
            "cpu" => Some("did you mean `core`?".into()),
            word => {
                closest(word, BaseType::ALL.map(BaseType::name)).map(|near| format!("did you mean `{near}`?"))
            }
        };
        self.unexpected_help("a type", help)
    }
}
