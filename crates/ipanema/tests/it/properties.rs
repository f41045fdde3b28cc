//! Properties of the parser and formatter, for all trees and texts.

use std::time::{Duration, Instant};

use crate::common::{generate, parse_clean, policies, without_spans};
use hearth_ipanema::SourceId;
use hearth_ipanema::diagnostic::{Diagnostic, render_all};
use hearth_ipanema::syntax::lexer::lex;
use hearth_ipanema::syntax::token::{KEYWORDS, TokenKind};
use hearth_ipanema::syntax::{Sources, format, parse, print};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Parses and formats any text, and checks its properties.
fn survives(text: &str) {
    let mut sources = Sources::new();
    let id = sources.add("test.ipa", text);
    let parsed = parse(id, text);
    for diagnostic in &parsed.diagnostics {
        assert!(diagnostic.span.start <= diagnostic.span.end);
        assert!(diagnostic.span.end as usize <= text.len());
    }
    render_all(&parsed.diagnostics, &sources, false);
    for diagnostic in &parsed.diagnostics {
        diagnostic.to_json(&sources);
    }
    match format(id, text) {
        Ok(_) => formats_well(text),
        Err(errors) => {
            assert!(errors.iter().any(Diagnostic::is_error), "neither formatted nor rejected:\n{text}")
        }
    }
}

/// The formatter keeps the tree and all comments of a valid text, and is idempotent.
fn formats_well(text: &str) {
    let once = format(SourceId::default(), text).unwrap();
    let twice = format(SourceId::default(), &once).unwrap_or_else(|errors| {
        panic!("{}\n{text}\n--- became ---\n{once}", crate::common::rendered("once.ipa", &once, &errors))
    });
    if let Some(line) =
        (0_usize..).zip(once.lines().zip(twice.lines())).find(|(_, (a, b))| a != b).map(|(i, _)| i)
    {
        let around =
            |text: &str| text.lines().skip(line.saturating_sub(2)).take(5).collect::<Vec<_>>().join("\n");
        panic!("not stable at line {line}:\n{}\n--- became ---\n{}", around(&once), around(&twice));
    }
    assert!(once == twice);
    let tree = |text| without_spans(&parse(SourceId::default(), text).policy.unwrap());
    assert!(tree(text) == tree(&once), "another tree:\n{text}\n--- became ---\n{once}");
    assert_eq!(comments(text), comments(&once), "\n{text}\n--- became ---\n{once}");
}

/// The comments of a text, sorted, without the slashes of line comments.
fn comments(text: &str) -> Vec<String> {
    let lexed = lex(SourceId::default(), text);
    let comment = |span: hearth_ipanema::Span| span.text(text).trim_start_matches('/').trim().to_owned();
    let mut comments: Vec<_> = lexed.comments.iter().map(|c| comment(c.span)).collect();
    comments.sort();
    comments
}

/// Tokens of a text and the text between them.
fn pieces(text: &str) -> Vec<&str> {
    let mut cuts: Vec<usize> = lex(SourceId::default(), text)
        .tokens
        .iter()
        .flat_map(|token| [token.span.start as usize, token.span.end as usize])
        .collect();
    cuts.insert(0, 0);
    cuts.push(text.len());
    cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).filter(|piece| !piece.is_empty()).collect()
}

/// A built-in policy, or a sample with constructs that they do not use.
fn sample() -> impl Strategy<Value = String> {
    let mut samples: Vec<String> = policies().into_iter().map(|(_, text)| text).collect();
    samples.push(SAMPLE.to_owned());
    select(samples)
}

const SAMPLE: &str = "// Header\n\n/// Doc\npolicy x { // behind the brace\n\
    param f : frequency in 800kHz..2.1GHz = 1200MHz;\n\n\n    set s;\n queue a : fifo; queue b : list;\n\
    thread { } core { /* all */ }\n\
    void f() { for (thread t in c.a limit 2) { continue; } /* last */ }\n\
    // between\n\
    bool g(domain? d) { if (a || b && !c) { return true; } // why\n else if (d == none) return false;\n\
    else { x.y += 1; x -= -(-2); } return any(core c in a | b nearest c where a ? b : (c else d)) || -1 < 2; }\n\
    on exit (core c) { super; { } break; }\n }\n// end\n";

/// Fragments of text: keywords, symbols, and some that are not part of the language.
fn soup() -> impl Strategy<Value = String> {
    let mut words: Vec<&str> = KEYWORDS.to_vec();
    words.extend([
        "{",
        "}",
        "(",
        ")",
        ",",
        ";",
        ":",
        "?",
        ".",
        "..",
        "=",
        "+=",
        "-=",
        "=>",
        "||",
        "&&",
        "==",
        "!=",
        "<",
        "<=",
        ">",
        ">=",
        "|",
        "&",
        "+",
        "-",
        "*",
        "/",
        "%",
        "!",
        "->",
        "++",
        "--",
        "\n",
        "\n",
        "// x\n",
        "/// x\n",
        "/* x */",
        "/*",
        "$",
        "\u{fe}\u{1f525}",
        "x",
        "c",
        "ready",
        "first",
        "min",
        "by",
        "from",
        "nearest",
        "limit",
        "where",
        "of",
        "max",
        "running",
        "new",
        "tick",
        "can_steal_core",
        "select_core",
        "stop",
        "move",
        "while",
        "NULL",
        "0",
        "12",
        "4ms",
        "2.1GHz",
        "1.5",
        "99999999999999999999",
        "5lightyears",
    ]);
    vec(select(words), 0..120).prop_map(|words| words.join(" "))
}

