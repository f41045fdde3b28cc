//! Loads a policy's BPF object and makes it the kernel's scheduler.

use crate::arena::{Arena, store};
use crate::error::Error;
use crate::exit::ExitInfo;
use crate::kernel_log::KernelLog;
use crate::layout::*;
use crate::schedule::{Boost, RealTime};
use crate::verify::Program;
use crate::{log, object, requirements, topology};
use hearth_host::{Host, libbpf_log};
use hearth_policy::Policy;
use libbpf_rs::btf::types::{DataSec, Enum, Enum64, Func, MemberAttr, Struct, Var};
use libbpf_rs::{
    Btf, Link, MapCore, MapFlags, MapImpl, MapType, Object, ObjectBuilder, OpenObject, libbpf_sys,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

/// Size of the buffer for the kernel's dump when it ejects a policy, in bytes.
const DUMP_BYTES: u32 = 32768;
/// Operations that a policy does without on kernels that lack them.
const OPTIONAL: [&str; 6] = [
    "cgroup_init",
    "cgroup_exit",
    "cgroup_move",
    "cgroup_set_weight",
    // Linux 6.17.
    "cgroup_set_bandwidth",
    // Linux 6.19.
    "cgroup_set_idle",
];
/// Operation that only kernels without the function need: Linux 6.19 deprecates it and has the function.
const DEPRECATED: (&str, &str) = ("cpu_release", "scx_bpf_reenqueue_local___v2");
/// Key of the only element of a map with global variables.
const FIRST: [u8; 4] = 0u32.to_ne_bytes();
/// Map of an object that writes a log.
const LOG_RING: &str = "saakm_log_ring";

/// Map and programs that tell which threads have moved between cgroups.
const MEMBERS_RING: &str = "saakm_members_ring";
const MEMBERS_PROGRAMS: [&str; 2] = ["saakm_moves", "saakm_forks"];

/// Options of loading a policy.
#[derive(Clone, Debug, Default)]
pub struct LoadOptions {
    /// Values of all parameters, in the policy's order.
    pub params: Vec<i64>,
    /// The policy schedules only threads of class SCHED_EXT.
    pub partial: bool,
    /// Tell which threads move between cgroups.
    pub moves: bool,
    /// Longest wait of a ready thread before the kernel ejects the policy. Default and maximum: 30 s.
    pub watchdog: Option<Duration>,
    /// The object writes a log (see [`crate::log`]) into its ring buffer.
    pub log: bool,
    /// Measure underload.
    pub underload: bool,
    /// Let the kernel measure the time of each operation of the policy, at a small cost.
    pub cost: bool,
}

/// A policy that the kernel has verified. It schedules after [`Loaded::attach`].
pub struct Loaded {
    policy: String,
    object: Object,
    /// Shared memory.
    pub arena: Arena,
    exit: Global,
    exit_dump: Global,
    links: Vec<Link>,
    /// What the kernel had measured before the last [`Loaded::begin_again`].
    placed: (u64, u64),
    /// The kernel measures run times while it is open.
    _cost: Option<OwnedFd>,
}

/// Location of a global variable: end of its map's name, offset and size in bytes.
#[derive(Clone, Copy, Default, Debug)]
struct Global {
    section: &'static str,
    offset: usize,
    size: usize,
}

/// Loads a policy; the kernel verifies it.
///
/// # Errors
/// The kernel rejects the object. [`Error::Verifier`] names the file with the verifier's log.
pub fn load(policy: &Policy, object: &[u8], host: &Host, options: &LoadOptions) -> Result<Loaded, Error> {
    libbpf_log::begin();
    // Verification is work of this thread in the kernel. Beside busy threads it would take several times as long.
    let _boost = Boost::begin();
    let bad = |what: String| Error::Load { policy: policy.name().to_owned(), action: "loaded", what };
    check_number_of_cores(host)?;
    let mut builder = ObjectBuilder::default();
    let opened = builder.name("saakm").and_then(|builder| builder.open_memory(object));
    let mut open = opened.map_err(|error| bad(format!("it is not a BPF object: {error}")))?;
    let (exit, exit_dump) = prepare(&mut open, options).map_err(bad)?;
    let object = open.load().map_err(|error| rejected(policy, &error))?;
    // SAFETY: `object` declares the arena, and `Loaded` drops both together.
    let arena = unsafe { Arena::mapped() };
    fill_arena(&arena, host, options);
    let cost = options.cost.then(enable_run_time_statistics).transpose()?;
    Ok(Loaded {
        policy: policy.name().to_owned(),
        object,
        arena,
        exit,
        exit_dump,
        links: Vec::new(),
        placed: (0, 0),
        _cost: cost,
    })
}

fn check_number_of_cores(host: &Host) -> Result<(), Error> {
    let cores = host.cpus.last().map_or(1, |last| *last as usize + 1);
    if cores > MAX_CORES { Err(Error::TooManyCores { cores, most: MAX_CORES }) } else { Ok(()) }
}

/// Sets options and sizes of maps in the opened object. Returns where it stores its exit and dump.
fn prepare(open: &mut OpenObject, options: &LoadOptions) -> Result<(Global, Global), String> {
    let (ops, unused, exit, exit_dump, dump_len) = {
        use libbpf_rs::AsRawLibbpf;
        // SAFETY: the object lives as long as `open`, and the types are dropped before it changes.
        let raw = unsafe { open.as_libbpf_object().as_ref() };
        let btf = Btf::from_bpf_object(raw).ok().flatten().ok_or("it has no type information (BTF)")?;
        let ops: Struct = btf.type_by_name("sched_ext_ops").ok_or("it is not a sched_ext scheduler")?;
        let field = |name: &str| {
            let member = ops.iter().find(|member| member.name.is_some_and(|found| found == name))?;
            match member.attr {
                MemberAttr::Normal { offset } => Some(offset as usize / 8),
                MemberAttr::BitField { .. } => None,
            }
        };
        let unused: Vec<_> = Kernel::running().unused_operations().map(field).collect();
        let ops = ["flags", "timeout_ms"].map(field);
        let global = |section: &'static str, name| global(&btf, section, name);
        let exit = global(".data", "uei");
        (ops, unused, exit, global(".data.uei_dump", "uei_dump"), global(".rodata", "uei_dump_len"))
    };
    let exit = exit.ok_or("it has no exit information (uei)")?;
    for mut program in
        open.progs_mut().filter(|program| MEMBERS_PROGRAMS.iter().any(|name| program.name() == *name))
    {
        program.set_autoload(options.moves);
    }
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        match &*name {
            "saakm_ops" => {
                let value = map.initial_value_mut().ok_or("its operations cannot be changed")?;
                let [flags, timeout_ms] = ops;
                // Otherwise the kernel would queue such a thread past the policy, behind the running one. Linux 6.14.
                let mut bits = ops_flag("SCX_OPS_ENQ_MIGRATION_DISABLED").unwrap_or(0);
                if options.partial {
                    bits |= ops_flag("SCX_OPS_SWITCH_PARTIAL").unwrap_or(1 << 3);
                }
                or_u64(value, flags, bits).ok_or("its flags cannot be set")?;
                if let Some(watchdog) = options.watchdog {
                    let ms = u32::try_from(watchdog.as_millis()).unwrap_or(u32::MAX).max(1);
                    put(value, timeout_ms, &ms.to_ne_bytes()).ok_or("its watchdog cannot be set")?;
                }
                for operation in &unused {
                    put(value, *operation, &[0; size_of::<*const ()>()]);
                }
            }
            MEMBERS_RING => {
                map.set_autocreate(options.moves).map_err(|error| format!("its ring buffer: {error}"))?;
            }
            LOG_RING => {
                map.set_max_entries(log::RING_BYTES).map_err(|error| format!("its ring buffer: {error}"))?;
            }
            ".data.uei_dump" => {
                map.set_value_size(DUMP_BYTES).map_err(|error| format!("its exit dump: {error}"))?;
            }
            _ if name.ends_with(".rodata") => {
                if let (Some(value), Some(at)) = (map.initial_value_mut(), dump_len) {
                    put(value, Some(at.offset), &DUMP_BYTES.to_ne_bytes());
                }
            }
            _ => {}
        }
    }
    let exit_dump = exit_dump.unwrap_or(Global { section: ".data.uei_dump", ..Global::default() });
    Ok((exit, Global { offset: 0, size: DUMP_BYTES as usize, ..exit_dump }))
}

