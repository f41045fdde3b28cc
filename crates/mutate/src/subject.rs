//! The policy that is broken.

use hearth_ipanema::ir::Policy;
use hearth_ipanema::syntax::{Source, SourceId, ast, parse};
use hearth_ipanema::{Compiled, Failed, SourceProvider, compile, emit};
use hearth_modelcheck::Faults;

use crate::mutant::{Change, Mutant};

/// The text of the policy, or of one of its bases.
pub(crate) struct Text {
    /// By which the compiler asks for it.
    pub wanted: String,
    /// As diagnostics call it.
    pub file: String,
    pub text: String,
    pub tree: ast::Policy,
}

/// A policy with all texts that it is made of.
pub struct Subject {
    pub ir: Policy,
    /// The policy itself first, then its bases, nearest first.
    pub(crate) texts: Vec<Text>,
    /// What the compiler makes of it.
    code: String,
}

impl Subject {
    /// # Errors
    /// If the policy is not sound as it is.
    pub fn new(provider: &dyn SourceProvider, name: &str) -> Result<Subject, Box<Failed>> {
        let Compiled { ir, sources, .. } = compile(provider, name)?;
        let mut texts: Vec<Text> = Vec::new();
        while let Some(source) = sources.get(SourceId(texts.len() as u32)) {
            let id = SourceId(texts.len() as u32);
            let Some(tree) = parse(id, &source.text).policy else { break };
            let wanted = if texts.is_empty() { name.to_owned() } else { tree.name.name.clone() };
            texts.push(Text { wanted, file: source.name.clone(), text: source.text.clone(), tree });
        }
        let code = emit::c(&ir);
        Ok(Subject { ir, texts, code })
    }

    /// Compiles a mutant. `None`: it is the original, as what was changed is not in force.
    pub fn compile(&self, mutant: &Mutant) -> Option<Result<Policy, Box<Failed>>> {
        let Change::Text { source, text } = &mutant.change else { return Some(Ok(self.ir.clone())) };
        let provider = |wanted: &str| {
            let at = self.texts.iter().position(|known| known.wanted == wanted)?;
            let text = if at == *source { text } else { &self.texts[at].text };
            Some(Source { name: self.texts[at].file.clone(), text: text.clone() })
        };
        match compile(&provider, &self.texts[0].wanted) {
            Ok(compiled) if emit::c(&compiled.ir) == self.code => None,
            Ok(compiled) => Some(Ok(compiled.ir)),
            Err(failed) => Some(Err(failed)),
        }
    }

    /// Is it a change of the policy itself, and not of a base?
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
