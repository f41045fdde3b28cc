//! Eventual conservation: when all events but `balance` have stopped, balances leave no idle core beside an overloaded
//! one. `proofs/waiting.mlw` says after how many.

use super::Theory;
use super::alone::{self, VISITED};
use super::steals;
use super::term::Terms;
use super::unit::{Scope, Unit};
use crate::obligation::{Claim, Id, Property};
use crate::whyml::{Decl, Program, Step, Why, app, deref, forall, not, params};
use hearth_ipanema::ir::effects::assigned;
use hearth_ipanema::ir::visit::{Visitor, walk_block, walk_stmt};
use hearth_ipanema::ir::{
    Arithmetic, Comparison, Event, Expr, ExprKind, Function, KeptSet, LocalId, Over, Owner, Policy, SetOp,
    Stmt, StmtKind, Target,
};

const FREQUENT: &str = "it acts again after at most 10 s";

const USE: Decl = Decl::Text("use alone.Alone");

/// What a balance establishes.
struct BalanceClaim {
    what: &'static str,
    /// Holds at the end, and of the cores visited so far in each loop.
    ensures: Why,
    invariants: Vec<Why>,
    bound: &'static str,
    /// The last step, whose goals say that the bound follows.
    closing: Vec<Decl>,
    /// The bound counts moves.
    by_moves: bool,
}

pub fn emit(unit: &Unit, theory: &mut Theory) {
    let Some(handler) = unit.policy.handler(Event::Balance).map(|id| unit.policy.function(id)) else {
        let what = "balances leave no idle core beside an overloaded one";
        theory.decided(Property::Waiting, "balance", what, &super::events::nowhere(unit), "handlers", false);
        return;
    };
    let gate = Gate::of(handler);
    let claimed = claimed(unit.policy, handler);
    let mut scope = Scope::new(handler);
    scope.bind(LocalId(0), "own_core");
    let spec = [claimed.ensures.clone()];
    let body = alone::body(unit, &scope, &claimed.invariants, &spec);
    let mut requires = vec![
        Why::Text("is_core own_core /\\ sound !now_state /\\ single !now_state /\\ settled_idle !now_state"),
        Why::Text("nr (state !now_state own_core) >= 1 /\\ not !moved"),
    ];
    requires.extend(gate.as_ref().map(|gate| {
        let mut terms = Terms::new(unit, "r", "0");
        terms.alone = true;
        not(terms.expr(&scope, gate.test))
    }));
    let start = Step::Let("ghost start".into(), deref("now_state"));
    let recovers = Decl::Program(Program {
        name: "recovers".into(),
        params: params(&[("own_core", "int")]),
        result: "unit",
        requires,
        ensures: spec.into(),
        body: Some(Why::block(vec![start], super::events::returning(body))),
        ..Default::default()
    });
    theory.module("Waiting_balance", &[Decl::Text("use Present"), Decl::Blank, recovers]);
    let mut rests_on = super::events::contracts(unit, handler);
    if let Some(gate) = gate {
        rests_on.push(frequent(unit, theory, handler, &gate));
    }
    let claim = Claim::Goal { module: "Waiting_balance".into(), goal: "recovers'vc".into() };
    let recovers =
        theory.add(Property::Waiting, "balance", claimed.what, &handler.at, claim, rests_on.clone());
    let mut rests_on = vec![recovers];
    if claimed.by_moves {
        let steals = handler.effects.steals.iter().map(|id| unit.policy.steals[id.index()].name.as_str());
        rests_on.extend(theory.bounded_moves_of(&steals.collect::<Vec<_>>()));
        rests_on.push(steals::measures_stay(unit, theory, Event::Balance, handler));
    }
    theory.closes("balances", claimed.bound, &handler.at, "Closing_balance", &claimed.closing, rests_on);
}