fn global(btf: &Btf<'_>, section: &'static str, name: &str) -> Option<Global> {
    let data: DataSec = btf.type_by_name(section)?;
    data.iter().find_map(|info| {
        let var: Var = btf.type_by_id(info.ty)?;
        (var.name()? == name).then_some(Global { section, offset: info.offset as usize, size: info.size })
    })
}

fn put(value: &mut [u8], at: Option<usize>, bytes: &[u8]) -> Option<()> {
    let at = at?;
    value.get_mut(at..at + bytes.len())?.copy_from_slice(bytes);
    Some(())
}

fn or_u64(value: &mut [u8], at: Option<usize>, flag: u64) -> Option<()> {
    let old = value.get(at?..at? + 8)?.try_into().ok()?;
    put(value, at, &(u64::from_ne_bytes(old) | flag).to_ne_bytes())
}

/// What the running kernel's types (BTF) say of sched_ext.
#[derive(Default)]
struct Kernel {
    /// Members of `sched_ext_ops`.
    operations: BTreeSet<String>,
    /// `enum scx_ops_flags`.
    flags: BTreeMap<String, u64>,
    /// It has the function that replaces the deprecated operation.
    replaces_deprecated: bool,
}

impl Kernel {
    /// Reads the types once: that takes a while, and libbpf does it as well.
    fn running() -> &'static Kernel {
        static KERNEL: OnceLock<Kernel> = OnceLock::new();
        KERNEL.get_or_init(|| Btf::from_vmlinux().map(|btf| Kernel::read(&btf)).unwrap_or_default())
    }

    fn read(btf: &Btf<'_>) -> Kernel {
        let name = |name: Option<&OsStr>| Some(name?.to_string_lossy().into_owned());
        let ops = btf.type_by_name::<Struct>("sched_ext_ops");
        let operations =
            ops.iter().flat_map(|ops| ops.iter()).filter_map(|member| name(member.name)).collect();
        let flags = match btf.type_by_name::<Enum64>("scx_ops_flags") {
            Some(flags) => flags.iter().filter_map(|m| Some((name(m.name)?, m.value as u64))).collect(),
            None => {
                let flags = btf.type_by_name::<Enum>("scx_ops_flags");
                let members = flags.iter().flat_map(|flags| flags.iter());
                members.filter_map(|m| Some((name(m.name)?, m.value as u64))).collect()
            }
        };
        let replaces_deprecated = btf.type_by_name::<Func>(DEPRECATED.1).is_some();
        Kernel { operations, flags, replaces_deprecated }
    }

    /// The operations of a policy that this kernel lacks or does not need.
    fn unused_operations(&self) -> impl Iterator<Item = &'static str> {
        let missing = OPTIONAL.into_iter().filter(|name| !self.operations.contains(*name));
        missing.chain(self.replaces_deprecated.then_some(DEPRECATED.0))
    }
}

