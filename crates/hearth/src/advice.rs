//! The commands of Hearth that messages and pages recommend are accepted by the command line.

use crate::cli::{Cli, definition};
use clap::error::ErrorKind;
use clap::{Command, FromArgMatches};
use proc_macro2::{TokenStream, TokenTree};
use std::cell::RefCell;
use std::fs;
use std::path::{Path, PathBuf};

/// What a placeholder may stand for: `FILE`, `{name}`, `...`.
const VALUES: [&str; 4] = ["nest", "4", "10s", "nest.r_max=5"];
/// What these stand for.
const NAMED: [(&str, &str); 6] = [
    ("VERB", "list"),
    ("SHELL", "bash"),
    ("MODEL", hearth_features::NAMES[0]),
    ("N", "4"),
    ("{more}", "4"),
    ("{RECORDINGS}", "4"),
];

thread_local! {
    /// Made once, because that takes longer than to read a command line.
    static DEFINITION: RefCell<Command> = RefCell::new(definition());
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            files(&entry, extension, found);
        } else if entry.extension().is_some_and(|found| found == extension) {
            found.push(entry);
        }
    }
}

/// The string literals of a Rust file before its tests.
fn strings(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap_or_default();
    let mut found = Vec::new();
    collect(source.parse().expect("a Rust file"), &mut found);
    found
}

fn collect(tokens: TokenStream, found: &mut Vec<String>) {
    // Documentation is an attribute, too.
    let is_doc = |group: &TokenStream| group.to_string().starts_with("doc =");
    for token in tokens {
        match token {
            TokenTree::Group(group) if is_doc(&group.stream()) => {}
            TokenTree::Group(group) => collect(group.stream(), found),
            TokenTree::Literal(literal) => {
                found.extend(
                    syn::parse_str::<syn::LitStr>(&literal.to_string()).ok().map(|text| text.value()),
                );
            }
            _ => {}
        }
    }
}

/// The commands in a text: in backticks, or after `sudo`, a colon or a bracket to the end of the sentence.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (start, _) in text.match_indices("hearth ") {
        let (before, rest) = (&text[..start], &text[start..]);
        let before = before.strip_suffix("sudo ").unwrap_or(before);
        let end = match before.chars().last() {
            Some('`') => rest.find('`'),
            Some(' ') if before.ends_with(": ") && !before.ends_with("error: ") => {
                rest.find(['\n', '`', ';'])
            }
            Some('(') => rest.find([')', '\n']),
            None | Some('\n') if is_verb(rest) => rest.find(['\n', '`', ';']),
            _ => continue,
        };
        found.push(rest[..end.unwrap_or(rest.len())].trim().to_owned());
    }
    found
}

/// Whether a verb follows `hearth`: not in "hearth has a bug".
fn is_verb(command: &str) -> bool {
    command
        .split_whitespace()
        .nth(1)
        .is_some_and(|word| DEFINITION.with_borrow(|definition| definition.find_subcommand(word).is_some()))
}

/// Whether a word stands for what the user writes.
fn is_placeholder(word: &str) -> bool {
    let is_name = word.chars().all(|c| c.is_ascii_uppercase() || "_.".contains(c));
    word.contains('{') || word.ends_with("...") || is_name
}

/// A word with a value for its placeholder; `None` for an option that may be left out.
fn filled(word: &str, value: &str) -> Option<String> {
    let named = NAMED.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
    match word.starts_with('[') {
        true => None,
        false if is_placeholder(word) => Some(named.unwrap_or(value).into()),
        false => Some(word.into()),
    }
}

/// Reads a command line, and runs it if it only prints names.
fn accept(words: &[String]) -> Result<(), clap::Error> {
    let matches = DEFINITION.with_borrow_mut(|definition| definition.try_get_matches_from_mut(words))?;
    let cli = Cli::from_arg_matches(&matches)?;
    if words.get(1).is_some_and(|verb| verb == "list") {
        cli.run().unwrap_or_else(|failure| panic!("{words:?}: {failure:?}"));
    }
    Ok(())
}

