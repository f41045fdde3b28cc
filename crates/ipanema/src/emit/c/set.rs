//! Set expressions, evaluated word by word so that an expression of any length takes one pass.

use super::body::{Body, C, level};
use super::contract::Pass;
use crate::ir::effects::{Access, Effects};
use crate::ir::{Expr, ExprKind, KeptSet, SetId, SetOp, Type};

impl Body<'_> {
    /// Address and constant of a set of the policy.
    pub fn own_set(&self, set: SetId) -> (String, &str) {
        let names = &self.unit.names;
        let pointer = format!("&{}_state(s)->{}", names.prefix, names.sets[set.index()]);
        (pointer, &names.set_constants[set.index()])
    }

    /// Expression for word `w` of a set.
    pub fn set_words(&mut self, set: &Expr) -> C {
        self.words_among(set, None)
    }

    /// The same for the members that are in `among`, an expression for a word too.
    fn words_among(&mut self, set: &Expr, mut among: Option<C>) -> C {
        let words = match &set.kind {
            ExprKind::SetOp { op: SetOp::Intersection, .. } => {
                let mut operands = Vec::new();
                intersected(set, &mut operands);
                // Sets that cores write are read last, for the cores that are left.
                operands.sort_by_key(|set| kept_constant(set).is_some());
                for operand in operands {
                    among = Some(self.words_among(operand, among));
                }
                return among.unwrap_or(C::atom("0"));
            }
            ExprKind::SetOp { op: SetOp::Difference, left, right } => {
                let left = self.words_among(left, among);
                let atom = left.level == level::ATOM && kept_constant(right).is_some();
                let right = self.words_among(right, atom.then(|| C::atom(left.text.clone())));
                return C::new(
                    format!("{} & ~{}", left.within(level::BIT_AND), right.within(level::UNARY)),
                    level::BIT_AND,
                );
            }
            ExprKind::SetOp { op: SetOp::Union, left, right } => {
                let (left, right) = (self.set_words(left), self.set_words(right));
                let side = |c: C| {
                    if c.level == level::BIT_AND { format!("({})", c.text) } else { c.within(level::BIT_OR) }
                };
                C::new(format!("{} | {}", side(left), side(right)), level::BIT_OR)
            }
            ExprKind::Conditional { test, then, otherwise } => {
                let test = self.expr(test);
                let test = self.temporary(Type::BOOL, "choice", test);
                let then = self.set_words(then).within(level::OR);
                let otherwise = self.set_words(otherwise).within(level::OR);
                C::new(format!("{} ? {then} : {otherwise}", test.text), level::CONDITIONAL)
            }
            _ => match (kept_constant(set), &among) {
                (Some(kept), Some(cores)) => {
                    return C::atom(format!("saakm_members_among(s, {kept}, w, {})", cores.text));
                }
                (Some(kept), None) => C::atom(format!("saakm_members(s, {kept}, w)")),
                (None, _) => C::atom(self.stored_set(set, "->word[w]", ".word[w]")),
            },
        };
        match among {
            Some(cores) => C::new(
                format!("{} & {}", cores.within(level::BIT_AND), words.within(level::BIT_AND)),
                level::BIT_AND,
            ),
            None => words,
        }
    }

    /// Variable of the loop over groups that encloses the set, if it can be determined.
    pub fn within(&self, set: &Expr) -> Option<String> {
        match &set.kind {
            ExprKind::CoresOf(domain) => match domain.kind {
                ExprKind::Local(id) if self.is_group(id) => Some(self.name_of(id).to_owned()),
                _ => None,
            },
            ExprKind::SetOp { op: SetOp::Intersection, left, right } => {
                self.within(left).or_else(|| self.within(right))
            }
            ExprKind::SetOp { op: SetOp::Difference, left, .. } => self.within(left),
            _ => None,
        }
    }

    /// A runtime macro that takes one pass over a set: `SAAKM_EMPTY`, `SAAKM_COUNT`, `SAAKM_FIRST`.
    pub fn pass(&mut self, what: Pass, set: &Expr) -> String {
        let name = match what {
            Pass::First => "SAAKM_FIRST",
            Pass::Empty => "SAAKM_EMPTY",
            Pass::Count => "SAAKM_COUNT",
        };
        if let (Pass::Count, ExprKind::CoresOf(domain)) = (what, &set.kind) {
            return self.size(set, domain);
        }
        let words = self.set_words(set).text;
        let contract = self.pass_contract(what, set, None);
        match self.within(set) {
            Some(group) => format!("{name}_IN(s, {group}, w, {words}{contract})"),
            None => format!("{name}(s, w, {words}{contract})"),
        }
    }

    /// Number of cores of a domain, which the runtime knows.
    fn size(&mut self, set: &Expr, domain: &Expr) -> String {
        let domain = self.domain(domain);
        let contract = self.pass_contract(Pass::Count, set, None);
        format!("SAAKM_SIZE(s, {domain}, w, {domain}->cores.word[w]{contract})")
    }

    /// Pointer to a domain.
    fn domain(&mut self, domain: &Expr) -> String {
        match &domain.kind {
            // The core is computed once, not once per word.
            ExprKind::DomainOf { core, level } if !matches!(core.kind, ExprKind::Local(_)) => {
                let core = Expr {
                    kind: ExprKind::DomainOf { core: core.clone(), level: *level },
                    ty: Type::DOMAIN,
                    span: domain.span,
                };
                let value = self.expr(&core);
                self.temporary(Type::DOMAIN, "around", value).text
            }
            _ => self.simple(domain, "domain"),
        }
    }

    /// A set in memory: `arrow` is appended to a pointer, `dot` to the set itself.
    fn stored_set(&mut self, set: &Expr, arrow: &str, dot: &str) -> String {
        let prefix = self.unit.names.prefix.clone();
        match &set.kind {
            ExprKind::Local(id) => format!("{}{arrow}", self.name_of(*id)),
            ExprKind::Kept(KeptSet::Online) => format!("saakm_online(s){arrow}"),
            ExprKind::ThreadField { thread, .. } => {
                let thread = self.simple(thread, "thread");
                format!("saakm_affinity({thread}){arrow}")
            }
            ExprKind::CoresOf(domain) => {
                let domain = self.domain(domain);
                format!("{domain}->cores{dot}")
            }
            ExprKind::Set(id) => {
                let field = &self.unit.names.sets[id.index()];
                format!("{prefix}_state(s)->{field}{dot}")
            }
            ExprKind::Global(id) => {
                let field = &self.unit.names.globals[id.index()];
                format!("{prefix}_state(s)->{field}{dot}")
            }
            ExprKind::Thread { attribute, thread } => {
                let thread = self.simple(thread, "thread");
                let field = &self.unit.names.thread[attribute.index()];
                format!("{prefix}_thread({thread})->{field}{dot}")
            }
            ExprKind::Core { attribute, core } => {
                let core = self.simple(core, "core");
                let field = &self.unit.names.core[attribute.index()];
                format!("{prefix}_core(s, {core})->{field}{dot}")
            }
            _ => {
                // Other sets are computed and need a copy.
                let name = self.copy(set, "set");
                format!("{name}{arrow}")
            }
        }
    }

    /// Address of a set in memory.
    fn address(&mut self, set: &Expr) -> String {
        let path = self.stored_set(set, "", ".");
        match path.strip_suffix('.') {
            Some(lvalue) => format!("&{lvalue}"),
            None => path,
        }
    }

    /// Emits a temporary copy of a set.
    pub fn copy(&mut self, set: &Expr, wish: &str) -> String {
        let members = self.members_to_copy(set);
        let name = self.fresh(wish);
        self.declare_copy(&name, set, &members);
        name
    }

    /// Declares set `name`, a copy of `set`.
    pub fn declare_copy(&mut self, name: &str, set: &Expr, members: &Members) {
        self.out.line(&format!("SAAKM_SET({name});"));
        let contract = self.assign_contract(set, name, &format!("{name}_storage"));
        self.out.line(&members.assign_to(name, &contract));
    }

    /// What a copy of a set is made of.
    pub fn members_to_copy(&mut self, set: &Expr) -> Members {
        let mut operands = Vec::new();
        intersected(set, &mut operands);
        operands.sort_by_key(|set| kept_constant(set).is_some());
        let kept = operands.pop().and_then(kept_constant);
        match (kept, &operands[..]) {
            (Some(kept), []) => Members::Kept { kept, among: None },
            (Some(kept), [among]) if !is_composed(among) && kept_constant(among).is_none() => {
                Members::Kept { kept, among: Some(self.address(among)) }
            }
            _ => Members::Words(self.set_words(set).text),
        }
    }

    /// Address of a set for a callee with the given effects. Sets are passed by value, so it is a
    /// copy if the callee can change the set.
    pub fn set_pointer(&mut self, set: &Expr, wish: &str, callee: Option<&Effects>) -> String {
        if is_composed(set)
            || kept_constant(set).is_some()
            || callee.is_some_and(|effects| changes(effects, set))
        {
            self.copy(set, wish)
        } else {
            self.address(set)
        }
    }

    pub fn set_pointer_of_choice(&mut self, test: &Expr, then: &Expr, otherwise: &Expr) -> String {
        let kind = ExprKind::Conditional {
            test: Box::new(test.clone()),
            then: Box::new(then.clone()),
            otherwise: Box::new(otherwise.clone()),
        };
        let choice = Expr { kind, ty: Type::SET, span: test.span };
        self.copy(&choice, "set")
    }

    /// Emits `core in set`.
    pub fn is_in(&mut self, core: &Expr, set: &Expr) -> C {
        let name = self.simple(core, "core");
        let test = self.membership(&name, set);
        if !core.ty.optional {
            return test;
        }
        let text = format!("{name} != SAAKM_NO_CORE && {}", test.within(level::AND + 1));
        C::new(text, level::AND)
    }

    fn membership(&mut self, core: &str, set: &Expr) -> C {
        let (op, left, right) = match &set.kind {
            ExprKind::SetOp { op, left, right } => (op, left, right),
            ExprKind::Conditional { test, then, otherwise } => {
                let test = self.expr(test);
                let test = self.temporary(Type::BOOL, "choice", test);
                let then = self.membership(core, then).within(level::OR);
                let otherwise = self.membership(core, otherwise).within(level::OR);
                return C::new(format!("{} ? {then} : {otherwise}", test.text), level::CONDITIONAL);
            }
            _ => {
                return C::atom(match kept_constant(set) {
                    Some(kept) => format!("saakm_is_in(s, {kept}, {core})"),
                    None => format!("saakm_has({}, {core})", self.address(set)),
                });
            }
        };
        let (left, right) = (self.membership(core, left), self.membership(core, right));
        match op {
            SetOp::Union => {
                let side = |c: C| {
                    if c.level == level::AND { format!("({})", c.text) } else { c.within(level::OR) }
                };
                C::new(format!("{} || {}", side(left), side(right)), level::OR)
            }
            SetOp::Intersection => {
                let text = format!("{} && {}", left.within(level::AND), right.within(level::AND));
                C::new(text, level::AND)
            }
            SetOp::Difference => {
                let text = format!("{} && !{}", left.within(level::AND), right.within(level::UNARY));
                C::new(text, level::AND)
            }
        }
    }
}

