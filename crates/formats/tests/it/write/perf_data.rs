//! `perf.data`.

use super::formats::{formats, payload, tracing_data};
use super::{Bytes, Entry, Kernel, Machine, cores};
use hearth_trace::ftrace::Order;

/// `PERF_SAMPLE_*`.
const IP: u64 = 1;
const TID: u64 = 1 << 1;
const TIME: u64 = 1 << 2;
const READ: u64 = 1 << 4;
const CPU: u64 = 1 << 7;
const PERIOD: u64 = 1 << 8;
const RAW: u64 = 1 << 10;
const IDENTIFIER: u64 = 1 << 16;
/// `PERF_FORMAT_ID | PERF_FORMAT_GROUP`.
const GROUP: u64 = 4 | 8;

/// Writes a file. `groups`: the events were recorded as a group, whose counts are in each sample.
pub fn write(entries: &[Entry], kernel: Kernel, machine: Machine, groups: bool) -> Vec<u8> {
    let records = records(entries, kernel, machine, groups);
    file(entries, kernel, machine, groups, &records, None)
}

fn file(
    entries: &[Entry],
    kernel: Kernel,
    machine: Machine,
    groups: bool,
    records: &[u8],
    compression: Option<Vec<u8>>,
) -> Vec<u8> {
    const ATTRIBUTE: u64 = 128 + 16;
    let formats = formats(kernel, machine);
    let mut file = Bytes::new(machine.order);
    file.u64(u64::from_le_bytes(*b"PERFILE2"));
    let ids = 104 + ATTRIBUTE * formats.len() as u64;
    let data = ids + 8 * formats.len() as u64;
    for value in [104, ATTRIBUTE, 104, ATTRIBUTE * formats.len() as u64, data, records.len() as u64, 0, 0] {
        file.u64(value);
    }
    // HEADER_TRACING_DATA, HEADER_HOSTNAME, HEADER_OSRELEASE and HEADER_NRCPUS, in an array of `long`.
    let compressed = if compression.is_some() { 1 << 27 } else { 0 };
    file.number(1 << 1 | 1 << 3 | 1 << 4 | 1 << 7 | compressed, machine.long);
    file.bytes(&vec![0; 32 - machine.long]);
    for (number, _) in formats.iter().enumerate() {
        file.bytes(&attribute(number, machine, groups));
        file.u64(ids + 8 * number as u64);
        file.u64(8);
    }
    (0..formats.len()).for_each(|number| file.u64(id(number)));
    assert_eq!(file.out.len() as u64, data);
    file.bytes(records);
    features(&mut file, entries, kernel, machine, compression);
    file.out
}

/// ID of the samples of an event.
fn id(number: usize) -> u64 {
    1000 + number as u64
}

/// `perf record -z`: the records are compressed.
pub fn compressed(entries: &[Entry], kernel: Kernel) -> Vec<u8> {
    let machine = super::MACHINES[0];
    let records = records(entries, kernel, machine, false);
    let packed = zstd::encode_all(&records[..], 1).unwrap();
    let mut record = Bytes::new(machine.order);
    record.u32(81);
    record.u16(0);
    record.u16(u16::try_from(packed.len() + 8).unwrap());
    record.bytes(&packed);
    record.out.resize(record.out.len().next_multiple_of(8), 0);
    let length = record.out.len() as u16;
    record.out[6..8].copy_from_slice(&length.to_le_bytes());
    // HEADER_COMPRESSED: version, zstd, level, ratio, size of the buffer.
    let mut compression = Bytes::new(machine.order);
    [1, 1, 1, 4, 512 << 10].iter().for_each(|word| compression.u32(*word));
    file(entries, kernel, machine, false, &record.out, Some(compression.out))
}

