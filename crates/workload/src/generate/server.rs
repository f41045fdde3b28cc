//! `server`: clients and a pool of workers that serve short requests.
//!
//! Modelled on the description of DaCapo's h2 and similar benchmarks in the Nest paper (section
//! 5.3): around 10 cores suffice for the tasks, which "frequently sleep for brief periods", hence
//! 14 threads. A client thinks, sends a request and waits. A worker takes the oldest request,
//! computes, often waits for a device, computes and answers.
//!
//! An answer wakes the client that has waited longest, not necessarily the one that sent the
//! request: the graph carries no data, and the clients are identical. The model omits the threads
//! of a virtual machine (compilation, garbage collection).

use super::barrier::CREATE;
use super::builder::{Builder, io, run, sleep, varied};
use super::params::SEED;
use super::random::{Quantiles, Random};
use super::{Args, Generator, Param};
use crate::{Op, Workload};

pub(super) const GENERATOR: Generator = Generator {
    name: "server",
    summary: "clients and a pool of workers: short requests, frequent short sleeps (DaCapo h2)",
    params: &[
        Param::new("clients", 8, 1, 10_000, "threads", "clients, each with one outstanding request"),
        Param::new("workers", 6, 1, 10_000, "threads", "workers in the pool"),
        Param::new("requests", 400, 1, 1_000_000, "requests", "requests per client"),
        Param::new("service", 400, 1, 1_000_000, "us", "median CPU time of a request (assumed)"),
        Param::new("io", 60, 0, 100, "%", "requests that wait for a device (assumed)"),
        Param::new("wait", 200, 1, 1_000_000, "us", "duration of that wait (assumed: an SSD)"),
        Param::new("think", 300, 0, 1_000_000, "us", "median delay of a client between requests (assumed)"),
        SEED,
    ],
    build,
};

/// CPU time of a client per request in microseconds: encoding, a socket call. Assumed.
const CLIENT: u64 = 30;

fn build(args: &Args) -> Workload {
    let mut random = Random::new(args.get("seed"));
    let mut builder = Builder::default();
    let requests = builder.semaphore(0);
    let answers = builder.semaphore(0);
    // Assumed: a long tail, as in service times of databases.
    let skewed = |half: u64| Quantiles { min: half / 4, half, p90: half * 3, p99: half * 8, max: half * 20 };
    let (service, think) = (skewed(args.get("service")), skewed(args.get("think")));

    let main = builder.thread("main");
    let mut team = Vec::new();
    let (clients, workers) = (args.get("clients"), args.get("workers"));
    let total = clients * args.get("requests");
    for index in 0..workers {
        let share = total / workers + u64::from(index < total % workers);
        let ops = varied(&mut random, share, |random| {
            let us = service.draw(random);
            let mut ops = vec![Op::Wait(requests)];
            match random.percent(args.get("io")) {
                true => ops.extend([run(us / 2), io(random.around(args.get("wait"), 50)), run(us - us / 2)]),
                false => ops.push(run(us)),
            }
            ops.push(Op::Post(answers));
            ops
        });
        team.push(builder.thread_with("worker", ops));
    }
    for _ in 0..clients {
        let ops = varied(&mut random, args.get("requests"), |random| {
            vec![sleep(think.draw(random)), run(CLIENT), Op::Post(requests), Op::Wait(answers)]
        });
        team.push(builder.thread_with("client", ops));
    }
    for &thread in &team {
        builder.extend(main, [run(CREATE), Op::Fork(thread)]);
    }
    builder.extend(main, team.into_iter().map(Op::Join));
    builder.finish()
}
