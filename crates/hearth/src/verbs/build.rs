use crate::failure::{Failure, Outcome};
use crate::table::Plain;
use crate::{output, policy};
use clap::ValueEnum;
use hearth_ipanema::{SourceId, syntax};
use hearth_scx::object::{self, Purpose};
use hearth_scx::verify::{Verified, verify};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a policy, and write what the compiler makes of it
#[derive(clap::Args)]
pub struct Args {
    /// A policy file, or the name of a built-in policy
    #[arg(value_name = "FILE.ipa")]
    policy: String,
    /// What to write
    #[arg(long, value_enum, default_value_t = Emit::C)]
    emit: Emit,
    /// Where to; without it, to standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing: load the BPF programs, without running the policy, and show how many instructions this
    /// machine's kernel verified for each
    #[arg(long, conflicts_with_all = ["emit", "output"])]
    verify: bool,
    /// Print JSON (schema hearth.verified/1) instead of text
    #[arg(long, requires = "verify")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Emit {
    /// C against runtime/saakm.h: what the simulator runs
    C,
    /// The typed intermediate form, bases merged in, as JSON
    Ir,
    /// The syntax tree of this file alone, as JSON
    Ast,
    /// The BPF object that the kernel runs (needs clang 19 or newer); what it was made from stands beside it, in
    /// FILE.hash
    Bpf,
    /// The same for `hearth run --log`: it runs one handler at a time, and writes a log of them
    BpfLog,
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.verify {
            return self.show_verified();
        }
        let purpose = match self.emit {
            Emit::Bpf => Some(Purpose::Run),
            Emit::BpfLog => Some(Purpose::Log),
            Emit::C | Emit::Ir | Emit::Ast => None,
        };
        if let Some(purpose) = purpose {
            let Some(path) = &self.output else {
                return Err(Failure::usage(
                    "a BPF object is no text: say where to write it, with -o FILE.bpf.o",
                ));
            };
            output::check_writable(path)?;
            object::build(&policy::load(&self.policy)?, purpose, path)?;
            return Ok(ExitCode::SUCCESS);
        }
        let text = match self.emit {
            Emit::Ast => self.ast()?,
            _ => self.compile()?,
        };
        match &self.output {
            Some(path) => output::file(path, text.as_bytes())?,
            None => output::text(&text)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn show_verified(&self) -> Outcome {
        let verified = verify(&policy::load(&self.policy)?)?;
        match self.json {
            true => output::json(&document(&verified))?,
            false => output::text(&table(&verified))?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn compile(&self) -> Result<String, Failure> {
        let policy = policy::load(&self.policy)?;
        Ok(match self.emit {
            Emit::C => policy.c(),
            _ => policy.ir().to_json() + "\n",
        })
    }

    fn ast(&self) -> Result<String, Failure> {
        let text = hearth_policy::read(&self.policy)?;
        let parsed = syntax::parse(SourceId::default(), &text);
        policy::syntax_errors(&self.policy, &text, &parsed.diagnostics)?;
        let json = serde_json::to_string_pretty(&parsed.policy).map_err(Failure::new)?;
        Ok(json + "\n")
    }
}

fn document(verified: &Verified) -> Value {
    let Verified { policy, kernel, programs } = verified;
    json!({ "schema": "hearth.verified/1", "policy": policy, "kernel": kernel, "programs": programs })
}

fn table(verified: &Verified) -> String {
    let mut table = Plain::new(1);
    table.head(&["program", "processed", "instructions", "native bytes"]);
    for program in &verified.programs {
        let numbers = [program.processed, program.instructions, program.native_bytes];
        table.row(&[&[program.name.clone()][..], &numbers.map(|n| n.to_string())].concat());
    }
    format!(
        "{}\nLinux {} accepts {}. Its verifier processes at most 1,000,000 instructions of a program.\n",
        table.render(),
        verified.kernel,
        verified.policy
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_scx::verify::Program;

    #[test]
    fn programs_are_documented_and_shown() {
        let program = Program { name: "tick".into(), processed: 3456, instructions: 78, native_bytes: 901 };
        let verified = Verified { policy: "p".into(), kernel: "7.3".into(), programs: vec![program] };
        let table = table(&verified);
        assert!(table.contains("tick") && table.contains("Linux 7.3 accepts p."), "{table}");
        let book = include_str!("../../../../docs/src/json.md");
        let document = document(&verified);
        for object in [&document, &document["programs"][0]] {
            for key in object.as_object().expect("an object").keys() {
                assert!(
                    key == "schema" || book.contains(&format!("`{key}`")),
                    "{key} is not in docs/src/json.md"
                );
            }
        }
    }
}
