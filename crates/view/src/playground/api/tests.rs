//! The server over a connection, as its page and as somebody worse would ask it.

use super::*;
use crate::server::Server;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::thread::{sleep, spawn};
use std::time::Instant;
use tempfile::TempDir;

const TOKEN: &str = "0123456789abcdef";

const GOOD: &str = "\
policy patient extends cfs {
    param linger : time in 0ms..100ms = 4ms;
    on block (thread t) {
        if (linger > 0ns) keep_warm(t.core, linger);
        super;
    }
}
";

/// Its timer fires every nanosecond: where threads wait, a simulation takes too long.
const LOOPS: &str = "\
policy loops extends cfs {
    on unblock (thread t, core waker) { arm(t, 1ns); super; }
    on timer (thread t) { arm(t, 1ns); }
}
";

struct Served {
    port: u16,
    app: Arc<Playground>,
    folder: TempDir,
    path: PathBuf,
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("JSON: {}", self.text()))
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Served {
    /// Serves a file with this text.
    fn file(text: &str) -> Served {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("mine.ipa");
        fs::write(&path, text).expect("a file");
        let document = Document::open(&path).expect("a document");
        Served::of(document, folder, path)
    }

    fn of(document: Document, folder: TempDir, path: PathBuf) -> Served {
        let limit = Duration::from_secs(60);
        let playground = Playground { limit, ..Playground::new(document, Vec::new(), Start::default()) };
        let app = Arc::new(playground);
        let server =
            Server::of_pages(Playground::shared(Arc::clone(&app)), 0).expect("a port").with_token(TOKEN);
        let address = server.address();
        let port =
            address.split(':').nth(2).and_then(|rest| rest.split('/').next()?.parse().ok()).expect("a port");
        spawn(move || server.run());
        Served { port, app, folder, path }
    }

    fn send(&self, head: &str, body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).expect("a connection");
        let length = body.len();
        // The server may refuse before it has read everything.
        let _ = write!(stream, "{head}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        let _ = stream.write_all(body);
        stream
    }

    fn ask(&self, head: &str, body: &[u8]) -> Answer {
        receive(self.send(head, body))
    }

    fn own(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The head of a request to the API as the page sends it, with other headers than these.
    fn head(&self, method: &str, path: &str, others: &str) -> String {
        format!("{method} /{TOKEN}/{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{others}", self.port)
    }

    fn post_head(&self, path: &str) -> String {
        let others = format!(
            "Origin: {}\r\nContent-Type: application/json\r\nSec-Fetch-Site: same-origin\r\n",
            self.own()
        );
        self.head("POST", path, &others)
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask(&self.post_head(path), body.to_string().as_bytes())
    }

    fn get(&self, path: &str) -> Answer {
        self.ask(&self.head("GET", path, ""), b"")
    }
}

fn receive(mut stream: TcpStream) -> Answer {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..split]).to_lowercase();
    Answer { status: head[9..12].parse().expect("a status"), head, body: bytes[split + 4..].to_vec() }
}

fn request(text: &str) -> Value {
    json!({ "page": "p", "text": text, "machine": "ryzen-3400g", "workload": "fork-wait:iterations=20",
            "governor": "schedutil", "baseline": "eevdf", "seed": 3, "params": {} })
}

fn with(mut value: Value, key: &str, other: impl Into<Value>) -> Value {
    value[key] = other.into();
    value
}

#[test]
fn the_page_is_described() {
    let served = Served::file(GOOD);
    let answer = served.get("api/playground");
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    assert_eq!((&found["text"], &found["name"]), (&json!(GOOD), &json!("mine.ipa")));
    assert!(found["keywords"].as_array().is_some_and(|words| words.contains(&json!("extends"))));
    assert!(
        found["library"].as_array().is_some_and(|words| words.iter().any(|word| word["name"] == "claim"))
    );
    assert_eq!(found["baselines"][0], OPENED);
    for (path, part) in
        [("", "playground.js"), ("playground.js", "CodeMirror"), ("playground.css", "cm-editor")]
    {
        let page = served.get(path);
        assert!(page.status == 200 && page.text().contains(part), "{path}");
    }
}

