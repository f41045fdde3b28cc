//! Line breaking: a small pretty printer based on Oppen and Wadler.

use std::borrow::Cow;

/// Text with possible line breaks.
#[derive(Clone, Debug)]
pub enum Layout {
    Text(Cow<'static, str>),
    /// A space or a line break.
    Blank,
    /// Breaks at all of its own blanks or at none.
    Group(Vec<Layout>),
    /// Increases the indentation of its lines by one step.
    Indent(Vec<Layout>),
    /// Indents its lines to the column where it starts.
    Align(Vec<Layout>),
}

/// Columns per indentation step.
pub const STEP: usize = 4;

/// Text without breaks.
pub fn text(text: impl Into<Cow<'static, str>>) -> Layout {
    Layout::Text(text.into())
}

impl Layout {
    /// The layout on one line of any length.
    pub fn flat(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, 0, usize::MAX);
        out
    }

    /// Appends the layout to `out`, continuing its last line, with lines of at most `width` columns
    /// if possible. New lines are indented by `indent`.
    pub fn write(&self, out: &mut String, indent: usize, width: usize) {
        let mut column = out.rsplit('\n').next().map_or(0, columns);
        let mut stack = vec![Pending { layout: self, indent, broken: true }];
        while let Some(Pending { layout, indent, broken }) = stack.pop() {
            match layout {
                Layout::Text(text) => {
                    out.push_str(text);
                    column += columns(text);
                }
                Layout::Blank if broken && width != usize::MAX => {
                    out.push('\n');
                    out.extend(std::iter::repeat_n(' ', indent));
                    column = indent;
                }
                Layout::Blank => {
                    out.push(' ');
                    column += 1;
                }
                Layout::Group(parts) => {
                    let broken = !fits(parts, &stack, width.saturating_sub(column));
                    push_all(&mut stack, parts, indent, broken);
                }
                Layout::Indent(parts) => push_all(&mut stack, parts, indent + STEP, broken),
                Layout::Align(parts) => push_all(&mut stack, parts, column, broken),
            }
        }
    }
}

struct Pending<'l> {
    layout: &'l Layout,
    indent: usize,
    broken: bool,
}

fn push_all<'l>(stack: &mut Vec<Pending<'l>>, parts: &'l [Layout], indent: usize, broken: bool) {
    stack.extend(parts.iter().rev().map(|layout| Pending { layout, indent, broken }));
}

/// True if the parts fit on one line together with what follows, up to the next line break.
fn fits(parts: &[Layout], behind: &[Pending], mut room: usize) -> bool {
    let mut stack: Vec<(&Layout, bool)> = parts.iter().rev().map(|part| (part, false)).collect();
    let mut behind = behind.iter().rev();
    loop {
        let Some((layout, broken)) = stack.pop().or_else(|| behind.next().map(|p| (p.layout, p.broken)))
        else {
            return true;
        };
        let length = match layout {
            Layout::Text(text) => columns(text),
            Layout::Blank if broken => return true,
            Layout::Blank => 1,
            // A following group could still be broken, but is decided only if this one fits.
            Layout::Group(parts) | Layout::Indent(parts) | Layout::Align(parts) => {
                let broken = broken && !matches!(layout, Layout::Group(_));
                stack.extend(parts.iter().rev().map(|part| (part, broken)));
                0
            }
        };
        match room.checked_sub(length) {
            Some(rest) => room = rest,
            None => return false,
        }
    }
}

fn columns(text: &str) -> usize {
    text.chars().count()
}
