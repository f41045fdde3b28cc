//! The statistics of a running policy. The socket's schema and `hearth status --explain` are generated from their
//! declarations here.

use crate::arena::{Arena, read};
use crate::layout::*;
use hearth_host::{Host, now};
use hearth_policy::Policy;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One statistic.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: &'static str,
    /// Unit of the number; empty: none.
    pub unit: &'static str,
    pub doc: &'static str,
    /// The type in the notation of scx_stats.
    data: fn() -> Value,
}

/// A group of statistics that is read with one request.
#[derive(Clone, Debug)]
pub struct Schema {
    pub name: &'static str,
    pub doc: &'static str,
    /// Argument `target` of the request.
    pub target: &'static str,
    pub fields: &'static [Field],
}

/// A type in the notation of scx_stats.
trait Data {
    fn data() -> Value;
}

macro_rules! data {
    ($($type:ty => $json:tt),* $(,)?) => {$(
        impl Data for $type {
            fn data() -> Value {
                json!($json)
            }
        }
    )*};
}

data! {
    u64 => {"datum": "u64"},
    f64 => {"datum": "float"},
    String => {"datum": "string"},
    BTreeMap<String, u64> => {"dict": {"key": "string", "datum": "u64"}},
    Vec<CoreState> => {"array": {"struct": "CoreState"}},
}

