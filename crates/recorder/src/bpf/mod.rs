//! Recording with BPF programs: `runtime/record/record.bpf.c`, whose object is a separate file.

mod decisions;
mod lanes;
mod words;

use crate::round::{Decode, Round};
use hearth_base::paths::Library;
use hearth_host::{Host, libbpf_log, now};
use hearth_trace::ftrace::{DamagedPage, Item};
use lanes::Lanes;
use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::{Btf, Link, MapCore, Object, ObjectBuilder, OpenObject, ProgramInput, libbpf_sys};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use words::Lane;

/// The loaded programs, which are attached while `links` live.
pub struct Programs {
    /// Content of the object file.
    file: Vec<u8>,
    settings: Settings,
    object: Object,
    /// Programs for the functions of a policy, until they are attached.
    decisions: Vec<Object>,
    links: Vec<Link>,
    lanes: Lanes,
    cpus: Vec<u32>,
}

/// Constants of the programs and sizes of their maps, to be set before loading.
struct Settings {
    offsets: Offsets,
    base_khz: u64,
    /// Record ticks without a frequency.
    all_ticks: bool,
    lanes: usize,
    /// Size of each lane.
    words: u64,
}

/// Path of the compiled programs, in one of the library folders.
fn object() -> Result<PathBuf, String> {
    const NAME: &str = "record.bpf.o";
    let candidates: Vec<PathBuf> =
        Library::candidates().into_iter().map(|library| library.objects.join(NAME)).collect();
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let searched: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        format!("{NAME} is missing (searched: {}; `make bpf` compiles it)", searched.join(", "))
    })
}

impl Programs {
    /// Loads the programs, with `bytes` of memory for each core. The error is the reason why BPF cannot be used.
    pub fn load(host: &Host, bytes: u64, all_ticks: bool) -> Result<Self, String> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err("this kernel has no type information (CONFIG_DEBUG_INFO_BTF)".into());
        }
        let path = object()?;
        let file =
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        // The largest power of two that is not larger than requested.
        let words = 1 << (bytes / 8).max(1 << 12).ilog2();
        let count = host.cpus.last().map_or(1, |last| *last as usize + 1);
        let settings = Settings::find(count, words, all_ticks);
        let loaded = opened(&file, &settings).and_then(|open| open.load().map_err(|error| refusal(&error)));
        let object = loaded.map_err(|why| format!("the kernel refuses the programs: {why}"))?;
        let map = object.maps().find(|map| map.name() == "lanes").ok_or("the object has no lanes")?;
        let lanes = Lanes::map(map.as_fd(), count, words);
        let lanes = lanes.map_err(|error| format!("their memory cannot be mapped: {error}"))?;
        let (decisions, links) = (Vec::new(), Vec::new());
        Ok(Programs { file, settings, object, decisions, links, lanes, cpus: host.cpus.clone() })
    }

    /// Prepares to record the decisions of the loaded policy of Hearth. The error is the reason why that is impossible.
    pub fn follow_policy(&mut self) -> Result<(), String> {
        let map = self.object.maps().find(|map| map.name() == "lanes").ok_or("the object has no lanes")?;
        self.decisions = decisions::load(&self.file, &self.settings, map.as_fd())?;
        match self.decisions.is_empty() {
            true => Err("none of its programs reports decisions: an older hearth started it".into()),
            false => Ok(()),
        }
    }

    /// Begins to record: first, the running thread of each core.
    pub fn attach(&mut self) -> Result<(), String> {
        decisions::attach(&mut self.decisions, &mut self.links)?;
        for program in self.object.progs_mut() {
            if program.name() != "here" && program.autoload() {
                let link = program.attach();
                self.links
                    .push(link.map_err(|error| format!("{}: {error}", program.name().to_string_lossy()))?);
            }
        }
        for program in self.object.progs_mut().filter(|program| program.name() == "here") {
            for &cpu in &self.cpus {
                let flags = libbpf_sys::BPF_F_TEST_RUN_ON_CPU;
                // Fails for a core that went offline.
                let _ = program.test_run(ProgramInput { cpu, flags, ..ProgramInput::default() });
            }
        }
        Ok(())
    }

    /// Ends recording. The lanes can still be drained.
    pub fn detach(&mut self) {
        // Switches last: without them the other events show threads that seem to run unswitched.
        while self.links.pop().is_some() {}
    }

    pub fn drain(&mut self) -> Round {
        let complete_to = now();
        Round { cores: self.cpus.iter().map(|&cpu| self.lanes.drain(cpu)).collect(), complete_to }
    }

    /// Number of events of a core that were lost after the last recorded one.
    pub fn lost(&self, cpu: u32) -> u64 {
        self.lanes.lost(cpu)
    }
}

