use crate::failure::{Failure, Outcome};
use crate::{output, policy};
use clap::ValueEnum;
use hearth_ipanema::{SourceId, syntax};
use hearth_scx::object::{self, Purpose};
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
