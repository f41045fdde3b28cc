//! Reading a binary file. Every length in the file is checked before it is used.

use crate::Error;
use hearth_trace::ftrace::Order;
use std::io::{Read, Seek, SeekFrom};

/// Maximum size of a single read.
const MOST: u64 = 256 << 20;

pub struct Input<R> {
    input: R,
    length: u64,
    at: u64,
    /// Order of the bytes of its numbers.
    pub order: Order,
}

impl<R: Read + Seek> Input<R> {
    pub fn new(input: R) -> Result<Self, Error> {
        Self::of(input, Order::Little)
    }

    pub fn of(mut input: R, order: Order) -> Result<Self, Error> {
        let length = input.seek(SeekFrom::End(0)).map_err(Error::read)?;
        input.rewind().map_err(Error::read)?;
        Ok(Input { input, length, at: 0, order })
    }

    pub fn at(&self) -> u64 {
        self.at
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    pub fn rest(&self) -> u64 {
        self.length - self.at
    }

    /// Error at the current position.
    pub fn wrong(&self, what: impl Into<String>) -> Error {
        Error::byte(self.at, what)
    }

    pub fn seek(&mut self, to: u64, what: &str) -> Result<(), Error> {
        if to > self.length {
            return Err(
                self.wrong(format!("{what} is at byte {to}, behind the end of the file ({})", self.length))
            );
        }
        self.input.seek(SeekFrom::Start(to)).map_err(Error::read)?;
        self.at = to;
        Ok(())
    }

    pub fn skip(&mut self, bytes: u64, what: &str) -> Result<(), Error> {
        self.check(bytes, what)?;
        self.seek(self.at + bytes, what)
    }

    fn check(&self, bytes: u64, what: &str) -> Result<(), Error> {
        match bytes <= self.rest() {
            true => Ok(()),
            false => {
                Err(self.wrong(format!("{what} claims {bytes} bytes, and the file has {} more", self.rest())))
            }
        }
    }

    pub fn fill(&mut self, buffer: &mut Vec<u8>, bytes: u64, what: &str) -> Result<(), Error> {
        self.check(bytes, what)?;
        if bytes > MOST {
            return Err(self.wrong(format!("{what} claims {bytes} bytes, which is too much")));
        }
        buffer.resize(bytes as usize, 0);
        self.input.read_exact(buffer).map_err(Error::read)?;
        self.at += bytes;
        Ok(())
    }

    pub fn bytes(&mut self, bytes: u64, what: &str) -> Result<Vec<u8>, Error> {
        let mut buffer = Vec::new();
        self.fill(&mut buffer, bytes, what)?;
        Ok(buffer)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Error> {
        self.check(N as u64, what)?;
        let mut bytes = [0; N];
        self.input.read_exact(&mut bytes).map_err(Error::read)?;
        self.at += N as u64;
        Ok(bytes)
    }

    pub fn u8(&mut self, what: &str) -> Result<u8, Error> {
        Ok(self.array::<1>(what)?[0])
    }

    pub fn u16(&mut self, what: &str) -> Result<u16, Error> {
        Ok(self.order.number(&self.array::<2>(what)?) as u16)
    }

    pub fn u32(&mut self, what: &str) -> Result<u32, Error> {
        Ok(self.order.number(&self.array::<4>(what)?) as u32)
    }

    pub fn u64(&mut self, what: &str) -> Result<u64, Error> {
        Ok(self.order.number(&self.array::<8>(what)?))
    }

    /// Reads a text up to its zero byte.
    pub fn text(&mut self, what: &str) -> Result<String, Error> {
        let mut bytes = Vec::new();
        loop {
            match self.u8(what)? {
                0 => return Ok(String::from_utf8_lossy(&bytes).into_owned()),
                _ if bytes.len() > 4096 => return Err(self.wrong(format!("{what} does not end"))),
                byte => bytes.push(byte),
            }
        }
    }

    pub fn expect(&mut self, text: &[u8], what: &str) -> Result<(), Error> {
        let found = self.bytes(text.len() as u64, what)?;
        match found == text {
            true => Ok(()),
            false => Err(self.wrong(format!("expected {what} before it"))),
        }
    }
}
