//! The server through its protocol.

use crate::editor::{Editor, applied, codes, find};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::Path;

const MINE: &str = "\
/// Mine.
policy mine extends cfs {
    /// How long.
    param patience : time in 0ms..1s = 4ms;

    thread {
        /// The last core.
        core? last;
    }

    /// True if c is good.
    bool good(core c) {
        return c in idle && now - c.idle_since < patience;
    }

    /// Mine, too.
    on block (thread t) {
        t.last = t.core;
        super;
    }

    core choose_wakeup(thread t, core waker) {
        if (core c = t.last)
            if (good(c)) return c;
        return super.choose_wakeup(t, waker);
    }
}
";

#[test]
fn errors_appear_while_typing() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    assert_eq!(editor.published("mine.ipa", 1), Vec::<Value>::new());

    // The editor deletes `< patience`.
    let (line, column) = find(MINE, " < patience", 0);
    let range = |from: usize, to: usize| json!({ "start": { "line": line, "character": from }, "end": { "line": line, "character": to } });
    editor.change("mine.ipa", 2, json!([{ "range": range(column, column + 11), "text": "" }]));
    let found = editor.published("mine.ipa", 2);
    assert_eq!(codes(&found), ["E0401"], "{found:?}");
    assert_eq!(found[0]["severity"], 1);
    assert_eq!(found[0]["source"], "hearth");
    assert_eq!(found[0]["range"]["start"]["line"], line);
    assert!(found[0]["message"].as_str().unwrap().contains("help: compare it"), "{found:?}");

    // And types it again, with two changes in one message.
    let typed = json!([
        { "range": range(column, column), "text": " <" },
        { "range": range(column + 2, column + 2), "text": " patience" },
    ]);
    editor.change("mine.ipa", 3, typed);
    assert_eq!(editor.published("mine.ipa", 3), Vec::<Value>::new());
}

#[test]
fn warnings_have_their_severity_and_labels_their_places() {
    let mut editor = Editor::new();
    let text = "policy mine extends cfs {\n    param p : int in 0..9 = 1;\n    set s;\n    set s;\n}\n";
    editor.open("mine.ipa", text);
    let found = editor.published("mine.ipa", 1);
    assert_eq!(codes(&found), ["W0601", "E0304"], "{found:?}");
    let related = &found[1]["relatedInformation"][0];
    assert_eq!(related["message"], "first declared here");
    assert_eq!(related["location"]["uri"], editor.uri("mine.ipa"));
    assert_eq!(related["location"]["range"]["start"], json!({ "line": 2, "character": 8 }));

    editor.replace("mine.ipa", 2, &text.replacen("    set s;\n", "", 2));
    let found = editor.published("mine.ipa", 2);
    assert_eq!(codes(&found), ["W0601"], "{found:?}");
    assert_eq!((&found[0]["severity"], &found[0]["tags"]), (&json!(2), &json!([1])));
}