/// Why a command is not accepted, whatever its placeholders stand for.
fn refusal(command: &str, mention: bool) -> Option<String> {
    let Some(words) = shlex::split(command) else { return Some("unbalanced quotes".into()) };
    let end = words
        .iter()
        .position(|word| [">", "|", "&", "2>&1", "&&", "#"].contains(&&**word))
        .unwrap_or(words.len());
    let words = &words[..end];
    let only_verbs = words[1..].iter().all(|word| word.chars().all(|c| c.is_ascii_lowercase()));
    let mut refusal = None;
    for value in VALUES {
        let mut filled: Vec<String> = words.iter().filter_map(|word| filled(word, value)).collect();
        // A mention may end in a flag that has a value.
        for _ in 0..=usize::from(mention) {
            let Err(error) = accept(&filled) else { return None };
            if is_about(error.kind()) || is_incomplete(error.kind()) && (only_verbs || mention) {
                return None;
            }
            refusal = error.to_string().lines().next().map(str::to_owned);
            filled.push(value.into());
        }
    }
    refusal
}

fn is_about(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::DisplayHelp | ErrorKind::DisplayVersion)
}

fn is_incomplete(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    )
}

/// The texts of the program, each with its file.
fn texts() -> Vec<(String, String)> {
    let mut sources = Vec::new();
    files(&root().join("crates"), "rs", &mut sources);
    let name = |path: &Path| path.strip_prefix(root()).expect("a path").display().to_string();
    let is_ours =
        |name: &str| name.contains("/src/") && !name.contains("/tests") && !name.ends_with("/advice.rs");
    let texts = sources.into_iter().map(|path| (name(&path), path)).filter(|(name, _)| is_ours(name));
    let texts = texts.flat_map(|(name, path)| {
        let source = fs::read_to_string(path).expect("a source");
        strings(&source).into_iter().map(move |text| (name.clone(), text))
    });
    texts.collect()
}

#[test]
fn every_recommended_command_is_accepted() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for (file, text) in texts() {
        for command in commands(&text) {
            count += 1;
            // The program adds the rest: the user's own command.
            let begins = text.strip_prefix("sudo ").unwrap_or(&text) == command;
            wrong.extend(refusal(&command, begins).map(|why| format!("{file}: {command}: {why}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 100, "only {count} commands were found");
}

#[test]
fn every_recommended_target_of_make_exists() {
    let makefile = fs::read_to_string(root().join("Makefile")).expect("a Makefile");
    let mut count = 0;
    for (file, text) in texts() {
        for after in text.split("`make ").skip(1).filter_map(|after| Some(after.split_once('`')?.0)) {
            let is_target = |word: &&str| {
                word.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') && !word.starts_with('-')
            };
            for target in after.split_whitespace().filter(is_target) {
                count += 1;
                assert!(makefile.contains(&format!("\n{target}:")), "{file}: make {target}");
            }
        }
    }
    assert!(count > 3, "only {count} targets were found");
}

/// Inline code of the book may leave out what it is not about.
#[test]
fn every_command_that_the_book_mentions_exists() {
    let (mut pages, mut wrong, mut count) = (Vec::new(), Vec::new(), 0);
    files(&root().join("docs/src"), "md", &mut pages);
    for path in pages.into_iter().chain([root().join("README.md"), root().join("CONTRIBUTING.md")]) {
        use pulldown_cmark::{Event, Parser};
        let page = fs::read_to_string(&path).expect("a page");
        for event in Parser::new_ext(&page, pulldown_cmark::Options::ENABLE_TABLES) {
            let Event::Code(code) = event else { continue };
            let code = code.strip_prefix("sudo ").unwrap_or(&code);
            if code.starts_with("hearth ") {
                count += 1;
                wrong.extend(refusal(code, true).map(|why| format!("{}: {code}: {why}", path.display())));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 50, "only {count} commands were found");
}

#[test]
fn commands_are_found_in_messages() {
    let source = r##"
        /// "`hearth no`"
        fn f() { g("write one: hearth new x", '"', "`sudo hearth run \
            nest`"); } // "hearth no"
        h!(r#"(hearth a) hearth has a bug"#)
    "##;
    let found: Vec<String> = strings(source).iter().flat_map(|text| commands(text)).collect();
    assert_eq!(found, ["hearth new x", "hearth run nest", "hearth a"]);
}
