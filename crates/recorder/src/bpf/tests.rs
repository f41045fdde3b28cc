//! Decoding of words. `tests/record.rs` tests the programs in a kernel.

use super::bindings::*;
use super::*;
use hearth_trace::Stop;
use hearth_trace::ftrace::KernelEvent;
use proptest::prelude::*;

fn word(kind: u32, time: u64, payload: u64) -> u64 {
    u64::from(kind) | (time & 0xff_ffff) << 4 | payload << 28
}

fn resync(time: u64, pid: u64, lost: u64) -> [u64; 3] {
    [word(RESYNC, time, pid), time, lost]
}

fn switch(time: u64, next: u64, stop: u64, length: u64) -> u64 {
    word(SWITCH, time, next | stop << 22 | length << 24)
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Time, core and text of each item, of rounds of words for two cores, 0 and 3.
fn items(rounds: &[(u64, [&[u64]; 2])]) -> Vec<(u64, u32, String)> {
    let mut stream = Words { lanes: vec![Lane::new(0), Lane::new(3)] };
    let mut items = Vec::new();
    for (complete_to, cores) in rounds {
        let round =
            Round { cores: cores.iter().map(|words| bytes(words)).collect(), complete_to: *complete_to };
        let mut take = |item: Item<'_>| match item {
            Item::Lost { cpu, count } => items.push((0, cpu, format!("lost {count:?}"))),
            Item::Event(KernelEvent { time, cpu, pid, interrupt, kind }) => {
                let by = if interrupt { "interrupt over " } else { "" };
                items.push((time, cpu, format!("{by}{pid}: {kind:?}")));
            }
        };
        stream.round(round, &mut take).unwrap();
    }
    items
}

fn texts(items: &[(u64, u32, String)]) -> Vec<&str> {
    items.iter().map(|(_, _, text)| text.as_str()).collect()
}

#[test]
fn each_kind_of_record() {
    let exec_path = b"/usr/lib/a-long-folder/\xc3\xa9-program\0";
    let mut path = [0u8; 56];
    path[..exec_path.len()].copy_from_slice(exec_path);
    let path: Vec<u64> = path.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect();
    let highest = path.iter().enumerate().fold(0, |bits, (i, word)| bits | word >> 63 << i);
    let name = u128::from_le_bytes(*b"fifteen letters\0");
    let named = [(name & ((1 << 62) - 1)) as u64, (name >> 62) as u64];
    let mut words = resync(1_000_000_000, 7, 0).to_vec();
    words.extend([
        switch(1_000_000_010, 8, 2, 1),
        word(WAKING_IN_INTERRUPT, 1_000_000_020, 7 | 5 << 22),
        word(WAKING_SYNC, 1_000_000_025, 7 | 5 << 22),
        word(WAKEUP_NEW, 1_000_000_030, 9 | 4095 << 22),
        word(MIGRATE, 1_000_000_040, 9 | 6 << 22),
        5 | 1 << 32,
    ]);
    words.extend([word(FORK, 1_000_000_050, 12), 1_000_000_050, named[0], named[1], 8 | 7 << 32]);
    words.extend([word(EXEC, 1_000_000_060, 8), 1_000_000_060, 77]);
    words.extend(path.iter().map(|word| word & (u64::MAX >> 1)));
    words.push(highest);
    words.extend([
        word(EXIT, 1_000_000_070, 77 | u64::from(WAITS) << 22),
        1_000_000_070,
        word(EXIT, 1_000_000_080, 77),
        1_000_000_080,
    ]);
    words.extend([word(FREQUENCY, 1_000_000_090, 3), 1_000_000_090, 2_100_000]);
    words.extend([
        switch(1_000_000_100, 0, 3, 0),
        word(IDLE, 1_000_000_110, 2),
        word(TICK, 1_000_000_120, 3_000_000),
    ]);
    let decision = |time: u64, subject: u64, what: u64| [word(DECISION, time, subject), time, what];
    words.extend(decision(1_000_000_130, 9 | 6 << 22, 2_300_000 | 3 << 32 | 4 << 48));
    words.extend(decision(1_000_000_140, 5 << 22, 1 << 32 | 13 << 48 | 1 << 56));
    words.extend(decision(1_000_000_150, 5 << 22, 10 << 48));
    let expected = [
        "7: Running",
        "7: Switch { prev: 7, prev_comm: [], stop: Blocked, next: 8, next_comm: [] }",
        "interrupt over 8: Waking { pid: 7, comm: [], target: 5, sync: false }",
        "8: Waking { pid: 7, comm: [], target: 5, sync: true }",
        "8: WakeupNew { pid: 9, comm: [], target: 4095 }",
        "8: Migrate { pid: 9, from: 5, to: 6, queued: true }",
        &format!("8: Fork {{ parent: 8, child: 12, child_comm: {:?} }}", b"fifteen letters"),
        "8: Member { pid: 12, process: 7 }",
        &format!("77: Exec {{ pid: 77, old_pid: 8, filename: {:?} }}", &exec_path[..exec_path.len() - 1]),
        "77: Wait",
        "77: Exit { pid: 77 }",
        "77: Frequency { cpu: 3, khz: 2100000 }",
        "77: Switch { prev: 77, prev_comm: [], stop: Exited, next: 0, next_comm: [] }",
        "0: Idle { cpu: 0, state: Some(2) }",
        "0: Tick { khz: 3000000 }",
        "0: Decision(Place { pid: 9, target: 6, reason: 3, khz: 2300000 })",
        "0: Decision(Set { cpu: 5, set: 1, member: true })",
        "0: Decision(Spin { cpu: 5, on: false })",
    ];
    let items = items(&[(u64::MAX, [&words, &[]])]);
    assert_eq!(texts(&items), expected);
    let times: Vec<u64> = items.iter().map(|(time, ..)| time - 1_000_000_000).collect();
    assert_eq!(times, [0, 10, 20, 25, 30, 40, 50, 50, 60, 70, 80, 90, 100, 110, 120, 130, 140, 150]);
}

