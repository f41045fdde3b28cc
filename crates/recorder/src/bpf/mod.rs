//! Recording by BPF programs: `runtime/record/record.bpf.c`, whose object is a file of its own.

mod decisions;
mod lanes;
mod words;

use crate::Host;
use crate::round::{Decode, Round, now};
use hearth_base::paths::Library;
use hearth_ftrace::{DamagedPage, Item};
use lanes::Lanes;
use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::{
    Btf, Link, MapCore, Object, ObjectBuilder, OpenObject, PrintLevel, ProgramInput, libbpf_sys,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use words::Lane;

/// The programs, verified by the kernel; attached while `links` live.
pub struct Programs {
    /// The bytes of the object, and how they are to be loaded.
    file: Vec<u8>,
    settings: Settings,
    object: Object,
    /// For the programs of a policy, until they are attached.
    decisions: Vec<Object>,
    links: Vec<Link>,
    lanes: Lanes,
    cpus: Vec<u32>,
}

/// What must be set before loading.
struct Settings {
    places: Places,
    base_khz: u64,
    lanes: usize,
    /// Of each lane.
    words: u64,
}

/// What libbpf has complained about since it was last asked.
static COMPLAINTS: Mutex<String> = Mutex::new(String::new());

fn complain(_: PrintLevel, message: String) {
    if let Ok(mut complaints) = COMPLAINTS.lock() {
        complaints.push_str(&message);
    }
}

fn complaints() -> String {
    COMPLAINTS.lock().map(|mut complaints| std::mem::take(&mut *complaints)).unwrap_or_default()
}

/// Path of the compiled programs, in one of the library folders.
fn object() -> Result<PathBuf, String> {
    const NAME: &str = "record.bpf.o";
    let candidates: Vec<PathBuf> =
        Library::candidates().into_iter().map(|library| library.objects.join(NAME)).collect();
    candidates.iter().find(|path| path.is_file()).cloned().ok_or_else(|| {
        let sought: Vec<_> = candidates.iter().map(|path| path.display().to_string()).collect();
        format!("its program {NAME} is missing (sought: {}; `make bpf` compiles it)", sought.join(", "))
    })
}

impl Programs {
    /// Loads the programs, with `bytes` of memory for each core. The error says why BPF cannot be used.
    pub fn load(host: &Host, bytes: u64) -> Result<Self, String> {
        if !Path::new("/sys/kernel/btf/vmlinux").exists() {
            return Err("this kernel has no type information (CONFIG_DEBUG_INFO_BTF)".into());
        }
        let path = object()?;
        let file =
            std::fs::read(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        libbpf_rs::set_print(Some((PrintLevel::Warn, complain)));
        // A power of two that is at most what was asked for.
        let words = 1 << (bytes / 8).max(1 << 12).ilog2();
        let count = host.cpus.last().map_or(1, |last| *last as usize + 1);
        let settings = Settings::find(count, words);
        let loaded = opened(&file, &settings).and_then(|open| open.load().map_err(|error| refusal(&error)));
        let object = loaded.map_err(|why| format!("the kernel does not take its programs: {why}"))?;
        let map = object.maps().find(|map| map.name() == "lanes").ok_or("its program has no lanes")?;
        let lanes = Lanes::map(map.as_fd(), count, words);
        let lanes = lanes.map_err(|error| format!("its memory cannot be shared: {error}"))?;
        let (decisions, links) = (Vec::new(), Vec::new());
        Ok(Programs { file, settings, object, decisions, links, lanes, cpus: host.cpus.clone() })
    }

    /// Records what a policy that Hearth runs decides. The error says why that cannot be done.
    pub fn follow_policy(&mut self) -> Result<(), String> {
        let map = self.object.maps().find(|map| map.name() == "lanes").ok_or("its program has no lanes")?;
        self.decisions = decisions::load(&self.file, &self.settings, map.as_fd())?;
        match self.decisions.is_empty() {
            true => {
                Err("none of its programs tells what it decides: it was started by an older hearth".into())
            }
            false => Ok(()),
        }
    }

    /// Begins to record, with who runs on each core.
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
                // A core that has gone is not missed.
                let _ = program.test_run(ProgramInput { cpu, flags, ..ProgramInput::default() });
            }
        }
        Ok(())
    }

    /// Ends recording; what was recorded can still be drained.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    pub fn drain(&mut self) -> Round {
        let complete_to = now();
        Round { cores: self.cpus.iter().map(|&cpu| self.lanes.drain(cpu)).collect(), complete_to }
    }

    /// Events of a core that were lost after the last that was recorded.
    pub fn lost(&self, cpu: u32) -> u64 {
        self.lanes.lost(cpu)
    }
}

