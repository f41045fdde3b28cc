//! Tests of policies in live kernels, in virtual machines. `HEARTH_VM_TESTS=6.18,7.3` names the kernels; without it the
//! tests do nothing. They need `target/debug/hearth` (`cargo build -p hearth-sched`) and the objects (`scripts/bpf debug`).
//! `HEARTH_VM_ARCH=arm64` emulates that architecture; then the guest's hearth is that of `scripts/arm64 debug`.
//! `HEARTH_VM_THOROUGH=1` tests all policies that a test is for, not only some of each kind.

use hearth_vm::{Acceleration, Architecture, Options, Streams, Topology, Wish};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn hearth() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let hearth = test.ancestors().nth(2).expect("it is in target/PROFILE/deps").join("hearth");
    assert!(hearth.is_file(), "{} is missing: cargo build -p hearth-sched", hearth.display());
    hearth
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

/// The hearth that runs in guests.
fn guests_hearth() -> PathBuf {
    if !architecture().is_foreign() {
        return hearth();
    }
    let target = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target");
    let hearth = target.join("aarch64-unknown-linux-gnu/debug/hearth");
    assert!(hearth.is_file(), "{} is missing: scripts/arm64 debug", hearth.display());
    hearth.canonicalize().expect("a path")
}

/// Kernels differ in what their verifiers refuse.
#[test]
fn verifiers_accept_every_policy() {
    in_each_kernel_on(CPUS, &[&["accepts.sh"], &POLICIES[..]].concat(), compare_verified);
}

#[test]
fn verbs_work_in_live_kernels() {
    in_each_kernel(&["verbs.sh"]);
}

#[test]
fn verbs_change_and_replace_a_policy_under_load() {
    in_each_kernel(&["replaces.sh"]);
}

#[test]
fn verbs_give_a_policy_the_threads_of_a_cgroup() {
    in_each_kernel(&["members.sh"]);
}

#[test]
fn verbs_go_on_when_cores_go_and_come() {
    in_each_kernel(&["plugs.sh"]);
}

/// A machine that keeps running: one shell runs a policy, others see and change it.
#[test]
fn shells_of_a_machine_share_its_policy() {
    let kernels = std::env::var("HEARTH_VM_TESTS").unwrap_or_default();
    if architecture().is_foreign() {
        return;
    }
    for kernel in kernels.split(',').filter(|kernel| !kernel.is_empty()) {
        let runtime = tempfile::tempdir().expect("a temporary folder");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/detached.sh");
        let output = Command::new("timeout")
            .args(["--kill-after=10", "300", "sh"])
            .args([&script, &hearth()])
            .arg(kernel)
            .env("XDG_RUNTIME_DIR", runtime.path())
            .stdin(std::process::Stdio::null())
            .output()
            .expect("a shell");
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        println!("Linux {kernel}:\n{text}");
        assert!(
            !text.contains("FAILED") && text.trim_end().ends_with("end"),
            "Linux {kernel}:\n{text}\n{errors}"
        );
    }
}

/// Instructions that the verifier processed, by policy and program.
type Policies = BTreeMap<String, BTreeMap<String, u64>>;

/// Those of one compiler, by kernel.
#[derive(Serialize, Deserialize, Default)]
struct Counts {
    clang: String,
    kernels: BTreeMap<String, Policies>,
}

/// The first line of `clang --version`, for the clang that made the objects.
fn clang() -> String {
    let clang = std::env::var("CLANG").unwrap_or_else(|_| "clang-19".into());
    let version = Command::new(clang).arg("--version").output().expect("the clang that made the objects");
    String::from_utf8_lossy(&version.stdout).lines().next().unwrap_or_default().to_owned()
}

/// The kernel of a guest and the counts that it left in `folder`.
fn counts_of_guest(folder: &Path) -> (String, Policies) {
    let (mut kernel, mut policies) = (String::new(), Policies::new());
    for policy in POLICIES {
        let text =
            std::fs::read_to_string(folder.join(format!("{policy}.verified.json"))).expect("its programs");
        let json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        kernel = json["kernel"].as_str().expect("a kernel").to_owned();
        let count = |program: &serde_json::Value| {
            Some((program["name"].as_str()?.to_owned(), program["processed"].as_u64()?))
        };
        let programs = json["programs"].as_array().expect("programs");
        policies.insert(
            policy.to_owned(),
            programs.iter().map(|program| count(program).expect("a count")).collect(),
        );
    }
    (kernel, policies)
}