/// Declares a group: a structure and its schema.
macro_rules! statistics {
    (
        $(#[doc = $doc:literal])+
        $name:ident ($target:literal) {
            $($(#[doc = $field_doc:literal])+ $field:ident: $type:ty, $unit:literal;)*
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[doc = $field_doc])+ pub $field: $type,)*
        }

        impl $name {
            pub const SCHEMA: Schema = Schema {
                name: stringify!($name),
                doc: concat!($($doc),+),
                target: $target,
                fields: &[$(Field {
                    name: stringify!($field),
                    unit: $unit,
                    doc: concat!($($field_doc),+),
                    data: <$type as Data>::data,
                }),*],
            };
        }
    };
}

statistics! {
    /// Counters of a policy since it started. They only grow: compute a rate from the difference of two readings.
    Statistics("top") {
        /// The policy's name.
        policy: String, "";
        /// Time since the policy became the scheduler.
        uptime_ns: u64, "ns";
        /// Cores that are online.
        cores_online: u64, "cores";
        /// All threads of the system, including those that the policy does not schedule.
        threads: u64, "threads";
        /// Slots that have held a thread, of 512 bytes each.
        slots: u64, "slots";
        /// Threads that are ready or running now.
        runnable: u64, "threads";
        /// Placements of new and woken threads, by the policy's reason.
        placements: BTreeMap<String, u64>, "placements";
        /// Placements whose time was measured; 0 without --cost.
        place_runs: u64, "placements";
        /// Time of the measured placements: the whole operation select_cpu, from the kernel's BPF statistics.
        place_ns: u64, "ns";
        /// Mean time of a placement; 0: not measured.
        place_mean_ns: f64, "ns";
        /// New threads.
        news: u64, "threads";
        /// Wake-ups.
        wakeups: u64, "wake-ups";
        /// Context switches to a thread.
        switches: u64, "switches";
        /// Runs of a thread on another core than its previous run.
        migrations: u64, "migrations";
        /// Ready threads that balancing moved to another core.
        steals: u64, "threads";
        /// Moves that failed because another core had taken the thread.
        moves_failed: u64, "moves";
        /// Moves beyond the 32 that one event can make.
        moves_refused: u64, "moves";
        /// Preemptions of a running thread, by another thread or at the end of its slice.
        preemptions: u64, "preemptions";
        /// Thread timers that were armed.
        timers_armed: u64, "timers";
        /// Thread timers that expired, including those no longer needed.
        timers_fired: u64, "timers";
        /// Timers that moved their thread.
        timers_moved: u64, "timers";
        /// Failed claims: another placement claimed the idle core first.
        claims_lost: u64, "claims";
        /// Transitions of a core to idle.
        idles: u64, "times";
        /// Idle time of all cores, including spinning.
        idle_ns: u64, "ns";
        /// Idle share of the cores' time.
        idle_percent: f64, "%";
        /// Times that an idle core started to spin to stay warm.
        spins: u64, "times";
        /// Time spent spinning.
        spin_ns: u64, "ns";
        /// Share of the cores' time that was spent spinning.
        spin_percent: f64, "%";
        /// Rounds of spinning, in each of which the core looks for work.
        kicks: u64, "rounds";
        /// Intervals of 4 ms in which underload was counted; 0 without --underload, as the next three.
        intervals: u64, "intervals";
        /// Mean number of cores used in an interval.
        cores_used: f64, "cores";
        /// Sum of underload (Nest, section 5.2): cores used in an interval minus the largest number of threads runnable at one time in it.
        underload: u64, "cores";
        /// Underload per second.
        underload_per_s: f64, "cores/s";
        /// Runs that bypassed the policy: of kernel threads bound to one core, and of threads whose affinity was changing.
        bypassed: u64, "times";
        /// Running threads that had to wait, because their cgroup had used up its time (`cpu.max`).
        throttled: u64, "times";
        /// Threads beyond the policy's capacity, which run from the kernel's global queue.
        no_slot: u64, "threads";
        /// Starts of the policy after CPU hotplug. All other counters start from 0 then.
        restarts: u64, "times";
        /// Number of members of each set of cores of the policy.
        sets: BTreeMap<String, u64>, "cores";
    }
}

statistics! {
    /// The current state of the cores.
    Cores("cores") {
        /// The cores that were online when the policy started, by number.
        cores: Vec<CoreState>, "";
    }
}

statistics! {
    /// The current state of one core.
    CoreState("") {
        /// Number in the kernel.
        cpu: u64, "";
        /// Processor package.
        socket: u64, "";
        /// NUMA node.
        numa: u64, "";
        /// Last-level cache ("die").
        llc: u64, "";
        /// Physical core: hyperthreads share one.
        physical: u64, "";
        /// 1: runs a thread of the policy.
        running: u64, "";
        /// 1: idle, without an incoming thread.
        idle: u64, "";
        /// 1: idle, and kept warm by spinning.
        spinning: u64, "";
        /// Ready threads in its queues.
        ready: u64, "threads";
        /// Frequency that the policy saw at the last tick; 0: unknown.
        seen_khz: u64, "kHz";
        /// Time of completed runs of the policy's threads.
        busy_ns: u64, "ns";
        /// Idle time since the policy was loaded, including spinning.
        idle_ns: u64, "ns";
        /// The policy's sets that contain the core: bit i for set i.
        sets: u64, "";
    }
}

/// All groups; clients of scx_stats start with the first.
pub const SCHEMAS: [Schema; 3] = [Statistics::SCHEMA, Cores::SCHEMA, CoreState::SCHEMA];

/// The schemas in the format of scx_stats.
pub fn meta() -> Value {
    let all = SCHEMAS.iter().enumerate().map(|(index, schema)| {
        let mut meta = Map::new();
        meta.insert("name".into(), schema.name.into());
        if index == 0 {
            meta.insert("top".into(), "true".into());
        }
        meta.insert("desc".into(), schema.doc.trim().into());
        let fields = schema.fields.iter().map(|field| {
            let mut value = (field.data)();
            value["desc"] = field.doc.trim().into();
            if !field.unit.is_empty() {
                value["user"] = json!({ "_unit": field.unit });
            }
            (field.name.to_owned(), value)
        });
        meta.insert("fields".into(), Value::Object(fields.collect()));
        (schema.name.to_owned(), Value::Object(meta))
    });
    Value::Object(all.collect())
}

impl Statistics {
    /// Reads the counters. `since`: when the policy became the scheduler, on the clock of [`now`]. `placing`: number of
    /// placements that the kernel has measured, and their time in ns.
    pub fn read(arena: &Arena, policy: &Policy, since: u64, placing: (u64, u64)) -> Statistics {
        let world = arena.world();
        let now = now();
        let uptime_ns = now.saturating_sub(since);
        let mut placements = [0u64; MAX_REASONS];
        let mut s = Statistics { policy: policy.name().to_owned(), uptime_ns, ..Statistics::default() };
        let idle = arena.idle();
        let (mut cores, mut threads) = (0u64, 0i64);
        for cpu in arena.known() {
            let core = arena.core(cpu);
            let count = read!(core, count);
            cores += 1;
            threads += read!(core, threads);
            let word = CoreWord(read!(core, word));
            s.runnable += u64::from(word.ready()) + u64::from(word.runs());
            placements.iter_mut().zip(count.placed).for_each(|(sum, n)| *sum += n);
            s.news += count.news;
            s.wakeups += count.wakeups;
            s.switches += count.switches;
            s.migrations += count.migrations;
            s.steals += count.steals;
            s.moves_failed += count.moves_failed;
            s.moves_refused += count.moves_refused;
            s.preemptions += count.preemptions;
            s.timers_armed += count.timers_armed;
            s.timers_fired += count.timers_fired;
            s.timers_moved += count.timers_moved;
            s.claims_lost += count.claims_lost;
            s.idles += count.idles;
            s.idle_ns += count.idle_ns;
            s.spins += count.spins;
            s.spin_ns += count.spin_ns;
            s.kicks += count.kicks;
            s.bypassed += count.bypassed;
            s.throttled += count.throttled;
            // The policy counts idle and spin periods when they end: add the current ones.
            if idle.contains(&(cpu as u32)) {
                s.idle_ns += now.saturating_sub(read!(core, idle_since).max(since));
            }
            let spin_since = read!(core, spin_since);
            if spin_since != 0 {
                s.spin_ns += now.saturating_sub(spin_since);
            }
        }
        s.cores_online = cores;
        s.threads = threads.max(0) as u64;
        s.slots = read!(world, fresh).saturating_sub(FIRST_THREAD);
        s.no_slot = read!(world, no_slot);
        s.intervals = read!(world, window.intervals);
        s.underload = read!(world, window.underload);
        s.cores_used = ratio(read!(world, window.cores_used), s.intervals);
        s.underload_per_s = ratio(s.underload, s.intervals) / (INTERVAL_NS as f64 / 1e9);
        (s.place_runs, s.place_ns) = placing;
        s.place_mean_ns = ratio(s.place_ns, s.place_runs);
        s.idle_percent = 100.0 * ratio(s.idle_ns, uptime_ns * cores.max(1));
        s.spin_percent = 100.0 * ratio(s.spin_ns, uptime_ns * cores.max(1));
        let reasons = policy.reasons().iter().zip(placements).enumerate();
        s.placements = reasons
            .filter(|(index, (_, count))| *index > 0 || *count > 0)
            .map(|(_, (reason, count))| (reason.clone(), count))
            .collect();
        let sets = policy.sets().iter().take(MAX_SETS).enumerate();
        s.sets = sets
            .map(|(index, set)| (set.name.clone(), arena.set(policy.params().len(), index).len() as u64))
            .collect();
        s
    }
}

/// Interval of underload in ns.
pub use hearth_base::constants::TICK_NS as INTERVAL_NS;

/// The statistics between two readings.
pub struct Difference<'a> {
    before: Option<&'a Statistics>,
    now: &'a Statistics,
    ns: u64,
}

