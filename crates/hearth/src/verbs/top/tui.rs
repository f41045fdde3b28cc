//! What `hearth top` draws.

use crate::table::number;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::{CoreState, Statistics};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use std::collections::BTreeMap;
use std::time::Duration;

/// All that was read at one time.
pub struct Reading {
    pub info: Info,
    pub statistics: Statistics,
    pub cores: Vec<CoreState>,
}

/// Colours of the policy's sets, in order.
const SET_COLOURS: [Color; 4] = [Color::Green, Color::Blue, Color::Magenta, Color::Cyan];
/// Columns of the list of reasons: name, rate, share, bar.
const REASONS_WIDTH: u16 = 44;
/// Longest bar.
const BAR: usize = 16;

/// Draws a reading; rates are between it and the one before, or since the policy was loaded.
pub fn draw(frame: &mut Frame, before: Option<&Reading>, now: &Reading) {
    let width = usize::from(frame.area().width.saturating_sub(2)).max(1);
    let cores = topology(now, width);
    let [head, map, rest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(cores.len() as u16 + 2),
        Constraint::Min(0),
    ])
    .areas(frame.area());
    frame.render_widget(title(now), head);
    frame.render_widget(Paragraph::new(cores).block(Block::bordered().title(legend(&now.info))), map);
    let [left, right] =
        Layout::horizontal([Constraint::Length(REASONS_WIDTH), Constraint::Min(0)]).areas(rest);
    let since = Since::new(before.map(|before| &before.statistics), &now.statistics);
    lines(frame, left, " placements by reason, per second ", reasons(&since, &now.info));
    lines(frame, right, " per second ", rates(&since, &now.statistics));
}

fn lines(frame: &mut Frame, area: Rect, title: &'static str, lines: Vec<Line>) {
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(title)), area);
}

fn title(now: &Reading) -> Line<'static> {
    let up = Duration::from_secs(now.statistics.uptime_ns / 1_000_000_000);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let rest = format!(
        " (q quits) · {} · {} · Linux {} · frequencies: {}",
        now.info.scope,
        humantime::format_duration(up),
        now.info.kernel,
        now.info.frequency
    );
    Line::from(vec![Span::styled(now.info.policy.clone(), bold), Span::raw(rest)])
}

/// ` cores: primary 3, reserve 1 of 5 · # busy ~ kept warm `
fn legend(info: &Info) -> Line<'static> {
    let mut spans = vec![Span::raw(" cores")];
    for (index, set) in info.sets.iter().enumerate() {
        let most = set.most.map_or_else(String::new, |most| format!(" of {most}"));
        let text = format!("{} {} {}{most}", if index == 0 { ":" } else { "," }, set.name, set.members.len());
        spans.push(Span::styled(text, SET_COLOURS[index % SET_COLOURS.len()]));
    }
    spans.push(Span::raw(" · # busy, ~ kept warm "));
    Line::from(spans)
}

/// A line or more for each last-level cache, headed by where it is; hyperthreads side by side.
fn topology(now: &Reading, width: usize) -> Vec<Line<'static>> {
    let mut dies: BTreeMap<(u64, u64, u64), BTreeMap<u64, Vec<&CoreState>>> = BTreeMap::new();
    for core in &now.cores {
        let physicals = dies.entry((core.socket, core.numa, core.llc)).or_default();
        physicals.entry(core.physical).or_default().push(core);
    }
    let known = now.cores.iter().any(|core| core.seen_khz > 0);
    let mut lines = Vec::new();
    for ((socket, _, llc), physicals) in dies {
        let head = format!("socket {socket} die {llc:<3} ");
        let room = width.saturating_sub(head.len()).max(1);
        let (mut line, mut used) = (vec![Span::raw(head.clone())], 0);
        for threads in physicals.values() {
            let cells: Vec<Span> = threads.iter().map(|core| cell(core, &now.info, known)).collect();
            let wide = cells.iter().map(Span::width).sum::<usize>() + 1;
            if used > 0 && used + wide > room {
                lines.push(Line::from(std::mem::take(&mut line)));
                line.push(Span::raw(" ".repeat(head.len())));
                used = 0;
            }
            line.extend(cells);
            line.push(Span::raw(" "));
            used += wide;
        }
        lines.push(Line::from(line));
    }
    lines
}

