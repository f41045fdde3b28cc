//! Loading of a policy and its bases by name.

use crate::codes::{CYCLE, NO_SUCH_POLICY, WRONG_POLICY};
use crate::diagnostic::Diagnostic;
use crate::syntax::{Source, Sources, Span, ast};
use crate::{builtin, syntax};
use hearth_base::suggest::closest;

/// Maximum length of a chain of policies.
const MAX_CHAIN: usize = 32;

/// Source of policy texts; the compiler's only access to the outside.
pub trait SourceProvider {
    /// Text of a policy and its name for diagnostics; `None` to fall back to the built-in policy of
    /// this name.
    fn source(&self, name: &str) -> Option<Source>;
}

impl<F: Fn(&str) -> Option<Source>> SourceProvider for F {
    fn source(&self, name: &str) -> Option<Source> {
        self(name)
    }
}

/// Loads policy `name` and its bases, nearest first. Returns `None` if one is missing or does not
/// parse, with the reasons in `diagnostics`.
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
            let message = format!("no policy is called `{wanted}`");
            let mut unknown = Diagnostic::error(NO_SUCH_POLICY, said_at, message);
            if let Some(name) = closest(&wanted, builtin::NAMES) {
                unknown = unknown.help(format!("did you mean `{name}`?"));
            }
            diagnostics.push(unknown);
            return None;
        };
        let id = sources.add(source.name, source.text);
        let policy = parse(id, sources, diagnostics)?;
        if !chain.is_empty() && policy.name.name != wanted {
            let message = format!("the file of policy `{wanted}` declares policy `{}`", policy.name.name);
            diagnostics.push(
                Diagnostic::error(WRONG_POLICY, policy.name.span, message).label(said_at, "extended here"),
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

/// Parses a source; `None` if the text has errors.
fn parse(id: syntax::SourceId, sources: &Sources, diagnostics: &mut Vec<Diagnostic>) -> Option<ast::Policy> {
    let text = &sources.get(id)?.text;
    let parsed = syntax::parse(id, text);
    let failed = parsed.has_errors();
    diagnostics.extend(parsed.diagnostics);
    if failed { None } else { parsed.policy }
}
