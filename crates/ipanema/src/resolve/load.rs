//! Loading of a policy, its features and its bases by name.

use super::compose::compose;
use crate::codes::{CYCLE, FEATURE_OR_POLICY, NO_SUCH_FEATURE, NO_SUCH_POLICY, WRONG_POLICY};
use crate::diagnostic::Diagnostic;
use crate::syntax::codes::TOO_DEEP;
use crate::syntax::{Source, Sources, Span, ast};
use crate::{Meaning, Use, builtin, syntax};
use hearth_base::suggest::closest;
use std::convert::Infallible;

/// Maximum length of a chain of policies.
const MAX_CHAIN: usize = 32;

/// Source of policy texts; the compiler's only access to the outside.
pub trait SourceProvider {
    /// Text of a policy or feature and its name for diagnostics; `None` to fall back to the built-in one of
    /// this name.
    fn source(&self, name: &str) -> Option<Source>;
}

impl<F: Fn(&str) -> Option<Source>> SourceProvider for F {
    fn source(&self, name: &str) -> Option<Source> {
        self(name)
    }
}

/// A policy, its features and its bases, nearest first.
pub struct Loaded {
    pub chain: Vec<ast::Policy>,
    /// The names after `extends` and `with`, and the names in the texts that they load.
    pub uses: Vec<Use>,
}

/// Loads policy `name`, its features and its bases. If one is missing, does not parse or does not fit, the reasons
/// are in `diagnostics`, and the chain has only what could be read before it.
pub fn load(
    provider: &dyn SourceProvider,
    name: &str,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Loaded {
    let mut load = Load { provider, sources, diagnostics };
    let mut loaded = Loaded { chain: Vec::new(), uses: Vec::new() };
    load.chain(name, &mut loaded);
    if !diagnostics.iter().any(Diagnostic::is_error) {
        compose(&mut loaded.chain, diagnostics);
        if let Some(product) = builtin::product_of(&loaded.chain) {
            loaded.chain[0].name.name = product;
        }
    }
    loaded
}

struct Load<'l> {
    provider: &'l dyn SourceProvider,
    sources: &'l mut Sources,
    diagnostics: &'l mut Vec<Diagnostic>,
}

impl Load<'_> {
    /// Adds the policy, its features and its bases. `None` at the end of the chain.
    fn chain(&mut self, name: &str, loaded: &mut Loaded) -> Option<Infallible> {
        let mut wanted = name.to_owned();
        let mut said_at = Span::default();
        let Loaded { chain, uses } = loaded;
        loop {
            let policy = self.policy(&wanted, said_at, chain.is_empty())?;
            if !chain.is_empty() {
                uses.push(Use { span: said_at, meaning: Meaning::Declared(policy.name.span) });
            }
            let (base, with) = (policy.base.clone(), policy.with.clone());
            chain.push(policy);
            for name in with {
                let feature = self.feature(&name)?;
                uses.push(Use { span: name.span, meaning: Meaning::Declared(feature.name.span) });
                chain.push(feature);
            }
            let base = base?;
            self.not_again(chain, &base)?;
            said_at = base.span;
            wanted = base.name;
        }
    }

    /// Fails if the chain has the base already, or too many policies.
    fn not_again(&mut self, chain: &[ast::Policy], base: &ast::Ident) -> Option<()> {
        if let Some(again) = chain.iter().position(|p| p.name.name == base.name) {
            let round: Vec<&str> =
                chain[again..].iter().map(|p| p.name.name.as_str()).chain([&*base.name]).collect();
            let message = format!("`{}` extends itself: {}", base.name, round.join(" -> "));
            self.diagnostics.push(
                Diagnostic::error(CYCLE, base.span, message)
                    .help("a policy and its base need different names"),
            );
            return None;
        }
        if chain.len() >= MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} policies and features extend each other");
            self.diagnostics.push(Diagnostic::error(CYCLE, base.span, message));
            return None;
        }
        Some(())
    }

    /// `first`: it is the compiled policy itself, which may have another name than its file.
    fn policy(&mut self, name: &str, said_at: Span, first: bool) -> Option<ast::Policy> {
        let Some(found) = self.find(name) else {
            let message = format!("no policy is called `{name}`");
            return self.unknown(NO_SUCH_POLICY, said_at, message, closest(name, builtin::NAMES));
        };
        let policy = self.parse(found)?;
        if policy.slot.is_some() {
            let message = format!("`{}` is a feature, not a policy", policy.name.name);
            let help =
                format!("name it in a policy: `policy mine extends family with {}, ...;`", policy.name.name);
            self.diagnostics.push(Diagnostic::error(FEATURE_OR_POLICY, policy.name.span, message).help(help));
            return Some(policy).filter(|_| first);
        }
        if first { Some(policy) } else { self.named(policy, name, "policy", said_at) }
    }

    fn feature(&mut self, name: &ast::Ident) -> Option<ast::Policy> {
        let Some(found) = self.find(&name.name) else {
            let message = format!("no feature is called `{}`", name.name);
            let near = closest(&name.name, builtin::features());
            return self.unknown(NO_SUCH_FEATURE, name.span, message, near);
        };
        let feature = self.parse(found)?;
        if feature.slot.is_none() {
            let message = format!("`{}` is a policy, not a feature", name.name);
            self.diagnostics.push(
                Diagnostic::error(FEATURE_OR_POLICY, name.span, message)
                    .help(format!("extend it instead: `extends {}`", name.name)),
            );
            return None;
        }
        self.named(feature, &name.name, "feature", name.span)
    }

    fn unknown(
        &mut self,
        code: crate::diagnostic::Code,
        at: Span,
        message: String,
        near: Option<&str>,
    ) -> Option<ast::Policy> {
        let mut unknown = Diagnostic::error(code, at, message);
        if let Some(near) = near {
            unknown = unknown.help(format!("did you mean `{near}`?"));
        }
        self.diagnostics.push(unknown);
        None
    }

    fn find(&self, name: &str) -> Option<Source> {
        let builtin =
            || Some(Source { name: format!("{name}.ipa"), text: builtin::source(name)?.into_owned() });
        self.provider.source(name).or_else(builtin)
    }

    /// Parses a source. A policy whose text has errors lacks the parts with errors. `None` if it is too deep for passes
    /// that recurse.
    fn parse(&mut self, source: Source) -> Option<ast::Policy> {
        let id = self.sources.add(source.name, source.text);
        let parsed = syntax::parse(id, &self.sources.get(id)?.text);
        let too_deep = parsed.diagnostics.iter().any(|d| d.code == TOO_DEEP);
        self.diagnostics.extend(parsed.diagnostics);
        parsed.policy.filter(|_| !too_deep)
    }

    /// The policy or feature, if it has the name of its file.
    fn named(&mut self, policy: ast::Policy, wanted: &str, what: &str, said_at: Span) -> Option<ast::Policy> {
        if policy.name.name == wanted {
            return Some(policy);
        }
        let message = format!("the file of {what} `{wanted}` declares {what} `{}`", policy.name.name);
        let how = if what == "policy" { "extended here" } else { "named here" };
        self.diagnostics.push(Diagnostic::error(WRONG_POLICY, policy.name.span, message).label(said_at, how));
        None
    }
}
