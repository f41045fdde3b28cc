//! Tests of the documentation: examples, links, length.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Runs the `console` blocks. `TRYCMD=overwrite` rewrites their output, also where it is elided (`...`).
#[test]
fn examples_print_what_the_book_says() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("RUST_BACKTRACE", "0")
        .case(root().join("docs/src/commands.md"))
        .case(root().join("README.md"));
}

/// The policies on a page.
fn policies_of(page: &str) -> Vec<String> {
    let mut policies = Vec::new();
    let mut inside = false;
    for event in Parser::new(&read(&root().join("docs/src").join(page))) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => inside = &*language == "ipanema",
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => policies.push(text.into_string()),
            _ => {}
        }
    }
    policies
}

/// A program of the laboratory renews the table of the page.
#[test]
fn the_cookbook_shows_its_policies() {
    let folder = fs::read_dir(root().join("policies/cookbook")).expect("the cookbook");
    let files: BTreeSet<String> = folder.map(|file| read(&file.expect("a file").path())).collect();
    assert!(!files.is_empty());
    assert_eq!(policies_of("cookbook.md").into_iter().collect::<BTreeSet<_>>(), files);
}

/// The policies in the tutorial compile and are formatted.
#[test]
fn the_tutorials_policies_are_sound() {
    let policies = policies_of("tutorial.md");
    assert!(!policies.is_empty());
    let folder = tempfile::tempdir().expect("a temporary folder");
    for policy in policies {
        let path = folder.path().join("policy.ipa");
        fs::write(&path, &policy).expect("a file");
        for verb in [&["check"][..], &["fmt", "--check"]] {
            let hearth =
                Command::new(env!("CARGO_BIN_EXE_hearth")).args(verb).arg(&path).output().expect("hearth");
            let said = String::from_utf8_lossy(&hearth.stdout) + String::from_utf8_lossy(&hearth.stderr);
            assert!(hearth.status.success(), "{verb:?}\n{policy}\n{said}");
        }
    }
}

#[test]
fn links_are_not_broken() {
    let mut pages: Vec<PathBuf> = pages().collect();
    pages.extend(
        ["README.md", "CONTRIBUTING.md", "LICENSE.md", "runtime/bpf/README.md"].map(|page| root().join(page)),
    );
    let mut broken = Vec::new();
    for page in &pages {
        for link in links(&read(page)) {
            if link.contains("://") {
                continue;
            }
            let (path, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = if path.is_empty() { page.clone() } else { page.with_file_name(path) };
            let found = target.exists() && (anchor.is_empty() || anchors(&read(&target)).contains(anchor));
            if !found {
                broken.push(format!("{}: {link}", page.strip_prefix(root()).unwrap_or(page).display()));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n  {}", broken.join("\n  "));
}

/// The pages in `nav` of docs/mkdocs.yml that are in docs/src: index.md is README.md, others are generated.
fn contents() -> BTreeSet<PathBuf> {
    let text = read(&root().join("docs/mkdocs.yml"));
    let (_, nav) = text.split_once("\nnav:\n").expect("nav");
    let pages = nav.lines().filter_map(|line| line.split_once(": "));
    let written =
        pages.map(|(_, page)| page).filter(|page| *page != "index.md" && !page.starts_with("generated/"));
    written.map(|page| root().join("docs/src").join(page)).collect()
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let pages: BTreeSet<PathBuf> = pages().collect();
    assert_eq!(pages, contents(), "the pages (left), and those in docs/mkdocs.yml (right)");
}

#[test]
fn the_book_is_short() {
    let words = |page: PathBuf| read(&page).split_whitespace().count();
    let sum: usize = contents().into_iter().map(words).sum();
    assert!(sum < 45_000, "{sum} words");
}

/// The pages in docs/src.
fn pages() -> impl Iterator<Item = PathBuf> {
    let folder = fs::read_dir(root().join("docs/src")).expect("the book");
    folder
        .map(|entry| entry.expect("a page").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
}

fn read(page: &Path) -> String {
    fs::read_to_string(page).unwrap_or_else(|error| panic!("{}: {error}", page.display()))
}

/// Targets of links and pictures.
fn links(markdown: &str) -> impl Iterator<Item = String> {
    Parser::new(markdown).filter_map(|event| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            Some(dest_url.into_string())
        }
        _ => None,
    })
}

/// The anchors of a page's headings, as the book and code forges make them.
fn anchors(markdown: &str) -> BTreeSet<String> {
    let mut anchors = BTreeSet::new();
    let mut heading: Option<String> = None;
    for event in Parser::new(markdown) {
        match (event, &mut heading) {
            (Event::Start(Tag::Heading { .. }), _) => heading = Some(String::new()),
            (Event::End(TagEnd::Heading(_)), _) => {
                let text = heading.take().unwrap_or_default().trim().to_lowercase();
                let kept = text.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
                anchors.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
            }
            (Event::Text(text) | Event::Code(text), Some(heading)) => heading.push_str(&text),
            _ => {}
        }
    }
    anchors
}
