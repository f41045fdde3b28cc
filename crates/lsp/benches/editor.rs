//! Time from a keystroke to the diagnostics, through the protocol, in the largest policies.

use criterion::{Criterion, criterion_group, criterion_main};
use hearth_ipanema::builtin::source;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;

struct Editor {
    to: UnixStream,
    from: BufReader<UnixStream>,
    uri: String,
    version: i32,
    /// Where the user types, in front of a declaration.
    line: usize,
}

impl Editor {
    fn open(name: &str) -> Editor {
        let text = source(name).expect("a built-in policy");
        let (to, server) = UnixStream::pair().expect("a socket pair");
        let input = BufReader::new(server.try_clone().expect("a socket"));
        std::thread::spawn(move || hearth_lsp::serve(input, &server));
        let from = BufReader::new(to.try_clone().expect("a socket"));
        let line = text.lines().position(|line| line.starts_with("    on ")).expect("a handler");
        let mut editor = Editor { to, from, uri: format!("file:///nowhere/{name}.ipa"), version: 1, line };
        editor.send(json!({ "id": 1, "method": "initialize", "params": { "capabilities": {} } }));
        let document = json!({ "uri": editor.uri, "languageId": "ipanema", "version": 1, "text": text });
        editor.send(json!({ "method": "textDocument/didOpen", "params": { "textDocument": document } }));
        editor.diagnostics();
        editor
    }

    fn send(&mut self, message: Value) {
        let content = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{content}", content.len()).expect("the server reads");
    }

    /// Waits for the diagnostics of this version.
    fn diagnostics(&mut self) {
        loop {
            let mut header = String::new();
            self.from.read_line(&mut header).expect("the server answers");
            let length = header.trim_end().rsplit(' ').next().and_then(|length| length.parse::<usize>().ok());
            let mut content = vec![0; length.expect("a length") + 2];
            self.from.read_exact(&mut content).expect("a whole message");
            let message: Value = serde_json::from_slice(&content[2..]).expect("JSON");
            if message["params"]["version"] == self.version {
                return;
            }
        }
    }

    fn change(&mut self, length: u32, text: &str) {
        self.version += 1;
        let start = json!({ "line": self.line, "character": 0 });
        let end = json!({ "line": self.line, "character": length });
        let change = json!({ "range": { "start": start, "end": end }, "text": text });
        let document = json!({ "uri": self.uri, "version": self.version });
        let params = json!({ "textDocument": document, "contentChanges": [change] });
        self.send(json!({ "method": "textDocument/didChange", "params": params }));
        self.diagnostics();
    }

    /// Types a space, and removes it.
    fn two_keystrokes(&mut self) {
        self.change(0, " ");
        self.change(1, "");
    }

    /// Types an `x`, which is a syntax error, and removes it.
    fn two_with_an_error(&mut self) {
        self.change(0, "x");
        self.change(1, "");
    }
}

fn bench(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("editor");
    for name in ["nest", "eevdf"] {
        let mut editor = Editor::open(name);
        group.bench_function(format!("{name}, two keystrokes"), |b| b.iter(|| editor.two_keystrokes()));
        group.bench_function(format!("{name}, two with an error"), |b| b.iter(|| editor.two_with_an_error()));
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
