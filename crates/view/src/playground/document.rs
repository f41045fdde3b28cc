//! The file that the page edits.

use hearth_ipanema::{Analysis, Compiled, Failed, analyse, builtin, compile};
use hearth_policy::{Policy, sources};
use serde::Serialize;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::xxh3_128;

/// Limit of a policy's text. The largest built-in policy has a tenth of it.
pub const MOST_BYTES: usize = 256 << 10;

/// A policy's file, or a copy of a built-in policy that has no file yet.
#[derive(Clone, Debug)]
pub struct Document {
    /// The name that diagnostics show.
    name: String,
    /// Where it is saved; `None`: nowhere yet.
    path: Option<PathBuf>,
    /// Where a copy is saved.
    folder: PathBuf,
    /// The text when it was opened.
    opened: String,
}

/// Why there is nothing to edit.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read policy {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("policy {} has {bytes} bytes; the playground edits at most {MOST_BYTES}", .path.display())]
    Large { path: PathBuf, bytes: usize },
}

/// Why a text is not saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    #[error("{} changed on disk since it was opened here; nothing is written", .path.display())]
    Changed { path: PathBuf },
    #[error("{} exists; nothing is written", .path.display())]
    Exists { path: PathBuf },
    #[error("`{name}` cannot be the name of a policy's file")]
    Name { name: String },
    #[error("a copy of a built-in policy has no file: it needs a name")]
    Unnamed,
    #[error("cannot write {}: {source}", .path.display())]
    Write { path: PathBuf, source: io::Error },
}

impl SaveError {
    pub fn help(&self) -> &'static str {
        match self {
            SaveError::Changed { .. } => {
                "copy your text, reload the page to get the file's, and merge the two"
            }
            SaveError::Exists { .. } | SaveError::Unnamed => "choose another name",
            SaveError::Name { .. } => {
                "use letters, digits and `_`, and `-` between words; no name of a built-in policy"
            }
            SaveError::Write { .. } => "check the folder's permissions and the free space",
        }
    }
}

/// What the page shows.
#[derive(Serialize)]
pub struct DocumentState {
    pub name: String,
    /// `None`: a copy of a built-in policy that is not saved.
    pub path: Option<PathBuf>,
    pub text: String,
    /// Stands for the text on disk when the page saves.
    pub digest: String,
}

pub fn digest(text: &str) -> String {
    format!("{:032x}", xxh3_128(text.as_bytes()))
}

fn read(path: &Path) -> Result<String, OpenError> {
    let text = fs::read_to_string(path).map_err(|source| OpenError::Read { path: path.into(), source })?;
    match text.len() {
        bytes if bytes > MOST_BYTES => Err(OpenError::Large { path: path.into(), bytes }),
        _ => Ok(text),
    }
}

impl Document {
    /// Opens a file.
    ///
    /// # Errors
    /// If it cannot be read, is not text, or is too large.
    pub fn open(path: &Path) -> Result<Document, OpenError> {
        let opened = read(path)?;
        // Behind a symbolic link, the file is replaced and the link stays.
        let path = path.canonicalize().map_err(|source| OpenError::Read { path: path.into(), source })?;
        let folder = hearth_base::file::folder(&path).to_owned();
        Ok(Document { name: path.display().to_string(), path: Some(path), folder, opened })
    }

    /// A copy of a built-in policy, which is saved in `folder`; `None`: there is no such policy.
    pub fn copy(name: &str, folder: &Path) -> Option<Document> {
        let opened = builtin::source(name)?.into_owned();
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.into());
        Some(Document { name: format!("{name}.ipa"), path: None, folder, opened })
    }

    /// The text when it was opened.
    pub fn opened(&self) -> &str {
        &self.opened
    }

    /// The file as it is on disk now.
    pub fn shown(&self) -> Result<DocumentState, OpenError> {
        let text = match &self.path {
            Some(path) => read(path)?,
            None => self.opened.clone(),
        };
        let name = Path::new(&self.name).file_name().unwrap_or_default().to_string_lossy().into();
        Ok(DocumentState { name, path: self.path.clone(), digest: digest(&text), text })
    }

    /// Compiles a text in place of the document's. Its base may be beside the file, as for `hearth check`.
    pub fn compile(&self, text: &str) -> Result<Policy, Box<Failed>> {
        let compiled: Compiled = compile(&self.sources(text), &self.name)?;
        Ok(Policy::from(compiled))
    }

    pub fn analyse(&self, text: &str) -> Analysis {
        analyse(&self.sources(text), &self.name)
    }

    fn sources<'s>(&'s self, text: &'s str) -> impl Fn(&str) -> Option<hearth_ipanema::syntax::Source> + 's {
        let has_file = self.path.is_some();
        sources(&self.name, text, move |base| has_file.then(|| fs::read_to_string(base).ok())?)
    }

    /// Saves a text: to the file if that is still what the page knows as `known`, or to a new file of this `name`. Returns the
    /// digest of the text.
    pub fn save(&mut self, text: &str, known: &str, name: Option<&str>) -> Result<String, SaveError> {
        match &self.path {
            Some(path) => replace(path, text, known)?,
            None => {
                let path = self.folder.join(file_name(name.ok_or(SaveError::Unnamed)?)?);
                create(&path, text)?;
                self.name = path.display().to_string();
                self.path = Some(path);
            }
        }
        Ok(digest(text))
    }
}

