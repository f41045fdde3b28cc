//! Layout of WhyML.

/// Indents each line.
pub fn indented(text: &str) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| if line.is_empty() { String::new() } else { format!("  {line}") }).collect();
    lines.join("\n")
}

/// A block as one expression.
pub fn block(text: &str) -> String {
    format!("begin\n{}\nend", indented(text))
}

/// Replaces an identifier, but not a part of a longer one.
pub fn renamed(text: &str, from: &str, to: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '\'';
    text.split_inclusive(|c: char| !is_part(c)).fold(String::new(), |renamed, word| {
        let end = word.trim_end_matches(|c: char| !is_part(c)).len();
        let (name, rest) = word.split_at(end);
        renamed + if name == from { to } else { name } + rest
    })
}

/// The names in a text.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '\'');
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::renamed;

    #[test]
    fn an_attribute_may_have_the_name_of_a_result() {
        let spec = "result = (thread_result w t) /\\ (result' \\/ x_result) -> result";
        let expected = "x_1 = (thread_result w t) /\\ (result' \\/ x_result) -> x_1";
        assert_eq!(renamed(spec, "result", "x_1"), expected);
    }
}
