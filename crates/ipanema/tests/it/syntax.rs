//! Meaning of source texts: precedence, literals, documentation.

use crate::common::{parse_clean, without_spans};
use hearth_ipanema::syntax::ast::*;
use hearth_ipanema::syntax::{format, parse};
use hearth_ipanema::{SourceId, Span};

/// Parses `text` as the return value of a function.
fn expr(text: &str) -> Expr {
    let policy = parse_clean("expr.ipa", &format!("policy x {{ int f() {{ return {text}; }} }}"));
    let ItemKind::Function(function) = &policy.items[0].kind else { panic!("no function") };
    let [Stmt { kind: StmtKind::Return(Some(value)), .. }] = &function.body.stmts[..] else {
        panic!("no return")
    };
    value.clone()
}

/// Asserts that two expressions differ only in parentheses.
#[track_caller]
fn same(bare: &str, parenthesised: &str) {
    let tree =
        |text| without_spans(&parse_clean("e.ipa", &format!("policy x {{ param p : int = {text}; }}")));
    assert_eq!(tree(bare), tree(parenthesised), "{bare}  is not  {parenthesised}");
}

#[test]
fn each_level_binds_tighter_than_the_one_before() {
    same("a else b ? c : d", "a else (b ? c : d)");
    same("a ? b : c else d", "(a ? b : c) else d");
    same("a || b ? c : d", "(a || b) ? c : d");
    same("a || b && c", "a || (b && c)");
    same("a && b == c", "a && (b == c)");
    same("a && b in c", "a && (b in c)");
    same("a in b | c", "a in (b | c)");
    same("a == b | c", "a == (b | c)");
    same("a | b & c", "a | (b & c)");
    same("a & b - c", "a & (b - c)");
    same("a - b * c", "a - (b * c)");
    same("a * -b", "a * (-b)");
    same("-a.b", "-(a.b)");
    same("!a in b", "(!a) in b");
    same("!f(x).y", "!((f(x)).y)");
}

#[test]
fn operators_associate_as_the_reference_says() {
    same("a else b else c", "a else (b else c)");
    same("a ? b : c ? d : e", "a ? b : (c ? d : e)");
    same("a ? b ? c : d : e", "a ? (b ? c : d) : e");
    for op in ["||", "&&", "|", "&", "+", "-", "*", "/", "%"] {
        same(&format!("a {op} b {op} c"), &format!("(a {op} b) {op} c"));
    }
    same("a - b + c", "(a - b) + c");
    same("a / b * c % d", "((a / b) * c) % d");
}

#[test]
fn clauses_end_where_the_next_begins() {
    same(
        "first(core c in a & b - c from x + 1 limit n * 2 where p || q ? r : s)",
        "first(core c in (a & (b - c)) from (x + 1) limit (n * 2) where ((p || q) ? r : s))",
    );
    same(
        "min(core c in from from from by by, by where where)",
        "min(core c in (from) from (from) by (by), (by) where (where))",
    );
    same("sum(core c in a of b ? c : d) else e", "(sum(core c in a of (b ? c : d))) else e");
}

#[test]
fn searches_and_calls_are_told_apart_by_the_type() {
    assert!(matches!(expr("min(a, b)").kind, ExprKind::Call { .. }));
    assert!(matches!(expr("min(t.core, b)").kind, ExprKind::Call { .. }));
    assert!(matches!(expr("min(core c in s by x)").kind, ExprKind::Search(_)));
    assert!(matches!(expr("first(thread t in c.ready)").kind, ExprKind::Search(_)));
    assert!(matches!(expr("count(s)").kind, ExprKind::Call { .. }));
    assert!(matches!(expr("super.f(x)").kind, ExprKind::SuperCall { .. }));
    assert!(matches!(expr("s.add(c)").kind, ExprKind::MethodCall { .. }));
}

#[test]
fn literals_have_their_values() {
    let time = |text: &str| match expr(text).kind {
        ExprKind::Time { ns, .. } => ns,
        other => panic!("{other:?}"),
    };
    assert_eq!(time("5ns"), 5);
    assert_eq!(time("50us"), 50_000);
    assert_eq!(time("1.5ms"), 1_500_000);
    assert_eq!(time("1s"), 1_000_000_000);
    assert_eq!(time("0.000000001s"), 1);
    assert_eq!(time("1tick"), 4_000_000);
    assert_eq!(time("2ticks"), 8_000_000);
    assert_eq!(time("2.50ms"), 2_500_000);
    let khz = |text: &str| match expr(text).kind {
        ExprKind::Frequency { khz, .. } => khz,
        other => panic!("{other:?}"),
    };
    assert_eq!(khz("800kHz"), 800);
    assert_eq!(khz("1200MHz"), 1_200_000);
    assert_eq!(khz("2.1GHz"), 2_100_000);
    assert_eq!(expr("9223372036854775807").kind, ExprKind::Int(i64::MAX));
}

