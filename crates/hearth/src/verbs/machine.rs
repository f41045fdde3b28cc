use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::table::Plain;
use crate::verbs::ftl;
use crate::{output, progress};
use clap::Subcommand;
use hearth_host::detect::{self, Measured, Options};
use hearth_host::sysfs::{Files, show_list};
use hearth_host::{Error, turbo};
use hearth_machine::{Control, Machine, Topology};
use std::path::{Path, PathBuf};

/// Describe this machine in a machine file, or show a machine
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth machine detect -o mine.toml",
    "hearth machine show xeon-5218",
]))]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Detect(Detect),
    Show(Show),
}

/// Write a machine file for this machine: topology, frequencies, turbo table, idle states
///
/// A comment gives the source of each value. Values that this machine does not show come from the nearest
/// built-in machine and are marked as assumptions. `--machine` accepts the file.
#[derive(clap::Args)]
struct Detect {
    /// The file to write [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Name of the machine [default: derived from the processor's]
    #[arg(long)]
    name: Option<String>,
    /// Describe these cores only, such as `0-3,8`. Needed if the machine is
    /// irregular
    #[arg(long, value_name = "LIST", value_parser = cores)]
    cores: Option<Cores>,
    /// Measure the turbo frequency by number of busy cores of a socket, and the frequency transition latency.
    /// Takes about ten seconds, during which the machine should be idle
    #[arg(long)]
    measure: bool,
}

/// Show a machine: numbering of cores, frequencies, turbo table
#[derive(clap::Args)]
struct Show {
    /// The name of a built-in machine (`hearth list machines`), or the path of a machine file
    #[arg(value_name = "MACHINE")]
    machine: String,
}

/// A list of cores in one argument. (A `Vec` would be several arguments for clap.)
#[derive(Clone)]
struct Cores(Vec<u32>);

fn cores(list: &str) -> Result<Cores, String> {
    detect::parse_cores(list).map(Cores)
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
        self.output.as_deref().map_or(Ok(()), output::check_writable)?;
        let files = Files::under(Path::new("/"));
        let options =
            Options { name: self.name.clone(), cores: self.cores.clone().map(|Cores(cores)| cores) };
        // A machine that cannot be described fails here, before the measurement.
        let mut detected = detect::detect(&files, &detect::registers, &options, &Measured::default())?;
        if self.measure {
            let measured = measure(&files, &options)?;
            detected = detect::detect(&files, &detect::registers, &options, &measured)?;
        }
        for note in &detected.notes {
            eprintln!("note: {note}");
        }
        output::file_or_text(self.output.as_deref(), &detected.toml)
    }
}

/// Measures with progress bars. A measurement that fails is left out, with a warning.
fn measure(files: &Files, options: &Options) -> Result<Measured, Failure> {
    let cores = detect::cores_of_a_socket(files, options)?;
    let steps = turbo::steps(cores.len()).len();
    let together = match progress::during("turbo", steps, |step| turbo::measure(&cores, step)) {
        // The process may not use this core.
        Err(Error::Pin { core, source }) => {
            eprintln!("warning: core {core} cannot be used: {source}");
            None
        }
        other => other?,
    };
    if together.is_none() {
        eprintln!("warning: turbo was not measured: the cores were busy, or their cycles cannot be counted");
    }
    let options = hearth_host::ftl::Options { core: cores.last().copied(), ..Default::default() };
    let report = ftl::measure(&options).map_err(|failure| failure.report()).ok();
    let warnings = report.iter().flat_map(|report| &report.warnings);
    warnings.for_each(|warning| eprintln!("warning: {warning}"));
    Ok(Measured { turbo: together, ftl: report })
}

impl Show {
    fn run(self) -> Outcome {
        output::text(&show(&Machine::load(&self.machine)?))
    }
}

