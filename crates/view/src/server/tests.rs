//! The server over a connection, as a browser and as somebody worse would ask it.

use super::*;
use hearth_trace::tiles::{Field, Index, TileId};
use hearth_trace::*;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::OnceLock;

const TOKEN: &str = "0123456789abcdef";

/// Thread 1 runs on core 0 from 100 to 500 ns and wakes thread 2, which runs on core 1 from 300 on.
fn trace() -> Trace {
    let at = |time, core, kind| Event { time, core, kind };
    let run = |time, core, next| at(time, core, Kind::Switch { prev: IDLE, stop: Stop::Preempted, next });
    let thread = |tid, name: &str, process| ThreadInfo {
        tid,
        name: name.into(),
        parent: tid - 1,
        traced: true,
        kernel_tid: Some(40 + tid),
        process,
    };
    let process = |pid, name: &str, parent| ProcessInfo { pid, name: name.into(), parent };
    let header = Header {
        cores: vec![CoreInfo::default(); 3],
        duration: 3_000_000,
        threads: vec![thread(1, "make", Some(1)), thread(2, "Cc1 <b>", None)],
        processes: vec![process(1, "init", None), process(41, "gmake", Some(0)), process(77, "sh", Some(1))],
        sets: vec!["primary".into()],
        reasons: vec!["attached".into()],
        ..Header::default()
    };
    let events = vec![
        run(100, 0, 1),
        at(200, 0, Kind::Place { thread: 2, target: 1, reason: 0, seen_khz: 7 }),
        at(200, 0, Kind::Wakeup { thread: 2, waker: Waker::Thread(1), target: 1, sync: false }),
        at(250, 1, Kind::Frequency { khz: 2_000_000 }),
        run(300, 1, 2),
        at(500, 0, Kind::Switch { prev: 1, stop: Stop::Blocked, next: IDLE }),
    ];
    Trace { header, events }
}

/// One server for all tests; it ends with them.
fn port() -> u16 {
    static PORT: OnceLock<u16> = OnceLock::new();
    *PORT.get_or_init(|| {
        let viewed = Viewed::in_memory("a".into(), trace()).expect("an index");
        let server = Server::bind(vec![viewed], View::built_in(), 0).expect("a port").with_token(TOKEN);
        let port = server.port;
        std::thread::spawn(move || server.run());
        port
    })
}

struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

fn ask(method: &str, path: &str, host: &str) -> Answer {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port())).expect("a connection");
    write!(stream, "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("sent");
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("an answer");
    let split = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    let head = String::from_utf8_lossy(&bytes[..split]).into_owned();
    Answer { status: head[9..12].parse().expect("a status"), head, body: bytes[split + 4..].to_vec() }
}

fn get(path: &str) -> Answer {
    ask("GET", &format!("/{TOKEN}/{path}"), &format!("127.0.0.1:{}", port()))
}

#[test]
fn only_who_knows_the_address_is_answered() {
    let host = format!("127.0.0.1:{}", port());
    for path in ["/", "/api/traces", "/0123456789abcdee/api/traces", "/0123456789abcdef0/", "//api/traces"] {
        assert_eq!(ask("GET", path, &host).status, 404, "{path}");
    }
    let ours = format!("/{TOKEN}/api/traces");
    for host in ["evil.example", "127.0.0.1.evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1", ""]
    {
        assert_eq!(ask("GET", &ours, host).status, 403, "{host}");
    }
    assert_eq!(ask("GET", &ours, &format!("localhost:{}", port())).status, 200);
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        assert_eq!(ask(method, &ours, &host).status, 405, "{method}");
    }
}

#[test]
fn no_path_leads_to_the_disk() {
    for path in
        ["../Cargo.toml", "..%2fCargo.toml", "%2e%2e/%2e%2e/etc/passwd", "%2fetc%2fpasswd", "Cargo.toml"]
    {
        assert_eq!(get(path).status, 404, "{path}");
    }
    assert_eq!(get("").status, 200);
}