#[test]
fn literals_without_a_value_are_rejected() {
    for number in [
        "9223372036854775808",
        "9223372036855s",
        "9223372036.854775808s",
        "0.1ns",
        "0.0000000001s",
        "1.00000005ticks",
    ] {
        let text = format!("policy x {{ param p : int = {number}; }}");
        let parsed = parse(SourceId::default(), &text);
        assert_eq!(parsed.diagnostics.len(), 1, "{number}");
        assert_eq!(parsed.diagnostics[0].code.id, "E0104", "{number}");
    }
}

#[test]
fn spans_hold_their_text() {
    let text = "policy x { int f() { return (a + b) * c; } }";
    let policy = parse_clean("x.ipa", text);
    let ItemKind::Function(function) = &policy.items[0].kind else { panic!() };
    let StmtKind::Return(Some(product)) = &function.body.stmts[0].kind else { panic!() };
    let ExprKind::Binary { left, right, .. } = &product.kind else { panic!() };
    assert_eq!(product.span.text(text), "(a + b) * c");
    assert_eq!(left.span.text(text), "(a + b)");
    assert_eq!(right.span.text(text), "c");
    assert_eq!(function.body.stmts[0].span.text(text), "return (a + b) * c;");
    assert_eq!(function.body.span.text(text), "{ return (a + b) * c; }");
    assert_eq!(policy.span.text(text), text);
}

#[test]
fn documentation_is_attached() {
    let text = "\
/// Of the policy.
///
/// Second paragraph.
policy x {
    /// stray

    // between
    /// Of the parameter.
    // not documentation
    param a : int = 1;
    thread {
        /// Of the attributes.
        int b, c;
        int d; //// no documentation
    }
}
";
    let parsed = parse(SourceId::default(), text);
    let policy = parsed.policy.unwrap();
    let doc = |doc: &Option<Doc>| doc.as_ref().map(|doc| doc.text.clone());
    assert_eq!(doc(&policy.doc).unwrap(), "Of the policy.\n\nSecond paragraph.");
    assert_eq!(doc(&policy.items[0].doc).unwrap(), "Of the parameter.");
    let ItemKind::Attributes(attributes) = &policy.items[1].kind else { panic!() };
    assert_eq!(doc(&attributes.fields[0].doc).unwrap(), "Of the attributes.");
    assert_eq!(doc(&attributes.fields[1].doc), None);
    let stray: Vec<Span> = parsed.diagnostics.iter().map(|diagnostic| diagnostic.span).collect();
    assert_eq!(stray.iter().map(|span| span.text(text)).collect::<Vec<_>>(), ["/// stray"]);
}

#[test]
fn formatting() {
    let untidy = "\
// Header
policy   x extends y{// why
param a:int=1; // one
param long_name : time in 1ms..2s=1.50s;


set s;
void f( core c ){ if(a)return; // because
else{ /* nothing */ }
// before
x=(a+(b*c))+(d-e)/* inside */;
if (a && b || c) x -= -(-1); }
  on exit(core c) {}
}
// end";
    let tidy = "\
// Header
policy x extends y {
    // why
    param a         : int             = 1; // one
    param long_name : time in 1ms..2s = 1.5s;

    set s;

    void f(core c) {
        if (a)
            return; // because
        else {
            /* nothing */
        }
        // before
        /* inside */
        x = a + b * c + (d - e);
        if ((a && b) || c) x -= -(-1);
    }

    on exit (core c) { }
}
// end
";
    assert_eq!(format(SourceId::default(), untidy).unwrap(), tidy);
}

/// A comment before a brace moves into the block, so it does not keep the bodies of its chain from the lines of their
/// heads: once it has moved, nothing would.
#[test]
fn a_comment_that_moves_into_a_block_breaks_no_line() {
    let untidy = "policy x { void f() { if (a) /* b */ { c(); } else if (d /* e */) { g(); } else\n h(); } }";
    let tidy = "\
policy x {
    void f() {
        if (a) {
            /* b */
            c();
        } else if (d) {
            /* e */
            g();
        } else h();
    }
}
";
    assert_eq!(format(SourceId::default(), untidy).unwrap(), tidy);
    assert_eq!(format(SourceId::default(), tidy).unwrap(), tidy);
}
