//! Proofs about the emitted C: contracts in ACSL, checked by Frama-C's WP with Z3 and CVC4.
//!
//! The compiler emits the C of a policy with contracts (`hearth_ipanema::emit::contracts`), against the contracts of the
//! runtime in `runtime/contracts/`. What Frama-C says is read line by line; what is not understood is an error.

use crate::error::Error;
use crate::why3::version;
use crate::words;
use hearth_ipanema::emit::{FunctionContract, contracts};
use hearth_ipanema::ir::{Place, Policy};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The headers that emitted code is proved against.
const HEADERS: [(&str, &str); 3] = [
    ("saakm.h", include_str!("../../../runtime/contracts/saakm.h")),
    ("sets.h", include_str!("../../../runtime/contracts/sets.h")),
    ("words.h", WORDS),
];
const WORDS: &str = include_str!("../../../runtime/contracts/words.h");

/// The text of the runtime that runs in the simulator, and its contracts.
const RUNTIME: [(&str, &str); 8] = [
    ("contracts/runtime.c", include_str!("../../../runtime/contracts/runtime.c")),
    ("contracts/sets.h", HEADERS[1].1),
    ("contracts/words.h", WORDS),
    ("saakm.h", include_str!("../../../runtime/saakm.h")),
    ("saakm_inline.h", include_str!("../../../runtime/saakm_inline.h")),
    ("host/saakm_host.h", include_str!("../../../runtime/host/saakm_host.h")),
    ("host/saakm_access.h", include_str!("../../../runtime/host/saakm_access.h")),
    ("host/saakm_effects.h", include_str!("../../../runtime/host/saakm_effects.h")),
];

/// The policies whose C is proved, and their functions that are open: not proved, or without a contract. Frama-C does
/// not accept the contracts of the other policies, or they have not been tried.
pub const COVERED: [(&str, &[&str]); 2] = [
    (
        "cfs-cwc-flat",
        &[
            "cfs_cwc_flat_pull",
            "cfs_cwc_flat_on_balance",
            "cfs_cwc_flat_init_state",
            "cfs_cwc_flat_init_core",
            "cfs_cwc_flat_init_thread",
        ],
    ),
    (
        "ule-cwc",
        &[
            "ule_cwc_pull",
            "ule_cwc_on_balance",
            "ule_cwc_score",
            "ule_cwc_choose_wakeup",
            "ule_cwc_init_state",
            "ule_cwc_init_core",
            "ule_cwc_init_thread",
        ],
    ),
];

/// The functions that `runtime.c` has contracts of.
const PROVED: [&str; 11] = [
    "saakm_min",
    "saakm_max",
    "saakm_div",
    "saakm_mod",
    "saakm_has",
    "saakm_include",
    "saakm_exclude",
    "saakm_claim",
    "saakm_release",
    "saakm_scan_take",
    "saakm_walk_take",
];

/// Limits of a run. Those of the provers are steps, so a busy machine changes no verdict unless a run takes too long.
#[derive(Clone, Debug)]
pub struct CodeOptions {
    /// Keep the C and the headers in this folder.
    pub keep: Option<PathBuf>,
    /// Prove these C functions only; empty: all.
    pub only: Vec<String>,
    /// Prove these annotations only (WP's `-wp-prop`).
    pub named: Option<String>,
    /// Number of provers that run in parallel.
    pub at_once: usize,
    /// Seconds for one goal and prover, and for the whole run.
    pub goal_seconds: u32,
    pub seconds: u32,
}

impl Default for CodeOptions {
    fn default() -> Self {
        CodeOptions { keep: None, only: Vec::new(), named: None, at_once: 2, goal_seconds: 60, seconds: 3600 }
    }
}

/// What was proved of the C of a policy.
#[derive(Clone, Debug, Serialize)]
pub struct CodeReport {
    pub policy: String,
    pub functions: Vec<CodeFunction>,
    /// Axioms about words that Z3 did not prove of bit vectors.
    pub open_words: Vec<String>,
    pub words: usize,
}

impl CodeReport {
    /// True only if there is something to prove, and all of it is proved.
    pub fn holds(&self) -> bool {
        let functions = !self.functions.is_empty() && self.functions.iter().all(CodeFunction::holds);
        functions && self.words > 0 && self.open_words.is_empty()
    }
}