/// The running kernel's value of a flag of `enum scx_ops_flags`, if it has the flag.
fn ops_flag(name: &str) -> Option<u64> {
    Kernel::running().flags.get(name).copied()
}

/// The operations and other members that the running kernel's `sched_ext_ops` has.
pub(crate) fn operations() -> &'static BTreeSet<String> {
    &Kernel::running().operations
}

/// Makes the error of a rejected object, and writes the verifier's log to a file.
fn rejected(policy: &Policy, error: &libbpf_rs::Error) -> Error {
    let log = libbpf_log::take();
    let file = || -> Option<PathBuf> {
        let path = object::folder().ok()?.join(format!("{}.verifier.log", policy.name()));
        hearth_base::file::write(&path, log.as_bytes()).ok()?;
        Some(path)
    };
    let policy = policy.name().to_owned();
    match log.contains("BEGIN PROG LOAD LOG").then(file).flatten() {
        Some(path) => Error::Verifier { policy, what: verifier_conclusion(&log), log: path },
        None => Error::Load { policy, action: "loaded", what: why(error, None, &log) },
    }
}

/// An error of libbpf, with the kernel's reason, or with the end of libbpf's log.
fn why(error: &libbpf_rs::Error, kernel: Option<String>, log: &str) -> String {
    match kernel {
        Some(reason) => format!("{error}; the kernel says: {reason}"),
        None if log.trim().is_empty() => error.to_string(),
        None => format!("{error}\n{}", tail(log, 10)),
    }
}

