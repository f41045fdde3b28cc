use crate::arguments::examples;
use crate::cli::definition;
use crate::failure::{Failure, Outcome};
use crate::output;
use clap::Command;
use clap_mangen::Man;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write the manual pages: hearth.1, and one for each verb
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth man ~/.local/share/man/man1",
    "hearth man .                                # then: man ./hearth-record.1",
]))]
pub struct Args {
    /// The folder to write to. It is created if there is none
    #[arg(value_name = "FOLDER")]
    folder: PathBuf,
}

impl Args {
    pub fn run(self) -> Outcome {
        let folder = &self.folder;
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::new(format_args!("cannot create {}: {error}", folder.display())))?;
        let mut hearth = definition().disable_help_subcommand(true);
        hearth.build();
        write(&hearth, folder)?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Writes the page of a command, and those of its verbs.
fn write(command: &Command, folder: &Path) -> Result<(), Failure> {
    for verb in command.get_subcommands().filter(|verb| !verb.is_hide_set()) {
        write(verb, folder)?;
    }
    let man =
        Man::new(command.clone()).source(concat!("hearth ", env!("CARGO_PKG_VERSION"))).manual("Hearth");
    let mut page = Vec::new();
    man.render(&mut page)?;
    // clap has no section for examples, and leaves out the empty date.
    let page = String::from_utf8_lossy(&page)
        .replace(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n.nf\n")
        .replacen(" 1  \"hearth", " 1 \"\" \"hearth", 1);
    output::file(&folder.join(man.get_filename()), page.as_bytes())
}
