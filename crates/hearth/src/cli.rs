//! The command line and its verbs. The flags of a verb are in the verb's module.

use crate::failure::{Failure, Outcome};
use crate::output;
use clap::error::{ContextKind, Error};
use clap::{ColorChoice, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use hearth_scx::object::Purpose;
use std::any::TypeId;
use std::error::Error as _;
use std::ffi::OsString;
use std::fmt::Write;
use std::num::{IntErrorKind, ParseFloatError, ParseIntError};
use std::path::{Path, PathBuf};

/// Write a scheduling policy once; predict its effect on any machine, prove it, and run it in the Linux
/// kernel
#[derive(Parser)]
#[command(name = "hearth", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

macro_rules! verbs {
    ($($group:literal: { $($verb:ident: $module:ident),* $(,)? })*) => {
        #[derive(Subcommand)]
        enum Verb {
            $($($verb(Box<crate::verbs::$module::Args>),)*)*

            /// The former name of `modelcheck`
            #[command(hide = true, disable_help_flag = true)]
            Explore {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _arguments: Vec<String>,
            },
        }

        /// The groups of verbs in `hearth --help`. In lower case, a verb is what the user types.
        const GROUPS: &[(&str, &[&str])] = &[$(($group, &[$(stringify!($verb)),*])),*];

        impl Cli {
            pub fn run(self) -> Outcome {
                match self.verb {
                    $($(Verb::$verb(args) => args.run(),)*)*
                    Verb::Explore { .. } => Err(Failure::usage("`hearth explore` is now `hearth modelcheck`")
                        .help("the arguments are the same: hearth modelcheck POLICY")),
                }
            }
        }
    };
}

verbs! {
    "See what your programs do": {
        Record: record,
        Report: report,
        View: view,
        Picture: picture,
        Query: query,
        Export: export,
        Import: import,
    }
    "Predict": {
        Predict: predict,
        Sim: sim,
        Extract: extract,
        Overlay: overlay,
    }
    "Run a policy in the kernel": {
        Run: run,
        Exec: exec,
        Try: try_policy,
        Status: status,
        Top: top,
        Set: set,
        Stop: stop,
        Vm: vm,
        Play: play,
    }
    "Write and verify a policy": {
        New: new,
        Check: check,
        Fmt: fmt,
        Lsp: lsp,
        Build: build,
        Prove: prove,
        Modelcheck: modelcheck,
        Conform: conform,
    }
    "Search and compare policies": {
        Tune: tune,
        Study: study,
        Features: features,
        Reproduce: reproduce,
    }
    "Machines and names": {
        List: list,
        Machine: machine,
        Ftl: ftl,
        Completions: completions,
        Man: man,
    }
}

impl Cli {
    /// Reads the command line. Exits after help, and after most errors.
    pub fn read() -> Result<Cli, Failure> {
        let mut command = definition();
        let arguments = without_help_of_help(&command, std::env::args_os().collect());
        let matches = command.try_get_matches_from_mut(arguments);
        match matches.and_then(|matches| Cli::from_arg_matches(&matches)) {
            Ok(cli) => Ok(cli),
            Err(error) => Err(wrong_number(&error).unwrap_or_else(|| error.exit())),
        }
    }

    /// The command of hearth in another command line, such as `timeout 60 hearth run nest`, if there is one.
    pub fn within(words: &[OsString]) -> Option<Cli> {
        let start =
            words.iter().position(|word| Path::new(word).file_name().is_some_and(|name| name == "hearth"))?;
        let matches = definition().try_get_matches_from(&words[start..]).ok()?;
        Cli::from_arg_matches(&matches).ok()
    }

    /// The policy that this command loads into the kernel, if it names one, and the variant of its object.
    pub fn loads(&self) -> Option<(&str, Purpose)> {
        match &self.verb {
            Verb::Run(args) => Some(args.loads()),
            Verb::Exec(args) => Some(args.loads()),
            Verb::Try(args) => Some(args.loads()),
            Verb::Build(args) => args.loads(),
            _ => None,
        }
    }
}

/// The definition of the command line: help, completions and manual pages come from it.
pub fn definition() -> Command {
    let command = with_negative_numbers(Cli::command());
    // Where `CI` is set, clap colours for a dumb terminal, too.
    let colour = if output::is_dumb_terminal() { ColorChoice::Never } else { ColorChoice::Auto };
    let command = command.color(colour);
    let template = overview(&command);
    command.help_template(template)
}

/// Accepts `-1` as a value, so that its error is about the value.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_path = arg.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let takes_number = !is_path && !arg.is_positional() && arg.get_action().takes_values();
        arg.allow_negative_numbers(takes_number)
    });
    command.mut_subcommands(with_negative_numbers)
}

