//! What the kernel logs of sched_ext while a policy is loaded and attached: the reason of a refusal.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// What the kernel's messages of sched_ext begin with.
const PREFIX: &str = "sched_ext: ";
/// Longest record of /dev/kmsg.
const RECORD: usize = 8192;

/// The kernel's log from a moment on. Empty if this process may not read it.
pub struct KernelLog(Option<File>);

impl KernelLog {
    /// The log from now on.
    pub fn begin() -> KernelLog {
        let open = || {
            let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open("/dev/kmsg")?;
            file.seek(SeekFrom::End(0))?;
            Ok::<_, std::io::Error>(file)
        };
        KernelLog(open().ok())
    }

    /// What the kernel has said of sched_ext since the beginning, or since the last call.
    pub fn reason(&mut self) -> Option<String> {
        let file = self.0.as_mut()?;
        let (mut said, mut record) = (Vec::new(), vec![0; RECORD]);
        loop {
            match file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => {
                    said.extend(message(&String::from_utf8_lossy(&record[..length])).map(str::to_owned))
                }
                // Records were overwritten: the next read continues behind them.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
                Err(_) => break,
            }
        }
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// The text of a record of sched_ext: `4,1234,56789,-;sched_ext: TEXT`.
fn message(record: &str) -> Option<&str> {
    let (_, text) = record.split_once(';')?;
    let text = text.lines().next()?.strip_prefix(PREFIX)?.trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_messages_of_sched_ext_count() {
        let refused =
            "3,812,9501234,-;sched_ext: Not compatible with \"isolcpus=\" domain isolation\n SUBSYSTEM=x\n";
        assert_eq!(message(refused), Some("Not compatible with \"isolcpus=\" domain isolation"));
        for other in ["6,1,2,-;usb 1-1: sched_ext: no", "nonsense", "6,1,2,-;sched_ext: \n", ""] {
            assert_eq!(message(other), None, "{other}");
        }
    }

    #[test]
    fn nothing_is_said_without_a_policy() {
        assert_eq!(KernelLog::begin().reason(), None);
        assert_eq!(KernelLog(None).reason(), None);
    }
}
