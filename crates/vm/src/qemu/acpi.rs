//! ACPI's description of idle states, which QEMU's own tables lack: without it Linux has no cpuidle in a guest.

/// Shallow idle (C1, ACPI 6.5 section 8.3): the processor halts. An emulated processor has no deeper one.
const C1: u8 = 1;

/// A secondary table (SSDT) in which each of QEMU's CPUs has idle states with these exit latencies in µs (`_CST`, section
/// 8.4.1.1). All of them halt.
pub(crate) fn idle_states(cpus: u16, latencies_us: &[u16]) -> Vec<u8> {
    let entries: Vec<u8> = latencies_us.iter().flat_map(|&us| entry(us)).collect();
    let states =
        package(1 + latencies_us.len() as u8, &[&[0x0a, latencies_us.len() as u8], &entries[..]].concat());
    let body: Vec<u8> = (0..cpus).flat_map(|cpu| scope(cpu, &[b"\x08_CST", &states[..]].concat())).collect();
    table(&body)
}

/// An idle state: where to enter it, its type, exit latency, and power.
fn entry(latency_us: u16) -> Vec<u8> {
    // A resource template with one generic register in fixed hardware, and its end.
    let template = [&[0x82, 12, 0, 0x7f][..], &[0; 11], &[0x79, 0]].concat();
    let register = block(&[0x11], &[&[0x0a, template.len() as u8], &template[..]].concat());
    let latency = latency_us.to_le_bytes();
    package(4, &[&register[..], &[0x0a, C1, 0x0b, latency[0], latency[1], 0x0a, 0]].concat())
}

fn package(elements: u8, contents: &[u8]) -> Vec<u8> {
    block(&[0x12], &[&[elements], contents].concat())
}

/// QEMU's name of a CPU: `\_SB.CPUS.C00F`.
fn scope(cpu: u16, contents: &[u8]) -> Vec<u8> {
    let name = format!("\\\x2f\x03_SB_CPUSC{cpu:03X}");
    block(&[0x10], &[name.as_bytes(), contents].concat())
}

/// An opcode, the length from there on (PkgLength, section 20.2.4), and the contents.
fn block(opcode: &[u8], contents: &[u8]) -> Vec<u8> {
    let length = contents.len() + 2;
    assert!(length < 1 << 12, "the contents are too long");
    let length = [0x40 | (length & 0xf) as u8, (length >> 4) as u8];
    [opcode, &length, contents].concat()
}

/// The header of a table (section 5.2.6) and its body.
fn table(body: &[u8]) -> Vec<u8> {
    let length = (36 + body.len() as u32).to_le_bytes();
    let mut table =
        [b"SSDT", &length[..], &[2, 0], b"HEARTH", b"IDLE    ", &[1, 0, 0, 0], b"HRTH", &[1, 0, 0, 0], body]
            .concat();
    table[9] = table.iter().fold(0u8, |sum, byte| sum.wrapping_sub(*byte));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linux reads it in the tests in live kernels.
    #[test]
    fn one_state_of_one_processor() {
        let table = idle_states(1, &[50]);
        assert_eq!(table.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte)), 0, "the checksum");
        assert_eq!(u32::from_le_bytes(table[4..8].try_into().unwrap()) as usize, table.len());
        assert!(table.windows(16).any(|bytes| bytes == b"\\/\x03_SB_CPUSC000\x08"), "{table:x?}");
    }
}
