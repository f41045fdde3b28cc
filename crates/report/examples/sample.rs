//! A report made of invented but plausible numbers, to look at while working on the page:
//! `cargo run -p hearth-view --example sample > sample.html`

use hearth_report::page::*;

struct Machine {
    name: &'static str,
    sockets: u32,
    cores: u32,
    min: f32,
    turbo: [f32; 3],
    seconds: f64,
    joules: f64,
    /// Faster than CFS with schedutil, in percent: for each governor, each policy.
    faster: [[f64; 4]; 2],
}

const MACHINES: [Machine; 4] = [
    Machine {
        name: "xeon-e7-8870v4",
        sockets: 4,
        cores: 160,
        min: 1.2,
        turbo: [3.0, 2.8, 2.6],
        seconds: 24.71,
        joules: 6240.0,
        faster: [[0.0, 18.2, 9.4, 33.1], [21.3, 24.6, 23.0, 36.4]],
    },
    Machine {
        name: "xeon-6130-2s",
        sockets: 2,
        cores: 64,
        min: 1.0,
        turbo: [3.7, 3.5, 3.4],
        seconds: 12.43,
        joules: 1130.0,
        faster: [[0.0, 7.9, 2.1, 15.2], [1.9, 8.4, 3.0, 16.1]],
    },
    Machine {
        name: "xeon-6130-4s",
        sockets: 4,
        cores: 128,
        min: 1.0,
        turbo: [3.7, 3.5, 3.4],
        seconds: 12.58,
        joules: 2015.0,
        faster: [[0.0, 7.1, 1.4, 14.7], [0.6, 8.1, 2.4, 15.4]],
    },
    Machine {
        name: "xeon-5218",
        sockets: 2,
        cores: 64,
        min: 1.0,
        turbo: [3.9, 3.7, 3.6],
        seconds: 10.92,
        joules: 968.0,
        faster: [[0.0, -6.3, 1.8, 21.3], [2.2, -5.8, 2.9, 22.0]],
    },
];
const GOVERNORS: [&str; 2] = ["schedutil", "performance"];
const POLICIES: [&str; 4] = ["cfs", "slocal", "smove", "nest"];

/// Numbers from 0 to 1, always the same.
struct Dice(u64);

impl Dice {
    fn roll(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }
}

fn main() {
    let mut dice = Dice(0x9e3779b97f4a7c15);
    let mut report = Report {
        title: "What a warm-core scheduler would do for ./configure".into(),
        subtitle: "hearth predict -- ./configure --disable-nls · recorded on a 2-core host, Linux 6.12 · 14 March 2025".into(),
        workload: [
            ("Recorded", "11.8 s, 48,212 events, none lost"),
            ("Threads", "2,317"),
            ("Work", "21.4 G cycles"),
            ("Causal edges", "6,930"),
            ("Unexplained wake-ups", "12 (0.2%), replayed as delays"),
            ("Runs", "10 for each setting, seeds 1 to 10"),
        ]
        .map(|(a, b)| (a.to_string(), b.to_string()))
        .to_vec(),
        notes: vec![
            "Voltage and uncore power of xeon-5218 are assumptions; see its machine file.".into(),
            "The recording has no frequencies: cycles were taken as time at 2.0 GHz.".into(),
        ],
        provenance: [
            ("recorded", "configure.trace: 11.80 s on build7, Linux 6.12.0, 2025-03-14T09:26:53Z"),
            ("seeds", "1 to 10"),
            ("repeat", "hearth predict configure.trace --runs 10 --report sample.html"),
        ]
        .map(|(a, b)| (a.to_string(), b.to_string()))
        .to_vec(),
        ..Report::default()
    };
    for machine in &MACHINES {
        for (g, governor) in GOVERNORS.iter().enumerate() {
            for (p, policy) in POLICIES.iter().enumerate() {
                let setting = Setting {
                    machine: machine.name.into(),
                    governor: governor.to_string(),
                    policy: policy.to_string(),
                };
                let panel = timeline(machine, g, p, setting.clone(), &mut dice);
                let distribution = distribution(&panel, setting.clone());
                report.rows.push(row(machine, g, p, setting, &panel, &distribution, &mut dice));
                report.distributions.push(distribution);
                report.timelines.push(panel);
            }
        }
    }
    print!("{}", render(&report));
}