/// What is assigned to a set.
pub enum Members {
    /// An expression for word `w`.
    Words(String),
    /// A set that cores write, or those of its members that are in a set in memory: the runtime copies them.
    Kept { kept: &'static str, among: Option<String> },
}

impl Members {
    /// The statement that assigns them to the set behind a pointer.
    pub fn assign_to(&self, pointer: &str, contract: &str) -> String {
        match self {
            Members::Words(words) => format!("SAAKM_ASSIGN(s, {pointer}, w, {words}{contract});"),
            Members::Kept { kept, among: None } => format!("SAAKM_COPY(s, {pointer}, {kept}{contract});"),
            Members::Kept { kept, among: Some(among) } => {
                format!("SAAKM_COPY_AMONG(s, {pointer}, {kept}, {among}{contract});")
            }
        }
    }
}

/// Whether a set is computed word by word.
fn is_composed(set: &Expr) -> bool {
    matches!(set.kind, ExprKind::SetOp { .. } | ExprKind::Conditional { .. })
}

/// The constant of a set that cores write all the time. It is no single piece of memory (`saakm_members`).
fn kept_constant(set: &Expr) -> Option<&'static str> {
    match &set.kind {
        ExprKind::Kept(KeptSet::Idle) => Some("SAAKM_KEPT_IDLE"),
        ExprKind::Kept(KeptSet::IdleWhole) => Some("SAAKM_KEPT_WHOLE"),
        ExprKind::Kept(KeptSet::Waiting) => Some("SAAKM_KEPT_WAITING"),
        _ => None,
    }
}

