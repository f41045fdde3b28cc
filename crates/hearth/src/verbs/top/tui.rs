//! Draws the screen of `hearth top`.

mod map;

use super::programs::{Program, Sample};
use crate::table::number;
use hearth_scx::protocol::Info;
use hearth_scx::statistics::{CoreState, Difference, Statistics};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Clear, Paragraph};
use std::time::Duration;

/// The state of the running policy at one time.
pub struct Reading {
    pub info: Info,
    pub statistics: Statistics,
    pub cores: Vec<CoreState>,
    /// What ran since the reading before.
    pub sample: Sample,
}

/// What the user chose to see.
#[derive(Default)]
pub struct View {
    pub colours: bool,
    /// The explanation of the screen lies over it.
    pub help: bool,
    /// The panel to show where only one fits.
    pub panel: usize,
}

/// Colours of the policy's sets, in order.
const SET_COLOURS: [Color; 4] = [Color::Green, Color::Blue, Color::Magenta, Color::Cyan];
/// Widths of the panels: the rates take what the others leave.
const LEFT: u16 = 44;
const RIGHT: u16 = 30;
/// Rows of the panels that the cores leave free.
const PANELS: u16 = 11;
/// Length of the bar for 100%.
const BAR: usize = 16;

/// Draws a reading. Rates are those since the reading `before`, or since the policy was loaded.
pub fn draw(frame: &mut Frame, view: &View, before: Option<&Reading>, now: &Reading) {
    let area = frame.area();
    let since = Difference::new(before.map(|before| &before.statistics), &now.statistics);
    let map = map::Map::new(view, before, now);
    let below_title = area.height.saturating_sub(1);
    let room = below_title.saturating_sub(PANELS).max(below_title / 2).saturating_sub(2);
    let (folds, cores) = map.lines(usize::from(area.width.saturating_sub(2)), usize::from(room));
    let [head, top, rest] = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(cores.len() as u16 + 2),
        Constraint::Min(0),
    ])
    .areas(area);
    frame.render_widget(title(now), head);
    frame.render_widget(
        Paragraph::new(cores).block(Block::bordered().title(legend(view, &now.info, folds))),
        top,
    );
    panels(frame, view, &since, now, rest);
    if view.help {
        help(frame);
    }
}

/// Draws the panels, or one of them where there is no room for all.
fn panels(frame: &mut Frame, view: &View, since: &Difference, now: &Reading, area: Rect) {
    let reasons = ("placements by reason, per second", reasons(since, now));
    let programs = ("programs", programs(&now.sample));
    let rates = ("per second", rates(since, now));
    if area.width >= LEFT + RIGHT && area.height >= 8 {
        let [left, right] = Layout::horizontal([Constraint::Length(LEFT), Constraint::Min(0)]).areas(area);
        let wanted = (reasons.1.len() as u16 + 2).min(area.height / 2);
        let [above, below] = Layout::vertical([Constraint::Length(wanted), Constraint::Min(0)]).areas(left);
        panel(frame, above, reasons);
        panel(frame, below, programs);
        panel(frame, right, rates);
    } else {
        let mut all = [programs, reasons, rates];
        let (title, lines) = std::mem::take(&mut all[view.panel % 3]);
        panel(frame, area, (title, lines));
    }
}

fn panel(frame: &mut Frame, area: Rect, (title, lines): (&str, Vec<Line>)) {
    frame.render_widget(Paragraph::new(lines).block(Block::bordered().title(format!(" {title} "))), area);
}

fn title(now: &Reading) -> Line<'static> {
    let up = Duration::from_secs(now.statistics.uptime_ns / 1_000_000_000);
    let bold = Style::new().add_modifier(Modifier::BOLD);
    let rest = format!(
        " · ? keys · {} · {} · Linux {} · frequencies: {}",
        now.info.scope,
        humantime::format_duration(up),
        now.info.kernel,
        now.info.frequency
    );
    Line::from(vec![Span::styled(now.info.policy.clone(), bold), Span::raw(rest)])
}

