//! Arbitrary syntax trees that the parser can produce, with empty spans.

use hearth_ipanema::Span;
use hearth_ipanema::syntax::ast::*;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

fn span() -> Span {
    Span::default()
}

fn boxed<T>(value: T) -> Box<T> {
    Box::new(value)
}

/// Names, including contextual keywords.
const NAMES: &[&str] = &[
    "a",
    "b",
    "c",
    "t",
    "primary",
    "from",
    "nearest",
    "limit",
    "where",
    "by",
    "of",
    "max",
    "min",
    "first",
    "sum",
    "running",
    "blocked",
    "block",
    "balance",
    "move",
    "stop",
    "fifo",
    "very_long_name_of_something_or_other",
];

fn ident() -> impl Strategy<Value = Ident> {
    select(NAMES).prop_map(|name| Ident { name: name.to_owned(), span: span() })
}

/// Names after a dot, which may be keywords.
fn member() -> impl Strategy<Value = Ident> {
    prop_oneof![
        ident(),
        select(&["core", "load", "in", "else", "set"][..])
            .prop_map(|name| Ident { name: name.to_owned(), span: span() })
    ]
}

fn doc() -> impl Strategy<Value = Option<Doc>> {
    let line = select(&["", "Why it is so.", "  indented", "/// odd", "a // b /* c"][..]);
    of(vec(line, 1..3).prop_map(|lines| Doc { text: lines.join("\n"), span: span() }))
}

fn ty() -> impl Strategy<Value = Type> {
    (select(&BaseType::ALL[..]), any::<bool>()).prop_map(|(base, optional)| Type {
        base,
        optional: optional && base.can_be_optional(),
        span: span(),
    })
}

fn formal() -> impl Strategy<Value = Formal> {
    (ty(), ident()).prop_map(|(ty, name)| Formal { ty, name, span: span() })
}

fn extreme() -> impl Strategy<Value = Extreme> {
    select(&[Extreme::Min, Extreme::Max][..])
}

const OPERATORS: &[BinaryOp] = {
    use BinaryOp::*;
    &[Or, And, Eq, Ne, Lt, Le, Gt, Ge, In, Union, Intersection, Add, Sub, Mul, Div, Rem]
};

fn make(kind: ExprKind) -> Expr {
    Expr { kind, span: span() }
}

fn leaf() -> impl Strategy<Value = Expr> {
    prop_oneof![
        any::<bool>().prop_map(ExprKind::Bool),
        (0..=i64::MAX).prop_map(ExprKind::Int),
        (0..=i64::MAX, select(&TimeUnit::ALL[..])).prop_map(|(ns, unit)| ExprKind::Time { ns, unit }),
        (0..=i64::MAX, select(&FrequencyUnit::ALL[..]))
            .prop_map(|(khz, unit)| ExprKind::Frequency { khz, unit }),
        Just(ExprKind::None),
        ident().prop_map(|ident| ExprKind::Name(ident.name)),
    ]
    .prop_map(make)
}

pub fn expr() -> impl Strategy<Value = Expr> {
    leaf().prop_recursive(5, 40, 4, |inner| {
        let args = || vec(inner.clone(), 0..4);
        prop_oneof![
            (inner.clone(), member())
                .prop_map(|(object, member)| ExprKind::Member { object: boxed(object), member }),
            (ident(), args()).prop_map(|(function, args)| ExprKind::Call { function, args }),
            (ident(), args()).prop_map(|(function, args)| ExprKind::SuperCall { function, args }),
            (inner.clone(), member(), args()).prop_map(|(receiver, method, args)| ExprKind::MethodCall {
                receiver: boxed(receiver),
                method,
                args
            }),
            (select(&[UnaryOp::Not, UnaryOp::Neg][..]), inner.clone())
                .prop_map(|(op, operand)| ExprKind::Unary { op, operand: boxed(operand) }),
            (select(OPERATORS), inner.clone(), inner.clone()).prop_map(|(op, left, right)| {
                ExprKind::Binary { op, left: boxed(left), right: boxed(right) }
            }),
            (inner.clone(), inner.clone(), inner.clone()).prop_map(|(condition, then, otherwise)| {
                ExprKind::Conditional {
                    condition: boxed(condition),
                    then: boxed(then),
                    otherwise: boxed(otherwise),
                }
            }),
            (inner.clone(), inner.clone()).prop_map(|(optional, default)| ExprKind::Default {
                optional: boxed(optional),
                default: boxed(default)
            }),
            search(inner.clone()).prop_map(|search| ExprKind::Search(boxed(search))),
        ]
        .prop_map(make)
    })
}

