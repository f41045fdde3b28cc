//! The axioms of `runtime/contracts/words.h`, proved of 64-bit vectors.
//!
//! Contracts see a word through an abstract predicate `bit`. This module reads the same axioms from the same text and
//! asks Z3 for a counterexample with `bit(w, i)` as bit i of a bit vector. What it cannot read is not proved.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// An axiom and its negation in SMT-LIB. `Err` says what cannot be read.
pub struct Axiom {
    pub name: String,
    pub smt: Result<String, String>,
}

/// The axioms of a header, in its order.
pub fn axioms(header: &str) -> Vec<Axiom> {
    let text = header.replace("@", " ");
    let mut parts = text.split("axiom ").skip(1);
    let mut found = Vec::new();
    for part in &mut parts {
        let Some((name, rest)) = part.split_once(':') else {
            found.push(Axiom { name: part.trim().into(), smt: Err("no `:`".into()) });
            continue;
        };
        // The text of an axiom ends at the last `;` before the next one: those of quantifiers come earlier.
        let formula = rest.rsplit_once(';').map_or("", |(formula, _)| formula);
        found.push(Axiom { name: name.trim().into(), smt: negated(formula) });
    }
    found
}

fn negated(formula: &str) -> Result<String, String> {
    let tokens = tokens(formula)?;
    guarded(&tokens)?;
    let mut parser = Parser { tokens: &tokens, at: 0, variables: BTreeMap::new() };
    let value = parser.formula(0)?;
    let Value::Truth(text) = value else { return Err("a number instead of a formula".into()) };
    match parser.peek() {
        "" => Ok(format!("(set-logic ALL)\n(assert (not {text}))\n(check-sat)\n")),
        more => Err(format!("`{more}`")),
    }
}

/// An integer variable stands for a bit vector only if it is a bit's number.
fn guarded(tokens: &[String]) -> Result<(), String> {
    for (i, token) in tokens.iter().enumerate() {
        let Some(name) = tokens.get(i + 1).filter(|_| token == "integer") else { continue };
        let guard = ["0", "<=", name.as_str(), "<", "64"];
        if !tokens[i..].windows(guard.len()).any(|window| window.iter().eq(guard.iter())) {
            return Err(format!("no bounds of `{name}`"));
        }
    }
    Ok(())
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    const SYMBOLS: [&str; 22] = [
        "<==>", "==>", "<<", ">>", "<=", "==", "!=", "&&", "||", "<", "!", "~", "&", "|", "-", "+", "(", ")",
        ",", ";", "\\forall", "\\exists",
    ];
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let word = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').count();
        let length = match SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            Some(symbol) => symbol.len(),
            None if word > 0 => word,
            None => return Err(format!("`{}`", rest.chars().take(8).collect::<String>())),
        };
        tokens.push(rest[..length].to_owned());
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

enum Value {
    Truth(String),
    Word(String),
}

struct Parser<'t> {
    tokens: &'t [String],
    at: usize,
    /// Names of the variables in SMT-LIB.
    variables: BTreeMap<String, String>,
}

/// Binary operators with their precedence and their name in SMT-LIB. `==>` is right-associative.
const OPERATORS: [(&str, u8, &str); 14] = [
    ("<==>", 1, "="),
    ("==>", 2, "=>"),
    ("||", 3, "or"),
    ("&&", 4, "and"),
    ("|", 5, "bvor"),
    ("&", 6, "bvand"),
    ("==", 7, "="),
    ("!=", 7, "distinct"),
    ("<=", 8, "bvule"),
    ("<", 8, "bvult"),
    ("<<", 9, "bvshl"),
    (">>", 9, "bvlshr"),
    ("+", 10, "bvadd"),
    ("-", 10, "bvsub"),
];

