//! The messages between a shell, the machine's supervisor and the agent in the guest.
//!
//! A frame is its kind (one byte), the length of its content (32 bits, little-endian), and the content.

use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read, Write};

/// Longest content. Linux limits the arguments of a command to 6 MiB; as JSON each byte takes up to four.
const LONGEST: usize = 32 << 20;
/// Bytes of input that may be on the way. The agent can thus always accept a signal behind them.
pub const WINDOW: usize = 1 << 18;
/// Largest part of a stream in one frame.
pub const PART: usize = 1 << 14;

/// The first frame of a shell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// Version of hearth: both sides must have the same.
    pub version: String,
    pub ask: Ask,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Run a command.
    Run(Job),
    /// End the machine.
    Stop,
}

/// A command to run in the guest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Job {
    pub words: Vec<OsString>,
    pub directory: OsString,
    /// The complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// Rows and columns of the command's terminal; `None`: its streams are pipes.
    pub terminal: Option<(u16, u16)>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    // From the shell.
    Request(Request),
    Input(Vec<u8>),
    EndOfInput,
    Signal(i32),
    /// Rows and columns of the terminal.
    Size(u16, u16),
    // From the supervisor.
    /// The command starts: the machine has booted and has a free slot.
    Accepted,
    /// The request is refused; why.
    Refused(String),
    Run(Job),
    /// The shell is gone: end the command.
    HangUp,
    // From the agent.
    Output(Vec<u8>),
    Errors(Vec<u8>),
    /// The command has taken so many bytes of input.
    Taken(u32),
    /// The command has ended, with this status.
    Exit(u8),
}

impl Frame {
    pub fn write(&self, out: &mut impl Write) -> io::Result<()> {
        let json;
        let (kind, content): (u8, &[u8]) = match self {
            Frame::Request(request) => {
                json = serde_json::to_vec(request)?;
                (b'r', &json)
            }
            Frame::Run(job) => {
                json = serde_json::to_vec(job)?;
                (b'j', &json)
            }
            Frame::Input(bytes) => (b'i', bytes),
            Frame::EndOfInput => (b'd', &[]),
            Frame::Signal(signal) => (b's', &signal.to_le_bytes()),
            Frame::Size(rows, columns) => {
                json = [rows.to_le_bytes(), columns.to_le_bytes()].concat();
                (b'w', &json)
            }
            Frame::Accepted => (b'a', &[]),
            Frame::Refused(why) => (b'n', why.as_bytes()),
            Frame::HangUp => (b'h', &[]),
            Frame::Output(bytes) => (b'o', bytes),
            Frame::Errors(bytes) => (b'e', bytes),
            Frame::Taken(bytes) => (b't', &bytes.to_le_bytes()),
            Frame::Exit(status) => (b'x', std::slice::from_ref(status)),
        };
        let length = u32::try_from(content.len()).ok().filter(|length| *length as usize <= LONGEST);
        let length = length.ok_or_else(|| io::Error::other("the command line is too long"))?;
        // One write: several threads may share the stream behind a lock, and a short frame is one packet.
        out.write_all(&[&[kind], &length.to_le_bytes()[..], content].concat())?;
        out.flush()
    }

    /// The next frame; `None` at the end of the stream.
    pub fn read(from: &mut impl Read) -> io::Result<Option<Frame>> {
        let mut kind = [0];
        loop {
            match from.read(&mut kind) {
                Ok(0) => return Ok(None),
                Ok(_) => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > LONGEST {
            return Err(malformed());
        }
        let mut content = vec![0; length];
        from.read_exact(&mut content)?;
        Frame::parse(kind[0], content).map(Some)
    }

    fn parse(kind: u8, content: Vec<u8>) -> io::Result<Frame> {
        let array = || <[u8; 4]>::try_from(content.as_slice()).map_err(|_| malformed());
        Ok(match kind {
            b'r' => Frame::Request(serde_json::from_slice(&content)?),
            b'j' => Frame::Run(serde_json::from_slice(&content)?),
            b'i' => Frame::Input(content),
            b'd' => Frame::EndOfInput,
            b's' => Frame::Signal(i32::from_le_bytes(array()?)),
            b'w' => {
                let [a, b, c, d] = array()?;
                Frame::Size(u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d]))
            }
            b'a' => Frame::Accepted,
            b'n' => Frame::Refused(String::from_utf8_lossy(&content).into_owned()),
            b'h' => Frame::HangUp,
            b'o' => Frame::Output(content),
            b'e' => Frame::Errors(content),
            b't' => Frame::Taken(u32::from_le_bytes(array()?)),
            b'x' => Frame::Exit(*content.first().ok_or_else(malformed)?),
            _ => return Err(malformed()),
        })
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "not a message of hearth")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;

    #[test]
    fn frames_arrive_as_they_were_sent() {
        let job = Job {
            words: vec!["two words".into(), OsString::from_vec(vec![b'n', 0xff, b'\n'])],
            directory: "/it's".into(),
            environment: vec![("A".into(), "=".into())],
            terminal: Some((24, 80)),
        };
        let frames = [
            Frame::Request(Request { version: "1".into(), ask: Ask::Run(job.clone()) }),
            Frame::Request(Request { version: "1".into(), ask: Ask::Stop }),
            Frame::Input(vec![0, 255]),
            Frame::EndOfInput,
            Frame::Signal(15),
            Frame::Size(50, 300),
            Frame::Accepted,
            Frame::Refused("no".into()),
            Frame::Run(job),
            Frame::HangUp,
            Frame::Output(vec![b'x'; PART]),
            Frame::Errors(Vec::new()),
            Frame::Taken(7),
            Frame::Exit(130),
        ];
        let mut stream = Vec::new();
        frames.iter().for_each(|frame| frame.write(&mut stream).unwrap());
        let mut rest = stream.as_slice();
        for frame in frames {
            assert_eq!(Frame::read(&mut rest).unwrap(), Some(frame));
        }
        assert_eq!(Frame::read(&mut rest).unwrap(), None);
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in [&b"?\0\0\0\0"[..], b"i\xff\xff\xff\xff", b"s\x01\0\0\0a", b"x\0\0\0\0", b"r\x01\0\0\0{"]
        {
            assert!(Frame::read(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
        let too_long = Frame::read(&mut &b"i\xff\xff\xff\xff"[..]).unwrap_err();
        assert_eq!(too_long.kind(), io::ErrorKind::InvalidData);
        assert!(Frame::read(&mut &b"o\x05\0\0\0abc"[..]).is_err(), "it is cut off");
    }
}
