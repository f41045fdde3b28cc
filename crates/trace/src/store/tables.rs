//! Tables of a trace: cores, threads, processes and event kinds.

use super::folder::NEW;
use super::meta::{Checksum, Meta, Sum, read_all};
use super::{Error, OLDEST, decode, parquet_file};
use crate::event::{CoreInfo, Header, ProcessInfo, ThreadInfo};
use crate::record::tag;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, Int32Type};
use std::fs;
use std::path::Path;

pub const CORES: &str = "cores.parquet";
pub const THREADS: &str = "threads.parquet";
pub const PROCESSES: &str = "processes.parquet";
pub const KINDS: &str = "kinds.parquet";

const CORES_SCHEMA: &str = "message cores {
    required int32 core (INTEGER(16,false));
    required int32 physical (INTEGER(16,false));
    required int32 llc (INTEGER(16,false));
    required int32 numa (INTEGER(16,false));
    required int32 socket (INTEGER(16,false));
}";
const THREADS_SCHEMA: &str = "message threads {
    required int32 thread (INTEGER(32,false));
    required binary name (STRING);
    required int32 parent (INTEGER(32,false));
    required boolean traced;
    optional int32 tid (INTEGER(32,false));
    optional int32 process (INTEGER(32,false));
}";
/// Of version 2.
const OLDEST_THREADS_SCHEMA: &str = "message threads {
    required int32 thread (INTEGER(32,false));
    required binary name (STRING);
    required int32 parent (INTEGER(32,false));
    required boolean traced;
}";
const PROCESSES_SCHEMA: &str = "message processes {
    required int32 process (INTEGER(32,false));
    required int32 pid (INTEGER(32,false));
    required binary name (STRING);
    optional int32 parent (INTEGER(32,false));
}";
const KINDS_SCHEMA: &str = "message kinds {
    required int32 kind (INTEGER(8,false));
    required binary name (STRING);
}";

/// Number and name of each kind of event.
pub const KIND_NAMES: [(u8, &str); 14] = [
    (tag::SWITCH, "switch"),
    (tag::WAKEUP, "wakeup"),
    (tag::FORK, "fork"),
    (tag::EXEC, "exec"),
    (tag::EXIT, "exit"),
    (tag::WAIT, "wait"),
    (tag::MIGRATE, "migrate"),
    (tag::PLACE, "place"),
    (tag::FREQUENCY, "frequency"),
    (tag::TICK, "tick"),
    (tag::IDLE, "idle"),
    (tag::SPIN, "spin"),
    (tag::QUEUE, "queue"),
    (tag::SET, "set"),
];

/// Core numbers have 16 bits.
const MAX_CORES: usize = 1 << 16;
/// Bounds: a file of a few bytes can claim that a name occurs millions of times.
const MAX_THREADS: usize = 4 << 20;
const MAX_NAMES_BYTES: usize = 128 << 20;
const MAX_TABLE_BYTES: u64 = 256 << 20;

/// Writes the tables and records their lengths and checksums in `meta`.
pub fn write(folder: &Path, header: &Header, meta: &mut Meta) -> Result<(), Error> {
    let too_many = |what: String| Error::TooLarge { path: folder.into(), what };
    if header.cores.len() > MAX_CORES {
        return Err(too_many(format!("it has {} cores; the maximum is {MAX_CORES}", header.cores.len())));
    }
    let of_threads: usize = header.threads.iter().map(|thread| thread.name.len()).sum();
    let of_processes: usize = header.processes.iter().map(|process| process.name.len()).sum();
    let rows =
        [("threads", header.threads.len(), of_threads), ("processes", header.processes.len(), of_processes)];
    for (what, rows, names) in rows {
        if rows > MAX_THREADS || names > MAX_NAMES_BYTES {
            return Err(too_many(format!(
                "it has {rows} {what}; the maximum is {MAX_THREADS}, with {MAX_NAMES_BYTES} bytes of names"
            )));
        }
    }
    let mut table = |name: &str, content: Vec<u8>| {
        let new = folder.join(format!("{name}{NEW}"));
        let write = fs::write(&new, &content).and_then(|()| fs::rename(&new, folder.join(name)));
        write.map_err(Error::io("write", &folder.join(name)))?;
        let sum = Sum { bytes: content.len() as u64, checksum: Checksum::of(&content) };
        meta.tables.insert(name.into(), sum);
        Ok(())
    };
    let failed = Error::writing(folder);
    let contents = || {
        let processes = processes(&header.processes)?;
        Ok((cores(&header.cores)?, threads(&header.threads)?, processes, kinds()?))
    };
    let (cores, threads, processes, kinds) = contents().map_err(failed)?;
    table(CORES, cores)?;
    table(THREADS, threads)?;
    table(PROCESSES, processes)?;
    table(KINDS, kinds)
}