#[test]
fn browsers_are_told_what_not_to_do() {
    for path in ["", "api/traces", "api/none"] {
        let head = get(path).head.to_lowercase();
        for said in [
            "content-security-policy: default-src 'self'",
            "nosniff",
            "no-referrer",
            "same-origin",
            "frame-ancestors 'none'",
        ] {
            assert!(head.contains(said), "{path}: {head}");
        }
    }
}

#[test]
fn parameters_are_checked() {
    let bad = [
        "api/traces/0/tiles/0/0?fields=busy,none",
        "api/traces/0/tiles/0/0?fields=busy,busy",
        "api/traces/0/tiles/0/0?fields=",
        "api/traces/0/tiles/0/0",
        "api/traces/0/tiles/256/0?fields=busy",
        "api/traces/0/tiles/0/-1?fields=busy",
        "api/traces/0/tiles/0/99999999999999999999?fields=busy",
        "api/traces/0/events?from=5&to=5",
        "api/traces/0/events?from=0&to=9&limit=20001",
        "api/traces/0/at?core=x&time=0",
        "api/traces/0/threads/1/next?time=0&direction=up",
        "api/traces/0/threads/1/states/0/x",
        "api/traces/0/usage?from=5&to=5",
        "api/traces/0/usage?from=0&to=5&cores=0-x",
        "api/traces/0/find?what=inversion&time=0&least=1",
        "api/traces/0/find?what=wakeup&time=0",
        "api/traces/x/at?core=0&time=0",
    ];
    for path in bad {
        let answer = get(path);
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.json()["error"].is_string() && answer.json()["help"].is_string(), "{path}");
    }
    let missing = [
        "api/traces/1/at?core=0&time=0",
        "api/traces/0/at?core=3&time=0",
        "api/traces/0/tiles/0/18446744073709551615?fields=busy",
        "api/traces/0/tiles/200/0?fields=busy",
        "api/traces/0/threads/9",
        "api/traces/0/threads/9/states/0/0",
        "api/traces/0/threads/1/states/0/99999",
        "api/traces/0/why?core=3&time=0",
        "api/views/none",
        "api/none",
    ];
    for path in missing {
        assert_eq!(get(path).status, 404, "{path}");
    }
}

#[test]
fn a_trace_is_described() {
    let info = get("api/traces").json()[0].clone();
    assert_eq!(
        (&info["name"], &info["duration"], &info["events"]),
        (&json!("a"), &json!(3_000_000), &json!(6))
    );
    assert_eq!(info["levels"], json!({ "finest_stored": 2, "coarsest": 2 }));
    assert_eq!((&info["frequency_known"], &info["traced_threads"]), (&json!(true), &json!(2)));
}

#[test]
fn unknown_frequencies_and_inferred_events_are_told() {
    let mut trace = trace();
    trace.events.retain(|event| !matches!(event.kind, Kind::Frequency { .. }));
    trace.header.threads[1].traced = false;
    trace.header.lost = vec![4, 3, 0];
    trace.header.source = Source::Recorded(Recording { inferred: 5, ..Recording::default() });
    let viewed = Viewed::in_memory("vm".into(), trace).expect("an index");
    let info = serde_json::to_value(viewed.info()).expect("JSON");
    assert_eq!((&info["frequency_known"], &info["traced_threads"]), (&json!(false), &json!(1)));
    assert_eq!((&info["lost"], &info["inferred"]), (&json!([4, 3, 0]), &json!(5)));
    let warnings = info["warnings"].as_array().expect("warnings");
    assert!(warnings[0].as_str().is_some_and(|text| text.contains("lost 2 events")), "{warnings:?}");
    assert!(
        warnings[1].as_str().is_some_and(|text| text.starts_with("5 events are inferred")),
        "{warnings:?}"
    );
}

