//! Tests of the documentation: examples, links, length.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace")
}

/// Runs the `console` blocks. `TRYCMD=overwrite` rewrites their output.
#[test]
fn examples_print_what_the_book_says() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .env("RUST_BACKTRACE", "0")
        .case(root().join("docs/src/commands.md"));
}

/// The policies in the tutorial compile and are formatted.
#[test]
fn the_tutorials_policies_are_sound() {
    let mut policies = Vec::new();
    let mut inside = false;
    for event in Parser::new(&read(&root().join("docs/src/tutorial.md"))) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => inside = &*language == "ipanema",
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => policies.push(text.into_string()),
            _ => {}
        }
    }
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
    let mut pages: Vec<PathBuf> = pages("docs/src").chain(pages("docs/src/data")).collect();
    pages.extend(["README.md", "CONTRIBUTING.md", "LICENSE.md"].map(|page| root().join(page)));
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

/// docs/src/data/help.md contains the complete help and the built-in items.
#[test]
fn the_help_page_is_what_hearth_prints() {
    let mut page = String::from(
        "# Complete help\n\n*Reference: the help of every command, and the built-in machines, policies and \
         workloads, as `hearth` prints them.*\n\nThis page is generated: `SNAPSHOTS=overwrite cargo test -p hearth-sched docs`. \
         [Commands](../commands.md) has examples.\n",
    );
    add_help(&mut page, &[]);
    for what in ["machines", "policies", "workloads"] {
        add_output(&mut page, &["list", what], &["list", what]);
    }
    hearth_tests::golden("docs/src/data/help.md", &page);
}

/// Adds the help of a command, then that of each of its subcommands.
fn add_help(page: &mut String, command: &[&str]) {
    let help = add_output(page, command, &[command, &["--help"]].concat());
    for name in verbs(&help).filter(|name| *name != "help") {
        add_help(page, &[command, &[name]].concat());
    }
}

/// The verbs that a help lists: in groups, or below "Commands:".
fn verbs(help: &str) -> impl Iterator<Item = &str> {
    let above = help.lines().skip_while(|line| !line.starts_with("Usage:")).skip(1);
    let above = above.take_while(|line| !line.starts_with("Arguments:") && !line.starts_with("Options:"));
    let names = above.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    names.filter_map(|line| line.split_whitespace().next())
}

fn add_output(page: &mut String, title: &[&str], arguments: &[&str]) -> String {
    let mut hearth = Command::new(env!("CARGO_BIN_EXE_hearth"));
    let hearth = hearth.args(arguments).env("COLUMNS", "100").output().expect("hearth");
    assert!(hearth.status.success(), "{arguments:?}");
    let printed = String::from_utf8(hearth.stdout).expect("UTF-8");
    let lines: Vec<_> = printed.trim_end().lines().map(str::trim_end).collect();
    *page += &format!("\n## hearth {}\n\n```text\n{}\n```\n", title.join(" "), lines.join("\n"));
    *page = page.replace("## hearth \n", "## hearth\n");
    printed
}

/// The part of the book that each page is in, by `nav` in docs/mkdocs.yml.
fn contents() -> Vec<(String, PathBuf)> {
    let text = read(&root().join("docs/mkdocs.yml"));
    let (_, nav) = text.split_once("\nnav:\n").expect("nav");
    let mut part = String::new();
    let mut pages = Vec::new();
    for line in nav.lines() {
        if let Some((_, page)) = line.split_once(": ") {
            pages.push((part.clone(), root().join("docs/src").join(page)));
        } else {
            part = line.trim_matches([' ', '-', ':']).to_owned();
        }
    }
    pages
}

#[test]
fn every_page_is_in_the_table_of_contents() {
    let listed: BTreeSet<PathBuf> = contents().into_iter().map(|(_, page)| page).collect();
    let pages: BTreeSet<PathBuf> = pages("docs/src").collect();
    assert_eq!(pages, listed, "the pages (left), and those in docs/mkdocs.yml (right)");
}

#[test]
fn every_page_says_which_kind_of_question_it_answers() {
    for (part, page) in contents() {
        let kind = if part.is_empty() { "Explanation" } else { &part };
        let text = read(&page);
        let first = text.lines().nth(2).unwrap_or_default();
        assert!(first.starts_with(&format!("*{kind}")), "{}: {first}", page.display());
    }
}

#[test]
fn the_book_is_short() {
    let words = |page: &Path| read(page).split_whitespace().count();
    // Evidence and the tables of JSON are looked up, not read.
    let read = |(part, page): &&(String, PathBuf)| part != "Evidence" && !page.ends_with("json.md");
    let sum: usize = contents().iter().filter(read).map(|(_, page)| words(page)).sum();
    assert!(sum < 40_000, "{sum} words without the evidence and the tables of JSON");
}

/// The pages in a folder.
fn pages(folder: &str) -> impl Iterator<Item = PathBuf> {
    let folder = fs::read_dir(root().join(folder)).expect("the book");
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
