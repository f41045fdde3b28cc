use crate::arguments::examples;
use crate::cli::definition;
use crate::failure::Outcome;
use crate::output;

/// Print a shell's completions of this command line
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth completions bash > ~/.local/share/bash-completion/completions/hearth",
    "hearth completions fish > ~/.config/fish/completions/hearth.fish",
]))]
pub struct Args {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Args {
    pub fn run(self) -> Outcome {
        let shell = match self.shell {
            Shell::Bash => clap_complete::Shell::Bash,
            Shell::Zsh => clap_complete::Shell::Zsh,
            Shell::Fish => clap_complete::Shell::Fish,
        };
        // In memory first: the generator panics if the reader closes the pipe.
        let mut script = Vec::new();
        clap_complete::generate(shell, &mut definition(), "hearth", &mut script);
        output::raw(&script)
    }
}
