//! Commands that are killed before each change of a file or a folder, and then repeated: as SQLite tests its files.

use crate::{folder, text};
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Kills of a command in `make test`, which kills only one command.
const FEW: usize = 4;

/// What a call of the kernel changes.
enum Change {
    /// The file of the first argument's descriptor.
    File,
    /// A name: a file or a folder is made, renamed or removed.
    Name,
    /// A name, if the file is opened to be made or cut: the argument with the flags.
    Opened(usize),
}

#[cfg(target_arch = "x86_64")]
fn older(call: i64) -> Option<(&'static str, Change)> {
    Some(match call {
        libc::SYS_open => ("open", Change::Opened(1)),
        libc::SYS_creat => ("creat", Change::Name),
        libc::SYS_mkdir => ("mkdir", Change::Name),
        libc::SYS_rmdir => ("rmdir", Change::Name),
        libc::SYS_rename => ("rename", Change::Name),
        libc::SYS_unlink => ("unlink", Change::Name),
        libc::SYS_chmod => ("chmod", Change::Name),
        libc::SYS_chown => ("chown", Change::Name),
        libc::SYS_link => ("link", Change::Name),
        libc::SYS_symlink => ("symlink", Change::Name),
        _ => return None,
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn older(_call: i64) -> Option<(&'static str, Change)> {
    None
}

fn change(call: i64) -> Option<(&'static str, Change)> {
    Some(match call {
        libc::SYS_openat => ("openat", Change::Opened(2)),
        libc::SYS_mkdirat => ("mkdirat", Change::Name),
        libc::SYS_renameat | libc::SYS_renameat2 => ("renameat", Change::Name),
        libc::SYS_unlinkat => ("unlinkat", Change::Name),
        libc::SYS_linkat => ("linkat", Change::Name),
        libc::SYS_symlinkat => ("symlinkat", Change::Name),
        libc::SYS_fchmodat => ("fchmodat", Change::Name),
        libc::SYS_fchownat => ("fchownat", Change::Name),
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev => ("write", Change::File),
        libc::SYS_ftruncate | libc::SYS_fallocate => ("ftruncate", Change::File),
        libc::SYS_fsync | libc::SYS_fdatasync => ("fsync", Change::File),
        libc::SYS_fchmod => ("fchmod", Change::File),
        libc::SYS_fchown => ("fchown", Change::File),
        libc::SYS_flock => ("flock", Change::File),
        _ => return older(call),
    })
}

/// The name of the call that a stopped thread begins, if it changes something below `below`.
fn changing(thread: Pid, below: &Path) -> Option<&'static str> {
    let info = ptrace::syscall_info(thread).ok()?;
    (info.op == libc::PTRACE_SYSCALL_INFO_ENTRY).then_some(())?;
    // SAFETY: at the entry of a call, the kernel fills this member.
    let entry = unsafe { info.u.entry };
    let (name, change) = change(entry.nr as i64)?;
    let changes = match change {
        Change::Name => true,
        Change::Opened(flags) => {
            entry.args[flags] as libc::c_int & (libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE) != 0
        }
        Change::File => {
            let file = fs::read_link(format!("/proc/{thread}/fd/{}", entry.args[0] as i32));
            file.is_ok_and(|file| file.starts_with(below))
        }
    };
    changes.then_some(name)
}

/// Runs a command and kills it before its change of number `at`. Returns the calls with changes up to there.
fn run_up_to(command: &mut Command, below: &Path, at: usize) -> Vec<&'static str> {
    command.stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: the function only calls ptrace.
    unsafe { command.pre_exec(|| Ok(ptrace::traceme()?)) };
    let child = Pid::from_raw(command.spawn().expect("hearth starts").id() as i32);
    waitpid(child, Some(WaitPidFlag::__WALL)).expect("the stop after exec");
    let options = Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(child, options).expect("a stopped thread");
    let mut calls = Vec::new();
    let mut go_on = (child, None);
    loop {
        // A thread that was killed at this moment has no more calls.
        let _ = ptrace::syscall(go_on.0, go_on.1);
        // Other tests wait for their own children.
        let flags = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        go_on = match waitpid(None, Some(flags)) {
            Ok(WaitStatus::PtraceSyscall(thread)) => {
                if let Some(name) = changing(thread, below) {
                    if calls.len() == at {
                        kill(child, Signal::SIGKILL).expect("a running process");
                    }
                    calls.push(name);
                }
                (thread, None)
            }
            // A new thread begins with a stop.
            Ok(WaitStatus::Stopped(thread, Signal::SIGSTOP)) => (thread, None),
            Ok(WaitStatus::Stopped(thread, signal)) => (thread, Some(signal)),
            Ok(WaitStatus::Exited(thread, _) | WaitStatus::Signaled(thread, ..)) if thread == child => break,
            Ok(status) => (status.pid().unwrap_or(child), None),
            Err(Errno::EINTR) => go_on,
            Err(error) => panic!("{error}"),
        };
    }
    calls
}

/// A command, and what is there before it.
struct Repeated {
    name: &'static str,
    args: Vec<String>,
    /// Whether the result is there already, and is replaced.
    replaces: bool,
    /// Whether nothing is in the cache.
    cold: bool,
    /// Whether each run writes the same bytes.
    same: bool,
    /// Kills in `make test-all`.
    most: usize,
}

impl Repeated {
    fn command(&self, home: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hearth"));
        command.current_dir(home.join("work")).args(&self.args).env("XDG_CACHE_HOME", home.join("cache"));
        command
    }

    fn run(&self, home: &Path, when: &str) {
        let output = self.command(home).output().expect("hearth starts");
        assert!(output.status.success(), "{} {when}: {}", self.name, text(&output.stderr));
    }

    fn prepare(&self, home: &Path) {
        let _ = fs::remove_dir_all(home.join("work"));
        fs::create_dir_all(home.join("work")).expect("a folder");
        // Unlike a built-in policy, it is compiled now.
        fs::write(home.join("work/mine.ipa"), "policy mine extends cfs { }").expect("a file");
        if self.replaces {
            self.run(home, "at first");
        }
        if self.cold {
            let _ = fs::remove_dir_all(home.join("cache"));
        }
    }

    /// Kills the command at some or all of its changes, and repeats it.
    fn survives(&self) {
        let home = folder();
        let home = home.path();
        self.prepare(home);
        self.run(home, "undisturbed");
        let expected = contents(home);
        self.prepare(home);
        let all = run_up_to(&mut self.command(home), home, usize::MAX);
        self.compare(home, &expected, "traced");
        let kills = if hearth_tests::everything() { self.most } else { FEW };
        assert!(!all.is_empty(), "{} changes nothing", self.name);
        let step = all.len().div_ceil(kills);
        for at in (0..all.len()).step_by(step) {
            self.prepare(home);
            let calls = run_up_to(&mut self.command(home), home, at);
            let when = format!("after a kill before change {at}, {:?}", calls.last());
            self.run(home, &when);
            self.compare(home, &expected, &when);
        }
        let mut table: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().for_each(|name| *table.entry(name).or_default() += 1);
        eprintln!("{}: {} changes: {table:?}", self.name, all.len());
    }

    fn compare(&self, home: &Path, expected: &Contents, when: &str) {
        let found = contents(home);
        // The number of a recording's segments depends on its time, and a recording that was complete before the kill is kept.
        let other = ["work/x.trace/events", "work/x.trace.old"];
        let is_same = |path: &&PathBuf| self.same || other.iter().all(|other| !path.starts_with(other));
        let names = |contents: &Contents| contents.keys().filter(is_same).cloned().collect::<Vec<_>>();
        assert_eq!(names(&found), names(expected), "{} {when}", self.name);
        let other = found.iter().find(|(path, bytes)| self.same && expected[*path] != **bytes);
        assert!(other.is_none(), "{} {when}: other bytes in {:?}", self.name, other.map(|(path, _)| path));
    }
}

/// The files with their content, and the folders. What the compiler makes in the cache may have other bytes.
type Contents = BTreeMap<PathBuf, Vec<u8>>;

fn contents(home: &Path) -> Contents {
    let mut contents = BTreeMap::new();
    let mut folders = vec![home.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(home).expect("a path below").to_owned();
            let bytes = match path.is_dir() {
                true => Vec::new(),
                false if name.starts_with("cache") => Vec::new(),
                false => fs::read(&path).expect("a file"),
            };
            if path.is_dir() {
                folders.push(path);
            }
            contents.insert(name, bytes);
        }
    }
    contents
}