fn show(machine: &Machine) -> String {
    let (topology, f) = (&machine.topology, &machine.frequency);
    let kinds = kinds(machine);
    let ghz = |khz: u32| format!("{:.2}", f64::from(khz) / 1e6);
    let mut turbo = Plain::new(1);
    turbo.head(&["active cores of a socket", "GHz"]);
    let mut from = 1;
    for limit in &f.turbo.limits {
        let cores = if from == limit.cores { from.to_string() } else { format!("{from}-{}", limit.cores) };
        turbo.row(&[cores, ghz(limit.khz)]);
        from = limit.cores + 1;
    }
    format!(
        "{}: {}\n\n{}\n{kinds}{} to {} GHz without turbo\n\n{}\n{}",
        machine.name,
        machine.model,
        drawing(topology),
        ghz(f.min_khz),
        ghz(f.nominal_khz),
        turbo.render(),
        control(machine),
    )
}

/// The kinds of cores, if there are several, and the cores that reach the highest speed, if not all do.
fn kinds(machine: &Machine) -> String {
    let topology = &machine.topology;
    let mut text = String::new();
    for kind in &topology.shape().kinds {
        let cores: Vec<u32> = (topology.cores.iter())
            .filter(|core| topology.kind(core.id) == Some(kind))
            .map(|core| u32::from(core.id))
            .collect();
        let capacity = cores.iter().map(|&core| machine.capacity(core as u16)).max().unwrap_or(0);
        text += &format!(
            "kind {}: cores {}, {:.2} to {:.2} GHz, {}‰ of the work per cycle, capacity {capacity}\n",
            kind.name,
            show_list(&cores),
            f64::from(kind.min_khz) / 1e6,
            f64::from(kind.max_khz) / 1e6,
            kind.work_permille,
        );
    }
    let preferred: Vec<u32> =
        topology.cores.iter().filter(|core| machine.rank(core.id) == 0).map(|core| core.id.into()).collect();
    if preferred.len() < topology.core_count() {
        text += &format!("preferred cores: {}\n", show_list(&preferred));
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// How requests, the hardware's choice and idle states decide the frequency, a line each.
fn control(machine: &Machine) -> String {
    let f = &machine.frequency;
    let ms = |us: u32| f64::from(us) / 1e3;
    let request = match (f.control, f.requests_khz.is_empty()) {
        (Control::SpeedStep, _) => "SpeedStep: the hardware runs the requested frequency".into(),
        (Control::SpeedShift, _) => {
            "Speed Shift: the hardware chooses, at least the requested frequency".into()
        }
        (Control::PerCore, true) => "each core runs the requested frequency".into(),
        (Control::None, _) => "no governor: the kernel requests no frequency".into(),
        (Control::PerCore, false) => {
            let ghz: Vec<String> =
                f.requests_khz.iter().map(|&khz| format!("{:.1}", f64::from(khz) / 1e6)).collect();
            format!("requests of {} GHz; the hardware boosts above the highest", ghz.join(", "))
        }
    };
    let mut text = format!("{request}\ngranted every {} ms\n", ms(f.window_us));
    if let Some(hwp) = &f.hwp {
        let percent = f64::from(hwp.full_permille) / 10.0;
        text += &format!("highest choice from {percent}% activity, averaged over {} ms\n", ms(hwp.tau_us));
    }
    let counted: Vec<&str> = machine.idle.iter().filter(|s| s.counts).map(|s| s.name.as_str()).collect();
    let idle = if counted.is_empty() { String::new() } else { format!(" or in {}", counted.join(", ")) };
    text += &format!("active cores: busy{idle}, and {} ms after\n", ms(f.turbo.release_us));
    let limits = machine.power.iter().flat_map(|power| &power.limits);
    limits.for_each(|limit| {
        text += &format!("at most {} W, averaged over {} ms\n", limit.watts, ms(limit.tau_us))
    });
    if machine.power.is_none() {
        text += "power unknown: no energy is printed\n";
    }
    text
}

/// Sockets, NUMA nodes and last-level caches with their cores; hyperthreads of a core are joined by `+`.
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
