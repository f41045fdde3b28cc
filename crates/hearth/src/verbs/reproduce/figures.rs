//! Figures of the papers, from the settings that the claims simulate. A setting that no claim needs is missing.

use super::words;
use hearth_report::claims::{Bar, Bars, Curve, Drawing, Figure};
use hearth_study::reproduction::{Reproduction, SettingResult};
use hearth_study::statistics::{Change, saving, speedup};

/// A policy under a governor.
type Side = (&'static str, &'static str);

/// A figure of changes against a baseline: a group for each workload and machine, a bar for each side.
struct Comparison {
    title: &'static str,
    caption: &'static str,
    /// Names and specifications of workloads.
    workloads: &'static [(&'static str, &'static str)],
    machines: &'static [&'static str],
    baseline: Side,
    sides: &'static [Side],
    change: fn(&SettingResult, &SettingResult) -> Change,
}

const NEST: [&str; 4] = ["xeon-6130-2s", "xeon-6130-4s", "xeon-5218", "xeon-e7-8870v4"];
/// The E7 with Linux 5.4, as crates/study/claims/fewer-cores.toml has it.
const E7_OF_5_4: &str = "xeon-e7-8870v4:frequency.schedutil.invariant_khz=0";
/// The recorded configuration scripts.
const SCRIPTS: [(&str, &str); 5] = [
    ("Erlang, ", "configure-erlang-16"),
    ("FFmpeg, ", "configure-ffmpeg-16"),
    ("GDB, ", "configure-gdb-16"),
    ("ImageMagick, ", "configure-imagemagick-16"),
    ("PHP, ", "configure-php-16"),
];
const CONFIGURE: [Side; 4] =
    [("cfs", "performance"), ("nest", "schedutil"), ("nest", "performance"), ("smove", "schedutil")];

const COMPARISONS: [Comparison; 7] = [
    Comparison {
        title: "Nest, figure 5.",
        caption: "Configuration: speed-up over CFS with schedutil (recordings of five of the eleven packages).",
        workloads: &SCRIPTS,
        machines: &NEST,
        baseline: ("cfs", "schedutil"),
        sides: &CONFIGURE,
        change: |baseline, side| speedup(&baseline.time, &side.time),
    },
    Comparison {
        title: "Nest, figure 7.",
        caption: "Configuration: reduction of the CPU energy against CFS with schedutil.",
        workloads: &SCRIPTS,
        machines: &NEST,
        baseline: ("cfs", "schedutil"),
        sides: &CONFIGURE,
        change: |baseline, side| saving(&baseline.energy, &side.energy),
    },
    Comparison {
        title: "Nest, figure 10.",
        caption: "DaCapo: speed-up over CFS with schedutil; `server` in place of h2, `jvm` of applications of one task.",
        workloads: &[("h2, ", "server"), ("one task, ", "jvm")],
        machines: &NEST,
        baseline: ("cfs", "schedutil"),
        sides: &[("cfs", "performance"), ("nest", "schedutil"), ("nest", "performance")],
        change: |baseline, side| speedup(&baseline.time, &side.time),
    },
    Comparison {
        title: "Nest, figure 12.",
        caption: "NAS, one thread per core: speed-up over CFS with schedutil; `barrier`, and `wavefront` in place of LU.",
        workloads: &[
            ("NAS, ", "barrier:threads=64"),
            ("NAS, ", "barrier:threads=128"),
            ("NAS, ", "barrier:threads=160,spin=1400"),
            ("LU, ", "wavefront:threads=128"),
        ],
        machines: &NEST,
        baseline: ("cfs", "schedutil"),
        sides: &[("nest", "schedutil"), ("nest", "performance")],
        change: |baseline, side| speedup(&baseline.time, &side.time),
    },
    Comparison {
        title: "Nest, figure 13.",
        caption: "Phoronix, the text's examples: speed-up over CFS with schedutil.",
        workloads: &[
            ("zstd 7, ", "zstd-8-long-16"),
            ("zstd 10, ", "zstd-3-long-16"),
            ("rodinia 5, ", "barrier:threads=36"),
            ("rodinia 5, ", "barrier:threads=36,spin=1400"),
            ("libavif 1, ", "bursts:threads=28,flight=28,burst=20000,blocks=1120"),
        ],
        machines: &NEST,
        baseline: ("cfs", "schedutil"),
        sides: &[("cfs", "performance"), ("nest", "schedutil")],
        change: |baseline, side| speedup(&baseline.time, &side.time),
    },
    Comparison {
        title: "Fewer Cores, figure 4a.",
        caption: "Time saved against CFS with powersave on the E7; examples of the 60 applications.",
        workloads: &[
            ("perl-benchmark-2, ", "perl-startup-16"),
            ("kbuild-sched, ", "kbuild:files=30,jobs=320"),
            ("hackbench, ", "hackbench:groups=250,fds=20,loops=20"),
        ],
        machines: &[E7_OF_5_4],
        baseline: ("cfs-5-4", "powersave"),
        sides: &[("slocal", "powersave"), ("smove", "powersave")],
        change: |baseline, side| saving(&baseline.time, &side.time),
    },
    Comparison {
        title: "Fewer Cores, figure 4a, worst cases of S_local.",
        caption: "The same for the applications whose threads keep blocking and waking.",
        workloads: &[("mkl-dnn, ", "mkl:threads=160"), ("LU, ", "wavefront:threads=160,spin=1400")],
        machines: &[E7_OF_5_4],
        baseline: ("cfs-5-4", "powersave"),
        sides: &[("slocal", "powersave"), ("smove", "powersave")],
        change: |baseline, side| saving(&baseline.time, &side.time),
    },
];