/// The verifier's conclusion, with the name of the program. Newer kernels mark it; in older logs it is the last line
/// before `processed N insns`.
fn verifier_conclusion(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let marked = lines.iter().find_map(|line| line.split_once("^-- error: ").map(|(_, words)| words));
    let end = lines.iter().position(|line| line.starts_with("processed ")).unwrap_or(lines.len());
    let last = || lines[..end].iter().rev().find(|line| !line.trim().is_empty()).copied();
    let words = marked.or_else(last).unwrap_or("no reason given").trim();
    let program = lines.iter().find_map(|line| {
        let (name, rest) = line.strip_prefix("libbpf: prog '")?.split_once('\'')?;
        rest.contains("load failed").then_some(name)
    });
    program.map_or_else(|| words.to_owned(), |program| format!("{program}: {words}"))
}

fn tail(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

/// Lets the kernel measure the run time of BPF programs while the result is open.
fn enable_run_time_statistics() -> Result<OwnedFd, Error> {
    // SAFETY: no pointers.
    let fd = unsafe { libbpf_sys::bpf_enable_stats(libbpf_sys::BPF_STATS_RUN_TIME) };
    if fd < 0 {
        let error = std::io::Error::from_raw_os_error(-fd);
        return Err(Error::Object(format!(
            "the kernel cannot measure the cost of placements (--cost): {error}"
        )));
    }
    // SAFETY: the kernel has just opened `fd` for this call.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// Writes topology, parameters and options into the arena, and clears the rest.
fn fill_arena(arena: &Arena, host: &Host, options: &LoadOptions) {
    arena.clear();
    topology::fill(arena, host);
    let world = arena.world();
    store!(world, layout, LAYOUT);
    store!(world, fresh, FIRST_THREAD);
    store!(world, nr_params, options.params.len().min(MAX_PARAMS) as u32);
    for (index, value) in options.params.iter().take(MAX_PARAMS).enumerate() {
        store!(world, params[index], *value);
    }
    store!(world, underload, options.underload.into());
    store!(world, lazy, preempts_lazily(Path::new("/")).into());
    if options.log {
        arena.clear_logged();
    }
}

/// Whether the kernel below `root` lets system calls end, or the next tick come, before it preempts. False if that is
/// unknown.
fn preempts_lazily(root: &Path) -> bool {
    match fs::read_to_string(root.join("sys/kernel/debug/sched/preempt")) {
        Ok(models) => models.contains("(lazy)"),
        // The model is fixed.
        Err(_) => {
            fs::read_to_string(root.join("proc/version")).is_ok_and(|text| text.contains("PREEMPT_LAZY"))
        }
    }
}

/// The kernel's information about a program.
fn info(program: &impl AsFd) -> std::io::Result<libbpf_sys::bpf_prog_info> {
    let mut info = libbpf_sys::bpf_prog_info::default();
    let mut size = size_of_val(&info) as u32;
    let program = program.as_fd().as_raw_fd();
    // SAFETY: `info` and `size` are valid for the call, and `size` is that of `info`.
    let error = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program, &mut info, &mut size) };
    if error == 0 { Ok(info) } else { Err(std::io::Error::from_raw_os_error(-error)) }
}