/// Compares the counts with those that `verifier.toml` has for this clang and kernel, if any. They must be equal, so
/// that no count approaches the kernel's limit unnoticed. `BLESS=1` writes them to the file.
fn compare_verified(folder: &Path) {
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/verifier.toml");
    let (clang, (kernel, counts)) = (clang(), counts_of_guest(folder));
    let mut stored: Counts = toml::from_str(&std::fs::read_to_string(FILE).expect("a file")).expect("counts");
    if std::env::var_os("BLESS").is_some() {
        if stored.clang != clang {
            stored = Counts { clang, ..Counts::default() };
        }
        stored.kernels.insert(kernel, counts);
        let text = toml::to_string(&stored).expect("TOML");
        return std::fs::write(FILE, text).expect("it can be written");
    }
    let before = stored.kernels.get(&kernel).filter(|_| stored.clang == clang);
    let Some(before) = before else {
        return println!("skipped: {FILE} has no counts for {clang} and Linux {kernel}");
    };
    for (policy, programs) in &counts {
        for (program, count) in programs {
            let before = before.get(policy).and_then(|programs| programs.get(program));
            if before != Some(count) {
                println!("{policy}, {program}: {count} instructions processed, not {before:?}");
            }
        }
    }
    assert!(
        *before == counts,
        "if this is intended, run BLESS=1 scripts/test kernels and review the changes of {FILE}"
    );
}

#[test]
fn policies_survive_loads_in_live_kernels() {
    let others = ["cfs", "eevdf", "slocal", "smove", "cfs-cwc"];
    in_each_kernel(&under("loads.sh", &["nest", "ule-cwc"], &others));
}

/// Disturbances eject no policy and lose no thread. `make soak` has all of them, and measures.
#[test]
fn policies_survive_a_part_of_the_soak() {
    in_each_kernel(&under("soaks.sh", &["nest"], &["cfs-cwc"]));
}

/// Policies see what others do to their threads and cores.
#[test]
fn policies_see_the_machine_in_live_kernels() {
    in_each_kernel(&under("machine.sh", &["nest", "cfs-cwc"], &["smove"]));
}

/// Weight counts across cores, and threads that do not divide evenly take turns.
#[test]
fn policies_share_the_machine_as_the_kernel_does() {
    // Nest extends CFS.
    in_each_kernel(&under("shares.sh", &["nest"], &["cfs", "eevdf"]));
}

/// A policy preempts as the kernel's own classes do: not in the middle of a system call, where that is the model.
#[test]
#[ignore = "minutes: make test-all"]
fn lazy_kernels_let_system_calls_end() {
    if !architecture().is_foreign() {
        in_each_guest(&Guest::counted(CPUS), &["lazy.sh"], |_| ());
    }
}

/// A steal changes no thread that its own core or another thief takes meanwhile. The guest compiles a policy that counts
/// such threads.
#[test]
#[ignore = "minutes: make test-all"]
fn steals_take_a_thread_before_they_change_it() {
    if !architecture().is_foreign() {
        in_each_kernel(&["races.sh"]);
    }
}

/// Threads whose properties change all the time run as often as under the kernel's own scheduler.
#[test]
#[ignore = "minutes: make test-all"]
fn policies_keep_up_with_changing_threads() {
    in_each_guest(&Guest::counted(CPUS), &under("storms.sh", &["eevdf"], &["cfs", "cfs-cwc-flat"]), |_| ());
}

/// The limits of cgroups hold.
#[test]
fn limits_of_cgroups_hold() {
    in_each_kernel(&under("tenants.sh", &["cfs"], &["ule-cwc"]));
}

/// Policies have their ticks on cores that have none while one thread runs.
#[test]
fn policies_tick_without_a_periodic_tick() {
    in_each_guest(
        &Guest { append: "nohz_full=1-3", ..Guest::of(CPUS) },
        &under("nohz.sh", &["nest"], &["cfs-cwc"]),
        |_| (),
    );
}