#[derive(Clone, Debug)]
enum Mutation {
    Remove(Index),
    Repeat(Index),
    Swap(Index, Index),
    Insert(Index, &'static str),
}

fn mutations() -> impl Strategy<Value = Vec<Mutation>> {
    let inserted = select(
        &[
            "{", "}", "(", ")", ";", "=", "=>", "else", "if", "for", "core", "// c\n", "/// d\n", "/* e */",
            "\n\n\n", "?", "in", "-", "where", "x",
        ][..],
    );
    let mutation = prop_oneof![
        any::<Index>().prop_map(Mutation::Remove),
        any::<Index>().prop_map(Mutation::Repeat),
        (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Mutation::Swap(a, b)),
        (any::<Index>(), inserted).prop_map(|(at, what)| Mutation::Insert(at, what)),
    ];
    vec(mutation, 1..6)
}

fn mutate(text: &str, mutations: &[Mutation]) -> String {
    let mut pieces = pieces(text);
    for mutation in mutations {
        let length = pieces.len();
        match mutation {
            _ if length == 0 => {}
            Mutation::Remove(at) => drop(pieces.remove(at.index(length))),
            Mutation::Repeat(at) => pieces.insert(at.index(length), pieces[at.index(length)]),
            Mutation::Swap(a, b) => pieces.swap(a.index(length), b.index(length)),
            Mutation::Insert(at, what) => pieces.insert(at.index(length), what),
        }
    }
    pieces.concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(64, 1024)))]

    #[test]
    fn printed_trees_parse_to_themselves(policy in generate::policy()) {
        let text = print(&policy);
        let parsed = parse_clean("printed.ipa", &text);
        prop_assert_eq!(without_spans(&policy), without_spans(&parsed), "\n{}", text);
        formats_well(&text);
    }

    #[test]
    fn comments_and_blank_lines_may_be_anywhere(
        text in sample(),
        inserted in vec((any::<Index>(), select(&["// c\n", "\n// d\n\n", "/* e */", " /* f\n   g */\n", "\n\n\n", "\n/// h\n"][..])), 1..12),
    ) {
        let mut pieces = pieces(&text);
        for (at, what) in inserted {
            pieces.insert(at.index(pieces.len()), what);
        }
        let text = pieces.concat();
        // Documentation may move to another declaration, which changes the tree.
        if format(SourceId::default(), &text).is_ok() {
            formats_well(&text);
        }
    }

    #[test]
    fn mutated_policies_are_handled(text in sample(), mutations in mutations()) {
        survives(&mutate(&text, &mutations));
    }

    #[test]
    fn random_tokens_are_handled(text in soup()) {
        survives(&text);
        survives(&format!("policy x {{ {text}"));
        survives(&format!("policy x {{ void f() {{ {text}"));
    }

    #[test]
    fn any_text_is_handled(text in any::<String>(), bytes in vec(any::<u8>(), 0..200)) {
        survives(&text);
        survives(&String::from_utf8_lossy(&bytes));
    }
}

/// Adversarial texts of 200 kB neither overflow the stack nor take more than linear time.
#[test]
fn large_and_deep_texts_are_handled() {
    let heads = ["", "policy x { ", "policy x { void f() { ", "policy x { void f() { return "];
    let repeated = [
        "(",
        ")",
        "{",
        "}",
        "if (a) ",
        "if (a) b(); else ",
        "a.",
        "a + ",
        "!",
        "- ",
        "a ? ",
        "a else ",
        "f(",
        "f(a, ",
        ";",
        "first(core c in ",
        "for (core c in a) ",
        "// x\n",
        "/// x\n",
        "$ ",
        "x ",
        "x = 1; ",
        "x\n",
        "a < ",
        "/* ",
        "on tick () { ",
        "core { int ",
        "int a, ",
        "steal s (core a, set b) { ",
        "a;\n",
        "1..",
        "\"",
    ];
    for head in heads {
        for repeated in repeated {
            let text = head.to_owned() + &repeated.repeat(200_000 / repeated.len());
            let start = Instant::now();
            let parsed = parse(SourceId::default(), &text);
            assert!(parsed.diagnostics.len() <= 110 || !parsed.has_errors());
            let time = start.elapsed();
            assert!(time < Duration::from_secs(5), "{head}{repeated}... took {time:?}");
        }
    }
}

#[test]
fn the_end_is_the_last_token() {
    for text in ["", "x", "\u{1f525}", "/*"] {
        let tokens = lex(SourceId::default(), text).tokens;
        assert_eq!(tokens.last().unwrap().kind, TokenKind::End);
        assert_eq!(tokens.iter().filter(|token| token.kind == TokenKind::End).count(), 1);
    }
}