/// The contract of a balance that steals for its own core and for idle ones, as a premise.
fn rounds() -> Vec<Decl> {
    vec![
        Decl::Text("predicate balance (v w: view) (c: int) = settled_idle w /\\ balanced v w c"),
        Decl::Blank,
        Decl::Text("clone closing.Rounds with predicate balance = balance, goal is_balanced"),
    ]
}

const STEAL: [(&str, &str); 4] =
    [("before", "int -> int"), ("after", "int -> int"), ("src", "int"), ("dst", "int")];

/// The same of a balance that steals for any core, and of its steals.
fn moves() -> Vec<Decl> {
    vec![
        Decl::Text("use progress.Potential"),
        Decl::Blank,
        Decl::Predicate("steal".into(), params(&STEAL), steals::falls_once()),
        Decl::Text(
            "predicate balance (v w: view) (moved: bool) = settled_idle w /\\ (moved \\/ conserved w)",
        ),
        Decl::Blank,
        Decl::Text(
            "clone closing.Moves with predicate steal = steal, predicate balance = balance,
    goal steal_falls, goal settles",
        ),
    ]
}

fn claimed(policy: &Policy, handler: &Function) -> BalanceClaim {
    let sound = Why::Text("sound !now_state /\\ single !now_state");
    match for_idle_cores(policy, handler) {
        true => BalanceClaim {
            what: "alone, it leaves its core without a second thread for an idle core",
            ensures: Why::Text("settled_idle !now_state /\\ balanced (old !now_state) !now_state own_core"),
            invariants: vec![
                sound,
                Why::Text("settled_idle !now_state"),
                Why::Text("fills_idle start !now_state own_core"),
                app!("relieved", deref("now_state"), "own_core", VISITED),
            ],
            bound: "at most n rounds of them end with an idle core beside an overloaded one (n cores)",
            closing: [vec![USE], rounds()].concat(),
            by_moves: false,
        },
        false => BalanceClaim {
            what: "alone, it moves a thread or leaves no idle core beside an overloaded one",
            ensures: Why::Text("settled_idle !now_state /\\ (!moved \\/ conserved !now_state)"),
            invariants: vec![
                sound,
                Why::Text("settled_idle !now_state"),
                deref("moved").or(app!("spared", "start", deref("now_state"), VISITED)),
            ],
            bound: "at most s / 2 of them end with an idle core beside an overloaded one (s: the sum of the squares that \
                    each move lowers)",
            closing: [vec![USE], moves()].concat(),
            by_moves: true,
        },
    }
}

/// True if each steal of the handler is for its own core, or for a core of a loop over idle cores.
fn for_idle_cores(policy: &Policy, handler: &Function) -> bool {
    struct Thieves<'p> {
        policy: &'p Policy,
        known: Vec<LocalId>,
        all: bool,
    }
    impl Visitor for Thieves<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            match &stmt.kind {
                StmtKind::For { iteration, .. } => {
                    if let Over::Cores(set) = &iteration.over
                        && is_idle(set)
                    {
                        self.known.push(iteration.local);
                    }
                }
                StmtKind::Steal { thief, .. } => {
                    self.all &= matches!(&thief.kind, ExprKind::Local(id) if self.known.contains(id));
                }
                StmtKind::Call { function, .. } => {
                    self.all &= self.policy.function(*function).effects.steals.is_empty();
                }
                _ => {}
            }
            walk_stmt(self, stmt);
        }
    }
    let mut thieves = Thieves { policy, known: vec![LocalId(0)], all: true };
    walk_block(&mut thieves, &handler.body);
    thieves.all && assigned(&handler.body).is_disjoint(&thieves.known.into_iter().collect())
}

/// True for a set that only contains idle cores.
fn is_idle(set: &Expr) -> bool {
    match &set.kind {
        ExprKind::Kept(KeptSet::Idle | KeptSet::IdleWhole) => true,
        ExprKind::SetOp { op: SetOp::Intersection, left, right } => is_idle(left) || is_idle(right),
        ExprKind::SetOp { op: SetOp::Difference, left, .. } => is_idle(left),
        ExprKind::SetOp { op: SetOp::Union, left, right } => is_idle(left) && is_idle(right),
        _ => false,
    }
}