/// The initial of the set that the core is in, what the core does, and its frequency in GHz if any is known.
fn cell(core: &CoreState, info: &Info, frequency: bool) -> Span<'static> {
    let set = (0..info.sets.len().min(64)).find(|set| core.sets >> set & 1 == 1);
    let initial = set.and_then(|set| info.sets[set].name.chars().next()).unwrap_or('·').to_ascii_uppercase();
    let (does, modifier) = match core {
        CoreState { spinning: 1, .. } => ('~', Modifier::BOLD),
        CoreState { running: 1, .. } => ('#', Modifier::REVERSED),
        _ => (' ', Modifier::DIM),
    };
    let ghz = match (frequency, core.seen_khz) {
        (false, _) => String::new(),
        (true, 0) => "   ".into(),
        (true, khz) => format!("{:.1}", khz as f64 / 1e6),
    };
    let colour = set.map_or(Color::Reset, |set| SET_COLOURS[set % SET_COLOURS.len()]);
    Span::styled(format!("{initial}{does}{ghz}"), Style::new().fg(colour).add_modifier(modifier))
}

/// Two readings, and the time between them.
struct Since<'a> {
    before: Option<&'a Statistics>,
    now: &'a Statistics,
    seconds: f64,
}

impl<'a> Since<'a> {
    fn new(before: Option<&'a Statistics>, now: &'a Statistics) -> Self {
        // The policy may have been loaded anew.
        let before = before.filter(|before| before.policy == now.policy && before.uptime_ns < now.uptime_ns);
        let ns = now.uptime_ns - before.map_or(0, |before| before.uptime_ns);
        Since { before, now, seconds: (ns as f64 / 1e9).max(1e-9) }
    }

    fn grown(&self, counter: impl Fn(&Statistics) -> u64) -> u64 {
        counter(self.now).saturating_sub(self.before.map_or(0, counter))
    }

    fn rate(&self, counter: impl Fn(&Statistics) -> u64) -> f64 {
        self.grown(counter) as f64 / self.seconds
    }
}

fn reasons(since: &Since, info: &Info) -> Vec<Line<'static>> {
    let count = |reason: &str| since.grown(|s| s.placements.get(reason).copied().unwrap_or(0));
    let reasons = info.reasons.iter().filter(|reason| since.now.placements.contains_key(*reason));
    let counts: Vec<(&String, u64)> = reasons.map(|reason| (reason, count(reason))).collect();
    let all = counts.iter().map(|(_, count)| count).sum::<u64>().max(1);
    let line = |(reason, count): (&String, u64)| {
        let share = count as f64 / all as f64;
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        Line::from(format!(
            "{reason:<10} {:>8} {:>4.0}% {bar}",
            number(count as f64 / since.seconds),
            share * 100.0
        ))
    };
    counts.into_iter().map(line).collect()
}

