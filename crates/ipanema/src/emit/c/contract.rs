//! Contracts in ACSL beside the emitted C, for `hearth prove --code`.
//!
//! They are comments: of each function, of each loop (the last arguments of its macro), and after
//! each search. Without them the C is the same, token by token.

use std::cell::RefCell;

use super::Unit;
use super::acsl::{Acsl, Clause, annotation, between, call, exists, forall, not};
use super::body::{Body, takes};
use super::logic::{Elements, Env, Logic, affinity, assigned, bound, none, walk};
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
    pub functions: Vec<FunctionContract>,
}

/// A C function that stands for a part of the policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionContract {
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
pub type ContractList = RefCell<Vec<FunctionContract>>;

impl Unit<'_> {
    fn changes(&self) -> String {
        let prefix = &self.names.prefix;
        format!(
            "saakm_the, saakm_kept[0 .. 4], {prefix}_the_state, {prefix}_cores[0 .. SAAKM_MAX_CORES - 1], \
             {prefix}_threads[0 .. SAAKM_MAX_THREADS - 1]"
        )
    }

    fn fine(&self) -> Acsl {
        Acsl::from("fine").and(format!("{}_fine", self.names.prefix))
    }

    /// Arguments of `SAAKM_ATTRIBUTES` after the name: contracts of the access functions, and what holds of
    /// attributes at all times.
    pub fn attribute_contracts(&self) -> String {
        if !self.contracts {
            return String::new();
        }
        let prefix = &self.names.prefix;
        let params = self.policy.params.iter().zip(&self.names.params);
        let mut holds: Vec<Acsl> = params
            .map(|(param, name)| between(param.min.to_string(), self.own(name), param.max.to_string()))
            .collect();
        let cores = |list: &[Attribute], names: &[String]| -> Vec<String> {
            let is_core = |(a, _): &(&Attribute, &String)| a.ty.base == BaseType::Core;
            list.iter().zip(names).filter(is_core).map(|(_, name)| name.clone()).collect()
        };
        for name in cores(&self.policy.globals, &self.names.globals) {
            holds.push(call!("maybe_core", self.own(&name)));
        }
        for name in cores(&self.policy.core, &self.names.core) {
            let of_c = call!("maybe_core", self.attribute("cores", "c".into(), &name));
            holds.push(forall("c", call!("is_core", "c").implies(of_c)));
        }
        for name in cores(&self.policy.thread, &self.names.thread) {
            let of_i = call!("maybe_core", self.attribute("threads", "i".into(), &name));
            let is_number = Acsl::from("0").infix("<=", Acsl::from("i").infix("<", "SAAKM_MAX_THREADS"));
            holds.push(forall("i", is_number.implies(of_i)));
        }
        holds.push("\\true".into());
        let access = |requires: Option<Acsl>, place: Acsl| {
            let points = Acsl::from("\\result").equals(place.address());
            let clauses = [Clause::Assigns(NOTHING.into()), Clause::Ensures(points)];
            annotation(requires.map(Clause::Requires).into_iter().chain(clauses))
        };
        let array = |of: &str, index: Acsl| Acsl::from(format!("{prefix}_{of}")).index(index);
        [
            access(None, format!("{prefix}_the_state").into()),
            access(Some(Acsl::from("c").infix("<", "SAAKM_MAX_CORES")), array("cores", "c".into())),
            access(Some(call!("is_thread", "t")), array("threads", call!("number", "t"))),
            annotation([Clause::Define(format!("predicate {prefix}_fine{{L}}"), Acsl::all(holds))]),
        ]
        .map(|annotation| format!(", {annotation}"))
        .concat()
    }

    /// Records the function that writes initial values, which has no contract: WP does not follow a cast of untyped
    /// memory.
    pub fn without_contract(&self, name: String) {
        if !self.contracts {
            return;
        }
        let at = Place { policy: self.policy.name.clone(), line: 0, span: Default::default() };
        let gaps = vec!["initial values: a cast of untyped memory".into()];
        self.found.borrow_mut().push(FunctionContract { name, at, gaps, contract: false });
    }

    fn requires(&self, ty: Type, value: impl Into<Acsl>) -> Option<Acsl> {
        let value = value.into();
        let maybe = |is: &str| value.clone().equals("\\null").or(call!(is, &value));
        Some(match (ty.base, ty.optional) {
            (BaseType::Core, false) => call!("is_core", value),
            (BaseType::Core, true) => call!("maybe_core", value),
            (BaseType::Thread, false) => call!("is_thread", value),
            (BaseType::Thread, true) => maybe("is_thread"),
            (BaseType::Domain, false) => call!("is_domain", value),
            (BaseType::Domain, true) => maybe("is_domain"),
            (BaseType::Set, _) => readable(value),
            (BaseType::Bool | BaseType::Int | BaseType::Time | BaseType::Frequency | BaseType::Load, _) => {
                return None;
            }
        })
    }

    /// The contract of a function, before its head.
    pub fn contract(&self, out: &mut Text, id: FunctionId, sums: Vec<Clause>, gaps: Vec<String>) {
        if !self.contracts {
            return;
        }
        let function = self.policy.function(id);
        let body = Body::new(self, function);
        sums.into_iter().for_each(|sum| out.line(&annotation([sum])));
        let definition = self.definition(id);
        let is_defined = definition.is_ok();
        if let Ok(definition) = definition {
            out.line(&annotation([definition]));
            self.defined.borrow_mut().insert(id);
        }
        let params: Vec<LocalId> =
            (0..function.arity).map(LocalId).filter(|id| takes(function, *id)).collect();
        let names: Vec<Acsl> = params.iter().map(|id| body.name_of(*id).into()).collect();
        let name = self.names.functions[id.index()].clone();
        let mut clauses = vec![Clause::Requires(self.fine())];
        let valid = params.iter().zip(&names);
        let valid = valid.filter_map(|(id, name)| self.requires(function.local(*id).ty, name));
        clauses.extend(valid.map(Clause::Requires));
        if let Some(steal) = self.policy.steals.iter().find(|steal| steal.move_thread == id) {
            let may = self.may_move(steal, &names[0], &names[names.len() - 1]);
            clauses.push(Clause::Requires(may.unwrap_or("\\false".into())));
        }
        clauses.extend(self.effects(&function.effects));
        if let (true, Some(result)) = (is_defined, function.result) {
            let is = if result == Type::BOOL { "<==>" } else { "==" };
            let defined = format!("{name}_is");
            let defined = if names.is_empty() { defined.into() } else { Acsl::Call(defined, names) };
            clauses.push(Clause::Ensures(Acsl::from("\\result").infix(is, defined)));
        }
        let valid = function.result.and_then(|ty| self.requires(ty, "\\result"));
        clauses.extend(valid.map(Clause::Ensures));
        self.contracted(out, clauses, &name, &function.at, gaps);
    }

    /// Writes the contract of a function, and records it.
    fn contracted(&self, out: &mut Text, clauses: Vec<Clause>, name: &str, at: &Place, gaps: Vec<String>) {
        out.open("/*@");
        clauses.iter().for_each(|clause| out.line(&clause.to_string()));
        out.close("*/");
        let (name, at) = (name.to_owned(), at.clone());
        self.found.borrow_mut().push(FunctionContract { name, at, gaps, contract: true });
    }

    fn effects(&self, effects: &Effects) -> Vec<Clause> {
        if effects.is_pure() {
            return vec![Clause::Assigns(NOTHING.into())];
        }
        let mut clauses = vec![Clause::Assigns(self.changes()), Clause::Ensures(self.fine())];
        if effects.steals.is_empty() {
            clauses.push(Clause::Ensures(Acsl::from(MOVES).equals(call!("\\old", MOVES))));
        }
        clauses
    }

    /// The contract of the function that enqueues a thread.
    pub fn enter_contract(&self, out: &mut Text, name: &str, at: &Place) {
        if !self.contracts {
            return;
        }
        let clauses = vec![
            Clause::Requires(self.fine()),
            Clause::Requires(call!("is_thread", "t").and(call!("is_core", "c"))),
            Clause::Assigns(self.changes()),
            Clause::Ensures(self.fine()),
            Clause::Ensures(Acsl::from(MOVES).equals(call!("\\old", MOVES))),
        ];
        self.contracted(out, clauses, name, at, Vec::new());
    }

    // ---- steals -----------------------------------------------------------------------------

    /// A phase as a predicate or term.
    fn phase_is(&self, phase: FunctionId, thief: &Acsl, own: &Acsl) -> Logic {
        let function = self.policy.function(phase);
        if !self.defined.borrow().contains(&phase) {
            return Err(format!("`{}` has no logic definition", function.name));
        }
        if takes(function, LocalId(1)) {
            return Err(format!("`{}` reads the victims", function.name));
        }
        Ok(call!(format!("{}_is", self.names.functions[phase.index()]), thief, own))
    }

    /// What has to hold of a thread that a steal moves.
    fn may_move(&self, steal: &Steal, thief: &Acsl, thread: &Acsl) -> Logic {
        let can = self.phase_is(steal.can_steal_core, thief, &call!("core_of", thread))?;
        let rule = match steal.steal_thread {
            Some(rule) => self.phase_is(rule, thief, thread)?,
            None => call!("in", affinity(thread.clone()), thief),
        };
        Ok(can.and(rule))
    }

    /// Annotations of a steal; without contracts, all are empty.
    pub fn steal_contract(&self, steal: &Steal, v: &StealNames) -> Logic<StealContract> {
        let [thief, src, thread, stolen, from_core] =
            [&v.thief, &v.src, &v.thread, &v.stolen, &v.from_core].map(Acsl::from);
        let StealNames { victims, candidates, .. } = v;
        let at = Acsl::from(format!("{src}_at"));
        let k = Acsl::from("K1");
        let candidate = |core: &Acsl| call!("in", candidates, core);
        let victim = |core: &Acsl| call!("in", victims, core);
        let each_core = |predicate: Acsl| forall("K1", call!("is_core", "K1").implies(predicate));
        let storage = format!("{candidates}_storage");
        let is_thief = Acsl::from("K1").differs(&thief);
        let kept = victim(&k).and(is_thief.clone()).and(self.phase_is(steal.can_steal_core, &thief, &k)?);
        let kept = candidate(&k).iff(kept);
        let copied = candidate(&k).iff(victim(&k));
        let copy = self.words("K1", copied.clone(), &storage);
        let seen =
            |seen: Acsl, predicate: &Acsl| forall("K1", call!("is_core", "K1").and(seen).implies(predicate));
        let filter = annotation([
            Clause::Invariant(between("0", &at, "saakm_cores")),
            Clause::Invariant(seen(k.clone().infix("<", &at), &kept)),
            Clause::Invariant(seen(at.clone().infix("<=", &k), &copied)),
            Clause::LoopAssigns(format!("{src}, {at}, {storage}")),
            Clause::Variant(Acsl::from("saakm_cores").infix("-", &at)),
        ]);
        let stopped_by = |stop: FunctionId, count: &Acsl| -> Logic {
            Ok(count.clone().infix(">", "0").implies(not(self.phase_is(stop, &thief, count)?)))
        };
        let moved_since = |label: &str| Acsl::from(MOVES).infix("-", call!("\\at", MOVES, label));
        let stopped = match steal.stop {
            Some(stop) => vec![
                Clause::Invariant(
                    stolen.clone().equals(moved_since("Pre")).and(Acsl::from("0").infix("<=", &stolen)),
                ),
                Clause::Invariant(stopped_by(stop, &stolen)?),
            ],
            None => vec![Clause::Invariant(Acsl::from(MOVES).infix(">=", call!("\\at", MOVES, "Pre")))],
        };
        let counted = if steal.stop.is_some() { format!("{stolen}, ") } else { String::new() };
        let mut round =
            vec![Clause::Invariant(between("0", "round_", "saakm_cores")), Clause::Invariant(self.fine())];
        round.extend(stopped.clone());
        round.extend([
            Clause::Invariant(seen(candidate(&k), &is_thief)),
            Clause::LoopAssigns(format!("round_, {src}, {counted}{storage}, {}", self.changes())),
            Clause::Variant(Acsl::from("saakm_cores").infix("-", "round_")),
        ]);
        let select = match &steal.select {
            Some(select) => self.preferred(select, v)?,
            None => String::new(),
        };
        let mut from_this = Vec::new();
        if let Some(stop_core) = steal.stop_core {
            let since = from_core.clone().infix("-", call!("\\at", &from_core, "LoopEntry"));
            from_this = vec![
                Clause::Invariant(from_core.clone().infix(">=", "0")),
                Clause::Invariant(stopped_by(stop_core, &from_core)?),
                Clause::Invariant(since.equals(moved_since("LoopEntry"))),
            ];
        }
        let counted_here = if steal.stop_core.is_some() { format!("{from_core}, ") } else { String::new() };
        let walk_of = |enough: &str| {
            let (at, end) = (format!("{thread}_at"), format!("{thread}_end"));
            let places = format!("{thread}, {at}, {counted}{counted_here}{enough}{}", self.changes());
            let mut clauses =
                vec![Clause::Invariant(between("0", &at, &end)), Clause::Invariant(self.fine())];
            clauses.extend(stopped.iter().chain(&from_this).cloned());
            clauses.push(Clause::LoopAssigns(places));
            clauses.push(Clause::Variant(Acsl::from(end).infix("-", at)));
            annotation(clauses)
        };
        let mut third = vec![
            call!("core_of", &thread).equals(&src),
            src.clone().differs(&thief),
            self.may_move(steal, &thief, &thread)?,
        ];
        if let Some(stop) = steal.stop {
            third.push(stopped_by(stop, &moved_since("Pre"))?);
        }
        if let Some(stop_core) = steal.stop_core {
            third.push(stopped_by(stop_core, &from_core)?);
        }
        let better = match &steal.select {
            Some(select) => self.better(select, &thief, &src)?,
            None => call!("nearest", &thief, &src).infix("<=", call!("nearest", &thief, "K1")),
        };
        let nobody = src.clone().equals("SAAKM_NO_CORE").and(each_core(not(candidate(&k))));
        let preferred = Acsl::all([call!("is_core", &src), candidate(&src), seen(candidate(&k), &better)]);
        let nearer = call!("nearest", &thief, "K1").infix("<", "at_");
        let nearest = annotation([
            Clause::Invariant(
                between("0", "at_", "saakm_cores").and(Acsl::from("first_").equals("SAAKM_NO_CORE")),
            ),
            Clause::Invariant(seen(nearer, &not(candidate(&k)))),
            Clause::LoopAssigns("at_, first_".into()),
            Clause::Variant(Acsl::from("saakm_cores").infix("-", "at_")),
        ]);
        let assert = |name: &'static str, predicate: Acsl| annotation([Clause::Assert(name, predicate)]);
        Ok(StealContract {
            copy,
            filter,
            member: assert("", Acsl::from(format!("{src}_in")).iff(victim(&src))),
            first: assert("first_phase", each_core(kept)),
            round: annotation(round),
            nearest,
            nearest_member: assert("", Acsl::from("in_").iff(candidate(&"c_".into()))),
            select,
            select_member: assert("", Acsl::from(format!("{src}_in")).iff(candidate(&src))),
            second: assert("second_phase", nobody.or(preferred)),
            walk: walk_of(""),
            walk_several: walk_of(&format!("{}, ", v.enough)),
            third: assert("third_phase", Acsl::all(third)),
        })
    }

    /// The annotation of a loop that writes a set word by word: `member` holds of each core K in the words so far.
    fn words(&self, k: &str, member: Acsl, storage: &str) -> String {
        let in_range = Acsl::from("0").infix("<=", Acsl::from(k).infix("<", "SAAKM_MAX_CORES"));
        let written = in_range.and(call!("slot", k).infix("<", "w"));
        annotation([
            Clause::Invariant(between("0", "w", "saakm_words")),
            Clause::Invariant(forall(k, written.implies(member))),
            Clause::LoopAssigns(format!("w, {storage}")),
            Clause::Variant(Acsl::from("saakm_words").infix("-", "w")),
        ])
    }

    /// K1 is not preferred to `best`.
    fn better(&self, select: &Select, thief: &Acsl, best: &Acsl) -> Logic {
        let walk = walk(select.order);
        let first = call!(walk, thief, best).infix("<=", call!(walk, thief, "K1"));
        select.by.iter().rev().try_fold(first, |rest, phase| {
            let (of_best, of_k) =
                (self.phase_is(*phase, thief, best)?, self.phase_is(*phase, thief, &"K1".into())?);
            Ok(before(select.extreme, of_best, of_k, rest))
        })
    }

    fn preferred(&self, select: &Select, v: &StealNames) -> Logic<String> {
        let StealNames { src, candidates, bests, .. } = v;
        let [thief, best] = [&v.thief, &v.best].map(Acsl::from);
        let at = format!("{src}_at");
        let place = |core: &Acsl| call!(walk(select.order), &thief, core).infix("<", &at);
        let candidate = |core: &Acsl| call!("in", candidates, core);
        let k = Acsl::from("K1");
        let seen = Acsl::all([call!("is_core", "K1"), place(&k), candidate(&k)]);
        let mut is_best = vec![call!("is_core", &best), candidate(&best), place(&best)];
        for (phase, key) in select.by.iter().zip(bests) {
            is_best.push(Acsl::from(key).equals(self.phase_is(*phase, &thief, &best)?));
        }
        let better = self.better(select, &thief, &best)?;
        let mut clauses = vec![Clause::Invariant(between("0", &at, "saakm_cores"))];
        clauses.extend(extreme(&best, "SAAKM_NO_CORE", "K1", seen, Acsl::all(is_best), better));
        clauses.push(Clause::LoopAssigns(format!("{src}, {at}, {best}, {}", bests.join(", "))));
        clauses.push(Clause::Variant(Acsl::from("saakm_cores").infix("-", at)));
        Ok(annotation(clauses))
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
        let clauses = vec![
            Clause::Requires(self.fine().and(call!("is_core", thief))),
            Clause::Requires(readable(victims.into())),
            Clause::Assigns(self.changes()),
            Clause::Ensures(self.fine()),
        ];
        self.contracted(out, clauses, name, &steal.at, gaps);
    }
}

