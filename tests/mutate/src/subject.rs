//! The policy under test.

use hearth_ipanema::syntax::{Source, SourceId, Span, ast, parse};
use hearth_ipanema::{Failed, compile};
use hearth_modelcheck::Faults;
use hearth_policy::Policy;

use crate::mutant::{Change, Mutant};

/// The text of the policy, or of one of its bases.
pub(crate) struct Text {
    /// The name of its file in diagnostics.
    pub file: String,
    pub text: String,
    pub tree: ast::Policy,
}

impl Text {
    /// The name of the handler, function or steal around this text; empty if there is none.
    pub fn part(&self, span: Span) -> &str {
        let item =
            self.tree.items.iter().find(|item| item.span.start <= span.start && span.end <= item.span.end);
        match item.map(|item| &item.kind) {
            Some(ast::ItemKind::Function(function)) => &function.name.name,
            Some(ast::ItemKind::Handler(handler)) => handler.event.name(),
            Some(ast::ItemKind::Steal(steal)) => &steal.name.name,
            _ => "",
        }
    }
}

/// A policy and the texts of the policy and its bases.
pub struct Subject {
    pub policy: Policy,
    /// The policy itself first, then its bases, nearest first.
    pub(crate) texts: Vec<Text>,
    /// The emitted C.
    code: String,
}

impl Subject {
    pub fn new(policy: Policy) -> Subject {
        let mut texts: Vec<Text> = Vec::new();
        while let Some(source) = policy.sources().get(SourceId(texts.len() as u32)) {
            let id = SourceId(texts.len() as u32);
            let Some(tree) = parse(id, &source.text).policy else { break };
            texts.push(Text { file: source.name.clone(), text: source.text.clone(), tree });
        }
        let code = policy.c();
        Subject { policy, texts, code }
    }

    /// Compiles a mutant. `None` if it compiles to the code of the original, because another policy overrides the
    /// changed text.
    pub fn compile(&self, mutant: &Mutant) -> Option<Result<Policy, Box<Failed>>> {
        let Change::Text { source, text } = &mutant.change else { return Some(Ok(self.policy.clone())) };
        let provider = |wanted: &str| {
            let at = self.texts.iter().position(|known| known.tree.name.name == wanted)?;
            let text = if at == *source { text } else { &self.texts[at].text };
            Some(Source { name: self.texts[at].file.clone(), text: text.clone() })
        };
        let mutant = compile(&provider, self.policy.name()).map(Policy::from);
        Some(mutant).filter(|mutant| !mutant.as_ref().is_ok_and(|mutant| mutant.c() == self.code))
    }

    /// Whether the mutant changes the policy itself, not a base.
    pub fn is_own(&self, mutant: &Mutant) -> bool {
        match mutant.change {
            Change::Text { source, .. } => source == 0,
            Change::Faults(_) => mutant.file == self.texts[0].file,
        }
    }

    pub(crate) fn faults(mutant: &Mutant) -> Faults {
        match mutant.change {
            Change::Faults(faults) => faults,
            Change::Text { .. } => Faults::default(),
        }
    }
}
