//! No word of a policy captures another name in WhyML or C, whatever words a policy chooses.
//!
//! The rule: a policy with other words gives the same text with other words, one for one. A name that captures another makes
//! two words one, or changes a word that the policy does not choose.

use crate::common::{emitted, policy, policy_of};
use hearth_ipanema::ir::{Attribute, Policy};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Words that Why3, the theory, C, the runtime or the emitters use, and such as they could make from a policy's words.
fn hostile() -> Vec<String> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let mut words = BTreeSet::new();
    for folder in ["proofs", "runtime", "runtime/bpf", "runtime/host", "crates/prove/src/emit"] {
        for file in std::fs::read_dir(format!("{root}/{folder}")).into_iter().flatten() {
            let path = file.unwrap().path();
            if path.is_file() {
                words.extend(tokens(&std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    let keywords = "abstract absurd alias any as assert assume at axiom break by check clone coinductive constant continue \
                    diverges do done downto else end ensures epsilon exception exists export false float for forall fun \
                    function ghost goal if import in inductive invariant label lemma let match meta model module mutable not \
                    old partial predicate private pure raise raises range reads rec ref requires result return returns scope \
                    so then theory to true try type use val variant while with writes";
    let made = [
        "param_", "thread_", "core_", "global_", "set_", "own_", "same_", "sum_", "add_to_", "is_in_",
        "bounds_",
    ];
    let ends = ["", "_0", "_1", "0", "2", "_is", "_bounds", "_walk", "_"];
    words.extend(keywords.split_whitespace().map(Token::from));
    let made =
        made.iter().flat_map(|a| ["gate", "of", "t", "c", "load", "vruntime"].map(|b| format!("{a}{b}")));
    let with_ends = made.flat_map(|a| ends.map(|b| Token::from(format!("{a}{b}").as_str())));
    words.extend(with_ends);
    let is_word = |word: &String| {
        word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && !word.contains('\'')
    };
    words.into_iter().map(|token| token.word).filter(is_word).collect()
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Token {
    /// In C: the name of a field, which is no variable's.
    field: bool,
    word: String,
}

impl From<&str> for Token {
    fn from(word: &str) -> Self {
        Token { field: false, word: word.into() }
    }
}

/// The words and signs of a text in WhyML or C, without comments, strings and white space.
fn tokens(text: &str) -> Vec<Token> {
    let (mut found, mut rest, mut fields) = (Vec::new(), text, false);
    while let Some(c) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '\'';
        let length = if let Some(end) = rest.starts_with("/*").then(|| rest.find("*/")).flatten() {
            end + 2
        } else if let Some(end) = rest.starts_with("(* ").then(|| rest.find("*)")).flatten() {
            end + 2
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(end) = rest.starts_with('"').then(|| rest[1..].find('"')).flatten() {
            end + 2
        } else if c == '#' {
            // A directive is no name.
            let end = rest.find([' ', '\n']).unwrap_or(rest.len());
            found.push(Token::from(&rest[..end]));
            end
        } else if c.is_ascii_alphanumeric() || c == '_' {
            let word = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
            let after = found.last().map(|token: &Token| token.word.as_str());
            let field = after == Some(".")
                || after == Some(">")
                || (fields && rest[word.len()..].starts_with([';', '[']));
            found.push(Token { field, word: word.into() });
            word.len()
        } else {
            // The fields of a struct are declared between braces.
            fields = (fields && c != '}')
                || (c == '{' && found.iter().rev().nth(1).is_some_and(|token| token.word == "struct"));
            if !c.is_whitespace() {
                found.push(Token::from(&rest[..c.len_utf8()]));
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    found
}

/// Gives each of a policy's words another one.
fn rename(policy: &mut Policy, new: &mut impl FnMut(&str) -> String) {
    let mut change = |word: &mut String| *word = new(word);
    let named = |attributes: &mut Vec<Attribute>, change: &mut dyn FnMut(&mut String)| {
        attributes.iter_mut().for_each(|attribute| change(&mut attribute.name));
    };
    policy.params.iter_mut().for_each(|param| change(&mut param.name));
    policy.sets.iter_mut().for_each(|set| change(&mut set.name));
    for attributes in [&mut policy.globals, &mut policy.thread, &mut policy.core] {
        named(attributes, &mut change);
    }
    policy.queues.iter_mut().for_each(|queue| change(&mut queue.name));
    policy.reasons.iter_mut().skip(1).for_each(&mut change);
    for steal in &mut policy.steals {
        change(&mut steal.name);
        change(&mut steal.thief.name);
        change(&mut steal.victims.name);
    }
    for function in &mut policy.functions {
        function.locals.iter_mut().for_each(|local| change(&mut local.name));
        use hearth_ipanema::ir::Role;
        match function.role {
            Role::Handler(_) => {}
            Role::Function | Role::Invariant => change(&mut function.name),
            Role::Phase(_) => {
                if let Some((steal, phase)) = function.name.split_once('.') {
                    let mut steal = steal.to_owned();
                    change(&mut steal);
                    function.name = format!("{steal}.{phase}");
                }
            }
        }
    }
}

/// Where two texts are not the same but for the words. A word of one module of WhyML may be another in the next one; a word of
/// one block of C, unless it is a name of the runtime or begins with `prefix`.
fn difference(before: &str, after: &str, prefix: Option<&str>) -> Option<String> {
    let (before, after) = (tokens(before), tokens(after));
    let (mut to, mut from): (HashMap<&Token, &Token>, HashMap<&Token, &Token>) = Default::default();
    let goes_on = |token: &Token| {
        let of = |prefix: &str| token.word.to_lowercase().starts_with(prefix);
        prefix.is_some_and(|prefix| of(prefix) || of("saakm_"))
    };
    // What each open block has mapped first.
    let mut blocks: Vec<Vec<(&Token, &Token)>> = vec![Vec::new()];
    for (at, (a, b)) in before.iter().zip(&after).enumerate() {
        if !to.contains_key(a) && !from.contains_key(b) {
            blocks.last_mut().unwrap().push((a, b));
        }
        let (was, came) = (*to.entry(a).or_insert(b), *from.entry(b).or_insert(a));
        // Two structs may have fields of one name.
        if was != b || (came != a && !a.field) {
            let before = before[at.saturating_sub(8)..at].iter().map(|token| token.word.as_str());
            let before = Vec::from_iter(before).join(" ");
            return Some(format!(
                "after `{before}`: `{}` became `{}` and `{}`; `{}` was `{}`",
                a.word, was.word, b.word, b.word, came.word
            ));
        }
        match (a.word.as_str(), prefix) {
            ("{", Some(_)) => blocks.push(Vec::new()),
            ("}", Some(_)) => {
                for (a, b) in blocks.pop().unwrap() {
                    if !goes_on(a) {
                        to.remove(a);
                        from.remove(b);
                    }
                }
            }
            (";", Some(_)) if blocks.len() == 1 => {}
            ("module", None) => {}
            _ => continue,
        }
        if blocks.len() == 1 {
            to.retain(|token, _| goes_on(token));
            from.retain(|token, _| goes_on(token));
            blocks[0].clear();
        }
    }
    (before.len() != after.len()).then(|| format!("{} tokens instead of {}", after.len(), before.len()))
}

/// A stream of numbers from a seed (Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % n as u64) as usize
    }
}

/// A small policy with each construct, and policies as users have them.
#[test]
fn no_word_of_a_policy_captures_a_name() {
    let fixture = policy_of(concat!(env!("CARGO_MANIFEST_DIR"), "/../ipanema/tests/golden/fixture.ipa"));
    renamed(&fixture, hearth_tests::cases(20, 400));
    for name in ["cfs-cwc", "nest", "ule-cwc", "smove", "eevdf"] {
        renamed(&policy(name), hearth_tests::cases(1, 40));
    }
}

fn renamed(policy: &Policy, seeds: u32) {
    let hostile = hostile();
    let (whyml, c) = (emitted(policy).whyml, hearth_ipanema::emit::c(policy));
    let prefix = policy.name.replace('-', "_");
    for seed in 0..seeds {
        let (mut random, mut renamed) = (Random(seed.into()), policy.clone());
        let (mut words, mut taken): (BTreeMap<String, String>, BTreeSet<String>) = Default::default();
        rename(&mut renamed, &mut |word| {
            let new = || {
                let mut candidates = std::iter::repeat_with(|| hostile[random.below(hostile.len())].clone());
                candidates.find(|new| taken.insert(new.to_lowercase())).unwrap()
            };
            words.entry(word.to_owned()).or_insert_with(new).clone()
        });
        let whyml = difference(&whyml, &emitted(&renamed).whyml, None);
        let c = difference(&c, &hearth_ipanema::emit::c(&renamed), Some(&prefix));
        if let Some(found) = whyml.or(c) {
            panic!("seed {seed} of {}: {found}\n{words:?}", policy.name);
        }
    }
}
