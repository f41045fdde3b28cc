//! The part of WhyML that the emitters use: a syntax tree, and its printer.

use hearth_base::escape::whyml_comment;
use std::fmt;

/// A term, a formula or a program: WhyML writes them alike.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// A name, a number or `()`.
    Name(String),
    /// A formula or a program that does not depend on the policy.
    Text(&'static str),
    /// The value of a reference.
    Deref(String),
    App(String, Vec<Why>),
    /// `not`, `-` or `old`.
    Prefix(&'static str, Box<Why>),
    Infix(Box<Why>, &'static str, Box<Why>),
    /// A value at a label.
    At(Box<Why>, Box<Why>),
    Quantified {
        quantifier: &'static str,
        variables: String,
        trigger: Option<Box<Why>>,
        body: Box<Why>,
    },
    If(Box<[Why; 3]>),
    Match(Box<Why>, Vec<Case>),
    Try(Box<Why>, Vec<Case>),
    /// An arbitrary value of a type.
    Any(&'static str),
    Block(Vec<Step>, Box<Why>),
    /// A program and its postcondition.
    Ensures(Box<Why>, Box<Why>),
}

/// A pattern and what follows it.
pub type Case = (String, Why);

/// A step of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// A name, or `ghost` and a name.
    Let(String, Why),
    Label(String),
    Do(Why),
    Assume(Why),
    Comment(String),
    /// Any number of rounds.
    Loop {
        invariants: Vec<Why>,
        body: Why,
    },
}

/// A declaration of a module.
#[derive(Clone, Debug)]
pub enum Decl {
    /// Declarations that do not depend on the policy, without the indentation of their first line.
    Text(&'static str),
    Comment(&'static str),
    /// A constant, or with parameters a function.
    Function(String, Params, &'static str),
    /// The same with its value.
    Define(String, Params, &'static str, Why),
    /// A variable, and the type of its value.
    Reference(String, &'static str),
    Predicate(String, Params, Why),
    Axiom(String, Why),
    Goal(&'static str, Why),
    /// A program; without a body, a `val`.
    Program(Program),
    /// An empty line.
    Blank,
}

/// Names and types.
pub type Params = Vec<(String, &'static str)>;

#[derive(Clone, Debug, Default)]
pub struct Program {
    pub name: String,
    pub params: Params,
    pub result: &'static str,
    pub requires: Vec<Why>,
    pub writes: Vec<String>,
    pub ensures: Vec<Why>,
    pub body: Option<Why>,
}

/// An application: the function, and its arguments.
macro_rules! app {
    ($function:expr $(, $arg:expr)*) => {
        $crate::whyml::Why::App($function.to_string(), vec![$($crate::whyml::Why::from($arg)),*])
    };
}
pub(crate) use app;

impl<T: Into<Why> + Clone> From<&T> for Why {
    fn from(value: &T) -> Why {
        value.clone().into()
    }
}

impl From<&str> for Why {
    fn from(name: &str) -> Why {
        Why::Name(name.into())
    }
}

impl From<String> for Why {
    fn from(name: String) -> Why {
        Why::Name(name)
    }
}

impl From<i64> for Why {
    fn from(number: i64) -> Why {
        Why::Name(if number < 0 { format!("({number})") } else { number.to_string() })
    }
}

impl From<i32> for Why {
    fn from(number: i32) -> Why {
        i64::from(number).into()
    }
}

pub fn deref(name: &str) -> Why {
    Why::Deref(name.into())
}

pub fn unit() -> Why {
    "()".into()
}

pub fn not(formula: Why) -> Why {
    Why::Prefix("not", formula.into())
}

pub fn old(value: Why) -> Why {
    Why::Prefix("old", value.into())
}

pub fn conditional(test: Why, then: Why, otherwise: Why) -> Why {
    Why::If(Box::new([test, then, otherwise]))
}

pub fn forall(variables: &str, body: Why) -> Why {
    quantified("forall", variables, None, body)
}

/// `trigger`: the term whose instances instantiate the formula.
pub fn forall_by(variables: &str, trigger: Why, body: Why) -> Why {
    quantified("forall", variables, Some(trigger.into()), body)
}

pub fn exists(variables: &str, body: Why) -> Why {
    quantified("exists", variables, None, body)
}

fn quantified(quantifier: &'static str, variables: &str, trigger: Option<Box<Why>>, body: Why) -> Why {
    Why::Quantified { quantifier, variables: variables.into(), trigger, body: body.into() }
}

/// A match with two cases.
pub fn either(value: Why, (some, then): (String, Why), (none, otherwise): (&str, Why)) -> Why {
    Why::Match(value.into(), vec![(some, then), (none.into(), otherwise)])
}

pub fn raise(exception: impl Into<Why>) -> Step {
    Step::Do(app!("raise", exception.into()))
}

pub fn assign(name: &str, value: Why) -> Why {
    Why::from(name).infix(":=", value)
}

pub fn params(params: &[(&str, &'static str)]) -> Params {
    params.iter().map(|(name, ty)| ((*name).to_owned(), *ty)).collect()
}

impl Why {
    pub fn infix(self, operator: &'static str, right: impl Into<Why>) -> Why {
        Why::Infix(self.into(), operator, Box::new(right.into()))
    }

    pub fn and(self, right: impl Into<Why>) -> Why {
        self.infix("/\\", right)
    }

    pub fn or(self, right: impl Into<Why>) -> Why {
        self.infix("\\/", right)
    }

    pub fn implies(self, right: impl Into<Why>) -> Why {
        self.infix("->", right)
    }

    pub fn equals(self, right: impl Into<Why>) -> Why {
        self.infix("=", right)
    }

    /// The conjunction of formulas; `true` without any.
    pub fn all(formulas: impl IntoIterator<Item = Why, IntoIter: DoubleEndedIterator>) -> Why {
        let formulas = formulas.into_iter().rev();
        formulas.reduce(|right, left| left.and(right)).unwrap_or_else(|| "true".into())
    }

    pub fn at(self, label: &str) -> Why {
        Why::At(self.into(), Box::new(label.into()))
    }

    pub fn block(steps: Vec<Step>, value: Why) -> Why {
        if steps.is_empty() { value } else { Why::Block(steps, value.into()) }
    }

    /// A program that is followed by a value.
    pub fn then(self, value: Why) -> Why {
        match self {
            Why::Block(steps, last) => Why::block(steps, last.then(value)),
            program if program == unit() => value,
            program => Why::block(vec![Step::Do(program)], value),
        }
    }

    /// True if a part satisfies `test`.
    pub fn any(&self, test: &mut dyn FnMut(&Why) -> bool) -> bool {
        fn within(why: &mut Why, test: &mut dyn FnMut(&Why) -> bool) -> bool {
            test(why) || why.parts().into_iter().any(|part| within(part, test))
        }
        within(&mut self.clone(), test)
    }

    /// True if it applies `function` to `first`, and to anything else.
    pub fn applies(&self, function: &str, first: &str) -> bool {
        self.any(&mut |part| match part {
            Why::App(name, args) => name == function && args.first() == Some(&first.into()),
            _ => false,
        })
    }

    /// Replaces a name. Fixed text keeps its names.
    pub fn substitute(&mut self, name: &str, by: &Why) {
        if matches!(self, Why::Name(own) if own == name) {
            self.clone_from(by);
            return;
        }
        self.parts().into_iter().for_each(|part| part.substitute(name, by));
    }

    fn parts(&mut self) -> Vec<&mut Why> {
        match self {
            Why::Name(_) | Why::Text(_) | Why::Deref(_) | Why::Any(_) => Vec::new(),
            Why::App(_, args) => args.iter_mut().collect(),
            Why::Prefix(_, inner) => vec![inner],
            Why::Infix(left, _, right) | Why::At(left, right) | Why::Ensures(left, right) => {
                vec![left, right]
            }
            Why::Quantified { trigger, body, .. } => {
                trigger.iter_mut().chain([body]).map(|part| &mut **part).collect()
            }
            Why::If(parts) => parts.iter_mut().collect(),
            Why::Match(value, cases) | Why::Try(value, cases) => {
                [&mut **value].into_iter().chain(cases.iter_mut().map(|(_, value)| value)).collect()
            }
            Why::Block(steps, value) => {
                let steps = steps.iter_mut().flat_map(|step| match step {
                    Step::Let(_, value) | Step::Do(value) | Step::Assume(value) => vec![value],
                    Step::Loop { invariants, body } => invariants.iter_mut().chain([body]).collect(),
                    Step::Label(_) | Step::Comment(_) => Vec::new(),
                });
                steps.chain([&mut **value]).collect()
            }
        }
    }
}

// ---- printing -----------------------------------------------------------------------------------

/// How tightly a construct binds. A part that binds less than its place asks for is in parentheses.
mod level {
    /// A sequence.
    pub const BLOCK: u8 = 0;
    pub const WHOLE: u8 = 1;
    pub const ARROW: u8 = 2;
    pub const OR: u8 = 3;
    pub const AND: u8 = 4;
    pub const NOT: u8 = 5;
    pub const COMPARISON: u8 = 6;
    pub const SUM: u8 = 7;
    pub const PRODUCT: u8 = 8;
    pub const APPLICATION: u8 = 9;
    pub const ATOM: u8 = 10;
}

/// Where possible, lines have at most so many columns.
const WIDTH: usize = 120;

fn binds(operator: &str) -> u8 {
    match operator {
        ":=" => level::WHOLE,
        "->" | "<->" => level::ARROW,
        "\\/" | "||" => level::OR,
        "/\\" | "&&" => level::AND,
        "+" | "-" => level::SUM,
        "*" => level::PRODUCT,
        _ => level::COMPARISON,
    }
}

#[derive(Default)]
struct Printer {
    text: String,
    indent: usize,
    /// Everything goes on one line, if it can.
    flat: bool,
    /// It cannot.
    failed: bool,
}

impl Printer {
    fn line(&mut self) {
        if self.flat {
            self.text.push(' ');
            return;
        }
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', 2 * self.indent));
    }

    fn column(&self) -> usize {
        self.text.len() - self.text.rfind('\n').map_or(0, |end| end + 1)
    }

    /// Prints further to the right.
    fn inside(&mut self, print: impl FnOnce(&mut Self)) {
        self.indent += 1;
        print(self);
        self.indent -= 1;
    }

    /// Prints on lines of its own, further to the right.
    fn below(&mut self, print: impl FnOnce(&mut Self)) {
        self.inside(|p| {
            p.line();
            print(p);
        });
    }

    fn why(&mut self, why: &Why, least: u8) {
        if !self.flat
            && let Some(flat) = flat(why, least)
            && self.column() + flat.len() <= WIDTH
        {
            self.text += &flat;
            return;
        }
        match why {
            Why::Block(steps, value) if least == level::BLOCK => self.block(steps, value),
            Why::Block(steps, value) => {
                self.text += "begin";
                self.below(|p| p.block(steps, value));
                self.line();
                self.text += "end";
            }
            _ if why.level() < least => {
                self.text += "(";
                self.inside(|p| p.bare(why));
                self.text += ")";
            }
            _ => self.bare(why),
        }
    }

    /// Prints without parentheses.
    fn bare(&mut self, why: &Why) {
        match why {
            Why::Name(text) => self.text += text,
            Why::Text(text) => self.text += text,
            Why::Deref(name) => self.text += &format!("!{name}"),
            Why::Any(ty) => self.text += &format!("any {ty}"),
            Why::Block(steps, value) => self.block(steps, value),
            Why::App(function, args) => {
                self.text += function;
                for arg in args {
                    self.text += " ";
                    self.why(arg, level::ATOM);
                }
            }
            Why::Prefix(operator, inner) => {
                self.text += &format!("{operator} ");
                self.why(inner, level::APPLICATION);
            }
            Why::At(value, label) => {
                self.why(value, level::APPLICATION);
                self.text += &format!(" at {label}");
            }
            Why::Infix(left, operator, right) => {
                let (of_left, of_right) = sides(operator, right);
                self.why(left, of_left);
                match binds(operator) {
                    level::ARROW..=level::AND => self.line(),
                    _ => self.text += " ",
                }
                self.text += &format!("{operator} ");
                self.why(right, of_right);
            }
            Why::Quantified { quantifier, variables, trigger, body } => {
                let trigger = trigger.as_ref().map_or_else(String::new, |trigger| format!(" [{trigger}]"));
                self.text += &format!("{quantifier} {variables}{trigger}.");
                self.below(|p| p.why(body, level::WHOLE));
            }
            Why::If(parts) => {
                let [test, then, otherwise] = &**parts;
                self.text += "if ";
                self.why(test, level::WHOLE);
                self.text += " then ";
                self.why(then, level::ARROW);
                if *otherwise != unit() {
                    self.line();
                    self.text += "else ";
                    self.why(otherwise, level::WHOLE);
                }
            }
            Why::Match(value, cases) => {
                self.text += "match ";
                self.why(value, level::WHOLE);
                self.text += " with";
                for (pattern, value) in cases {
                    self.line();
                    self.text += &format!("| {pattern} -> ");
                    self.inside(|p| p.why(value, level::WHOLE));
                }
                self.line();
                self.text += "end";
            }
            Why::Try(body, cases) => {
                self.text += "try";
                self.below(|p| p.why(body, level::BLOCK));
                self.line();
                let cases: Vec<_> =
                    cases.iter().map(|(pattern, value)| format!("{pattern} -> {value}")).collect();
                self.text += &format!("with {} end", cases.join(" | "));
            }
            Why::Ensures(spec, body) => {
                self.text += "begin";
                self.below(|p| p.clause("ensures", spec));
                self.below(|p| p.why(body, level::BLOCK));
                self.line();
                self.text += "end";
            }
        }
    }

    fn block(&mut self, steps: &[Step], value: &Why) {
        let (steps, value) = match steps {
            [steps @ .., Step::Do(last)] if *value == unit() => (steps, last),
            _ => (steps, value),
        };
        for step in steps {
            self.step(step);
            self.line();
        }
        self.why(value, level::BLOCK);
    }

    fn step(&mut self, step: &Step) {
        self.failed |= !matches!(step, Step::Let(..));
        match step {
            Step::Let(name, value) => self.defined(&format!("let {name} ="), value, " in"),
            Step::Label(label) => self.text += &format!("label {label} in"),
            Step::Do(program) => {
                self.why(program, level::WHOLE);
                self.text += ";";
            }
            Step::Assume(formula) => {
                self.clause("assume", formula);
                self.text += ";";
            }
            Step::Comment(text) => self.text += &format!("(* {} *)", whyml_comment(text)),
            Step::Loop { invariants, body } => {
                self.text += "for _round = 1 to any_count () do";
                self.below(|p| {
                    for invariant in invariants {
                        p.clause("invariant", invariant);
                        p.line();
                    }
                    p.why(body, level::BLOCK);
                });
                self.line();
                self.text += "done;";
            }
        }
    }

    /// Prints a definition on one line or below its head.
    fn defined(&mut self, head: &str, value: &Why, end: &str) {
        self.text += head;
        match flat(value, level::BLOCK) {
            Some(flat) if self.flat || self.column() + flat.len() + end.len() < WIDTH => {
                self.text += &format!(" {flat}");
            }
            _ => self.below(|p| p.why(value, level::BLOCK)),
        }
        self.text += end;
    }

    /// Prints a formula in braces, on the same line if that has room.
    fn clause(&mut self, keyword: &str, formula: &Why) {
        let empty = self.column() == 2 * self.indent;
        let flat = flat(formula, level::BLOCK);
        let length = flat.map_or(WIDTH, |flat| keyword.len() + flat.len() + 6);
        match empty {
            true => {}
            false if self.column() + length <= WIDTH => self.text += " ",
            false => self.line(),
        }
        self.text += &format!("{keyword} {{ ");
        self.inside(|p| p.why(formula, level::BLOCK));
        self.text += " }";
    }

    fn declaration(&mut self, declaration: &Decl) {
        match declaration {
            Decl::Text(text) => self.text += text,
            Decl::Blank => {}
            Decl::Comment(text) => self.text += &format!("(* {} *)", whyml_comment(text)),
            Decl::Function(name, params, ty) => {
                let keyword = if params.is_empty() { "constant" } else { "function" };
                self.text += &format!("{keyword} {name}{} : {ty}", listed(params));
            }
            Decl::Define(name, params, ty, value) => {
                let keyword = if params.is_empty() { "constant" } else { "function" };
                self.defined(&format!("{keyword} {name}{} : {ty} =", listed(params)), value, "");
            }
            Decl::Reference(name, ty) => self.text += &format!("val {name} : ref {ty}"),
            Decl::Predicate(name, params, body) => {
                self.defined(&format!("predicate {name}{} =", listed(params)), body, "");
            }
            Decl::Axiom(name, body) => self.defined(&format!("axiom {name}:"), body, ""),
            Decl::Goal(name, body) => self.defined(&format!("goal {name}:"), body, ""),
            Decl::Program(program) => self.program(program),
        }
    }

    fn program(&mut self, program: &Program) {
        let Program { name, params, result, requires, writes, ensures, body } = program;
        let keyword = if body.is_some() { "let" } else { "val" };
        let params = if params.is_empty() { " ()".into() } else { listed(params) };
        self.text += &format!("{keyword} {name}{params} : {result}");
        self.below(|p| {
            requires.iter().for_each(|formula| p.clause("requires", formula));
            if !writes.is_empty() {
                p.clause("writes", &writes.join(", ").into());
            }
            ensures.iter().for_each(|formula| p.clause("ensures", formula));
        });
        if let Some(body) = body {
            self.line();
            self.text += "= ";
            self.inside(|p| p.why(body, level::BLOCK));
        }
    }
}

/// The levels of the operands. Logic is associative to the right; comparisons can be chained.
fn sides(operator: &str, right: &Why) -> (u8, u8) {
    let own = binds(operator);
    let same = matches!(right, Why::Infix(_, other, _) if *other == operator || own == level::COMPARISON);
    match own {
        level::SUM | level::PRODUCT => (own, own + 1),
        _ if same => (own + 1, own),
        _ => (own + 1, own + 1),
    }
}

fn listed(params: &Params) -> String {
    params.iter().map(|(name, ty)| format!(" ({name}: {ty})")).collect()
}

impl Why {
    fn level(&self) -> u8 {
        match self {
            Why::Name(_) | Why::Deref(_) | Why::Ensures(..) => level::ATOM,
            Why::App(..) => level::APPLICATION,
            Why::Prefix("not", _) => level::NOT,
            Why::Infix(_, operator, _) => binds(operator),
            Why::Block(..) => level::BLOCK,
            _ => level::WHOLE,
        }
    }
}

/// The text on one line; `None` if that has steps of a program.
fn flat(why: &Why, least: u8) -> Option<String> {
    let mut printer = Printer { flat: true, ..Printer::default() };
    printer.why(why, least);
    Some(printer.text).filter(|_| !printer.failed)
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut printer = Printer::default();
        printer.why(self, level::BLOCK);
        f.write_str(&printer.text)
    }
}

/// The text of declarations in a module.
pub fn printed(declarations: &[Decl]) -> String {
    let mut printer = Printer { indent: 1, ..Printer::default() };
    for declaration in declarations {
        printer.text += if matches!(declaration, Decl::Blank) { "" } else { "  " };
        printer.declaration(declaration);
        printer.text += "\n";
    }
    printer.text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parentheses_are_where_the_tree_needs_them() {
        let [a, b, c] = ["a", "b", "c"].map(Why::from);
        let and = |left: &Why, right: &Why| left.clone().and(right);
        assert_eq!(and(&a, &and(&b, &c)).to_string(), "a /\\ b /\\ c");
        assert_eq!(and(&and(&a, &b), &c).to_string(), "(a /\\ b) /\\ c");
        assert_eq!(and(&a, &b.clone().implies(&c)).to_string(), "a /\\ (b -> c)");
        assert_eq!(and(&not(a.clone().equals(&b)), &c).to_string(), "not (a = b) /\\ c");
        let minus = |left: &Why, right: &Why| left.clone().infix("-", right);
        assert_eq!(minus(&a, &minus(&b, &c)).to_string(), "a - (b - c)");
        assert_eq!(minus(&minus(&a, &b), &c).infix("<=", &a).to_string(), "a - b - c <= a");
        assert_eq!(a.clone().infix("<=", b.clone().infix("<=", &c)).to_string(), "a <= b <= c");
        assert_eq!(app!("f", &a, app!("g", deref("x"), -1i64)).to_string(), "f a (g !x (-1))");
        let all = forall("x", app!("p", "x").or(exists("y", a.clone().equals("y"))));
        assert_eq!(all.to_string(), "forall x. p x \\/ (exists y. a = y)");
        let nested = conditional(a.clone(), conditional(b.clone(), c.clone(), unit()), unit());
        assert_eq!(nested.to_string(), "if a then (if b then c)");
    }

    #[test]
    fn blocks_are_sequences_or_expressions() {
        let steps = vec![Step::Let("x".into(), Why::Any("int")), Step::Assume(app!("p", "x"))];
        let block = Why::block(steps, "x".into());
        assert_eq!(block.to_string(), "let x = any int in\nassume { p x };\nx");
        let test = conditional(block, raise_return(), unit());
        assert_eq!(
            test.to_string(),
            "if begin\n  let x = any int in\n  assume { p x };\n  x\nend then raise Return"
        );
    }

    fn raise_return() -> Why {
        app!("raise", "Return")
    }

    #[test]
    fn names_are_replaced_as_wholes() {
        let mut term = app!("result'", "result").equals(deref("result").at("result"));
        term.substitute("result", &"x_1".into());
        assert_eq!(term.to_string(), "result' x_1 = (!result at x_1)");
    }
}
