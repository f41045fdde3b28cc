//! Serves traces to the viewer's page, or an invented one if none is given:
//! `cargo run -p hearth-view --example serve -- [TRACE]...`
//!
//! `PORT` and `TOKEN` in the environment make the address one that is known in advance; `EVENTS` and
//! `TRACES` say how much is invented. `POOR` makes it a recording that lacks events and frequencies.

use hearth_trace::tiles::Index;
use hearth_trace::*;
use hearth_view::server::{Server, View, Viewed};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut viewed = Vec::new();
    for path in std::env::args().skip(1) {
        let store = Store::open(&path)?;
        let index = Index::of(&store)?;
        let complete = store.complete();
        viewed.push(Viewed::new(path, Box::new(store), index, complete));
    }
    if viewed.is_empty() {
        for copy in 1..=number("TRACES", 1)? {
            let poor = std::env::var_os("POOR").is_some();
            let trace = demo(number("EVENTS", 2_000_000)?);
            let trace = if poor { spoiled(trace) } else { trace };
            let index = Index::in_memory(&trace)?;
            viewed.push(Viewed::new(format!("demo {copy}"), Box::new(trace), index, !poor));
        }
    }
    let port = number("PORT", 0)?;
    let mut server = Server::bind(viewed, View::built_in(), port)?;
    if let Ok(token) = std::env::var("TOKEN") {
        server = server.with_token(&token);
    }
    println!("{}", server.address());
    Ok(server.run()?)
}

/// A number from the environment.
fn number<T: std::str::FromStr>(name: &str, otherwise: T) -> Result<T, T::Err> {
    std::env::var(name).ok().map_or(Ok(otherwise), |text| text.parse())
}

/// Numbers that look random, always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

const CORES: u16 = 64;

/// Two sockets of 16 cores and 32 hyperthreads on which threads fork, block and wake, in a nest
/// that now and then is too small.
fn demo(events: usize) -> Trace {
    let core =
        |n: u16| CoreInfo { physical: n % 32, llc: n % 32 / 16, numa: n % 32 / 16, socket: n % 32 / 16 };
    let mut header = Header {
        machine: "demo".into(),
        cores: (0..CORES).map(core).collect(),
        reasons: ["attached", "primary", "reserve", "cfs"].map(String::from).to_vec(),
        sets: ["primary", "reserve"].map(String::from).to_vec(),
        names: ["sh", "cc1", "ld"].map(String::from).to_vec(),
        khz_range: (1_000_000, 3_900_000),
        lost: vec![0; CORES.into()],
        ..Header::default()
    };
    let mut machine = Machine::default();
    machine.cores.resize(CORES.into(), Core { running: 0, queue: Vec::new(), khz: 0, member: false });
    while machine.events.len() < events {
        machine.step();
    }
    header.duration = machine.time;
    // The last one is what somebody may call a thread who wants to run something in the page.
    let names = ["make", "sh", "cc1", "as", "ld", "sed", "grep", "<img src=x onerror=\"window.hacked=1\">"];
    header.threads = (1..=machine.threads)
        .map(|tid| ThreadInfo {
            tid,
            name: names[tid as usize % names.len()].into(),
            parent: tid / 2,
            traced: tid % 11 != 0,
            ..ThreadInfo::default()
        })
        .collect();
    Trace { header, events: machine.events }
}

/// A recording by a recorder that lost events, on a machine that does not show its frequencies.
fn spoiled(mut trace: Trace) -> Trace {
    trace.events.retain(|event| !matches!(event.kind, Kind::Frequency { .. }));
    trace.header.khz_range = (0, 0);
    trace.header.lost[3] = 68;
    trace.header.source = Source::Recorded(Recording { inferred: 5, ..Default::default() });
    trace
}

#[derive(Clone)]
struct Core {
    running: Tid,
    queue: Vec<Tid>,
    khz: u32,
    member: bool,
}

struct Machine {
    dice: Dice,
    time: Time,
    threads: Tid,
    cores: Vec<Core>,
    blocked: Vec<Tid>,
    events: Vec<Event>,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            dice: Dice(0x9e37_79b9_7f4a_7c15),
            time: 0,
            threads: 0,
            cores: Vec::new(),
            blocked: Vec::new(),
            events: Vec::new(),
        }
    }
}

impl Machine {
    fn say(&mut self, core: CoreId, kind: Kind) {
        self.events.push(Event { time: self.time, core, kind });
    }

    /// How much of the machine the work at hand uses: it comes in waves.
    fn width(&self) -> u64 {
        [3, 6, 24, 64, 12][(self.time / 700_000_000 % 5) as usize]
    }

    fn step(&mut self) {
        self.time += 1 + self.dice.roll(4_000) * 24 / self.width();
        let core = self.dice.roll(self.width()) as CoreId;
        match self.dice.roll(10) {
            0..=4 => self.arrive(core),
            5 => self.change(core),
            _ => self.switch(core),
        }
    }

    fn arrive(&mut self, target: CoreId) {
        let waker_core = self.dice.roll(self.width()) as CoreId;
        let waker = self.cores[usize::from(waker_core)].running;
        if self.cores[usize::from(target)].queue.len() > 2 {
            return;
        }
        let thread = if self.blocked.len() < 40 && self.dice.roll(8) == 0 && waker != 0 {
            self.threads += 1;
            self.say(waker_core, Kind::Fork { parent: waker, child: self.threads, target });
            self.threads
        } else if let Some(thread) = self.blocked.pop() {
            let waker = if waker == 0 { Waker::Interrupt } else { Waker::Thread(waker) };
            self.say(waker_core, Kind::Wakeup { thread, waker, target, sync: false });
            thread
        } else {
            self.threads += 1;
            self.say(waker_core, Kind::Fork { parent: IDLE, child: self.threads, target });
            self.threads
        };
        let reason = self.dice.roll(4) as u16;
        let seen_khz = self.cores[usize::from(target)].khz;
        self.say(waker_core, Kind::Place { thread, target, reason, seen_khz });
        self.cores[usize::from(target)].queue.push(thread);
    }

    fn switch(&mut self, core: CoreId) {
        let at = usize::from(core);
        let prev = self.cores[at].running;
        let next = if self.cores[at].queue.is_empty() { IDLE } else { self.cores[at].queue.remove(0) };
        if prev == next {
            return;
        }
        let stop = match prev {
            IDLE => Stop::Preempted,
            _ if next == IDLE || self.dice.roll(3) > 0 => Stop::Blocked,
            _ => Stop::Preempted,
        };
        match stop {
            Stop::Blocked => self.blocked.insert(0, prev),
            _ if prev != IDLE => self.cores[at].queue.push(prev),
            _ => {}
        }
        self.say(core, Kind::Switch { prev, stop, next });
        self.cores[at].running = next;
    }

    fn change(&mut self, core: CoreId) {
        let member = self.dice.roll(4) > 0;
        if self.cores[usize::from(core)].member != member {
            self.cores[usize::from(core)].member = member;
            self.say(core, Kind::Set { set: u8::from(core > 8), member });
        }
        let khz = 1_000_000 + 100_000 * (self.dice.roll(8) * 3 + (64 - self.width()) / 8) as u32;
        self.cores[usize::from(core)].khz = khz.min(3_900_000);
        self.say(core, Kind::Frequency { khz: khz.min(3_900_000) });
    }
}