fn repeated(name: &'static str, args: &[&str]) -> Repeated {
    let args = args.iter().map(|arg| arg.to_string()).collect();
    Repeated { name, args, replaces: false, cold: false, same: true, most: usize::MAX }
}

const SIM: [&str; 8] =
    ["sim", "--workload", "fork-wait:iterations=5", "--machine", "ryzen-3400g", "--policy", "mine.ipa", "-o"];

#[test]
fn import_can_be_repeated_after_a_kill() {
    let file = hearth_tests::root().join("crates/formats/tests/data/trace-v7.dat");
    let args = ["import", file.to_str().expect("UTF-8"), "-o", "x.trace"];
    repeated("import", &args).survives();
    if hearth_tests::everything() {
        Repeated { replaces: true, ..repeated("import over a trace", &args) }.survives();
    }
}

#[test]
#[ignore = "minutes: make test-all"]
fn sim_can_be_repeated_after_a_kill() {
    let args = [&SIM[..], &["x.trace"]].concat();
    repeated("sim -o", &args).survives();
    Repeated { replaces: true, ..repeated("sim -o over a trace", &args) }.survives();
    Repeated { cold: true, ..repeated("sim -o without a cache", &args) }.survives();
}

#[test]
#[ignore = "minutes: make test-all"]
fn study_run_can_be_repeated_after_a_kill() {
    let matrix =
        ["study", "run", "-w", "fork-wait:iterations=5", "-m", "ryzen-3400g", "-p", "cfs", "-p", "mine.ipa"];
    let args = [&matrix[..], &["--runs", "2", "-o", "x.parquet"]].concat();
    repeated("study run", &args).survives();
}

#[test]
#[ignore = "minutes: make test-all"]
fn record_can_be_repeated_after_a_kill() {
    let instances = Path::new("/sys/kernel/tracing/instances");
    if !nix::unistd::geteuid().is_root() || !instances.is_dir() {
        return hearth_tests::skip("recording needs root and tracefs");
    }
    let args = ["record", "--method", "tracefs", "-o", "x.trace", "--", "true"];
    // A recording takes seconds under a tracer.
    let record = Repeated { same: false, most: 25, ..repeated("record", &args) };
    record.survives();
    // A recorder removes the instances of killed ones that are older than two seconds.
    std::thread::sleep(std::time::Duration::from_secs(3));
    let home = folder();
    record.prepare(home.path());
    record.run(home.path(), "at last");
    let left =
        fs::read_dir(instances).expect("a folder").filter_map(Result::ok).map(|entry| entry.file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("hearth")).collect();
    assert!(left.is_empty(), "{left:?}");
}
