use crate::failure::{Failure, Outcome};
use crate::table::Plain;
use crate::verbs::ftl;
use crate::{output, progress};
use clap::Subcommand;
use hearth_machine::{Machine, Topology};
use hearth_probe::detect::{self, Measured, Options};
use hearth_probe::sysfs::{Files, show_list};
use hearth_probe::{Error, turbo};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write the machine file of this machine, or show a machine
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Detect(Detect),
    Show(Show),
}

/// Write this machine's file: topology, frequencies, turbo table, idle states, each with its source
///
/// What cannot be read is taken from the nearest built-in machine, and marked as assumption. The file is what
/// `--machine` takes.
#[derive(clap::Args)]
struct Detect {
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// The machine's name [default: made from the processor's]
    #[arg(long)]
    name: Option<String>,
    /// Describe only these cores, as in `0-3,8`: machines with cores of two kinds, or irregular ones
    #[arg(long, value_name = "LIST", value_parser = detect::parse_cores)]
    cores: Option<Vec<u32>>,
    /// Measure what can be: turbo by the number of busy cores of a socket, and frequency transition latency.
    /// It takes some ten seconds, during which the machine should do nothing else
    #[arg(long)]
    measure: bool,
}

/// Show a machine: how its cores are numbered, its frequencies and turbo table
#[derive(clap::Args)]
struct Show {
    /// A built-in machine or a machine file
    #[arg(value_name = "MACHINE")]
    machine: String,
}

impl Args {
    pub fn run(self) -> Outcome {
        match self.what {
            What::Detect(args) => args.run(),
            What::Show(args) => args.run(),
        }
    }
}

impl Detect {
    fn run(self) -> Outcome {
        if let Some(path) = &self.output {
            output::check_writable(path)?;
        }
        let files = Files::under(Path::new("/"));
        let options = Options { name: self.name.clone(), cores: self.cores.clone() };
        // First without measuring: what cannot be described need not be measured.
        let mut detected = detect::detect(&files, &detect::registers, &options, &Measured::default())?;
        if self.measure {
            let measured = measure(&files, &options)?;
            detected = detect::detect(&files, &detect::registers, &options, &measured)?;
        }
        for note in &detected.notes {
            eprintln!("note: {note}");
        }
        match &self.output {
            Some(path) => output::file(path, detected.toml.as_bytes())?,
            None => output::text(&detected.toml)?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn measure(files: &Files, options: &Options) -> Result<Measured, Failure> {
    let cores = detect::cores_of_a_socket(files, options)?;
    let bar = progress::bar("turbo", turbo::steps(cores.len()).len());
    let together = turbo::measure(&cores, || bar.inc(1));
    bar.finish_and_clear();
    let together = match together {
        // Cores that this process may not use cannot be measured: the file says what is known without.
        Err(Error::Pin { core, source }) => {
            eprintln!("warning: core {core} cannot be used: {source}");
            None
        }
        other => other?,
    };
    if together.is_none() {
        eprintln!("warning: turbo is not measured: the cores were busy, or their cycles cannot be counted");
    }
    let options = hearth_probe::ftl::Options { core: cores.last().copied(), ..Default::default() };
    let report = match ftl::measure(&options) {
        Ok(report) => {
            report.warnings.iter().for_each(|warning| eprintln!("warning: {warning}"));
            Some(report)
        }
        Err(failure) => {
            failure.report();
            None
        }
    };
    Ok(Measured { turbo: together, ftl: report })
}

impl Show {
    fn run(self) -> Outcome {
        output::text(&show(&Machine::load(&self.machine)?))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn show(machine: &Machine) -> String {
    let (topology, f) = (&machine.topology, &machine.frequency);
    let ghz = |khz: u32| format!("{:.2}", f64::from(khz) / 1e6);
    let mut turbo = Plain::new(1);
    turbo.head(&["active cores of a socket", "GHz"]);
    let mut from = 1;
    for limit in &f.turbo.limits {
        let cores = if from == limit.cores { from.to_string() } else { format!("{from}-{}", limit.cores) };
        turbo.row(&[cores, ghz(limit.khz)]);
        from = limit.cores + 1;
    }
    let ramp = &f.ramp;
    format!(
        "{}: {}\n\n{}\n{} to {} GHz without turbo\n\n{}\ncold to warm in {} ms; back in {} ms, settled after {} ms\n",
        machine.name,
        machine.model,
        drawing(topology),
        ghz(f.min_khz),
        ghz(f.nominal_khz),
        turbo.render(),
        f64::from(ramp.up_us) / 1e3,
        f64::from(ramp.down_us) / 1e3,
        f64::from(ramp.settle_us) / 1e3,
    )
}

/// Sockets, nodes and caches, each with its cores; hyperthreads of a core stand together.
fn drawing(topology: &Topology) -> String {
    let mut text = String::new();
    let cores = |cores: &[u16]| show_list(&cores.iter().map(|&core| u32::from(core)).collect::<Vec<_>>());
    for socket in 0..topology.socket_count() as u16 {
        text += &format!("socket {socket}\n");
        let (mut node, mut cache) = (None, None);
        for &first in topology.cores_of_socket(socket) {
            let core = &topology.cores[usize::from(first)];
            if core.thread != 0 || cache == Some(core.llc) {
                continue;
            }
            if topology.numa_count() > topology.socket_count() && node != Some(core.numa) {
                text += &format!("  node {}\n", core.numa);
            }
            (node, cache) = (Some(core.numa), Some(core.llc));
            let below = topology.same_llc(first);
            let pairs: Vec<String> = (below.iter())
                .filter(|&&core| topology.cores[usize::from(core)].thread == 0)
                .map(|&core| cores(topology.siblings(core)).replace(',', "+"))
                .collect();
            text += &format!("    cache {}: {}\n", core.llc, pairs.join(" "));
        }
    }
    text
}
