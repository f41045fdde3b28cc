use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::live::{self, Latencies, Plan, Trial, Trials};
use crate::output::{self, Document};
use crate::policy::PolicyArgs;
use crate::provenance::{self, quoted};
use crate::table::{Plain, number, percent};
use hearth_host::Host;
use hearth_scx::object::Purpose;
use hearth_study::ranks::{median, saving, speedup};
use hearth_study::statistics::Change;
use serde::Serialize;

/// Measure whether a policy helps a command, on this machine
///
/// Runs the command under the kernel's scheduler and under the policy in turn, with one run of each before that does not
/// count. Compares time, and the energy of the machine where the processor counts it (RAPL). The command's output is
/// discarded. A last run of each is recorded, for the wake-up latencies. An interval is that of Mann and Whitney's test (95%), which no outlier moves. Needs root and a kernel with
/// sched_ext; without them, nothing is run.
#[derive(clap::Args)]
#[command(mut_arg("policy", |policy| policy.required(false).default_value("ember").index(1)))]
#[command(after_help = examples(&[
    "sudo hearth try -- ./configure",
    "sudo hearth try smove --runs 20 --prepare 'make clean' -- make -j8",
]))]
pub struct Args {
    #[command(flatten)]
    policy: PolicyArgs,

    /// Number of runs under each scheduler
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(4..=100))]
    runs: u16,

    /// Shell command to run before each run, which is not measured: `make clean`
    #[arg(long, value_name = "COMMAND")]
    prepare: Option<String>,

    /// Print JSON (schema hearth.try/1) instead of text
    #[arg(long)]
    json: bool,

    /// The command and its arguments
    #[arg(last = true, required = true, index = 2)]
    command: Vec<String>,
}

#[derive(Serialize)]
struct Content {
    policy: String,
    command: Vec<String>,
    host: String,
    kernel: String,
    machine: String,
    /// What executes the machine's code, if it is known to be software.
    emulator: Option<&'static str>,
    version: &'static str,
    repeat: String,
    /// In the order of the runs.
    trials: Trials,
    time: Compared,
    /// `None`: the energy was not measured.
    energy: Option<Compared>,
    why_no_energy: Option<String>,
    /// `None`: they were not recorded.
    wakeup_latency: Option<Latencies>,
    why_no_latency: Option<String>,
    verdict: String,
    next: String,
}

/// Medians of both, in seconds or joules, and the improvement.
#[derive(Serialize)]
struct Compared {
    kernel: f64,
    policy: f64,
    improvement: f64,
    improvement_ci95: Option<[f64; 2]>,
}

impl Args {
    /// The policy that it loads, and the variant of its object.
    pub fn loads(&self) -> (&str, Purpose) {
        (self.policy.source(), Purpose::Run)
    }

    pub fn run(self) -> Outcome {
        let (policy, params) = self.policy.load()?;
        let emulator = hearth_host::emulator();
        if let Some(emulator) = emulator {
            eprintln!("warning: this machine is {emulator}: the times will say little about a real machine");
        }
        let prepare = self.prepare.as_deref();
        let plan =
            Plan { policy: &policy, params: &params, command: &self.command, prepare, runs: self.runs };
        let (trials, absent) = live::measure(&plan)?;
        let (wakeup_latency, why_no_latency) = match live::latencies(&plan) {
            Ok(latencies) => (Some(latencies), None),
            Err(failure) => (None, Some(failure.message().to_owned())),
        };
        let host = Host::detect()?;
        let time = compared(&trials, |trial| Some(trial.time_s), speedup)
            .ok_or_else(|| Failure::new("no run was measured"))?;
        let spec = self.policy.spec();
        let conclusion = emulator.map_or_else(|| Conclusion::of(&time), Conclusion::Emulated);
        let content = Content {
            command: self.command.clone(),
            host: host.name,
            kernel: host.kernel,
            machine: host.model,
            emulator,
            version: env!("CARGO_PKG_VERSION"),
            repeat: provenance::command(),
            energy: compared(&trials, |trial| Some(trial.energy?.total_uj() as f64 / 1e6), saving),
            why_no_energy: absent.map(|absent| absent.to_string()),
            wakeup_latency,
            why_no_latency,
            verdict: conclusion.sentence(policy.name(), &self.command, &time),
            next: conclusion.next(&spec, &self.command, self.runs),
            policy: spec,
            trials,
            time,
        };
        let document = Document { schema: "hearth.try/1", content: &content };
        output::print(self.json, &document, || text(&content))
    }
}

