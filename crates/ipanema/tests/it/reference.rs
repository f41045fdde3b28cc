//! Checks the language reference: its examples compile, and it names every word, event and keyword.

use hearth_ipanema::syntax::ast::Event;
use hearth_ipanema::syntax::token::KEYWORDS;
use hearth_ipanema::syntax::{Source, format};
use hearth_ipanema::{SourceId, compile, library};

const REFERENCE: &str = include_str!("../../../../docs/src/ipanema.md");
const GRAMMAR: &str = include_str!("../../grammar.ebnf");

/// Name and text of each example, as a complete policy.
fn examples() -> Vec<(String, String)> {
    let mut examples = Vec::new();
    let mut lines = REFERENCE.lines().enumerate();
    while let Some((i, line)) = lines.next() {
        let Some(kind) = line.strip_prefix("```ipanema") else { continue };
        let text: Vec<_> = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").collect();
        let text = text.join("\n") + "\n";
        let text = match kind {
            "" => text,
            "-feature" => text,
            "-fragment" => format!("policy example extends cfs {{\n{text}}}\n"),
            _ => panic!("line {}: unknown kind of example", i + 1),
        };
        examples.push((format!("ipanema.md:{}", i + 1), text));
    }
    assert!(examples.len() >= 12);
    examples
}

#[test]
fn examples_are_formatted() {
    for (name, text) in examples() {
        crate::common::parse_clean(&name, &text);
        let formatted = format(SourceId::default(), &text).unwrap();
        // Fragments are not indented.
        let flush = |text: &str| text.lines().map(str::trim_start).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(flush(&text), flush(&formatted), "{name} is not as `hearth fmt` leaves it:\n{formatted}");
    }
}

#[test]
fn examples_compile() {
    let files: Vec<_> = examples()
        .into_iter()
        .map(|(place, text)| (crate::common::parse_clean(&place, &text), Source { name: place, text }))
        .collect();
    let mine = "policy mine extends example with counted;".to_owned();
    let mine = (crate::common::parse_clean("mine", &mine), Source { name: "mine".into(), text: mine });
    for (policy, source) in files.iter().chain([&mine]).filter(|(policy, _)| policy.slot.is_none()) {
        // `mine` is made of the examples of a slot and of a feature.
        let provider = |wanted: &str| match wanted == policy.name.name {
            true => Some(source.clone()),
            false => {
                let is_it = |(p, s): &&(_, Source)| {
                    let p: &hearth_ipanema::syntax::ast::Policy = p;
                    p.name.name == wanted && (p.slot.is_some() || s.text.contains("slot arrival"))
                };
                files.iter().find(is_it).map(|(_, source)| source.clone())
            }
        };
        if let Err(failed) = compile(&provider, &policy.name.name) {
            panic!("{}:\n{failed}", source.name);
        }
    }
}

#[test]
fn the_library_is_complete() {
    for word in library::WORDS {
        let found = ["`", ".", "`c.", "`t."].iter().any(|before| {
            let named = format!("{before}{}", word.name);
            REFERENCE.split(&named).skip(1).any(|rest| rest.starts_with(['`', '(']))
        });
        assert!(found, "missing: {}", word.name);
    }
}

#[test]
fn the_events_are_complete() {
    for event in Event::ALL {
        let word = library::event_word(event).unwrap_or_else(|| panic!("no text for `{}`", event.name()));
        assert!(REFERENCE.contains(&format!("`{}`", word.usage)), "missing: {}", word.usage);
    }
}

#[test]
fn the_keywords_are_complete() {
    for keyword in KEYWORDS {
        assert!(GRAMMAR.contains(&format!("\"{keyword}\"")), "missing: {keyword}");
    }
}