/// `perf record -o -`: without a header, what it has is in records.
pub fn piped(entries: &[Entry], kernel: Kernel) -> Vec<u8> {
    let machine = super::MACHINES[0];
    let mut out = Bytes::new(machine.order);
    out.bytes(b"PERFILE2");
    out.u64(16);
    for number in 0..formats(kernel, machine).len() {
        out.u32(64); // PERF_RECORD_HEADER_ATTR
        out.u16(0);
        out.u16(8 + 128 + 8);
        out.bytes(&attribute(number, machine, false));
        out.u64(id(number));
    }
    let mut tracing = tracing(kernel, machine);
    tracing.resize(tracing.len().next_multiple_of(8), 0);
    out.u32(66); // PERF_RECORD_HEADER_TRACING_DATA
    out.u16(0);
    out.u16(12);
    out.u32(tracing.len() as u32);
    out.bytes(&tracing);
    out.bytes(&records(entries, kernel, machine, false));
    out.out
}

fn attribute(number: usize, machine: Machine, groups: bool) -> Vec<u8> {
    let mut bytes = Bytes::new(machine.order);
    bytes.u32(2); // PERF_TYPE_TRACEPOINT
    bytes.u32(128);
    bytes.u64(300 + number as u64);
    bytes.u64(1); // period
    let read = if groups { READ } else { 0 };
    bytes.u64(IDENTIFIER | IP | TID | TIME | CPU | PERIOD | RAW | read);
    bytes.u64(if groups { GROUP } else { 4 });
    bytes.out.resize(128, 0);
    bytes.out
}

fn records(entries: &[Entry], kernel: Kernel, machine: Machine, groups: bool) -> Vec<u8> {
    let mut out = Bytes::new(machine.order);
    for entry in entries {
        let payload = payload(entry, kernel, machine);
        let mut kind = Bytes::new(machine.order);
        kind.bytes(&payload[..2]);
        let number = machine.order.number(&kind.out) as usize - 300;
        let mut body = Bytes::new(machine.order);
        body.u64(id(number));
        body.u64(0xffff_ffff_8110_0000);
        body.u32(entry.task.process as u32);
        body.u32(entry.task.pid as u32);
        body.u64(entry.time);
        body.u32(entry.cpu);
        body.u32(0);
        body.u64(1);
        if groups {
            body.u64(2);
            for value in [5, id(0), 7, id(1)] {
                body.u64(value);
            }
        }
        // Raw data ends at a multiple of 8 bytes, with its size.
        let size = (payload.len() + 4).next_multiple_of(8) - 4;
        body.u32(size as u32);
        let end = body.out.len() + size;
        body.bytes(&payload);
        body.out.resize(end, 0);
        out.u32(9);
        out.u16(1); // PERF_RECORD_MISC_KERNEL
        out.u16(body.out.len() as u16 + 8);
        out.bytes(&body.out);
    }
    out.out
}

/// Appends the table of the features, and their contents.
fn features(
    file: &mut Bytes,
    entries: &[Entry],
    kernel: Kernel,
    machine: Machine,
    compression: Option<Vec<u8>>,
) {
    let text = |text: &str| {
        let mut bytes = Bytes::new(machine.order);
        bytes.u32(64);
        bytes.text(text);
        bytes.out.resize(68, 0);
        bytes.out
    };
    let mut cpus = Bytes::new(machine.order);
    cpus.u32(cores(entries));
    cpus.u32(cores(entries));
    let mut contents = vec![tracing(kernel, machine), text("host"), text(kernel.release), cpus.out];
    contents.extend(compression);
    let mut at = file.out.len() + 16 * contents.len();
    for content in &contents {
        file.u64(at as u64);
        file.u64(content.len() as u64);
        at += content.len();
    }
    contents.iter().for_each(|content| file.bytes(content));
}

/// HEADER_TRACING_DATA.
fn tracing(kernel: Kernel, machine: Machine) -> Vec<u8> {
    let mut tracing = Bytes::new(machine.order);
    tracing.bytes(b"\x17\x08\x44tracing");
    tracing.text("0.6");
    tracing.bytes(&[u8::from(machine.order == Order::Big), machine.long as u8]);
    tracing.u32(4096);
    let [header, events] = tracing_data(kernel, machine);
    tracing.bytes(&header.out);
    tracing.u32(0); // formats of ftrace
    tracing.bytes(&events.out);
    tracing.u32(0); // symbols
    tracing.u32(0); // formats of printk
    tracing.u64(0); // names of threads
    tracing.out
}
