//! Inspects a guest's requests before the file system gets them.

use super::Access;
use crate::architecture::Architecture;
use fuse_backend_rs::abi::fuse_abi::{CreateIn, InHeader, MknodIn, Opcode, OpenIn, OutHeader, ReadIn};
use fuse_backend_rs::transport::Reader;
use std::io::{self, Read};
use vm_memory::ByteValued;

/// Flags of `open` that have other numbers on arm64 (first) than on x86-64 (second): O_DIRECTORY, O_NOFOLLOW, O_DIRECT,
/// and O_LARGEFILE, which the kernel sets for every file.
const DIFFERENT: [(u32, u32); 4] =
    [(0o40000, 0o200000), (0o100000, 0o400000), (0o200000, 0o40000), (0o400000, 0o100000)];

/// What a request does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Reads,
    Changes,
}

/// Properties of a request.
pub struct Request {
    header: InHeader,
    /// Flags for opening or reading a file.
    flags: u32,
    /// The file to make.
    node: MknodIn,
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
        const MKNOD: u32 = Opcode::Mknod as u32;
        let header: InHeader = reader.read_obj()?;
        let mut node = MknodIn::default();
        let (flags, mut changed) = match header.opcode {
            OPEN | OPENDIR => {
                for_host(guest, &header, reader.read_obj()?, |open: &mut OpenIn| &mut open.flags)
            }
            CREATE => for_host(guest, &header, reader.read_obj()?, |create: &mut CreateIn| &mut create.flags),
            READ => for_host(guest, &header, reader.read_obj()?, |read: &mut ReadIn| &mut read.flags),
            MKNOD => {
                node = reader.read_obj()?;
                (0, None)
            }
            _ => (0, None),
        };
        if let Some(changed) = &mut changed {
            reader.read_to_end(changed)?;
        }
        Ok(Request { header, flags, node, changed })
    }

    /// An error reply.
    pub fn refusal(&self, errno: i32) -> OutHeader {
        OutHeader { len: size_of::<OutHeader>() as u32, error: -errno, unique: self.header.unique }
    }

    /// The error that a request gets that the file system must not see.
    pub fn refused(&self, access: Access) -> Option<i32> {
        match kind(self.header.opcode, self.flags, &self.node) {
            Ok(Kind::Changes) if access == Access::ReadOnly => Some(libc::EROFS),
            Ok(_) => None,
            Err(error) => Some(error),
        }
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

/// Requests that change nothing. The guest's kernel does without all others: it takes the answer "no such call".
const READS: [Opcode; 21] = [
    Opcode::Lookup,
    Opcode::Forget,
    Opcode::Getattr,
    Opcode::Readlink,
    Opcode::Read,
    Opcode::Statfs,
    Opcode::Release,
    Opcode::Fsync,
    Opcode::Getxattr,
    Opcode::Listxattr,
    Opcode::Flush,
    Opcode::Init,
    Opcode::Opendir,
    Opcode::Readdir,
    Opcode::Releasedir,
    Opcode::Fsyncdir,
    Opcode::Access,
    Opcode::Destroy,
    Opcode::BatchForget,
    Opcode::Readdirplus,
    Opcode::Lseek,
];

/// Requests that change the file system. `Open` is of both kinds, and `Mknod` makes no devices.
const CHANGES: [Opcode; 14] = [
    Opcode::Setattr,
    Opcode::Symlink,
    Opcode::Mkdir,
    Opcode::Unlink,
    Opcode::Rmdir,
    Opcode::Rename,
    Opcode::Link,
    Opcode::Write,
    Opcode::Setxattr,
    Opcode::Removexattr,
    Opcode::Create,
    Opcode::Fallocate,
    Opcode::Rename2,
    Opcode::CopyFileRange,
];

/// Whether a request reads or changes; or the error that it gets.
fn kind(opcode: u32, open_flags: u32, node: &MknodIn) -> Result<Kind, i32> {
    const OPEN: u32 = Opcode::Open as u32;
    const MKNOD: u32 = Opcode::Mknod as u32;
    let known = |list: &[Opcode]| list.iter().any(|known| *known as u32 == opcode);
    let opens_for_writing = open_flags & libc::O_ACCMODE as u32 != libc::O_RDONLY as u32
        || open_flags & libc::O_TRUNC as u32 != 0;
    match opcode {
        OPEN if opens_for_writing => Ok(Kind::Changes),
        OPEN => Ok(Kind::Reads),
        MKNOD if is_device(node) => Err(libc::EPERM),
        MKNOD => Ok(Kind::Changes),
        _ if known(&READS) => Ok(Kind::Reads),
        _ if known(&CHANGES) => Ok(Kind::Changes),
        _ => Err(libc::ENOSYS),
    }
}

/// A character device of number 0 is overlayfs's mark of a removed file.
fn is_device(node: &MknodIn) -> bool {
    match node.mode & libc::S_IFMT {
        libc::S_IFBLK => true,
        libc::S_IFCHR => node.rdev != 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(opcode: Opcode, flags: i32) -> Result<Kind, i32> {
        kind(opcode as u32, flags as u32, &MknodIn::default())
    }

    #[test]
    fn a_read_only_share_refuses_what_writes() {
        for opcode in [Opcode::Write, Opcode::Unlink, Opcode::Create, Opcode::Rename2, Opcode::Setattr] {
            assert_eq!(of(opcode, 0), Ok(Kind::Changes));
        }
        for opcode in [Opcode::Lookup, Opcode::Read, Opcode::Readdirplus, Opcode::Getxattr, Opcode::Init] {
            assert_eq!(of(opcode, 0), Ok(Kind::Reads));
        }
        for flags in [libc::O_RDONLY, libc::O_RDONLY | libc::O_CLOEXEC] {
            assert_eq!(of(Opcode::Open, flags), Ok(Kind::Reads));
        }
        for flags in [libc::O_WRONLY, libc::O_RDWR, libc::O_RDONLY | libc::O_TRUNC] {
            assert_eq!(of(Opcode::Open, flags), Ok(Kind::Changes));
        }
    }

    #[test]
    fn only_known_requests_pass() {
        for opcode in [Opcode::Ioctl, Opcode::SetupMapping, Opcode::Setlk, Opcode::Poll, Opcode::NotifyReply]
        {
            assert_eq!(of(opcode, 0), Err(libc::ENOSYS));
        }
        // No request has these numbers yet, or no more.
        for opcode in [0, 7, 19, 50, 51, 52, 53, 4096, u32::MAX] {
            assert_eq!(kind(opcode, 0, &MknodIn::default()), Err(libc::ENOSYS), "{opcode}");
        }
    }

    #[test]
    fn a_guest_makes_no_devices() {
        let made = |mode: u32, rdev: u32| {
            kind(Opcode::Mknod as u32, 0, &MknodIn { mode: mode | 0o600, rdev, ..MknodIn::default() })
        };
        for (mode, rdev) in [(libc::S_IFREG, 0), (libc::S_IFIFO, 0), (libc::S_IFSOCK, 0), (libc::S_IFCHR, 0)]
        {
            assert_eq!(made(mode, rdev), Ok(Kind::Changes));
        }
        assert_eq!(made(libc::S_IFBLK, 0x800), Err(libc::EPERM));
        assert_eq!(made(libc::S_IFCHR, 0x101), Err(libc::EPERM));
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