impl<'a> Difference<'a> {
    /// Without a reading `before`, or if the policy has started again since then, `now` counts from that start.
    pub fn new(before: Option<&'a Statistics>, now: &'a Statistics) -> Self {
        let before = before.filter(|before| before.policy == now.policy && before.uptime_ns < now.uptime_ns);
        let ns = now.uptime_ns - before.map_or(0, |before| before.uptime_ns);
        Difference { before, now, ns: ns.max(1) }
    }

    /// The later reading.
    pub fn now(&self) -> &Statistics {
        self.now
    }

    pub fn seconds(&self) -> f64 {
        self.ns as f64 / 1e9
    }

    /// The growth of a counter.
    pub fn grown(&self, counter: impl Fn(&Statistics) -> u64) -> u64 {
        counter(self.now).saturating_sub(self.before.map_or(0, counter))
    }

    /// The growth of a counter per second.
    pub fn rate(&self, counter: impl Fn(&Statistics) -> u64) -> f64 {
        self.grown(counter) as f64 / self.seconds()
    }

    /// The share of the cores' time that a counter of nanoseconds has grown by, 0 to 1.
    pub fn share(&self, counter: impl Fn(&Statistics) -> u64) -> f64 {
        (self.rate(counter) / 1e9 / self.now.cores_online.max(1) as f64).min(1.0)
    }

