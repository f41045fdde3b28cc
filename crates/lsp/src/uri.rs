//! File URIs and paths.
//!
//! A document is known by its path, or by its whole URI if it is no file: `untitled:Untitled-1`.

use lsp_types::Uri;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use std::path::Path;

/// What a path in a URI may contain as it is.
const PATH: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/').remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The path of a file, or else the URI itself.
pub fn name(uri: &Uri) -> String {
    let text = uri.as_str();
    let path = text.strip_prefix("file://").and_then(|rest| rest.strip_prefix("localhost").or(Some(rest)));
    let path = path.filter(|path| path.starts_with('/'));
    let decoded = path.and_then(|path| percent_decode_str(path).decode_utf8().ok());
    decoded.map_or_else(|| text.to_owned(), |path| path.into_owned())
}

/// The inverse of [`name`]; `None` if it is not a valid URI.
pub fn uri(name: &str) -> Option<Uri> {
    match is_file(name) {
        true => format!("file://{}", utf8_percent_encode(name, PATH)).parse().ok(),
        false => name.parse().ok(),
    }
}

/// Whether a document is a file, which can have bases beside it.
pub fn is_file(name: &str) -> bool {
    Path::new(name).is_absolute()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive() {
        for path in ["/a/b.ipa", "/with space/100%/ä🔥#?.ipa"] {
            let uri = uri(path).unwrap();
            assert_eq!(name(&uri), path, "{}", uri.as_str());
        }
        assert_eq!(uri("/a b").unwrap().as_str(), "file:///a%20b");
    }

    #[test]
    fn others_are_known_by_their_uri() {
        for text in ["untitled:Untitled-1", "git:/a/b.ipa?x", "file://host/a", "file:///%FF"] {
            let parsed: Uri = text.parse().unwrap();
            assert_eq!(name(&parsed), text);
            assert!(!is_file(text));
            assert_eq!(uri(text).unwrap().as_str(), text);
        }
    }
}
