//! Records real commands. Where tracefs cannot be used, says so and passes.

use hearth_kernel::{Error, Options, Recording, record};
use hearth_trace::{IDLE, Kind};

/// `None`, with the reason printed: this machine does not let us record.
fn try_record(words: &[&str]) -> Option<Recording> {
    let words: Vec<String> = words.iter().map(|word| word.to_string()).collect();
    match record(&words, Options::default()) {
        Ok(recording) => Some(recording),
        Err(error @ (Error::NoTracefs | Error::NotAllowed { .. } | Error::Lockdown)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_loop_of_forks() {
    let Some(recording) = try_record(&["sh", "-c", "for i in 1 2 3; do /bin/true; done"]) else { return };
    let Recording { trace, status, inferred } = recording;
    assert!(status.success());
    let header = &trace.header;
    let traced = |tid| header.threads.iter().any(|thread| thread.tid == tid && thread.traced);
    let count = |what: fn(&Kind) -> Option<u32>| {
        trace.events.iter().filter_map(|event| what(&event.kind)).filter(|tid| traced(*tid)).count()
    };
    let forks = count(|kind| if let Kind::Fork { child, .. } = kind { Some(*child) } else { None });
    let exits = count(|kind| if let Kind::Exit { thread } = kind { Some(*thread) } else { None });
    let waits = count(|kind| if let Kind::Wait { thread } = kind { Some(*thread) } else { None });
    let execs: Vec<&str> = (trace.events.iter())
        .filter_map(|event| match event.kind {
            Kind::Exec { thread, name } if traced(thread) => Some(header.names[name as usize].as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(forks, 3);
    assert_eq!(exits, 4);
    assert!(waits >= 3, "{waits} waits");
    assert_eq!(execs, ["sh", "true", "true", "true"]);
    // No buffer overflowed. (Some kernels leave out a switch now and then, in their own
    // text trace too.)
    assert_eq!(header.lost.iter().sum::<u64>(), inferred, "events were lost");
    let violations = trace.check();
    assert!(violations.is_empty(), "{} violations, first: {}", violations.len(), violations[0]);

    let summary = trace.summary();
    assert!(summary.duration_s > 0.0 && summary.busy_core_s > 0.0, "{summary:?}");
    assert!(summary.busy_core_s <= summary.duration_s * header.cores.len() as f64);
    assert!(summary.wakeup_latency_us.count >= 3);
    assert!(header.threads.iter().all(|thread| thread.tid != IDLE));
}

#[test]
fn the_status_of_the_command_is_returned() {
    let Some(recording) = try_record(&["sh", "-c", "exit 3"]) else { return };
    assert_eq!(recording.status.code(), Some(3));
}

#[test]
fn a_command_that_does_not_exist() {
    match record(&["no-such-program-anywhere".into()], Options::default()) {
        Err(Error::NoTracefs | Error::NotAllowed { .. } | Error::Lockdown) => {}
        Err(error) => assert!(error.to_string().contains("no-such-program-anywhere"), "{error}"),
        Ok(_) => panic!("it was recorded"),
    }
}

/// A recording leaves nothing behind in the kernel, also when the command is killed.
#[test]
fn the_instance_is_removed() {
    let Some(recording) = try_record(&["sh", "-c", "kill -9 $$"]) else { return };
    assert!(!recording.status.success());
    let ours = format!("hearth-{}-", std::process::id());
    let left = || {
        let instances = std::fs::read_dir("/sys/kernel/tracing/instances").into_iter().flatten().flatten();
        instances.filter(|entry| entry.file_name().to_string_lossy().starts_with(&ours)).count()
    };
    // The other tests of this process record too: theirs are gone when they have ended.
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while left() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} instances are left", left());
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// A thousand forks: the buffers hold, and the trace stays sound.
#[test]
fn a_long_loop_is_sound() {
    let script = "i=0; while [ $i -lt 1000 ]; do /bin/true; i=$((i+1)); done";
    let Some(Recording { trace, inferred, .. }) = try_record(&["sh", "-c", script]) else { return };
    let forks = |event: &&hearth_trace::Event| matches!(event.kind, Kind::Fork { .. });
    assert!(trace.events.iter().filter(forks).count() >= 1000);
    assert_eq!(trace.header.lost.iter().sum::<u64>(), inferred, "events were lost");
    let violations = trace.check();
    assert!(violations.is_empty(), "{} violations, first: {}", violations.len(), violations[0]);
}