/// What was proved of one C function.
#[derive(Clone, Debug, Serialize)]
pub struct CodeFunction {
    pub name: String,
    /// The policy and line that the function stands for; line 0: none.
    pub policy: String,
    pub line: u32,
    pub goals: usize,
    pub proved: usize,
    /// Names of the goals that are not proved.
    pub open: Vec<String>,
    /// What the contract does not say.
    pub gaps: Vec<String>,
}

impl CodeFunction {
    pub fn holds(&self) -> bool {
        self.goals > 0 && self.proved == self.goals && self.open.is_empty() && self.gaps.is_empty()
    }
}

/// Proves the C that the compiler emits for a policy.
///
/// # Errors
/// Frama-C or its provers cannot be run, take too long, or say something unexpected.
pub fn prove_code(policy: &Policy, options: &CodeOptions) -> Result<CodeReport, Error> {
    let emitted = contracts(policy);
    prove_c(&policy.name, &emitted.c, &emitted.functions, options)
}

/// Proves C with contracts; `functions` are those that must have been proved.
pub fn prove_c(
    policy: &str,
    c: &str,
    functions: &[FunctionContract],
    options: &CodeOptions,
) -> Result<CodeReport, Error> {
    let temporary = tempfile::Builder::new().prefix("hearth-code-").tempdir();
    let temporary = temporary.map_err(|error| Error::Write { path: std::env::temp_dir(), error })?;
    let folder = options.keep.as_deref().unwrap_or(temporary.path());
    fs::create_dir_all(folder).map_err(|error| Error::Write { path: folder.to_owned(), error })?;
    let folder = &folder.canonicalize().map_err(|error| Error::Write { path: folder.to_owned(), error })?;
    for (name, text) in HEADERS {
        write(&folder.join(name), text)?;
    }
    write(&folder.join("policy.c"), c)?;
    let chosen = |f: &&FunctionContract| options.only.is_empty() || options.only.contains(&f.name);
    let functions: Vec<&FunctionContract> = functions.iter().filter(chosen).collect();
    let tools = Tools::find(folder)?;
    let names: Vec<&str> = functions.iter().filter(|f| f.contract).map(|f| f.name.as_str()).collect();
    let goals = match names.as_slice() {
        // Frama-C would take no names for all.
        [] => BTreeMap::new(),
        names => tools.run(&folder.join("policy.c"), &["-wp-fct", &names.join(",")], options)?,
    };
    let mut report = CodeReport {
        policy: policy.to_owned(),
        functions: functions.iter().map(|f| function(f, defined(c, &f.name))).collect(),
        open_words: tools.open_words()?,
        words: words::axioms(WORDS).len(),
    };
    settle(&mut report.functions, &goals)?;
    Ok(report)
}

/// Proves functions of the runtime, in the text that runs, with `changes` made to it: what stands there, and what
/// stands there instead.
///
/// # Errors
/// As [`prove_code`].
pub fn prove_runtime(changes: &[(&str, &str)], options: &CodeOptions) -> Result<CodeReport, Error> {
    let temporary = tempfile::Builder::new().prefix("hearth-code-").tempdir();
    let temporary = temporary.map_err(|error| Error::Write { path: std::env::temp_dir(), error })?;
    for (name, text) in RUNTIME {
        let path = temporary.path().join(name);
        let folder = path.parent().unwrap_or(temporary.path());
        fs::create_dir_all(folder).map_err(|error| Error::Write { path: folder.to_owned(), error })?;
        write(&path, &changes.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to)))?;
    }
    let tools = Tools::find(temporary.path())?;
    let file = temporary.path().join("contracts/runtime.c");
    let mut goals = tools.run(&file, &["-wp-fct", &PROVED.join(",")], options)?;
    goals.extend(tools.run(&file, &["-wp-prop", "@lemma"], options)?);
    let at = Place { policy: "runtime".into(), line: 0, span: Default::default() };
    let named = |name: &&str| FunctionContract {
        name: (*name).into(),
        at: at.clone(),
        gaps: Vec::new(),
        contract: true,
    };
    let mut report = CodeReport {
        policy: "runtime".into(),
        functions: PROVED.iter().chain(&["lemma"]).map(|name| function(&named(name), true)).collect(),
        open_words: tools.open_words()?,
        words: words::axioms(WORDS).len(),
    };
    settle(&mut report.functions, &goals)?;
    Ok(report)
}