fn rates(since: &Since, now: &Statistics) -> Vec<Line<'static>> {
    let core_seconds = since.seconds * 1e9 * now.cores_online.max(1) as f64;
    let percent = |ns: u64| format!("{:.1} %", (100.0 * ns as f64 / core_seconds).min(100.0));
    let intervals = since.grown(|s| s.intervals);
    let underload = since.grown(|s| s.underload) as f64 / (intervals.max(1) as f64 * 0.004);
    let placed = since.grown(|s| s.place_runs);
    let cost = match placed {
        0 => "-".into(),
        _ => format!("{} ns", number(since.grown(|s| s.place_ns) as f64 / placed as f64)),
    };
    [
        ("wake-ups", number(since.rate(|s| s.wakeups))),
        ("new threads", number(since.rate(|s| s.news))),
        ("switches", number(since.rate(|s| s.switches))),
        ("migrations", number(since.rate(|s| s.migrations))),
        ("steals", number(since.rate(|s| s.steals))),
        ("preemptions", number(since.rate(|s| s.preemptions))),
        ("underload", number(underload)),
        ("kept warm", percent(since.grown(|s| s.spin_ns))),
        ("idle", percent(since.grown(|s| s.idle_ns))),
        ("a placement", cost),
        ("runnable", format!("{} of {}", now.runnable, now.threads)),
    ]
    .into_iter()
    .map(|(name, value)| Line::from(format!("{name:<12} {value:>12}")))
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_scx::protocol::SetInfo;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn reading(uptime_s: u64, placements: [u64; 2], wakeups: u64) -> Reading {
        let set = |name: &str, most, members: &[u32]| SetInfo {
            name: name.into(),
            doc: String::new(),
            most,
            members: members.to_vec(),
        };
        let info = Info {
            policy: "nest".into(),
            doc: String::new(),
            version: "0.1.0".into(),
            kernel: "7.3.4".into(),
            machine: String::new(),
            pid: 7,
            since: 0,
            scope: "system".into(),
            frequency: "model:xeon-5218".into(),
            recording: None,
            params: Vec::new(),
            reasons: ["none", "cfs", "primary"].map(String::from).to_vec(),
            sets: vec![set("primary", None, &[0, 1]), set("reserve", Some(5), &[4])],
            topology: Vec::new(),
        };
        let statistics = Statistics {
            policy: "nest".into(),
            uptime_ns: uptime_s * 1_000_000_000,
            cores_online: 8,
            threads: 90,
            runnable: 3,
            placements: [("cfs".into(), placements[0]), ("primary".into(), placements[1])].into(),
            wakeups,
            intervals: uptime_s * 250,
            underload: uptime_s * 10,
            spin_ns: uptime_s * 1_400_000_000,
            idle_ns: uptime_s * 3_500_000_000,
            ..Statistics::default()
        };
        let core = |cpu: u64| CoreState {
            cpu,
            socket: cpu / 4,
            llc: cpu / 4,
            physical: cpu / 2,
            running: u64::from(cpu == 0),
            spinning: u64::from(cpu == 1),
            seen_khz: if cpu < 2 { 3_900_000 } else { 0 },
            sets: match cpu {
                0 | 1 => 1,
                4 => 2,
                _ => 0,
            },
            ..CoreState::default()
        };
        Reading { info, statistics, cores: (0..8).map(core).collect() }
    }

    fn drawn(width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let (before, now) = (reading(10, [100, 100], 1000), reading(12, [120, 160], 1400));
        terminal.draw(|frame| draw(frame, Some(&before), &now)).unwrap();
        let buffer = terminal.backend().buffer();
        let rows = buffer.content.chunks(usize::from(width));
        let row = |cells: &[ratatui::buffer::Cell]| {
            cells.iter().map(|cell| cell.symbol()).collect::<String>().trim_end().to_owned()
        };
        rows.map(row).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn a_screen() {
        let expected = "\
nest (q quits) · system · 12s · Linux 7.3.4 · frequencies: model:xeon-5218
┌ cores: primary 2, reserve 1 of 5 · # busy, ~ kept warm ──────────────────────────┐
│socket 0 die 0   P#3.9P~3.9 ·    ·                                                │
│socket 1 die 1   R    ·     ·    ·                                                │
└──────────────────────────────────────────────────────────────────────────────────┘
┌ placements by reason, per second ────────┐┌ per second ──────────────────────────┐
│cfs            10.0   25% ████            ││wake-ups              200             │
│primary        30.0   75% ████████████    ││new threads          0.00             │
│                                          ││switches             0.00             │
│                                          ││migrations           0.00             │
│                                          ││steals               0.00             │
│                                          ││preemptions          0.00             │
│                                          ││underload            10.0             │
│                                          ││kept warm          17.5 %             │
│                                          ││idle               43.8 %             │
│                                          ││a placement             -             │
│                                          ││runnable          3 of 90             │
└──────────────────────────────────────────┘└──────────────────────────────────────┘";
        assert_eq!(drawn(84, 18).trim_end(), expected);
    }

    #[test]
    fn no_terminal_is_too_small() {
        for (width, height) in [(1, 1), (20, 3), (10, 40), (200, 2)] {
            drawn(width, height);
        }
    }
}
