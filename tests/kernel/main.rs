//! Tests in live kernels, in virtual machines: the cases of `cases.toml`.
//!
//! `scripts/kernels` builds what they need and runs them. It sets `HEARTH_KERNELS`: `latest`, or the kernels that run
//! every case (`6.18,7.3`). Without it, as in `cargo test`, nothing runs. Arguments select cases by parts of their names.
//! `HEARTH_TEST_ALL=1` runs all cases, else the short ones. `HEARTH_VM_ARCH=arm64` emulates that architecture.

mod cases;
mod costs;
mod counts;
mod guest;

use cases::{Case, LATEST, Shape};
use guest::{Ended, Interrupted, Tools};
use hearth_vm::Architecture;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

fn main() -> ExitCode {
    let (cases, shapes) = cases::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/cases.toml"));
    let words = names();
    if std::env::args().any(|word| word == "--list") {
        cases.iter().for_each(|case| println!("{}: test", case.name));
        return ExitCode::SUCCESS;
    }
    let Some(kernels) = std::env::var("HEARTH_KERNELS").ok().filter(|kernels| !kernels.is_empty()) else {
        println!("these tests boot virtual machines: run scripts/kernels");
        println!("test result: ok. 0 passed; 0 failed; {} ignored", cases.len());
        return ExitCode::SUCCESS;
    };
    let architecture = architecture();
    let (cases, out): (Vec<Case>, Vec<Case>) = on(&kernels, cases)
        .into_iter()
        .filter(|case| case.arm64 || !architecture.is_foreign())
        .partition(|case| words.is_empty() || words.iter().any(|word| case.name.contains(word)));
    let (cases, ignored): (Vec<Case>, Vec<Case>) =
        cases.into_iter().partition(|case| !case.all || hearth_tests::everything());
    let mut results = Results { ignored: ignored.len(), out: out.len(), ..Results::default() };
    let begun = Instant::now();
    let interrupted = match missing() {
        Some(why) => {
            cases.iter().for_each(|case| results.skip(case, &why));
            false
        }
        None => run(&tools(architecture), &shapes, &cases, &mut results).is_err(),
    };
    results.print(begun.elapsed());
    if results.failed.is_empty() && !interrupted { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The arguments that are no options of libtest.
fn names() -> Vec<String> {
    let mut names = Vec::new();
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--skip" | "--test-threads" | "--format" | "--color" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => names.push(word),
        }
    }
    names
}

/// The cases for these kernels. `latest`: each case runs in the kernels that it names.
fn on(kernels: &str, cases: Vec<Case>) -> Vec<Case> {
    if kernels == LATEST {
        return cases;
    }
    let mut all: Vec<Case> = Vec::new();
    for kernel in kernels.split(',') {
        for case in &cases {
            let case = Case { kernel: kernel.into(), ..case.clone() };
            if !all.iter().any(|other| (&other.name, &other.kernel) == (&case.name, &case.kernel)) {
                all.push(case);
            }
        }
    }
    all
}

/// Architecture of the guests.
fn architecture() -> Architecture {
    match std::env::var("HEARTH_VM_ARCH").as_deref() {
        Err(_) => Architecture::HOST,
        Ok("arm64") => Architecture::Arm64,
        Ok("amd64") => Architecture::X86_64,
        Ok(other) => panic!("HEARTH_VM_ARCH={other}: it is arm64 or amd64"),
    }
}

/// Why no case can run on this host.
fn missing() -> Option<String> {
    let clang = Command::new(hearth_tests::root().join("scripts/clang")).output().expect("scripts/clang");
    let why = String::from_utf8_lossy(&clang.stderr).trim().to_owned();
    (!clang.status.success()).then(|| format!("{why} (scripts/need clang)"))
}

/// The hearth of this build.
fn hearth() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let hearth = test.ancestors().nth(2).expect("it is in target/PROFILE/deps").join("hearth");
    assert!(hearth.is_file(), "{} is missing: scripts/kernels builds it", hearth.display());
    hearth
}

fn tools(architecture: Architecture) -> Tools {
    let own = if architecture.is_foreign() {
        let own = hearth_tests::root().join("target/aarch64-unknown-linux-gnu/debug/hearth");
        assert!(own.is_file(), "{} is missing: scripts/arm64 debug", own.display());
        own
    } else {
        hearth()
    };
    let passed =
        ["RECORDER_TESTS"].into_iter().filter_map(|name| Some((name.into(), std::env::var_os(name)?)));
    Tools {
        architecture,
        hearth: own,
        scripts: Path::new(env!("CARGO_MANIFEST_DIR")).join("kernel/scripts"),
        environment: passed.chain([("HEARTH_LIB".into(), hearth_tests::root().into())]).collect(),
    }
}