#[test]
fn losses_precede_the_next_event() {
    let words = resync(500, 4, 12);
    assert_eq!(texts(&items(&[(u64::MAX, [&words, &[]])])), ["lost Some(12)", "4: Running"]);
}

/// Lengths of 0 and 1 follow from the switches.
#[test]
fn run_queues_are_reported_from_two_threads_on() {
    let mut words = resync(100, 0, 0).to_vec();
    words.extend([switch(101, 5, 0, 1), switch(102, 6, 0, 2), switch(103, 5, 0, 2), switch(104, 0, 2, 0)]);
    let items = items(&[(u64::MAX, [&words, &[]])]);
    let queues: Vec<_> = items.iter().filter(|(.., text)| text.contains("Queue")).collect();
    assert_eq!(
        queues,
        [&(102, 0, "6: Queue { length: 2 }".into()), &(104, 0, "0: Queue { length: 0 }".into())]
    );
}

#[test]
fn nothing_is_reported_while_the_running_thread_is_unknown() {
    let here = [word(HERE, 70, 9), 70];
    let words = [&[word(WAKING, 50, 3)][..], &here, &[word(WAKING, 80, 3)]].concat();
    assert_eq!(
        texts(&items(&[(u64::MAX, [&words, &[]])])),
        ["9: Running", "9: Waking { pid: 3, comm: [], target: 0, sync: false }"]
    );
}

proptest! {
    /// The events do not depend on how the words are split into rounds.
    #[test]
    fn rounds_do_not_matter(
        steps in proptest::collection::vec((0usize..2, 1u64..9_000_000), 1..60),
        cuts in proptest::collection::vec(1usize..8, 0..60),
    ) {
        let mut cores = [vec![], vec![]];
        let mut last = [0, 0];
        let mut time = 1 << 40;
        for (core, step) in steps {
            time += step;
            if time - last[core] > 1 << 23 {
                cores[core].extend(resync(time, 3, 0));
            }
            last[core] = time;
            cores[core].push(switch(time, time & 0xff, 2, 1));
        }
        let whole = items(&[(u64::MAX, [&cores[0], &cores[1]])]);
        prop_assert!(whole.is_sorted_by_key(|(time, ..)| *time));
        let mut rest = [&cores[0][..], &cores[1][..]];
        let mut rounds = Vec::new();
        for pair in cuts.chunks(2) {
            let mut cut = |core: usize, count: usize| {
                let (now, later) = rest[core].split_at(count.min(rest[core].len()));
                rest[core] = later;
                now
            };
            let words = [cut(0, pair[0]), cut(1, pair[pair.len() - 1])];
            // Only words before the first missing one are complete; a resync may be split.
            rounds.push((0, words));
        }
        rounds.push((u64::MAX, rest));
        prop_assert_eq!(items(&rounds), whole);
    }

    /// No bytes make it panic or loop.
    #[test]
    fn noise_is_survived(noise in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut stream = Words { lanes: vec![Lane::new(0)] };
        let mut count = 0;
        let round = Round { cores: vec![noise.clone()], complete_to: u64::MAX };
        stream.round(round, &mut |_| count += 1).unwrap();
        prop_assert!(count <= noise.len());
    }
}

#[test]
fn stops() {
    assert_eq!([0, 2, 3].map(words::stop), [Stop::Preempted, Stop::Blocked, Stop::Exited]);
}

#[test]
fn wf_sync_of_each_kernel() {
    let flags = ["5.10.0-32-amd64", "5.12.0", "6.18.1+deb13", "7.3-rc1"].map(sync_flag);
    assert_eq!(flags, [0x01, 0x10, 0x10, 0x10]);
}
