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