/// `None` if a run lacks the metric.
fn compared(
    trials: &Trials,
    metric: impl Fn(&Trial) -> Option<f64>,
    improvement: fn(&[f64], &[f64]) -> Change,
) -> Option<Compared> {
    let values = |trials: &[Trial]| trials.iter().map(&metric).collect::<Option<Vec<f64>>>();
    let (kernel, policy) = (values(&trials.kernel)?, values(&trials.policy)?);
    let Change { value, ci95 } = improvement(&kernel, &policy);
    Some(Compared {
        kernel: median(&kernel),
        policy: median(&policy),
        improvement: value,
        improvement_ci95: ci95,
    })
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Conclusion {
    Helps,
    Hurts,
    CannotTell,
    /// Its times are not those of a processor. With the emulator.
    Emulated(&'static str),
}

impl Conclusion {
    fn of(time: &Compared) -> Conclusion {
        match time.improvement_ci95 {
            Some([low, _]) if low > 0.0 => Conclusion::Helps,
            Some([_, high]) if high < 0.0 => Conclusion::Hurts,
            _ => Conclusion::CannotTell,
        }
    }

    fn sentence(self, policy: &str, command: &[String], time: &Compared) -> String {
        let command = quoted(command.iter().cloned());
        let percent = |share: f64| format!("{:.1}", share.abs() * 100.0);
        let between = time.improvement_ci95.map_or_else(String::new, |[low, high]| {
            format!(" ({:+.1} to {:+.1}%)", low * 100.0, high * 100.0)
        });
        match self {
            Conclusion::Helps => {
                format!(
                    "{policy} makes `{command}` {}% faster on this machine{between}.",
                    percent(time.improvement)
                )
            }
            Conclusion::Hurts => {
                format!(
                    "{policy} makes `{command}` {}% slower on this machine{between}.",
                    percent(time.improvement)
                )
            }
            Conclusion::Emulated(emulator) => format!(
                "These runs cannot tell whether {policy} helps `{command}`: this machine is {emulator}, whose times are not a processor's."
            ),
            Conclusion::CannotTell => {
                format!(
                    "These runs cannot tell whether {policy} helps `{command}`: {:+.1}%{between}.",
                    time.improvement * 100.0
                )
            }
        }
    }

    fn next(self, policy: &str, command: &[String], runs: u16) -> String {
        let words = |words: &str| words.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let with_command = |start: &str| {
            quoted(words(start).into_iter().chain(["--".to_owned()]).chain(command.iter().cloned()))
        };
        let more = (runs * 4).min(100);
        match self {
            // The unit is named after a built-in policy without parameters.
            Conclusion::Helps if hearth_policy::names().contains(&policy) => {
                format!("sudo systemctl enable --now hearth@{policy}")
            }
            Conclusion::Helps => format!("sudo hearth run {}", quoted([policy.to_owned()])),
            Conclusion::CannotTell if more > runs => {
                with_command(&format!("sudo hearth try {policy} --runs {more}"))
            }
            Conclusion::Hurts | Conclusion::CannotTell | Conclusion::Emulated(_) => {
                with_command("sudo hearth predict")
            }
        }
    }
}

fn text(content: &Content) -> String {
    let mut table = Plain::new(1);
    table.head(&["median", "kernel", &content.policy, "improvement", "95% interval"]);
    let mut row = |name: &str, compared: &Compared| {
        table.row(&[
            name.to_owned(),
            number(compared.kernel),
            number(compared.policy),
            percent(compared.improvement),
            compared
                .improvement_ci95
                .map_or("-".into(), |[low, high]| format!("{:+.1} to {:+.1}%", low * 100.0, high * 100.0)),
        ]);
    };
    row("time (s)", &content.time);
    if let Some(energy) = &content.energy {
        row("energy (J)", energy);
    }
    if let Some(Latencies { kernel_us, policy_us, .. }) = &content.wakeup_latency {
        let mut row = |name: &str, kernel: f64, policy: f64| {
            let change = if policy > 0.0 { percent(kernel / policy - 1.0) } else { "-".into() };
            table.row(&[name.to_owned(), number(kernel), number(policy), change, "-".into()]);
        };
        row("wake-up p50 (us)", kernel_us.p50, policy_us.p50);
        row("wake-up p99 (us)", kernel_us.p99, policy_us.p99);
        row("wake-up p99.9 (us)", kernel_us.p99_9, policy_us.p99_9);
    }
    let mut text = table.render();
    let runs = content.trials.kernel.len();
    text += &format!(
        "\n{runs} runs each, in turn, on {} ({}), Linux {}; time and wake-ups: kernel / {} − 1, energy: 1 − {} / kernel, by ranks.\n",
        content.host, content.machine, content.kernel, content.policy, content.policy
    );
    if let Some(why) = &content.why_no_energy {
        text += &format!("Energy was not measured: {why}.\n");
    }
    if let Some(Latencies { kernel_us, policy_us, lost_events }) = &content.wakeup_latency {
        let lost = match lost_events {
            0 => String::new(),
            lost => format!("; the recordings lack {lost} events, so that wake-ups are missing"),
        };
        text += &format!(
            "Wake-up latencies: one more run of each, recorded ({} and {} wake-ups{lost}).\n",
            kernel_us.count, policy_us.count
        );
    }
    if let Some(why) = &content.why_no_latency {
        text += &format!("Wake-up latencies were not recorded: {why}.\n");
    }
    text + &format!("\nVerdict: {}\nNext: {}\n", content.verdict, content.next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::Energy;

    fn trials(kernel: &[f64], policy: &[f64], joules: Option<f64>) -> Trials {
        let energy = joules.map(|joules| Energy { package_uj: (joules * 1e6) as u64, ..Energy::default() });
        let of = |times: &[f64]| times.iter().map(|time_s| Trial { time_s: *time_s, energy }).collect();
        Trials { kernel: of(kernel), policy: of(policy) }
    }

    fn time(trials: &Trials) -> Compared {
        compared(trials, |trial| Some(trial.time_s), speedup).unwrap()
    }

    const SLOW: [f64; 5] = [10.0, 10.1, 10.2, 9.9, 10.0];

    #[test]
    fn the_conclusion_follows_the_interval() {
        let fast = SLOW.map(|time| time * 0.8);
        for (kernel, policy, expected) in [
            (SLOW, fast, Conclusion::Helps),
            (fast, SLOW, Conclusion::Hurts),
            (SLOW, SLOW, Conclusion::CannotTell),
            (SLOW, [8.0, 8.1, 8.0, 99.0, 99.0], Conclusion::CannotTell),
        ] {
            assert_eq!(Conclusion::of(&time(&trials(&kernel, &policy, None))), expected);
        }
        // Three runs have no interval at 95%.
        let few = trials(&SLOW[..3], &fast[..3], None);
        assert_eq!(Conclusion::of(&time(&few)), Conclusion::CannotTell);
    }

    #[test]
    fn an_emulator_gives_no_verdict() {
        let time = time(&trials(&SLOW, &SLOW.map(|time| time * 0.8), None));
        let said = Conclusion::Emulated("QEMU's emulator (TCG)").sentence("nest", &["make".into()], &time);
        assert_eq!(
            said,
            "These runs cannot tell whether nest helps `make`: this machine is QEMU's emulator (TCG), whose times are not a processor's."
        );
    }

    #[test]
    fn the_next_command_can_be_pasted() {
        let command = ["make".to_owned(), "-j 8".into()];
        let next = |conclusion: Conclusion, policy, runs| conclusion.next(policy, &command, runs);
        assert_eq!(next(Conclusion::Helps, "nest", 10), "sudo systemctl enable --now hearth@nest");
        assert_eq!(next(Conclusion::Helps, "nest:s_max=1tick", 10), "sudo hearth run 'nest:s_max=1tick'");
        assert_eq!(next(Conclusion::CannotTell, "nest", 10), "sudo hearth try nest --runs 40 -- make '-j 8'");
        assert_eq!(next(Conclusion::Emulated("x"), "nest", 10), "sudo hearth predict -- make '-j 8'");
        assert_eq!(next(Conclusion::CannotTell, "nest", 100), "sudo hearth predict -- make '-j 8'");
    }

    #[test]
    fn energy_needs_all_runs() {
        let energy =
            |trials: &Trials| compared(trials, |trial| Some(trial.energy?.total_uj() as f64 / 1e6), saving);
        assert!(energy(&trials(&SLOW, &SLOW, None)).is_none());
        let same = energy(&trials(&SLOW, &SLOW, Some(5.0))).unwrap();
        assert_eq!((same.kernel, same.improvement), (5.0, 0.0));
    }

    #[test]
    fn the_text_ends_with_verdict_and_command() {
        let trials = trials(&SLOW, &SLOW.map(|time| time * 0.8), None);
        let time = time(&trials);
        let conclusion = Conclusion::of(&time);
        let command = vec!["make".to_owned()];
        let text = text(&Content {
            policy: "nest".into(),
            host: "build7".into(),
            kernel: "6.12.0".into(),
            machine: "Xeon".into(),
            emulator: None,
            version: "1.0",
            repeat: String::new(),
            energy: None,
            why_no_energy: Some("no counters".into()),
            wakeup_latency: None,
            why_no_latency: Some("no tracefs".into()),
            verdict: conclusion.sentence("nest", &command, &time),
            next: conclusion.next("nest", &command, 5),
            command,
            trials,
            time,
        });
        assert!(text.contains("5 runs each, in turn, on build7 (Xeon), Linux 6.12.0"), "{text}");
        assert!(text.contains("Energy was not measured: no counters."), "{text}");
        assert!(text.contains("Wake-up latencies were not recorded: no tracefs."), "{text}");
        let verdict = "Verdict: nest makes `make` 25.0% faster on this machine (";
        assert!(text.contains(verdict), "{text}");
        assert!(text.ends_with("Next: sudo systemctl enable --now hearth@nest\n"), "{text}");
    }
}