#[test]
fn unsaved_bases_count() {
    let mut editor = Editor::new();
    let child = "policy child extends mine {\n    on tick (thread t) {\n        t.last = none;\n        super;\n    }\n}\n";
    editor.open("child.ipa", child);
    let found = editor.published("child.ipa", 1);
    assert_eq!(codes(&found), ["E0301"], "no such base: {found:?}");

    // It is never saved.
    editor.open("mine.ipa", MINE);
    assert_eq!(editor.published("mine.ipa", 1), Vec::<Value>::new());
    editor.diagnostics.clear();
    editor.replace(
        "mine.ipa",
        2,
        &MINE.replace("core? last;", "core? latest;").replace("t.last", "t.latest"),
    );
    assert_eq!(editor.published("mine.ipa", 2), Vec::<Value>::new());
    let found = editor.published("child.ipa", 1);
    assert_eq!(codes(&found), ["E0308"], "the base has no `last` any more: {found:?}");

    // An error in the base is at its name.
    editor.replace("mine.ipa", 3, &MINE.replace("core? last;", "core? last"));
    editor.published("mine.ipa", 3);
    editor.replace("child.ipa", 2, child);
    let found = editor.published("child.ipa", 2);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 0, "character": 21 }));
    assert!(found[0]["message"].as_str().unwrap().contains("mine.ipa: expected `;`"), "{found:?}");
    assert_eq!(found[0]["relatedInformation"][0]["location"]["uri"], editor.uri("mine.ipa"));

    // Without the unsaved text, there is no base.
    editor.diagnostics.clear();
    let mine = json!({ "textDocument": { "uri": editor.uri("mine.ipa") } });
    editor.notify("textDocument/didClose", mine);
    assert_eq!(codes(&editor.published("child.ipa", 2)), ["E0301"]);
    assert_eq!(editor.diagnostics[&editor.uri("mine.ipa")]["diagnostics"], json!([]));

    // Another program writes it.
    editor.write("mine.ipa", MINE);
    editor.diagnostics.clear();
    let changes = json!({ "changes": [{ "uri": editor.uri("mine.ipa"), "type": 1 }] });
    editor.notify("workspace/didChangeWatchedFiles", changes);
    assert_eq!(editor.published("child.ipa", 2), Vec::<Value>::new());
}

#[test]
fn positions_are_utf16() {
    let mut editor = Editor::new();
    let text = "policy mine extends cfs {\r\n    /* 🔥ä */ set s max nowhere;\r\n}\r\n";
    editor.open("mine.ipa", text);
    let found = editor.published("mine.ipa", 1);
    assert_eq!(codes(&found), ["E0308"], "{found:?}");
    let (line, column) = find(text, "nowhere", 0);
    assert_eq!((line, column), (1, 24));
    let wanted = json!({ "start": { "line": 1, "character": 24 }, "end": { "line": 1, "character": 31 } });
    assert_eq!(found[0]["range"], wanted);
    // Behind the flame, which has two code units.
    let range = json!({ "start": { "line": 1, "character": 9 }, "end": { "line": 1, "character": 10 } });
    editor.change("mine.ipa", 2, json!([{ "range": range, "text": "a" }]));
    assert_eq!(editor.published("mine.ipa", 2)[0]["range"], wanted);
    editor.change("mine.ipa", 3, json!([{ "range": wanted, "text": "9" }]));
    assert_eq!(editor.published("mine.ipa", 3), Vec::<Value>::new());
    assert!(editor.hover("mine.ipa", (1, 18)).contains("set s max 9"));
}

#[test]
fn hover_shows_declarations() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let mut hover = |word: &str, n: usize| editor.hover("mine.ipa", find(MINE, word, n));
    assert_eq!(hover("patience", 1), "```ipanema\nparam patience : time in 0ms..1s = 4ms;\n```\n\nHow long.");
    assert_eq!(hover("good", 1), "```ipanema\nbool good(core c)\n```\n\nTrue if c is good.");
    assert_eq!(hover("last", 2), "```ipanema\nthread { core? last; }\n```\n\nThe last core.");
    assert_eq!(hover("c)) return", 0), "```ipanema\ncore c\n```");
    assert_eq!(hover("waker", 1), "```ipanema\ncore waker\n```");
    let block = hover("block", 0);
    assert!(
        block.starts_with("```ipanema\non block (thread t)\n```\n\nMine, too.\n\nEvent `block`: "),
        "{block}"
    );
    assert!(block.ends_with("Replaces that of `cfs`."), "{block}");
    let base = hover("choose_wakeup", 1);
    assert!(base.contains("core choose_wakeup(thread t, core waker)"), "{base}");
    assert!(base.contains("Declared in `cfs`."), "{base}");
    assert!(hover("super;", 0).contains("on block (thread t)"));
    assert_eq!(hover("now", 0), "```ipanema\nnow : time\n```\n\nTime of this event.");
    assert!(hover("idle_since", 0).contains("c last became idle."));
    assert!(hover("core;", 0).contains("t.core : core"), "a keyword after a dot");
    assert!(hover("cfs", 0).contains("policy cfs"));
    assert_eq!(hover("return", 0), "");
}

