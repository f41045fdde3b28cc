//! The archive of SchedViz.

use super::formats::{formats, header_page, pages};
use super::{Entry, Kernel, MACHINES, cores};

pub fn write(entries: &[Entry], kernel: Kernel) -> Vec<u8> {
    let machine = MACHINES[0];
    let mut archive = tar::Builder::new(Vec::new());
    let mut add = |name: &str, bytes: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, bytes).unwrap();
    };
    add("metadata.textproto", b"trace_type: FTRACE\n");
    for cpu in 0..cores(entries) {
        let of: Vec<_> = entries.iter().filter(|entry| entry.cpu == cpu).collect();
        add(&format!("traces/cpu{cpu}"), &pages(&of, kernel, machine));
    }
    add("formats/header_page", header_page(machine).as_bytes());
    for (system, name, format) in formats(kernel, machine) {
        add(&format!("formats/{system}/{name}/format"), format.as_bytes());
    }
    archive.into_inner().unwrap()
}