/// Short reason why the kernel did not load the object.
fn refusal(error: &libbpf_rs::Error) -> String {
    let log = libbpf_log::take();
    let informative =
        |line: &&str| !line.trim().is_empty() && !line.contains("-- BEGIN") && !line.contains("-- END");
    let lines: Vec<_> = log.lines().filter(informative).take(3).map(str::trim).collect();
    format!("{error}: {}", lines.join("; "))
}

/// Opens the object and applies the settings.
fn opened(file: &[u8], settings: &Settings) -> Result<OpenObject, String> {
    libbpf_log::begin();
    let mut builder = ObjectBuilder::default();
    let open = builder.name("hearth_record").and_then(|builder| builder.open_memory(file));
    let mut open = open.map_err(|error| error.to_string())?;
    settings.apply(&mut open)?;
    Ok(open)
}

impl Settings {
    fn find(lanes: usize, words: u64, all_ticks: bool) -> Self {
        let offsets = Offsets::find();
        let base_khz = if offsets.samples == 0 { 0 } else { counter_khz() };
        Settings { offsets, base_khz, all_ticks, lanes, words }
    }

    fn apply(&self, open: &mut OpenObject) -> Result<(), String> {
        for mut program in open.progs_mut().filter(|program| program.name() == "tick") {
            program.set_autoload(self.base_khz > 0 || self.all_ticks);
        }
        let constants = [
            ("words", self.words),
            ("base_khz", self.base_khz),
            ("preempt_count_offset", self.offsets.preempt_count as u64),
            ("samples_offset", self.offsets.samples as u64),
            ("interrupt_bits", self.offsets.interrupt_bits),
        ];
        let places: Vec<_> = {
            use libbpf_rs::AsRawLibbpf;
            // SAFETY: the object lives as long as `open`, and the types are dropped before it changes.
            let raw = unsafe { open.as_libbpf_object().as_ref() };
            let btf = Btf::from_bpf_object(raw).ok().flatten().ok_or("it has no type information")?;
            constants.iter().map(|(name, _)| offset_of(&btf, ".rodata", name)).collect()
        };
        for mut map in open.maps_mut() {
            if map.name() == "lanes" {
                let sized = map.set_max_entries(self.lanes as u32);
                sized
                    .and_then(|()| map.set_value_size(Lanes::lane_bytes(self.words) as u32))
                    .map_err(|error| error.to_string())?;
            } else if map.name().to_string_lossy().ends_with(".rodata") {
                let value = map.initial_value_mut().ok_or("it has no constants")?;
                for ((name, constant), place) in constants.iter().zip(&places) {
                    let place = place.and_then(|at| value.get_mut(at..at + 8));
                    place.ok_or(format!("it has no {name}"))?.copy_from_slice(&constant.to_ne_bytes());
                }
            }
        }
        Ok(())
    }
}

fn offset_of(btf: &Btf<'_>, section: &str, name: &str) -> Option<usize> {
    let data: DataSec = btf.type_by_name(section)?;
    data.iter().find_map(|info| {
        let var: Var = btf.type_by_id(info.ty)?;
        (var.name()? == name).then_some(info.offset as usize)
    })
}

