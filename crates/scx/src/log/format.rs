//! File format of a log: `HEARTLOG`, version, length of the header, a header in JSON, the records of
//! `runtime/bpf/layout.h`, and an end record. Numbers are little-endian. A truncated file can be read up to its end.

pub use crate::layout::{LogRecord as Record, event};
use crate::topology::Domains;
use hearth_machine::FULL_CAPACITY;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::mem::offset_of;

const MAGIC: [u8; 8] = *b"HEARTLOG";
const VERSION: u32 = 2;
/// Longest header that a reader accepts, in bytes.
const MAX_HEADER: u32 = 16 << 20;

/// Constant input of the handlers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Header {
    pub policy: String,
    /// Hash of the C that the policy was compiled to.
    pub c: String,
    /// A value for each parameter, in order.
    pub params: Vec<i64>,
    pub kernel: String,
    pub command: Vec<String>,
    /// In ascending order of the kernel's numbers.
    pub cores: Vec<Core>,
    pub domains: Domains,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Core {
    pub cpu: u32,
    pub min_khz: u32,
    /// 1 to 1024. Older logs are of policies that did not see it.
    #[serde(default = "full_capacity")]
    pub capacity: u32,
}

/// The capacity of the fastest cores.
fn full_capacity() -> u32 {
    FULL_CAPACITY.into()
}

/// Kinds of records.
pub mod kind {
    pub use crate::layout::log_kind::*;
    /// End of a complete log: number of records (a), handlers that ran without the lock (b).
    pub const WHOLE: u8 = 255;
}

// `to_bytes` and `from_bytes` rely on these offsets.
const _: () = assert!(offset_of!(Record, flag) == 9 && offset_of!(Record, core) == 10);
const _: () = assert!(offset_of!(Record, thread) == 12 && offset_of!(Record, f) == 56);

impl Record {
    pub const BYTES: usize = size_of::<Record>();

    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.number.to_le_bytes());
        (bytes[8], bytes[9]) = (self.kind, self.flag);
        bytes[10..12].copy_from_slice(&self.core.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.thread.to_le_bytes());
        for (at, value) in [self.a, self.b, self.c, self.d, self.e, self.f].into_iter().enumerate() {
            bytes[16 + at * 8..][..8].copy_from_slice(&value.to_le_bytes());
        }
        bytes
    }

    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Record {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at * 8..at * 8 + 8]);
            u64::from_le_bytes(word)
        };
        let head = word(1);
        Record {
            number: word(0),
            kind: head as u8,
            flag: (head >> 8) as u8,
            core: (head >> 16) as u16,
            thread: (head >> 32) as u32,
            a: word(2),
            b: word(3),
            c: word(4),
            d: word(5),
            e: word(6),
            f: word(7),
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("it cannot be read: {0}")]
    Read(#[from] io::Error),
    #[error("it is not a log of Hearth")]
    NoLog,
    #[error("it has format version {0}; this version of Hearth reads version {VERSION}")]
    Version(u32),
    #[error("its header is invalid: {0}")]
    Header(String),
}

/// How a log ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// Nothing is missing.
    Whole,
    /// The end record is missing: the writer did not finish.
    Truncated,
    /// Records were lost; the log is read up to the gap.
    Lost,
    /// Handlers ran concurrently: the log is invalid.
    Torn,
}

pub struct Writer<W> {
    to: W,
    written: u64,
}

impl<W: Write> Writer<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn new(mut to: W, header: &Header) -> io::Result<Writer<W>> {
        let header = serde_json::to_vec(header)?;
        let length = u32::try_from(header.len()).map_err(io::Error::other)?;
        to.write_all(&MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&header)?;
        Ok(Writer { to, written: 0 })
    }

    /// Writes a record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn record(&mut self, record: Record) -> io::Result<()> {
        self.written += 1;
        self.to.write_all(&record.to_bytes())
    }

    /// Number of records written.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Writes the end record: the policy made `logged` records, and `torn` handlers ran without the lock.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(mut self, logged: u64, torn: u64) -> io::Result<W> {
        let whole = Record { number: logged, kind: kind::WHOLE, a: logged, b: torn, ..Record::default() };
        self.to.write_all(&whole.to_bytes())?;
        self.to.flush()?;
        Ok(self.to)
    }
}