#[test]
fn what_a_recording_lacks_is_told() {
    let known = |unrecorded: Unrecorded| {
        let mut trace = trace();
        trace.header.source = Source::Recorded(Recording { unrecorded, ..Recording::default() });
        let viewed = Viewed::in_memory("perf".into(), trace).expect("an index");
        let info = serde_json::to_value(viewed.info()).expect("JSON");
        let told = info["warnings"].as_array().expect("warnings").len();
        (info["waiting_known"] == true, info["wakeups_known"] == true, told)
    };
    let unrecorded = |wakeups, threads| Unrecorded { wakeups, threads };
    assert_eq!(known(unrecorded(false, false)), (true, true, 0));
    assert_eq!(known(unrecorded(true, false)), (false, false, 1));
    assert_eq!(known(unrecorded(false, true)), (false, true, 1));
}

#[test]
fn a_tile_holds_the_fields_asked_for_in_their_order() {
    let answer = get("api/traces/0/tiles/0/0?fields=set_sizes,thread,busy");
    let (sizes, threads) = (2 * 256, 4 * 3 * 256);
    assert_eq!(answer.body.len(), sizes + threads + 3 * 256);
    let thread = |core: usize| answer.body[sizes + 4 * 256 * core];
    assert_eq!((thread(0), thread(1), thread(2)), (1, 2, 0));
    // 400 of 1024 ns, and 724 of them.
    let busy = |core: usize| answer.body[sizes + threads + 256 * core];
    assert_eq!((busy(0), busy(1), busy(2)), (100, 180, 0));
    assert!(answer.head.contains("immutable"));
}

#[test]
fn slices_say_who_woke_them_and_why_they_are_there() {
    let found = get("api/traces/0/events?from=0&to=1000").json();
    let slices = found["slices"].as_array().expect("slices");
    assert_eq!(slices.len(), 2);
    assert_eq!(
        slices[0],
        json!({ "core": 0, "thread": 1, "from": 100, "to": 500, "khz": 0, "stop": "blocked", "wake": null, "reason": null })
    );
    let wake = json!({ "time": 200, "waker": 1, "core": 0, "from_core": null });
    assert_eq!(
        slices[1],
        json!({ "core": 1, "thread": 2, "from": 300, "to": 1000, "khz": 2_000_000, "stop": null, "wake": wake, "reason": 0 })
    );
    let kinds: Vec<&str> =
        found["marks"].as_array().unwrap().iter().filter_map(|mark| mark["kind"].as_str()).collect();
    assert_eq!(kinds, ["place", "wakeup"]);
    let part = get("api/traces/0/events?from=0&to=1000&limit=1").json();
    assert_eq!((&part["truncated"], part["marks"].as_array().map(Vec::len)), (&json!(true), Some(1)));
    let nothing = json!({ "truncated": true, "slices": [], "marks": [] });
    assert_eq!(get("api/traces/0/events?from=0&to=1000&limit=1&whole=true").json(), nothing);
    assert_eq!(get("api/traces/0/events?from=0&to=1000&whole=true").json(), found);
}

/// What happens at the end of a range belongs to the next one.
#[test]
fn a_range_ends_before_its_last_moment() {
    let marks = |from, to| {
        let found = get(&format!("api/traces/0/events?from={from}&to={to}")).json();
        found["marks"].as_array().expect("marks").len()
    };
    assert_eq!([marks(0, 200), marks(0, 201), marks(200, 201)], [0, 2, 2]);
}

#[test]
fn what_is_under_the_pointer() {
    let at = get("api/traces/0/at?core=1&time=400").json();
    let expected = json!({
        "core": 1, "time": 400, "thread": 2, "name": "Cc1 <b>", "from": 300, "to": null, "stop": null,
        "waker": 1, "waker_name": "make", "wake_time": 200, "latency": 100, "reason": 0, "seen_khz": 7,
        "khz": 2_000_000, "queue": 1, "sets": [],
    });
    assert_eq!(at, expected);
    assert_eq!(get("api/traces/0/at?core=0&time=500").json()["thread"], 0);
}

