//! `hackbench`: groups of senders and receivers that exchange small messages.
//!
//! Three phases (Fewer Cores paper, section 4.4): a main thread creates all threads, which
//! "immediately wait on a barrier"; they then communicate through pipes; the main thread reaps
//! them. Each sender of a group sends to each receiver of the group in turn.
//!
//! The defaults give 20,000 messages. The Nest paper (section 5.6) runs `-g 100 -l 10000`, i.e.
//! `hackbench:groups=100,fds=20,loops=10000`, 400 million messages, which take hours to simulate.

use super::builder::{Builder, run};
use super::{Args, Generator, Param};
use crate::{Op, ThreadIdx, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "hackbench",
    summary: "groups of senders and receivers that exchange small messages (hackbench)",
    params: &[
        Param::new("groups", 4, 1, 1_000, "groups", "number of groups"),
        Param::new("fds", 10, 1, 50, "pairs", "senders, and also receivers, per group (hackbench: 20)"),
        Param::new("loops", 50, 1, 1_000_000, "rounds", "messages from each sender to each receiver"),
        Param::new(
            "send",
            2,
            1,
            1_000,
            "us",
            "CPU time to send a message (assumed: one system call, 100 bytes)",
        ),
        Param::new("receive", 2, 1, 1_000, "us", "CPU time to receive a message (assumed)"),
        Param::new(
            "room",
            640,
            1,
            1_000_000,
            "messages",
            "capacity of a pipe (16 pages of 40 messages of 100 bytes)",
        ),
    ],
    build,
};

/// CPU time in microseconds of the main thread for a fork, and of the new process until it is
/// ready, both without `exec`. Assumed.
const FORK: u64 = 60;
const START: u64 = 40;

fn build(args: &Args) -> Workload {
    let (groups, fds, loops) = (args.count("groups"), args.count("fds"), args.count("loops"));
    let mut builder = Builder::default();
    let main = builder.thread("hackbench");
    let ready = builder.pipe(0);
    let go = builder.pipe(0);
    let begin = || vec![run(START), Op::Post(ready), Op::Wait(go)];
    let mut team: Vec<ThreadIdx> = Vec::new();
    for _ in 0..groups {
        let mut sends = Vec::new();
        for _ in 0..fds {
            let room = builder.pipe(args.count("room"));
            let full = builder.pipe(0);
            sends.extend([Op::Wait(room), run(args.get("send")), Op::Post(full)]);
            let receive = vec![Op::Wait(full), run(args.get("receive")), Op::Post(room)];
            let mut ops = begin();
            ops.push(Op::repeat(loops * fds, receive));
            team.push(builder.thread_with("receiver", ops));
        }
        for _ in 0..fds {
            let mut ops = begin();
            ops.push(Op::repeat(loops, sends.clone()));
            team.push(builder.thread_with("sender", ops));
        }
    }
    for &thread in &team {
        builder.extend(main, [run(FORK), Op::Fork(thread)]);
    }
    let all = team.len() as u32;
    builder.extend(main, [Op::repeat(all, vec![Op::Wait(ready)]), Op::repeat(all, vec![Op::Post(go)])]);
    builder.extend(main, team.into_iter().map(Op::Join));
    builder.finish()
}