/// Runs the cases: those of each guest together, in the order of the list.
fn run(
    tools: &Tools,
    shapes: &BTreeMap<String, Shape>,
    cases: &[Case],
    results: &mut Results,
) -> Result<(), Interrupted> {
    let mut places: Vec<_> = Vec::new();
    for case in cases {
        if !places.contains(&case.place()) {
            places.push(case.place());
        }
    }
    let work = tempfile::tempdir().expect("a temporary folder");
    for place in places {
        let here: Vec<Case> = cases.iter().filter(|case| case.place() == place).cloned().collect();
        let Some(shape) = place.1.map(|name| &shapes[name]) else {
            for case in &here {
                on_host(tools, case, work.path(), results);
            }
            continue;
        };
        println!("\nLinux {}, guest {}", place.0, place.1.unwrap_or_default());
        guest::run(tools, shape, &here, work.path(), &mut |number, folder, how| {
            results.take(&here[number], check(tools, &here[number], folder, how));
        })?;
    }
    Ok(())
}

/// Runs a case that needs no guest, or boots its own.
fn on_host(tools: &Tools, case: &Case, work: &Path, results: &mut Results) {
    let folder = tempfile::tempdir_in(work).expect("a temporary folder");
    let begun = Instant::now();
    let status = host(tools, case, folder.path());
    let (time, how) = (begun.elapsed(), judge(case, folder.path(), status));
    results.take(case, Verdict::of(how, time));
}

enum Verdict {
    Passed(Duration),
    Failed(String, Duration),
    Skipped(String),
}

impl Verdict {
    fn of(how: Result<(), String>, time: Duration) -> Verdict {
        how.map_or_else(|why| Verdict::Failed(why, time), |()| Verdict::Passed(time))
    }
}

/// Checks what a case left in its folder, and runs its commands for the host there.
fn check(tools: &Tools, case: &Case, folder: &Path, how: Ended) -> Verdict {
    let (status, time) = match how {
        Ended::NoGuest(why) => return Verdict::Skipped(why),
        Ended::Lost(why, time) => return Verdict::Failed(format!("{}\n{why}", output(folder)), time),
        Ended::Status(status, time) => (status, time),
    };
    let checked = judge(case, folder, status).and_then(|()| match &case.host {
        Some(_) => match host(tools, case, folder) {
            0 => Ok(()),
            status => Err(format!("{}\nstatus {status} on the host", output(folder))),
        },
        None => Ok(()),
    });
    let compared = || {
        let release = std::fs::read_to_string(folder.with_file_name("release")).unwrap_or_default();
        let counts = if case.counts { counts::compare(release.trim(), folder) } else { Ok(()) };
        counts.and_then(|()| if case.costs { costs::compare(release.trim(), folder) } else { Ok(()) })
    };
    Verdict::of(checked.and_then(|()| compared()), time)
}

fn output(folder: &Path) -> String {
    let bytes = std::fs::read(folder.join("output")).unwrap_or_default();
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}

/// Whether status, output and the kernel's log are as they should be.
fn judge(case: &Case, folder: &Path, status: i32) -> Result<(), String> {
    let output = output(folder);
    let log = std::fs::read_to_string(folder.join("log")).unwrap_or_default();
    let mut wrong = Vec::new();
    match status {
        124 | 137 => wrong.push(format!("it took longer than {} s", case.timeout)),
        status if status != case.status => wrong.push(format!("status {status}, not {}", case.status)),
        _ => {}
    }
    if case.ends && !output.ends_with("end") {
        wrong.push("it did not reach its end".into());
    }
    let missing = case.expect.iter().filter(|text| !output.contains(text.as_str()));
    wrong.extend(missing.map(|text| format!("it did not print: {text}")));
    let forbidden = case.expect_not.iter().filter(|text| output.contains(text.as_str()));
    wrong.extend(forbidden.map(|text| format!("it printed: {text}")));
    let failed = output.lines().filter(|line| line.starts_with("FAILED"));
    wrong.extend(failed.map(str::to_owned));
    let log = without_warnings_of(&log, case.warns.as_deref());
    let complaints = log.iter().filter(|line| complains(line));
    wrong.extend(complaints.map(|line| format!("the kernel complains: {line}")));
    if wrong.is_empty() { Ok(()) } else { Err(format!("{output}\n{}", wrong.join("\n"))) }
}

