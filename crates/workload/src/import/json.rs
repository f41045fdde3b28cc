//! JSON with ordered and possibly repeated object keys. In an rt-app document, the order of keys is
//! the order of events.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

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

impl Json {
    /// Parses `text`, which may contain C comments; json-c, the parser of rt-app, skips them.
    pub fn parse(text: &str) -> Result<Json, serde_json::Error> {
        serde_json::from_str(&without_comments(text))
    }
}

/// Replaces comments by blanks, which preserves lines and columns.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let (mut in_string, mut escaped) = (false, false);
    while let Some(c) = chars.next() {
        if in_string {
            out.push(c);
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        match (c, chars.peek()) {
            ('/', Some('/')) => {
                out.push(' ');
                while let Some(c) = chars.next_if(|&c| c != '\n') {
                    blank(&mut out, c);
                }
            }
            ('/', Some('*')) => {
                out.push_str("  ");
                chars.next();
                let mut star = false;
                for c in chars.by_ref() {
                    blank(&mut out, c);
                    if star && c == '/' {
                        break;
                    }
                    star = c == '*';
                }
            }
            _ => {
                in_string = c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// Pads in bytes, because serde_json counts columns in bytes.
fn blank(out: &mut String, c: char) {
    match c {
        '\n' => out.push('\n'),
        c => out.extend(std::iter::repeat_n(' ', c.len_utf8())),
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        struct AnyJson;
        impl<'de> Visitor<'de> for AnyJson {
            type Value = Json;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a JSON value")
            }
            fn visit_unit<E>(self) -> Result<Json, E> {
                Ok(Json::Null)
            }
            fn visit_bool<E>(self, v: bool) -> Result<Json, E> {
                Ok(Json::Bool(v))
            }
            fn visit_i64<E>(self, v: i64) -> Result<Json, E> {
                Ok(Json::Int(v))
            }
            fn visit_u64<E>(self, v: u64) -> Result<Json, E> {
                Ok(i64::try_from(v).map_or(Json::Float(v as f64), Json::Int))
            }
            fn visit_f64<E>(self, v: f64) -> Result<Json, E> {
                Ok(Json::Float(v))
            }
            fn visit_str<E>(self, v: &str) -> Result<Json, E> {
                Ok(Json::Text(v.to_string()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = seq.next_element()? {
                    list.push(item);
                }
                Ok(Json::List(list))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut object = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    object.push(entry);
                }
                Ok(Json::Object(object))
            }
        }
        deserializer.deserialize_any(AnyJson)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_survive() {
        let json = Json::parse(r#"{"run": 1, "sleep": 2, "run": 3}"#).unwrap();
        let Json::Object(entries) = json else { panic!() };
        let keys: Vec<&str> = entries.iter().map(|(k, _)| k.as_str()).collect();
        assert_eq!(keys, ["run", "sleep", "run"]);
    }

    #[test]
    fn comments_are_skipped_and_places_kept() {
        let text = "{ // one\n \"a\": \"/* \\\" no */\", /* two\n lines */ x }";
        let error = Json::parse(text).unwrap_err();
        assert_eq!((error.line(), error.column()), (3, 11));
        assert!(Json::parse("{}/* open").is_ok());
        assert_eq!(Json::parse("\"//\"").unwrap(), Json::Text("//".into()));
    }
}