#[test]
fn hover_works_beside_errors() {
    let mut editor = Editor::new();
    let broken = MINE.replace("t.last = t.core;", "t.last = ;");
    editor.open("mine.ipa", &broken);
    assert_eq!(codes(&editor.published("mine.ipa", 1)), ["E0201"]);
    assert!(editor.hover("mine.ipa", find(&broken, "patience", 1)).contains("How long."));
    let broken = broken.replace("extends cfs", "extends nobody");
    editor.replace("mine.ipa", 2, &broken);
    assert!(editor.hover("mine.ipa", find(&broken, "good", 1)).contains("True if c is good."));
}

#[test]
fn definitions_are_found_in_this_file_and_in_bases() {
    let mut editor = Editor::new();
    editor.write("mine.ipa", MINE);
    editor.open("mine.ipa", MINE);
    let path = editor.path("mine.ipa");
    let mut definition = |word: &str, n: usize| editor.definition("mine.ipa", find(MINE, word, n));
    assert_eq!(definition("patience", 1), ("patience : time in 0ms..1s = 4ms;".into(), path.clone()));
    assert_eq!(definition("good", 1), ("good(core c) {".into(), path.clone()));
    assert_eq!(definition("last", 3), ("last;".into(), path.clone()));
    assert_eq!(definition("c)) return", 0), ("c = t.last)".into(), path.clone()));
    // The base is built in: the editor gets a copy that cannot be written.
    let (handler, copy) = definition("block", 0);
    assert_eq!(handler, "block (thread t) {");
    assert!(copy.ends_with("hearth/policies/cfs.ipa"), "{copy:?}");
    assert!(fs::metadata(&copy).unwrap().permissions().readonly());
    assert_eq!(definition("super;", 0), (handler, copy.clone()));
    assert!(definition("choose_wakeup", 1).0.starts_with("choose_wakeup(thread t, core waker)"));
    assert_eq!(definition("choose_wakeup", 0).1, copy);
    assert_eq!(definition("cfs", 0).0, "cfs {");
    let word = editor.ask("textDocument/definition", editor.at("mine.ipa", find(MINE, "now", 0)));
    assert_eq!(word, Value::Null);
    // If the workspace has its file, that is it.
    let cfs = include_str!("../../../../policies/cfs.ipa");
    editor.write("policies/cfs.ipa", cfs);
    let place = find(MINE, "block", 0);
    assert_eq!(editor.definition("mine.ipa", place).1, editor.path("policies/cfs.ipa"));
    // Unless it is another text.
    editor.write("policies/cfs.ipa", &format!("// Changed.\n{cfs}"));
    assert_eq!(editor.definition("mine.ipa", place).1, copy);
}

#[test]
fn names_are_renamed_everywhere() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let mut renamed = |word: &str, n: usize, to: &str| {
        editor.renamed("mine.ipa", find(MINE, word, n), to, &[("mine.ipa", MINE)]).remove(0)
    };
    assert_eq!(renamed("patience", 1, "calm"), MINE.replace("patience", "calm"));
    assert_eq!(renamed("good", 1, "fine"), MINE.replace("good(", "fine("));
    assert_eq!(
        renamed("last", 1, "latest"),
        MINE.replace("core? last", "core? latest").replace("t.last", "t.latest")
    );
}

