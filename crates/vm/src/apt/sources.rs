//! The machine's own apt sources: archives and their signing keys.

use deb822_fast::Deb822;
use std::fs;
use std::path::{Path, PathBuf};

/// A package archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Source {
    pub uri: String,
    pub suites: Vec<String>,
    pub components: Vec<String>,
    pub keyring: Option<Keyring>,
}

/// The signing key of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keyring {
    /// A file or fingerprint, as in `signed-by`.
    Name(String),
    /// An embedded key in ASCII armour.
    Armour(String),
}

/// All enabled sources of binary packages.
pub fn of_this_machine() -> Vec<Source> {
    read(Path::new("/etc/apt"))
}

fn read(apt: &Path) -> Vec<Source> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(apt.join("sources.list.d")).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    files.insert(0, apt.join("sources.list"));
    let mut sources = Vec::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        match file.extension().and_then(|extension| extension.to_str()) {
            Some("list") => sources.extend(one_line(&text)),
            Some("sources") => sources.extend(deb822(&text)),
            _ => {}
        }
    }
    sources
}

/// Parses the one-line format: `deb [signed-by=KEYRING] URI SUITE COMPONENT...`.
fn one_line(text: &str) -> Vec<Source> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    lines.filter_map(one_source).collect()
}

fn one_source(line: &str) -> Option<Source> {
    let rest = line.trim().strip_prefix("deb")?;
    let rest = rest.strip_prefix(char::is_whitespace)?.trim_start();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let keyring = options.split_whitespace().find_map(|option| option.strip_prefix("signed-by="));
    let mut words = rest.split_whitespace().map(str::to_owned);
    Some(Source {
        uri: words.next()?,
        suites: vec![words.next()?],
        components: words.collect(),
        keyring: keyring.map(|name| Keyring::Name(name.into())),
    })
}

/// Parses the deb822 format.
fn deb822(text: &str) -> Vec<Source> {
    let paragraphs: Deb822 = match text.parse() {
        Ok(paragraphs) => paragraphs,
        Err(_) => return Vec::new(),
    };
    let mut sources = Vec::new();
    for paragraph in paragraphs.iter() {
        let words = |field: &str| -> Vec<String> {
            paragraph.get(field).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
        };
        let off = paragraph.get("Enabled").is_some_and(|value| matches!(value.trim(), "no" | "false" | "0"));
        if off || !words("Types").iter().any(|kind| kind == "deb") {
            continue;
        }
        let keyring = paragraph.get("Signed-By").map(str::trim).filter(|value| !value.is_empty());
        let keyring = keyring.map(|value| match value.contains("BEGIN PGP") {
            true => Keyring::Armour(armour(value)),
            false => Keyring::Name(value.into()),
        });
        sources.extend(words("URIs").into_iter().map(|uri| Source {
            uri,
            suites: words("Suites"),
            components: words("Components"),
            keyring: keyring.clone(),
        }));
    }
    sources
}

/// Converts an embedded key to a key file: a single dot stands for an empty line.
fn armour(value: &str) -> String {
    value
        .lines()
        .map(str::trim)
        .map(|line| if line == "." { "\n".into() } else { format!("{line}\n") })
        .collect()
}

/// The archive of the running release, as opposed to its security updates and third-party archives.
pub fn of_release<'a>(sources: &'a [Source], codename: &str) -> Option<&'a Source> {
    sources.iter().find(|source| {
        source.suites.iter().any(|suite| suite == codename) && source.components.iter().any(|c| c == "main")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYRING: &str = "/usr/share/keyrings/archive-keyring.gpg";

    fn source(uri: &str, suites: &[&str], components: &[&str], keyring: Option<&str>) -> Source {
        let owned = |words: &[&str]| words.iter().map(|word| word.to_string()).collect();
        let keyring = keyring.map(|name| Keyring::Name(name.into()));
        Source { uri: uri.into(), suites: owned(suites), components: owned(components), keyring }
    }

    #[test]
    fn one_line_sources() {
        let text = "# a comment\n\
            deb http://archive.example/debian bookworm main contrib # another\n\
            deb-src http://archive.example/debian bookworm main\n\
            #deb http://off.example/debian bookworm main\n\
            deb [ arch=amd64 signed-by=/usr/share/keyrings/archive-keyring.gpg ] https://x.example/apt stable main\n\
            deb\thttp://flat.example/ ./\n\
            deb incomplete\n";
        assert_eq!(
            one_line(text),
            [
                source("http://archive.example/debian", &["bookworm"], &["main", "contrib"], None),
                source("https://x.example/apt", &["stable"], &["main"], Some(KEYRING)),
                source("http://flat.example/", &["./"], &[], None),
            ]
        );
    }

    #[test]
    fn deb822_sources() {
        let text = "Types: deb deb-src\n\
            # a comment within\n\
            URIs: http://archive.example/debian http://mirror.example/debian\n\
            Suites: bookworm bookworm-updates\n\
            Components: main\n\
            Signed-By: /usr/share/keyrings/archive-keyring.gpg\n\
            \n\
            Types: deb\n\
            Enabled: no\n\
            URIs: http://off.example/debian\n\
            Suites: bookworm\n\
            Components: main\n\
            \n\
            Types: deb-src\n\
            URIs: http://source.example/debian\n\
            Suites: bookworm\n\
            Components: main\n";
        let suites = ["bookworm", "bookworm-updates"];
        assert_eq!(
            deb822(text),
            [
                source("http://archive.example/debian", &suites, &["main"], Some(KEYRING)),
                source("http://mirror.example/debian", &suites, &["main"], Some(KEYRING)),
            ]
        );
    }

    #[test]
    fn an_embedded_key() {
        let text = "Types: deb\nURIs: http://a.example\nSuites: s\nComponents: main\nSigned-By:\n \
            -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n =abcd\n -----END PGP PUBLIC KEY BLOCK-----\n";
        let Some(Keyring::Armour(key)) = &deb822(text)[0].keyring else { panic!("{:?}", deb822(text)) };
        assert_eq!(
            key,
            "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQINBF\n=abcd\n-----END PGP PUBLIC KEY BLOCK-----\n"
        );
    }

    #[test]
    fn the_releases_own_archive() {
        let sources = [
            source("http://vendor.example", &["bookworm"], &["tools"], None),
            source("http://security.example", &["bookworm-security"], &["main"], None),
            source("http://archive.example", &["bookworm", "bookworm-updates"], &["main"], None),
        ];
        assert_eq!(of_release(&sources, "bookworm"), Some(&sources[2]));
        assert_eq!(of_release(&sources, "trixie"), None);
    }

    #[test]
    fn both_kinds_of_files_are_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sources.list.d")).unwrap();
        fs::write(folder.path().join("sources.list"), "deb http://a.example a main\n").unwrap();
        let parts = folder.path().join("sources.list.d");
        fs::write(
            parts.join("b.sources"),
            "Types: deb\nURIs: http://b.example\nSuites: b\nComponents: main\n",
        )
        .unwrap();
        fs::write(parts.join("c.list"), "deb http://c.example c main\n").unwrap();
        fs::write(parts.join("d.list.disabled"), "deb http://d.example d main\n").unwrap();
        let uris: Vec<_> = read(folder.path()).into_iter().map(|source| source.uri).collect();
        assert_eq!(uris, ["http://a.example", "http://b.example", "http://c.example"]);
    }
}