const NOTHING: &str = "\\nothing";
/// How many threads were moved so far.
const MOVES: &str = "saakm_the.moves";

/// A pointer to a set can be read.
fn readable(set: Acsl) -> Acsl {
    call!("\\valid_read", set.to("word").infix("+", "(0 .. SAAKM_SET_WORDS - 1)"))
}

/// `best` comes before K by this key, or they are equal and `rest` holds.
fn before(extreme: Extreme, of_best: Acsl, of_k: Acsl, rest: Acsl) -> Acsl {
    let less = if extreme == Extreme::Min { "<" } else { ">" };
    of_best.clone().infix(less, &of_k).or(of_best.equals(of_k).and(rest))
}

/// Invariants of a search for the best element: of those that are `seen`, none is `better`.
fn extreme(best: &Acsl, none: &str, k: &str, seen: Acsl, is_best: Acsl, better: Acsl) -> [Clause; 3] {
    let found = || best.clone().differs(none);
    let nothing = best.clone().equals(none).implies(forall(k, not(seen.clone())));
    [nothing, found().implies(is_best), found().implies(forall(k, seen.implies(better)))]
        .map(Clause::Invariant)
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
    pub enough: String,
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
    /// Values of all variables in scope.
    pub fn env(&self) -> Env {
        let ids = (0..self.function.locals.len()).map(|index| LocalId(index as u32));
        ids.filter(|id| !self.name_of(*id).is_empty()).map(|id| (id, self.name_of(id).into())).collect()
    }

    /// Records that something has no contract.
    pub fn gap(&self, what: impl Into<String>) {
        self.gaps.borrow_mut().push(what.into());
    }

    /// What has a translation; the rest is a gap.
    fn stated<T>(&self, stated: Logic<T>) -> Option<T> {
        stated.map_err(|why| self.gap(why)).ok()
    }

    /// Last arguments of a loop's macro: its annotations, and for cores what membership means.
    pub fn loop_contract(&self, name: &str, iteration: &Iteration, of: &Loop, left: Option<&str>) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let invariants =
            self.stated(self.invariants(name, of, iteration.limit.is_some())).unwrap_or_default();
        let (end, member) = match &iteration.over {
            Over::Cores(set) => {
                let member = self.stated(self.unit.member(&self.env(), set, &name.into()));
                // What has no translation makes the annotation wrong.
                let member = Acsl::from(format!("{name}_in")).iff(member.unwrap_or("".into()));
                ("saakm_cores".to_owned(), format!(", {}", annotation([Clause::Assert("", member)])))
            }
            _ => (format!("{name}_end"), String::new()),
        };
        let at = format!("{name}_at");
        let mut assigns = vec![name.to_owned(), at.clone()];
        assigns.extend(left.map(str::to_owned));
        let mut held = Vec::new();
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
        let mut clauses = vec![Clause::Invariant(between("0", &at, &end))];
        clauses.extend(held.into_iter().chain(invariants));
        clauses.push(Clause::LoopAssigns(assigns.join(", ")));
        clauses.push(Clause::Variant(Acsl::from(end).infix("-", at)));
        format!(", {}{member}", annotation(clauses))
    }

    /// What a loop with these effects keeps.
    fn held(&self, effects: &Effects, locals: &[LocalId], assigns: &mut Vec<String>) -> Vec<Clause> {
        let mut held = Vec::new();
        for id in locals {
            let name = self.name_of(*id);
            if name.is_empty() {
                continue;
            }
            assigns.push(name.to_owned());
            held.extend(self.unit.requires(self.function.local(*id).ty, name));
        }
        if !effects.is_pure() {
            held.push(self.unit.fine());
            if effects.steals.is_empty() {
                held.push(Acsl::from(MOVES).equals(call!("\\at", MOVES, "Pre")));
            }
            assigns.push(self.unit.changes());
        }
        held.into_iter().map(Clause::Invariant).collect()
    }

    fn invariants(&self, name: &str, of: &Loop, limited: bool) -> Logic<Vec<Clause>> {
        let env = self.env();
        let k = bound(&env);
        let at = format!("{name}_at");
        Ok(match of {
            Loop::Body(..) => Vec::new(),
            Loop::First(_) if limited => Vec::new(),
            Loop::First(search) => {
                let (elements, _) = self.unit.matches(&env, search, &(&k).into())?;
                let seen = elements.guard.and(elements.place.infix("<", at));
                vec![Clause::Invariant(forall(&k, seen.implies("\\false")))]
            }
            Loop::Extreme { search, extreme, by, best, bests } => {
                let (elements, inner) = self.unit.matches(&env, search, &(&k).into())?;
                let none = none(self.function.local(search.iteration.local).ty);
                let seen = elements.guard.clone().and(elements.place.clone().infix("<", at));
                let mut is_best = self.is_best(&env, search, best, Some(name))?;
                for (key, held) in by.iter().zip(*bests) {
                    let mut at_best = env.clone();
                    at_best.insert(search.iteration.local, (*best).into());
                    is_best = is_best.and(Acsl::from(held).equals(self.unit.term(&at_best, key)?));
                }
                let better = self.better(&env, &inner, search, *extreme, by, best, &elements)?;
                self::extreme(&(*best).into(), none, &k, seen, is_best, better).into()
            }
            Loop::Sum { whole, key, sum } => {
                let partial = self.unit.partial(&env, whole, key, Some(&at))?;
                vec![Clause::Invariant(Acsl::from(*sum).equals(partial))]
            }
        })
    }

    /// `best` is an element of the search; with `name`, one that its loop has visited.
    fn is_best(&self, env: &Env, search: &Search, best: &str, name: Option<&str>) -> Logic {
        let visited = |elements: Acsl, place: Acsl| match name {
            Some(name) => elements.and(place.infix("<", format!("{name}_at"))),
            None => elements,
        };
        let (by_itself, _) = self.unit.matches(env, search, &best.into())?;
        if by_itself.cores {
            return Ok(visited(by_itself.guard, by_itself.place));
        }
        let b = format!("B{}", bound(env));
        let (elements, _) = self.unit.matches(env, search, &(&b).into())?;
        let range = visited(elements.guard.and(elements.element.equals(best)), elements.place);
        let held = self.unit.requires(self.function.local(search.iteration.local).ty.held(), best);
        Ok(held.unwrap_or("\\true".into()).and(exists(&b, range)))
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
        let first = match elements.cores {
            true => self.unit.matches(env, search, &best.into())?.0.place.infix("<=", elements.place.clone()),
            false => "\\true".into(),
        };
        let mut at_best = env.clone();
        at_best.insert(search.iteration.local, best.into());
        by.iter().rev().try_fold(first, |rest, key| {
            Ok(before(extreme, self.unit.term(&at_best, key)?, self.unit.term(inner, key)?, rest))
        })
    }

    /// States after its loop what a search found.
    pub fn assert_found(&mut self, of: &Loop, found: &str) {
        if !self.unit.contracts {
            return;
        }
        if let Some(found) = self.stated(self.found(of, found)).flatten() {
            self.out.line(&annotation([Clause::Assert("found", found)]));
        }
    }

    fn found(&self, of: &Loop, found: &str) -> Logic<Option<Acsl>> {
        let env = self.env();
        let k = bound(&env);
        Ok(match of {
            Loop::Body(..) => None,
            Loop::First(search) | Loop::Extreme { search, .. } => {
                let none = none(self.function.local(search.iteration.local).ty);
                let (elements, inner) = self.unit.matches(&env, search, &(&k).into())?;
                let is_best = self.is_best(&env, search, found, None)?;
                let nothing = Acsl::from(found).equals(none);
                if search.iteration.limit.is_some() {
                    return Ok(Some(nothing.or(is_best)));
                }
                let by: &[Expr] = if let Loop::Extreme { by, .. } = of { by } else { &[] };
                let extreme = if let Loop::Extreme { extreme, .. } = of { *extreme } else { Extreme::Min };
                let better = self.better(&env, &inner, search, extreme, by, found, &elements)?;
                let nothing = nothing.and(forall(&k, not(elements.guard.clone())));
                let best = forall(&k, elements.guard.implies(better));
                Some(nothing.or(Acsl::all([Acsl::from(found).differs(none), is_best, best])))
            }
            Loop::Sum { whole, key, sum } => {
                Some(Acsl::from(*sum).equals(self.unit.partial(&env, whole, key, None)?))
            }
        })
    }

    /// Last arguments of a macro that is an expression: annotations of its loop, and what it found.
    pub fn pass_contract(&self, what: Pass, set: &Expr, order: Option<(OrderKind, &Expr)>) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let text = |clauses: Vec<Clause>, member: Acsl, found: (&'static str, Acsl)| {
            let asserts = [("", member), found].map(|(name, p)| annotation([Clause::Assert(name, p)]));
            format!(", {}, {}", annotation(clauses), asserts.join(", "))
        };
        match self.stated(self.pass_clauses(what, set, order)) {
            Some((clauses, member, found)) => text(clauses, member, ("found", found)),
            None => text(vec![Clause::LoopAssigns("at_".into())], "\\false".into(), ("", "\\false".into())),
        }
    }

    /// Annotations of the loop, what membership means, and what is found.
    fn pass_clauses(
        &self,
        what: Pass,
        set: &Expr,
        order: Option<(OrderKind, &Expr)>,
    ) -> Logic<(Vec<Clause>, Acsl, Acsl)> {
        let env = self.env();
        let k = bound(&env);
        let member = |core: &str| self.unit.member(&env, set, &core.into());
        let seen = call!("is_core", &k).and(member(&k)?);
        let place = |core: &str| -> Logic {
            Ok(match order {
                Some((order, origin)) => call!(walk(order), self.unit.term(&env, origin)?, core),
                None => core.into(),
            })
        };
        let (variable, invariant, found) = match what {
            Pass::First => {
                let nothing = || Acsl::from("first_").equals("SAAKM_NO_CORE");
                let is_first = seen.clone().implies(place("first_")?.infix("<=", place(&k)?));
                let first = [call!("is_core", "first_"), member("first_")?, forall(&k, is_first)];
                let unseen = seen.clone().implies(place(&k)?.infix(">=", "at_"));
                (
                    "first_",
                    nothing().and(forall(&k, unseen)),
                    nothing().and(forall(&k, not(seen))).or(Acsl::all(first)),
                )
            }
            Pass::Empty => {
                let unseen = seen.clone().implies(Acsl::from(&k).infix(">=", "at_"));
                let empty = |all: Acsl| Acsl::from("empty_").iff(forall(&k, all));
                ("empty_", empty(unseen), empty(not(seen)))
            }
            Pass::Count => {
                let kind = ExprKind::Count(Box::new(set.clone()));
                let whole = Expr { kind, ty: Type::INT, span: set.span };
                let key = self.unit.count_key(set);
                let count = |upto| -> Logic {
                    Ok(Acsl::from("count_").equals(self.unit.partial(&env, &whole, &key, upto)?))
                };
                ("count_", count(Some("at_"))?, count(None)?)
            }
        };
        let clauses = vec![
            Clause::Invariant(between("0", "at_", "saakm_cores").and(invariant)),
            Clause::LoopAssigns(format!("at_, {variable}")),
            Clause::Variant(Acsl::from("saakm_cores").infix("-", "at_")),
        ];
        Ok((clauses, Acsl::from("in_").iff(member("c_")?), found))
    }

    /// Last arguments of `SAAKM_ASSIGN`: `target` is a pointer to a set in C and in logic.
    pub fn assign_contract(&self, set: &Expr, target: impl Into<Acsl>, storage: &str) -> String {
        if !self.unit.contracts {
            return String::new();
        }
        let env = self.env();
        let k = bound(&env);
        let member = self.stated(self.unit.member(&env, set, &(&k).into())).unwrap_or("\\false".into());
        format!(", {}", self.unit.words(&k, call!("in", target.into(), &k).iff(member), storage))
    }
}

/// A runtime macro that takes one pass over a set.
#[derive(Clone, Copy)]
pub enum Pass {
    First,
    Empty,
    Count,
}