#[test]
fn names_are_found_everywhere() {
    let mut editor = Editor::new();
    let other = "policy other extends mine {\n    bool good(core c) { return patience > 1ms && patience < 2ms; }\n}\n";
    editor.open("mine.ipa", MINE);
    editor.open("other.ipa", other);
    let at = editor.at("mine.ipa", find(MINE, "patience", 1));
    let ranges = |found: &Value, uri: &str| {
        let found = found.as_array().unwrap().iter();
        found
            .filter(|one| one.get("uri").is_none_or(|at| at == uri))
            .map(|one| one["range"].clone())
            .collect::<Vec<_>>()
    };
    let mut with = |mut at: Value, declarations: bool| {
        at["context"] = json!({ "includeDeclaration": declarations });
        editor.ask("textDocument/references", at)
    };
    let (found, uses) = (with(at.clone(), true), with(at.clone(), false));
    assert_eq!(found.as_array().unwrap().len(), uses.as_array().unwrap().len() + 1, "{uses}");
    let (mine, other) = (editor.uri("mine.ipa"), editor.uri("other.ipa"));
    assert_eq!(ranges(&found, &other).len(), 2, "{found}");
    assert_eq!(ranges(&found, &mine).len(), MINE.matches("patience").count(), "{found}");
    let highlighted = editor.ask("textDocument/documentHighlight", at);
    assert_eq!(ranges(&highlighted, &mine), ranges(&found, &mine));
    let word = editor.at("mine.ipa", find(MINE, "policy", 0));
    assert_eq!(editor.ask("textDocument/documentHighlight", word), json!([]));
}

#[test]
fn names_have_the_colour_of_what_they_are() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let capabilities = &editor.capabilities["semanticTokensProvider"]["legend"];
    let [types, modifiers] = ["tokenTypes", "tokenModifiers"].map(|key| capabilities[key].clone());
    let document = json!({ "textDocument": { "uri": editor.uri("mine.ipa") } });
    let found = editor.ask("textDocument/semanticTokens/full", document);
    let numbers: Vec<usize> =
        found["data"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
    let lines: Vec<&str> = MINE.lines().collect();
    let (mut line, mut start) = (0, 0);
    let mut shown = Vec::new();
    for token in numbers.chunks(5) {
        start = if token[0] == 0 { start + token[1] } else { token[1] };
        line += token[0];
        let name = &lines[line][start..start + token[2]];
        let set = (0..3).filter(|bit| token[4] >> bit & 1 == 1);
        let set: Vec<&str> = set.map(|bit: usize| modifiers[bit].as_str().unwrap()).collect();
        shown.push(format!("{name} {} {}", types[token[3]].as_str().unwrap(), set.join(" ")));
    }
    let has = |one: &str| shown.iter().filter(|shown| shown.trim() == one).count();
    assert_eq!(has("mine class declaration"), 1, "{shown:#?}");
    assert_eq!(has("cfs class"), 1, "{shown:#?}");
    assert_eq!(has("patience parameter declaration readonly"), 1, "{shown:#?}");
    assert_eq!(has("patience parameter readonly"), MINE.matches("patience").count() - 1, "{shown:#?}");
    assert_eq!(has("good function declaration"), 1, "{shown:#?}");
    assert_eq!(has("last property declaration"), 1, "{shown:#?}");
    assert_eq!(has("block event declaration"), 1, "{shown:#?}");
    assert_eq!(has("now variable readonly defaultLibrary"), MINE.matches("now").count(), "{shown:#?}");
    assert!(shown.iter().all(|shown| !shown.starts_with("param ")), "{shown:#?}");
}

#[test]
fn locals_are_renamed_in_their_scope() {
    let mut editor = Editor::new();
    let text = "\
policy mine extends cfs {
    core choose_wakeup(thread t, core waker) {
        int n = 1;
        for (core c in idle from (waker))
            if (n < 2) return c;
        for (core c in online) n += c.nr_ready;
        return first(core c in llc(waker) where c.nr_ready < n) else waker;
    }
}
";
    editor.open("mine.ipa", text);
    assert_eq!(editor.published("mine.ipa", 1), Vec::<Value>::new());
    let mut renamed = |word: &str, n: usize, to: &str| {
        editor.renamed("mine.ipa", find(text, word, n), to, &[("mine.ipa", text)]).remove(0)
    };
    assert_eq!(renamed("waker", 3, "from_"), text.replace("waker", "from_"));
    let second = "(core d in online) n += d.nr_ready";
    assert_eq!(renamed("c.nr_ready", 0, "d"), text.replace("(core c in online) n += c.nr_ready", second));
    let search = "first(core d in llc(waker) where d.nr_ready";
    assert_eq!(
        renamed("c.nr_ready <", 0, "d"),
        text.replace("first(core c in llc(waker) where c.nr_ready", search)
    );
    assert_eq!(renamed("n = 1", 0, "m"), {
        let text = text.replace("int n ", "int m ").replace("(n < 2)", "(m < 2)");
        text.replace(" n += ", " m += ").replace("< n)", "< m)")
    });
}

