//! Loading of policies by name or path.

use crate::Policy;
use hearth_base::suggest::closest;
use hearth_ipanema::syntax::Source;
use hearth_ipanema::{Failed, builtin, compile};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Why a policy cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no policy `{name}`; built in are {}; or give the path of an .ipa file", names().join(", "))]
    Unknown { name: String },
    #[error("cannot read policy {}: {source}", .path.display())]
    Read { path: PathBuf, source: io::Error },
    /// The compiler rejects it. `Display` prints the diagnostics without colour.
    #[error("{0}")]
    Rejected(Box<Failed>),
}

impl Error {
    /// What to do about the error, if the message does not say it.
    pub fn help(&self) -> Option<String> {
        let Error::Unknown { name } = self else { return None };
        closest(name, names().iter().copied()).map(|near| format!("did you mean `{near}`?"))
    }
}

/// Names of the built-in policies, in the order in which tables show them.
pub fn names() -> &'static [&'static str] {
    &builtin::NAMES
}

/// The text of a built-in policy, or of the file at a path.
///
/// # Errors
/// If there is no such policy, or the file cannot be read.
pub fn read(name_or_path: &str) -> Result<String, Error> {
    if let Some(text) = builtin::source(name_or_path) {
        return Ok(text.into_owned());
    }
    fs::read_to_string(name_or_path).map_err(|source| {
        let path = PathBuf::from(name_or_path);
        let is_path = name_or_path.contains('/') || path.extension().is_some_and(|e| e == "ipa");
        if source.kind() == io::ErrorKind::NotFound && !is_path {
            return Error::Unknown { name: name_or_path.to_owned() };
        }
        Error::Read { path, source }
    })
}

/// Compiles a built-in policy, or the `.ipa` file at a path.
///
/// The base of a file is `NAME.ipa` in the same folder, or else the built-in policy of that name.
///
/// # Errors
/// If there is no such policy, the file cannot be read, or the compiler rejects it.
pub fn load(name_or_path: &str) -> Result<Policy, Error> {
    if builtin::source(name_or_path).is_some() {
        let compiled = compile(&|_: &str| None, name_or_path).map_err(Error::Rejected)?;
        return Ok(Policy::builtin(compiled));
    }
    let text = read(name_or_path)?;
    let sources = sources(name_or_path, &text, |base| fs::read_to_string(base).ok());
    compile(&sources, name_or_path).map(Policy::from).map_err(Error::Rejected)
}

/// The nearest base of a policy that was loaded from `name_or_path`. `None`: it has none, or the base is a part of a product and
/// no policy by itself.
pub fn base(name_or_path: &str, policy: &Policy) -> Option<Policy> {
    let name = policy.ir().bases.first()?;
    let beside = Path::new(name_or_path).with_file_name(format!("{name}.ipa"));
    match policy.is_builtin() || !beside.is_file() {
        true => load(name).ok(),
        false => load(beside.to_str()?).ok(),
    }
}

/// The texts of the policy at a path and of its bases, for the compiler. `read` reads the file of a base.
pub fn sources<'s>(
    path: &'s str,
    text: &'s str,
    read: impl Fn(&Path) -> Option<String> + 's,
) -> impl Fn(&str) -> Option<Source> + 's {
    move |wanted| {
        if wanted == path {
            return Some(Source { name: path.to_owned(), text: text.to_owned() });
        }
        let base = Path::new(path).with_file_name(format!("{wanted}.ipa"));
        let text = read(&base)?;
        Some(Source { name: base.display().to_string(), text })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with these policies, by name.
    fn folder(policies: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in policies {
            fs::write(folder.path().join(format!("{name}.ipa")), text).unwrap();
        }
        folder
    }

    fn load_from(folder: &tempfile::TempDir, name: &str) -> Result<Policy, Error> {
        load(folder.path().join(format!("{name}.ipa")).to_str().unwrap())
    }

    #[test]
    fn every_built_in_policy_loads() {
        for name in names() {
            let policy = load(name).unwrap();
            assert!(policy.name() == *name && policy.is_builtin());
        }
    }

    #[test]
    fn bases_are_beside_the_file_or_built_in() {
        let folder = folder(&[
            ("nest", "policy nest extends cfs { param beside : int in 0..9 = 3; }"),
            ("child", "policy child extends nest { param own : bool = true; }"),
        ]);
        let child = load_from(&folder, "child").unwrap();
        assert_eq!(child.ir().bases, ["nest", "cfs"]);
        let names: Vec<&str> = child.params().iter().map(|param| &*param.name).collect();
        assert!(names.contains(&"beside") && names.contains(&"own") && names.contains(&"latency"));
        assert!(!names.contains(&"r_max"), "the built-in nest is not its base");
        let path = folder.path().join("child.ipa");
        let base = base(path.to_str().unwrap(), &child).unwrap();
        assert!(base.name() == "nest" && base.params().iter().any(|param| param.name == "beside"));
        assert!(super::base(path.to_str().unwrap(), &load("cfs").unwrap()).is_none());
        assert!(!child.is_builtin() && !load_from(&folder, "nest").unwrap().is_builtin());
        let built_in = child.sources().get(hearth_ipanema::SourceId(2)).unwrap();
        assert_eq!(built_in.name, "cfs.ipa");
    }

    #[test]
    fn an_unknown_name_suggests_the_nearest() {
        let error = load("nst").unwrap_err();
        assert!(matches!(error, Error::Unknown { .. }), "{error}");
        assert_eq!(error.help().as_deref(), Some("did you mean `nest`?"));
        assert!(error.to_string().contains("cfs-cwc-flat"), "{error}");
        assert_eq!(load("banana").unwrap_err().help(), None);
        for path in ["nst.ipa", "./nst", "/"] {
            assert!(matches!(load(path), Err(Error::Read { .. })), "{path}");
        }
    }

    #[test]
    fn errors_keep_the_diagnostics_and_the_texts() {
        let folder = folder(&[("broken", "policy broken extends bass { }")]);
        let Err(Error::Rejected(failed)) = load_from(&folder, "broken") else { panic!("it loads") };
        assert_eq!(failed.diagnostics.len(), 1);
        assert_eq!(failed.sources.text(failed.diagnostics[0].span), "bass");
    }
}