/// Offsets of per-CPU variables from the core's run queue in bytes; 0: unknown.
struct Offsets {
    preempt_count: i64,
    samples: i64,
    /// Bits of the preempt count that are set while an interrupt is handled.
    interrupt_bits: u64,
}

impl Default for Offsets {
    fn default() -> Self {
        Offsets { preempt_count: 0, samples: 0, interrupt_bits: 0x00ff_0100 }
    }
}

impl Offsets {
    fn find() -> Self {
        let Ok(btf) = Btf::from_vmlinux() else { return Offsets::default() };
        let place = |name| Some(offset_of(&btf, ".data..percpu", name)? as i64);
        let Some(queue) = place("runqueues") else { return Offsets::default() };
        let member = |of: &str, name: &str| -> Option<i64> {
            let of: Struct = btf.type_by_name(of)?;
            of.iter().find_map(|member| match member.attr {
                MemberAttr::Normal { offset } if member.name? == name => Some(i64::from(offset) / 8),
                _ => None,
            })
        };
        // Linux 6.2 to 6.14 have it in `pcpu_hot`.
        let count = place("__preempt_count").or_else(|| {
            let hot = place("pcpu_hot")?;
            let inner: Struct = btf.type_by_name("pcpu_hot")?;
            let inner = inner.iter().next().and_then(|first| btf.type_by_id::<Struct>(first.ty))?;
            inner.iter().find_map(|member| match member.attr {
                MemberAttr::Normal { offset } if member.name? == "preempt_count" => {
                    Some(hot + i64::from(offset) / 8)
                }
                _ => None,
            })
        });
        let samples = || Some(place("cpu_samples")? + member("aperfmperf", "acnt")?);
        let relative = |place: Option<i64>| place.map_or(0, |place| place - queue);
        // Kernels that count disabled interrupts do so below the bits of handled ones.
        let counts_disabled = place("local_interrupt_disable_state").is_some();
        Offsets {
            preempt_count: relative(count),
            samples: relative(samples()),
            interrupt_bits: if counts_disabled { 0xff00_0100 } else { 0x00ff_0100 },
        }
    }
}

/// Frequency of the time stamp counter, and thus of MPERF, in kHz; 0: this processor has no APERF and MPERF.
fn counter_khz() -> u64 {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    if !cpuinfo.lines().any(|line| line.starts_with("flags") && line.contains(" aperfmperf")) {
        return 0;
    }
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: every x86-64 processor has the instruction.
        let both = || (now(), unsafe { std::arch::x86_64::_rdtsc() });
        let (time, cycles) = both();
        std::thread::sleep(std::time::Duration::from_millis(5));
        let (later, more) = both();
        (more.wrapping_sub(cycles)).saturating_mul(1_000_000) / later.saturating_sub(time).max(1)
    }
    #[cfg(not(target_arch = "x86_64"))]
    0
}

/// Merges the words of all cores into one stream of events.
pub struct Words {
    lanes: Vec<Lane>,
}

impl Words {
    pub fn new(host: &Host) -> Self {
        Words { lanes: host.cpus.iter().map(|&cpu| Lane::new(cpu)).collect() }
    }
}

impl Decode for Words {
    fn round(&mut self, round: Round, take: &mut dyn FnMut(Item<'_>)) -> Result<(), DamagedPage> {
        let mut heap = BinaryHeap::with_capacity(self.lanes.len());
        for (index, (lane, bytes)) in self.lanes.iter_mut().zip(&round.cores).enumerate() {
            lane.extend(bytes);
            heap.extend(lane.time().map(|time| Reverse((time, index))));
        }
        while let Some(Reverse((mut time, index))) = heap.pop() {
            let lane = &mut self.lanes[index];
            // This core continues as long as its events are the earliest.
            let until =
                heap.peek().map_or(round.complete_to, |Reverse((time, _))| round.complete_to.min(*time));
            if time > round.complete_to {
                break;
            }
            loop {
                lane.take(time, take);
                match lane.time() {
                    Some(next) if next <= until => time = next,
                    next => break heap.extend(next.map(|time| Reverse((time, index)))),
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