fn row(
    m: &Machine,
    g: usize,
    p: usize,
    setting: Setting,
    panel: &TimelinePanel,
    distribution: &Distribution,
    dice: &mut Dice,
) -> Row {
    let faster = m.faster[g][p] / 100.0;
    let half = 0.004 + 0.012 * dice.roll();
    let estimate = |mean: f64, half| Estimate { mean, low: mean - half, high: mean + half };
    let baseline = (g, p) == (0, 0);
    let saving = if p == 3 { faster * 0.55 } else { faster * 0.4 - 0.03 * g as f64 };
    let used: std::collections::BTreeSet<u32> = panel.segments.iter().map(|s| s.row).collect();
    let sockets: std::collections::BTreeSet<u32> =
        used.iter().map(|row| panel.cores[*row as usize].socket).collect();
    let busy: f64 = distribution.residency.iter().map(|(_, ms)| ms).sum();
    Row {
        against: (!baseline).then(|| Setting {
            governor: "schedutil".into(),
            policy: "cfs".into(),
            ..setting.clone()
        }),
        setting,
        runs: 10,
        time_s: m.seconds / (1.0 + faster),
        time_sd: m.seconds * (0.004 + 0.01 * dice.roll()),
        speedup: (!baseline).then(|| estimate(faster, half)),
        energy_j: m.joules * (1.0 - saving),
        energy_saving: (!baseline).then(|| estimate(saving, half * 0.9)),
        underload_per_s: [153.0, 11.0, 96.0, 1.8][p] * (0.9 + 0.2 * dice.roll()),
        overload_core_ms: [0.4, 812.0, 31.0, 6.0][p] * (0.9 + 0.2 * dice.roll()),
        inversion_core_ms: [2210.0, 140.0, 905.0, 38.0][p] * (0.9 + 0.2 * dice.roll()),
        cores_used: used.len() as f64,
        sockets_used: sockets.len() as f64,
        migrations: ([6120.0, 210.0, 3380.0, 388.0][p] * (0.9 + 0.2 * dice.roll())).round(),
        busy_ghz_mean: distribution.residency.iter().map(|(ghz, ms)| ghz * ms).sum::<f64>() / busy,
        wakeup_mean_us: [74.1, 42.2, 83.6, 23.9][p],
    }
}

/// A shell script's forks and waits, one after the other, spread as the policy would.
fn timeline(m: &Machine, g: usize, p: usize, setting: Setting, dice: &mut Dice) -> TimelinePanel {
    let duration_s = m.seconds / (1.0 + m.faster[g][p] / 100.0);
    let per_socket = m.cores / m.sockets;
    let cores = (0..m.cores).map(|i| CoreRow { label: i.to_string(), socket: i / per_socket }).collect();
    let spread = [per_socket / 2 + 2, 3, per_socket / 3, 2][p];
    let floor = if g == 1 { m.turbo[2] - 0.6 } else { m.min };
    let (mut t, mut at, mut heat) = (0.0, 0, vec![0.0f32; m.cores as usize]);
    let (mut segments, mut underload) = (Vec::new(), Vec::new());
    while t < duration_s {
        let long = dice.roll() < 0.02;
        let run = if long { 0.08 + 0.3 * dice.roll() } else { 0.0005 + 0.006 * dice.roll().powi(2) };
        let row = if p == 0 && t > duration_s * 0.62 && t < duration_s * 0.66 { at + per_socket } else { at };
        let warm = &mut heat[row as usize];
        *warm = (*warm + run as f32 * if p == 3 { 120.0 } else { 14.0 }).min(1.0);
        let top = m.turbo[if p == 3 || p == 1 {
            0
        } else if dice.roll() < 0.3 {
            1
        } else {
            2
        }];
        let ghz = floor + (top - floor) * warm.max(if m.min < 1.1 { 0.75 } else { 0.2 });
        let t1 = (t + run).min(duration_s);
        segments.push(Segment { row, t0: t, t1, ghz: (ghz * 10.0).round() / 10.0, busy: 1.0 });
        t = t1 + 0.0002 * dice.roll();
        if !long {
            at = if dice.roll() < 0.08 { 0 } else { (at + 1) % spread };
        }
        heat.iter_mut().for_each(|x| *x *= 0.97);
    }
    let most = [4.0, 0.5, 3.0, 0.12][p];
    for i in 0..(duration_s / 0.004) as u32 {
        let t = f64::from(i) * 0.004;
        let wave = 0.6 + 0.4 * (t * 3.0).sin();
        underload.push((t, (dice.roll().powi(2) * most * wave * 1.9).round()));
    }
    TimelinePanel { setting, duration_s, ghz_range: (m.min, m.turbo[0]), cores, segments, underload }
}

fn distribution(panel: &TimelinePanel, setting: Setting) -> Distribution {
    let mut residency: Vec<(f64, f64)> = Vec::new();
    for s in &panel.segments {
        let (ghz, ms) = (f64::from(s.ghz), (s.t1 - s.t0) * 1e3);
        match residency.iter_mut().find(|(x, _)| *x == ghz) {
            Some((_, sum)) => *sum += ms,
            None => residency.push((ghz, ms)),
        }
    }
    Distribution { setting, residency }
}