/// The lines of the kernel's log without the warnings of a function: each has a line with its name, and later a trace of calls.
fn without_warnings_of<'l>(log: &'l str, function: Option<&str>) -> Vec<&'l str> {
    let mut traces = 0;
    let stays = |line: &&str| {
        let warns = function.is_some_and(|function| line.contains("WARNING:") && line.contains(function));
        traces += u32::from(warns);
        let trace = traces > 0 && line.contains("Call Trace");
        traces -= u32::from(trace);
        !warns && !trace
    };
    log.lines().filter(stays).collect()
}

/// Whether a line of the kernel's log reports a problem. The watchdog must report policy `loses`.
fn complains(line: &str) -> bool {
    const COMPLAINTS: [&str; 8] = [
        "BUG",
        "WARNING:",
        "Call Trace",
        "runtime error",
        "runnable task stall",
        "soft lockup",
        "rcu: INFO",
        // Of a thread that a core takes from its queue: its preemption is lost.
        "has zero slice",
    ];
    !line.contains("\"loses\"") && COMPLAINTS.iter().any(|word| line.contains(word))
}

/// Runs the commands of a case for the host, in its folder. Returns their status; the output is in the folder.
fn host(tools: &Tools, case: &Case, folder: &Path) -> i32 {
    let output = std::fs::OpenOptions::new().create(true).append(true).open(folder.join("output"));
    let output = output.expect("the output of the case");
    let (policy, next) = case.policy.clone().unwrap_or_default();
    let status = Command::new("timeout")
        .args(["--kill-after=10", &case.timeout.to_string(), "sh", "-c"])
        .arg(case.host.as_deref().unwrap_or_default())
        .current_dir(folder)
        .env("H", hearth())
        .env("S", &tools.scripts)
        .env("KERNEL", &case.kernel)
        .env("POLICY", policy)
        .env("NEXT", next)
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(std::process::Stdio::null())
        .stdout(output.try_clone().expect("a file"))
        .stderr(output)
        .status()
        .expect("a shell");
    status.code().unwrap_or(137)
}

#[derive(Default)]
struct Results {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
    ignored: usize,
    out: usize,
}

impl Results {
    fn take(&mut self, case: &Case, verdict: Verdict) {
        let name = self.name(case);
        match verdict {
            Verdict::Passed(time) => {
                println!("test {name} ... ok ({:.1} s)", time.as_secs_f64());
                self.passed += 1;
            }
            Verdict::Failed(why, time) => {
                println!("test {name} ... FAILED ({:.1} s)", time.as_secs_f64());
                let lines: Vec<&str> = why.lines().collect();
                for line in &lines[lines.len().saturating_sub(60)..] {
                    println!("  | {line}");
                }
                self.failed.push(name);
            }
            Verdict::Skipped(why) => self.skip(case, &why),
        }
    }

    fn name(&self, case: &Case) -> String {
        if case.kernel == LATEST {
            case.name.clone()
        } else {
            format!("{} (Linux {})", case.name, case.kernel)
        }
    }

    /// A test that does not run fails in CI.
    fn skip(&mut self, case: &Case, why: &str) {
        let name = self.name(case);
        let why = why.lines().next().unwrap_or_default().to_owned();
        // The thread's name is that of the test.
        let skipping = std::thread::Builder::new().name(name.clone()).spawn(move || hearth_tests::skip(&why));
        match skipping.expect("a thread").join() {
            Ok(()) => self.skipped += 1,
            Err(_) => self.failed.push(name),
        }
    }

    fn print(&self, time: Duration) {
        if !self.failed.is_empty() {
            println!("\nfailures:");
            self.failed.iter().for_each(|name| println!("    {name}"));
        }
        println!(
            "\ntest result: {}. {} passed; {} failed; {} ignored; {} filtered out; finished in {:.1} s",
            if self.failed.is_empty() { "ok" } else { "FAILED" },
            self.passed,
            self.failed.len(),
            self.ignored + self.skipped,
            self.out,
            time.as_secs_f64()
        );
    }
}
