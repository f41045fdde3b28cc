//! Protobuf's wire format.
//!
//! The few supported messages of Perfetto are written and read by their public field numbers. Reading allocates nothing,
//! so that memory use does not depend on the lengths in a file.

use prost::encoding::{WireType, decode_key, decode_varint, encode_key, encode_varint};

/// Value of a field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// Integers, flags and enumerations.
    Number(u64),
    Fixed64(u64),
    Fixed32(u32),
    /// Text, bytes, messages and packed numbers.
    Bytes(&'a [u8]),
}

impl<'a> Value<'a> {
    pub fn number(self) -> u64 {
        match self {
            Value::Number(value) | Value::Fixed64(value) => value,
            Value::Fixed32(value) => value.into(),
            Value::Bytes(_) => 0,
        }
    }

    pub fn bytes(self) -> &'a [u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            _ => &[],
        }
    }

    pub fn text(self) -> String {
        String::from_utf8_lossy(self.bytes()).into_owned()
    }
}

/// Error of a damaged message: number of remaining bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged {
    pub left: usize,
}

/// Fields of a message, in order. Ends after the first error.
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub fn of(message: &'a [u8]) -> Self {
        Fields { rest: message }
    }

    fn step(&mut self) -> Option<(u32, Value<'a>)> {
        let (number, wire_type) = decode_key(&mut self.rest).ok()?;
        let value = match wire_type {
            WireType::Varint => Value::Number(decode_varint(&mut self.rest).ok()?),
            WireType::SixtyFourBit => Value::Fixed64(u64::from_le_bytes(*self.take(8)?.first_chunk()?)),
            WireType::ThirtyTwoBit => Value::Fixed32(u32::from_le_bytes(*self.take(4)?.first_chunk()?)),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.rest).ok()?).ok()?;
                Value::Bytes(self.take(length)?)
            }
            WireType::StartGroup | WireType::EndGroup => return None, // Perfetto has none
        };
        Some((number, value))
    }

    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u32, Value<'a>), Damaged>;

    fn next(&mut self) -> Option<Self::Item> {
        let left = self.rest.len();
        if left == 0 {
            return None;
        }
        let step = self.step().ok_or(Damaged { left });
        if step.is_err() {
            self.rest = &[];
        }
        Some(step)
    }
}

/// Numbers of a packed field, or the number of an unpacked one. Ends where the field is damaged.
pub fn packed(value: Value<'_>) -> impl Iterator<Item = u64> {
    let (one, mut rest) = match value {
        Value::Bytes(bytes) => (None, bytes),
        other => (Some(other.number()), &[][..]),
    };
    one.into_iter().chain(std::iter::from_fn(move || match rest.is_empty() {
        true => None,
        false => decode_varint(&mut rest).ok(),
    }))
}

/// Appends a message's fields.
pub trait Put {
    fn number(&mut self, field: u32, value: u64);
    fn bytes(&mut self, field: u32, value: &[u8]);

    /// An `int32` or `int64`.
    fn int(&mut self, field: u32, value: i64) {
        self.number(field, value as u64);
    }

    fn text(&mut self, field: u32, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    fn message(&mut self, field: u32, fill: impl FnOnce(&mut Vec<u8>)) {
        let mut message = Vec::new();
        fill(&mut message);
        self.bytes(field, &message);
    }
}

impl Put for Vec<u8> {
    fn number(&mut self, field: u32, value: u64) {
        encode_key(field, WireType::Varint, self);
        encode_varint(value, self);
    }

    fn bytes(&mut self, field: u32, value: &[u8]) {
        encode_key(field, WireType::LengthDelimited, self);
        encode_varint(value.len() as u64, self);
        self.extend_from_slice(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_read() {
        let mut message = Vec::new();
        message.number(1, 300);
        message.int(2, -7);
        message.text(3, "sh");
        message.message(4, |inner| inner.number(1, 5));
        let fields: Vec<_> = Fields::of(&message).map(Result::unwrap).collect();
        assert_eq!(fields[0], (1, Value::Number(300)));
        assert_eq!(fields[1].1.number() as i64, -7);
        assert_eq!(fields[2].1.text(), "sh");
        assert_eq!(Fields::of(fields[3].1.bytes()).next(), Some(Ok((1, Value::Number(5)))));
    }

    #[test]
    fn every_truncation_is_damage_or_a_shorter_message() {
        let mut message = Vec::new();
        message.number(1, 300);
        message.text(3, "shell");
        for length in 0..message.len() {
            let fields: Vec<_> = Fields::of(&message[..length]).collect();
            let whole = [0, 3].contains(&length);
            assert_eq!(fields.iter().all(Result::is_ok), whole, "{length}");
        }
    }

    #[test]
    fn a_giant_length_takes_no_memory() {
        let mut message = vec![0x0a];
        encode_varint(u64::MAX, &mut message);
        assert_eq!(Fields::of(&message).next(), Some(Err(Damaged { left: 11 })));
    }

    #[test]
    fn packed_numbers_end_where_they_are_damaged() {
        let values: Vec<_> = packed(Value::Bytes(&[1, 0xac, 0x02, 0x80])).collect();
        assert_eq!(values, [1, 300]);
        assert_eq!(packed(Value::Number(9)).collect::<Vec<_>>(), [9]);
    }
}
