use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output;
use hearth_ipanema::{Compiled, Failed, builtin, compile, syntax::Source};
use hearth_policy::names;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write a first version of a policy, to be changed
///
/// Writes POLICY.ipa: a small policy that extends another one, with comments that explain the language; or, with --from, a
/// copy of another one under a new name. It is valid, and can be simulated at once.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth new mine",
    "hearth new policies/patient --extends nest",
    "hearth new mine --from ember",
]))]
pub struct Args {
    /// The policy: the path of its file, without .ipa
    policy: PathBuf,
    /// The built-in policy that it extends: everything that it does not say is as there
    #[arg(long, value_name = "BASE", default_value = "cfs", value_parser = clap::builder::PossibleValuesParser::new(names()))]
    extends: String,
    /// Copy the text of this built-in policy, or of a product of the feature model, instead
    #[arg(long, value_name = "POLICY", conflicts_with = "extends")]
    from: Option<String>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let path = match self.policy.extension() {
            Some(extension) if extension == "ipa" => self.policy.clone(),
            _ => PathBuf::from(format!("{}.ipa", self.policy.display())),
        };
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let (text, base, verb) = match &self.from {
            Some(from) => (copy(&name, from)?, from, "is a copy of"),
            None => (text(&name, &self.extends)?, &self.extends, "extends"),
        };
        if fs::symlink_metadata(&path).is_ok() {
            return Err(Failure::new(format_args!("{} exists", path.display()))
                .help("choose another name, or remove the file"));
        }
        output::file(&path, text.as_bytes())?;
        let shown = shown(&path);
        output::text(&format!(
            "{shown}: policy `{name}` {verb} `{base}`\n\
             Next: hearth view {shown}\n      \
             hearth check {shown}\n      \
             hearth sim {shown} -m xeon-5218\n"
        ))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The path as the other verbs take it, which read a word without `/` or `.ipa` as a name.
fn shown(path: &Path) -> String {
    shlex::try_quote(&path.display().to_string()).map_or_else(|_| "FILE".into(), |path| path.into_owned())
}

/// The text of the new policy, which compiles.
fn text(name: &str, base: &str) -> Result<String, Failure> {
    let has_queue = |compiled: &Compiled| compiled.ir.queues.iter().any(|queue| &*queue.name == "ready");
    let compiled = compile(&|_: &str| None, base).map_err(|failed| wrong(name, &failed))?;
    let placement = if has_queue(&compiled) { PLACEMENT } else { "" };
    checked(name, TEXT.replace("PLACEMENT", placement).replace("BASE", base).replace("NAME", name))
}

/// The text of a built-in policy with another name. That of a product says what its features do.
fn copy(name: &str, from: &str) -> Result<String, Failure> {
    let Some(text) = builtin::source(from) else {
        return Err(Failure::usage(format_args!("there is no built-in policy `{from}`"))
            .help("`hearth list policies` shows them"));
    };
    let text = text.replacen(&format!("policy {from} "), &format!("policy {name} "), 1);
    let Some((head, features)) =
        text.trim_end().trim_end_matches(';').split_once(" with ").filter(|_| from.contains('+'))
    else {
        return checked(name, text);
    };
    let about = |feature: &str| {
        let text = builtin::source(feature).unwrap_or_default();
        let doc =
            text.lines().next().and_then(|line| line.strip_prefix("/// ")).unwrap_or_default().to_owned();
        format!("    // {feature}: {doc}\n")
    };
    let about: String = features.split(", ").map(about).collect();
    checked(
        name,
        format!(
            "/// {name}: a product of the feature model.\n{head} with {features} {{\n{about}\
             \x20   // A parameter, function or handler of a feature or the base can be declared anew here.\n}}\n"
        ),
    )
}

/// The text of policy `name`, if it compiles under that name.
fn checked(name: &str, text: String) -> Result<String, Failure> {
    if builtin::source(name).is_some() {
        return Err(Failure::usage(format_args!("`{name}` is a built-in policy")).help("choose another name"));
    }
    let source = |wanted: &str| (wanted == "/").then(|| Source { name: name.to_owned(), text: text.clone() });
    compile(&source, "/").map_err(|failed| wrong(name, &failed))?;
    Ok(text)
}

fn wrong(name: &str, failed: &Failed) -> Failure {
    let why = failed.diagnostics.first().map_or("", |found| &found.message);
    Failure::usage(format_args!("`{name}` cannot be the name of a policy: {why}"))
        .help("use letters, digits and `_`, and `-` between words: cfs-patient")
}

const TEXT: &str = "\
/// NAME: BASE that keeps a core warm while its thread sleeps briefly. Say here what yours does.
policy NAME extends BASE {
    // What is not declared here is as in BASE. `hearth fmt` formats this file; `docs/src/ipanema.md` is the
    // reference of the language, and `policies/` has larger examples.

    // A parameter is set when the policy is loaded: `hearth sim -w configure -p ./NAME.ipa:linger=2ms`.
    /// A core spins for at most this time after its thread blocks; 0: it does not.
    param linger : time in 0ms..100ms = 1ms;

    // Each thread has its own value of these; it starts as 0. `core { ... }` declares attributes of cores.
    thread {
        /// When the thread blocked last.
        time fell_asleep;
    }

    // A handler replaces the one of BASE for this event. `super;` calls that.
    on block (thread t) {
        t.fell_asleep = now;
        if (linger > 0ns) keep_warm(t.core, linger);
        super;
    }
PLACEMENT}
";

const PLACEMENT: &str = "
    // A function. There is no recursion, and every loop is over a finite set, so each event ends soon.
    /// True if t slept so briefly that its core still spins.
    bool brief(thread t) {
        return now - t.fell_asleep < linger;
    }

    // A wake-up must make t ready on some core. `=>` ends the handler, and `because` names the reason for reports.
    // `claim` is true if the core is idle and no other event has just taken it.
    on unblock (thread t, core waker) {
        if (brief(t) && t.core in t.affinity && claim(t.core)) t => t.core.ready because warm;
        super;
    }
";