#[test]
fn names_are_renamed_in_other_files() {
    let mut editor = Editor::new();
    let child = "\
policy child extends mine {
    bool good(core c) {
        return super.good(c) && patience > 1ms;
    }
}
";
    editor.write("child.ipa", child);
    editor.open("mine.ipa", MINE);
    let texts = [("mine.ipa", MINE), ("child.ipa", child)];
    let renamed = editor.renamed("mine.ipa", find(MINE, "patience", 0), "calm", &texts);
    assert_eq!(renamed, [MINE.replace("patience", "calm"), child.replace("patience", "calm")]);
    let both = [MINE.replace("good(", "fine("), child.replace("good(", "fine(")];
    assert_eq!(editor.renamed("mine.ipa", find(MINE, "good", 2), "fine", &texts), both);
    editor.open("child.ipa", child);
    assert_eq!(editor.renamed("child.ipa", find(child, "good", 1), "fine", &texts), both);

    // A file whose uses are not known.
    editor.replace("child.ipa", 2, &child.replace("return", "retur"));
    let params = editor.rename_params("mine.ipa", find(MINE, "good", 1), "fine");
    let refused = editor.refused("textDocument/rename", params);
    assert!(refused.contains("child.ipa has errors"), "{refused}");
}

#[test]
fn renaming_is_refused_with_a_reason() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let mut refused = |word: &str, n: usize, to: &str| {
        let params = editor.rename_params("mine.ipa", find(MINE, word, n), to);
        editor.refused("textDocument/rename", params)
    };
    assert!(refused("choose_wakeup", 0, "x").contains("built-in policy `cfs`"));
    assert!(refused("choose_wakeup", 1, "x").contains("built-in policy `cfs`"));
    assert!(refused("block", 0, "x").contains("`block` is an event"));
    assert!(refused("now", 0, "x").contains("`now` is a word of the language"));
    assert!(refused("mine", 0, "x").contains("the name of its file"));
    assert!(refused("patience", 0, "two words").contains("not a name"));
    assert!(refused("patience", 0, "").contains("not a name"));
    assert!(refused("patience", 0, "tické").contains("not a name"));
    assert!(refused("patience", 0, "queue").contains("keyword"));
    assert!(refused("patience", 0, "good").contains("does not fit"), "taken in this file");
    assert!(refused("patience", 0, "latency").contains("`latency`"), "taken in the base");
    assert!(refused("patience", 0, "now").contains("does not fit"), "taken by the library");
    assert!(refused("return", 0, "x").contains("no name here"));
    // The local variable `c` would hide the parameter.
    assert!(refused("patience", 0, "c").contains("`c`"));
    let answer = editor.answer("textDocument/prepareRename", editor.at("mine.ipa", find(MINE, "block", 0)));
    assert!(answer["error"]["message"].as_str().unwrap().contains("event"), "{answer}");
    let range = editor.ask("textDocument/prepareRename", editor.at("mine.ipa", find(MINE, "patience", 1)));
    assert_eq!(
        range["end"]["character"].as_u64().unwrap() - range["start"]["character"].as_u64().unwrap(),
        8
    );
}

