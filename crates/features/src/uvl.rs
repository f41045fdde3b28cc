//! Feature models in the Universal Variability Language (<https://universal-variability-language.github.io>).
//!
//! The subset: a tree of features with the groups `mandatory`, `optional`, `alternative` and `or`; the attribute
//! `abstract`; constraints of features with `!`, `&`, `|`, `=>`, `<=>` and parentheses; comments. Anything else is an error.

/// A model: the tree, and what a configuration must satisfy besides.
#[derive(Clone, Debug)]
pub struct Uvl {
    pub root: Feature,
    pub constraints: Vec<Constraint>,
}

#[derive(Clone, Debug)]
pub struct Feature {
    pub name: String,
    /// It groups other features, and is none that can be selected by itself.
    pub is_abstract: bool,
    pub groups: Vec<Group>,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub kind: Kind,
    pub features: Vec<Feature>,
}

/// How many features of a group are selected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All of them.
    Mandatory,
    /// Any number.
    Optional,
    /// One.
    Alternative,
    /// At least one.
    Or,
}

#[derive(Clone, Debug)]
pub struct Constraint {
    pub text: String,
    pub formula: Formula,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Formula {
    Feature(String),
    Not(Box<Formula>),
    And(Box<Formula>, Box<Formula>),
    Or(Box<Formula>, Box<Formula>),
    Implies(Box<Formula>, Box<Formula>),
    Equivalent(Box<Formula>, Box<Formula>),
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct UvlError {
    pub line: usize,
    pub what: String,
}

type Parse<T> = Result<T, UvlError>;

fn error<T>(line: usize, what: impl Into<String>) -> Parse<T> {
    Err(UvlError { line, what: what.into() })
}

/// Nesting of features, and of parentheses in a constraint.
const MOST_DEPTH: usize = 64;

/// A line without its comment: number, indentation and text.
struct Line<'t> {
    number: usize,
    indent: usize,
    text: &'t str,
}

/// Parses a model.
///
/// # Errors
/// If the text is not in the subset, or names a feature twice or not at all.
pub fn parse(text: &str) -> Parse<Uvl> {
    let lines = text.lines().enumerate().filter_map(|(i, line)| {
        let text = line.split("//").next().unwrap_or_default().trim_end();
        let indent = text.len() - text.trim_start().len();
        (!text.trim().is_empty()).then_some(Line { number: i + 1, indent, text: text.trim_start() })
    });
    let lines: Vec<Line> = lines.collect();
    let sections: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].indent == 0).collect();
    let mut root = None;
    let mut constraints = Vec::new();
    for (n, start) in sections.iter().enumerate() {
        let end = sections.get(n + 1).copied().unwrap_or(lines.len());
        let (line, inner) = (&lines[*start], &lines[start + 1..end]);
        match line.text {
            "features" if root.is_none() => root = Some(tree(line, inner)?),
            "constraints" => {
                for line in inner {
                    let formula = Tokens::of(line)?.formula()?;
                    constraints.push(Constraint { text: line.text.to_owned(), formula });
                }
            }
            other => {
                return error(line.number, format!("expected `features` or `constraints`, found `{other}`"));
            }
        }
    }
    let Some(root) = root else { return error(1, "a model begins with `features`") };
    let uvl = Uvl { root, constraints };
    uvl.check()?;
    Ok(uvl)
}

fn tree(section: &Line, lines: &[Line]) -> Parse<Feature> {
    let mut roots = features(lines, 0)?;
    match roots.len() {
        1 => Ok(roots.remove(0)),
        n => error(section.number, format!("a model has one root, not {n}")),
    }
}

/// The blocks of lines that begin at the least indentation: their first line, and the others.
fn blocks<'l, 't>(lines: &'l [Line<'t>]) -> Parse<Vec<(&'l Line<'t>, &'l [Line<'t>])>> {
    let Some(first) = lines.first() else { return Ok(Vec::new()) };
    if let Some(odd) = lines.iter().find(|line| line.indent < first.indent) {
        return error(odd.number, "indented less than the lines before it");
    }
    let starts: Vec<usize> = (0..lines.len()).filter(|i| lines[*i].indent == first.indent).collect();
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    Ok(starts.iter().zip(ends).map(|(start, end)| (&lines[*start], &lines[start + 1..end])).collect())
}