#[test]
fn threads_are_found_by_name_and_number_and_followed() {
    let names = |path: &str| get(path).json().as_array().expect("threads").len();
    assert_eq!(names("api/traces/0/threads?q=CC"), 1);
    assert_eq!(names("api/traces/0/threads?q=2"), 1);
    // The kernel's number of a thread, that of a process, and a process's name.
    assert_eq!((names("api/traces/0/threads?q=42"), names("api/traces/0/threads?q=41")), (1, 1));
    assert_eq!(get("api/traces/0/threads?q=gmake").json()[0]["thread"], 1);
    assert_eq!(names("api/traces/0/threads?limit=1"), 1);
    // Each program has a colour, and the answer about one thread has the same.
    let colour = |path: &str| get(path).json()["colour"].as_u64().expect("a number");
    let colours = [colour("api/traces/0/threads/1"), colour("api/traces/0/threads/2")];
    assert_ne!(colours[0], colours[1]);
    assert_eq!(get("api/traces/0/threads?ids=2").json()[0]["colour"], colours[1]);
    assert_eq!(get("api/traces/0/threads/2").json()["parent"], 1);
    let next = get("api/traces/0/threads/2/next?time=0").json();
    assert_eq!((&next["core"], &next["from"]), (&json!(1), &json!(300)));
    assert_eq!(get("api/traces/0/threads/2/next?time=300").json(), Value::Null);
    assert_eq!(get("api/traces/0/threads/1/next?time=300&direction=back").json()["from"], 100);
}

#[test]
fn an_area_lists_its_threads() {
    let usage = |query: &str| get(&format!("api/traces/0/usage?{query}")).json();
    let all = usage("from=150&to=400");
    assert_eq!((&all["count"], &all["running"], &all["until"]), (&json!(2), &json!(350), &json!(400)));
    let second = json!({
        "thread": 2, "name": "Cc1 <b>", "traced": true, "running": 100, "ready": 100, "slices": 1, "wakeups": 1,
        "migrations": 0, "cores": 1, "longest_latency": 100, "from": 150, "to": 400,
    });
    assert_eq!((&all["threads"][0]["running"], &all["threads"][1]), (&json!(250), &second));
    let only = |query: &str| usage(query)["threads"].as_array().map_or(0, Vec::len);
    assert_eq!((only("from=150&to=400&cores=1-2"), only("from=150&to=400&cores=2")), (1, 0));
    assert_eq!((only("from=150&to=400&limit=1"), only("from=0&to=99")), (1, 0));
    assert_eq!(usage("from=150&to=400&thread=2")["threads"][0], second);
}

#[test]
fn the_states_of_a_thread_come_in_tiles() {
    let states = get("api/traces/0/threads/2/states/0/0").json();
    assert_eq!((&states["running"][0], &states["ready"][0]), (&json!(724), &json!(100)));
    assert_eq!((&states["running"][1], &states["ready"][1]), (&json!(1024), &json!(0)));
}

#[test]
fn long_wake_ups_are_found() {
    let find = |query: &str| get(&format!("api/traces/0/find?what=wakeup&{query}")).json()["found"].clone();
    let wakeup = json!({ "thread": 2, "core": 1, "from": 200, "to": 300 });
    assert_eq!(find("time=0&least=100"), wakeup);
    assert_eq!(find("time=0&least=101"), Value::Null);
    assert_eq!(find("time=300&least=1"), Value::Null);
    assert_eq!(find("time=301&least=1&direction=back"), wakeup);
}

#[test]
fn a_decision_is_told_with_what_the_policy_saw() {
    let why = get("api/traces/0/why?core=1&time=400").json();
    let idle = |khz: Option<u32>| json!({ "queue": 0, "khz": khz, "sets": [] });
    let expected = json!({
        "thread": 2, "migrated": null, "previous": null,
        "placed": { "time": 200, "core": 0, "target": 1, "reason": 0, "seen_khz": 7 },
        "before": { "idle": 2, "target": idle(None), "previous": null, "set_sizes": [0] },
    });
    assert_eq!(why, expected);
    let none = get("api/traces/0/why?core=0&time=400").json();
    assert_eq!((&none["thread"], &none["placed"], &none["before"]), (&json!(1), &Value::Null, &Value::Null));
    assert_eq!(get("api/traces/0/why?core=2&time=400").json(), Value::Null);
}

