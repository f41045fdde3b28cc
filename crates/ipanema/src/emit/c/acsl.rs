//! ACSL: a syntax tree of terms, predicates and annotations, and its printer.

use std::fmt;

/// A term or a predicate.
#[derive(Clone, Debug, PartialEq)]
pub enum Acsl {
    /// A name, a number, or a place in memory that is named.
    Name(String),
    Call(String, Vec<Acsl>),
    Index(Box<Acsl>, Box<Acsl>),
    /// A field; with `->` or `.`.
    Field(Box<Acsl>, &'static str, String),
    /// `!`, `-`, `&` or a cast.
    Prefix(&'static str, Box<Acsl>),
    Infix(Box<Acsl>, &'static str, Box<Acsl>),
    Conditional(Box<[Acsl; 3]>),
    /// `\forall` or `\exists`, of an integer.
    Quantified(&'static str, String, Box<Acsl>),
}

/// A part of an annotation.
#[derive(Clone, Debug)]
pub enum Clause {
    Requires(Acsl),
    Assigns(String),
    Ensures(Acsl),
    Invariant(Acsl),
    LoopAssigns(String),
    Variant(Acsl),
    /// An assertion, and its name or an empty one.
    Assert(&'static str, Acsl),
    /// The head of a predicate or a logic function, and its body.
    Define(String, Acsl),
}

/// A call of a function or predicate.
macro_rules! call {
    ($function:expr $(, $arg:expr)*) => {
        $crate::emit::c::acsl::Acsl::Call($function.to_string(), vec![$($crate::emit::c::acsl::Acsl::from($arg)),*])
    };
}
pub(super) use call;

impl From<&Acsl> for Acsl {
    fn from(value: &Acsl) -> Acsl {
        value.clone()
    }
}

impl From<&str> for Acsl {
    fn from(name: &str) -> Acsl {
        Acsl::Name(name.into())
    }
}

impl From<&String> for Acsl {
    fn from(name: &String) -> Acsl {
        Acsl::Name(name.clone())
    }
}

impl From<String> for Acsl {
    fn from(name: String) -> Acsl {
        Acsl::Name(name)
    }
}

pub fn forall(variable: &str, body: Acsl) -> Acsl {
    Acsl::Quantified("\\forall", variable.into(), body.into())
}

pub fn exists(variable: &str, body: Acsl) -> Acsl {
    Acsl::Quantified("\\exists", variable.into(), body.into())
}

pub fn conditional(test: Acsl, then: Acsl, otherwise: Acsl) -> Acsl {
    Acsl::Conditional(Box::new([test, then, otherwise]))
}

pub fn not(predicate: Acsl) -> Acsl {
    Acsl::Prefix("!", predicate.into())
}

/// A value that C computes with 64 bits.
pub fn wrapped(value: Acsl) -> Acsl {
    Acsl::Prefix("(int64_t)", value.into())
}

/// `low <= value <= high`.
pub fn between(low: impl Into<Acsl>, value: impl Into<Acsl>, high: impl Into<Acsl>) -> Acsl {
    low.into().infix("<=", value.into().infix("<=", high))
}

impl Acsl {
    pub fn infix(self, operator: &'static str, right: impl Into<Acsl>) -> Acsl {
        Acsl::Infix(self.into(), operator, Box::new(right.into()))
    }

    pub fn and(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("&&", right)
    }

    pub fn or(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("||", right)
    }

    pub fn implies(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("==>", right)
    }

    pub fn iff(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("<==>", right)
    }

    pub fn equals(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("==", right)
    }

    pub fn differs(self, right: impl Into<Acsl>) -> Acsl {
        self.infix("!=", right)
    }

    pub fn index(self, index: impl Into<Acsl>) -> Acsl {
        Acsl::Index(self.into(), Box::new(index.into()))
    }

    pub fn field(self, name: &str) -> Acsl {
        Acsl::Field(self.into(), ".", name.into())
    }

    /// The field of what a pointer points to.
    pub fn to(self, name: &str) -> Acsl {
        Acsl::Field(self.into(), "->", name.into())
    }

    pub fn address(self) -> Acsl {
        Acsl::Prefix("&", self.into())
    }

    /// The conjunction of predicates.
    pub fn all(predicates: impl IntoIterator<Item = Acsl>) -> Acsl {
        predicates.into_iter().reduce(Acsl::and).unwrap_or_else(|| "\\true".into())
    }

    /// How tightly it binds.
    fn level(&self) -> u8 {
        match self {
            Acsl::Quantified(..) => 0,
            Acsl::Conditional(_) => 1,
            Acsl::Infix(_, operator, _) => binds(operator),
            Acsl::Prefix(..) => 10,
            Acsl::Index(..) | Acsl::Field(..) | Acsl::Call(..) | Acsl::Name(_) => 11,
        }
    }

    /// In parentheses where it binds less than `least`.
    fn inside(&self, least: u8) -> String {
        if self.level() < least { format!("({self})") } else { self.to_string() }
    }
}

fn is_less(operator: &str) -> bool {
    matches!(operator, "<" | "<=")
}

/// How tightly an operator binds.
fn binds(operator: &str) -> u8 {
    match operator {
        "<==>" => 2,
        "==>" => 3,
        "||" => 4,
        "^^" => 5,
        "&&" => 6,
        "+" | "-" => 8,
        "*" | "/" | "%" => 9,
        _ => 7,
    }
}

impl fmt::Display for Acsl {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Acsl::Name(name) => f.write_str(name),
            Acsl::Call(function, args) => {
                let args: Vec<String> = args.iter().map(Acsl::to_string).collect();
                write!(f, "{function}({})", args.join(", "))
            }
            Acsl::Index(array, index) => write!(f, "{}[{index}]", array.inside(11)),
            Acsl::Field(of, arrow, name) => write!(f, "{}{arrow}{name}", of.inside(11)),
            Acsl::Prefix(operator, inner) => write!(f, "{operator}{}", inner.inside(10)),
            Acsl::Infix(left, operator, right) => {
                let own = binds(operator);
                // `a <= b < c` is a chain; conjunctions and disjunctions are associative.
                let is_chain =
                    matches!(&**right, Acsl::Infix(_, next, _) if is_less(operator) && is_less(next));
                let of_left = if matches!(own, 4 | 6 | 8 | 9) { own } else { own + 1 };
                let of_right = if matches!(own, 4 | 6) || is_chain { own } else { own + 1 };
                write!(f, "{} {operator} {}", left.inside(of_left), right.inside(of_right))
            }
            Acsl::Conditional(parts) => {
                let [test, then, otherwise] = &**parts;
                write!(f, "{} ? {} : {}", test.inside(2), then.inside(2), otherwise.inside(2))
            }
            Acsl::Quantified(quantifier, variable, body) => {
                write!(f, "{quantifier} integer {variable}; {body}")
            }
        }
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Clause::Requires(predicate) => write!(f, "requires {predicate};"),
            Clause::Assigns(places) => write!(f, "assigns {places};"),
            Clause::Ensures(predicate) => write!(f, "ensures {predicate};"),
            Clause::Invariant(predicate) => write!(f, "loop invariant {predicate};"),
            Clause::LoopAssigns(places) => write!(f, "loop assigns {places};"),
            Clause::Variant(term) => write!(f, "loop variant {term};"),
            Clause::Assert("", predicate) => write!(f, "assert {predicate};"),
            Clause::Assert(name, predicate) => write!(f, "assert {name}: {predicate};"),
            Clause::Define(head, body) => write!(f, "{head} = {body};"),
        }
    }
}

/// A comment that Frama-C reads.
pub fn annotation(clauses: impl IntoIterator<Item = Clause>) -> String {
    let clauses: Vec<String> = clauses.into_iter().map(|clause| clause.to_string()).collect();
    format!("/*@ {} */", clauses.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_are_where_the_tree_needs_them() {
        let [a, b, c] = ["a", "b", "c"].map(Acsl::from);
        let and = |left: &Acsl, right: &Acsl| left.clone().and(right);
        assert_eq!(and(&and(&a, &b), &c).to_string(), "a && b && c");
        assert_eq!(and(&a, &b.clone().or(&c)).to_string(), "a && (b || c)");
        assert_eq!(
            and(&a, &b).implies(forall("k", c.clone())).to_string(),
            "a && b ==> (\\forall integer k; c)"
        );
        assert_eq!(between("0", &a, "n").to_string(), "0 <= a <= n");
        assert_eq!(a.clone().equals(b.clone().infix("<", &c)).to_string(), "a == (b < c)");
        assert_eq!(wrapped(a.clone().infix("+", &b)).to_string(), "(int64_t)(a + b)");
        assert_eq!(a.clone().infix("-", b.clone().infix("-", &c)).to_string(), "a - (b - c)");
        assert_eq!(a.clone().index(&b).field("x").address().to("y").to_string(), "(&a[b].x)->y");
        let nested = conditional(a, conditional(b, c.clone(), c.clone()), c);
        assert_eq!(nested.to_string(), "a ? (b ? c : c) : c");
    }
}
