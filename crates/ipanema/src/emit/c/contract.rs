//! Contracts in ACSL beside the emitted C, for `hearth prove --code`.
//!
//! They are comments: of each function, of each loop (the last arguments of its macro), and after
//! each search. Without them the C is the same, token by token.

use std::cell::RefCell;

use super::Unit;
use super::body::{Body, takes};
use super::logic::{Elements, Env, Logic, assigned, bound, none};
use super::text::Text;
use crate::ir::effects::Effects;
use crate::ir::{
    Attribute, BaseType, Block, Expr, ExprKind, Extreme, FunctionId, Iteration, LocalId, OrderKind, Over,
    Place, Search, Select, Steal, Type,
};

/// C with contracts, and what they are about.
#[derive(Clone, Debug)]
pub struct Contracts {
    pub c: String,
    pub functions: Vec<Contracted>,
}

/// A C function that stands for a part of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contracted {
    pub name: String,
    pub at: Place,
    /// What its contract does not say, and why.
    pub gaps: Vec<String>,
    /// False if it has no contract, and so nothing to prove.
    pub contract: bool,
}

/// What the loop of an iteration computes.
pub enum Loop<'a> {
    First(&'a Search),
    Extreme { search: &'a Search, extreme: Extreme, by: &'a [Expr], best: &'a str, bests: &'a [String] },
    Sum { whole: &'a Expr, key: &'a str, sum: &'a str },
    Body(&'a Block, &'a Effects),
}

/// Functions with their gaps, as they are found.
pub type Found = RefCell<Vec<Contracted>>;

impl Unit<'_> {
    fn changes(&self) -> String {
        let prefix = &self.names.prefix;
        format!(
            "saakm_the, saakm_kept[0 .. 4], {prefix}_the_state, {prefix}_cores[0 .. SAAKM_MAX_CORES - 1], \
             {prefix}_threads[0 .. SAAKM_MAX_THREADS - 1]"
        )
    }

    fn fine(&self) -> String {
        format!("fine && {}_fine", self.names.prefix)
    }

    /// Arguments of `SAAKM_ATTRIBUTES` after the name: contracts of the access functions, and what holds of
    /// attributes at all times.
    pub fn attribute_contracts(&self) -> String {
        if !self.contracts {
            return String::new();
        }
        let prefix = &self.names.prefix;
        let mut holds = Vec::new();
        for (param, name) in self.policy.params.iter().zip(&self.names.params) {
            holds.push(format!("{} <= {prefix}_the_state.{name} <= {}", param.min, param.max));
        }
        let cores = |list: &[Attribute], names: &[String]| -> Vec<String> {
            let is_core = |(a, _): &(&Attribute, &String)| a.ty.base == BaseType::Core;
            list.iter().zip(names).filter(is_core).map(|(_, name)| name.clone()).collect()
        };
        for name in cores(&self.policy.globals, &self.names.globals) {
            holds.push(format!("maybe_core({prefix}_the_state.{name})"));
        }
        for name in cores(&self.policy.core, &self.names.core) {
            holds.push(format!("(\\forall integer c; is_core(c) ==> maybe_core({prefix}_cores[c].{name}))"));
        }
        for name in cores(&self.policy.thread, &self.names.thread) {
            holds.push(format!(
                "(\\forall integer i; 0 <= i < SAAKM_MAX_THREADS ==> maybe_core({prefix}_threads[i].{name}))"
            ));
        }
        holds.push("\\true".into());
        format!(
            ", /*@ assigns \\nothing; ensures \\result == &{prefix}_the_state; */, \
             /*@ requires c < SAAKM_MAX_CORES; assigns \\nothing; ensures \\result == &{prefix}_cores[c]; */, \
             /*@ requires is_thread(t); assigns \\nothing; ensures \\result == &{prefix}_threads[number(t)]; */, \
             /*@ predicate {prefix}_fine{{L}} = {}; */",
            holds.join(" && ")
        )
    }

    /// Records the function that writes initial values, which has no contract: WP does not follow a cast of untyped
    /// memory.
    pub fn without_contract(&self, name: String) {
        if !self.contracts {
            return;
        }
        let at = Place { policy: self.policy.name.clone(), line: 0, span: Default::default() };
        let gaps = vec!["initial values: a cast of untyped memory".into()];
        self.found.borrow_mut().push(Contracted { name, at, gaps, contract: false });
    }

    fn requires(&self, ty: Type, name: &str) -> Option<String> {
        Some(match (ty.base, ty.optional) {
            (BaseType::Core, false) => format!("is_core({name})"),
            (BaseType::Core, true) => format!("maybe_core({name})"),
            (BaseType::Thread, false) => format!("is_thread({name})"),
            (BaseType::Thread, true) => format!("({name} == \\null || is_thread({name}))"),
            (BaseType::Domain, false) => format!("is_domain({name})"),
            (BaseType::Domain, true) => format!("({name} == \\null || is_domain({name}))"),
            (BaseType::Set, _) => format!("\\valid_read({name}->word + (0 .. SAAKM_SET_WORDS - 1))"),
            (BaseType::Bool | BaseType::Int | BaseType::Time | BaseType::Frequency | BaseType::Load, _) => {
                return None;
            }
        })
    }

    /// The contract of a function, before its head.
    pub fn contract(&self, out: &mut Text, id: FunctionId, sums: &[String], gaps: Vec<String>) {
        if !self.contracts {
            return;
        }
        let function = self.policy.function(id);
        let body = Body::new(self, function);
        for line in sums {
            out.line(&format!("/*@ {line} */"));
        }
        let definition = self.definition(id);
        if let Ok(text) = &definition {
            out.line(&format!("/*@ {text} */"));
            self.defined.borrow_mut().insert(id);
        }
        let params: Vec<LocalId> =
            (0..function.arity).map(LocalId).filter(|id| takes(function, *id)).collect();
        let names: Vec<String> = params.iter().map(|id| body.name_of(*id).to_owned()).collect();
        out.open("/*@");
        out.line(&format!("requires {};", self.fine()));
        for (id, name) in params.iter().zip(&names) {
            if let Some(text) = self.requires(function.local(*id).ty, name) {
                out.line(&format!("requires {text};"));
            }
        }
        if let Some(steal) = self.policy.steals.iter().find(|steal| steal.move_thread == id) {
            match self.may_move(steal, &names[0], &names[names.len() - 1]) {
                Ok(text) => out.line(&format!("requires {text};")),
                Err(_) => out.line("requires \\false;"),
            }
        }
        self.effects(out, &function.effects);
        if let (Ok(_), Some(result)) = (&definition, function.result) {
            let is = if result == Type::BOOL { "<==>" } else { "==" };
            let args = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
            out.line(&format!("ensures \\result {is} {}_is{args};", self.names.functions[id.index()]));
        }
        if let Some(text) = function.result.and_then(|ty| self.requires(ty, "\\result")) {
            out.line(&format!("ensures {text};"));
        }
        out.close("*/");
        let name = self.names.functions[id.index()].clone();
        self.found.borrow_mut().push(Contracted { name, at: function.at.clone(), gaps, contract: true });
    }

    fn effects(&self, out: &mut Text, effects: &Effects) {
        if effects.is_pure() {
            out.line("assigns \\nothing;");
            return;
        }
        out.line(&format!("assigns {};", self.changes()));
        out.line(&format!("ensures {};", self.fine()));
        if effects.steals.is_empty() {
            out.line("ensures saakm_the.moves == \\old(saakm_the.moves);");
        }
    }

    /// The contract of the function that enqueues a thread.
    pub fn enter_contract(&self, out: &mut Text, name: &str, at: &Place) {
        if !self.contracts {
            return;
        }
        out.open("/*@");
        out.line(&format!("requires {};", self.fine()));
        out.line("requires is_thread(t) && is_core(c);");
        out.line(&format!("assigns {};", self.changes()));
        out.line(&format!("ensures {};", self.fine()));
        out.line("ensures saakm_the.moves == \\old(saakm_the.moves);");
        out.close("*/");
        self.found.borrow_mut().push(Contracted {
            name: name.into(),
            at: at.clone(),
            gaps: Vec::new(),
            contract: true,
        });
    }

    // ---- steals -----------------------------------------------------------------------------

    /// A phase as a predicate or term.
    fn phase_is(&self, phase: FunctionId, thief: &str, own: &str) -> Logic {
        let function = self.policy.function(phase);
        if !self.defined.borrow().contains(&phase) {
            return Err(format!("`{}` has no logic definition", function.name));
        }
        if takes(function, LocalId(1)) {
            return Err(format!("`{}` reads the victims", function.name));
        }
        Ok(format!("{}_is({thief}, {own})", self.names.functions[phase.index()]))
    }

    /// What has to hold of a thread that a steal moves.
    fn may_move(&self, steal: &Steal, thief: &str, thread: &str) -> Logic {
        let can = self.phase_is(steal.can_steal_core, thief, &format!("core_of({thread})"))?;
        let rule = match steal.steal_thread {
            Some(rule) => self.phase_is(rule, thief, thread)?,
            None => format!("in(&saakm_affinities[number({thread})], {thief})"),
        };
        Ok(format!("{can} && {rule}"))
    }

    /// Annotations of a steal; without contracts, all are empty.
    pub fn steal_contract(&self, steal: &Steal, v: &StealNames) -> Logic<StealContract> {
        let StealNames { thief, victims, src, candidates, .. } = v;
        let can = |c: &str| self.phase_is(steal.can_steal_core, thief, c);
        let can_k = can("K1")?;
        let kept = format!("in({victims}, K1) && K1 != {thief} && {can_k}");
        let whole = format!("\\forall integer K1; is_core(K1) ==> (in({candidates}, K1) <==> {kept})");
        let storage = format!("{candidates}_storage");
        let copy = format!(
            "/*@ loop invariant 0 <= w <= saakm_words; loop invariant \\forall integer K1; 0 <= K1 < SAAKM_MAX_CORES && slot(K1) < w ==> \
             (in({candidates}, K1) <==> in({victims}, K1)); loop assigns w, {storage}; \
             loop variant saakm_words - w; */"
        );
        let filter = format!(
            "/*@ loop invariant 0 <= {src}_at <= saakm_cores; \
             loop invariant \\forall integer K1; is_core(K1) && K1 < {src}_at ==> (in({candidates}, K1) <==> {kept}); \
             loop invariant \\forall integer K1; is_core(K1) && {src}_at <= K1 ==> \
             (in({candidates}, K1) <==> in({victims}, K1)); \
             loop assigns {src}, {src}_at, {storage}; loop variant saakm_cores - {src}_at; */"
        );
        let stopped = match steal.stop {
            Some(stop) => {
                let stop = self.phase_is(stop, thief, &v.stolen)?;
                format!(
                    "loop invariant {0} == saakm_the.moves - \\at(saakm_the.moves, Pre) && 0 <= {0}; \
                     loop invariant {0} > 0 ==> !{stop}; ",
                    v.stolen
                )
            }
            None => "loop invariant saakm_the.moves >= \\at(saakm_the.moves, Pre); ".into(),
        };
        let stolen = if steal.stop.is_some() { format!("{}, ", v.stolen) } else { String::new() };
        let round = format!(
            "/*@ loop invariant 0 <= round_ <= saakm_cores; loop invariant {}; {stopped}\
             loop invariant \\forall integer K1; is_core(K1) && in({candidates}, K1) ==> K1 != {thief}; \
             loop assigns round_, {src}, {stolen}{storage}, {}; loop variant saakm_cores - round_; */",
            self.fine(),
            self.changes()
        );
        let best = match &steal.select {
            Some(select) => self.preferred(select, v)?,
            None => String::new(),
        };
        let from_core = match steal.stop_core {
            Some(stop_core) => {
                let stop = self.phase_is(stop_core, thief, &v.from_core)?;
                format!("loop invariant {0} >= 0; loop invariant {0} > 0 ==> !{stop}; ", v.from_core)
                    + &format!(
                        "loop invariant {0} - \\at({0}, LoopEntry) == saakm_the.moves - \\at(saakm_the.moves, LoopEntry); ",
                        v.from_core
                    )
            }
            None => String::new(),
        };
        let from_core_assigned =
            if steal.stop_core.is_some() { format!("{}, ", v.from_core) } else { String::new() };
        let thread = &v.thread;
        let walk = |enough: &str| {
            format!(
                "/*@ loop invariant 0 <= {thread}_at <= {thread}_end; loop invariant {}; {stopped}{from_core}\
                 loop assigns {thread}, {thread}_at, {stolen}{from_core_assigned}{enough}{}; \
                 loop variant {thread}_end - {thread}_at; */",
                self.fine(),
                self.changes()
            )
        };
        let moved = format!(
            "core_of({thread}) == {src} && {src} != {thief} && {}",
            self.may_move(steal, thief, thread)?
        );
        let mut third = vec![moved];
        if let Some(stop) = steal.stop {
            third.push(format!(
                "({0} > 0 ==> !{1})",
                "(saakm_the.moves - \\at(saakm_the.moves, Pre))",
                self.phase_is(stop, thief, "(saakm_the.moves - \\at(saakm_the.moves, Pre))")?
            ));
        }
        if let Some(stop_core) = steal.stop_core {
            third.push(format!(
                "({0} > 0 ==> !{1})",
                v.from_core,
                self.phase_is(stop_core, thief, &v.from_core)?
            ));
        }
        let second = match &steal.select {
            Some(select) => {
                let better = self.better(select, thief, src)?;
                format!(
                    "{src} == SAAKM_NO_CORE && (\\forall integer K1; is_core(K1) ==> !in({candidates}, K1)) || \
                     is_core({src}) && in({candidates}, {src}) && \
                     (\\forall integer K1; is_core(K1) && in({candidates}, K1) ==> {better})"
                )
            }
            None => format!(
                "{src} == SAAKM_NO_CORE && (\\forall integer K1; is_core(K1) ==> !in({candidates}, K1)) || \
                 is_core({src}) && in({candidates}, {src}) && \
                 (\\forall integer K1; is_core(K1) && in({candidates}, K1) ==> nearest({thief}, {src}) <= nearest({thief}, K1))"
            ),
        };
        let first_found = format!(
            "/*@ loop invariant 0 <= at_ <= saakm_cores && first_ == SAAKM_NO_CORE; \
             loop invariant \\forall integer K1; is_core(K1) && nearest({thief}, K1) < at_ ==> !in({candidates}, K1); \
             loop assigns at_, first_; loop variant saakm_cores - at_; */"
        );
        Ok(StealContract {
            copy,
            filter,
            member: format!("/*@ assert {src}_in <==> in({victims}, {src}); */"),
            first: format!("/*@ assert first_phase: {whole}; */"),
            round,
            nearest: first_found,
            nearest_member: format!("/*@ assert in_ <==> in({candidates}, c_); */"),
            select: best,
            select_member: format!("/*@ assert {src}_in <==> in({candidates}, {src}); */"),
            second: format!("/*@ assert second_phase: {second}; */"),
            walk: walk(""),
            walk_several: walk("enough, "),
            third: format!("/*@ assert third_phase: {}; */", third.join(" && ")),
        })
    }

    /// K1 is not preferred to `best`.
    fn better(&self, select: &Select, thief: &str, best: &str) -> Logic {
        let walk = if select.order == OrderKind::Nearest { "nearest" } else { "from" };
        let mut text = format!("{walk}({thief}, {best}) <= {walk}({thief}, K1)");
        for phase in select.by.iter().rev() {
            let (of_best, of_k) = (self.phase_is(*phase, thief, best)?, self.phase_is(*phase, thief, "K1")?);
            let op = if select.extreme == Extreme::Min { "<" } else { ">" };
            text = format!("({of_best} {op} {of_k} || {of_best} == {of_k} && {text})");
        }
        Ok(text)
    }

    fn preferred(&self, select: &Select, v: &StealNames) -> Logic {
        let StealNames { thief, src, candidates, best, bests, .. } = v;
        let walk = if select.order == OrderKind::Nearest { "nearest" } else { "from" };
        let mut keys = String::new();
        for (phase, key) in select.by.iter().zip(bests) {
            keys += &format!(" && {key} == {}", self.phase_is(*phase, thief, best)?);
        }
        let seen = format!("is_core(K1) && {walk}({thief}, K1) < {src}_at && in({candidates}, K1)");
        let bests = bests.join(", ");
        Ok(format!(
            "/*@ loop invariant 0 <= {src}_at <= saakm_cores; \
             loop invariant {best} == SAAKM_NO_CORE ==> (\\forall integer K1; !({seen})); \
             loop invariant {best} != SAAKM_NO_CORE ==> is_core({best}) && in({candidates}, {best}) && \
             {walk}({thief}, {best}) < {src}_at{keys}; \
             loop invariant {best} != SAAKM_NO_CORE ==> (\\forall integer K1; {seen} ==> {}); \
             loop assigns {src}, {src}_at, {best}, {bests}; loop variant saakm_cores - {src}_at; */",
            self.better(select, thief, best)?
        ))
    }

    pub fn steal_head(
        &self,
        out: &mut Text,
        steal: &Steal,
        name: &str,
        thief: &str,
        victims: &str,
        gaps: Vec<String>,
    ) {
        if !self.contracts {
            return;
        }
        out.open("/*@");
        out.line(&format!("requires {} && is_core({thief});", self.fine()));
        out.line(&format!("requires \\valid_read({victims}->word + (0 .. SAAKM_SET_WORDS - 1));"));
        out.line(&format!("assigns {};", self.changes()));
        out.line(&format!("ensures {};", self.fine()));
        out.close("*/");
        self.found.borrow_mut().push(Contracted {
            name: name.into(),
            at: steal.at.clone(),
            gaps,
            contract: true,
        });
    }
}