/// Why the kernel did not load the object, in short.
fn refusal(error: &libbpf_rs::Error) -> String {
    let complaints = complaints();
    let telling =
        |line: &&str| !line.trim().is_empty() && !line.contains("-- BEGIN") && !line.contains("-- END");
    let lines: Vec<_> = complaints.lines().filter(telling).take(3).map(str::trim).collect();
    format!("{error}: {}", lines.join("; "))
}

/// The object, ready to be loaded.
fn opened(file: &[u8], settings: &Settings) -> Result<OpenObject, String> {
    complaints();
    let mut builder = ObjectBuilder::default();
    let open = builder.name("hearth_record").and_then(|builder| builder.open_memory(file));
    let mut open = open.map_err(|error| error.to_string())?;
    settings.apply(&mut open)?;
    Ok(open)
}

impl Settings {
    fn find(lanes: usize, words: u64) -> Self {
        let places = Places::find();
        let base_khz = if places.samples_behind == 0 { 0 } else { counter_khz() };
        Settings { places, base_khz, lanes, words }
    }

    fn apply(&self, open: &mut OpenObject) -> Result<(), String> {
        for mut program in open.progs_mut().filter(|program| program.name() == "tick") {
            // Without a frequency a tick tells nothing.
            program.set_autoload(self.base_khz > 0);
        }
        let constants = [
            ("words", self.words),
            ("base_khz", self.base_khz),
            ("preempt_count_behind", self.places.preempt_count_behind as u64),
            ("samples_behind", self.places.samples_behind as u64),
            ("interrupt_bits", self.places.interrupt_bits),
        ];
        let offsets: Vec<_> = {
            use libbpf_rs::AsRawLibbpf;
            // SAFETY: the object lives as long as `open`, and the types are dropped before it changes.
            let raw = unsafe { open.as_libbpf_object().as_ref() };
            let btf = Btf::from_bpf_object(raw).ok().flatten().ok_or("it describes no types")?;
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
                for ((name, constant), offset) in constants.iter().zip(&offsets) {
                    let place = offset.and_then(|offset| value.get_mut(offset..offset + 8));
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

/// How far behind a core's run queue other variables of the core are, in bytes; 0: not known.
struct Places {
    preempt_count_behind: i64,
    samples_behind: i64,
    /// Of the preempt count, those that say that an interrupt is served.
    interrupt_bits: u64,
}

impl Default for Places {
    fn default() -> Self {
        Places { preempt_count_behind: 0, samples_behind: 0, interrupt_bits: 0x00ff_0100 }
    }
}

impl Places {
    fn find() -> Self {
        let Ok(btf) = Btf::from_vmlinux() else { return Places::default() };
        let place = |name| Some(offset_of(&btf, ".data..percpu", name)? as i64);
        let Some(queue) = place("runqueues") else { return Places::default() };
        let member = |of: &str, name: &str| -> Option<i64> {
            let of: Struct = btf.type_by_name(of)?;
            of.iter().find_map(|member| match member.attr {
                MemberAttr::Normal { offset } if member.name? == name => Some(i64::from(offset) / 8),
                _ => None,
            })
        };
        // Linux 6.2 to 6.14 had it in `pcpu_hot`.
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
        let behind = |place: Option<i64>| place.map_or(0, |place| place - queue);
        // Where disabled interrupts are counted too, that number stands below the served ones'.
        let counts_disabled = place("local_interrupt_disable_state").is_some();
        Places {
            preempt_count_behind: behind(count),
            samples_behind: behind(samples()),
            interrupt_bits: if counts_disabled { 0xff00_0100 } else { 0x00ff_0100 },
        }
    }
}

/// The frequency of the time stamp counter, and so of MPERF, in kHz; 0: this processor has no APERF and MPERF.
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

/// Makes one stream of the words of all cores.
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
            // As long as this core is the earliest, it goes on.
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
