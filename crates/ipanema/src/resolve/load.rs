//! Reads a policy and, by name, all that it extends.

use crate::codes::{CYCLE, NO_SUCH_POLICY, WRONG_POLICY};
use crate::diagnostic::Diagnostic;
use crate::syntax::{Source, Sources, Span, ast};
use crate::{builtin, syntax};
use hearth_base::suggest::closest;

/// A policy has fewer bases than this.
const MAX_CHAIN: usize = 32;

/// Where source texts come from: the only way in which the compiler reaches out.
pub trait SourceProvider {
    /// The text of a policy, and what diagnostics should call it; `None`: there is no such policy,
    /// and a built-in one of this name is taken.
    fn source(&self, name: &str) -> Option<Source>;
}

impl<F: Fn(&str) -> Option<Source>> SourceProvider for F {
    fn source(&self, name: &str) -> Option<Source> {
        self(name)
    }
}

/// The policy `name` and its bases, nearest first. `None` if one cannot be had or parsed; the
/// reasons are then among the diagnostics.
pub fn load(
    provider: &dyn SourceProvider,
    name: &str,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<Vec<ast::Policy>> {
    let mut chain: Vec<ast::Policy> = Vec::new();
    let mut wanted = name.to_owned();
    let mut said_at = Span::default();
    loop {
        let found = provider.source(&wanted).or_else(|| {
            let text = builtin::source(&wanted)?.to_owned();
            Some(Source { name: format!("{wanted}.ipa"), text })
        });
        let Some(source) = found else {
            let message = format!("there is no policy `{wanted}`");
            let mut unknown = Diagnostic::error(NO_SUCH_POLICY, said_at, message);
            if let Some(name) = closest(&wanted, builtin::NAMES) {
                unknown = unknown.help(format!("there is one named `{name}`"));
            }
            diagnostics.push(unknown);
            return None;
        };
        let id = sources.add(source.name, source.text);
        let policy = parse(id, sources, diagnostics)?;
        if !chain.is_empty() && policy.name.name != wanted {
            let message = format!("the file of policy `{wanted}` declares policy `{}`", policy.name.name);
            diagnostics.push(
                Diagnostic::error(WRONG_POLICY, policy.name.span, message).label(said_at, "sought from here"),
            );
            return None;
        }
        let base = policy.base.clone();
        chain.push(policy);
        let Some(base) = base else { return Some(chain) };
        if let Some(again) = chain.iter().position(|p| p.name.name == base.name) {
            let round: Vec<&str> =
                chain[again..].iter().map(|p| p.name.name.as_str()).chain([&*base.name]).collect();
            let message = format!("`{}` extends itself: {}", base.name, round.join(" -> "));
            diagnostics.push(
                Diagnostic::error(CYCLE, base.span, message)
                    .help("a policy and its base need different names"),
            );
            return None;
        }
        if chain.len() == MAX_CHAIN {
            let message = format!("more than {MAX_CHAIN} policies extend each other");
            diagnostics.push(Diagnostic::error(CYCLE, base.span, message));
            return None;
        }
        said_at = base.span;
        wanted = base.name;
    }
}

/// `None` if the text has errors.
fn parse(id: syntax::SourceId, sources: &Sources, diagnostics: &mut Vec<Diagnostic>) -> Option<ast::Policy> {
    let text = &sources.get(id)?.text;
    let parsed = syntax::parse(id, text);
    let failed = parsed.has_errors();
    diagnostics.extend(parsed.diagnostics);
    if failed { None } else { parsed.policy }
}