/// A function without a body has no goals, and so is not proved. A macro of the runtime can define it, at the beginning
/// of a line.
fn defined(c: &str, name: &str) -> bool {
    c.lines().any(|line| {
        let mut words = line.split(['(', ',', ')']).map(str::trim);
        line.contains(&format!(" {name}(")) || (line.starts_with("SAAKM_") && words.any(|word| word == name))
    })
}

fn function(contracted: &FunctionContract, defined: bool) -> CodeFunction {
    let mut gaps = contracted.gaps.clone();
    if !defined {
        gaps.push("the emitted C has no such function".into());
    }
    CodeFunction {
        name: contracted.name.clone(),
        policy: contracted.at.policy.clone(),
        line: contracted.at.line,
        goals: 0,
        proved: 0,
        open: Vec::new(),
        gaps,
    }
}

/// Gives each goal to its function: the one with the longest name that the goal's name begins with.
fn settle(functions: &mut [CodeFunction], goals: &BTreeMap<String, bool>) -> Result<(), Error> {
    for (goal, proved) in goals {
        let own = goal.trim_start_matches("typed_");
        let of = functions
            .iter_mut()
            .filter(|f| own.strip_prefix(&f.name).is_some_and(|rest| rest.starts_with('_')));
        let Some(function) = of.max_by_key(|f| f.name.len()) else {
            return Err(Error::FramaC(format!("a goal of no function: {goal}")));
        };
        function.goals += 1;
        if *proved {
            function.proved += 1;
        } else {
            function.open.push(own[function.name.len() + 1..].to_owned());
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let written = hearth_base::file::write(path, text.as_bytes());
    written.map_err(|error| Error::Write { path: path.to_owned(), error })
}

/// Contradictory preconditions and loop invariants are looked for: from them all would follow.
const SMOKE: [&str; 7] = [
    "-wp-smoke-tests",
    "-wp-smoke-timeout",
    "1",
    "-wp-no-smoke-dead-call",
    "-wp-no-smoke-dead-code",
    "-wp-no-smoke-dead-local-init",
    "-wp-no-smoke-dead-assumes",
];

/// Steps of the provers for one goal.
const Z3: &str = "z3 -smt2 auto_config=false smt.mbqi=false rlimit=20000000";
const CVC4: &str = "cvc4 --stats --rlimit=500000 --lang=smt2";

struct Tools {
    config: PathBuf,
    z3: String,
    cvc4: String,
}

impl Tools {
    /// Finds Frama-C and its provers, and writes a configuration of Why3.
    fn find(folder: &Path) -> Result<Self, Error> {
        Command::new("frama-c").arg("-version").output().map_err(Error::NoFramaC)?;
        let z3 = version("z3", "Z3 version ").map_err(|_| Error::NoProver)?;
        let cvc4 = version("cvc4", "CVC4 version ").map_err(|_| Error::NoProver)?;
        let mut text = "[main]\nmagic = 14\nmemlimit = 2000\nrunning_provers_max = 2\n".to_owned();
        for (name, version, driver, command) in [("Z3", &z3, "z3_471", Z3), ("CVC4", &cvc4, "cvc4_16", CVC4)]
        {
            text += &format!(
                "\n[prover]\nname = \"{name}\"\nversion = \"{version}\"\ndriver = \"{driver}\"\n\
                 command = \"{command} %f\"\neditor = \"\"\nin_place = false\ninteractive = false\n"
            );
        }
        let config = folder.join("why3.conf");
        write(&config, &text)?;
        Ok(Tools { config, z3: format!("Z3:{z3}"), cvc4: format!("CVC4:{cvc4}") })
    }

    /// Runs WP on what `selection` says; the goals, and whether each is proved.
    fn run(
        &self,
        file: &Path,
        selection: &[&str],
        options: &CodeOptions,
    ) -> Result<BTreeMap<String, bool>, Error> {
        // The provers' time limit is per goal; Frama-C's own simplifier has none.
        let mut command = Command::new("timeout");
        command.arg("--kill-after=10").arg(options.seconds.to_string()).arg("frama-c");
        let folder = file.parent().unwrap_or(Path::new("."));
        command.env("WHY3CONFIG", &self.config).env("LC_ALL", "C").stdin(Stdio::null());
        // Annotations are comments among the arguments of macros (-CC). Arithmetic wraps (-fwrapv).
        command.arg(format!("-cpp-extra-args=-CC -I{}", folder.display())).arg(file);
        command.args(["-no-warn-signed-overflow", "-wp", "-wp-rte"]);
        command.args(["-wp-cache", "none"]).args(SMOKE);
        command.arg("-wp-prover").arg(format!("{},{}", self.z3, self.cvc4));
        command.arg("-wp-timeout").arg(options.goal_seconds.to_string());
        command.arg("-wp-par").arg(options.at_once.to_string());
        command.args(selection);
        if let Some(named) = &options.named {
            command.arg("-wp-prop").arg(named);
        }
        let output = command.output().map_err(Error::NoFramaC)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        match output.status.code() {
            Some(0) => goals(&text),
            Some(124 | 137) => Err(Error::FramaC(format!("no end after {} s", options.seconds))),
            _ => Err(Error::FramaC(complaint(&text))),
        }
    }

    /// The axioms about words that Z3 does not prove of bit vectors.
    fn open_words(&self) -> Result<Vec<String>, Error> {
        let mut open = Vec::new();
        for axiom in words::axioms(WORDS) {
            match axiom.smt {
                Ok(smt) if unsat(&smt)? => {}
                Ok(_) => open.push(axiom.name),
                Err(why) => open.push(format!("{}: cannot be read: {why}", axiom.name)),
            }
        }
        Ok(open)
    }
}

fn unsat(smt: &str) -> Result<bool, Error> {
    use std::io::Write;
    let mut command = Command::new("z3");
    command.args(["-in", "rlimit=100000000"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|_| Error::NoProver)?;
    if let Some(stdin) = &mut child.stdin {
        stdin.write_all(smt.as_bytes()).map_err(|_| Error::NoProver)?;
    }
    let output = child.wait_with_output().map_err(|_| Error::NoProver)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim() == "unsat")
}

/// Reads WP's output. Each scheduled goal must have a verdict, and a warning that is not known is an error.
fn goals(text: &str) -> Result<BTreeMap<String, bool>, Error> {
    let mut goals = BTreeMap::new();
    let mut scheduled = None;
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(count) = line.strip_prefix("[wp] ").and_then(|rest| rest.strip_suffix(" goals scheduled"))
        {
            scheduled = count.parse::<usize>().ok();
        } else if let Some(count) =
            line.strip_prefix("[wp] ").and_then(|rest| rest.strip_suffix(" goal scheduled"))
        {
            scheduled = count.parse::<usize>().ok();
        } else if let Some((verdict, name)) = verdict(line) {
            goals.insert(name, verdict);
        } else if line.contains("Warning:") && !harmless(line, lines.peek()) {
            return Err(Error::FramaC(complaint(text)));
        }
    }
    match scheduled {
        Some(count) if count == goals.len() => Ok(goals),
        Some(count) => Err(Error::FramaC(format!("{count} goals, but {} verdicts", goals.len()))),
        None => Err(Error::FramaC(complaint(text))),
    }
}

/// A warning that changes nothing: `assigns` without `\from`, and that the objects of the machine are apart.
fn harmless(line: &str, next: Option<&&str>) -> bool {
    let apart =
        next.is_some_and(|next| next.trim_start().starts_with("Memory model hypotheses for function"));
    line.starts_with("[wp:pedantic-assigns]") || apart
}

/// `[wp] [Z3 4.8.12] Goal NAME : Valid (...)`, `[wp] [Failed] Goal NAME`, `[wp] [Passed] Smoke-test NAME`.
fn verdict(line: &str) -> Option<(bool, String)> {
    let rest = line.strip_prefix("[wp] [")?;
    let (who, rest) = rest.split_once("] ")?;
    let smoke = rest.starts_with("Smoke-test ");
    let name = rest.strip_prefix("Goal ").or_else(|| rest.strip_prefix("Smoke-test "))?;
    let (name, result) = name.split_once(" : ").unwrap_or((name, ""));
    let name = name.split_whitespace().next()?.to_owned();
    let proved = if smoke { who == "Passed" } else { who != "Failed" && result.starts_with("Valid") };
    Some((proved, name))
}

/// The lines of an error.
fn complaint(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    let is_first = |i: usize| {
        let line = lines[i];
        let warning = line.contains("Warning:") && !harmless(line, lines.get(i + 1));
        warning || line.contains("User Error") || line.contains("Fatal")
    };
    let first = (0..lines.len()).find(|i| is_first(*i)).unwrap_or(lines.len().saturating_sub(6));
    lines[first..].iter().take(6).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use hearth_ipanema::compile;
    use hearth_ipanema::syntax::Source;

    use super::*;

    const VALID: &str = "[wp] 2 goals scheduled\n[wp] [Qed] Goal typed_f_ensures : Valid (1ms)\n\
                         [wp] [Z3 4.8.12] Goal typed_f_assert : Valid (Qed:5ms) (10ms)\n";

    #[test]
    fn the_contracts_have_the_numbers_of_the_runtime() {
        let (contracts, runtime) = (HEADERS[0].1, RUNTIME[3].1);
        let is_shared = |line: &&str| {
            let names = [
                "#define SAAKM_TICK_NS ",
                "#define SAAKM_MAX_CORES ",
                "#define SAAKM_NO_CORE ",
                "enum saakm_",
            ];
            names.iter().any(|name| line.starts_with(name))
        };
        let shared: Vec<&str> = contracts.lines().filter(is_shared).collect();
        assert_eq!(shared.len(), 5);
        assert!(shared.iter().all(|line| runtime.lines().any(|other| other == *line)), "{shared:?}");
    }

    #[test]
    fn goals_have_verdicts() {
        let goals = goals(VALID).unwrap();
        assert!(goals["typed_f_ensures"] && goals["typed_f_assert"]);
        let failed = goals_of("[wp] 1 goals scheduled\n[wp] [Failed] Goal typed_f_ensures\n  Z3: Timeout\n");
        assert!(!failed["typed_f_ensures"]);
    }

    fn goals_of(text: &str) -> BTreeMap<String, bool> {
        goals(text).unwrap()
    }

    #[test]
    fn what_is_not_understood_is_an_error() {
        assert!(goals("").is_err());
        assert!(goals(&VALID.replace("2 goals", "3 goals")).is_err(), "a goal without a verdict");
        assert!(goals(&format!("[wp] Warning: Missing RTE guards\n{VALID}")).is_err());
    }

    #[test]
    fn nothing_to_prove_is_not_a_proof() {
        let contracted = FunctionContract {
            name: "f".into(),
            at: hearth_ipanema::ir::Place { policy: "p".into(), line: 1, span: Default::default() },
            gaps: Vec::new(),
            contract: true,
        };
        let mut functions = vec![function(&contracted, true)];
        assert!(!functions[0].holds());
        settle(&mut functions, &goals_of(VALID)).unwrap();
        assert!(functions[0].holds());
        assert!(settle(&mut functions, &BTreeMap::from([("typed_g_ensures".to_owned(), true)])).is_err());
    }

    #[test]
    fn contracts_are_of_functions_that_the_c_defines() {
        let provider = |wanted: &str| {
            let path = format!("{}/../../policies/{wanted}.ipa", env!("CARGO_MANIFEST_DIR"));
            let text = fs::read_to_string(path).ok()?;
            Some(Source { name: format!("{wanted}.ipa"), text })
        };
        for name in ["cfs-cwc-flat", "eevdf", "nest", "smove", "ule-cwc"] {
            let emitted = contracts(&compile(&provider, name).unwrap().ir);
            for function in &emitted.functions {
                assert!(defined(&emitted.c, &function.name), "{}", function.name);
            }
        }
        assert!(!defined("SAAKM_ENTER(p_enter_ready)\n{\n\tp_enter(s);\n}\n", "p_enter"));
    }
}