fn iteration(expr: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Iteration> {
    let order = (select(&[OrderKind::From, OrderKind::Nearest][..]), expr.clone())
        .prop_map(|(kind, origin)| Order { kind, origin, span: span() });
    (ty(), ident(), expr.clone(), of(order), of(expr)).prop_map(|(ty, name, set, order, limit)| Iteration {
        ty,
        name,
        set,
        order,
        limit,
        span: span(),
    })
}

fn search(expr: impl Strategy<Value = Expr> + Clone) -> impl Strategy<Value = Search> {
    let kind = prop_oneof![
        Just(SearchKind::First),
        Just(SearchKind::Any),
        (extreme(), vec(expr.clone(), 1..3)).prop_map(|(extreme, by)| SearchKind::Extreme { extreme, by }),
        expr.clone().prop_map(|of| SearchKind::Sum { of }),
    ];
    (kind, iteration(expr.clone()), of(expr)).prop_map(|(kind, iteration, filter)| {
        let filter = filter.filter(|_| !matches!(kind, SearchKind::Sum { .. }));
        Search { kind, iteration, filter }
    })
}

/// Small expressions for statements, which leave room for many statements in a tree.
fn small() -> BoxedStrategy<Expr> {
    prop_oneof![3 => leaf().boxed(), 1 => expr().boxed()].boxed()
}

fn target_of_assignment() -> impl Strategy<Value = Expr> {
    prop_oneof![
        ident().prop_map(|ident| make(ExprKind::Name(ident.name))),
        (small(), member())
            .prop_map(|(object, member)| make(ExprKind::Member { object: boxed(object), member })),
    ]
}

fn call() -> impl Strategy<Value = Expr> {
    prop_oneof![
        (ident(), vec(small(), 0..3)).prop_map(|(function, args)| ExprKind::Call { function, args }),
        (ident(), vec(small(), 0..3)).prop_map(|(function, args)| ExprKind::SuperCall { function, args }),
        (small(), member(), vec(small(), 0..3)).prop_map(|(receiver, method, args)| ExprKind::MethodCall {
            receiver: boxed(receiver),
            method,
            args
        }),
    ]
    .prop_map(make)
}

fn simple() -> impl Strategy<Value = StmtKind> {
    let target = prop_oneof![
        (small(), member()).prop_map(|(core, queue)| Target::Ready { core, queue }),
        Just(Target::Running(span())),
        Just(Target::Blocked(span())),
        Just(Target::Terminated(span())),
    ];
    prop_oneof![
        (ty(), ident(), small()).prop_map(|(ty, name, value)| StmtKind::Local { ty, name, value }),
        (target_of_assignment(), select(&[AssignOp::Set, AssignOp::Add, AssignOp::Sub][..]), small())
            .prop_map(|(target, op, value)| StmtKind::Assign { target, op, value }),
        Just(StmtKind::Break),
        Just(StmtKind::Continue),
        of(small()).prop_map(StmtKind::Return),
        (small(), target, of(ident())).prop_map(|(thread, target, reason)| StmtKind::Transition {
            thread,
            target,
            reason
        }),
        Just(StmtKind::Super),
        call().prop_map(StmtKind::Call),
    ]
}

fn stmt() -> impl Strategy<Value = Stmt> {
    let make = |kind| Stmt { kind, span: span() };
    simple().prop_map(make).prop_recursive(4, 30, 4, move |inner| {
        let condition = prop_oneof![
            small().prop_map(Condition::Test),
            (ty(), ident(), small()).prop_map(|(ty, name, value)| Condition::Bind {
                ty,
                name,
                value,
                span: span()
            }),
        ];
        prop_oneof![
            (condition, inner.clone(), of(inner.clone())).prop_map(move |(condition, then, otherwise)| {
                // Without braces, the `else` would belong to another `if`.
                let ends_open = matches!(then.kind, StmtKind::If { .. } | StmtKind::For { .. });
                let then = match ends_open && otherwise.is_some() {
                    true => make(StmtKind::Block(Block { stmts: vec![then], span: span() })),
                    false => then,
                };
                StmtKind::If { condition, then: boxed(then), otherwise: otherwise.map(boxed) }
            }),
            (iteration(small()), inner.clone())
                .prop_map(|(iteration, body)| StmtKind::For { iteration, body: boxed(body) }),
            vec(inner, 0..4).prop_map(|stmts| StmtKind::Block(Block { stmts, span: span() })),
        ]
        .prop_map(make)
    })
}

fn block() -> impl Strategy<Value = Block> {
    vec(stmt(), 0..4).prop_map(|stmts| Block { stmts, span: span() })
}

fn field() -> impl Strategy<Value = Field> {
    let name = (ident(), of(small())).prop_map(|(name, initial)| FieldName { name, initial });
    (doc(), ty(), vec(name, 1..4)).prop_map(|(doc, ty, names)| Field { doc, ty, names, span: span() })
}

fn phase() -> impl Strategy<Value = Phase> {
    (doc(), formal(), block()).prop_map(|(doc, subject, body)| Phase { doc, subject, body, span: span() })
}

fn stop_phase() -> impl Strategy<Value = StopPhase> {
    (doc(), block()).prop_map(|(doc, body)| StopPhase { doc, body, span: span() })
}

fn steal() -> impl Strategy<Value = Steal> {
    let order = (select(&[OrderKind::From, OrderKind::Nearest][..]), small())
        .prop_map(|(kind, origin)| Order { kind, origin, span: span() });
    let select_core = (doc(), formal(), extreme(), vec(small(), 1..3), of(order)).prop_map(
        |(doc, subject, extreme, by, order)| SelectCore { doc, subject, extreme, by, order, span: span() },
    );
    let head = (ident(), formal(), formal());
    let phases = (of(phase()), of(select_core), of(phase()), of(stop_phase()), of(stop_phase()), of(phase()));
    (head, phases).prop_map(|((name, thief, victims), phases)| {
        let (can_steal_core, select_core, steal_thread, stop_core, stop, move_thread) = phases;
        let body_span = span();
        Steal {
            name,
            thief,
            victims,
            can_steal_core,
            select_core,
            steal_thread,
            stop_core,
            stop,
            move_thread,
            body_span,
        }
    })
}

fn item() -> impl Strategy<Value = Item> {
    let range = (small(), small()).prop_map(|(low, high)| Range { low, high, span: span() });
    let order = prop_oneof![
        Just(QueueOrder::Fifo),
        Just(QueueOrder::List),
        ident().prop_map(|by| QueueOrder::Rbtree { by }),
    ];
    let owner = select(&[Owner::Global, Owner::Thread, Owner::Core][..]);
    let kind = prop_oneof![
        3 => (ident(), ty(), of(range), small())
            .prop_map(|(name, ty, range, default)| ItemKind::Param(Param { name, ty, range, default })),
        2 => (ident(), of(small())).prop_map(|(name, capacity)| ItemKind::Set(SetDecl { name, capacity })),
        1 => (owner, vec(field(), 0..4)).prop_map(|(owner, fields)| ItemKind::Attributes(Attributes { owner, fields })),
        1 => (ident(), order).prop_map(|(name, order)| ItemKind::Queue(Queue { name, order })),
        1 => (ident(), expr()).prop_map(|(name, condition)| ItemKind::Invariant(Invariant { name, condition })),
        2 => (of(ty()), ident(), vec(formal(), 0..5), block())
            .prop_map(|(result, name, formals, body)| ItemKind::Function(Function { result, name, formals, body })),
        2 => (select(&Event::ALL[..]), vec(formal(), 0..3), block())
            .prop_map(|(event, formals, body)| ItemKind::Handler(Handler { event, event_span: span(), formals, body })),
        1 => steal().prop_map(ItemKind::Steal),
        1 => (ident(), vec(part_of_slot(), 0..4))
            .prop_map(|(name, items)| ItemKind::Slot(Slot { name, items, body_span: span() })),
    ];
    (doc(), kind).prop_map(|(doc, kind)| Item { doc, kind, span: span() })
}

fn part_of_slot() -> impl Strategy<Value = Item> {
    let formals = || vec(formal(), 0..3);
    let event = || select(&Event::ALL[..]);
    let kind =
        prop_oneof![
            ident().prop_map(|name| ItemKind::Need(Need::Queue(name))),
            (event(), formals()).prop_map(|(event, formals)| {
                ItemKind::Need(Need::Handler { event, event_span: span(), formals })
            }),
            (of(ty()), ident(), formals())
                .prop_map(|(result, name, formals)| ItemKind::Need(Need::Function { result, name, formals })),
            (event(), formals(), block()).prop_map(|(event, formals, body)| ItemKind::Handler(Handler {
                event,
                event_span: span(),
                formals,
                body
            })),
            (of(ty()), ident(), formals(), block()).prop_map(|(result, name, formals, body)| {
                ItemKind::Function(Function { result, name, formals, body })
            }),
        ];
    (doc(), kind).prop_map(|(doc, kind)| Item { doc, kind, span: span() })
}

/// Policy names, with hyphens and `+` also before words that are not names by themselves.
fn policy_name() -> impl Strategy<Value = Ident> {
    let tail = vec(select(&["-cwc", "-flat", "+core", "-2", "+4ms"][..]), 0..3);
    (ident(), tail).prop_map(|(first, tail)| Ident { name: first.name + &tail.concat(), span: span() })
}

/// Policies and features.
pub fn policy() -> impl Strategy<Value = Policy> {
    let base = prop_oneof![
        (of(policy_name()), Just(Vec::new())),
        (policy_name().prop_map(Some), vec(policy_name(), 1..9)),
    ];
    let head = prop_oneof![
        3 => base.prop_map(|(base, with)| (None, base, with)),
        1 => ident().prop_map(|slot| (Some(slot), None, Vec::new())),
    ];
    (doc(), policy_name(), head, vec(item(), 0..6)).prop_map(|(doc, name, (slot, base, with), items)| {
        Policy { doc, name, slot, base, with, items, span: span() }
    })
}
