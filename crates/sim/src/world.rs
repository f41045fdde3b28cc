//! What surrounds the workload: the run before it, daemons, and the time that placements and hand-overs take.

use crate::thread::noise_millionths;
use hearth_base::constants::TICK_NS;
use hearth_workload::{Op, Thread};
use std::fmt;
use std::str::FromStr;

/// The parts of the world around a workload. Each can be off. In the empty world nothing but the workload
/// happens, and a placement takes no time.
///
/// ```
/// use hearth_sim::World;
/// assert_eq!("all".parse(), Ok(World::ALL));
/// assert_eq!("warm,search".parse(), Ok(World { warm: true, search: true, ..World::EMPTY }));
/// assert_eq!(World::EMPTY.to_string(), "empty");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct World {
    /// The run follows another one of the same workload: cores, frequencies and the policy's own data are as
    /// that one left them (Nest paper, section 5.1: two warm-up runs). Otherwise the machine has been idle.
    pub warm: bool,
    /// Kernel threads and daemons wake up (module `background`).
    pub daemons: bool,
    /// A placement takes the waking or forking core the machine's `costs.search` for each core that it looks at.
    pub search: bool,
    /// A placement takes effect at the end of its search, so that two at the same time may choose the same core.
    /// Without `search` a placement takes no time, and this has no effect.
    pub races: bool,
    /// A thread that wakes or forks another runs on for the machine's `costs.handover_ns` before it can block, and a
    /// thread that exits leaves its core so long after it has woken those that wait for it. This is work of the
    /// thread's next, or last, `Run`.
    pub handovers: bool,
    /// The policy runs as a scheduler of sched_ext: `schedutil` asks for the highest frequency of each core, because
    /// it follows `scx_bpf_cpuperf_set` then, which starts there, and not utilisation (Linux 6.12 and later,
    /// `sugov_get_util`, `scx_root_enable`). A fact about the kernel, not about what surrounds a workload, so
    /// [`Self::ALL`] is without it.
    pub sched_ext: bool,
}

impl World {
    pub const ALL: World =
        World { warm: true, daemons: true, search: true, races: true, handovers: true, sched_ext: false };
    pub const EMPTY: World = World {
        warm: false,
        daemons: false,
        search: false,
        races: false,
        handovers: false,
        sched_ext: false,
    };

    /// The parts by name.
    fn parts(&mut self) -> [(&'static str, &mut bool); 6] {
        [
            ("warm", &mut self.warm),
            ("daemons", &mut self.daemons),
            ("search", &mut self.search),
            ("races", &mut self.races),
            ("handovers", &mut self.handovers),
            ("sched_ext", &mut self.sched_ext),
        ]
    }
}

/// The part whose size is measured. Those of the others are assumptions.
impl Default for World {
    fn default() -> World {
        World { handovers: true, ..World::EMPTY }
    }
}

/// `all`, `empty`, or the parts that are on, separated by commas.
impl fmt::Display for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut world = *self;
        let on: Vec<&str> = world.parts().into_iter().filter_map(|(name, on)| on.then_some(name)).collect();
        match *self {
            World::ALL => f.write_str("all"),
            World::EMPTY => f.write_str("empty"),
            _ => f.write_str(&on.join(",")),
        }
    }
}

/// A name that is not a part of the world.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no part of the world; use `all`, `empty`, or some of warm, daemons, search, races, handovers, sched_ext, separated by commas"
)]
pub struct UnknownPart(String);

impl FromStr for World {
    type Err = UnknownPart;

    fn from_str(text: &str) -> Result<World, UnknownPart> {
        match text {
            "all" => return Ok(World::ALL),
            "empty" => return Ok(World::EMPTY),
            _ => {}
        }
        let mut world = World::EMPTY;
        for name in text.split(',') {
            match world.parts().into_iter().find(|(part, _)| *part == name) {
                Some((_, on)) => *on = true,
                None => return Err(UnknownPart(name.to_owned())),
            }
        }
        Ok(world)
    }
}

/// Simulated time of the run before the run, at most. It exceeds the time constants of the machine and of the
/// policies (turbo release and settling 100 ms, load half-life 32 ms), and keeps short what is simulated twice.
pub(crate) const WARM_UP_NS: u64 = 200_000_000;

/// Kinds of background threads: name, number of threads, period and CPU time at the nominal frequency.
const BACKGROUND: [(&str, u64, u64, u64); 2] = [
    // Linux kernel/rcu/tree.c: during a grace period, RCU's kernel thread wakes up every
    // RCU_JIFFIES_TILL_FORCE_QS: one tick. CPU time: assumption.
    ("rcu_sched", 1, TICK_NS, 10_000),
    // Assumption: the system's own services and monitoring, 80 short wake-ups per second. Fewer Cores, More
    // Hertz, section 4.4: "system or daemon threads (e.g. systemd) that wake up and block immediately".
    ("daemon", 8, 100_000_000, 50_000),
];

/// The background threads of a machine whose nominal frequency is `nominal_khz`. Each wakes up periodically, for
/// ever, from a time that the seed selects.
pub(crate) fn background(nominal_khz: u32, seed: u64) -> Vec<Thread> {
    let of_kind = |(kind, (name, count, period, run)): (usize, (&str, u64, u64, u64))| {
        let name = name.to_owned();
        let cycles = run * u64::from(nominal_khz) / 1_000_000;
        let thread = move |number| {
            let phase = period * noise_millionths(seed, u32::MAX - 1 - kind as u32, number, 1.0) / 2_000_000;
            let round = vec![Op::Run(cycles), Op::Sleep(period)];
            let ops = vec![Op::Sleep(phase), Op::repeat(u32::MAX, round)];
            Thread { name: name.clone(), ops, ..Thread::default() }
        };
        (0..count).map(thread)
    };
    BACKGROUND.into_iter().enumerate().flat_map(of_kind).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written() {
        for text in
            ["all", "empty", "warm", "daemons", "search", "races", "handovers", "sched_ext", "warm,races"]
        {
            assert_eq!(text.parse::<World>().unwrap().to_string(), text);
        }
        assert_eq!("warm,daemons,search,races,handovers".parse(), Ok(World::ALL));
        let error = "warm,noise".parse::<World>().unwrap_err().to_string();
        assert!(error.starts_with("`noise` is no part of the world; use `all`"), "{error}");
        assert!("".parse::<World>().is_err());
    }
}
