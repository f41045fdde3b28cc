//! The command line, so that a report says how to repeat it.

use hearth_study::Provenance;

/// This process' command line, quoted for a shell.
pub fn command() -> String {
    quoted(std::iter::once("hearth".to_owned()).chain(arguments()))
}

/// Version and command line in a line, and `SOURCE_DATE_EPOCH` if it is set.
pub fn line() -> String {
    let Provenance { version, date, .. } = Provenance::of_this_version();
    let date = date.map_or_else(String::new, |date| format!(", {date}"));
    format!("Made by hearth {version}{date}. To repeat: {}", command())
}

/// The command line of a prediction, with the recordings in place of the command that was recorded.
pub fn command_on(recordings: &[String]) -> String {
    quoted(std::iter::once("hearth".to_owned()).chain(on(arguments(), recordings)))
}

fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned())
}

/// Flags of a recording, which have a value.
const OF_RECORDING: [&str; 3] = ["--repeat", "--method", "--buffer-kb"];

fn on(arguments: impl Iterator<Item = String>, recordings: &[String]) -> Vec<String> {
    let mut words = Vec::new();
    let mut arguments = arguments.take_while(|word| word != "--");
    while let Some(word) = arguments.next() {
        match word.split_once('=') {
            Some((flag, _)) if OF_RECORDING.contains(&flag) => {}
            _ if OF_RECORDING.contains(&&*word) => drop(arguments.next()),
            _ => words.push(word),
        }
    }
    words.extend(recordings.iter().filter(|path| !words.contains(path)).cloned().collect::<Vec<_>>());
    words
}

/// A command as a shell reads it. A word with a zero byte cannot be quoted, nor be an argument.
pub fn quoted(words: impl IntoIterator<Item = String>) -> String {
    let words: Vec<String> = words.into_iter().collect();
    shlex::try_join(words.iter().map(String::as_str)).unwrap_or_else(|_| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recorded_command_becomes_its_recordings() {
        let on = |line: &str| {
            let words = line.split(' ').map(str::to_owned);
            on(words, &["a.trace".into(), "b.trace".into()]).join(" ")
        };
        assert_eq!(
            on("predict -m xeon-5218 --repeat 2 --method=bpf -- make -j8"),
            "predict -m xeon-5218 a.trace b.trace"
        );
        assert_eq!(on("predict a.trace b.trace --seed 2"), "predict a.trace b.trace --seed 2");
        assert_eq!(quoted(["sh".into(), "-c".into(), "a b".into()]), "sh -c 'a b'");
    }
}
