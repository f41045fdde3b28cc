//! The emitted WhyML, and its slices.
//!
//! A slice has one module and what it uses. It says nothing else about the policy, so a part of a policy (a placement,
//! a steal, an order) has the same slice in every policy that has this part, and is proved once.

use super::alone::Assigned;
use crate::obligation::Obligation;
use crate::whyml::{Decl, printed};
use std::collections::BTreeSet;

/// The WhyML of a policy, and its obligations.
#[derive(Clone, Debug)]
pub struct Theorems {
    /// The file `policy.mlw`, which uses the theory in `proofs/`.
    pub whyml: String,
    pub obligations: Vec<Obligation>,
    pub(super) source: Source,
}

/// What the file consists of.
#[derive(Clone, Debug, Default)]
pub(super) struct Source {
    /// The beginning of the module `Policy`.
    pub head: String,
    pub declarations: Vec<Declaration>,
    pub attributes: Vec<Assigned>,
    pub modules: Vec<Module>,
}

/// A name of the module `Policy`, with what is known about it.
#[derive(Clone, Debug)]
pub(super) struct Declaration {
    pub name: String,
    pub text: String,
}

#[derive(Clone, Debug)]
pub(super) struct Module {
    pub name: String,
    pub text: String,
}

impl Theorems {
    /// The same file with another text in the first place where `from` occurs. For tests of the provers.
    #[must_use]
    pub fn changed(&self, from: &str, to: &str) -> Theorems {
        let mut changed = self.clone();
        changed.whyml = self.whyml.replacen(from, to, 1);
        let Source { head, declarations, modules, .. } = &mut changed.source;
        let declarations = declarations.iter_mut().map(|declaration| &mut declaration.text);
        let modules = modules.iter_mut().map(|module| &mut module.text);
        if let Some(text) =
            [head].into_iter().chain(declarations).chain(modules).find(|text| text.contains(from))
        {
            *text = text.replacen(from, to, 1);
        }
        changed
    }

    /// Adds a module with goals of its own.
    pub fn add(&mut self, name: &str, body: &str) {
        let module = Module::new(name, body);
        self.whyml += &module.text;
        self.source.modules.push(module);
    }

    /// The same file with these obligations only.
    #[must_use]
    pub fn only(&self, obligations: Vec<Obligation>) -> Theorems {
        Theorems { obligations, ..self.clone() }
    }

    /// The module `Policy`, which all others use.
    pub fn shared(&self) -> &str {
        let end = self.whyml.match_indices("\nmodule ").nth(1).map_or(self.whyml.len(), |(end, _)| end);
        &self.whyml[..end]
    }

    /// The file reduced to one module and what it uses.
    pub fn alone(&self, module: &str) -> String {
        let Source { declarations, attributes, modules, .. } = &self.source;
        let modules: Vec<&Module> = modules.iter().filter(|candidate| candidate.name == module).collect();
        let mut used: BTreeSet<&str> = modules.iter().flat_map(|module| words(&module.text)).collect();
        // `set_` and a name assign to an attribute.
        used.extend(used.clone().into_iter().filter_map(|word| word.strip_prefix("set_")));
        let kept = named(declarations, &mut used);
        let is_used = |attribute: &&Assigned| used.contains(attribute.name.as_str());
        self.source.file("", &kept, &Vec::from_iter(attributes.iter().filter(is_used)), &modules)
    }
}

/// The declarations that these words name, by themselves or through another one: a sum's weight mentions attributes.
/// Their words are added.
pub(super) fn named<'a>(declared: &'a [Declaration], used: &mut BTreeSet<&'a str>) -> Vec<&'a Declaration> {
    loop {
        let before = used.len();
        let named: Vec<_> =
            declared.iter().filter(|declaration| used.contains(declaration.name.as_str())).collect();
        named.iter().for_each(|declaration| used.extend(words(&declaration.text)));
        if used.len() == before {
            return named;
        }
    }
}

impl Declaration {
    pub fn new(name: String, parts: Vec<Decl>) -> Self {
        Declaration { name, text: format!("\n{}", printed(&parts)) }
    }
}

impl Module {
    pub fn new(name: &str, body: &str) -> Self {
        let body = body.trim_end();
        let text = format!("\nmodule {name}\n  use int.Int\n  use ref.Ref\n  use Policy\n\n{body}\nend\n");
        Module { name: name.into(), text }
    }
}

impl Source {
    /// The whole file.
    pub fn whole(&self, policy: &str) -> String {
        let head = format!("(* Policy {policy}: emitted by hearth; its theory is in proofs/. *)\n\n");
        let (declarations, attributes, modules) = (
            &Vec::from_iter(&self.declarations),
            &Vec::from_iter(&self.attributes),
            &Vec::from_iter(&self.modules),
        );
        self.file(&head, declarations, attributes, modules)
    }

    fn file(
        &self,
        title: &str,
        declarations: &[&Declaration],
        attributes: &[&Assigned],
        modules: &[&Module],
    ) -> String {
        let mut text = title.to_owned() + &self.head;
        declarations.iter().for_each(|declaration| text += &declaration.text);
        text += "end\n";
        if modules.iter().any(|module| module.text.contains("\n  use Present\n")) {
            text += &super::alone::module(attributes);
        }
        modules.iter().for_each(|module| text += &module.text);
        text
    }
}

/// The names in a text.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '\'');
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{BTreeSet, Declaration, named};

    #[test]
    fn a_sum_reads_the_attributes_of_its_weight() {
        let declaration = |name: &str, text: &str| Declaration { name: name.into(), text: text.into() };
        let declared = [
            declaration("thread_idle", "function thread_idle (w: world) (t: thread) : int"),
            declaration("thread_share", "function thread_share (w: world) (t: thread) : int"),
            declaration("sum_0", "axiom sum_0_is: forall w t. weight sum_0 w t = thread_share w t"),
        ];
        let mut used = BTreeSet::from(["total", "sum_0"]);
        let names: Vec<&str> = named(&declared, &mut used).iter().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["thread_share", "sum_0"]);
        assert!(used.contains("thread_share"));
    }
}