/// ` cores: primary 3, reserve 1 of 5 `
fn legend(view: &View, info: &Info, folds: usize) -> Line<'static> {
    let mut spans =
        vec![Span::raw(if folds > 1 { format!(" {folds} cores a cell") } else { " cores".into() })];
    for (index, set) in info.sets.iter().enumerate() {
        let most = set.most.map_or_else(String::new, |most| format!(" of {most}"));
        let text = format!("{} {} {}{most}", if index == 0 { ":" } else { "," }, set.name, set.members.len());
        spans.push(Span::styled(text, colour(view, Some(index))));
    }
    spans.push(Span::raw(" "));
    Line::from(spans)
}

/// The colour of one of the policy's sets.
fn colour(view: &View, set: Option<usize>) -> Style {
    match set.filter(|_| view.colours) {
        Some(set) => Style::new().fg(SET_COLOURS[set % SET_COLOURS.len()]),
        None => Style::new(),
    }
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

fn programs(sample: &Sample) -> Vec<Line<'static>> {
    let head = Line::from(format!("{:<12} {:>6} {:>7} {:>9}", "program", "cores", "threads", "wait"));
    let line = |program: &Program| {
        let cores = program.usage.run_ns as f64 / 1e9 / sample.seconds.max(1e-9);
        let wait = program.usage.mean_wait_ns().map_or("-".into(), time);
        let name: String = program.name.chars().take(12).collect();
        Line::from(format!("{name:<12} {cores:>6.2} {:>7} {wait:>9}", program.threads))
    };
    std::iter::once(head).chain(sample.programs.iter().map(line)).collect()
}

/// The most telling first: a short screen has no room for the last.
fn rates(since: &Difference, now: &Reading) -> Vec<Line<'static>> {
    let percent = |counter: fn(&Statistics) -> u64| format!("{:.1} %", 100.0 * since.share(counter));
    let rate = |counter: fn(&Statistics) -> u64| number(since.rate(counter));
    let statistics = &now.statistics;
    [
        ("runnable", format!("{} of {}", statistics.runnable, statistics.threads)),
        ("wake-ups", rate(|s| s.wakeups)),
        ("mean wait", now.sample.total.mean_wait_ns().map_or("-".into(), time)),
        ("placement", since.place_mean_ns().map_or("-".into(), time)),
        ("migrations", rate(|s| s.migrations)),
        ("preemptions", rate(|s| s.preemptions)),
        ("steals", rate(|s| s.steals)),
        ("underload", since.underload_per_s().map_or("-".into(), number)),
        ("idle", percent(|s| s.idle_ns)),
        ("kept warm", percent(|s| s.spin_ns)),
        ("switches", rate(|s| s.switches)),
        ("new threads", rate(|s| s.news)),
    ]
    .into_iter()
    .map(|(name, value)| Line::from(format!("{name:<12} {value:>13}")))
    .collect()
}

/// A time with a unit.
fn time(ns: f64) -> String {
    match ns {
        ..1e3 => format!("{ns:.0} ns"),
        ..1e6 => format!("{:.1} µs", ns / 1e3),
        _ => format!("{:.1} ms", ns / 1e6),
    }
}

const HELP: &str = "\
q, Esc   quit; the policy continues
?        show and hide this text
Tab      next panel, where only one fits

cores    number, initial of the set,
         # runs, ~ kept warm by spinning
load     time that a core was not idle;
         · none, ▁ to █ up to all
program  on a core: the one that ran most.
         cores: time on cores per second
wait     mean time from ready to running";