/// In a kernel the wake-up comes first: the policy then decides about a thread that its core already counts.
#[test]
fn a_woken_thread_does_not_count_in_what_the_policy_saw() {
    let at = |time, core, kind| Event { time, core, kind };
    let seen = |wake: Event| {
        let mut trace = trace();
        let switch = |time, core, prev, stop, next| at(time, core, Kind::Switch { prev, stop, next });
        trace.events.extend([
            switch(600, 1, 2, Stop::Blocked, IDLE),
            wake,
            at(740, 0, Kind::Place { thread: 2, target: 1, reason: 0, seen_khz: 0 }),
            switch(800, 1, IDLE, Stop::Preempted, 2),
        ]);
        let viewed = Viewed::in_memory("a".into(), trace).expect("an index");
        let found = why::why(&viewed, 1, 900).expect("an answer");
        let before = serde_json::to_value(found).expect("JSON")["before"].clone();
        (before["target"]["queue"].clone(), before["idle"].clone())
    };
    let wake = |target| at(700, 0, Kind::Wakeup { thread: 2, waker: Waker::Interrupt, target, sync: false });
    assert_eq!(seen(wake(1)), (json!(0), json!(3)));
    assert_eq!(seen(wake(2)), (json!(0), json!(3)));
    // Another thread's wake-up does count.
    let other = at(700, 0, Kind::Wakeup { thread: 1, waker: Waker::Interrupt, target: 1, sync: false });
    assert_eq!(seen(other), (json!(1), json!(2)));
}

/// The thread moves without a decision after it was placed, and had run elsewhere before.
#[test]
fn moves_after_a_decision_are_told() {
    let mut trace = trace();
    let at = |time, core, kind| Event { time, core, kind };
    let switch = |time, core, prev, stop, next| at(time, core, Kind::Switch { prev, stop, next });
    trace.events.extend([
        at(600, 1, Kind::Set { set: 0, member: true }),
        switch(600, 1, 2, Stop::Blocked, IDLE),
        at(700, 0, Kind::Wakeup { thread: 2, waker: Waker::Interrupt, target: 0, sync: false }),
        at(700, 0, Kind::Place { thread: 2, target: 0, reason: 0, seen_khz: 0 }),
        at(750, 2, Kind::Migrate { thread: 2, from: 0, to: 2 }),
        switch(800, 2, IDLE, Stop::Preempted, 2),
    ]);
    let viewed = Viewed::in_memory("a".into(), trace).expect("an index");
    let found = serde_json::to_value(why::why(&viewed, 2, 900).expect("an answer")).expect("JSON");
    assert_eq!(found["migrated"], json!({ "time": 750, "from": 0, "to": 2 }));
    let before = &found["before"];
    assert_eq!((&found["previous"], &before["idle"]), (&json!(1), &json!(3)));
    assert_eq!((&before["previous"]["sets"], &before["set_sizes"]), (&json!([0]), &json!([1])));
}

/// Neighbours come out of one pass over the events, whoever asks first; each is what it is alone.
#[test]
fn tiles_asked_for_at_one_time_are_what_they_are_alone() {
    let tile = |level: u8, index: u64| get(&format!("api/traces/0/tiles/{level}/{index}?fields=busy,thread"));
    let index = Index::in_memory(&trace()).expect("an index");
    let asked: Vec<(u8, u64)> = (0..13).map(|index| (0, index)).chain([(1, 0), (1, 2), (1, 3)]).collect();
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let asking: Vec<_> =
            asked.iter().map(|&(level, index)| scope.spawn(move || tile(level, index))).collect();
        asking.into_iter().map(|thread| thread.join().expect("an answer")).collect()
    });
    for ((level, number), answer) in asked.into_iter().zip(answers) {
        let id = TileId { level, index: number };
        let Some(alone) = index.tile(&trace(), id).expect("a tile") else {
            assert_eq!(answer.status, 404, "{id:?}");
            continue;
        };
        let fields = [Field::Busy, Field::Thread].map(|field| alone.field(field));
        assert_eq!(answer.body, fields.concat(), "{id:?}");
    }
}