/// What the recorder and the player of a guest write, the host reads.
#[test]
fn recordings_of_guests_open_here() {
    in_each_guest(&Guest::of(CPUS), &["record.sh", "nest"], |folder| {
        for (trace, text) in
            [("record.trace", "Linux"), ("play.trace", "Linux"), ("nest.trace", "placements by reason")]
        {
            let report =
                Command::new(hearth()).arg("report").arg(folder.join(trace)).output().expect("hearth runs");
            let output = String::from_utf8_lossy(&report.stdout);
            assert!(report.status.success() && output.contains(text), "{trace}: {output}");
        }
    });
}

/// Products of the feature models, in which each feature of the family occurs: the verifier accepts them, and they schedule a machine.
#[test]
#[ignore = "minutes: make test-all"]
fn products_of_features_work_in_live_kernels() {
    in_each_kernel(&[
        "products.sh",
        "cfs-like",
        "ule-like",
        "nest-like",
        "list+fixed+nrRunBlock+smt+node",
        "list+infinite+usedTime+all+each+idle",
    ]);
}

/// With more than 64 cores a set has more than one word, and two last-level caches share one of them.
#[test]
#[ignore = "minutes: make test-all"]
fn policies_run_on_more_than_64_cores() {
    in_each_guest(
        &Guest { sockets: Some(2), ..Guest::of(72) },
        &under("many.sh", &["nest"], &["cfs"]),
        |_| (),
    );
}

/// Linux 6.18 tells a policy only of cores that go to sleep, not of those that sleep already. In a guest with a clock of its
/// own, each core soon runs something, so time is counted in instructions.
#[test]
fn cores_that_slept_before_are_idle() {
    in_each_guest(&Guest::counted(16), &["sleepers.sh", "cfs"], |_| ());
}

/// The simulator's build of each policy makes the decisions that the kernel's build made. The guest has two last-level
/// caches: the kernel's build stores their cores apart.
#[test]
fn decisions_agree_with_the_native_build() {
    let guest = Guest { sockets: Some(2), ..Guest::of(CPUS) };
    let others = ["cfs", "cfs-5-4", "slocal", "smove", "cfs-cwc", "cfs-cwc-flat", "ule"];
    let script = under("conform.sh", &["eevdf", "nest", "ule-cwc"], &others);
    in_each_guest(&guest, &script, |folder| {
        for policy in &script[1..] {
            let log = folder.join(format!("{policy}.log"));
            let conform = Command::new(hearth()).arg("conform").arg(&log).output().expect("hearth runs");
            let output = String::from_utf8_lossy(&conform.stdout);
            println!("{output}");
            assert!(conform.status.success() && output.contains("the log is complete"), "{output}");
        }
    });
}

const CPUS: u16 = 4;
const POLICIES: [&str; 10] =
    ["cfs", "cfs-5-4", "eevdf", "slocal", "smove", "nest", "cfs-cwc", "cfs-cwc-flat", "ule", "ule-cwc"];

/// A script, the policies that it always tests, and the others if all are wanted.
fn under<'a>(script: &'a str, policies: &[&'a str], others: &[&'a str]) -> Vec<&'a str> {
    let others = if std::env::var_os("HEARTH_VM_THOROUGH").is_some() { others } else { &[] };
    [&[script], policies, others].concat()
}

fn in_each_kernel(script: &[&str]) {
    in_each_kernel_on(CPUS, script, |_| ());
}

fn in_each_kernel_on(cpus: u16, script: &[&str], then: impl Fn(&Path)) {
    in_each_guest(&Guest::of(cpus), script, then);
}

/// What guests have besides the kernel.
struct Guest {
    cpus: u16,
    /// Each has its own last-level cache; `None`: one.
    sockets: Option<u16>,
    /// Kernel parameters.
    append: &'static str,
    acceleration: Acceleration,
}

impl Guest {
    /// Foreign architectures are emulated one CPU at a time. With more CPUs than the host has cores, 1,000 threads stall
    /// an arm64 kernel in its spin locks.
    fn of(cpus: u16) -> Guest {
        let acceleration =
            if architecture().is_foreign() { Acceleration::Counted } else { Acceleration::Auto };
        Guest { cpus, sockets: None, append: "", acceleration }
    }