/// The template of `hearth --help`: the verbs in groups, which clap does not have.
fn overview(command: &Command) -> String {
    let styles = command.get_styles();
    let (header, literal) = (styles.get_header(), styles.get_literal());
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, verbs) in GROUPS {
        let _ = write!(text, "\n{header}{group}:{header:#}\n");
        for verb in verbs.iter().filter_map(|verb| command.find_subcommand(verb.to_lowercase())) {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {literal}{:11}{literal:#}  {about}", verb.get_name());
        }
    }
    let _ = write!(text, "\n{header}Options:{header:#}\n{{options}}\n\n");
    text + "`hearth help VERB` prints the help of a verb, with examples.\n"
}

/// Removes `--help` from `hearth help [VERB] --help`, which asks for help on help, and `help` before what is no verb.
fn without_help_of_help(command: &Command, mut arguments: Vec<OsString>) -> Vec<OsString> {
    let has_verbs = |name: &OsString| {
        let verb = name.to_str().and_then(|name| command.find_subcommand(name));
        verb.is_some_and(Command::has_subcommands)
    };
    let start = if arguments.get(1).is_some_and(has_verbs) { 2 } else { 1 };
    if arguments.get(start).is_some_and(|argument| argument == "help") {
        arguments.retain(|argument| argument != "-h" && argument != "--help");
        // Only verbs, not `help`, say which one is similar.
        let unknown =
            |name: &OsString| name.to_str().is_some_and(|name| command.find_subcommand(name).is_none());
        if start == 1 && arguments.get(2).is_some_and(unknown) {
            arguments.remove(1);
        }
    }
    arguments
}

/// Replaces an error whose text, by std, does not say what to write: "invalid digit found in string".
fn wrong_number(error: &Error) -> Option<Failure> {
    let source = error.source()?;
    let value = error.get(ContextKind::InvalidValue)?.to_string();
    let expected = match range(&source.to_string()) {
        Some(range) => range,
        None => number(source, &value)?.into(),
    };
    let argument = error.get(ContextKind::InvalidArg)?;
    Some(Failure::usage(format_args!("invalid value '{value}' for '{argument}': {expected}")))
}

/// What to write instead of a number out of clap's range: "0 is not in 1..=100".
fn range(text: &str) -> Option<String> {
    let (least, most) = text.split_once(" is not in ")?.1.split_once("..=")?;
    Some(format!("the number must be between {least} and {most}"))
}