fn help(frame: &mut Frame) {
    let (width, height) = (44, HELP.lines().count() as u16 + 2);
    let area = frame.area();
    let (width, height) = (area.width.min(width), area.height.min(height));
    let area = Rect::new((area.width - width) / 2, (area.height - height) / 2, width, height);
    frame.render_widget(Clear, area);
    frame.render_widget(Paragraph::new(HELP).block(Block::bordered().title(" keys and columns ")), area);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verbs::top::programs::Usage;
    use hearth_scx::protocol::SetInfo;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::buffer::{Buffer, Cell};

    /// A policy on a machine whose dies have `die` cores, of two threads each; `uptime_s` after its load.
    fn reading(cores: u64, die: u64, uptime_s: u64, placements: [u64; 2], wakeups: u64) -> Reading {
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
            sets: vec![set("primary", None, &[0, 1]), set("reserve", Some(5), &[2])],
            ..Info::default()
        };
        let statistics = Statistics {
            policy: "nest".into(),
            uptime_ns: uptime_s * 1_000_000_000,
            cores_online: cores,
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
            socket: cpu / die,
            llc: cpu / die,
            physical: cpu / 2,
            running: u64::from(cpu == 0 || cpu > 1 && cpu.is_multiple_of(7)),
            spinning: u64::from(cpu == 1),
            ready: u64::from(cpu == 0) * 2,
            seen_khz: if cpu < 2 { 3_900_000 } else { 0 },
            // Core 0 is never idle, core 4 half of the time, and so on.
            idle_ns: uptime_s * 1_000_000_000 * (cpu % 9) / 8,
            sets: match cpu {
                0 | 1 => 1,
                2 => 2,
                _ => 0,
            },
            ..CoreState::default()
        };
        let program = |name: &str, threads, run_ns| Program {
            name: name.into(),
            processes: 1,
            threads,
            usage: Usage { run_ns, wait_ns: 61_000, runs: 10 },
        };
        let sample = Sample {
            seconds: 2.0,
            programs: vec![
                program("cc1plus", 12, 2_500_000_000),
                program("a-name-that-is-too-long", 1, 3_000_000),
            ],
            on_core: [(0, "cc1plus".into()), (2, "make".into())].into(),
            total: Usage { run_ns: 1, wait_ns: 12_500_000, runs: 5 },
        };
        Reading { info, statistics, cores: (0..cores).map(core).collect(), sample }
    }

    fn screen(view: &View, (cores, die): (u64, u64), (width, height): (u16, u16)) -> Buffer {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        let before = reading(cores, die, 10, [100, 100], 1000);
        let now = reading(cores, die, 12, [120, 160], 1400);
        terminal.draw(|frame| draw(frame, view, Some(&before), &now)).unwrap();
        terminal.backend().buffer().clone()
    }

    fn text(buffer: &Buffer) -> String {
        let row =
            |cells: &[Cell]| cells.iter().map(Cell::symbol).collect::<String>().trim_end().to_owned() + "\n";
        buffer.content.chunks(usize::from(buffer.area.width).max(1)).map(row).collect()
    }

    const COLOURED: View = View { colours: true, help: false, panel: 0 };

    #[test]
    fn screens() {
        let golden = |name: &str, screen: &Buffer| {
            hearth_tests::golden(format!("crates/hearth/src/verbs/top/screens/{name}.txt"), &text(screen));
        };
        for (name, cores, size) in [
            ("4-80x24", (4, 4), (80, 24)),
            ("16-80x24", (16, 8), (80, 24)),
            ("64-80x24", (64, 16), (80, 24)),
            ("640-80x24", (640, 80), (80, 24)),
            ("4-40x10", (4, 4), (40, 10)),
            ("64-40x10", (64, 64), (40, 10)),
            ("640-40x10", (640, 80), (40, 10)),
            ("64-200x50", (64, 16), (200, 50)),
        ] {
            golden(name, &screen(&COLOURED, cores, size));
        }
        golden("help-80x24", &screen(&View { help: true, ..COLOURED }, (4, 4), (80, 24)));
    }

    #[test]
    fn where_one_panel_fits_a_key_shows_the_next() {
        let shown = |panel| text(&screen(&View { panel, ..COLOURED }, (4, 4), (40, 12)));
        assert!(shown(0).contains("cc1plus") && !shown(0).contains("primary        30.0"));
        assert!(shown(1).contains("primary        30.0"));
        assert!(shown(2).contains("mean wait"));
        assert_eq!(shown(3), shown(0));
    }

    #[test]
    fn without_colours_there_are_none() {
        let coloured = |view: &View| {
            let screen = screen(view, (64, 16), (80, 24));
            screen.content.iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(coloured(&COLOURED));
        assert!(!coloured(&View { colours: false, ..COLOURED }));
    }

    #[test]
    fn no_terminal_is_too_small() {
        for cores in [(0, 1), (1, 1), (4, 4), (640, 80)] {
            for width in (0..30).chain([40, 73, 74, 80, 300]) {
                for height in (0..14).chain([24, 100]) {
                    for help in [false, true] {
                        screen(&View { help, ..COLOURED }, cores, (width, height));
                    }
                }
            }
        }
    }
}
