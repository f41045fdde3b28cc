//! Kernel images: the release of an image, and decompression.
//!
//! The layouts are those of the boot protocols (Documentation/arch/x86/boot.rst and arch/arm64/booting.rst in the
//! kernel's tree). arm64's Image is not compressed.

use crate::architecture::Architecture;
use std::io::Read;

const MAGIC: &[u8] = b"HdrS";
const MAGIC_AT: usize = 0x202;
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

const ARM64_MAGIC: &[u8] = b"ARM\x64";
const ARM64_MAGIC_AT: usize = 56;

/// The architecture of an image.
pub fn architecture(image: &[u8]) -> Option<Architecture> {
    if is_boot_image(image) {
        return Some(Architecture::X86_64);
    }
    let arm = image.get(ARM64_MAGIC_AT..).is_some_and(|rest| rest.starts_with(ARM64_MAGIC));
    if arm { Some(Architecture::Arm64) } else { Architecture::of_elf(image) }
}

/// The release string in an image.
pub fn release(image: &[u8]) -> Option<String> {
    let text = if is_boot_image(image) {
        let at = 0x200 + usize::from(number::<2>(image, 0x20e)? as u16);
        let text = image.get(at..)?;
        &text[..text.iter().position(|byte| *byte == 0)?]
    } else {
        // An uncompressed kernel contains its release in its banner.
        const BANNER: &[u8] = b"Linux version ";
        let at = image.windows(BANNER.len()).position(|window| window == BANNER)? + BANNER.len();
        let text = image.get(at..(at + 256).min(image.len()))?;
        &text[..text.iter().position(|byte| *byte == 0)?]
    };
    let word = std::str::from_utf8(text).ok()?.split_whitespace().next()?;
    word.starts_with(|c: char| c.is_ascii_digit()).then(|| word.to_owned())
}

/// Extracts the kernel from a zstd-compressed image, as an ELF file.
///
/// QEMU boots the ELF file directly, without the firmware's loader and decompression in the guest. Under emulation
/// that saves a third of the boot time.
pub fn unpack(image: &[u8]) -> Option<Vec<u8>> {
    if !is_boot_image(image) {
        return None;
    }
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        sectors => usize::from(sectors),
    };
    let start = (sectors + 1) * 512 + number::<4>(image, 0x248)? as usize;
    let length = number::<4>(image, 0x24c)? as usize;
    let payload = image.get(start..start.checked_add(length)?)?;
    // The last four bytes are the unpacked size.
    let packed = payload.get(..length.checked_sub(4)?)?;
    if !packed.starts_with(&ZSTD) {
        return None;
    }
    let mut unpacked = Vec::new();
    // What follows the first frame is padding.
    zstd::Decoder::new(packed).ok()?.single_frame().read_to_end(&mut unpacked).ok()?;
    unpacked.starts_with(b"\x7fELF").then_some(unpacked)
}

fn is_boot_image(image: &[u8]) -> bool {
    image.get(MAGIC_AT..).is_some_and(|rest| rest.starts_with(MAGIC))
}

/// Reads `N` bytes at an offset.
fn number<const N: usize>(image: &[u8], at: usize) -> Option<u64> {
    let bytes = image.get(at..at + N)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024 + 64];
        image[0x1f1] = 1;
        image[MAGIC_AT..MAGIC_AT + 4].copy_from_slice(MAGIC);
        image[0x20e..0x210].copy_from_slice(&0x100u16.to_le_bytes());
        image[0x300..0x30e].copy_from_slice(b"6.99.1-x (me)\0");
        image[0x248..0x24c].copy_from_slice(&64u32.to_le_bytes());
        image[0x24c..0x250].copy_from_slice(&(payload.len() as u32).to_le_bytes());
        image.extend_from_slice(payload);
        image
    }

    #[test]
    fn the_release_is_read() {
        assert_eq!(release(&image(&[])).as_deref(), Some("6.99.1-x"));
        assert_eq!(
            release(b"\x7fELF ... Linux version 7.1.0-mine (me) #1\n\0").as_deref(),
            Some("7.1.0-mine")
        );
        assert_eq!(release(&[b'x'; 4096]), None);
        assert_eq!(release(b"short"), None);
    }

    #[test]
    fn images_have_an_architecture() {
        assert_eq!(architecture(&image(&[])), Some(Architecture::X86_64));
        let arm = [&[0; ARM64_MAGIC_AT][..], ARM64_MAGIC, &[0; 64]].concat();
        assert_eq!(architecture(&arm), Some(Architecture::Arm64));
        assert_eq!(architecture(&[b'x'; 4096]), None);
    }

    #[test]
    fn the_kernel_is_unpacked() {
        let kernel = [&b"\x7fELF"[..], &[7; 100_000]].concat();
        let mut payload = zstd::encode_all(kernel.as_slice(), 1).unwrap();
        payload.extend_from_slice(&(kernel.len() as u32).to_le_bytes());
        assert_eq!(unpack(&image(&payload)), Some(kernel));
        assert_eq!(unpack(&image(b"\x1f\x8bgzip....")), None);
        assert_eq!(unpack(&image(&[ZSTD.as_slice(), &[0; 40]].concat())), None);
        assert_eq!(unpack(b"short"), None);
    }
}
