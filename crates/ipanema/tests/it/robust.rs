//! For any text, the compiler neither panics nor fails silently, and emits valid C for what it
//! accepts.

use crate::harness::{compile_text, compiles, is_c};
use hearth_ipanema::{builtin, emit};

/// A small deterministic random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}

/// Words and the text between them.
fn tokens(text: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let length =
            if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

#[test]
fn mutated_policies_are_handled() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut accepted = Vec::new();
    for name in builtin::NAMES {
        // Mutates the base, under the name of the test.
        let text = builtin::source(name).unwrap().replacen(&format!("policy {name}"), "policy test", 1);
        let original = tokens(&text);
        for _ in 0..hearth_tests::cases(40, 1000) {
            let mut mutated = original.clone();
            for _ in 0..1 + random.below(3) {
                let (at, from) = (random.below(mutated.len()), random.below(mutated.len()));
                match random.below(4) {
                    0 => drop(mutated.remove(at)),
                    1 => mutated[at] = mutated[from],
                    2 => mutated.insert(at, mutated[from]),
                    _ => mutated.swap(at, from),
                }
            }
            match compile_text(&mutated.concat()) {
                Ok(compiled) => accepted.push(emit::c(&compiled.ir)),
                Err(failed) => {
                    let said = failed.to_string();
                    assert!(said.contains("Error") && !said.contains("cannot be compiled"), "{said}");
                }
            }
        }
    }
    // Most valid mutants differ in a comment only, so compiling a few is enough.
    accepted.sort();
    accepted.dedup();
    assert!(accepted.len() > 20);
    for c in accepted.iter().step_by(accepted.len() / 12) {
        compiles(c);
    }
}

#[test]
fn every_base_can_be_missing() {
    for text in ["", "policy", "policy test extends nothing { }", "policy test { }", "\u{0}"] {
        assert!(compile_text(text).is_err());
    }
}

/// Nesting up to the parser's limit, and beyond.
#[test]
fn deep_nesting_is_handled() {
    let policy = |body: String| format!("policy test extends cfs {{ on balance (core c) {{ {body} }} }}");
    for depth in [10, 40, 60, 100, 120, 200, 5000] {
        let nested = |open: &str, inner: &str, close: &str| open.repeat(depth) + inner + &close.repeat(depth);
        let texts = [
            nested("if (now > 1ms) { ", "preempt(c);", " }"),
            nested("if (now > 1ms) preempt(c); else ", "preempt(c);", ""),
            format!("int x = {};", nested("(1 + ", "c.nr_ready", ")")),
            format!("int x = {};", nested("(claim(c) ? 1 : ", "2", ")")),
            format!("bool x = {};", nested("!(", "c in idle", ")")),
            format!("bool x = {};", nested("any(core c in idle where ", "claim(c)", ")")),
            format!("bool x = empty({});", nested("(idle - ", "idle", ")")),
            nested("for (core c in idle) { ", "c.past += 1;", " }"),
        ];
        for text in texts {
            match compile_text(&policy(text)) {
                Ok(compiled) => is_c(&emit::c(&compiled.ir)),
                Err(failed) => assert!(depth > 50, "{failed}"),
            }
        }
    }
}

/// A policy in which each of `n` functions calls the one before twice.
fn chain(n: usize) -> String {
    let mut text = "policy chain extends cfs {\n    int f0(thread t) { return 1; }\n".to_owned();
    for n in 1..n {
        text += &format!("    int f{n}(thread t) {{ return f{0}(t) + f{0}(t); }}\n", n - 1);
    }
    text + &format!("    on tick (thread t) {{ if (f{}(t) > 0) super; }}\n}}\n", n - 1)
}

/// A pass that follows each call of a long chain would never end.
#[test]
fn calls_that_double_have_a_limit() {
    let compiled = |n| crate::harness::compile_files(&[("chain", &chain(n))], "chain");
    let c = hearth_ipanema::emit::c(&compiled(11).expect("it is sound").ir);
    assert!(c.len() < 100_000, "{} bytes", c.len());
    let refused = compiled(60).expect_err("it has 2^60 calls").to_string();
    assert!(refused.contains("E0606") && refused.contains("`f12` makes more than 4096 calls"), "{refused}");
}