/// The answer of a server whose database is this shell script.
fn asked(script: &str, limit_ms: u64) -> Result<String, (StatusCode, Value)> {
    let sql = Sql {
        program: "/bin/sh".into(),
        arguments: vec!["-c".into(), script.into()],
        request: [("views".into(), "VIEWS".into())].into_iter().collect(),
        help: "install it".into(),
        limit: std::time::Duration::from_millis(limit_ms),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let answer = runtime.block_on(sql.answer("SELECT 'a\"b'", &sql::QueryLock::default()));
    answer.map(|bytes| String::from_utf8(bytes).expect("UTF-8")).map_err(|refusal| {
        let response = refusal.into_response();
        let status = response.status();
        let body = runtime.block_on(axum::body::to_bytes(response.into_body(), 1 << 16)).expect("a body");
        (status, serde_json::from_slice(&body).expect("JSON"))
    })
}

#[test]
fn another_program_answers_sql() {
    let request: Value = serde_json::from_str(&asked("cat", 10_000).expect("an answer")).expect("JSON");
    assert_eq!(request, json!({ "views": "VIEWS", "query": "SELECT 'a\"b'", "limit": 1000 }));
    // It may leave its input unread.
    assert_eq!(asked("echo '{}'", 10_000).as_deref(), Ok("{}\n"));
}

#[test]
fn errors_of_sql_are_told() {
    let refused = |script, limit| asked(script, limit).expect_err(script);
    let (status, said) = refused("echo 'error: no table x' >&2; exit 1", 10_000);
    assert_eq!((status, &said["error"]), (StatusCode::BAD_REQUEST, &json!("no table x")));
    let (status, said) = refused("exit 3", 10_000);
    assert_eq!((status, &said["help"]), (StatusCode::NOT_IMPLEMENTED, &json!("install it")));
    let (status, said) = refused("kill -9 $$", 10_000);
    assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(said["error"].as_str().is_some_and(|text| text.contains("signal: 9")), "{said}");
    let (status, said) = refused("head -c 9000000 /dev/zero", 30_000);
    assert_eq!(
        (status, &said["error"]),
        (StatusCode::BAD_REQUEST, &json!("the answer is longer than 8 MiB"))
    );
}

#[test]
fn a_long_query_is_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let mark = folder.path().join("mark");
    let script = format!("echo $$ > '{}'; exec sleep 60", mark.display());
    let began = std::time::Instant::now();
    let (status, said) = asked(&script, 2000).expect_err("too long");
    assert_eq!(status, StatusCode::GATEWAY_TIMEOUT);
    assert!(said["error"].as_str().is_some_and(|text| text.contains("longer than 2 s")), "{said}");
    assert!(began.elapsed().as_secs() < 30);
    let pid = std::fs::read_to_string(mark).expect("it started");
    // A killed process may need a moment to end.
    let runs = || {
        let status = std::fs::read_to_string(format!("/proc/{}/status", pid.trim())).unwrap_or_default();
        !status.is_empty() && !status.contains("State:\tZ")
    };
    let patience = std::time::Duration::from_millis(50);
    assert!((0..200).any(|_| !runs() || (std::thread::sleep(patience), false).1), "it still runs");
}

#[test]
fn a_trace_without_files_has_no_sql() {
    let answer = get("api/traces/0/sql?query=SELECT%201");
    assert_eq!((answer.status, get("api/traces").json()[0]["sql"].clone()), (404, json!(false)));
    assert_eq!(get("api/traces/0/sql").status, 400);
    assert_eq!(get("api/traces/1/sql?query=SELECT%201").status, 404);
}

