//! Inspects a guest's requests before the file system gets them.

use crate::architecture::Architecture;
use fuse_backend_rs::abi::fuse_abi::{CreateIn, InHeader, Opcode, OpenIn, OutHeader, ReadIn};
use fuse_backend_rs::transport::Reader;
use std::io::{self, Read};
use vm_memory::ByteValued;

/// Flags of `open` that have other numbers on arm64 (first) than on x86-64 (second): O_DIRECTORY, O_NOFOLLOW, O_DIRECT,
/// and O_LARGEFILE, which the kernel sets for every file.
const DIFFERENT: [(u32, u32); 4] =
    [(0o40000, 0o200000), (0o100000, 0o400000), (0o200000, 0o40000), (0o400000, 0o100000)];

/// Properties of a request.
pub struct Request {
    header: InHeader,
    /// Flags for opening or reading a file.
    flags: u32,
    /// The request to forward in place of this one.
    ///
    /// It lacks O_NOATIME. Only a file's owner may set that flag, but overlayfs sets it for every file. If that
    /// fails during a read, the file system closes a file descriptor that it does not own. And it has the host's
    /// numbers of the other flags.
    pub changed: Option<Vec<u8>>,
}

impl Request {
    /// Reads a request of a guest of this architecture.
    pub fn read(reader: &mut Reader, guest: Architecture) -> io::Result<Self> {
        const CREATE: u32 = Opcode::Create as u32;
        const OPEN: u32 = Opcode::Open as u32;
        const OPENDIR: u32 = Opcode::Opendir as u32;
        const READ: u32 = Opcode::Read as u32;
        let header: InHeader = reader.read_obj()?;
        let (flags, mut changed) = match header.opcode {
            OPEN | OPENDIR => {
                for_host(guest, &header, reader.read_obj()?, |open: &mut OpenIn| &mut open.flags)
            }
            CREATE => for_host(guest, &header, reader.read_obj()?, |create: &mut CreateIn| &mut create.flags),
            READ => for_host(guest, &header, reader.read_obj()?, |read: &mut ReadIn| &mut read.flags),
            _ => (0, None),
        };
        if let Some(changed) = &mut changed {
            reader.read_to_end(changed)?;
        }
        Ok(Request { header, flags, changed })
    }

    /// An error reply.
    pub fn refusal(&self, errno: i32) -> OutHeader {
        OutHeader { len: size_of::<OutHeader>() as u32, error: -errno, unique: self.header.unique }
    }

    /// Whether it changes the file system.
    pub fn writes(&self) -> bool {
        writes(self.header.opcode, self.flags)
    }
}

/// The flags of a request, and the request with the host's flags and without O_NOATIME, if that is a change.
fn for_host<T: ByteValued>(
    guest: Architecture,
    header: &InHeader,
    mut arguments: T,
    flags: fn(&mut T) -> &mut u32,
) -> (u32, Option<Vec<u8>>) {
    let flags = flags(&mut arguments);
    let (before, hosts) = (*flags, hosts_flags(guest, *flags));
    *flags = hosts & !(libc::O_NOATIME as u32);
    let changed = *flags != before;
    (hosts, changed.then(|| [header.as_slice(), arguments.as_slice()].concat()))
}

/// The host's numbers of a guest's flags.
fn hosts_flags(guest: Architecture, flags: u32) -> u32 {
    if !guest.is_foreign() {
        return flags;
    }
    let pairs =
        DIFFERENT.map(|(arm, x86)| if guest == Architecture::Arm64 { (arm, x86) } else { (x86, arm) });
    let same = pairs.iter().fold(flags, |rest, (guests, _)| rest & !guests);
    pairs.iter().filter(|(guests, _)| flags & guests != 0).fold(same, |all, (_, hosts)| all | hosts)
}

fn writes(opcode: u32, open_flags: u32) -> bool {
    use Opcode::*;
    // Not Ioctl: the file system supports none, and overlayfs accepts only its error "no such call".
    const CHANGES: [Opcode; 15] = [
        Setattr,
        Symlink,
        Mknod,
        Mkdir,
        Unlink,
        Rmdir,
        Rename,
        Link,
        Write,
        Setxattr,
        Removexattr,
        Create,
        Fallocate,
        Rename2,
        CopyFileRange,
    ];
    const TMPFILE: u32 = 51;
    const READS: u32 = libc::O_RDONLY as u32;
    let opens_for_writing =
        open_flags & libc::O_ACCMODE as u32 != READS || open_flags & libc::O_TRUNC as u32 != 0;
    CHANGES.iter().any(|change| *change as u32 == opcode)
        || opcode == TMPFILE
        || opcode == Open as u32 && opens_for_writing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_only_share_refuses_what_writes() {
        for opcode in [Opcode::Write, Opcode::Unlink, Opcode::Create, Opcode::Rename2, Opcode::Setattr] {
            assert!(writes(opcode as u32, 0));
        }
        for opcode in [Opcode::Lookup, Opcode::Read, Opcode::Readdirplus, Opcode::Getxattr, Opcode::Init] {
            assert!(!writes(opcode as u32, 0));
        }
        let open = |flags: i32| writes(Opcode::Open as u32, flags as u32);
        assert!(!open(libc::O_RDONLY) && !open(libc::O_RDONLY | libc::O_CLOEXEC));
        assert!(open(libc::O_WRONLY) && open(libc::O_RDWR) && open(libc::O_RDONLY | libc::O_TRUNC));
    }

    #[test]
    fn noatime_is_taken_out() {
        let header = InHeader { opcode: Opcode::Open as u32, unique: 7, ..InHeader::default() };
        let changed = |flags: i32| {
            let open = OpenIn { flags: flags as u32, ..OpenIn::default() };
            let (before, changed) = for_host(Architecture::HOST, &header, open, |open| &mut open.flags);
            assert_eq!(before, flags as u32);
            changed
        };
        assert_eq!(changed(libc::O_RDONLY), None);
        let changed = changed(libc::O_CLOEXEC | libc::O_NOATIME).unwrap();
        let (first, second) = changed.split_at(size_of::<InHeader>());
        assert_eq!(first, header.as_slice());
        assert_eq!(second[..4], (libc::O_CLOEXEC as u32).to_ne_bytes());
    }

    #[test]
    fn a_foreign_guests_flags_get_the_hosts_numbers() {
        let (guest, large) = match Architecture::HOST {
            Architecture::X86_64 => (Architecture::Arm64, 0o400000),
            Architecture::Arm64 => (Architecture::X86_64, 0o100000),
        };
        let guests = |arm: u32, x86: u32| if guest == Architecture::Arm64 { arm } else { x86 };
        let folder = guests(0o40000, 0o200000) | libc::O_CLOEXEC as u32;
        assert_eq!(hosts_flags(guest, folder), (libc::O_DIRECTORY | libc::O_CLOEXEC) as u32);
        assert_eq!(hosts_flags(guest, guests(0o200000, 0o40000)), libc::O_DIRECT as u32);
        assert_eq!(hosts_flags(guest, large) & (libc::O_NOFOLLOW | libc::O_DIRECTORY) as u32, 0);
        assert_eq!(hosts_flags(Architecture::HOST, folder), folder);
    }
}