fn replace(path: &Path, text: &str, known: &str) -> Result<(), SaveError> {
    let failed = |source| SaveError::Write { path: path.into(), source };
    match fs::read(path) {
        Ok(found) if format!("{:032x}", xxh3_128(&found)) == known => {}
        Ok(_) => return Err(SaveError::Changed { path: path.into() }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(SaveError::Changed { path: path.into() });
        }
        Err(error) => return Err(failed(error)),
    }
    let permissions = fs::metadata(path).map_err(failed)?.permissions();
    hearth_base::file::write(path, text.as_bytes()).map_err(failed)?;
    fs::set_permissions(path, permissions).map_err(failed)
}

/// Creates a file that must not exist. It is removed if it cannot be written.
fn create(path: &Path, text: &str) -> Result<(), SaveError> {
    let failed = |source: io::Error| match source.kind() {
        io::ErrorKind::AlreadyExists => SaveError::Exists { path: path.into() },
        _ => SaveError::Write { path: path.into(), source },
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(path);
        failed(error)
    })
}

/// `NAME.ipa`. The name never leads out of the folder.
fn file_name(name: &str) -> Result<String, SaveError> {
    let stem = name.strip_suffix(".ipa").unwrap_or(name);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = stem.starts_with(is_word);
    let is_name = starts && stem.len() <= 100 && stem.chars().all(|c| is_word(c) || c == '-');
    match is_name && builtin::source(stem).is_none() {
        true => Ok(format!("{stem}.ipa")),
        false => Err(SaveError::Name { name: name.into() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.ipa");
        fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn a_changed_file_is_not_overwritten() {
        let (_folder, path) = file("one");
        let mut document = Document::open(&path).unwrap();
        let first = document.shown().unwrap().digest;
        let second = document.save("two", &first, None).unwrap();
        fs::write(&path, "by another editor").unwrap();
        let refused = document.save("three", &second, None).unwrap_err().to_string();
        assert!(refused.contains("changed on disk"), "{refused}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "by another editor");
        fs::remove_file(&path).unwrap();
        assert!(matches!(document.save("three", &second, None), Err(SaveError::Changed { .. })));
        assert!(!path.exists());
    }

    #[test]
    fn permissions_and_links_stay() {
        let (folder, path) = file("one");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.ipa");
        symlink(&path, &link).unwrap();
        let mut document = Document::open(&link).unwrap();
        document.save("two", &digest("one"), None).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[test]
    fn a_copy_is_saved_once_it_has_a_name() {
        let folder = tempfile::tempdir().unwrap();
        let mut copy = Document::copy("nest", folder.path()).unwrap();
        assert!(matches!(copy.save("x", "", None), Err(SaveError::Unnamed)));
        for bad in ["", "..", "../x", "/tmp/x", "a b", ".x", "-x", "nest", "cfs.ipa", "a.b"] {
            assert!(matches!(copy.save("x", "", Some(bad)), Err(SaveError::Name { .. })), "{bad}");
        }
        fs::write(folder.path().join("taken.ipa"), "y").unwrap();
        assert!(matches!(copy.save("x", "", Some("taken")), Err(SaveError::Exists { .. })));
        assert_eq!(fs::read_to_string(folder.path().join("taken.ipa")).unwrap(), "y");
        let saved = copy.save("x", "", Some("my-nest")).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("my-nest.ipa")).unwrap(), "x");
        copy.save("z", &saved, None).unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("my-nest.ipa")).unwrap(), "z");
        assert_eq!(copy.opened(), builtin::source("nest").unwrap());
    }

    #[test]
    fn large_files_are_refused() {
        let (_folder, path) = file(&" ".repeat(MOST_BYTES + 1));
        assert!(matches!(Document::open(&path), Err(OpenError::Large { .. })));
    }
}