    /// Underload per second, if it was counted.
    pub fn underload_per_s(&self) -> Option<f64> {
        let mean = self.per_interval(|s| s.underload)?;
        Some(mean / (INTERVAL_NS as f64 / 1e9))
    }

    /// Mean number of cores used in an interval of 4 ms, if they were counted.
    pub fn cores_used(&self) -> Option<f64> {
        self.per_interval(|s| (s.cores_used * s.intervals as f64).round() as u64)
    }

    fn per_interval(&self, counter: impl Fn(&Statistics) -> u64) -> Option<f64> {
        let intervals = self.grown(|s| s.intervals);
        (intervals > 0).then(|| ratio(self.grown(counter), intervals))
    }

    /// Mean time of a placement, if the kernel measured any.
    pub fn place_mean_ns(&self) -> Option<f64> {
        let runs = self.grown(|s| s.place_runs);
        (runs > 0).then(|| ratio(self.grown(|s| s.place_ns), runs))
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

impl Cores {
    /// Reads the state of the host's cores. `since`: as for [`Statistics::read`].
    pub fn read(arena: &Arena, policy: &Policy, host: &Host, since: u64) -> Cores {
        let idle = arena.idle();
        let sets: Vec<Vec<u32>> =
            (0..policy.sets().len().min(MAX_SETS)).map(|set| arena.set(policy.params().len(), set)).collect();
        let state = |(cpu, info): (&u32, &hearth_trace::CoreInfo)| {
            let core = arena.core(*cpu as usize);
            let word = CoreWord(read!(core, word));
            let is_in = |set: &[u32]| u64::from(set.binary_search(cpu).is_ok());
            let idle_now = is_in(&idle) * now().saturating_sub(read!(core, idle_since).max(since));
            CoreState {
                cpu: (*cpu).into(),
                socket: info.socket.into(),
                numa: info.numa.into(),
                llc: info.llc.into(),
                physical: info.physical.into(),
                running: u64::from(word.runs()),
                idle: is_in(&idle),
                spinning: u64::from(read!(core, spin_since) != 0),
                ready: word.ready().into(),
                seen_khz: read!(core, seen_khz).into(),
                busy_ns: read!(core, busy_ns),
                idle_ns: read!(core, count.idle_ns) + idle_now,
                sets: sets.iter().enumerate().map(|(i, set)| is_in(set) << i).sum(),
            }
        };
        let known = host.cpus.iter().zip(&host.cores).filter(|(cpu, _)| (**cpu as usize) < MAX_CORES);
        Cores { cores: known.map(state).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_protocol_describes_every_statistic() {
        let meta = meta();
        assert_eq!(meta["Statistics"]["top"], "true");
        let fields = meta["Statistics"]["fields"].as_object().unwrap();
        let value = serde_json::to_value(Statistics::default()).unwrap();
        let names = |map: &Map<String, Value>| map.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(fields), names(value.as_object().unwrap()));
        assert_eq!(fields["place_ns"]["datum"], "u64");
        assert_eq!(fields["place_ns"]["user"]["_unit"], "ns");
        assert_eq!(fields["placements"]["dict"], json!({"key": "string", "datum": "u64"}));
        assert_eq!(meta["Cores"]["fields"]["cores"]["array"], json!({"struct": "CoreState"}));
        assert!(fields.values().all(|field| !field["desc"].as_str().unwrap().is_empty()));
    }
}