/// The operands of an intersection of intersections.
fn intersected<'e>(set: &'e Expr, operands: &mut Vec<&'e Expr>) {
    match &set.kind {
        ExprKind::SetOp { op: SetOp::Intersection, left, right } => {
            intersected(left, operands);
            intersected(right, operands);
        }
        _ => operands.push(set),
    }
}

/// True if the effects can change the set.
pub fn changes(effects: &Effects, set: &Expr) -> bool {
    let written =
        |test: &dyn Fn(&Access) -> bool| effects.writes.iter().any(test) || !effects.steals.is_empty();
    match &set.kind {
        ExprKind::Set(id) => written(&|access| *access == Access::Set(*id)),
        ExprKind::Global(id) => written(&|access| *access == Access::Global(*id)),
        ExprKind::Thread { attribute, .. } => {
            written(&|a| matches!(a, Access::Thread { attribute: b, .. } if b == attribute))
        }
        ExprKind::Core { attribute, .. } => {
            written(&|a| matches!(a, Access::Core { attribute: b, .. } if b == attribute))
        }
        // The sets of the runtime change only through transitions.
        ExprKind::Kept(_) => effects.moves || !effects.steals.is_empty(),
        ExprKind::SetOp { left, right, .. } => changes(effects, left) || changes(effects, right),
        ExprKind::Conditional { then, otherwise, .. } => {
            changes(effects, then) || changes(effects, otherwise)
        }
        // Affinities and domains are constant, and a callee cannot assign a variable.
        _ => false,
    }
}