    /// Its time is the number of executed instructions.
    fn counted(cpus: u16) -> Guest {
        Guest { acceleration: Acceleration::Counted, ..Guest::of(cpus) }
    }
}

/// Runs a script of this folder in each kernel. All its checks must pass, and the kernel must log no complaint. Then
/// calls `then` with the folder that the script ran in.
fn in_each_guest(guest: &Guest, script: &[&str], then: impl Fn(&Path)) {
    let kernels = std::env::var("HEARTH_VM_TESTS").unwrap_or_default();
    for kernel in kernels.split(',').filter(|kernel| !kernel.is_empty()) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (output, log) = run(kernel, guest, script, folder.path());
        println!("Linux {kernel}:\n{output}");
        assert!(
            !output.contains("FAILED") && output.trim_end().ends_with("end"),
            "Linux {kernel}:\n{output}\n{log}"
        );
        let complaints: Vec<&str> = log.lines().filter(|line| complains(line)).collect();
        assert!(complaints.is_empty(), "Linux {kernel} complains: {complaints:#?}");
        then(folder.path());
    }
}

/// Whether a line of the kernel's log reports a problem. The watchdog must report policy `loses`.
fn complains(line: &str) -> bool {
    !line.contains("\"loses\"")
        && [
            "BUG",
            "WARNING:",
            "Call Trace",
            "runtime error",
            "runnable task stall",
            "soft lockup",
            "rcu: INFO",
        ]
        .iter()
        .any(|word| line.contains(word))
}

/// Most restarts of a guest that ended by a fault of the emulator.
const RESTARTS: u32 = 2;

/// Runs the script in a guest, in `folder`. Returns its output and the kernel's log.
fn run(kernel: &str, guest: &Guest, script: &[&str], folder: &Path) -> (String, String) {
    for _ in 0..RESTARTS {
        match run_once(kernel, guest, script, folder) {
            Err((error @ hearth_vm::Error::StaleCode { .. }, _)) => {
                println!("Linux {kernel}: {error}");
                clear(folder);
            }
            other => return finished(kernel, other),
        }
    }
    finished(kernel, run_once(kernel, guest, script, folder))
}

/// Removes the files of an interrupted guest.
fn clear(folder: &Path) {
    std::fs::remove_dir_all(folder).and_then(|()| std::fs::create_dir(folder)).expect("an empty folder");
}

/// Output of the script, and the log of the kernel.
type Output = (String, String);

fn finished(kernel: &str, result: Result<Output, (hearth_vm::Error, String)>) -> Output {
    result.unwrap_or_else(|(error, output)| panic!("Linux {kernel}: {error}\n{output}"))
}

fn run_once(
    kernel: &str,
    guest: &Guest,
    script: &[&str],
    folder: &Path,
) -> Result<Output, (hearth_vm::Error, String)> {
    let dmesg = folder.join("dmesg");
    let wish = Wish { cpus: Some(guest.cpus), sockets: guest.sockets, ..Wish::default() };
    let options = Options {
        architecture: architecture(),
        kernel: kernel.into(),
        topology: Topology::new(wish).expect("a topology"),
        directory: folder.into(),
        dmesg: Some(dmesg.clone()),
        append: guest.append.into(),
        acceleration: guest.acceleration,
        timeout: Some(Duration::from_secs(if architecture().is_foreign() { 3600 } else { 1800 })),
        ..Options::default()
    };
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut command = vec!["sh".into(), tests.join(script[0]).into(), guests_hearth().into()];
    command.extend(script[1..].iter().map(Into::into));
    let (mut reader, writer) = std::io::pipe().expect("a pipe");
    let text = std::thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).expect("the script prints text");
        text
    });
    let errors = writer.try_clone().expect("a pipe");
    let streams =
        Streams { stdin: Box::new(std::io::empty()), stdout: Box::new(writer), stderr: Box::new(errors) };
    let exit = hearth_vm::run(&options, &command, streams, &mut |_| ());
    let output = text.join().expect("the reader ends");
    match exit {
        Ok(_) => Ok((output, std::fs::read_to_string(dmesg).unwrap_or_default())),
        Err(error) => Err((error, output)),
    }
}