#[test]
fn documents_are_formatted() {
    let mut editor = Editor::new();
    let untidy = MINE.replace("        super;", "      super ;").replace("return c in", "return  c in");
    editor.open("mine.ipa", &untidy);
    let params = json!({ "textDocument": { "uri": editor.uri("mine.ipa") }, "options": { "tabSize": 4, "insertSpaces": true } });
    let edits = editor.ask("textDocument/formatting", params.clone());
    assert_eq!(applied(&untidy, &edits), MINE);
    let first = edits[0]["range"]["start"]["line"].as_u64().unwrap();
    assert_eq!(first, find(MINE, "return c in", 0).0 as u64, "the lines before stay");
    editor.replace("mine.ipa", 2, MINE);
    assert_eq!(editor.ask("textDocument/formatting", params.clone()), json!([]));
    editor.replace("mine.ipa", 3, &MINE.replace("super;", "super"));
    assert_eq!(editor.ask("textDocument/formatting", params.clone()), Value::Null, "a syntax error");
    editor.replace("mine.ipa", 4, "policy a extends cfs{}\n\n\n\n");
    let edits = editor.ask("textDocument/formatting", params);
    assert_eq!(applied("policy a extends cfs{}\n\n\n\n", &edits), "policy a extends cfs {\n}\n");
}

#[test]
fn the_outline_has_all_items() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let params = json!({ "textDocument": { "uri": editor.uri("mine.ipa") } });
    let symbols = editor.ask("textDocument/documentSymbol", params.clone());
    assert_eq!(symbols[0]["name"], "mine");
    let names = |symbols: &Value| -> Vec<String> {
        let children = symbols[0]["children"].as_array().unwrap();
        children.iter().map(|symbol| symbol["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&symbols), ["patience", "last", "good", "on block", "choose_wakeup"]);
    editor.replace("mine.ipa", 2, &MINE.replace("param patience", "param"));
    let symbols = editor.ask("textDocument/documentSymbol", params);
    assert_eq!(names(&symbols), ["last", "good", "on block", "choose_wakeup"], "beside an error");
}

#[test]
fn completion_knows_the_context() {
    let mut editor = Editor::new();
    let text = MINE.replace("t.last = t.core;", "t.");
    editor.open("mine.ipa", &text);
    let labels = |editor: &mut Editor, at: (usize, usize)| -> Vec<String> {
        let items = editor.ask("textDocument/completion", editor.at("mine.ipa", at));
        items.as_array().unwrap().iter().map(|item| item["label"].as_str().unwrap().to_owned()).collect()
    };
    let (line, column) = find(&text, "t.\n", 0);
    let members = labels(&mut editor, (line, column + 2));
    for wanted in ["last", "vruntime", "core", "affinity"] {
        assert!(members.iter().any(|label| label == wanted), "{wanted}: {members:?}");
    }
    assert!(!members.iter().any(|label| label == "nr_ready" || label == "if"), "{members:?}");
    let (line, column) = find(&text, "return c in", 0);
    let names = labels(&mut editor, (line, column + 7));
    for wanted in ["c", "patience", "good", "choose_wakeup", "idle", "now", "if", "return"] {
        assert!(names.iter().any(|label| label == wanted), "{wanted}: {names:?}");
    }
    assert!(!names.iter().any(|label| label == "waker"), "of another function: {names:?}");
    let (line, column) = find(&text, "block", 0);
    let events = labels(&mut editor, (line, column));
    assert!(events.contains(&"tick (thread t)".to_owned()), "{events:?}");
    let (line, column) = find(&text, "cfs", 0);
    assert!(labels(&mut editor, (line, column + 1)).contains(&"nest".to_owned()));
}

#[test]
fn a_lens_simulates() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    assert_eq!(editor.lenses("mine.ipa"), ["simulate this", "prove this"]);
    let lenses = editor.run("hearth.simulate", "mine.ipa");
    let title = &lenses[0];
    assert!(title.starts_with("simulate this: fork-wait:iterations=5 on ryzen-3400g: "), "{title}");
    assert!(title.ends_with("er than cfs") || title.ends_with("as fast as cfs"), "{title}");
    let found = editor.remarks("mine.ipa");
    assert_eq!(found[0]["severity"], 3, "{found}");
    assert_eq!(found[0]["range"]["start"], json!({ "line": 1, "character": 7 }));

    // A change makes the result stale.
    editor.replace("mine.ipa", 2, &MINE.replace("4ms", "5ms"));
    assert_eq!(editor.published("mine.ipa", 2), Vec::<Value>::new());
    assert!(editor.lenses("mine.ipa")[0].ends_with("(before the last change)"));

    // What has errors is not simulated.
    editor.replace("mine.ipa", 3, &MINE.replace("super;", ""));
    let command = json!({ "command": "hearth.simulate", "arguments": [editor.uri("mine.ipa")] });
    assert!(editor.refused("workspace/executeCommand", command).contains("has errors"));
}

#[test]
fn a_change_stops_a_job() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    let uri = editor.uri("mine.ipa");
    editor.ask("workspace/executeCommand", json!({ "command": "hearth.simulate", "arguments": [uri] }));
    assert_eq!(editor.lenses("mine.ipa")[0], "simulating…");
    editor.replace("mine.ipa", 2, MINE);
    assert_eq!(editor.lenses("mine.ipa")[0], "simulate this");
    // A later job of the same document is another one.
    let lenses = editor.run("hearth.simulate", "mine.ipa");
    assert!(lenses[0].starts_with("simulate this: "), "{lenses:?}");
}

