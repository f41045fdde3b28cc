//! Every colour of the pages and the plots comes from `crates/base/colours.json`.

use regex_lite::Regex;
use std::fs;
use std::path::{Path, PathBuf};

/// The users of the table, relative to the workspace.
const USERS: [&str; 6] = [
    "web/src",
    "crates/view/src/server",
    "crates/view/src/playground",
    "crates/base/src/svg.rs",
    "crates/report/src",
    "crates/host/src/plot.rs",
];

/// Matches colours that are written out: `#rrggbb`, `rgb(1, 2, 3)`, `[10, 20, 30]`, and
/// names.
fn literal() -> Regex {
    let forms = [
        r"#(?:[0-9a-fA-F]{3,4}|[0-9a-fA-F]{6}|[0-9a-fA-F]{8})\b",
        r"\b(?:rgb|hsl|oklch|lab)a?\(\s*\d",
        r"\bRgb\(\s*\d",
        r"\[\s*\d{1,3}\s*,\s*\d{2,3}\s*,\s*\d{1,3}\s*\]",
        r"&?\b(?:WHITE|BLACK|RED|GREEN|BLUE|YELLOW|CYAN|MAGENTA)\b",
        r"(?:color|background|border|fill|stroke|outline)[\w-]*:[^;{}]*\b(?:white|black|red|green|blue|orange|gr[ae]y|silver)\b",
    ];
    Regex::new(&forms.join("|")).expect("a regular expression")
}

fn files(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_dir() {
        fs::read_dir(path).unwrap().for_each(|entry| files(&entry.unwrap().path(), found));
    } else {
        found.push(path.into());
    }
}

/// Code before the unit tests, without attributes.
fn code(text: &str) -> String {
    let code = text.split("#[cfg(test)]").next().unwrap_or_default();
    code.lines().filter(|line| !line.trim_start().starts_with("#[")).collect::<Vec<_>>().join("\n")
}

#[test]
fn no_user_of_the_table_has_a_colour_of_its_own() {
    let root = hearth_tests::root();
    let mut all = Vec::new();
    USERS.iter().for_each(|user| files(&root.join(user), &mut all));
    assert!(all.len() > 50, "{} files", all.len());
    let literal = literal();
    for file in all {
        let text = code(&fs::read_to_string(&file).unwrap());
        let found: Vec<&str> = literal.find_iter(&text).map(|found| found.as_str()).collect();
        assert!(found.is_empty(), "{}: {found:?}: move it to colours.json", file.display());
    }
}

#[test]
fn colours_are_found() {
    for colour in [
        "--paper: #fff;",
        "\"#d55e00\"",
        "rgba(8,9,11,.45)",
        "rgb(0 0 0 / .18)",
        "const OVERLOAD: Rgb = [224, 30, 44];",
        "area.fill(&WHITE)",
        "border: 1px solid red;",
    ] {
        assert!(literal().is_match(colour), "{colour}");
    }
    for other in [
        "#found li",
        "#[derive(Debug)]",
        "byId(\"#bar\")",
        "[1, 2]",
        "rgb(table.unknown)",
        "white-space: nowrap",
    ] {
        assert!(!literal().is_match(&code(other)), "{other}");
    }
}
