//! Diagnostics for terminals.

use super::excerpt::Excerpt;
use super::{Diagnostic, Severity};
use crate::syntax::{SourceId, Sources, Span};
use ariadne::{Color, Config, IndexType, Label, Report, ReportKind};
use hearth_base::escape::{line, terminal_in_place};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Most diagnostics of one code that are rendered.
const MOST_OF_A_CODE: usize = 20;

/// Renders diagnostics for terminals. Of many with one code it renders the first ones and says how many more there are.
pub fn render_all(diagnostics: &[Diagnostic], sources: &Sources, colour: bool) -> String {
    let mut cache = Cache::new(sources);
    let mut of_a_code: BTreeMap<&str, (usize, &Diagnostic)> = BTreeMap::new();
    let mut text = String::new();
    for diagnostic in diagnostics {
        let (count, _) = of_a_code.entry(diagnostic.code.id).or_insert((0, diagnostic));
        *count += 1;
        if *count <= MOST_OF_A_CODE {
            text += &diagnostic.render_with(&mut cache, colour);
        }
    }
    for (id, (count, diagnostic)) in of_a_code {
        let kind = if diagnostic.is_error() { "error" } else { "warning" };
        match count.saturating_sub(MOST_OF_A_CODE) {
            0 => {}
            1 => text += &format!("1 more {kind} {id} ({})\n", diagnostic.code.title),
            more => text += &format!("{more} more {kind}s {id} ({})\n", diagnostic.code.title),
        }
    }
    text
}

impl Diagnostic {
    /// Renders the message, the labelled source lines and the help text for terminals.
    pub fn render(&self, sources: &Sources, colour: bool) -> String {
        self.render_with(&mut Cache::new(sources), colour)
    }

    fn render_with(&self, cache: &mut Cache, colour: bool) -> String {
        let text = match self.cut(cache.sources) {
            None => self.write(cache, colour),
            Some((cut, sources)) => {
                let text = cut.write(&mut Cache::new(&sources), colour);
                self.with_places(cache.sources, text, &cut, &sources)
            }
        };
        // The renderer pads lines with trailing spaces.
        text.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
    }

    fn spans(&self) -> impl Iterator<Item = Span> {
        [self.span].into_iter().chain(self.labels.iter().map(|label| label.span))
    }

    /// This diagnostic in sources without most of the long lines that it shows; `None` if it shows none.
    fn cut(&self, sources: &Sources) -> Option<(Diagnostic, Sources)> {
        let shown: BTreeSet<SourceId> = self.spans().map(|span| span.source).collect();
        let (mut cut, mut shorter, mut is_shorter) = (self.clone(), Sources::new(), false);
        for id in (0..=shown.last()?.0).map(SourceId) {
            let Some(source) = sources.get(id).filter(|_| shown.contains(&id)) else {
                shorter.add("", "");
                continue;
            };
            let here = self.spans().filter(|span| span.source == id);
            let excerpt = Excerpt::new(&source.text, here.flat_map(|span| [span.start, span.end]));
            let spans = [&mut cut.span].into_iter().chain(cut.labels.iter_mut().map(|label| &mut label.span));
            for span in spans.filter(|span| span.source == id) {
                *span = Span::new(id, excerpt.offset(span.start), excerpt.offset(span.end));
            }
            is_shorter |= excerpt.is_shorter();
            shorter.add(&*source.name, excerpt.text);
        }
        is_shorter.then_some((cut, shorter))
    }

    /// Replaces the places in the header lines of a cut diagnostic with those in the whole sources.
    fn with_places(
        &self,
        sources: &Sources,
        mut text: String,
        cut: &Diagnostic,
        shorter: &Sources,
    ) -> String {
        let place = |sources: &Sources, span: Span| {
            let (row, column) = sources.line_and_column(span.source, span.start);
            let name = sources.get(span.source).map_or_else(String::new, |source| line(&source.name));
            format!(" {name}:{row}:{column} ")
        };
        let mut replaced = BTreeSet::new();
        for (whole, cut) in self.spans().zip(cut.spans()) {
            let shown = place(shorter, cut);
            // Each source has one header.
            if text.contains(&shown) && replaced.insert(whole.source) {
                text = text.replacen(&shown, &place(sources, whole), 1);
            }
        }
        text
    }

    fn write(&self, cache: &mut Cache, colour: bool) -> String {
        let (kind, accent) = match self.severity {
            Severity::Error => (ReportKind::Error, Color::Red),
            Severity::Warning => (ReportKind::Warning, Color::Yellow),
        };
        let sources = cache.sources;
        let config = Config::default().with_color(colour).with_index_type(IndexType::Byte);
        let mut report = Report::build(kind, place(self.span, sources))
            .with_config(config)
            .with_code(self.code.id)
            .with_message(line(&self.message));
        if !self.labels.iter().any(|label| label.span == self.span) {
            // The renderer does not draw a label without a message.
            let label = Label::new(place(self.span, sources)).with_message(self.code.title);
            report = report.with_label(label.with_color(accent));
        }
        for label in &self.labels {
            let color = if label.span == self.span { accent } else { Color::Blue };
            let message = line(&label.message);
            report = report
                .with_label(Label::new(place(label.span, sources)).with_message(message).with_color(color));
        }
        if let Some(help) = &self.help {
            report = report.with_help(line(help));
        }
        let mut text = Vec::new();
        // Writing to a Vec cannot fail.
        let _ = report.finish().write(cache, &mut text);
        String::from_utf8_lossy(&text).into_owned()
    }
}

type Place = (SourceId, std::ops::Range<usize>);

/// Converts a span for the renderer and clamps it to its source.
fn place(span: Span, sources: &Sources) -> Place {
    let length = sources.get(span.source).map_or(0, |source| source.text.len());
    let start = (span.start as usize).min(length);
    let end = (span.end as usize).clamp(start, length);
    (span.source, start..end)
}

/// Adapts the sources to the renderer's cache.
struct Cache<'a> {
    sources: &'a Sources,
    fetched: HashMap<SourceId, ariadne::Source<String>>,
}

impl<'a> Cache<'a> {
    fn new(sources: &'a Sources) -> Self {
        Cache { sources, fetched: HashMap::new() }
    }
}

impl ariadne::Cache<SourceId> for &mut Cache<'_> {
    type Storage = String;

    fn fetch(&mut self, id: &SourceId) -> Result<&ariadne::Source<String>, impl std::fmt::Debug> {
        let text = self.sources.get(*id).map_or("", |source| source.text.as_str());
        let source = self.fetched.entry(*id).or_insert_with(|| terminal_in_place(text).into());
        Ok::<_, std::convert::Infallible>(source)
    }

    fn display<'b>(&self, id: &'b SourceId) -> Option<impl std::fmt::Display + 'b> {
        Some(self.sources.get(*id).map_or_else(String::new, |source| line(&source.name)))
    }
}