#[test]
fn a_lens_proves_or_says_what_is_missing() {
    let mut editor = Editor::new();
    editor.open("mine.ipa", "policy mine extends ule {\n}\n");
    let has_provers = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    // A whole proof takes minutes: the step `proofs` has them.
    if has_provers("why3") && has_provers("z3") {
        let uri = editor.uri("mine.ipa");
        editor.ask("workspace/executeCommand", json!({ "command": "hearth.prove", "arguments": [uri] }));
        assert!(editor.lenses("mine.ipa")[1].starts_with("proving"));
        return;
    }
    let lenses = editor.run("hearth.prove", "mine.ipa");
    assert!(lenses[1].starts_with("prove this: cannot prove: "), "{lenses:?}");
    let found = editor.remarks("mine.ipa");
    assert!(found[0]["message"].as_str().unwrap().contains("install"), "{found}");
}

#[test]
fn features_have_syntax_errors_and_an_outline_only() {
    let mut editor = Editor::new();
    let fifo = include_str!("../../../../policies/features/fifo.ipa");
    editor.open("fifo.ipa", fifo);
    assert_eq!(editor.published("fifo.ipa", 1), Vec::<Value>::new());
    assert_eq!(editor.lenses("fifo.ipa"), Vec::<String>::new());
    editor.replace("fifo.ipa", 2, &fifo.replace(';', ""));
    assert!(codes(&editor.published("fifo.ipa", 2)).iter().all(|code| code.starts_with("E02")));
}

#[test]
fn documents_without_a_file_have_built_in_bases() {
    let mut editor = Editor::new();
    let document =
        json!({ "uri": "untitled:Untitled-1", "languageId": "ipanema", "version": 1, "text": MINE });
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let symbols = json!({ "textDocument": { "uri": "untitled:Untitled-1" } });
    assert_eq!(editor.ask("textDocument/documentSymbol", symbols)[0]["name"], "mine");
    while !editor.diagnostics.contains_key("untitled:Untitled-1") {
        editor.receive();
    }
    assert_eq!(editor.diagnostics["untitled:Untitled-1"]["diagnostics"], json!([]));
}

