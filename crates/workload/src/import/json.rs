//! JSON as json-c reads it, the parser of rt-app. In an rt-app document, the order of keys is the order of events.
//!
//! json-c's default mode also accepts comments, a comma before a closing bracket, single quotes, literals in any case,
//! numbers such as `007` and `1.`, control characters in strings, and anything after the document. Libraries for JSON5
//! and JSONC accept other sets, among them keys without quotes, which json-c refuses.

/// Nesting that json-c accepts.
const DEPTH: usize = 32;

#[derive(Clone, PartialEq, Debug)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// What is wrong in a text, and where: a line and a column, both from 1. The column counts bytes.
#[derive(Debug, PartialEq)]
pub(super) struct Mistake {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

/// A document, and its repeated keys, each with the line of the repetition.
#[derive(Debug)]
pub(super) struct Document {
    pub json: Json,
    pub repeated: Vec<(usize, String)>,
}

pub(super) fn parse(text: &str) -> Result<Document, Mistake> {
    let mut reader = Reader { text, at: 0, repeated: Vec::new() };
    let json = reader.value(0).map_err(|message| {
        let (line, column) = reader.place();
        Mistake { line, column, message }
    })?;
    Ok(Document { json, repeated: reader.repeated })
}

struct Reader<'a> {
    text: &'a str,
    /// Offset of the next byte.
    at: usize,
    repeated: Vec<(usize, String)>,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += next.len_utf8();
        Some(next)
    }

    fn skip(&mut self, expected: char) -> bool {
        let found = self.peek() == Some(expected);
        self.at += if found { expected.len_utf8() } else { 0 };
        found
    }

    fn place(&self) -> (usize, usize) {
        let before = &self.text[..self.at];
        let line = before.matches('\n').count() + 1;
        (line, before.len() - before.rfind('\n').map_or(0, |end| end + 1) + 1)
    }

    /// Moves past blanks and comments.
    fn blank(&mut self) -> Result<(), String> {
        loop {
            let blanks = self.rest().len()
                - self.rest().trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']).len();
            self.at += blanks;
            let length = match self.rest() {
                rest if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                rest if rest.starts_with("/*") => match rest[2..].find("*/") {
                    Some(end) => end + 4,
                    None => return Err("the comment does not end".into()),
                },
                rest if rest.starts_with('/') => return Err("a comment begins with `//` or `/*`".into()),
                _ => return Ok(()),
            };
            self.at += length;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        self.blank()?;
        if depth >= DEPTH {
            return Err(format!("objects and lists are nested more than {DEPTH} deep"));
        }
        match self.peek() {
            Some('{') => self.object(depth),
            Some('[') => self.list(depth),
            Some('"' | '\'') => self.string().map(Json::Text),
            Some('-' | '0'..='9') => self.number(),
            Some(_) => self.literal(),
            None => Err("the text ends before a value".into()),
        }
    }

    fn literal(&mut self) -> Result<Json, String> {
        // json-c accepts the case of each letter of `Infinity`, too.
        let literals = [
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
            ("null", Json::Null),
            ("nan", Json::Float(f64::NAN)),
            ("infinity", Json::Float(f64::INFINITY)),
        ];
        for (name, json) in literals {
            if self.rest().get(..name.len()).is_some_and(|text| text.eq_ignore_ascii_case(name)) {
                self.at += name.len();
                return Ok(json);
            }
        }
        Err("a value begins with a quote, a bracket, a digit or `-`, or is true, false or null".into())
    }

    fn number(&mut self) -> Result<Json, String> {
        let rest = self.rest();
        if rest.get(1..9).is_some_and(|text| rest.starts_with('-') && text.eq_ignore_ascii_case("infinity")) {
            self.at += 9;
            return Ok(Json::Float(f64::NEG_INFINITY));
        }
        let end = rest.find(|c: char| !c.is_ascii_digit() && !"+-.eE".contains(c)).unwrap_or(rest.len());
        let text = &rest[..end];
        let follows = rest[end..].chars().next();
        if follows.is_some_and(|c| !",]}/".contains(c) && !c.is_ascii_whitespace()) {
            return Err(format!(
                "`{text}` is followed by `{}`, which is no part of a number",
                follows.unwrap_or(' ')
            ));
        }
        let json = if text.contains(['.', 'e', 'E']) {
            // As json-c: `12e+` is 12.
            let trimmed = text.trim_end_matches(['e', 'E', '+', '-']);
            trimmed.parse().map(Json::Float).map_err(|_| ())
        } else {
            let integer = text.parse::<i64>().map(Json::Int);
            integer.or_else(|_| text.parse::<u64>().map(|big| Json::Float(big as f64))).map_err(|_| ())
        };
        let json = json.map_err(|()| format!("`{text}` is not a number"))?;
        self.at += end;
        Ok(json)
    }

    fn string(&mut self) -> Result<String, String> {
        let quote = self.next().unwrap_or('"');
        let mut text = String::new();
        loop {
            match self.next() {
                Some(c) if c == quote => return Ok(text),
                Some('\\') => self.escape(&mut text)?,
                Some(c) => text.push(c),
                None => return Err(format!("the text ends before the closing {quote}")),
            }
        }
    }

    fn escape(&mut self, text: &mut String) -> Result<(), String> {
        text.push(match self.next() {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => self.unicode()?,
            _ => return Err("only \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\uXXXX are escapes".into()),
        });
        Ok(())
    }

    /// The character of `\uXXXX`, or of a pair of surrogates.
    fn unicode(&mut self) -> Result<char, String> {
        let high = self.hex()?;
        if (0xd800..0xdc00).contains(&high) && self.rest().starts_with("\\u") {
            let start = self.at;
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                let code = 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
                return Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            }
            self.at = start;
        }
        Ok(char::from_u32(high).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn hex(&mut self) -> Result<u32, String> {
        let digits = self.rest().get(..4).filter(|text| text.bytes().all(|b| b.is_ascii_hexdigit()));
        let code = digits.and_then(|text| u32::from_str_radix(text, 16).ok());
        self.at += if code.is_some() { 4 } else { 0 };
        code.ok_or_else(|| "\\u needs four hexadecimal digits".into())
    }

    fn list(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut list = Vec::new();
        loop {
            self.blank()?;
            if self.skip(']') {
                return Ok(Json::List(list));
            }
            list.push(self.value(depth + 1)?);
            self.separator(']')?;
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, String> {
        self.at += 1;
        let mut entries: Vec<(String, Json)> = Vec::new();
        loop {
            self.blank()?;
            if self.skip('}') {
                return Ok(Json::Object(entries));
            }
            if !matches!(self.peek(), Some('"' | '\'')) {
                return Err("a key must be in quotes".into());
            }
            let line = self.place().0;
            let key = self.string()?;
            self.blank()?;
            if !self.skip(':') {
                return Err(format!("`:` is missing after the key `{key}`"));
            }
            let value = self.value(depth + 1)?;
            // json-c keeps the last value only. Documents with repeated keys are for `workgen`, which keeps all.
            if entries.iter().any(|(name, _)| *name == key) {
                self.repeated.push((line, key.clone()));
            }
            entries.push((key, value));
            self.separator('}')?;
        }
    }

    /// Moves past a comma. A closing bracket needs none, and may follow one.
    fn separator(&mut self, close: char) -> Result<(), String> {
        self.blank()?;
        match self.skip(',') || self.peek() == Some(close) {
            true => Ok(()),
            false => Err(format!("`,` or `{close}` is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Json::{Bool, Float, Int, Null};

    fn read(text: &str) -> Json {
        parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}")).json
    }

    fn text(text: &str) -> Json {
        Json::Text(text.into())
    }

    #[test]
    fn order_and_repetition_survive() {
        let document = parse("{\"run\": 1, \"sleep\": 2,\n \"run\": 3}").unwrap();
        let entries = [("run", 1), ("sleep", 2), ("run", 3)].map(|(key, value)| (key.into(), Int(value)));
        assert_eq!(document.json, Json::Object(entries.into()));
        assert_eq!(document.repeated, [(2, "run".into())]);
    }

    /// What json-c 0.16 makes of each text, found by calling it.
    #[test]
    fn what_json_c_accepts() {
        let list = |items: &[Json]| Json::List(items.to_vec());
        for (source, expected) in [
            ("[1,]", list(&[Int(1)])),
            ("{\"a\":1,}", Json::Object(vec![("a".into(), Int(1))])),
            ("{'a':'b\"c'}", Json::Object(vec![("a".into(), text("b\"c"))])),
            ("[True, FALSE, Null]", list(&[Bool(true), Bool(false), Null])),
            ("/* a */ [ // b\n 1 /**/ ]", list(&[Int(1)])),
            ("[007, -0, 1., 12e+, -1.5e3]", list(&[Int(7), Int(0), Float(1.0), Float(12.0), Float(-1500.0)])),
            ("[Infinity, -infinity]", list(&[Float(f64::INFINITY), Float(f64::NEG_INFINITY)])),
            ("\"a\nb\"", text("a\nb")),
            ("\"\\u00e9\\ud83d\\ude00\\ud83d\\/\"", text("é😀\u{fffd}/")),
            ("\"//\"", text("//")),
            ("{} anything", Json::Object(vec![])),
            ("[]", list(&[])),
        ] {
            assert_eq!(read(source), expected, "{source}");
        }
    }

    #[test]
    fn what_json_c_refuses() {
        for source in [
            "",
            "  ",
            "{a:1}",
            "[,]",
            "[1,,2]",
            "[1 2]",
            "{\"a\" 1}",
            "{\"a\":}",
            "[+1]",
            "[.5]",
            "[1x]",
            "[--1]",
            "[1",
            "{\"a\":1",
            "\"a",
            "/",
            "/* a",
            "[tru]",
            "\"\\x\"",
            "\"\\u12g4\"",
            "[0x10]",
            "[1-2]",
        ] {
            assert!(parse(source).is_err(), "{source}");
        }
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&format!("{}{}", "[".repeat(32), "]".repeat(32))).is_ok());
    }

    #[test]
    fn a_mistake_has_a_place() {
        let mistake = parse("{ // one\n \"a\": \"/* \\\" no */\", /* two\n lines */ x }").unwrap_err();
        assert_eq!((mistake.line, mistake.column), (3, 11));
    }
}