fn features(lines: &[Line], depth: usize) -> Parse<Vec<Feature>> {
    if depth > MOST_DEPTH {
        return error(lines[0].number, "nested too deeply");
    }
    let mut found = Vec::new();
    for (line, inner) in blocks(lines)? {
        let (name, rest) = name(line)?;
        let is_abstract = match rest {
            "" => false,
            "{abstract}" => true,
            other => {
                return error(
                    line.number,
                    format!("`{other}` is not supported; the only attribute is `{{abstract}}`"),
                );
            }
        };
        let mut groups = Vec::new();
        for (line, inner) in blocks(inner)? {
            let kind = match line.text {
                "mandatory" => Kind::Mandatory,
                "optional" => Kind::Optional,
                "alternative" => Kind::Alternative,
                "or" => Kind::Or,
                other => {
                    let expected = "expected mandatory, optional, alternative or or";
                    return error(line.number, format!("{expected}, found `{other}`"));
                }
            };
            if inner.is_empty() {
                return error(line.number, "a group without features");
            }
            groups.push(Group { kind, features: features(inner, depth + 1)? });
        }
        found.push(Feature { name, is_abstract, groups });
    }
    Ok(found)
}

/// The name at the start of a line, and what follows it.
fn name<'t>(line: &Line<'t>) -> Parse<(String, &'t str)> {
    let (name, rest) = match line.text.strip_prefix('"') {
        Some(quoted) => match quoted.split_once('"') {
            Some(parts) => parts,
            None => return error(line.number, "expected a closing `\"`"),
        },
        None => line.text.split_at(line.text.find(|c: char| !is_word(c)).unwrap_or(line.text.len())),
    };
    if name.is_empty() {
        return error(line.number, format!("expected the name of a feature, found `{}`", line.text));
    }
    Ok((name.to_owned(), rest.trim()))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The tokens of a constraint.
struct Tokens {
    line: usize,
    /// The last one first.
    left: Vec<String>,
    depth: usize,
}

impl Tokens {
    fn of(line: &Line) -> Parse<Tokens> {
        let mut left = Vec::new();
        let mut rest = line.text;
        while let Some(c) = rest.chars().next() {
            let symbol =
                ["<=>", "=>", "!", "&", "|", "(", ")"].into_iter().find(|symbol| rest.starts_with(symbol));
            let length = match symbol {
                Some(symbol) => symbol.len(),
                None if c == '"' => match rest[1..].find('"') {
                    Some(end) => end + 2,
                    None => return error(line.number, "expected a closing `\"`"),
                },
                None if is_word(c) => rest.find(|c: char| !is_word(c)).unwrap_or(rest.len()),
                None => return error(line.number, format!("`{c}` is not supported in a constraint")),
            };
            left.push(rest[..length].to_owned());
            rest = rest[length..].trim_start();
        }
        left.reverse();
        Ok(Tokens { line: line.number, left, depth: 0 })
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.left.last().is_some_and(|next| next == token);
        if found {
            self.left.pop();
        }
        found
    }

    fn formula(mut self) -> Parse<Formula> {
        let formula = self.equivalent()?;
        match self.left.last() {
            None => Ok(formula),
            Some(token) => error(self.line, format!("unexpected `{token}`")),
        }
    }

    fn equivalent(&mut self) -> Parse<Formula> {
        self.depth += 1;
        if self.depth > MOST_DEPTH {
            return error(self.line, "nested too deeply");
        }
        let mut left = self.implies()?;
        while self.eat("<=>") {
            left = Formula::Equivalent(Box::new(left), Box::new(self.implies()?));
        }
        self.depth -= 1;
        Ok(left)
    }

    fn implies(&mut self) -> Parse<Formula> {
        let mut left = self.or()?;
        while self.eat("=>") {
            left = Formula::Implies(Box::new(left), Box::new(self.or()?));
        }
        Ok(left)
    }

    fn or(&mut self) -> Parse<Formula> {
        let mut left = self.and()?;
        while self.eat("|") {
            left = Formula::Or(Box::new(left), Box::new(self.and()?));
        }
        Ok(left)
    }

    fn and(&mut self) -> Parse<Formula> {
        let mut left = self.not()?;
        while self.eat("&") {
            left = Formula::And(Box::new(left), Box::new(self.not()?));
        }
        Ok(left)
    }

    fn not(&mut self) -> Parse<Formula> {
        let mut negated = false;
        while self.eat("!") {
            negated = !negated;
        }
        let formula = match self.left.pop() {
            Some(open) if open == "(" => {
                let inner = self.equivalent()?;
                if !self.eat(")") {
                    return error(self.line, "expected `)`");
                }
                inner
            }
            Some(name) if name.starts_with('"') => Formula::Feature(name.trim_matches('"').to_owned()),
            Some(name) if name.starts_with(is_word) => Formula::Feature(name),
            Some(other) => return error(self.line, format!("expected a feature, found `{other}`")),
            None => return error(self.line, "expected a feature at the end of the constraint"),
        };
        Ok(if negated { Formula::Not(Box::new(formula)) } else { formula })
    }
}

impl Uvl {
    /// All features, parents before their children.
    pub fn features(&self) -> Vec<&Feature> {
        let mut all = Vec::new();
        collect(&self.root, &mut all);
        all
    }

    fn check(&self) -> Parse<()> {
        let mut names: Vec<&str> = self.features().iter().map(|feature| feature.name.as_str()).collect();
        if names.len() > 64 {
            return error(1, format!("a model has at most 64 features, not {}", names.len()));
        }
        names.sort_unstable();
        if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return error(1, format!("feature `{}` is there twice", twice[0]));
        }
        for constraint in &self.constraints {
            let mut named = Vec::new();
            constraint.formula.names(&mut named);
            if let Some(unknown) = named.into_iter().find(|name| names.binary_search(name).is_err()) {
                return error(1, format!("`{}`: there is no feature `{unknown}`", constraint.text));
            }
        }
        Ok(())
    }
}

