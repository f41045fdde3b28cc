//! Renaming, and references. A name is renamed in all policies of the folder that share it, or not at all.

use crate::names::{self, Kind, What};
use crate::workspace::{Analysed, Overlay, Workspace};
use crate::{text::Text, uri};
use hearth_ipanema::syntax::ast::ItemKind;
use hearth_ipanema::syntax::lexer::lex;
use hearth_ipanema::syntax::token::TokenKind;
use hearth_ipanema::{SourceId, Span};
use lsp_types::{Location, TextEdit, Uri};
use std::collections::{BTreeMap, BTreeSet};

/// Place of a name: file and byte range. Names in different analyses of a file are the same if their places are.
type Place = (String, u32, u32);

/// The name at the offset, if it can be renamed, and where it is declared.
///
/// # Errors
/// It cannot be renamed, and why.
pub fn prepare(analysed: &Analysed, offset: usize) -> Result<(Span, Span), String> {
    let Some((at, what)) = names::at(analysed, offset) else {
        return Err("there is no name here".into());
    };
    let declared = match what {
        What::Declared(span) => span,
        What::Word(word) => return Err(format!("`{}` is a word of the language", word.name)),
    };
    let Some(policy) = analysed.policy(declared) else {
        return Err("the policy has errors: correct them first".into());
    };
    let (name, kind) =
        (&policy.name.name, analysed.declaration(declared).map(|declaration| declaration.kind));
    let has_slots = policy.items.iter().any(|item| matches!(item.kind, ItemKind::Slot(_)));
    match kind {
        Some(Kind::Policy) => {
            Err("a policy has the name of its file: rename both, and the `extends` of others".into())
        }
        Some(Kind::Handler(event)) => Err(format!("`{}` is an event of the language", event.name())),
        // A feature is not compiled without its base, so its uses of a name are not known.
        _ if policy.slot.is_some() => Err(format!("`{name}` is a feature: its base may need this name")),
        Some(_) if has_slots => Err(format!("`{name}` has slots: features may use this name")),
        _ => Ok((at, declared)),
    }
}

/// The edits that rename a name, by document.
///
/// # Errors
/// It cannot be renamed, and why.
pub fn rename(
    workspace: &Workspace,
    file: &str,
    analysed: &Analysed,
    offset: usize,
    to: &str,
) -> Result<Vec<(Uri, Vec<TextEdit>)>, String> {
    let (_, declared) = prepare(analysed, offset)?;
    let from = analysed.slice(declared).to_owned();
    check_name(to)?;
    let family = Family::of(workspace, file, analysed, declared)?;
    let mut edits = Vec::new();
    let mut overlay = Overlay::new();
    for (file, places) in &family.places {
        let source = family.source(file).ok_or("the text of a policy is gone")?;
        if !workspace.documents.contains_key(file) && !uri::is_file(file) {
            let policy = file.trim_end_matches(".ipa");
            return Err(format!(
                "`{from}` is also declared in the built-in policy `{policy}`, which cannot be changed"
            ));
        }
        let uri =
            workspace.documents.get(file).map(|document| document.uri.clone()).or_else(|| uri::uri(file));
        overlay.insert(file.clone(), renamed(source.as_str(), places, to));
        let edit = |&(start, end): &(u32, u32)| TextEdit {
            range: source.range(start as usize..end as usize),
            new_text: to.to_owned(),
        };
        edits.push((uri.ok_or("a file has no valid URI")?, places.iter().map(edit).collect()));
    }
    family.check(workspace, &overlay, to)?;
    Ok(edits)
}

/// Where the name at the offset stands, in the documents and files of the folder. `None`: it is no name of a policy, or a
/// policy that may share it has errors.
pub fn references(
    workspace: &Workspace,
    file: &str,
    analysed: &Analysed,
    offset: usize,
    declarations_too: bool,
) -> Option<Vec<Location>> {
    let (_, What::Declared(declared)) = names::at(analysed, offset)? else { return None };
    let family = Family::of(workspace, file, analysed, declared).ok()?;
    let mut found = Vec::new();
    for (file, places) in &family.places {
        let open = workspace.documents.get(file).map(|document| document.uri.clone());
        // A built-in policy has no file.
        let Some(uri) = open.or_else(|| uri::is_file(file).then(|| uri::uri(file)).flatten()) else {
            continue;
        };
        let source = family.source(file)?;
        let wanted = |&&(start, end): &&(u32, u32)| {
            declarations_too || !family.declarations.contains(&(file.clone(), start, end))
        };
        let location = |&(start, end): &(u32, u32)| Location {
            uri: uri.clone(),
            range: source.range(start as usize..end as usize),
        };
        found.extend(places.iter().filter(wanted).map(location));
    }
    Some(found)
}