#[test]
fn errors_of_the_compiler_are_shown_and_not_simulated() {
    let served = Served::file(GOOD);
    let broken = GOOD.replace("4ms;", "400ms;");
    let found = served.post("api/check", &json!({ "text": broken })).json();
    assert_eq!(found["policy"], Value::Null);
    let error = &found["diagnostics"][0];
    assert_eq!(
        (&error["line"], &error["column"], &error["severity"]),
        (&json!(2), &json!(41), &json!("error"))
    );
    for path in ["api/simulate", "api/verdict", "api/prove"] {
        let answer = served.post(path, &request(&broken));
        assert_eq!(answer.status, 422, "{path}");
        assert!(
            answer.json()["error"].as_str().is_some_and(|error| error.contains("linger")),
            "{}",
            answer.text()
        );
    }
}

#[test]
fn a_sound_policy_has_numbers_and_a_picture() {
    let served = Served::file(GOOD);
    let answer = served.post("api/simulate", &request(GOOD));
    assert_eq!(answer.status, 200, "{}", answer.text());
    let found = answer.json();
    assert_eq!(
        (&found["rows"][0]["policy"], &found["rows"][1]["policy"]),
        (&json!("patient"), &json!("eevdf"))
    );
    assert!(found["rows"][0]["time_s"].as_f64().is_some_and(|time| time > 0.0));
    assert!(found["rows"][0]["placements"].as_object().is_some_and(|counts| !counts.is_empty()));
    let run = found["run"].as_str().expect("a run");
    let traces = served.get(&format!("runs/{run}/api/traces")).json();
    assert_eq!((&traces[0]["name"], &traces[1]["name"]), (&json!("patient"), &json!("baseline: eevdf")));
    let tile = served.get(&format!("runs/{run}/api/traces/1/tiles/0/0?fields=busy"));
    assert!(tile.status == 200 && tile.body.len() == 8 * 256, "{}", tile.head);
    let page = served.get(&format!("runs/{run}/"));
    assert!(
        page.status == 200
            && page.text().contains("view.js")
            && page.head.contains("x-frame-options: sameorigin")
    );
    assert_eq!(served.get("runs/none/api/traces").status, 404);
}

#[test]
fn the_same_question_has_the_same_bytes() {
    let answers = [0, 1].map(|_| Served::file(GOOD).post("api/simulate", &request(GOOD)).text());
    assert_eq!(answers[0], answers[1]);
    let served = Served::file(GOOD);
    let others = [
        with(request(GOOD), "seed", 4),
        with(request(GOOD), "machine", "ryzen-4650g"),
        with(request(GOOD), "governor", "performance"),
        with(request(GOOD), "workload", "fork-wait:iterations=21"),
        with(request(GOOD), "params", json!({ "linger": 0 })),
        with(request(GOOD), "text", GOOD.replace("= 4ms", "= 5ms")),
    ];
    let run = |answer: &Answer| answer.json()["run"].as_str().map(str::to_owned);
    let first = run(&served.post("api/simulate", &request(GOOD)));
    for other in others {
        let answer = served.post("api/simulate", &other);
        assert!(run(&answer).is_some() && run(&answer) != first, "{other}: {}", answer.text());
    }
}

#[test]
fn the_unchanged_file_is_a_baseline() {
    let served = Served::file(GOOD);
    let same = served.post("api/simulate", &with(request(GOOD), "baseline", OPENED)).json();
    assert_eq!(same["rows"][0]["trace_hash"], same["rows"][1]["trace_hash"]);
    let changed = GOOD.replace("= 4ms", "= 0ms");
    let other = served.post("api/simulate", &with(request(&changed), "baseline", OPENED)).json();
    assert_ne!(other["rows"][0]["trace_hash"], other["rows"][1]["trace_hash"]);
    assert_eq!(other["rows"][1]["trace_hash"], same["rows"][1]["trace_hash"]);
}

