//! An editor for the tests: it speaks the protocol with a server, on a socket pair.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

/// An editor with a server.
pub struct Editor {
    pub to: UnixStream,
    pub from: BufReader<UnixStream>,
    pub server: Option<JoinHandle<std::io::Result<bool>>>,
    pub requests: i64,
    /// The last diagnostics of each document.
    pub diagnostics: BTreeMap<String, Value>,
    pub refreshes: usize,
    /// What the server says that it can do.
    pub capabilities: Value,
    pub folder: tempfile::TempDir,
}

/// A cache that is not the user's.
static CACHE: LazyLock<()> = LazyLock::new(|| {
    // SAFETY: the server reads the environment through the standard library, which has a lock.
    unsafe { std::env::set_var("XDG_CACHE_HOME", env!("CARGO_TARGET_TMPDIR")) };
});

impl Editor {
    /// Before `initialize`.
    pub fn connected() -> Editor {
        LazyLock::force(&CACHE);
        let (to, server) = UnixStream::pair().unwrap();
        to.set_read_timeout(Some(Duration::from_secs(120))).unwrap();
        let input = BufReader::new(server.try_clone().unwrap());
        let server = spawn(move || {
            let result = hearth_lsp::serve(input, &server);
            let _ = server.shutdown(std::net::Shutdown::Both);
            result
        });
        Editor {
            from: BufReader::new(to.try_clone().unwrap()),
            to,
            server: Some(server),
            requests: 0,
            diagnostics: BTreeMap::new(),
            refreshes: 0,
            capabilities: Value::Null,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn new() -> Editor {
        let mut editor = Editor::connected();
        let result = editor.ask(
            "initialize",
            json!({
                "processId": null,
                "rootUri": editor.uri(""),
                "capabilities": { "workspace": { "codeLens": { "refreshSupport": true } } },
                "initializationOptions": { "workload": "fork-wait:iterations=5", "machine": "ryzen-3400g" },
            }),
        );
        assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
        editor.capabilities = result["capabilities"].clone();
        editor.notify("initialized", json!({}));
        editor
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn uri(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn send_text(&mut self, content: &str) {
        write!(self.to, "Content-Length: {}\r\n\r\n{content}", content.len()).unwrap();
    }

    pub fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        self.send_text(&message.to_string());
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(json!({ "method": method, "params": params }));
    }

    pub fn receive(&mut self) -> Option<Value> {
        let mut length = 0;
        loop {
            let mut line = String::new();
            if self.from.read_line(&mut line).unwrap() == 0 {
                return None;
            }
            match line.trim_end().split_once(": ") {
                Some((_, value)) => length = value.parse().unwrap(),
                None => break,
            }
        }
        let mut content = vec![0; length];
        self.from.read_exact(&mut content).unwrap();
        let message: Value = serde_json::from_slice(&content).unwrap();
        assert_eq!(message["jsonrpc"], "2.0");
        match message["method"].as_str() {
            Some("textDocument/publishDiagnostics") => {
                let uri = message["params"]["uri"].as_str().unwrap().to_owned();
                self.diagnostics.insert(uri, message["params"].clone());
            }
            Some("workspace/codeLens/refresh") => {
                self.refreshes += 1;
                self.send(json!({ "id": message["id"], "result": null }));
            }
            _ => {}
        }
        Some(message)
    }

    /// The whole answer to a request.
    pub fn answer(&mut self, method: &str, params: Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(json!({ "id": id, "method": method, "params": params }));
        loop {
            let message = self.receive().expect("an answer");
            if message["id"] == id && message["method"].is_null() {
                return message;
            }
        }
    }

    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params);
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    pub fn refused(&mut self, method: &str, params: Value) -> String {
        let answer = self.answer(method, params);
        answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {answer}")).to_owned()
    }

    pub fn open(&mut self, name: &str, text: &str) {
        let document = json!({ "uri": self.uri(name), "languageId": "ipanema", "version": 1, "text": text });
        self.notify("textDocument/didOpen", json!({ "textDocument": document }));
    }

    pub fn change(&mut self, name: &str, version: i32, changes: Value) {
        let document = json!({ "uri": self.uri(name), "version": version });
        self.notify("textDocument/didChange", json!({ "textDocument": document, "contentChanges": changes }));
    }

    /// Replaces the whole text.
    pub fn replace(&mut self, name: &str, version: i32, text: &str) {
        self.change(name, version, json!([{ "text": text }]));
    }

    /// The diagnostics of this version of a document.
    pub fn published(&mut self, name: &str, version: i32) -> Vec<Value> {
        let uri = self.uri(name);
        loop {
            if let Some(found) = self.diagnostics.get(&uri).filter(|found| found["version"] == version) {
                return found["diagnostics"].as_array().unwrap().clone();
            }
            self.receive().expect("diagnostics");
        }
    }

    pub fn at(&self, name: &str, (line, character): (usize, usize)) -> Value {
        json!({
            "textDocument": { "uri": self.uri(name) },
            "position": { "line": line, "character": character },
        })
    }

    pub fn hover(&mut self, name: &str, at: (usize, usize)) -> String {
        let result = self.ask("textDocument/hover", self.at(name, at));
        result["contents"]["value"].as_str().unwrap_or_default().to_owned()
    }

    /// The text of the file at the definition, from its start to the line's end; and the file.
    pub fn definition(&mut self, name: &str, at: (usize, usize)) -> (String, PathBuf) {
        let result = self.ask("textDocument/definition", self.at(name, at));
        let path = PathBuf::from(
            result["uri"].as_str().unwrap_or_else(|| panic!("{result}")).replace("file://", ""),
        );
        let text = fs::read_to_string(&path).unwrap();
        let start = &result["range"]["start"];
        let line = text.lines().nth(start["line"].as_u64().unwrap() as usize).unwrap();
        (line[start["character"].as_u64().unwrap() as usize..].to_owned(), path)
    }

    pub fn rename_params(&self, name: &str, at: (usize, usize), to: &str) -> Value {
        let mut params = self.at(name, at);
        params["newName"] = to.into();
        params
    }

    /// The texts of the documents after a renaming, from texts before it.
    pub fn renamed(
        &mut self,
        name: &str,
        at: (usize, usize),
        to: &str,
        texts: &[(&str, &str)],
    ) -> Vec<String> {
        let result = self.ask("textDocument/rename", self.rename_params(name, at, to));
        let changes = result["changes"].as_object().unwrap();
        assert!(changes.keys().all(|uri| texts.iter().any(|(name, _)| *uri == self.uri(name))), "{result}");
        let apply = |(name, text): &(&str, &str)| match changes.get(&self.uri(name)) {
            Some(edits) => applied(text, edits),
            None => (*text).to_owned(),
        };
        texts.iter().map(apply).collect()
    }

    pub fn lenses(&mut self, name: &str) -> Vec<String> {
        let result = self.ask("textDocument/codeLens", json!({ "textDocument": { "uri": self.uri(name) } }));
        let title = |lens: &Value| lens["command"]["title"].as_str().unwrap().to_owned();
        result.as_array().unwrap().iter().map(title).collect()
    }

    /// Runs the command of a lens, and waits for its result.
    pub fn run(&mut self, command: &str, name: &str) -> Vec<String> {
        let uri = self.uri(name);
        self.ask("workspace/executeCommand", json!({ "command": command, "arguments": [uri] }));
        loop {
            let before = self.refreshes;
            let lenses = self.lenses(name);
            if !lenses.iter().any(|lens| lens.contains('…') || lens.starts_with("proving")) {
                return lenses;
            }
            while self.refreshes == before {
                self.receive().expect("a refresh");
            }
        }
    }

    /// The diagnostics that a job leaves. They come when the client pauses.
    pub fn remarks(&mut self, name: &str) -> Value {
        let uri = self.uri(name);
        while self.diagnostics[&uri]["diagnostics"] == json!([]) {
            self.receive().expect("diagnostics");
        }
        self.diagnostics[&uri]["diagnostics"].clone()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.to.shutdown(std::net::Shutdown::Both);
        if let Some(server) = self.server.take() {
            let result = server.join();
            assert!(std::thread::panicking() || result.is_ok(), "the server panicked");
        }
    }
}

/// Applies edits of lines in ASCII.
pub fn applied(text: &str, edits: &Value) -> String {
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let number = |value: &Value| value.as_u64().unwrap() as usize;
    let mut edits: Vec<&Value> = edits.as_array().unwrap().iter().collect();
    edits.sort_by_key(|edit| {
        (number(&edit["range"]["start"]["line"]), number(&edit["range"]["start"]["character"]))
    });
    for edit in edits.into_iter().rev() {
        let (start, end) = (&edit["range"]["start"], &edit["range"]["end"]);
        let (first, last) = (number(&start["line"]), number(&end["line"]));
        let tail = lines[last][number(&end["character"])..].to_owned();
        let new = lines[first][..number(&start["character"])].to_owned()
            + edit["newText"].as_str().unwrap()
            + &tail;
        lines.splice(first..=last, [new]);
    }
    lines.join("\n")
}

/// Line and column (in UTF-16) of the n-th `word` in a text.
pub fn find(text: &str, word: &str, n: usize) -> (usize, usize) {
    let (offset, _) = text.match_indices(word).nth(n).unwrap_or_else(|| panic!("{word}"));
    let before = &text[..offset];
    let line = before.matches('\n').count();
    (line, before.rsplit('\n').next().unwrap().encode_utf16().count())
}

pub fn codes(diagnostics: &[Value]) -> Vec<&str> {
    diagnostics.iter().map(|d| d["code"].as_str().unwrap_or("-")).collect()
}