type Written = parquet::errors::Result<Vec<u8>>;

fn cores(cores: &[CoreInfo]) -> Written {
    let column = |get: fn(&CoreInfo) -> u16| cores.iter().map(|core| get(core).into()).collect::<Vec<i32>>();
    parquet_file::table(CORES_SCHEMA, |columns| {
        columns.next::<Int32Type>(&(0..cores.len() as i32).collect::<Vec<_>>())?;
        columns.next::<Int32Type>(&column(|core| core.physical))?;
        columns.next::<Int32Type>(&column(|core| core.llc))?;
        columns.next::<Int32Type>(&column(|core| core.numa))?;
        columns.next::<Int32Type>(&column(|core| core.socket))
    })
}

fn threads(threads: &[ThreadInfo]) -> Written {
    let names: Vec<ByteArray> = threads.iter().map(|thread| thread.name.as_str().into()).collect();
    let traced: Vec<bool> = threads.iter().map(|thread| thread.traced).collect();
    parquet_file::table(THREADS_SCHEMA, |columns| {
        columns.next::<Int32Type>(&threads.iter().map(|thread| thread.tid as i32).collect::<Vec<_>>())?;
        columns.next::<ByteArrayType>(&names)?;
        columns.next::<Int32Type>(&threads.iter().map(|thread| thread.parent as i32).collect::<Vec<_>>())?;
        columns.next::<BoolType>(&traced)?;
        columns.optional(threads.iter().map(|thread| thread.kernel_tid))?;
        columns.optional(threads.iter().map(|thread| thread.process))
    })
}

fn processes(processes: &[ProcessInfo]) -> Written {
    let names: Vec<ByteArray> = processes.iter().map(|process| process.name.as_str().into()).collect();
    parquet_file::table(PROCESSES_SCHEMA, |columns| {
        columns.next::<Int32Type>(&(0..processes.len() as i32).collect::<Vec<_>>())?;
        columns.next::<Int32Type>(&processes.iter().map(|process| process.pid as i32).collect::<Vec<_>>())?;
        columns.next::<ByteArrayType>(&names)?;
        columns.optional(processes.iter().map(|process| process.parent))
    })
}

fn kinds() -> Written {
    let names: Vec<ByteArray> = KIND_NAMES.iter().map(|(_, name)| (*name).into()).collect();
    parquet_file::table(KINDS_SCHEMA, |columns| {
        columns.next::<Int32Type>(&KIND_NAMES.map(|(kind, _)| kind.into()))?;
        columns.next::<ByteArrayType>(&names)
    })
}

/// Reads the tables into a header.
pub fn read(folder: &Path, meta: &Meta, header: &mut Header) -> Result<(), Error> {
    let tables = Tables { folder, meta };
    header.cores = tables.cores()?;
    (header.threads, header.processes) = match meta.version {
        OLDEST => (tables.oldest_threads()?, Vec::new()),
        _ => (tables.threads()?, tables.processes()?),
    };
    let processes = header.processes.len();
    let unknown = |process: Option<u32>| process.is_some_and(|process| process as usize >= processes);
    if let Some(row) = header.threads.iter().position(|thread| unknown(thread.process)) {
        return Err(tables.wrong(THREADS, row, "thread: it names a process that does not exist"));
    }
    if let Some(row) = header.processes.iter().position(|process| unknown(process.parent)) {
        return Err(tables.wrong(PROCESSES, row, "process: its parent does not exist"));
    }
    Ok(())
}

