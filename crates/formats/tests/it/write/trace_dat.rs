//! `trace.dat` of trace-cmd.

use super::formats::{pages, tracing_data};
use super::{Bytes, Entry, Kernel, Machine, cores};
use hearth_trace::ftrace::Order;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Six,
    Seven,
    /// With compressed sections.
    SevenZlib,
    SevenZstd,
}

fn begin(version: u8, machine: Machine) -> Bytes {
    let mut file = Bytes::new(machine.order);
    file.bytes(b"\x17\x08\x44tracing");
    file.bytes(&[version, 0, u8::from(machine.order == Order::Big), machine.long as u8]);
    file.u32(4096);
    file
}

/// The pages of each core.
fn buffers(entries: &[Entry], kernel: Kernel, machine: Machine) -> Vec<Vec<u8>> {
    let of = |cpu| entries.iter().filter(|entry| entry.cpu == cpu).collect::<Vec<_>>();
    (0..cores(entries)).map(|cpu| pages(&of(cpu), kernel, machine)).collect()
}

pub fn write(entries: &[Entry], kernel: Kernel, machine: Machine, version: Version) -> Vec<u8> {
    let buffers = buffers(entries, kernel, machine);
    match version {
        Version::Six => six(&buffers, kernel, machine),
        Version::Seven => seven(&buffers, kernel, machine, "none"),
        Version::SevenZlib => seven(&buffers, kernel, machine, "zlib"),
        Version::SevenZstd => seven(&buffers, kernel, machine, "zstd"),
    }
}

fn six(buffers: &[Vec<u8>], kernel: Kernel, machine: Machine) -> Vec<u8> {
    let mut file = begin(b'6', machine);
    let [header, events] = tracing_data(kernel, machine);
    file.bytes(&header.out);
    file.u32(0); // formats of ftrace
    file.bytes(&events.out);
    file.u32(0); // symbols
    file.u32(0); // formats of printk
    file.sized(b""); // names of threads
    file.u32(buffers.len() as u32);
    file.bytes(b"options  \0");
    file.u16(0);
    file.bytes(b"flyrecord\0");
    let table = file.out.len();
    buffers.iter().for_each(|_| file.bytes(&[0; 16]));
    for (cpu, pages) in buffers.iter().enumerate() {
        file.out.resize(file.out.len().next_multiple_of(4096), 0);
        let at = file.out.len() as u64;
        file.set_u64(table + 16 * cpu, at);
        file.set_u64(table + 16 * cpu + 8, pages.len() as u64);
        file.bytes(pages);
    }
    file.out
}

/// Compressed bytes after their two lengths.
fn packed(bytes: &[u8], algorithm: &str, order: Order) -> Vec<u8> {
    let packed = match algorithm {
        "zstd" => zstd::encode_all(bytes, 3).unwrap(),
        _ => {
            let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            std::io::Write::write_all(&mut zlib, bytes).unwrap();
            zlib.finish().unwrap()
        }
    };
    let mut out = Bytes::new(order);
    out.u32(packed.len() as u32);
    out.u32(bytes.len() as u32);
    out.bytes(&packed);
    out.out
}

/// Appends a section. Returns its position.
fn section(file: &mut Bytes, id: u16, content: &[u8], algorithm: &str) -> u64 {
    let at = file.out.len() as u64;
    file.u16(id);
    file.u16(u16::from(algorithm != "none"));
    file.u32(0);
    match algorithm {
        "none" => file.sized(content),
        _ => file.sized(&packed(content, algorithm, file.order)),
    }
    at
}

fn seven(buffers: &[Vec<u8>], kernel: Kernel, machine: Machine, algorithm: &str) -> Vec<u8> {
    let mut file = begin(b'7', machine);
    file.text(algorithm);
    file.text(if algorithm == "none" { "" } else { "1.0" });
    let first = file.out.len();
    file.u64(0);
    let [header, events] = tracing_data(kernel, machine);
    let header = section(&mut file, 16, &header.out, algorithm);
    let mut none = Bytes::new(machine.order);
    none.u32(0);
    let ftrace = section(&mut file, 17, &none.out, algorithm);
    let events = section(&mut file, 18, &events.out, algorithm);
    let mut no_names = Bytes::new(machine.order);
    no_names.sized(b"");
    let names = section(&mut file, 21, &no_names.out, algorithm);
    let mut options = Bytes::new(machine.order);
    for (id, at) in [(16, header), (17, ftrace), (18, events), (21, names)] {
        options.u16(id);
        options.u32(8);
        options.u64(at);
    }
    options.u16(8);
    options.u32(4);
    options.u32(buffers.len() as u32);
    let buffer = buffer(&mut file, buffers, algorithm);
    options.u16(3);
    options.u32(buffer.out.len() as u32);
    options.bytes(&buffer.out);
    options.u16(0);
    options.u32(8);
    options.u64(0);
    let at = section(&mut file, 0, &options.out, algorithm);
    file.set_u64(first, at);
    file.out
}

/// Appends a buffer's section. Returns the content of the option that describes it.
fn buffer(file: &mut Bytes, buffers: &[Vec<u8>], algorithm: &str) -> Bytes {
    let at = file.out.len() as u64;
    file.u16(3);
    file.u16(u16::from(algorithm != "none"));
    file.u32(0);
    let size = file.out.len();
    file.u64(0);
    let mut option = Bytes::new(file.order);
    option.u64(at);
    option.text("");
    option.text("local");
    option.u32(4096);
    option.u32(buffers.len() as u32);
    for (cpu, pages) in buffers.iter().enumerate() {
        file.out.resize(file.out.len().next_multiple_of(4096), 0);
        let at = file.out.len() as u64;
        match algorithm {
            "none" => file.bytes(pages),
            _ => {
                // Chunks of two pages.
                let chunks: Vec<_> = pages.chunks(8192).collect();
                file.u32(chunks.len() as u32);
                chunks.iter().for_each(|chunk| file.bytes(&packed(chunk, algorithm, file.order)));
            }
        }
        option.u32(cpu as u32);
        option.u64(if pages.is_empty() { 0 } else { at });
        option.u64(if pages.is_empty() { 0 } else { file.out.len() as u64 - at });
    }
    let length = (file.out.len() - size - 8) as u64;
    file.set_u64(size, length);
    option
}