fn collect<'f>(feature: &'f Feature, all: &mut Vec<&'f Feature>) {
    all.push(feature);
    feature.groups.iter().flat_map(|group| &group.features).for_each(|child| collect(child, all));
}

impl Formula {
    fn names<'f>(&'f self, all: &mut Vec<&'f str>) {
        match self {
            Formula::Feature(name) => all.push(name),
            Formula::Not(inner) => inner.names(all),
            Formula::And(a, b) | Formula::Or(a, b) | Formula::Implies(a, b) | Formula::Equivalent(a, b) => {
                a.names(all);
                b.names(all);
            }
        }
    }

    /// Whether it holds where `selected` says which features are selected.
    pub fn holds(&self, selected: &impl Fn(&str) -> bool) -> bool {
        match self {
            Formula::Feature(name) => selected(name),
            Formula::Not(inner) => !inner.holds(selected),
            Formula::And(a, b) => a.holds(selected) && b.holds(selected),
            Formula::Or(a, b) => a.holds(selected) || b.holds(selected),
            Formula::Implies(a, b) => !a.holds(selected) || b.holds(selected),
            Formula::Equivalent(a, b) => a.holds(selected) == b.holds(selected),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: &str = "features\n\tr {abstract}\n\t\tmandatory\n\t\t\ta // first\n\t\t\t\tor\n\t\t\t\t\tb\n\t\t\t\t\t\"c d\"\nconstraints\n\ta => !b | \"c d\"\n";

    #[test]
    fn features_groups_and_constraints_are_read() {
        let uvl = parse(MODEL).unwrap();
        let names: Vec<&str> = uvl.features().iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["r", "a", "b", "c d"]);
        assert!(uvl.root.is_abstract && uvl.root.groups[0].kind == Kind::Mandatory);
        let formula = &uvl.constraints[0].formula;
        assert!(formula.holds(&|name| name != "b") && !formula.holds(&|name| name != "c d"));
    }

    #[test]
    fn operators_have_their_precedence() {
        let holds = |text: &str, of: &str| {
            let line = Line { number: 1, indent: 1, text };
            Tokens::of(&line).unwrap().formula().unwrap().holds(&|name| of.contains(name))
        };
        assert!(holds("a | b & c", "a") && !holds("(a | b) & c", "a"));
        assert!(holds("a => b => c", "c") && !holds("a => b => c", "ab"));
        assert!(holds("a <=> b | c", "") && !holds("!a & !b <=> c", ""));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line, what) in [
            ("", 1, "a model begins with `features`"),
            ("features\n a\n b\n", 1, "a model has one root, not 2"),
            ("features\n a {x 1}\n", 2, "`{x 1}` is not supported; the only attribute is `{abstract}`"),
            (
                "features\n a\n  [1..2]\n   b\n",
                3,
                "expected mandatory, optional, alternative or or, found `[1..2]`",
            ),
            ("features\n a\n  or\n", 3, "a group without features"),
            ("features\n a\n  or\n   b\n   a\n", 1, "feature `a` is there twice"),
            ("features\n a\nconstraints\n a => b\n", 1, "`a => b`: there is no feature `b`"),
            ("features\n a\nconstraints\n a =>\n", 4, "expected a feature at the end of the constraint"),
            ("features\n a\nconstraints\n (a\n", 4, "expected `)`"),
            ("features\n a\nconstraints\n a > 3\n", 4, "`>` is not supported in a constraint"),
            ("features\n \"a\n", 2, "expected a closing `\"`"),
            ("imports\n a\n", 1, "expected `features` or `constraints`, found `imports`"),
        ] {
            assert_eq!(parse(text).unwrap_err(), UvlError { line, what: what.into() }, "{text}");
        }
        let deep = format!("features\n a\nconstraints\n {}a\n", "(".repeat(100));
        assert_eq!(parse(&deep).unwrap_err().what, "nested too deeply");
    }
}