struct Tables<'a> {
    folder: &'a Path,
    meta: &'a Meta,
}

impl Tables<'_> {
    fn open(&self, name: &str, schema: &str, most: usize) -> Result<parquet_file::Table, Error> {
        let path = self.folder.join(name);
        let file = hearth_base::file::open(&path).map_err(Error::io("open", &path))?;
        let bytes = read_all(file, &path, MAX_TABLE_BYTES)?;
        let sum = Sum { bytes: bytes.len() as u64, checksum: Checksum::of(&bytes) };
        match self.meta.tables.get(name) {
            Some(expected) if *expected != sum => {
                return Err(Error::corrupt(&path, "its length or checksum does not match"));
            }
            None if self.meta.complete => {
                return Err(Error::corrupt(&path, "trace.json does not list it"));
            }
            _ => {}
        }
        parquet_file::Table::open(&path, bytes, schema, most)
    }

    fn wrong(&self, table: &str, row: usize, what: &str) -> Error {
        Error::corrupt(&self.folder.join(table), format!("row {row} is not a valid {what}"))
    }

    fn cores(&self) -> Result<Vec<CoreInfo>, Error> {
        let table = self.open(CORES, CORES_SCHEMA, MAX_CORES)?;
        let mut columns = [const { Vec::new() }; 5];
        for (index, column) in columns.iter_mut().enumerate() {
            *column = table.integers(index)?;
        }
        let [numbers, physical, llc, numa, socket] = columns;
        let mut cores = Vec::with_capacity(numbers.len());
        for i in 0..numbers.len() {
            let small = |value: i32| u16::try_from(value).ok();
            let core = || {
                let (physical, llc) = (small(physical[i])?, small(llc[i])?);
                Some(CoreInfo { physical, llc, numa: small(numa[i])?, socket: small(socket[i])? })
            };
            match core() {
                Some(core) if numbers[i] as usize == i => cores.push(core),
                _ => return Err(self.wrong(CORES, i, "core")),
            }
        }
        Ok(cores)
    }

    fn threads(&self) -> Result<Vec<ThreadInfo>, Error> {
        let table = self.open(THREADS, THREADS_SCHEMA, MAX_THREADS)?;
        let mut threads = first_columns(&table)?;
        let (tids, processes) = (table.optional(4)?, table.optional(5)?);
        for (thread, (tid, process)) in threads.iter_mut().zip(tids.into_iter().zip(processes)) {
            (thread.kernel_tid, thread.process) = (tid, process);
        }
        Ok(threads)
    }

    fn oldest_threads(&self) -> Result<Vec<ThreadInfo>, Error> {
        first_columns(&self.open(THREADS, OLDEST_THREADS_SCHEMA, MAX_THREADS)?)
    }

    fn processes(&self) -> Result<Vec<ProcessInfo>, Error> {
        let table = self.open(PROCESSES, PROCESSES_SCHEMA, MAX_THREADS)?;
        let (numbers, pids) = (table.integers(0)?, table.integers(1)?);
        let (names, parents) = (table.strings(2, MAX_NAMES_BYTES)?, table.optional(3)?);
        if let Some(row) = (0..table.rows).find(|row| numbers[*row] as usize != *row) {
            return Err(self.wrong(PROCESSES, row, "process"));
        }
        let rows = pids.into_iter().zip(names).zip(parents);
        Ok(rows.map(|((pid, name), parent)| ProcessInfo { pid: pid as u32, name, parent }).collect())
    }
}

/// The columns of threads that all versions have.
fn first_columns(table: &parquet_file::Table) -> Result<Vec<ThreadInfo>, Error> {
    let (tids, parents) = (table.integers(0)?, table.integers(2)?);
    let names = table.strings(1, MAX_NAMES_BYTES)?;
    let traced = table.column(3, |pages| decode::booleans(pages, table.rows))?;
    let thread = |(i, name)| {
        let (tid, parent) = (tids[i] as u32, parents[i] as u32);
        ThreadInfo { tid, name, parent, traced: traced[i], ..ThreadInfo::default() }
    };
    Ok(names.into_iter().enumerate().map(thread).collect())
}
