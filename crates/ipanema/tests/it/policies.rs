//! The built-in policies and features.

use crate::common::{parse_clean, policies};
use hearth_ipanema::SourceId;
use hearth_ipanema::syntax::format;

#[test]
fn built_in_policies_parse() {
    for (name, text) in policies() {
        parse_clean(&name, &text);
    }
}

#[test]
fn built_in_policies_are_formatted() {
    for (name, text) in policies() {
        let formatted = format(SourceId::default(), &text).unwrap();
        for (line, formatted) in text.lines().zip(formatted.lines()) {
            assert_eq!(line, formatted, "policies/{name} is not as `hearth fmt` leaves it");
        }
        assert_eq!(text.len(), formatted.len(), "policies/{name} is not as `hearth fmt` leaves it");
    }
}