/// Connections that never end their request's header, or never begin one.
#[test]
fn half_open_connections_end_and_leave_room() {
    let viewed = Viewed::in_memory("a".into(), trace()).expect("an index");
    let limits = Limits { connections: 8, header: std::time::Duration::from_millis(300) };
    let server = Server::bind(vec![viewed], View::built_in(), 0).expect("a port").with_token(TOKEN);
    let server = Server { limits, ..server };
    let port = server.port;
    std::thread::spawn(move || server.run());
    let open = |text: &str| {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("a connection");
        stream.set_read_timeout(Some(std::time::Duration::from_secs(10))).expect("set");
        write!(stream, "{text}").expect("sent");
        stream
    };
    let idle: Vec<_> = (0..16).map(|i| open(["", "GET / HTTP/1.1\r\nX: "][i % 2])).collect();
    // Only after the first eight are closed there is room.
    let mut own = open(&format!(
        "GET /{TOKEN}/api/traces HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
    ));
    let mut answer = String::new();
    own.read_to_string(&mut answer).expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    for mut stream in idle {
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).expect("closed by the server");
    }
}

/// A thread has its numbers, and a process its relatives. What is unknown is null.
#[test]
fn processes_have_relatives_and_threads() {
    let make = json!({ "process": 1, "pid": 41, "name": "gmake" });
    let thread = get("api/traces/0/threads/1").json();
    assert_eq!((&thread["tid"], &thread["process"]), (&json!(41), &make));
    let thread = get("api/traces/0/threads/2").json();
    assert_eq!((&thread["tid"], &thread["process"]), (&json!(42), &Value::Null));
    let family = get("api/traces/0/processes/1").json();
    let expected = json!({
        "process": 1, "pid": 41, "name": "gmake",
        "ancestors": [{ "process": 0, "pid": 1, "name": "init" }],
        "children": [{ "process": 2, "pid": 77, "name": "sh" }], "child_count": 1,
        "threads": [1], "thread_count": 1,
    });
    assert_eq!(family, expected);
    assert_eq!(get("api/traces/0/processes/9").status, 404);
}

#[test]
fn raw_events_are_those_of_the_selection() {
    let raw = |query: &str| {
        let answer = get(&format!("api/traces/0/raw?{query}")).json();
        let rows = answer["events"].as_array().unwrap().iter();
        let row =
            |event: &Value| (event["seq"].as_u64().unwrap(), event["kind"].as_str().unwrap().to_owned());
        (rows.map(row).collect::<Vec<_>>(), answer["truncated"].as_bool().unwrap())
    };
    let kinds = ["switch", "place", "wakeup", "frequency", "switch", "switch"];
    let all: Vec<_> = (0..).zip(kinds.map(str::to_owned)).collect();
    assert_eq!(raw("from=0&to=1000"), (all.clone(), false));
    assert_eq!(raw("from=0&to=1000&limit=2"), (all[..2].to_vec(), true));
    assert_eq!(raw("from=200&to=250"), (all[1..4].to_vec(), false), "both ends belong to it");
    // On or towards a core, and of a thread in any part.
    assert_eq!(raw("from=0&to=1000&cores=1").0, all[1..5]);
    assert_eq!(raw("from=0&to=1000&thread=1").0, [&all[..1], &all[2..3], &all[5..]].concat());
    assert_eq!(raw("from=501&to=1000").0, []);
    let events = get("api/traces/0/raw?from=200&to=250").json()["events"].clone();
    let place = json!({
        "seq": 1, "time": 200, "core": 0, "kind": "place", "thread": 2, "other": null, "target": 1,
        "detail": "attached, 0.00 GHz",
    });
    assert_eq!((&events[0], &events[2]["detail"]), (&place, &json!("2.00 GHz")));
    assert_eq!((&events[1]["other"], &events[1]["detail"]), (&json!(1), &Value::Null));
    assert_eq!(get("api/traces/0/raw?from=5&to=5").status, 400);
}
