//! verify OBJECT [PROGRAM]: loads each program of an object by itself, and says how long the verifier took; with
//! PROGRAM, shows the end of its log.

use libbpf_rs::{ObjectBuilder, PrintLevel, Result, set_print};
use std::os::fd::{AsFd, AsRawFd};
use std::process::ExitCode;
use std::time::Instant;

/// Lines of the log that are shown.
const SHOWN: usize = 30_000;

fn show(_: PrintLevel, message: String) {
    let lines: Vec<&str> = message.lines().collect();
    for line in &lines[lines.len().saturating_sub(SHOWN)..] {
        eprintln!("    {}", line.chars().take(1500).collect::<String>());
    }
}

/// What the kernel says of the loaded program, or why it is rejected.
fn verify(object: &str, program: &str, debug: bool) -> Result<String> {
    let mut open = ObjectBuilder::default().debug(debug).open_file(object)?;
    for mut other in open.progs_mut() {
        let wanted = other.name() == program;
        other.set_autoload(wanted);
        if wanted && !debug {
            other.set_log_level(4);
        }
    }
    let loaded = match open.load() {
        Ok(loaded) => loaded,
        Err(error) => return Ok(format!("{error:?}")),
    };
    let found = loaded.progs().find(|loaded| loaded.name() == program);
    let info = found.map_or_else(String::new, |program| {
        std::fs::read_to_string(format!("/proc/self/fdinfo/{}", program.as_fd().as_raw_fd()))
            .unwrap_or_default()
    });
    let lines = info.lines().filter(|line| line.contains("verified") || line.contains("memlock"));
    Ok(lines.collect::<Vec<_>>().join(" "))
}

fn run(object: &str, only: Option<&str>) -> Result<()> {
    let names: Vec<String> = {
        let open = ObjectBuilder::default().open_file(object)?;
        open.progs().map(|program| program.name().to_string_lossy().into_owned()).collect()
    };
    for name in names.iter().filter(|name| only.is_none_or(|only| only == *name)) {
        if only.is_some() {
            set_print(Some((PrintLevel::Debug, show)));
        }
        let begun = Instant::now();
        let said = verify(object, name, only.is_some())?;
        println!("{name:22} {:8.1} ms {said}", begun.elapsed().as_secs_f64() * 1e3);
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let Some(object) = arguments.get(1) else {
        eprintln!("verify OBJECT [PROGRAM]");
        return ExitCode::from(2);
    };
    match run(object, arguments.get(2).map(String::as_str)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}