fn number(source: &(dyn std::error::Error + 'static), value: &str) -> Option<&'static str> {
    Some(match source.downcast_ref::<ParseIntError>().map(ParseIntError::kind) {
        Some(IntErrorKind::PosOverflow | IntErrorKind::NegOverflow) => "the number is too large",
        Some(_) if value.starts_with('-') => "the number must not be negative",
        Some(_) => "write a whole number",
        None if source.is::<ParseFloatError>() => "write a number, such as 2.5",
        None => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Arg;
    use clap::builder::Resettable;
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    fn verbs() -> impl Iterator<Item = Command> {
        let command = definition();
        command.get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect::<Vec<_>>().into_iter()
    }

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn every_verb_is_in_one_group() {
        let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, verbs)| verbs.iter().copied()).collect();
        let unique: BTreeSet<String> = grouped.iter().map(|verb| verb.to_lowercase()).collect();
        assert_eq!(unique.len(), grouped.len());
        assert_eq!(unique, verbs().map(|verb| verb.get_name().to_owned()).collect());
    }

    #[test]
    fn the_overview_fits_a_terminal() {
        let help = definition().render_help().to_string();
        for verb in verbs() {
            assert!(help.contains(&format!("\n  {:11}  ", verb.get_name())), "{}", verb.get_name());
        }
        let widest =
            help.lines().filter(|line| line.starts_with("  ")).max_by_key(|line| line.chars().count());
        assert!(widest.is_some_and(|line| line.chars().count() <= 80), "{widest:?}");
    }

    /// The lines below "Examples:" in the help of a command.
    fn examples(command: &Command) -> Vec<String> {
        let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        text.lines().skip(1).map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn every_verb_has_two_examples() {
        for verb in verbs() {
            let examples = examples(&verb);
            let wanted = if verb.has_subcommands() || verb.get_arguments().next().is_some() { 2 } else { 1 };
            assert!(examples.len() >= wanted, "{}: {examples:?}", verb.get_name());
            let name = format!("hearth {}", verb.get_name());
            let named = |line: &&String| line.contains(&name);
            assert_eq!(examples.iter().filter(named).count(), examples.len(), "{examples:?}");
        }
    }

    /// Panics unless the command line of a shell is accepted; it may start with sudo, and have a comment.
    fn accept(line: &str) {
        let words = shlex::split(line).unwrap_or_else(|| panic!("{line}"));
        let start = words.iter().position(|word| word == "hearth").expect("hearth");
        assert!(words[..start].iter().all(|word| word == "sudo"), "{line}");
        let end = words.iter().position(|word| [">", "|", "&"].contains(&&**word)).unwrap_or(words.len());
        let parsed = definition().try_get_matches_from(&words[start..end]);
        let parsed = parsed.and_then(|matches| Cli::from_arg_matches(&matches));
        assert!(parsed.is_ok(), "{line}: {}", parsed.err().map_or_else(String::new, |e| e.to_string()));
    }

    #[test]
    fn every_example_is_accepted() {
        for line in verbs().flat_map(|verb| examples(&verb)) {
            assert!(line.chars().count() <= 96, "too long: {line}");
            accept(&line);
        }
    }

    /// Without what arguments demand of each other, so that each is tried alone.
    fn relaxed(command: Command) -> Command {
        let command = command.mut_args(|arg| {
            arg.requires(Resettable::Reset).conflicts_with(Resettable::Reset).exclusive(false)
        });
        command.mut_subcommands(relaxed)
    }

    /// Values, of which each argument accepts one.
    const VALUES: &[&str] = &[
        "4",
        "100",
        "10s",
        "0-3",
        "nest",
        "name=1",
        "512M",
        "nest.r_max=5",
        "a.trace",
        "1920x1080",
        "schedutil",
        "conserves",
        "random",
        "all",
    ];
    const INVALID: &[&str] = &["", "-1", "99999999999999999999", "nonsense", "\u{1b}[2J\n=,"];

    fn known_value(argument: &Arg) -> Option<String> {
        let default = argument.get_default_values().first().and_then(|value| value.to_str());
        let possible = argument.get_possible_values().first().map(|value| value.get_name().to_owned());
        possible.or_else(|| default.map(str::to_owned))
    }

    /// A command line with a value for `tried`, and with the values that the verb requires, or with `all` positional ones.
    fn line(
        path: &[String],
        verb: &Command,
        values: &BTreeMap<String, String>,
        tried: (&Arg, &str),
        all: bool,
    ) -> Vec<String> {
        let mut words = path.to_vec();
        let (mut positional, mut last) = (Vec::new(), Vec::new());
        for argument in verb.get_arguments() {
            let value = match argument.get_id() == tried.0.get_id() {
                true => tried.1,
                false if argument.is_required_set() || all && argument.is_positional() => {
                    values.get(argument.get_id().as_str()).map_or("x", String::as_str)
                }
                false => continue,
            };
            match (argument.get_long(), argument.get_short()) {
                (Some(long), _) => words.push(format!("--{long}={value}")),
                (None, Some(short)) => words.extend([format!("-{short}"), value.to_owned()]),
                (None, None) if argument.is_last_set() => last.push(value.to_owned()),
                (None, None) => positional.push(value.to_owned()),
            }
        }
        words.extend(positional);
        if !last.is_empty() {
            words.push("--".into());
            words.extend(last);
        }
        words
    }

    /// Whether the words are accepted. Panics where `hearth` would print that it has a bug.
    fn is_accepted(definition: &RefCell<Command>, words: &[String]) -> bool {
        let matches = definition.borrow_mut().try_get_matches_from_mut(words);
        let read = || matches.and_then(|matches| Cli::from_arg_matches(&matches)).is_ok();
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(read))
            .unwrap_or_else(|_| panic!("a bug in hearth: {words:?}"))
    }

    /// Tries each argument of a verb, and of the verbs below it. Returns their number.
    fn try_arguments(definition: &RefCell<Command>, path: &[String], verb: &Command) -> usize {
        let path = [path, &[verb.get_name().to_owned()]].concat();
        let arguments: Vec<&Arg> =
            verb.get_arguments().filter(|arg| arg.get_action().takes_values()).collect();
        let mut values = BTreeMap::new();
        // Those that the verb requires first, because all lines need them.
        for argument in arguments.iter().filter(|arg| arg.is_required_set()) {
            values.insert(
                argument.get_id().to_string(),
                known_value(argument).unwrap_or_else(|| VALUES[4].into()),
            );
        }
        for argument in &arguments {
            let known = known_value(argument);
            let mut candidates = known.as_deref().into_iter().chain(VALUES.iter().copied());
            let accepted = |value: &&str| {
                let line = |all| line(&path, verb, &values, (argument, value), all);
                is_accepted(definition, &line(false)) || is_accepted(definition, &line(true))
            };
            assert!(
                candidates.any(|value| accepted(&value)),
                "{path:?} {}: no value is accepted",
                argument.get_id()
            );
            for value in INVALID {
                accepted(value);
            }
        }
        arguments.len()
            + verb.get_subcommands().map(|below| try_arguments(definition, &path, below)).sum::<usize>()
    }

    #[test]
    fn every_argument_is_read_or_refused() {
        let definition = relaxed(definition());
        let tried = try_arguments(&RefCell::new(definition.clone()), &[], &definition);
        assert!(tried > 150, "only {tried} arguments");
    }

    #[test]
    fn a_command_at_the_end_needs_no_dashes() {
        for line in ["record -o x.trace make -j8", "exec nest make -j8", "vm --cpus 2 make -j8"] {
            let words = format!("hearth {line}");
            let matches = definition().try_get_matches_from(words.split(' ')).expect("it is accepted");
            let (_, verb) = matches.subcommand().expect("a verb");
            let command: Vec<_> = verb.get_raw("command").expect("a command").collect();
            assert_eq!(command, ["make", "-j8"], "{line}");
        }
    }

    /// The commands in `sh` blocks of a page, with lines that end in a backslash joined.
    fn commands(page: &str) -> Vec<String> {
        use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
        let (mut inside, mut found) = (false, Vec::new());
        for event in Parser::new(page) {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language))) => inside = &*language == "sh",
                Event::End(TagEnd::CodeBlock) => inside = false,
                Event::Text(text) if inside => {
                    let text = text.replace("\\\n", " ");
                    let is_ours =
                        |line: &&str| line.starts_with("hearth ") || line.starts_with("sudo hearth ");
                    found.extend(text.lines().filter(is_ours).map(ToOwned::to_owned));
                }
                _ => {}
            }
        }
        found
    }

    #[test]
    fn every_command_of_the_book_is_accepted() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let book = std::fs::read_dir(root.join("docs/src")).expect("the book");
        let pages = book.map(|page| page.expect("a page").path()).chain([root.join("README.md")]);
        let mut accepted = 0;
        for page in pages.filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
            for line in commands(&std::fs::read_to_string(page).expect("a page")) {
                accept(&line);
                accepted += 1;
            }
        }
        assert!(accepted > 50, "only {accepted} commands were found");
    }

    #[test]
    fn help_of_help() {
        let without = |line: &str| {
            let words = line.split(' ').map(OsString::from).collect();
            without_help_of_help(&definition(), words).join(&OsString::from(" ")).into_string().unwrap()
        };
        assert_eq!(without("hearth help --help"), "hearth help");
        assert_eq!(without("hearth help sim -h"), "hearth help sim");
        assert_eq!(without("hearth machine help --help"), "hearth machine help");
        assert_eq!(without("hearth view help --help"), "hearth view help --help");
    }
}
