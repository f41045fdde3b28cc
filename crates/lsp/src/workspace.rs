//! Open documents, and what the compiler knows of them.

use crate::text::Text;
use crate::uri;
use hearth_base::{file, paths};
use hearth_ipanema::syntax::ast::Policy;
use hearth_ipanema::{Analysis, SourceId, Span, analyse};
use hearth_policy::sources;
use lsp_types::{Location, TextDocumentContentChangeEvent, Uri};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// A document that is open in the editor.
pub struct Document {
    /// As the client writes it.
    pub uri: Uri,
    pub version: i32,
    pub text: Text,
}

/// A document and its bases.
pub struct Analysed {
    pub analysis: Analysis,
    /// The texts of the sources.
    texts: Vec<Text>,
    /// Files that it extends, or would if they existed.
    asked: BTreeSet<String>,
}

/// Texts that stand for those of files, by name.
pub type Overlay = BTreeMap<String, String>;

#[derive(Default)]
pub struct Workspace {
    pub documents: BTreeMap<String, Document>,
    /// Folders that are open in the editor.
    pub folders: Vec<PathBuf>,
    analysed: RefCell<BTreeMap<String, Rc<Analysed>>>,
}

impl From<Analysis> for Analysed {
    fn from(analysis: Analysis) -> Analysed {
        let texts = (0..).map_while(|at| analysis.sources.get(SourceId(at)));
        let texts = texts.map(|source| Text::new(source.text.clone())).collect();
        Analysed { analysis, texts, asked: BTreeSet::new() }
    }
}

impl Analysed {
    /// The document itself.
    pub const ROOT: SourceId = SourceId(0);

    pub fn text(&self, source: SourceId) -> Option<&Text> {
        self.texts.get(source.0 as usize)
    }

    pub fn name(&self, source: SourceId) -> &str {
        self.analysis.sources.get(source).map_or("", |source| &source.name)
    }

    /// The document's own syntax tree, without parts that have syntax errors.
    pub fn root(&self) -> Option<&Policy> {
        self.analysis.chain.first()
    }

    /// The policy whose text contains the span.
    pub fn policy(&self, span: Span) -> Option<&Policy> {
        self.analysis.chain.iter().find(|policy| policy.span.source == span.source)
    }

    pub fn range(&self, span: Span) -> Option<lsp_types::Range> {
        Some(self.text(span.source)?.range(span.range()))
    }

    pub fn slice(&self, span: Span) -> &str {
        self.analysis.sources.text(span)
    }

    /// Whether a change of this file changes the analysis.
    pub fn depends_on(&self, name: &str) -> bool {
        self.asked.contains(name)
    }

    pub fn has_source(&self, name: &str) -> bool {
        (0..self.texts.len()).any(|at| self.name(SourceId(at as u32)) == name)
    }
}

impl Workspace {
    pub fn open(&mut self, uri: Uri, version: i32, text: String) -> String {
        let name = uri::name(&uri);
        self.forget(&name);
        self.documents.insert(name.clone(), Document { uri, version, text: Text::new(text) });
        name
    }

    /// Applies changes of a document; false if it is not open.
    pub fn change(&mut self, name: &str, version: i32, changes: Vec<TextDocumentContentChangeEvent>) -> bool {
        self.forget(name);
        let Some(document) = self.documents.get_mut(name) else { return false };
        document.version = version;
        changes.into_iter().for_each(|change| document.text.change(change));
        true
    }

    pub fn close(&mut self, name: &str) {
        self.documents.remove(name);
        self.forget(name);
    }

    /// Forgets analyses that depend on a changed file.
    pub fn forget(&mut self, name: &str) {
        self.analysed.borrow_mut().retain(|of, analysed| of != name && !analysed.depends_on(name));
    }

    /// The open documents whose analysis depends on this file, with the document itself.
    pub fn dependents(&self, name: &str) -> Vec<String> {
        let analysed = self.analysed.borrow();
        let depends =
            |of: &&String| *of == name || analysed.get(*of).is_some_and(|analysed| analysed.depends_on(name));
        self.documents.keys().filter(depends).cloned().collect()
    }

    /// The text of an open document, or else of the file.
    fn read(&self, name: &str, overlay: &Overlay) -> Option<String> {
        if let Some(text) = overlay.get(name) {
            return Some(text.clone());
        }
        match self.documents.get(name) {
            Some(document) => Some(document.text.as_str().to_owned()),
            None if uri::is_file(name) => fs::read_to_string(name).ok(),
            None => None,
        }
    }

    /// The analysis of an open document.
    pub fn analysed(&self, name: &str) -> Option<Rc<Analysed>> {
        if let Some(known) = self.analysed.borrow().get(name) {
            return Some(Rc::clone(known));
        }
        self.documents.get(name)?;
        let analysed = Rc::new(self.analyse(name, &Overlay::new())?);
        self.analysed.borrow_mut().insert(name.to_owned(), Rc::clone(&analysed));
        Some(analysed)
    }

    /// Analyses a document or file anew, with other texts in place of some.
    pub fn analyse(&self, name: &str, overlay: &Overlay) -> Option<Analysed> {
        let text = self.read(name, overlay)?;
        let asked = RefCell::new(BTreeSet::new());
        let read = |base: &Path| {
            let base = base.to_str().filter(|base| uri::is_file(base))?;
            asked.borrow_mut().insert(base.to_owned());
            self.read(base, overlay)
        };
        let analysis = analyse(&sources(name, &text, read), name);
        Some(Analysed { asked: asked.into_inner(), ..Analysed::from(analysis) })
    }

    /// Policies in the same folder, and open ones.
    pub fn beside(&self, name: &str) -> BTreeSet<String> {
        let mut found: BTreeSet<String> = self.documents.keys().cloned().collect();
        let folder = Path::new(name).parent().filter(|_| uri::is_file(name));
        let entries = folder.and_then(|folder| fs::read_dir(folder).ok()).into_iter().flatten().flatten();
        let policies =
            entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "ipa"));
        found.extend(policies.filter_map(|path| path.to_str().map(str::to_owned)));
        found
    }

    /// The URI of a source: of the client's document, of a file, or of a copy of a built-in policy.
    pub fn uri(&self, analysed: &Analysed, source: SourceId) -> Option<Uri> {
        let name = analysed.name(source);
        if let Some(document) = self.documents.get(name) {
            return Some(document.uri.clone());
        }
        if uri::is_file(name) {
            return uri::uri(name);
        }
        let path = self.builtin(name, analysed.text(source)?.as_str())?;
        let path = path.to_str()?;
        self.documents.get(path).map(|document| document.uri.clone()).or_else(|| uri::uri(path))
    }

    pub fn location(&self, analysed: &Analysed, span: Span) -> Option<Location> {
        Some(Location { uri: self.uri(analysed, span.source)?, range: analysed.range(span)? })
    }

    /// A file with the text of a built-in policy: in the workspace, or else a copy in the user's cache.
    fn builtin(&self, file: &str, text: &str) -> Option<PathBuf> {
        let is_it = |path: &PathBuf| fs::read_to_string(path).is_ok_and(|found| found == text);
        let folders = self.folders.iter().flat_map(|f| [f.join("policies"), f.join("policies/features")]);
        if let Some(path) = folders.map(|folder| folder.join(file)).find(is_it) {
            return Some(path);
        }
        let path = paths::cache("policies").join(file);
        if !is_it(&path) {
            fs::create_dir_all(file::folder(&path)).ok()?;
            file::write(&path, text.as_bytes()).ok()?;
            fs::set_permissions(&path, Permissions::from_mode(0o444)).ok()?;
        }
        Some(path)
    }
}
