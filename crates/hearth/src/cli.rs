//! The command line: its verbs. Each verb's flags stand in its own module.

use crate::failure::{Failure, Outcome};
use crate::verbs::{
    build, check, conform, exec, export, fmt, ftl, import, list, machine, modelcheck, mutate, play, predict,
    prove, query, record, report, reproduce, run, set, sim, status, stop, top, view, vm,
};
use clap::{Parser, Subcommand};

/// Keeps work on warm cores: write a scheduler once; predict, on any machine, what it would do for a workload.
#[derive(Parser)]
#[command(name = "hearth", version, max_term_width = 100, arg_required_else_help = true)]
pub struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    Record(record::Args),
    Report(report::Args),
    Export(export::Args),
    Import(import::Args),
    Query(query::Args),
    View(view::Args),
    Predict(predict::Args),
    Sim(sim::Args),
    Play(play::Args),
    Run(run::Args),
    Exec(exec::Args),
    Status(status::Args),
    Top(top::Args),
    Set(set::Args),
    Stop(stop::Args),
    Vm(Box<vm::Args>),
    Reproduce(reproduce::Args),
    Check(check::Args),
    Prove(prove::Args),
    Modelcheck(modelcheck::Args),
    Mutate(mutate::Args),
    Conform(conform::Args),
    Build(build::Args),
    Fmt(fmt::Args),
    Machine(machine::Args),
    Ftl(ftl::Args),
    List(list::Args),

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
            Verb::Record(args) => args.run(),
            Verb::Report(args) => args.run(),
            Verb::Export(args) => args.run(),
            Verb::Import(args) => args.run(),
            Verb::Query(args) => args.run(),
            Verb::View(args) => args.run(),
            Verb::Predict(args) => args.run(),
            Verb::Sim(args) => args.run(),
            Verb::Play(args) => args.run(),
            Verb::Run(args) => args.run(),
            Verb::Exec(args) => args.run(),
            Verb::Status(args) => args.run(),
            Verb::Top(args) => args.run(),
            Verb::Set(args) => args.run(),
            Verb::Stop(args) => args.run(),
            Verb::Vm(args) => args.run(),
            Verb::Reproduce(args) => args.run(),
            Verb::Check(args) => args.run(),
            Verb::Prove(args) => args.run(),
            Verb::Modelcheck(args) => args.run(),
            Verb::Mutate(args) => args.run(),
            Verb::Conform(args) => args.run(),
            Verb::Build(args) => args.run(),
            Verb::Fmt(args) => args.run(),
            Verb::Machine(args) => args.run(),
            Verb::Ftl(args) => args.run(),
            Verb::List(args) => args.run(),
            Verb::Explore { .. } => Err(Failure::usage("`hearth explore` is now `hearth modelcheck`")
                .help("the arguments are the same: hearth modelcheck POLICY")),
        }
    }
}
