//! Tests that boot guests, run by `scripts/kernels`. Each takes about ten seconds, and the first one fetches a kernel.

use hearth_vm::{Error, Exit, Options, Streams, Topology, Wish, run};
use std::ffi::OsString;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Collects the output of a guest's command.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

fn in_guest(
    options: &Options,
    script: &str,
    words: &[&str],
    input: &str,
) -> (Result<Exit, Error>, String, String) {
    let command: Vec<OsString> =
        ["sh", "-c", script, "sh"].iter().chain(words).map(|word| OsString::from(*word)).collect();
    let (stdout, stderr) = (Written::default(), Written::default());
    let streams = Streams {
        stdin: Box::new(Cursor::new(input.to_owned())),
        stdout: Box::new(stdout.clone()),
        stderr: Box::new(stderr.clone()),
    };
    let exit = run(options, &command, streams, &mut |_| {});
    (exit, stdout.text(), stderr.text())
}

#[test]
fn a_command_has_all_it_needs() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let other = tempfile::tempdir().unwrap();
    // The guest sees only those entries of the host's /tmp that the command names.
    let (named, unnamed) = (tempfile::tempdir_in("/tmp").unwrap(), tempfile::tempdir_in("/tmp").unwrap());
    let named = named.path().join("named");
    let dmesg = folder.path().join("dmesg");
    let wish = Wish { sockets: Some(2), cores: Some(1), ..Wish::default() };
    let options = Options {
        topology: Topology::new(wish).unwrap(),
        directory: folder.path().into(),
        rw: vec![other.path().into()],
        env: vec![("ADDED".into(), "it's here".into()), ("UNNAMED".into(), unnamed.path().into())],
        dmesg: Some(dmesg.clone()),
        hearth: Some("/bin/true".into()),
        timeout: Some(Duration::from_secs(120)),
        ..Options::default()
    };
    std::fs::write(folder.path().join("given"), "given").unwrap();
    let script = r#"
        cat
        printf '<%s>' "$@"; echo
        echo "$ADDED" >&2
        cat given; echo
        echo made >made; echo "made elsewhere" >"$3/made"
        cat "$4"
        test -e "$UNNAMED" && echo "too much is seen"
        echo gone >"$4"
        echo gone >/etc/hearth-vm-test && echo "root is writable"
        nproc
        cat /sys/devices/system/cpu/cpu*/cache/index3/shared_cpu_list
        cat /sys/devices/system/node/online
        cat /sys/kernel/sched_ext/state
        test -r "/boot/config-$(uname -r)" && test -d /sys/fs/cgroup/cgroup.procs -o -e /sys/fs/cgroup/cgroup.procs &&
            test -e /sys/kernel/tracing/events && test -e /dev/shm && echo "all mounted"
        hearth && command -v hearth
        sleep 1000 &
        exit 3
    "#;
    let place = other.path().to_str().unwrap();
    std::fs::write(&named, "seen\n").unwrap();
    let words = ["two words", "it's $HOME", place, named.to_str().unwrap()];
    let (exit, stdout, stderr) = in_guest(&options, script, &words, "input\n");
    let exit = exit.unwrap_or_else(|error| panic!("{error}\n{stdout}{stderr}"));
    assert_eq!(exit.status, 3, "{stdout}{stderr}");
    let expected = format!(
        "input\n<two words><it's $HOME><{place}><{}>\ngiven\nseen\nroot is writable\n2\n0\n1\n0-1\ndisabled\nall mounted\n\
         /run/hearth/bin/hearth\n",
        named.display()
    );
    assert_eq!(std::fs::read_to_string(&named).unwrap(), "seen\n", "the host's /tmp was written to");
    assert_eq!(stdout, expected, "{stderr}");
    assert_eq!(stderr, "it's here\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("made")).unwrap(), "made\n");
    assert_eq!(std::fs::read_to_string(other.path().join("made")).unwrap(), "made elsewhere\n");
    assert!(!std::path::Path::new("/etc/hearth-vm-test").exists(), "the host's root was written to");
    let log = std::fs::read_to_string(dmesg).unwrap();
    assert!(log.contains("Linux version"), "{log}");
    for complaint in ["BUG", "WARNING", "stall", "lockup"] {
        assert!(!log.contains(&format!("{complaint}: ")), "{log}");
    }
}

#[test]
fn what_goes_wrong_is_told() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let wish = Wish { cpus: Some(2), ..Wish::default() };
    let options = Options {
        topology: Topology::new(wish).unwrap(),
        directory: folder.path().into(),
        timeout: Some(Duration::from_secs(2)),
        ..Options::default()
    };
    let (exit, stdout, _) = in_guest(&options, "echo begun; sleep 1000", &[], "");
    assert!(matches!(exit, Err(Error::Timeout { .. })), "{exit:?}");
    assert_eq!(stdout, "begun\n");

    let options = Options { timeout: Some(Duration::from_secs(60)), ..options };
    let (exit, ..) = in_guest(&options, "echo c >/proc/sysrq-trigger", &[], "");
    let message = exit.unwrap_err().to_string();
    assert!(message.contains("panicked: sysrq triggered crash"), "{message}");
    assert!(message.contains("sysrq_handle_crash"), "no call trace: {message}");
}
