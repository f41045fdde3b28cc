//! Runs the crate without the command line: `convert export TRACE FILE`, `convert import FILE TRACE`. Prints the counts of
//! events by kind, and the run time of each thread.

use hearth_formats::{ExportFormat, export, import};
use hearth_trace::{Kind, Reader};
use std::collections::BTreeMap;
use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let start = std::time::Instant::now();
    match arguments[..] {
        ["export", trace, file] => {
            let format = ExportFormat::of(Path::new(file)).ok_or("which format?")?;
            let exported = export(Path::new(trace), Path::new(file), format)?;
            println!("{} events, {} bytes, {:?}", exported.events, exported.bytes, start.elapsed());
            exported.notes.iter().for_each(|note| println!("note: {note}"));
        }
        ["import", file, trace] => {
            let imported = import(Path::new(file), None, Path::new(trace))?;
            println!("{:?}: {} events, {:?}", imported.format, imported.events, start.elapsed());
            imported.notes.iter().for_each(|note| println!("note: {note}"));
        }
        ["count", trace] => count(Path::new(trace))?,
        _ => return Err("convert export TRACE FILE | import FILE TRACE | count TRACE".into()),
    }
    Ok(())
}

fn count(trace: &Path) -> Result<(), hearth_trace::Error> {
    let reader = Reader::open(trace)?;
    let names: BTreeMap<u32, String> =
        reader.header().threads.iter().map(|thread| (thread.tid, thread.name.clone())).collect();
    let mut running = vec![(0, 0); reader.header().cores.len()];
    let (mut kinds, mut times) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    for event in reader {
        let event = event?;
        let name = format!("{:?}", event.kind);
        *kinds.entry(name.split(' ').next().unwrap_or_default().to_owned()).or_default() += 1;
        if let Kind::Switch { next, .. } = event.kind {
            let (thread, since) =
                std::mem::replace(&mut running[usize::from(event.core)], (next, event.time));
            let name = names.get(&thread).cloned().unwrap_or_else(|| "idle".into());
            *times.entry(name).or_default() += event.time - since;
        }
    }
    println!("{kinds:#?}\n{times:#?}");
    Ok(())
}