/// C names of the variables of a steal.
pub struct StealNames {
    pub thief: String,
    pub victims: String,
    pub src: String,
    pub thread: String,
    pub candidates: String,
    pub stolen: String,
    pub from_core: String,
    pub best: String,
    pub bests: Vec<String>,
}

#[derive(Default)]
pub struct StealContract {
    pub copy: String,
    pub filter: String,
    pub member: String,
    pub first: String,
    pub round: String,
    pub nearest: String,
    pub nearest_member: String,
    pub select: String,
    pub select_member: String,
    pub second: String,
    pub walk: String,
    pub walk_several: String,
    pub third: String,
}

impl Body<'_> {
    /// Logic names of all variables in scope.
    pub fn env(&self) -> Env {
        let ids = (0..self.function.locals.len()).map(|index| LocalId(index as u32));
        ids.filter(|id| !self.name_of(*id).is_empty()).map(|id| (id, self.name_of(id).to_owned())).collect()
    }

    /// Records that something has no contract.
    pub fn gap(&self, what: impl Into<String>) {
        self.gaps.borrow_mut().push(what.into());
    }

    fn stated(&self, text: Logic) -> String {
        text.unwrap_or_else(|why| {
            self.gap(why);
            String::new()
        })
    }

    /// Last arguments of a loop's macro: its annotations, and for cores what membership means.
    pub fn loop_contract(&self, name: &str, iteration: &Iteration, of: &Loop, left: Option<&str>) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let invariants = self.stated(self.invariants(name, of, iteration.limit.is_some()));
        let (end, member) = match &iteration.over {
            Over::Cores(set) => {
                let member = self.stated(self.unit.member(&self.env(), set, name));
                ("saakm_cores".to_owned(), format!(", /*@ assert {name}_in <==> {member}; */"))
            }
            _ => (format!("{name}_end"), String::new()),
        };
        let mut assigns = vec![name.to_owned(), format!("{name}_at")];
        assigns.extend(left.map(str::to_owned));
        let mut held = String::new();
        match of {
            Loop::First(search) => {
                if let Some(filter) = &search.filter {
                    held = self.held(&self.effects_of_expr(filter), &[], &mut assigns);
                }
            }
            Loop::Extreme { best, bests, .. } => {
                assigns.push((*best).to_owned());
                assigns.extend_from_slice(bests);
            }
            Loop::Sum { sum, .. } => assigns.push((*sum).to_owned()),
            Loop::Body(block, effects) => held = self.held(effects, &assigned(block), &mut assigns),
        }
        format!(
            ", /*@ loop invariant 0 <= {name}_at <= {end}; {held}{invariants}loop assigns {}; \
             loop variant {end} - {name}_at; */{member}",
            assigns.join(", ")
        )
    }

    /// What a loop with these effects keeps.
    fn held(&self, effects: &Effects, locals: &[LocalId], assigns: &mut Vec<String>) -> String {
        let mut held = String::new();
        for id in locals {
            let name = self.name_of(*id);
            if name.is_empty() {
                continue;
            }
            assigns.push(name.to_owned());
            if let Some(text) = self.unit.requires(self.function.local(*id).ty, name) {
                held += &format!("loop invariant {text}; ");
            }
        }
        if !effects.is_pure() {
            held += &format!("loop invariant {}; ", self.unit.fine());
            if effects.steals.is_empty() {
                held += "loop invariant saakm_the.moves == \\at(saakm_the.moves, Pre); ";
            }
            assigns.push(self.unit.changes());
        }
        held
    }

    fn invariants(&self, name: &str, of: &Loop, limited: bool) -> Logic {
        let env = self.env();
        let k = bound(&env);
        match of {
            Loop::Body(..) => Ok(String::new()),
            Loop::First(_) if limited => Ok(String::new()),
            Loop::First(search) => {
                let (elements, _) = self.unit.matches(&env, search, &k)?;
                Ok(format!(
                    "loop invariant \\forall integer {k}; {} && {} < {name}_at ==> \\false; ",
                    elements.guard, elements.place
                ))
            }
            Loop::Extreme { search, extreme, by, best, bests } => {
                let (elements, inner) = self.unit.matches(&env, search, &k)?;
                let none = none(self.function.local(search.iteration.local).ty);
                let seen = format!("{} && {} < {name}_at", elements.guard, elements.place);
                let is_best = self.is_best(&env, search, best, Some(name))?;
                let mut keys = String::new();
                for (key, held) in by.iter().zip(*bests) {
                    let mut at_best = env.clone();
                    at_best.insert(search.iteration.local, (*best).to_owned());
                    keys += &format!(" && {held} == {}", self.unit.term(&at_best, key)?);
                }
                let better = self.better(&env, &inner, search, *extreme, by, best, &elements)?;
                Ok(format!(
                    "loop invariant {best} == {none} ==> (\\forall integer {k}; !({seen})); \
                     loop invariant {best} != {none} ==> {is_best}{keys}; \
                     loop invariant {best} != {none} ==> (\\forall integer {k}; {seen} ==> {better}); "
                ))
            }
            Loop::Sum { whole, key, sum } => {
                let upto = format!("{name}_at");
                Ok(format!("loop invariant {sum} == {}; ", self.unit.partial(&env, whole, key, Some(&upto))?))
            }
        }
    }

    /// `best` is an element of the search; with `name`, one that its loop has visited.
    fn is_best(&self, env: &Env, search: &Search, best: &str, name: Option<&str>) -> Logic {
        let at = |place: &str| name.map_or(String::new(), |name| format!(" && {place} < {name}_at"));
        let (by_itself, _) = self.unit.matches(env, search, best)?;
        if by_itself.cores {
            return Ok(format!("{}{}", by_itself.guard, at(&by_itself.place)));
        }
        let b = format!("B{}", bound(env));
        let (elements, _) = self.unit.matches(env, search, &b)?;
        let range = format!("{} && {} == {best}{}", elements.guard, elements.element, at(&elements.place));
        let held = self.unit.requires(self.function.local(search.iteration.local).ty.held(), best);
        Ok(format!("{} && (\\exists integer {b}; {range})", held.unwrap_or("\\true".into())))
    }

    #[allow(clippy::too_many_arguments)]
    fn better(
        &self,
        env: &Env,
        inner: &Env,
        search: &Search,
        extreme: Extreme,
        by: &[Expr],
        best: &str,
        elements: &Elements,
    ) -> Logic {
        let mut text = match elements.cores {
            true => format!("{} <= {}", self.unit.matches(env, search, best)?.0.place, elements.place),
            false => "\\true".to_owned(),
        };
        let mut at_best = env.clone();
        at_best.insert(search.iteration.local, best.to_owned());
        for key in by.iter().rev() {
            let (of_best, of_k) = (self.unit.term(&at_best, key)?, self.unit.term(inner, key)?);
            let op = if extreme == Extreme::Min { "<" } else { ">" };
            text = format!("({of_best} {op} {of_k} || {of_best} == {of_k} && {text})");
        }
        Ok(text)
    }

    /// States after its loop what a search found.
    pub fn assert_found(&mut self, of: &Loop, found: &str) {
        if !self.unit.contracts {
            return;
        }
        let text = self.stated(self.found(of, found));
        if !text.is_empty() {
            self.out.line(&format!("/*@ assert found: {text}; */"));
        }
    }

    fn found(&self, of: &Loop, found: &str) -> Logic {
        let env = self.env();
        let k = bound(&env);
        match of {
            Loop::Body(..) => Ok(String::new()),
            Loop::First(search) | Loop::Extreme { search, .. } => {
                let none = none(self.function.local(search.iteration.local).ty);
                let (elements, inner) = self.unit.matches(&env, search, &k)?;
                let is_best = self.is_best(&env, search, found, None)?;
                if search.iteration.limit.is_some() {
                    return Ok(format!("{found} == {none} || {is_best}"));
                }
                let by: &[Expr] = if let Loop::Extreme { by, .. } = of { by } else { &[] };
                let extreme = if let Loop::Extreme { extreme, .. } = of { *extreme } else { Extreme::Min };
                let better = self.better(&env, &inner, search, extreme, by, found, &elements)?;
                Ok(format!(
                    "{found} == {none} && (\\forall integer {k}; !({0})) || {found} != {none} && {is_best} && \
                     (\\forall integer {k}; {0} ==> {better})",
                    elements.guard
                ))
            }
            Loop::Sum { whole, key, sum } => {
                Ok(format!("{sum} == {}", self.unit.partial(&env, whole, key, None)?))
            }
        }
    }

    /// Last arguments of a macro that is an expression: annotations of its loop, and what it found.
    pub fn pass_contract(&self, what: Pass, set: &Expr, order: Option<(OrderKind, &Expr)>) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let env = self.env();
        let k = bound(&env);
        let text = || -> Logic {
            let member = self.unit.member(&env, set, &k)?;
            let seen = format!("is_core({k}) && {member}");
            let place = |k: &str| -> Logic {
                Ok(match order {
                    Some((OrderKind::Nearest, origin)) => {
                        format!("nearest({}, {k})", self.unit.term(&env, origin)?)
                    }
                    Some((OrderKind::From, origin)) => {
                        format!("from({}, {k})", self.unit.term(&env, origin)?)
                    }
                    None => k.to_owned(),
                })
            };
            let (place, best) = (place(&k)?, place("first_")?);
            let at_first = self.unit.member(&env, set, "first_")?;
            let (invariant, variable, found) = match what {
                Pass::First => (
                    format!("first_ == SAAKM_NO_CORE && (\\forall integer {k}; {seen} ==> {place} >= at_)"),
                    "first_",
                    format!(
                        "first_ == SAAKM_NO_CORE && (\\forall integer {k}; !({seen})) || is_core(first_) && {at_first} && \
                         (\\forall integer {k}; {seen} ==> {best} <= {place})"
                    ),
                ),
                Pass::Empty => (
                    format!("(empty_ <==> (\\forall integer {k}; {seen} ==> {k} >= at_))"),
                    "empty_",
                    format!("empty_ <==> (\\forall integer {k}; !({seen}))"),
                ),
                Pass::Count => {
                    let whole =
                        Expr { kind: ExprKind::Count(Box::new(set.clone())), ty: Type::INT, span: set.span };
                    let key = self.unit.count_key(set);
                    (
                        format!("count_ == {}", self.unit.partial(&env, &whole, &key, Some("at_"))?),
                        "count_",
                        format!("count_ == {}", self.unit.partial(&env, &whole, &key, None)?),
                    )
                }
            };
            let member = self.unit.member(&env, set, "c_")?;
            Ok(format!(
                ", /*@ loop invariant 0 <= at_ <= saakm_cores && {invariant}; loop assigns at_, {variable}; \
                 loop variant saakm_cores - at_; */, /*@ assert in_ <==> {member}; */, /*@ assert found: {found}; */"
            ))
        };
        match text() {
            Ok(text) => text,
            Err(why) => {
                self.gap(why);
                ", /*@ loop assigns at_; */, /*@ assert \\false; */, /*@ assert \\false; */".into()
            }
        }
    }

    /// Last arguments of `SAAKM_ASSIGN`: `target` is a pointer to a set in C and in logic.
    pub fn assign_contract(&self, set: &Expr, target: &str, storage: &str) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let env = self.env();
        let k = bound(&env);
        let member = self.stated(self.unit.member(&env, set, &k));
        let member = if member.is_empty() { "\\false".to_owned() } else { member };
        format!(
            ", /*@ loop invariant 0 <= w <= saakm_words; loop invariant \\forall integer {k}; \
             0 <= {k} < SAAKM_MAX_CORES && slot({k}) < w ==> (in({target}, {k}) <==> {member}); loop assigns w, {storage}; \
             loop variant saakm_words - w; */"
        )
    }
}

/// A runtime macro that takes one pass over a set.
#[derive(Clone, Copy)]
pub enum Pass {
    First,
    Empty,
    Count,
}
