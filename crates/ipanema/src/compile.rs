//! Runs all passes of the compiler.

use crate::codes::NO_SUCH_POLICY;
use crate::diagnostic::{Diagnostic, Severity, render_all};
use crate::resolve::{self, SourceProvider};
use crate::syntax::{Sources, Span};
use crate::{check, ir, types};

/// A policy without errors.
#[derive(Debug)]
pub struct Compiled {
    pub ir: ir::Policy,
    pub warnings: Vec<Diagnostic>,
    /// Texts of the policy and its bases, for rendering the warnings.
    pub sources: Sources,
}

/// Diagnostics of a policy with at least one error, warnings included.
#[derive(Debug)]
pub struct Failed {
    pub diagnostics: Vec<Diagnostic>,
    pub sources: Sources,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&render_all(&self.diagnostics, &self.sources, false))
    }
}

impl std::error::Error for Failed {}

/// Compiles policy `name` from `provider`, or else the built-in policy of that name.
///
/// Bases are looked up by name, first with the provider and then among the built-in policies.
///
/// ```
/// let nest = hearth_ipanema::compile(&|_: &str| None, "nest").expect("nest is sound");
/// let c = hearth_ipanema::emit::c(&nest.ir);
/// assert!(c.contains("nest_on_unblock"));
/// ```
pub fn compile(provider: &dyn SourceProvider, name: &str) -> Result<Compiled, Box<Failed>> {
    let mut sources = Sources::new();
    let mut diagnostics = Vec::new();
    let policy = passes(provider, name, &mut sources, &mut diagnostics);
    diagnostics.sort_by_key(|d| (d.span, d.severity == Severity::Warning, d.code));
    diagnostics.dedup();
    match policy {
        Some(ir) if !diagnostics.iter().any(Diagnostic::is_error) => {
            Ok(Compiled { ir, warnings: diagnostics, sources })
        }
        _ => {
            if !diagnostics.iter().any(Diagnostic::is_error) {
                // A failure must never be silent, even if a pass reports nothing.
                let message = format!("policy `{name}` cannot be compiled");
                diagnostics.push(Diagnostic::error(NO_SUCH_POLICY, Span::default(), message));
            }
            Err(Box::new(Failed { diagnostics, sources }))
        }
    }
}

fn passes(
    provider: &dyn SourceProvider,
    name: &str,
    sources: &mut Sources,
    diagnostics: &mut Vec<Diagnostic>,
) -> Option<ir::Policy> {
    let chain = resolve::load(provider, name, sources, diagnostics)?;
    let merged = resolve::merge(&chain, diagnostics);
    let mut policy = types::lower(&chain, &merged, sources, diagnostics)?;
    check::check(&mut policy, diagnostics);
    if diagnostics.iter().any(Diagnostic::is_error) {
        return None;
    }
    ir::drop_empty(&mut policy);
    ir::prune(&mut policy);
    Some(policy)
}