#[test]
fn a_newer_request_of_the_page_stops_the_older() {
    let served = Served::file(GOOD);
    let calm = Arc::strong_count(&served.app);
    let slow = with(request(LOOPS), "workload", "hackbench").to_string();
    let older = served.send(&served.post_head("api/simulate"), slow.as_bytes());
    // Another page's run goes on.
    let other = with(with(request(LOOPS), "page", "q"), "workload", "hackbench").to_string();
    let other = served.send(&served.post_head("api/simulate"), other.as_bytes());
    sleep(Duration::from_millis(500));
    assert_eq!(served.app.jobs.count(), 2);
    let newer = served.post("api/simulate", &request(GOOD));
    assert_eq!(newer.status, 200, "{}", newer.text());
    let older = receive(older);
    assert_eq!((older.status, older.json()["help"].as_str()), (409, Some("nothing to do")));
    assert_eq!(served.app.jobs.count(), 1, "the other page's");
    drop(other);
    let end = Instant::now() + Duration::from_secs(20);
    while served.app.jobs.count() > 0 || Arc::strong_count(&served.app) > calm {
        assert!(Instant::now() < end, "a closed connection stops its run");
        sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_policy_that_goes_round_in_circles_is_stopped() {
    let served = Served::file(LOOPS);
    let mut app =
        Playground::new(Document::open(&served.path).expect("a document"), Vec::new(), Start::default());
    app.limit = Duration::from_millis(300);
    let (document, named) = (app.document().clone(), Inputs::default());
    let request: SimulateRequest =
        serde_json::from_value(with(request(LOOPS), "workload", "hackbench")).expect("a setting");
    let plan = Plan::new(&document, &named, request).unwrap_or_else(|refusal| panic!("{refusal:?}"));
    let refused =
        plan.run("x".into(), &[], app.limit, &Arc::default()).err().map(|refusal| format!("{refusal:?}"));
    assert!(refused.as_ref().is_some_and(|why| why.contains("took more than 300ms")), "{refused:?}");
}

#[test]
fn only_this_page_may_ask_for_something() {
    let served = Served::file(GOOD);
    let save = json!({ "text": "stolen", "digest": document::digest(GOOD) }).to_string();
    let json_type = "Content-Type: application/json\r\n";
    let own = format!("Origin: {}\r\n", served.own());
    let refused = [
        (403, json_type.to_owned()),
        (403, format!("{json_type}Origin: http://evil.example\r\n")),
        (403, format!("{json_type}Origin: null\r\n")),
        (403, format!("{json_type}Origin: http://127.0.0.1\r\n")),
        (403, format!("{json_type}Origin: http://127.0.0.1:1\r\n")),
        (403, format!("{json_type}Origin: https://127.0.0.1:{}\r\n", served.port)),
        (403, format!("{json_type}Origin: http://localhost:{}\r\n", served.port)),
        (403, format!("{json_type}{own}Sec-Fetch-Site: cross-site\r\n")),
        (403, format!("{json_type}{own}Sec-Fetch-Site: same-site\r\n")),
        (415, format!("Content-Type: text/plain\r\n{own}")),
        (415, format!("Content-Type: application/x-www-form-urlencoded\r\n{own}")),
        (415, own.clone()),
    ];
    for path in [
        "api/save",
        "api/simulate",
        "api/check",
        "api/complete",
        "api/meaning",
        "api/format",
        "api/verdict",
        "api/prove",
    ] {
        for (status, headers) in &refused {
            let answer = served.ask(&served.head("POST", path, headers), save.as_bytes());
            assert_eq!(answer.status, *status, "{path}: {headers}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
        }
        for method in ["GET", "PUT", "OPTIONS", "DELETE"] {
            let answer =
                served.ask(&served.head(method, path, &format!("{json_type}{own}")), save.as_bytes());
            assert_eq!(answer.status, 405, "{method} {path}");
            assert!(!answer.head.contains("access-control"), "{}", answer.head);
        }
    }
    let rebound = format!(
        "POST /{TOKEN}/api/save HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\n{json_type}"
    );
    assert_eq!(served.ask(&rebound, save.as_bytes()).status, 403);
    let unknown = served.post_head("api/save").replace(TOKEN, "0123456789abcdee");
    assert_eq!(served.ask(&unknown, save.as_bytes()).status, 404);
    assert_eq!(fs::read_to_string(&served.path).expect("the file"), GOOD);
    assert_eq!(served.app.jobs.count(), 0);
}

#[test]
fn saving_needs_the_file_that_was_opened() {
    let served = Served::file(GOOD);
    let digest = served.get("api/playground").json()["digest"].clone();
    let saved = served.post("api/save", &json!({ "text": "one", "digest": digest }));
    assert_eq!(saved.status, 200, "{}", saved.text());
    assert_eq!(fs::read_to_string(&served.path).expect("the file"), "one");
    fs::write(&served.path, "another editor's").expect("a file");
    let digest = saved.json()["digest"].clone();
    let refused = served.post("api/save", &json!({ "text": "two", "digest": digest }));
    assert_eq!(refused.status, 409, "{}", refused.text());
    assert!(refused.text().contains("changed on disk"), "{}", refused.text());
    assert_eq!(fs::read_to_string(&served.path).expect("the file"), "another editor's");
    let entries = fs::read_dir(served.folder.path()).expect("a folder").count();
    assert_eq!(entries, 1, "no temporary file is left");
}

#[test]
fn a_copy_of_a_built_in_policy_is_saved_under_a_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = Document::copy("nest", folder.path()).expect("nest");
    let path = folder.path().join("mine.ipa");
    let served = Served::of(copy, folder, path);
    let described = served.get("api/playground").json();
    assert_eq!((&described["path"], &described["name"]), (&Value::Null, &json!("nest.ipa")));
    assert_eq!(described["start"]["baseline"], "eevdf");
    let eevdf = Document::copy("eevdf", served.folder.path()).expect("eevdf");
    assert_eq!(Playground::new(eevdf, Vec::new(), Start::default()).start.baseline, OPENED);
    let save = |name: Value| served.post("api/save", &json!({ "text": GOOD, "digest": "", "name": name }));
    for name in [Value::Null, json!("../mine"), json!("/tmp/mine"), json!("nest"), json!("")] {
        assert_eq!(save(name.clone()).status, 422, "{name}");
    }
    assert!(!served.path.exists());
    assert_eq!(save(json!("mine")).status, 200);
    assert_eq!(fs::read_to_string(&served.path).expect("the file"), GOOD);
    assert_eq!(fs::read_dir(served.folder.path()).expect("a folder").count(), 1);
}

#[test]
fn huge_texts_are_refused() {
    let served = Served::file(GOOD);
    for bytes in [MOST_BYTES + 1, MOST_BODY + 1] {
        let text = " ".repeat(bytes);
        for path in ["api/check", "api/simulate", "api/verdict", "api/prove", "api/save"] {
            let sent = with(with(request(&text), "digest", ""), "name", "x");
            assert_eq!(served.post(path, &sent).status, 413, "{path}: {bytes}");
        }
    }
    let deep =
        format!("policy deep extends cfs {{ on block (thread t) {{ t.x = {}1; }} }}", "(".repeat(100_000));
    assert_eq!(served.post("api/check", &json!({ "text": deep })).status, 200);
    assert_eq!(fs::read_to_string(&served.path).expect("the file"), GOOD);
}

#[test]
fn the_page_names_no_files() {
    let served = Served::file(GOOD);
    // Each is a good one, and would be simulated.
    let write = |name: &str, text: &str| {
        let path = served.folder.path().join(name);
        fs::write(&path, text).expect("a file");
        path.display().to_string()
    };
    let policy = write("secret.ipa", "policy secret extends cfs { }");
    let machine = write("secret.toml", &Machine::builtin("ryzen-3400g").expect("a machine").to_toml());
    let workload = Workload::resolve("fork-wait:iterations=2").expect("a workload");
    workload.save(served.folder.path().join("secret.json")).expect("a file");
    let workload = served.folder.path().join("secret.json").display().to_string();
    for (key, value) in [
        ("baseline", policy.as_str()),
        ("machine", machine.as_str()),
        ("workload", workload.as_str()),
        ("workload", &format!("fork-wait+{workload}")),
        ("baseline", "secret"),
        ("workload", "secret.json"),
        ("governor", "fast"),
        ("workload", "none"),
    ] {
        let answer = served.post("api/simulate", &with(request(GOOD), key, value));
        assert_eq!(answer.status, 422, "{key} {value}: {}", answer.text());
        assert!(answer.json()["help"].as_str().is_some_and(|help| !help.is_empty()), "{key}");
    }
    let bad = served.post("api/simulate", &with(request(GOOD), "params", json!({ "linger": -1 })));
    assert_eq!(bad.status, 422, "{}", bad.text());
    assert_eq!(served.post("api/simulate", &json!([])).status, 400);
}

#[test]
fn the_verdict_says_its_bound_and_proves_nothing() {
    let served = Served::file(GOOD);
    let found = served.post("api/verdict", &request(GOOD));
    assert!(!found.text().contains("proved"), "{}", found.text());
    let found = found.json();
    assert_eq!((&found["states"], &found["cores"]), (&json!(verdict::STATES), &json!(4)));
    assert_eq!(found["questions"].as_array().map(Vec::len), Some(4));
}
