//! Records a command, checks the trace, prints its metrics as JSON, and stores it.
//!
//! `METHOD=tracefs cargo run --release -p hearth-recorder --example record -- OUT.trace COMMAND [ARGUMENT…]`

use hearth_recorder::{MethodChoice, Options, record};
use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let out = arguments.next().ok_or("usage: record OUT.trace COMMAND [ARGUMENT…]")?;
    let command: Vec<String> = arguments.collect();
    let method = match std::env::var("METHOD").as_deref() {
        Ok("bpf") => MethodChoice::Bpf,
        Ok("tracefs") => MethodChoice::Tracefs,
        _ => MethodChoice::Auto,
    };
    let recording = record(&command, Options { method, ..Options::default() })?;
    let trace = &recording.trace;
    let violations = trace.check();
    for violation in violations.iter().take(10) {
        eprintln!("{violation}");
    }
    eprintln!("{}", trace.header.source);
    let (lost, missing) = (&trace.header.lost, recording.inferred);
    eprintln!(
        "{} violations, lost {lost:?} ({missing} switches missing), {}",
        violations.len(),
        recording.status
    );
    println!("{}", serde_json::to_string_pretty(&trace.summary())?);
    trace.write(out)?;
    Ok(())
}
