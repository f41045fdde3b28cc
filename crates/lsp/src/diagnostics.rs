//! The compiler's diagnostics in the form of the protocol.

use crate::workspace::{Analysed, Workspace};
use hearth_ipanema::codes::{FEATURE_OR_POLICY, UNUSED_FUNCTION, UNUSED_PARAM};
use hearth_ipanema::diagnostic::{Diagnostic as Found, Label};
use hearth_ipanema::{Span, syntax::ast::Policy};
use lsp_types::{
    Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity, DiagnosticTag, NumberOrString, Range,
};

pub const SOURCE: &str = "hearth";

/// The diagnostics of a document. Those of its bases are at the name of the base.
pub fn diagnostics(workspace: &Workspace, analysed: &Analysed) -> Vec<Diagnostic> {
    // The compiler needs a policy; of a feature alone, only the syntax is checked.
    let is_feature = analysed.root().is_some_and(|root| root.slot.is_some());
    let found = analysed.analysis.diagnostics.iter().filter(|d| !is_feature || d.code != FEATURE_OR_POLICY);
    found.map(|found| diagnostic(workspace, analysed, found)).collect()
}

fn diagnostic(workspace: &Workspace, analysed: &Analysed, found: &Found) -> Diagnostic {
    let is_own = found.span.source == Analysed::ROOT;
    let mut message = found.message.clone();
    let mut related: Vec<&Label> = found.labels.iter().filter(|label| label.span != found.span).collect();
    let here = Label { span: found.span, message: "here".into() };
    if !is_own {
        message = format!("in {}: {message}", analysed.name(found.span.source));
        related.insert(0, &here);
    }
    for label in found.labels.iter().filter(|label| label.span == found.span) {
        message += &format!("\n{}", label.message);
    }
    if let Some(help) = &found.help {
        message += &format!("\nhelp: {help}");
    }
    let related = related.into_iter().filter_map(|label| {
        let location = workspace.location(analysed, label.span)?;
        Some(DiagnosticRelatedInformation { location, message: label.message.clone() })
    });
    let unused = [UNUSED_FUNCTION, UNUSED_PARAM].contains(&found.code);
    Diagnostic {
        range: range(analysed, if is_own { found.span } else { extends(analysed.root()) }),
        severity: Some(match found.is_error() {
            true => DiagnosticSeverity::ERROR,
            false => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(found.code.id.to_owned())),
        source: Some(SOURCE.into()),
        message,
        related_information: Some(related.collect()),
        tags: unused.then(|| vec![DiagnosticTag::UNNECESSARY]),
        ..Diagnostic::default()
    }
}

/// The name of the base, or of the policy itself.
fn extends(root: Option<&Policy>) -> Span {
    root.map_or_else(Span::default, |root| root.base.as_ref().unwrap_or(&root.name).span)
}

fn range(analysed: &Analysed, span: Span) -> Range {
    analysed.range(span).unwrap_or_default()
}