#[test]
fn bad_requests_are_answered() {
    let mut editor = Editor::connected();
    assert_eq!(editor.answer("textDocument/hover", json!({}))["error"]["code"], -32002);
    assert_eq!(editor.answer("initialize", json!({ "capabilities": 1 }))["error"]["code"], -32602);
    drop(editor);

    let mut editor = Editor::new();
    editor.open("mine.ipa", MINE);
    assert_eq!(editor.answer("textDocument/unknown", json!({}))["error"]["code"], -32601);
    for params in [Value::Null, json!([]), json!({ "textDocument": 1 }), editor.at("other.ipa", (0, 0))] {
        for method in
            ["hover", "definition", "rename", "completion", "codeLens", "formatting", "prepareRename"]
        {
            let answer = editor.answer(&format!("textDocument/{method}"), params.clone());
            assert!(answer["error"]["code"].is_i64(), "{method} {params}: {answer}");
        }
    }
    for arguments in [json!([]), json!([1]), json!(["x", "y"]), json!(["file:///nowhere"])] {
        let command = json!({ "command": "hearth.prove", "arguments": arguments });
        assert!(editor.answer("workspace/executeCommand", command)["error"]["code"].is_i64());
    }
    editor.refused("workspace/executeCommand", json!({ "command": "hearth.unknown" }));
    // Notifications have no answer, so they have no effect.
    for method in ["didOpen", "didChange", "didClose", "didSave"] {
        editor.notify(&format!("textDocument/{method}"), json!({ "textDocument": [] }));
    }
    editor.change("closed.ipa", 1, json!([{ "text": "policy" }]));
    editor.notify("$/cancelRequest", json!({ "id": 1 }));
    // Positions far outside, and in the wrong order.
    let far = json!({ "line": 4_000_000_000_u32, "character": 4_000_000_000_u32 });
    let range = json!({ "start": far, "end": { "line": 0, "character": 0 } });
    editor.change("mine.ipa", 2, json!([{ "range": range, "text": "// end" }]));
    assert_eq!(editor.published("mine.ipa", 2), Vec::<Value>::new());
    let at = json!({ "textDocument": { "uri": editor.uri("mine.ipa") }, "position": far });
    assert_eq!(editor.ask("textDocument/hover", at), Value::Null);
    // Messages that are none.
    for text in ["{", "[]", "null", "\"x\"", "{\"id\":1}", "\u{1F525}"] {
        editor.send_text(text);
    }
    assert!(editor.hover("mine.ipa", find(MINE, "good", 1)).contains("good"), "the server still answers");
}

#[test]
fn it_ends_as_the_client_wants() {
    let ends = |messages: &[&str]| {
        let mut editor = Editor::new();
        for message in messages {
            match *message {
                "exit" => editor.notify("exit", Value::Null),
                text if text.starts_with("Content") => write!(editor.to, "{text}").unwrap(),
                method => drop(editor.ask(method, Value::Null)),
            }
        }
        editor.to.shutdown(std::net::Shutdown::Write).unwrap();
        while editor.receive().is_some() {}
        editor.server.take().unwrap().join().unwrap()
    };
    assert!(ends(&["shutdown", "exit"]).unwrap());
    assert!(!ends(&["exit"]).unwrap());
    assert!(!ends(&[]).unwrap());
    assert!(ends(&["Content-Length: none\r\n\r\n"]).is_err());
    assert!(ends(&["Content-Length: 9999999999999999\r\n\r\n"]).is_err());
    let mut editor = Editor::new();
    editor.ask("shutdown", Value::Null);
    assert_eq!(editor.answer("textDocument/hover", Value::Null)["error"]["code"], -32600);
}

#[test]
fn every_policy_of_the_repository_is_analysed() {
    let mut editor = Editor::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../policies");
    for folder in [folder.clone(), folder.join("features")] {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|e| e == "ipa") {
                let name = path.file_name().unwrap().to_str().unwrap().to_owned();
                let text = fs::read_to_string(&path).unwrap();
                editor.write(&name, &text);
                editor.open(&name, &text);
                let errors = editor.published(&name, 1);
                // They have slots without features.
                assert!(
                    errors.is_empty() || ["family.ipa", "warm.ipa"].contains(&&*name),
                    "{name}: {errors:?}"
                );
                for word in ["thread t", "core c", "on block", "set "] {
                    if let Some(at) = text.find(word) {
                        editor.hover(&name, find(&text[..at + word.len()], word, 0));
                    }
                }
            }
        }
    }
}