fn check_name(name: &str) -> Result<(), String> {
    let tokens = lex(SourceId::default(), name).tokens;
    match tokens.first() {
        Some(first) if first.span.text(name) == name && first.kind == TokenKind::Ident => Ok(()),
        Some(first) if first.span.text(name) == name && first.kind.is_keyword() => {
            Err(format!("`{name}` is a keyword"))
        }
        _ => Err(format!("`{name}` is not a name: use letters, digits and `_`")),
    }
}

fn renamed(text: &str, places: &BTreeSet<(u32, u32)>, to: &str) -> String {
    let mut text = text.to_owned();
    for (start, end) in places.iter().rev() {
        text.replace_range(*start as usize..*end as usize, to);
    }
    text
}

/// All that has to be renamed together.
struct Family {
    /// The policies that contain some of it, by file, without errors.
    policies: BTreeMap<String, Analysed>,
    /// Places of the name, by file.
    places: BTreeMap<String, BTreeSet<(u32, u32)>>,
    /// Those of them that declare it.
    declarations: BTreeSet<Place>,
}

impl Family {
    fn of(workspace: &Workspace, file: &str, analysed: &Analysed, declared: Span) -> Result<Family, String> {
        let home = analysed.name(declared.source).to_owned();
        let around = workspace.beside(file).into_iter().chain([file.to_owned()]);
        let analyses = around.filter_map(|file| {
            let analysed = workspace.analyse(&file, &Overlay::new())?;
            Some((file, analysed))
        });
        let policies: BTreeMap<String, Analysed> =
            analyses.filter(|(_, analysed)| analysed.has_source(&home)).collect();
        let declarations = closure(&policies, place(analysed, declared));
        let mut places: BTreeMap<String, BTreeSet<(u32, u32)>> = BTreeMap::new();
        for (file, analysed) in &policies {
            if analysed.analysis.ir.is_none() {
                return Err(format!("{file} has errors: correct them first"));
            }
            for (span, declared) in uses(analysed) {
                if declarations.contains(&place(analysed, declared)) {
                    let (file, start, end) = place(analysed, span);
                    places.entry(file).or_default().insert((start, end));
                }
            }
        }
        for (file, start, end) in &declarations {
            places.entry(file.clone()).or_default().insert((*start, *end));
        }
        Ok(Family { policies, places, declarations })
    }

    fn source(&self, file: &str) -> Option<&Text> {
        let sources = self.policies.values().flat_map(|analysed| {
            let sources = (0..).map(SourceId).map_while(|id| Some((analysed.name(id), analysed.text(id)?)));
            sources.collect::<Vec<_>>()
        });
        sources.into_iter().find(|(name, _)| *name == file).map(|(_, text)| text)
    }

    /// Checks that with the new texts, no policy has errors and every name means the same as before.
    fn check(&self, workspace: &Workspace, overlay: &Overlay, to: &str) -> Result<(), String> {
        for (file, before) in &self.policies {
            let after = workspace.analyse(file, overlay).ok_or("the text of a policy is gone")?;
            let moved = |span: Span| self.moved(place(before, span), to);
            let was: BTreeSet<_> =
                uses(before).map(|(span, declared)| (moved(span), moved(declared))).collect();
            let is: BTreeSet<_> =
                uses(&after).map(|(span, declared)| (place(&after, span), place(&after, declared))).collect();
            if let Some(error) = after.analysis.diagnostics.iter().find(|d| d.is_error()) {
                return Err(format!("the name `{to}` does not fit: {}", error.message));
            }
            if was != is {
                return Err(format!("the name `{to}` is taken: another name would change its meaning"));
            }
        }
        Ok(())
    }

    /// The place after the renaming.
    fn moved(&self, (file, start, end): Place, to: &str) -> Place {
        let Some(places) = self.places.get(&file) else { return (file, start, end) };
        let shifted = |offset: u32| {
            let grown = places.iter().filter(|(_, end)| *end <= offset);
            grown.fold(i64::from(offset), |at, (start, end)| at + to.len() as i64 - i64::from(end - start))
                as u32
        };
        let (start, end) = (shifted(start), shifted(end));
        (file, start, end)
    }
}

fn place(analysed: &Analysed, span: Span) -> Place {
    (analysed.name(span.source).to_owned(), span.start, span.end)
}

/// Names and their declarations.
fn uses(analysed: &Analysed) -> impl Iterator<Item = (Span, Span)> {
    analysed.analysis.uses.iter().filter_map(|found| Some((found.span, found.meaning.declared()?)))
}

/// The declarations that replace each other, in whatever policy.
fn closure(policies: &BTreeMap<String, Analysed>, first: Place) -> BTreeSet<Place> {
    let mut found = BTreeSet::from([first]);
    loop {
        let before = found.len();
        for analysed in policies.values() {
            for (new, old) in &analysed.analysis.replaced {
                let (new, old) = (place(analysed, *new), place(analysed, *old));
                if found.contains(&new) || found.contains(&old) {
                    found.extend([new, old]);
                }
            }
        }
        if found.len() == before {
            return found;
        }
    }
}