impl Loaded {
    /// Makes the policy the kernel's scheduler.
    ///
    /// # Errors
    /// Another scheduler runs, or the policy failed to start.
    pub fn attach(&mut self) -> Result<(), Error> {
        libbpf_log::begin();
        let mut kernel = KernelLog::begin();
        let _first = RealTime::begin();
        let attached = self.try_attach();
        attached.map_err(|error| match self.exit() {
            Some(info) => Error::Ended(Box::new(info)),
            None if requirements::running().is_some() => {
                let ops = requirements::running().unwrap_or_default();
                Error::Busy { ops, by: None, ours: false }
            }
            None => {
                let what = why(&error, kernel.reason(), &libbpf_log::take());
                Error::Load { policy: self.policy.clone(), action: "attached", what }
            }
        })
    }

    fn try_attach(&mut self) -> libbpf_rs::Result<()> {
        // First, so that the policy misses no thread of another class.
        self.attach_program("saakm_switched")?;
        for mut map in self.object.maps_mut() {
            if map.name() == "saakm_ops" {
                self.links.push(map.attach_struct_ops()?);
            }
        }
        // This program ends any sched_ext scheduler, so attach it only once the policy is the scheduler.
        self.attach_program("saakm_core_goes")
    }

    /// Reports threads that move between cgroups from now on. `None` without [`LoadOptions::moves`].
    ///
    /// # Errors
    /// The kernel refuses a program.
    pub(crate) fn moves(&mut self) -> Result<Option<MapImpl<'_>>, Error> {
        let loaded = self.object.maps().any(|map| map.name() == MEMBERS_RING && map.autocreate());
        if !loaded {
            return Ok(None);
        }
        for name in MEMBERS_PROGRAMS {
            self.attach_program(name)
                .map_err(|error| Error::Object(format!("moves between cgroups cannot be seen: {error}")))?;
        }
        Ok(self.object.maps().find(|map| map.name() == MEMBERS_RING))
    }

    fn attach_program(&mut self, name: &str) -> libbpf_rs::Result<()> {
        for program in self.object.progs_mut() {
            if program.name() == name {
                self.links.push(program.attach()?);
            }
        }
        Ok(())
    }

    /// Returns to the kernel's own scheduler.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Detaches the policy and makes it as new, for a host whose cores may have changed. The kernel does not verify it
    /// again. Of the options, only those count that are kept in the arena.
    ///
    /// # Errors
    /// Too many cores, or the kernel does not let the last exit be cleared.
    pub fn begin_again(&mut self, host: &Host, options: &LoadOptions) -> Result<(), Error> {
        self.detach();
        check_number_of_cores(host)?;
        self.clear_exit().ok_or_else(|| Error::Load {
            policy: self.policy.clone(),
            action: "started again",
            what: "its exit information cannot be cleared".into(),
        })?;
        self.placed = self.placed();
        fill_arena(&self.arena, host, options);
        Ok(())
    }

    /// The map that has a global variable.
    fn section(&self, global: Global) -> Option<MapImpl<'_>> {
        self.object.maps().find(|map| {
            let name = map.name().to_string_lossy();
            map.map_type() == MapType::Array && name.ends_with(global.section)
        })
    }

    fn clear_exit(&self) -> Option<()> {
        let map = self.section(self.exit)?;
        let mut value = map.lookup(&FIRST, MapFlags::ANY).ok().flatten()?;
        value.get_mut(self.exit.offset..self.exit.offset + self.exit.size)?.fill(0);
        map.update(&FIRST, &value, MapFlags::ANY).ok()
    }

    /// The kernel's account of the end of the policy; `None` while it runs.
    pub fn exit(&self) -> Option<ExitInfo> {
        let read = |global: Global| {
            let value = self.section(global)?.lookup(&FIRST, MapFlags::ANY).ok().flatten()?;
            value.get(global.offset..global.offset + global.size).map(<[u8]>::to_vec)
        };
        let info = ExitInfo::parse(&self.policy, &read(self.exit)?, b"")?;
        if info.none() {
            return None;
        }
        ExitInfo::parse(&self.policy, &read(self.exit)?, &read(self.exit_dump).unwrap_or_default())
    }

    /// Number of placements that the kernel has measured, and their total time in ns.
    pub fn placing(&self) -> (u64, u64) {
        let (number, ns) = self.placed();
        (number.saturating_sub(self.placed.0), ns.saturating_sub(self.placed.1))
    }

    /// The same, since the policy was loaded.
    fn placed(&self) -> (u64, u64) {
        let Some(program) = self.object.progs().find(|program| program.name() == "saakm_select_cpu") else {
            return (0, 0);
        };
        info(&program).map_or((0, 0), |info| (info.run_cnt, info.run_time_ns))
    }

    /// The verifier's counts for each program.
    ///
    /// # Errors
    /// The kernel gives no information.
    pub(crate) fn programs(&self) -> Result<Vec<Program>, Error> {
        // libbpf loads no program of an operation that this kernel lacks.
        let loaded = self.object.progs().filter(libbpf_rs::ProgramImpl::autoload);
        let programs = loaded.map(|program| {
            let info = info(&program)?;
            Ok(Program {
                name: program.name().to_string_lossy().into_owned(),
                processed: info.verified_insns,
                instructions: info.xlated_prog_len / size_of::<libbpf_sys::bpf_insn>() as u32,
                native_bytes: info.jited_prog_len,
            })
        });
        let read: std::io::Result<Vec<Program>> = programs.collect();
        read.map_err(|error| Error::Object(format!("the kernel does not describe a program: {error}")))
    }

    /// The ring buffer of the log.
    pub fn log_ring(&self) -> Option<MapImpl<'_>> {
        self.object.maps().find(|map| map.name() == LOG_RING)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifier_conclusions_are_found() {
        let log = "libbpf: prog 'a': relo #7: insn #54 accesses field incorrectly\n\
                   libbpf: prog 'x': BPF program load failed\n-- BEGIN PROG LOAD LOG --\n12: r1 = r2\n\
                   R1 invalid mem access 'scalar'\nprocessed 12 insns\n-- END --\n";
        assert_eq!(verifier_conclusion(log), "x: R1 invalid mem access 'scalar'");
        let newer = "Reason:\n   | ^-- error: argument 1 is not initialized\n\nSuggestion:\n  Write it.\n\nprocessed 5 insns\n";
        assert_eq!(verifier_conclusion(newer), "argument 1 is not initialized");
        assert_eq!(verifier_conclusion(""), "no reason given");
    }

    #[test]
    fn the_kernels_reason_is_quoted_first() {
        let error = libbpf_rs::Error::from_raw_os_error(libc::EINVAL);
        let why = |kernel: Option<&str>, log| super::why(&error, kernel.map(str::to_owned), log);
        assert!(why(Some("Not compatible"), "libbpf: x").ends_with("; the kernel says: Not compatible"));
        assert!(why(None, "libbpf: x\n").ends_with("\nlibbpf: x"));
        assert_eq!(why(None, " "), error.to_string());
    }

    #[test]
    fn fields_of_the_operations_are_set_within_bounds() {
        let mut value = [0u8; 16];
        or_u64(&mut value, Some(8), 8).unwrap();
        or_u64(&mut value, Some(8), 1).unwrap();
        assert_eq!(value[8], 9);
        assert_eq!(or_u64(&mut value, Some(12), 1), None);
        assert_eq!(put(&mut value, None, &[1]), None);
    }

    #[test]
    fn the_kernel_says_how_it_preempts() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        assert!(!preempts_lazily(root.path()));
        write("proc/version", "Linux version 6.18.0 (gcc) #1 SMP PREEMPT_LAZY Mon Nov 2\n");
        assert!(preempts_lazily(root.path()));
        write("sys/kernel/debug/sched/preempt", "none voluntary (full) lazy \n");
        assert!(!preempts_lazily(root.path()));
        write("sys/kernel/debug/sched/preempt", "none voluntary full (lazy) \n");
        assert!(preempts_lazily(root.path()));
    }
}
