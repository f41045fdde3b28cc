//! Runs all passes of the compiler.

use crate::codes::NO_SUCH_POLICY;
use crate::diagnostic::{Diagnostic, Severity, render_all};
use crate::resolve::{self, Loaded, SourceProvider};
use crate::syntax::{Sources, Span, ast};
use crate::{Use, check, ir, types};

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
    let Analysis { ir, mut diagnostics, sources, .. } = analyse(provider, name);
    match ir {
        Some(ir) => Ok(Compiled { ir, warnings: diagnostics, sources }),
        None => {
            if !has_errors(&diagnostics) {
                // A failure must never be silent, even if a pass reports nothing.
                let message = format!("policy `{name}` cannot be compiled");
                diagnostics.push(Diagnostic::error(NO_SUCH_POLICY, Span::default(), message));
            }
            Err(Box::new(Failed { diagnostics, sources }))
        }
    }
}

/// All that the compiler knows of a policy, with or without errors.
#[derive(Debug)]
pub struct Analysis {
    /// The policy, its features and its bases, nearest first. Parts with syntax errors are missing, and so is what
    /// could not be read.
    pub chain: Vec<ast::Policy>,
    pub sources: Sources,
    /// Sorted by place, without duplicates.
    pub diagnostics: Vec<Diagnostic>,
    /// Names and what they mean, in the texts of the whole chain. Incomplete if there are errors.
    pub uses: Vec<Use>,
    /// Places of declarations, each with the one that it replaces in a base.
    pub replaced: Vec<(Span, Span)>,
    /// `None` if there are errors.
    pub ir: Option<ir::Policy>,
}

/// Analyses policy `name`, which [`compile`] finds in the same way.
pub fn analyse(provider: &dyn SourceProvider, name: &str) -> Analysis {
    let (mut sources, mut diagnostics) = (Sources::new(), Vec::new());
    let Loaded { chain, mut uses } = resolve::load(provider, name, &mut sources, &mut diagnostics);
    let complete = !has_errors(&diagnostics);
    let mut later = Vec::new();
    let merged = resolve::merge(&chain, &mut later);
    let mut ir = types::lower(&chain, &merged, &sources, &mut uses, &mut later);
    let replaced = merged.replaced;
    // Of an incomplete policy, only the names are of use: the later errors follow from what is missing.
    ir = ir.filter(|_| complete);
    if let Some(policy) = &mut ir {
        check::check(policy, &mut later);
    }
    if complete {
        diagnostics.append(&mut later);
    }
    diagnostics.sort_by_key(|d| (d.span, d.severity == Severity::Warning, d.code));
    diagnostics.dedup();
    ir = ir.filter(|_| !has_errors(&diagnostics));
    if let Some(policy) = &mut ir {
        ir::drop_empty(policy);
        ir::prune(policy);
    }
    Analysis { chain, sources, diagnostics, uses, replaced, ir }
}

fn has_errors(diagnostics: &[Diagnostic]) -> bool {
    diagnostics.iter().any(Diagnostic::is_error)
}
