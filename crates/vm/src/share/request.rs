//! Inspects a guest's requests before the file system gets them.

use fuse_backend_rs::abi::fuse_abi::{InHeader, Opcode, OpenIn, OutHeader, ReadIn};
use fuse_backend_rs::transport::Reader;
use std::io;
use vm_memory::ByteValued;

/// Properties of a request.
pub struct Request {
    header: InHeader,
    /// Flags for opening or reading a file.
    flags: u32,
    /// The request to forward in place of this one.
    ///
    /// It lacks O_NOATIME. Only a file's owner may set that flag, but overlayfs sets it for every file. If that
    /// fails during a read, the file system closes a file descriptor that it does not own.
    pub changed: Option<Vec<u8>>,
}

impl Request {
    pub fn read(reader: &mut Reader) -> io::Result<Self> {
        const OPEN: u32 = Opcode::Open as u32;
        const OPENDIR: u32 = Opcode::Opendir as u32;
        const READ: u32 = Opcode::Read as u32;
        let header: InHeader = reader.read_obj()?;
        let (flags, changed) = match header.opcode {
            OPEN | OPENDIR => {
                without_noatime(&header, reader.read_obj()?, |open: &mut OpenIn| &mut open.flags)
            }
            READ => without_noatime(&header, reader.read_obj()?, |read: &mut ReadIn| &mut read.flags),
            _ => (0, None),
        };
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

/// The flags of a request, and the request without O_NOATIME if it has that flag.
fn without_noatime<T: ByteValued>(
    header: &InHeader,
    mut arguments: T,
    flags: fn(&mut T) -> &mut u32,
) -> (u32, Option<Vec<u8>>) {
    const NOATIME: u32 = libc::O_NOATIME as u32;
    let flags = flags(&mut arguments);
    let before = *flags;
    *flags &= !NOATIME;
    let changed = before & NOATIME != 0;
    (before, changed.then(|| [header.as_slice(), arguments.as_slice()].concat()))
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
            let (before, changed) = without_noatime(&header, open, |open| &mut open.flags);
            assert_eq!(before, flags as u32);
            changed
        };
        assert_eq!(changed(libc::O_RDONLY), None);
        let changed = changed(libc::O_CLOEXEC | libc::O_NOATIME).unwrap();
        let (first, second) = changed.split_at(size_of::<InHeader>());
        assert_eq!(first, header.as_slice());
        assert_eq!(second[..4], (libc::O_CLOEXEC as u32).to_ne_bytes());
    }
}
