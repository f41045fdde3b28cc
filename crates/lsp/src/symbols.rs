//! The outline of a document.

use crate::hover::head;
use crate::names::{Declaration, Kind, declarations};
use crate::workspace::Analysed;
use lsp_types::{DocumentSymbol, SymbolKind};

/// The policy with its items.
pub fn symbols(analysed: &Analysed) -> Vec<DocumentSymbol> {
    let all = analysed.root().map(declarations).unwrap_or_default();
    let Some((policy, items)) = all.split_first() else { return Vec::new() };
    let Some(mut root) = symbol(analysed, policy) else { return Vec::new() };
    root.children = Some(items.iter().filter_map(|item| symbol(analysed, item)).collect());
    vec![root]
}

fn symbol(analysed: &Analysed, declaration: &Declaration) -> Option<DocumentSymbol> {
    // An event has the name that people search for.
    let name = match declaration.kind {
        Kind::Handler(_) => format!("on {}", declaration.name),
        _ => declaration.name.to_owned(),
    };
    let whole = analysed.range(declaration.whole)?;
    let selection = analysed.range(declaration.span)?;
    let detail = head(analysed, declaration).split_whitespace().collect::<Vec<_>>().join(" ");
    #[allow(deprecated)]
    Some(DocumentSymbol {
        name,
        detail: Some(detail),
        kind: kind(declaration.kind),
        tags: None,
        deprecated: None,
        range: whole,
        selection_range: selection,
        children: None,
    })
}

fn kind(kind: Kind) -> SymbolKind {
    match kind {
        Kind::Policy => SymbolKind::CLASS,
        Kind::Param => SymbolKind::CONSTANT,
        Kind::Set | Kind::Queue => SymbolKind::ARRAY,
        Kind::Invariant => SymbolKind::BOOLEAN,
        Kind::Function => SymbolKind::FUNCTION,
        Kind::Handler(_) => SymbolKind::EVENT,
        Kind::Steal => SymbolKind::METHOD,
        Kind::Attribute(_) => SymbolKind::FIELD,
        Kind::Slot | Kind::Need => SymbolKind::INTERFACE,
    }
}
