use crate::arguments::{PolicyFile, examples};
use crate::failure::{Failure, Outcome};
use crate::table::{Column, table};
use crate::{output, policy};
use clap::ValueEnum;
use hearth_ipanema::{SourceId, syntax};
use hearth_scx::object::{self, Purpose};
use hearth_scx::verify::{Program, Verified, verify};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::ExitCode;

/// Compile a policy to C, a BPF object or an intermediate form
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth build nest -o nest.c",
    "hearth build nest --emit bpf -o nest.bpf.o",
]))]
pub struct Args {
    #[command(flatten)]
    source: PolicyFile,
    /// The form to write
    #[arg(long, value_enum, default_value_t = Emit::C)]
    emit: Emit,
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write nothing; load the BPF programs without running the policy, and show the number of instructions
    /// that the kernel's verifier processed for each
    #[arg(long, conflicts_with_all = ["emit", "output"])]
    verify: bool,
    /// Print JSON (schema hearth.verified/1) instead of text
    #[arg(long, requires = "verify")]
    json: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Emit {
    /// C for runtime/saakm.h, which the simulator runs
    C,
    /// The typed intermediate representation, merged with the base policies, as JSON
    Ir,
    /// The syntax tree of this file without its base policies, as JSON
    Ast,
    /// The BPF object that the kernel runs; needs clang 19 or newer. FILE.hash gets the hash of its inputs
    Bpf,
    /// The BPF object of `hearth run --log`, which runs one handler at a time and logs it
    BpfLog,
}

impl Args {
    /// The policy that it loads, and the variant of its object.
    pub fn loads(&self) -> Option<(&str, Purpose)> {
        self.verify.then_some((&self.source.policy, Purpose::Run))
    }

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
            let Some(path) = self.output.as_deref().filter(|path| !output::is_dash(path)) else {
                return Err(
                    Failure::usage("a BPF object cannot be printed").help("name a file: -o FILE.bpf.o")
                );
            };
            output::check_writable(path)?;
            object::build(&policy::load(&self.source.policy)?, purpose, path)?;
            return Ok(ExitCode::SUCCESS);
        }
        let text = match self.emit {
            Emit::Ast => self.ast()?,
            _ => self.compile()?,
        };
        output::file_or_text(self.output.as_deref(), &text)
    }

    fn show_verified(&self) -> Outcome {
        let verified = verify(&policy::load(&self.source.policy)?)?;
        output::print(self.json, &document(&verified), || text(&verified))
    }

    fn compile(&self) -> Result<String, Failure> {
        let policy = policy::load(&self.source.policy)?;
        Ok(match self.emit {
            Emit::C => policy.c(),
            _ => policy.ir().to_json() + "\n",
        })
    }

    fn ast(&self) -> Result<String, Failure> {
        let text = hearth_policy::read(&self.source.policy)?;
        let parsed = syntax::parse(SourceId::default(), &text);
        policy::syntax_errors(&self.source.policy, &text, &parsed.diagnostics)?;
        let json = serde_json::to_string_pretty(&parsed.policy).map_err(Failure::new)?;
        Ok(json + "\n")
    }
}

fn document(verified: &Verified) -> Value {
    let Verified { policy, kernel, programs } = verified;
    json!({ "schema": "hearth.verified/1", "policy": policy, "kernel": kernel, "programs": programs })
}

fn text(verified: &Verified) -> String {
    let columns: [Column<&Program>; 4] = [
        ("program", |program| program.name.clone()),
        ("processed", |program| program.processed.to_string()),
        ("instructions", |program| program.instructions.to_string()),
        ("native bytes", |program| program.native_bytes.to_string()),
    ];
    format!(
        "{}\nLinux {} accepts {}. Its verifier processes at most 1,000,000 instructions per program.\n",
        table(1, &columns, &verified.programs),
        verified.kernel,
        verified.policy
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    #[test]
    fn programs_are_documented_and_shown() {
        let program = Program { name: "tick".into(), processed: 3456, instructions: 78, native_bytes: 901 };
        let verified = Verified { policy: "p".into(), kernel: "7.3".into(), programs: vec![program] };
        let text = text(&verified);
        assert!(text.contains("tick") && text.contains("Linux 7.3 accepts p."), "{text}");
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
