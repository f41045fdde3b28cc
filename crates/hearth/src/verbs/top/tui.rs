//! Draws the screen of `hearth top`.

use crate::table::number;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::{CoreState, Difference, Statistics};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Paragraph};
use std::collections::BTreeMap;
use std::time::Duration;

/// The state of the running policy at one time.
pub struct Reading {
    pub info: Info,
    pub statistics: Statistics,
    pub cores: Vec<CoreState>,
}

/// Colours of the policy's sets, in order.
const SET_COLOURS: [Color; 4] = [Color::Green, Color::Blue, Color::Magenta, Color::Cyan];
/// Width of the list of reasons: name, rate, share, bar.
const REASONS_WIDTH: u16 = 44;
/// Length of the bar for 100%.
const BAR: usize = 16;

/// Draws a reading. Rates are those since the reading `before`, or since the policy was loaded.
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
    let since = Difference::new(before.map(|before| &before.statistics), &now.statistics);
    lines(frame, left, " placements by reason, per second ", reasons(&since, now));
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

/// The cores, in one or more lines for each last-level cache; hyperthreads are adjacent.
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

/// The initial of the core's set, its activity, and its frequency in GHz if the frequency of any core is
/// known.
fn cell(core: &CoreState, info: &Info, frequency: bool) -> Span<'static> {
    let set = (0..info.sets.len().min(64)).find(|set| core.sets >> set & 1 == 1);
    let initial = set.and_then(|set| info.sets[set].name.chars().next()).unwrap_or('·').to_ascii_uppercase();
    let (activity, modifier) = match core {
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
    Span::styled(format!("{initial}{activity}{ghz}"), Style::new().fg(colour).add_modifier(modifier))
}

fn reasons(since: &Difference, now: &Reading) -> Vec<Line<'static>> {
    let count = |reason: &str| since.grown(|s| s.placements.get(reason).copied().unwrap_or(0));
    let reasons = now.info.reasons.iter().filter(|reason| now.statistics.placements.contains_key(*reason));
    let counts: Vec<(&String, u64)> = reasons.map(|reason| (reason, count(reason))).collect();
    let all = counts.iter().map(|(_, count)| count).sum::<u64>().max(1);
    let line = |(reason, count): (&String, u64)| {
        let share = count as f64 / all as f64;
        let bar = "█".repeat((share * BAR as f64).round() as usize);
        Line::from(format!(
            "{reason:<10} {:>8} {:>4.0}% {bar}",
            number(count as f64 / since.seconds()),
            share * 100.0
        ))
    };
    counts.into_iter().map(line).collect()
}

fn rates(since: &Difference, now: &Statistics) -> Vec<Line<'static>> {
    let percent = |counter: fn(&Statistics) -> u64| format!("{:.1} %", 100.0 * since.share(counter));
    let rate = |counter: fn(&Statistics) -> u64| number(since.rate(counter));
    [
        ("wake-ups", rate(|s| s.wakeups)),
        ("new threads", rate(|s| s.news)),
        ("switches", rate(|s| s.switches)),
        ("migrations", rate(|s| s.migrations)),
        ("steals", rate(|s| s.steals)),
        ("preemptions", rate(|s| s.preemptions)),
        ("underload", number(since.underload_per_s())),
        ("kept warm", percent(|s| s.spin_ns)),
        ("idle", percent(|s| s.idle_ns)),
        ("placement", since.place_mean_ns().map_or("-".into(), |ns| format!("{} ns", number(ns)))),
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
            kernel: "7.3.4".into(),
            scope: "system".into(),
            frequency: "model:xeon-5218".into(),
            reasons: ["none", "cfs", "primary"].map(String::from).to_vec(),
            sets: vec![set("primary", None, &[0, 1]), set("reserve", Some(5), &[4])],
            ..Info::default()
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
│                                          ││placement               -             │
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
