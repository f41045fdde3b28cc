//! Semantic tokens: what each name is. Editors colour words, numbers and comments by the grammar already.

use crate::names::{Declaration, Kind, declarations, locals};
use crate::workspace::Analysed;
use hearth_ipanema::library::Kind as WordKind;
use hearth_ipanema::{Meaning, Span};
use lsp_types::{
    Position, Range, SemanticToken, SemanticTokenModifier, SemanticTokenType, SemanticTokensLegend,
};
use std::collections::{BTreeMap, HashMap};

const TYPES: [SemanticTokenType; 8] = [
    SemanticTokenType::CLASS,
    SemanticTokenType::PARAMETER,
    SemanticTokenType::VARIABLE,
    SemanticTokenType::PROPERTY,
    SemanticTokenType::FUNCTION,
    SemanticTokenType::METHOD,
    SemanticTokenType::EVENT,
    SemanticTokenType::INTERFACE,
];
const DECLARATION: u32 = 1 << 0;
const READ_ONLY: u32 = 1 << 1;
const LIBRARY: u32 = 1 << 2;

pub fn legend() -> SemanticTokensLegend {
    SemanticTokensLegend {
        token_types: TYPES.to_vec(),
        token_modifiers: vec![
            SemanticTokenModifier::DECLARATION,
            SemanticTokenModifier::READONLY,
            SemanticTokenModifier::DEFAULT_LIBRARY,
        ],
    }
}

/// All names of the document, in order, as the protocol encodes them: relative to the one before.
pub fn tokens(analysed: &Analysed) -> Vec<SemanticToken> {
    let mut before = Position::default();
    let encoded = names(analysed).into_iter().filter_map(|(span, (kind, modifiers))| {
        let Range { start, end } = analysed.range(span)?;
        let same_line = start.line == before.line;
        let from = if same_line { before.character } else { 0 };
        let delta_line = start.line - before.line;
        before = start;
        Some(SemanticToken {
            delta_line,
            delta_start: start.character - from,
            length: end.character - start.character,
            token_type: TYPES.iter().position(|other| *other == kind)? as u32,
            token_modifiers_bitset: modifiers,
        })
    });
    encoded.collect()
}

type Shown = (SemanticTokenType, u32);

/// The names of the document by their places.
fn names(analysed: &Analysed) -> BTreeMap<Span, Shown> {
    let mut found = BTreeMap::new();
    for declaration in analysed.root().map(declarations).unwrap_or_default() {
        found.insert(declaration.span, with(shown(&declaration), DECLARATION));
    }
    for (_, name) in locals(analysed) {
        found.insert(name, (SemanticTokenType::VARIABLE, DECLARATION));
    }
    let mut known: HashMap<Span, Shown> = HashMap::new();
    for used in analysed.analysis.uses.iter().filter(|used| used.span.source == Analysed::ROOT) {
        let of = match used.meaning {
            Meaning::Word(word) => match word.kind {
                WordKind::Value(_) => (SemanticTokenType::VARIABLE, LIBRARY | READ_ONLY),
                WordKind::Function(_) => (SemanticTokenType::FUNCTION, LIBRARY),
                _ => (SemanticTokenType::PROPERTY, LIBRARY),
            },
            Meaning::Declared(at) => known
                .entry(at)
                .or_insert_with(|| {
                    let declaration = analysed.declaration(at);
                    declaration.map_or((SemanticTokenType::VARIABLE, 0), |declaration| shown(&declaration))
                })
                .clone(),
        };
        found.entry(used.span).or_insert(of);
    }
    found
}

fn with((kind, modifiers): Shown, more: u32) -> Shown {
    (kind, modifiers | more)
}

fn shown(declaration: &Declaration) -> Shown {
    match declaration.kind {
        Kind::Policy => (SemanticTokenType::CLASS, 0),
        Kind::Param => (SemanticTokenType::PARAMETER, READ_ONLY),
        Kind::Set | Kind::Queue | Kind::Invariant => (SemanticTokenType::VARIABLE, 0),
        Kind::Function => (SemanticTokenType::FUNCTION, 0),
        Kind::Handler(_) => (SemanticTokenType::EVENT, 0),
        Kind::Steal => (SemanticTokenType::METHOD, 0),
        Kind::Attribute(_) => (SemanticTokenType::PROPERTY, 0),
        Kind::Slot | Kind::Need => (SemanticTokenType::INTERFACE, 0),
    }
}