/// The beginning of a handler that acts at intervals: `if (now < next) return; next = now + interval;`.
struct Gate<'p> {
    test: &'p Expr,
    next: &'p Target,
    interval: &'p Expr,
}

impl<'p> Gate<'p> {
    fn of(handler: &'p Function) -> Option<Self> {
        let [first, second, ..] = handler.body.as_slice() else { return None };
        let StmtKind::If { test, then, otherwise } = &first.kind else { return None };
        let [Stmt { kind: StmtKind::Return(None), .. }] = then.as_slice() else { return None };
        let ExprKind::Compare { op: Comparison::Lt, left, right } = &test.kind else { return None };
        let StmtKind::Assign { target: next, value } = &second.kind else { return None };
        let ExprKind::Arithmetic { op: Arithmetic::Add, left: from, right: interval } = &value.kind else {
            return None;
        };
        let is_now = |e: &Expr| matches!(e.kind, ExprKind::Now);
        let fits = otherwise.is_empty() && is_now(left) && is_now(from) && reads(right, next);
        fits.then_some(Gate { test, next, interval })
    }
}

/// True if an expression reads what is assigned, of the whole machine or of the handler's core.
fn reads(e: &Expr, target: &Target) -> bool {
    let own = |core: &Expr| matches!(core.kind, ExprKind::Local(LocalId(0)));
    match (&e.kind, target) {
        (ExprKind::Global(a), Target::Global(b)) => a == b,
        (ExprKind::Core { attribute: a, core: c }, Target::Core { attribute: b, core: d }) => {
            a == b && own(c) && own(d)
        }
        _ => false,
    }
}

/// The interval of a gate is short, and nothing else closes it.
fn frequent(unit: &Unit, theory: &mut Theory, handler: &Function, gate: &Gate) -> Id {
    unit.restart();
    let assigned: usize = unit.policy.functions.iter().map(|function| assignments(function, gate.next)).sum();
    if assigned != 1 || initial(unit.policy, gate.next) > 0 {
        let construct = "a time of the next balance that is set elsewhere too";
        let id = Id::new("balance", FREQUENT);
        theory.not_modelled(Property::Waiting, "balance", FREQUENT, &handler.at, construct);
        return id;
    }
    let mut scope = Scope::new(handler);
    scope.bind(LocalId(0), "own_core");
    let interval = Terms::new(unit, "r", "0").expr(&scope, gate.interval);
    let frequent = forall("r: readings, own_core: int", interval.infix("<=", "most_interval"));
    let goal = Decl::Goal("frequent", frequent);
    theory.module("Waiting_interval", &[Decl::Text("use waiting.Limits"), Decl::Blank, goal]);
    theory.goal(Property::Waiting, "balance", FREQUENT, &handler.at, "Waiting_interval", "frequent")
}

fn initial(policy: &Policy, target: &Target) -> i64 {
    match target {
        Target::Global(id) => policy.attribute(Owner::Global, *id).initial,
        Target::Core { attribute, .. } => policy.attribute(Owner::Core, *attribute).initial,
        _ => 0,
    }
}

/// How often a function assigns to the same attribute, whoever owns it.
fn assignments(function: &Function, target: &Target) -> usize {
    struct Find<'t>(&'t Target, usize);
    impl Visitor for Find<'_> {
        fn stmt(&mut self, stmt: &Stmt) {
            if let StmtKind::Assign { target, .. } = &stmt.kind {
                self.1 += match (target, self.0) {
                    (Target::Global(a), Target::Global(b)) => usize::from(a == b),
                    (Target::Core { attribute: a, .. }, Target::Core { attribute: b, .. }) => {
                        usize::from(a == b)
                    }
                    _ => 0,
                };
            }
            walk_stmt(self, stmt);
        }
    }
    let mut find = Find(target, 0);
    walk_block(&mut find, &function.body);
    find.1
}
