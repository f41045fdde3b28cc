//! The `format` files of tracefs: the kernel's own description of its events.
//!
//! Offsets, sizes and the meaning of state bits differ between kernels; none is assumed.

/// Order of the bytes of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Little,
    Big,
}

impl Order {
    /// A number of at most 8 bytes.
    pub fn number(self, bytes: &[u8]) -> u64 {
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        match self {
            Order::Little => bytes.iter().rev().fold(0, add),
            Order::Big => bytes.iter().fold(0, add),
        }
    }
}

/// Location of a field in an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    pub offset: usize,
    pub size: usize,
    pub signed: bool,
    /// True if the field holds the location of the text in the event (`__data_loc`), not the text.
    pub indirect: bool,
    pub order: Order,
}

impl Field {
    /// Reads a number; `None` if the event is too short.
    pub fn number(&self, event: &[u8]) -> Option<i64> {
        let bytes = event.get(self.offset..self.offset + self.size)?;
        let value = self.order.number(bytes);
        let unused = 64 - 8 * self.size.clamp(1, 8) as u32;
        Some(if self.signed { (value << unused) as i64 >> unused } else { value as i64 })
    }

    /// Reads a text up to its zero byte; `None` if the event is too short.
    pub fn text<'a>(&self, event: &'a [u8]) -> Option<&'a [u8]> {
        let bytes = if self.indirect {
            let place = self.number(event)? as u32;
            let (offset, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
            event.get(offset..offset + length)?
        } else {
            event.get(self.offset..self.offset + self.size)?
        };
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        Some(&bytes[..end])
    }
}

/// A `format` file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Format {
    /// Number of this kind of event in the ring buffer.
    pub id: Option<u16>,
    fields: Vec<(String, Field)>,
    /// How the kernel prints the event: the only place where it names the state bits.
    pub print: String,
}

impl Format {
    pub fn parse(text: &str, order: Order) -> Result<Self, String> {
        let mut format = Format::default();
        for line in text.lines().map(str::trim) {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = Some(id.trim().parse().map_err(|_| format!("its ID is `{}`", id.trim()))?);
            } else if let Some(print) = line.strip_prefix("print fmt:") {
                format.print = print.to_owned();
            } else if line.starts_with("field:") {
                format.fields.push(field(line, order).ok_or_else(|| format!("this field: `{line}`"))?);
            }
        }
        match format.fields.is_empty() {
            true => Err("it has no fields".into()),
            false => Ok(format),
        }
    }

    pub fn field(&self, name: &str) -> Result<Field, String> {
        let found = self.fields.iter().find(|(field, _)| field == name);
        found.map(|(_, field)| *field).ok_or_else(|| format!("it has no field `{name}`"))
    }

    /// A field of one of these sizes.
    pub fn sized(&self, name: &str, sizes: &[usize]) -> Result<Field, String> {
        let field = self.field(name)?;
        match sizes.contains(&field.size) {
            true => Ok(field),
            false => Err(format!("its field `{name}` has {} bytes", field.size)),
        }
    }

    /// A field with a number of 1, 2, 4 or 8 bytes.
    pub fn number(&self, name: &str) -> Result<Field, String> {
        self.sized(name, &[1, 2, 4, 8])
    }

    /// The pairs `{ 0x1, "S" }` by which the event's flags are printed. Kernels before 4.14 have decimal numbers.
    pub fn flags(&self) -> Result<Vec<(u64, String)>, String> {
        let pair = |text: &str| {
            let (bits, rest) = text.split_once(',')?;
            let (_, rest) = rest.split_once('"')?;
            let (name, _) = rest.split_once('"')?;
            Some((literal(bits.trim())?, name.to_owned()))
        };
        let wrong = |text: &str| format!("this flag: `{{{}`", text.split('}').next().unwrap_or_default());
        self.print.split('{').skip(1).map(|text| pair(text).ok_or_else(|| wrong(text))).collect()
    }
}

/// A number of C, without a sign.
fn literal(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['u', 'U', 'l', 'L']);
    match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8).ok(),
        None => digits.parse().ok(),
    }
}