/// All figures that have data.
pub fn all(reproduction: &Reproduction) -> Vec<Figure> {
    let bars = COMPARISONS.iter().filter_map(|comparison| comparison.draw(reproduction));
    bars.chain(transition(reproduction)).collect()
}

/// The setting without parameters, if it was simulated.
fn setting<'r, 'b>(
    reproduction: &'r Reproduction<'b>,
    workload: &str,
    machine: &str,
    (policy, governor): Side,
) -> Option<&'r SettingResult<'b>> {
    reproduction.settings.iter().find(|setting| {
        let side = &setting.side;
        (setting.workload, setting.machine) == (workload, machine)
            && (side.policy, side.governor, side.params.len()) == (policy, governor, 0)
    })
}

impl Comparison {
    fn draw(&self, reproduction: &Reproduction) -> Option<Figure> {
        let group = |name: &str, workload: &str, machine: &str| {
            let baseline = setting(reproduction, workload, machine, self.baseline)?;
            let bar = |side: &Side| {
                let change = (self.change)(baseline, setting(reproduction, workload, machine, *side)?);
                Some(Bar { value: change.value, ci95: change.ci95 })
            };
            let bars: Vec<Option<Bar>> = self.sides.iter().map(bar).collect();
            bars.iter()
                .any(Option::is_some)
                .then(|| (format!("{name}{}", words::base(machine).trim_start_matches("xeon-")), bars))
        };
        let of_workload = |(name, workload): &(&str, &str)| {
            self.machines.iter().filter_map(|machine| group(name, workload, machine)).collect::<Vec<_>>()
        };
        let groups: Vec<_> = self.workloads.iter().flat_map(of_workload).collect();
        let series = self.sides.iter().map(|(policy, governor)| format!("{policy} {governor}")).collect();
        (!groups.is_empty()).then(|| Figure {
            title: self.title.into(),
            caption: self.caption.into(),
            drawing: Drawing::Bars(Bars { series, groups }),
        })
    }
}

/// Figure 3 of Fewer Cores: the frequency of a core around a busy loop.
fn transition(reproduction: &Reproduction) -> Option<Figure> {
    let setting = setting(reproduction, "busy-loop", E7_OF_5_4, ("cfs", "powersave"))?;
    let ramp = setting.ramp.as_ref()?;
    Some(Figure {
        title: "Fewer Cores, figure 3.".into(),
        caption: "The frequency of a core of the E7 around a busy loop, powersave.".into(),
        drawing: Drawing::Curve(Curve {
            steps: ramp.steps.clone(),
            unit: "GHz".into(),
            marks: vec![(0.0, "start".into()), (ramp.stop_s, "end".into())],
            end: setting.time.mean,
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_study::claims::Book;

    /// A figure finds its settings by name.
    #[test]
    fn figures_show_what_claims_simulate() {
        let book = Book::built_in().unwrap();
        let known: Vec<&str> = book
            .claims
            .iter()
            .flat_map(|claim| &claim.quantity.workloads)
            .map(|&w| book.workloads.name(w))
            .collect();
        for comparison in &COMPARISONS {
            for (_, workload) in comparison.workloads {
                assert!(known.contains(workload), "{} {workload}", comparison.title);
            }
        }
    }
}
