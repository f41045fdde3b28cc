//! try OBJECT COMMAND: runs a shell command under an object named after its policy, and shows the statistics.

use hearth_scx::statistics::{Statistics, now};
use hearth_scx::{Error, Policy, load};
use std::process::{Command, ExitCode};

fn run(object: &str, command: &str) -> Result<(), Error> {
    let name = object.rsplit('/').next().and_then(|file| file.split('.').next()).unwrap_or(object);
    let Ok(compiled) = hearth_ipanema::compile(&|_: &str| None, name) else {
        return Err(Error::Object(format!("there is no policy {name}")));
    };
    let policy = Policy::new(&compiled.ir);
    let settings = load::Settings { params: policy.initial(), underload: true, ..Default::default() };
    let bytes = std::fs::read(object).map_err(Error::file("read", object))?;
    let mut loaded = load::load(&policy, &bytes, &hearth_kernel::Host::detect(), &settings)?;
    loaded.attach()?;
    let since = now();
    eprintln!("attached");
    let status = Command::new("sh").arg("-c").arg(command).status().map_err(Error::file("start", "sh"))?;
    eprintln!("{status}\n{:#?}", Statistics::read(&loaded.arena, &policy, since, loaded.placing()));
    loaded.exit().map_or(Ok(()), |exit| Err(Error::Ended(Box::new(exit))))
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, object, command] = &arguments[..] else {
        eprintln!("try OBJECT COMMAND");
        return ExitCode::from(2);
    };
    match run(object, command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