pub struct Reader<R> {
    from: R,
    pub header: Header,
    read: u64,
    ending: Option<Ending>,
}

impl<R: Read> Reader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// It is not a log, or has another version.
    pub fn new(mut from: R) -> Result<Reader<R>, Error> {
        let mut start = [0; 16];
        let got = fill(&mut from, &mut start)?;
        if got < start.len() || start[..8] != MAGIC {
            return Err(Error::NoLog);
        }
        let number = |at: usize| u32::from_le_bytes([start[at], start[at + 1], start[at + 2], start[at + 3]]);
        if number(8) != VERSION {
            return Err(Error::Version(number(8)));
        }
        if number(12) > MAX_HEADER {
            return Err(Error::Header("it is too long".into()));
        }
        let mut header = Vec::new();
        from.by_ref().take(number(12).into()).read_to_end(&mut header)?;
        let header = serde_json::from_slice(&header).map_err(|error| Error::Header(error.to_string()))?;
        Ok(Reader { from, header, read: 0, ending: None })
    }

    /// The next record; `None` at the end, or where records are missing.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn record(&mut self) -> Result<Option<Record>, Error> {
        if self.ending.is_some() {
            return Ok(None);
        }
        let mut bytes = [0; Record::BYTES];
        if fill(&mut self.from, &mut bytes)? < bytes.len() {
            self.ending = Some(Ending::Truncated);
            return Ok(None);
        }
        let record = Record::from_bytes(&bytes);
        if record.number != self.read {
            self.ending = Some(Ending::Lost);
            return Ok(None);
        }
        if record.kind == kind::WHOLE {
            self.ending = Some(if record.b != 0 { Ending::Torn } else { Ending::Whole });
            return Ok(None);
        }
        self.read += 1;
        Ok(Some(record))
    }

    /// Number of records read.
    pub fn read(&self) -> u64 {
        self.read
    }

    /// How the log ends; [`Ending::Truncated`] until its end was read.
    pub fn ending(&self) -> Ending {
        self.ending.unwrap_or(Ending::Truncated)
    }
}

/// Fills the buffer; returns the number of bytes read, which is smaller at the end of the input.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match from.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn log(records: u64, torn: u64) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), &Header::default()).unwrap();
        for number in 0..records {
            writer.record(Record { number, kind: kind::RUN, f: u64::MAX, ..Record::default() }).unwrap();
        }
        writer.finish(records, torn).unwrap()
    }

    fn read(bytes: &[u8]) -> Result<(u64, Ending), Error> {
        let mut reader = Reader::new(bytes)?;
        while reader.record()?.is_some() {}
        Ok((reader.read(), reader.ending()))
    }

    #[test]
    fn logs_survive_a_round_trip() {
        let log = log(3, 0);
        let mut reader = Reader::new(&*log).unwrap();
        let record = reader.record().unwrap().unwrap();
        assert_eq!(record, Record { kind: kind::RUN, f: u64::MAX, ..Record::default() });
        assert_eq!(read(&log).unwrap(), (3, Ending::Whole));
    }

    #[test]
    fn incomplete_logs_are_detected() {
        assert_eq!(read(&log(3, 1)).unwrap(), (3, Ending::Torn));
        let whole = log(3, 0);
        assert_eq!(read(&whole[..whole.len() - 1]).unwrap(), (3, Ending::Truncated));
        assert_eq!(read(&whole[..whole.len() - 70]).unwrap(), (2, Ending::Truncated));
        let mut gap = whole.clone();
        let end = gap.len() - 2 * Record::BYTES;
        gap.drain(end..end + Record::BYTES);
        assert_eq!(read(&gap).unwrap(), (2, Ending::Lost));
        assert!(matches!(read(b"HEARTLO"), Err(Error::NoLog)));
        assert!(matches!(read(b"HEARTLOG\x09\0\0\0\0\0\0\0"), Err(Error::Version(9))));
        assert!(matches!(read(b"HEARTLOG\x02\0\0\0\xff\xff\xff\xff"), Err(Error::Header(_))));
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_do_not_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..400), real: bool) {
            if real {
                bytes = [&log(2, 0)[..], &bytes[..]].concat();
                let at = bytes[bytes.len() - 1] as usize % bytes.len();
                bytes[at] ^= 0x55;
            }
            let _ = read(&bytes);
        }
    }
}
