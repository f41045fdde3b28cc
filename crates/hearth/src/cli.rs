//! The command line and its verbs. The flags of a verb are in the verb's module.

use crate::failure::{Failure, Outcome};
use clap::{Parser, Subcommand};

/// Write a scheduling policy once; predict its effect on any machine, prove it, and run it in the Linux
/// kernel
#[derive(Parser)]
#[command(name = "hearth", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

macro_rules! verbs {
    ($($verb:ident: $module:ident),* $(,)?) => {
        #[derive(Subcommand)]
        enum Verb {
            $($verb(Box<crate::verbs::$module::Args>),)*

            /// The former name of `modelcheck`
            #[command(hide = true, disable_help_flag = true)]
            Explore {
                #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
                _arguments: Vec<String>,
            },
        }

        impl Cli {
            pub fn run(self) -> Outcome {
                match self.verb {
                    $(Verb::$verb(args) => args.run(),)*
                    Verb::Explore { .. } => Err(Failure::usage("`hearth explore` is now `hearth modelcheck`")
                        .help("the arguments are the same: hearth modelcheck POLICY")),
                }
            }
        }
    };
}

verbs! {
    Record: record,
    Report: report,
    Export: export,
    Import: import,
    Query: query,
    View: view,
    Predict: predict,
    Tune: tune,
    Extract: extract,
    Sim: sim,
    Overlay: overlay,
    Play: play,
    Run: run,
    Exec: exec,
    Try: try_policy,
    Status: status,
    Top: top,
    Set: set,
    Stop: stop,
    Vm: vm,
    Reproduce: reproduce,
    Study: study,
    Check: check,
    Prove: prove,
    Features: features,
    Modelcheck: modelcheck,
    Mutate: mutate,
    Conform: conform,
    Build: build,
    Fmt: fmt,
    Machine: machine,
    Ftl: ftl,
    List: list,
}
