//! New policies.

use super::{failed, folder, hearth, printed, text};
use serde_json::Value;
use std::fs;

#[test]
fn a_new_policy_is_sound_formatted_and_simulates() {
    for base in hearth_policy::names() {
        let folder = folder();
        let out = printed(folder.path(), &["new", "mine", "--extends", base]);
        assert!(out.starts_with(&format!("mine.ipa: policy `mine` extends `{base}`\n")), "{out}");
        let verdict = printed(folder.path(), &["check", "mine.ipa"]);
        assert_eq!(verdict, "mine.ipa: policy `mine` is sound\n", "with warnings on {base}");
        printed(folder.path(), &["fmt", "--check", "mine.ipa"]);
    }
}

#[test]
fn a_copy_of_a_policy_decides_as_that_does() {
    let products = ["fifo+fixed+nrRun+all+one", "nest-like", "cfs-like"];
    for &from in hearth_policy::names().iter().chain(&products) {
        let folder = folder();
        let out = printed(folder.path(), &["new", "mine", "--from", from]);
        assert!(out.starts_with(&format!("mine.ipa: policy `mine` is a copy of `{from}`\n")), "{out}");
        printed(folder.path(), &["fmt", "--check", "mine.ipa"]);
        let sim = ["sim", "-w", "fork-wait:iterations=5", "-m", "ryzen-3400g", "--runs", "1", "--json"];
        let times = |policy: &str| -> Value {
            let out = printed(folder.path(), &[&sim[..], &["-p", policy]].concat());
            serde_json::from_str::<Value>(&out).unwrap()["runs"][0]["trace_hash"].clone()
        };
        let (copied, copy) = (times(from), times("mine.ipa"));
        assert!(copied.is_string() && copied == copy, "{from}");
    }
    super::fails(&["new", "mine", "--from", "nst"], 2, &["`nst`", "hearth list policies"]);
    super::fails(&["new", "mine", "--from", "nest", "--extends", "cfs"], 2, &["--extends"]);
}

#[test]
fn a_policy_is_compared_with_its_base_and_with_todays_kernel() {
    let folder = folder();
    printed(folder.path(), &["new", "mine", "--extends", "cfs"]);
    let sim = ["sim", "mine.ipa", "-w", "fork-wait:iterations=5", "-m", "ryzen-3400g"];
    let out = printed(folder.path(), &sim);
    for part in [
        "mine against its base, cfs, on ryzen-3400g, schedutil: ",
        "mine against today's kernel, eevdf, on ryzen-3400g, schedutil: ",
        "First difference on ryzen-3400g, at ",
        " ms: cfs runs sh (2) on core ",
        ", mine lets core ",
    ] {
        assert!(out.contains(part), "`{part}` is not in:\n{out}");
    }
    // It spins for no time, and then decides as its base.
    let same = [&sim[..1], &["mine.ipa:linger=0ms"], &sim[2..]].concat();
    assert!(printed(folder.path(), &same).contains("mine decides as cfs does on ryzen-3400g: the first "));
}

#[test]
fn a_new_policy_replaces_no_file() {
    let folder = folder();
    let path = folder.path().join("mine.ipa");
    fs::write(&path, "mine").unwrap();
    for name in ["mine", "mine.ipa", "./mine"] {
        failed(&hearth(folder.path(), &["new", name]), 1, &["mine.ipa exists", "choose another name"]);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    std::os::unix::fs::symlink("nowhere", folder.path().join("link.ipa")).unwrap();
    failed(&hearth(folder.path(), &["new", "link"]), 1, &["link.ipa exists"]);
}

#[test]
fn a_new_policy_has_the_name_of_a_policy() {
    for (name, why) in
        [("nest", "built-in policy"), ("two words", "`two words`"), ("queue", "keyword"), ("..", "`..`")]
    {
        super::fails(&["new", name], 2, &[why]);
    }
    super::fails(&["new", "mine", "--extends", "nst"], 2, &["'nst'", "nest"]);
    super::fails(&["new", "no/folder"], 1, &["no/folder.ipa"]);
}

#[test]
fn the_language_server_ends_as_the_editor_does() {
    use std::io::Write;
    use std::process::{Command, Stdio};
    let run = |messages: &[&str]| {
        let mut server = Command::new(env!("CARGO_BIN_EXE_hearth"));
        let server = server.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut server = server.spawn().expect("hearth starts");
        let mut input = server.stdin.take().expect("a pipe");
        for message in messages {
            write!(input, "Content-Length: {}\r\n\r\n{message}", message.len()).expect("the server reads");
        }
        drop(input);
        server.wait_with_output().expect("it ends")
    };
    let initialize = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}"#;
    let shutdown = r#"{"jsonrpc":"2.0","id":2,"method":"shutdown"}"#;
    let clean = run(&[initialize, shutdown, r#"{"jsonrpc":"2.0","method":"exit"}"#]);
    assert!(clean.status.success(), "{}", text(&clean.stderr));
    assert!(text(&clean.stdout).contains(r#""name":"hearth""#));
    assert_eq!(run(&[initialize]).status.code(), Some(1));
}