/// `field:TYPE NAME[COUNT]; offset:N; size:N; signed:N;`
fn field(line: &str, order: Order) -> Option<(String, Field)> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?.trim();
    let mut number = |name: &str| -> Option<usize> {
        parts.next()?.strip_prefix(name)?.strip_prefix(':')?.trim().parse().ok()
    };
    let (offset, size) = (number("offset")?, number("size")?);
    let signed = number("signed").unwrap_or(0) == 1; // missing before Linux 2.6.33
    let name = declaration.rsplit([' ', '*']).next()?;
    let name = name.split('[').next()?.to_owned();
    // An event fits into a page, of at most 64 KiB (CONFIG_PAGE_SIZE_64KB).
    (offset <= 1 << 16 && size <= 1 << 16).then_some(())?;
    let indirect = declaration.starts_with("__data_loc");
    Some((name, Field { offset, size, signed, indirect, order }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORMAT: &str = "name: sched_switch\nID: 372\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
        \n\
        \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
        \tfield:__data_loc char[] comm;\toffset:24;\tsize:4;\tsigned:0;\n\
        \n\
        print fmt: \"%s\", __print_flags(REC->prev_state & 0xff, \"|\", { 0x00000001, \"S\" }, { 0x80, \"I\" }) : \"R\"\n";

    #[test]
    fn fields_and_flags() {
        let format = Format::parse(FORMAT, Order::Little).unwrap();
        assert_eq!(format.id, Some(372));
        let pid = Field { offset: 4, size: 4, signed: true, indirect: false, order: Order::Little };
        assert_eq!(format.field("common_pid").unwrap(), pid);
        assert!(format.field("comm").unwrap().indirect);
        assert_eq!(format.flags().unwrap(), [(1, "S".to_owned()), (0x80, "I".to_owned())]);
        let print = |flags: &str| Format { print: flags.into(), ..Format::default() }.flags();
        assert_eq!(print(r#"{ 16, "Z" }, { 0x20UL, "X" }, { 010, "t" }"#).unwrap().len(), 3);
        assert_eq!(print(r#"{ 16, "Z" }, { 010, "t" }"#).unwrap(), [(16, "Z".into()), (8, "t".into())]);
        assert!(print(r#"{ 16, "Z" }, { 1 << 5, "X" }"#).unwrap_err().contains("`{ 1 << 5"));
        assert!(format.field("pid").unwrap_err().contains("`pid`"));
        assert!(format.number("prev_comm").unwrap_err().contains("16 bytes"));
    }

    #[test]
    fn numbers_and_texts() {
        let format = Format::parse(FORMAT, Order::Little).unwrap();
        let mut event = [0u8; 36];
        event[0..2].copy_from_slice(&[0xff, 0xff]);
        event[4..8].copy_from_slice(&(-2i32).to_le_bytes());
        event[8..12].copy_from_slice(b"bash");
        event[24..28].copy_from_slice(&(6u32 << 16 | 28).to_le_bytes());
        event[28..33].copy_from_slice(b"false");
        assert_eq!(format.field("common_type").unwrap().number(&event), Some(0xffff));
        assert_eq!(format.field("common_pid").unwrap().number(&event), Some(-2));
        assert_eq!(format.field("prev_comm").unwrap().text(&event), Some(&b"bash"[..]));
        assert_eq!(format.field("comm").unwrap().text(&event), Some(&b"false"[..]));
        let big = Format::parse(FORMAT, Order::Big).unwrap().field("common_pid").unwrap();
        assert_eq!(big.number(&[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe]), Some(-2));
        // Too short, or pointing outside: no panic.
        assert_eq!(format.field("comm").unwrap().text(&event[..30]), None);
        assert_eq!(format.field("comm").unwrap().number(&event[..26]), None);
    }

    #[test]
    fn malformed_formats_are_errors() {
        for text in ["", "hello", "ID: x\n", "field:int a; offset:99999999999; size:4;", "field:"] {
            assert!(Format::parse(text, Order::Little).is_err(), "{text}");
        }
    }
}
