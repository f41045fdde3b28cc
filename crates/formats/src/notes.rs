//! Notes about what a conversion loses.

use std::collections::BTreeMap;

/// Notes, each with a count.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    notes: BTreeMap<String, u64>,
}

/// Maximum number of different notes: a malicious file must not fill the memory with them.
const MOST: usize = 64;

impl Notes {
    /// Adds a note without a count.
    pub fn say(&mut self, note: impl Into<String>) {
        self.add(note, 0);
    }

    /// Increments the count of a note.
    pub fn count(&mut self, note: &str) {
        match self.notes.get_mut(note) {
            Some(count) => *count = count.saturating_add(1),
            None => self.add(note, 1),
        }
    }

    pub fn add(&mut self, note: impl Into<String>, count: u64) {
        let mut note = note.into();
        if self.notes.len() >= MOST && !self.notes.contains_key(&note) {
            note = "others of which there are too many kinds to list".into();
        }
        let known = self.notes.entry(note).or_default();
        *known = known.saturating_add(count);
    }

    /// One line each.
    pub fn lines(&self) -> Vec<String> {
        let line = |(note, count): (&String, &u64)| match count {
            0 => note.clone(),
            count => format!("{note}: {count}"),
        };
        self.notes.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counts of perf and ftrace come from the file.
    #[test]
    fn counts_of_a_file_do_not_overflow() {
        let mut notes = Notes::default();
        (0..2).for_each(|_| notes.add("lost", u64::MAX));
        notes.count("lost");
        assert_eq!(notes.lines(), [format!("lost: {}", u64::MAX)]);
    }

    #[test]
    fn notes_are_bounded() {
        let mut notes = Notes::default();
        notes.say("the clock is unknown");
        (0..1000).for_each(|kind| notes.count(&format!("kind {kind} left out")));
        (0..5).for_each(|_| notes.count("kind 3 left out"));
        let lines = notes.lines();
        assert_eq!(lines.len(), MOST + 1);
        assert!(
            lines.contains(&"kind 3 left out: 6".into()) && lines.contains(&"the clock is unknown".into())
        );
        assert!(lines.iter().any(|line| line.starts_with("others") && line.ends_with(": 937")), "{lines:?}");
    }
}