impl Parser<'_> {
    fn peek(&self) -> &str {
        self.tokens.get(self.at).map_or("", String::as_str)
    }

    fn next(&mut self) -> String {
        let token = self.peek().to_owned();
        self.at += 1;
        token
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.next() {
            token if token == wanted => Ok(()),
            token => Err(format!("`{token}` instead of `{wanted}`")),
        }
    }

    fn formula(&mut self, least: u8) -> Result<Value, String> {
        let mut left = self.operand()?;
        while let Some((symbol, level, name)) =
            OPERATORS.into_iter().find(|(symbol, ..)| *symbol == self.peek())
        {
            if level < least {
                break;
            }
            self.at += 1;
            let right = self.formula(if symbol == "==>" { level } else { level + 1 })?;
            // A chain: a <= b < c.
            if level == 8 && matches!(self.peek(), "<" | "<=") {
                let (Value::Word(a), Value::Word(b)) = (&left, &right) else {
                    return Err(format!("`{symbol}`"));
                };
                let first = format!("({name} {a} {b})");
                let second = if self.next() == "<" { "bvult" } else { "bvule" };
                let Value::Word(c) = self.formula(level + 1)? else { return Err("a chain".into()) };
                left = Value::Truth(format!("(and {first} ({second} {b} {c}))"));
                continue;
            }
            left = match (left, right, level) {
                (Value::Truth(a), Value::Truth(b), 1..=4) => Value::Truth(format!("({name} {a} {b})")),
                (Value::Word(a), Value::Word(b), 7 | 8) => Value::Truth(format!("({name} {a} {b})")),
                (Value::Word(a), Value::Word(b), 5 | 6 | 9 | 10) => Value::Word(format!("({name} {a} {b})")),
                _ => return Err(format!("the operands of `{symbol}`")),
            };
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Value, String> {
        let token = self.next();
        match token.as_str() {
            "\\forall" | "\\exists" => self.quantified(&token[1..]),
            "!" => match self.operand()? {
                Value::Truth(text) => Ok(Value::Truth(format!("(not {text})"))),
                Value::Word(_) => Err("`!` of a word".into()),
            },
            "~" => match self.operand()? {
                Value::Word(text) => Ok(Value::Word(format!("(bvnot {text})"))),
                Value::Truth(_) => Err("`~` of a formula".into()),
            },
            "(" if self.peek() == "uint64_t" => {
                self.at += 1;
                self.expect(")")?;
                self.operand()
            }
            "(" => {
                let inner = self.formula(0)?;
                self.expect(")")?;
                Ok(inner)
            }
            "bit" => {
                self.expect("(")?;
                let word = self.formula(0)?;
                self.expect(",")?;
                let number = self.formula(0)?;
                self.expect(")")?;
                let (Value::Word(word), Value::Word(number)) = (word, number) else {
                    return Err("`bit`".into());
                };
                Ok(Value::Truth(format!("(= ((_ extract 0 0) (bvlshr {word} {number})) #b1)")))
            }
            number if number.chars().all(|c| c.is_ascii_digit()) && !number.is_empty() => {
                Ok(Value::Word(format!("(_ bv{number} 64)")))
            }
            name => match self.variables.get(name) {
                Some(variable) => Ok(Value::Word(variable.clone())),
                None => Err(format!("`{name}`")),
            },
        }
    }

    fn quantified(&mut self, quantifier: &str) -> Result<Value, String> {
        let mut bound = String::new();
        loop {
            match self.next().as_str() {
                "uint64_t" | "integer" => {}
                other => return Err(format!("the type `{other}`")),
            }
            let name = self.next();
            let variable = format!("x_{name}");
            let _ = write!(bound, "({variable} (_ BitVec 64))");
            self.variables.insert(name, variable);
            match self.next().as_str() {
                "," => {}
                ";" => break,
                other => return Err(format!("`{other}` in a list of variables")),
            }
        }
        match self.formula(0)? {
            Value::Truth(body) => Ok(Value::Truth(format!("({quantifier} ({bound}) {body})"))),
            Value::Word(_) => Err("a quantifier over a number".into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axiom_becomes_a_question_about_bit_vectors() {
        let text = "axiom not: \\forall uint64_t w, integer i; 0 <= i < 64 ==> (bit((uint64_t)(~w), i) <==> !bit(w, i));";
        let axioms = axioms(text);
        assert_eq!(axioms.len(), 1);
        let smt = axioms[0].smt.as_ref().unwrap();
        assert!(smt.contains("(forall ((x_w (_ BitVec 64))(x_i (_ BitVec 64)))"), "{smt}");
        assert!(smt.contains("(and (bvule (_ bv0 64) x_i) (bvult x_i (_ bv64 64)))"), "{smt}");
    }

    #[test]
    fn what_cannot_be_read_is_an_error() {
        for text in [
            "axiom a: \\forall uint64_t w, integer i; bit(w, i);",
            "axiom a: \\forall real x; x == x;",
            "axiom a: \\forall uint64_t w; w * w == w;",
            "axiom a: bit(w, 0);",
        ] {
            assert!(axioms(text)[0].smt.is_err(), "{text}");
        }
    }
}
