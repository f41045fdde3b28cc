//! The cores on the screen, in as much detail as there is room for.

use super::{Reading, View, colour};
use hearth_scx::statistics::CoreState;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

/// Loads up to an eighth, two eighths, ...
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const NO_LOAD: char = '·';
/// Length of the bar of a core that has a line of its own, and the least width of such a line.
const BAR: usize = 10;
const LINE: usize = 34;
/// Cells of a grid are in groups of so many; a screen that is narrower than a group has smaller ones.
const PAIRS: usize = 8;
const DOTS: usize = 16;

pub struct Map<'a> {
    view: &'a View,
    now: &'a Reading,
    /// By die, then by physical core.
    cores: Vec<Core<'a>>,
    /// Whether the frequency of any core is known.
    frequencies: bool,
    digits: usize,
    has_dies: bool,
}

#[derive(Clone, Copy)]
struct Core<'a> {
    state: &'a CoreState,
    /// Share of the time in which it was not idle.
    load: f64,
    /// The first of the policy's sets that contains it.
    set: Option<usize>,
}

impl Core<'_> {
    fn die(&self) -> (u64, u64, u64) {
        (self.state.socket, self.state.numa, self.state.llc)
    }

    fn activity(&self) -> char {
        match self.state {
            CoreState { spinning: 1, .. } => '~',
            CoreState { running: 1, .. } => '#',
            _ => ' ',
        }
    }

    fn bar(&self) -> char {
        if self.state.spinning == 1 { '~' } else { bar(self.load) }
    }
}

impl<'a> Map<'a> {
    pub fn new(view: &'a View, before: Option<&Reading>, now: &'a Reading) -> Self {
        let before = before.filter(|before| before.statistics.uptime_ns < now.statistics.uptime_ns);
        let passed = now.statistics.uptime_ns - before.map_or(0, |before| before.statistics.uptime_ns);
        let sets = now.info.sets.len().min(64);
        let core = |state: &'a CoreState| {
            let was = before.and_then(|before| before.cores.iter().find(|core| core.cpu == state.cpu));
            let idle = state.idle_ns.saturating_sub(was.map_or(0, |was| was.idle_ns));
            let load = (1.0 - idle as f64 / passed.max(1) as f64).clamp(0.0, 1.0);
            Core { state, load, set: (0..sets).find(|set| state.sets >> set & 1 == 1) }
        };
        let mut cores: Vec<Core> = now.cores.iter().map(core).collect();
        cores.sort_by_key(|core| (core.die(), core.state.physical, core.state.cpu));
        Map {
            view,
            now,
            frequencies: now.cores.iter().any(|core| core.seen_khz > 0),
            digits: now.cores.iter().map(|core| core.cpu.to_string().len()).max().unwrap_or(1),
            has_dies: cores.windows(2).any(|pair| pair[0].die() != pair[1].die()),
            cores,
        }
    }

    /// Lines of this width, at most `room`; and how many cores a cell of them has.
    pub fn lines(&self, width: usize, room: usize) -> (usize, Vec<Line<'static>>) {
        let fits = |lines: &Vec<Line>| lines.len() <= room;
        let by_die: Vec<&[Core]> = self.cores.chunk_by(|a, b| a.die() == b.die()).collect();
        let whole = [self.cores.as_slice()];
        let details: [&dyn Fn() -> Vec<Line<'static>>; 4] = [
            &|| self.cells(&by_die, width),
            &|| self.grid(&by_die, width, PAIRS, &|core| self.pair(core)),
            &|| self.grid(&by_die, width, DOTS, &|core| self.dot(&[*core])),
            &|| self.grid(&whole, width, DOTS, &|core| self.dot(&[*core])),
        ];
        if self.cores.len() <= room && width >= LINE {
            return (1, self.cores.iter().map(|core| self.line(core, width)).collect());
        }
        if let Some(lines) = details.into_iter().map(|lines| lines()).find(fits) {
            return (1, lines);
        }
        let per_line = self.per_line(width, DOTS, 1);
        let folds = self.cores.len().div_ceil((per_line * room).max(1));
        if room == 0 || folds == 0 {
            return (1, Vec::new());
        }
        // A cell shows itself and the cores behind it; a line starts with the number of its first core.
        let firsts: Vec<Core> = self.cores.iter().step_by(folds).copied().collect();
        let mut groups = self.cores.chunks(folds);
        let mut cell = |_: &Core| self.dot(groups.next().unwrap_or_default());
        (folds, self.rows(&firsts, per_line, DOTS, &mut cell))
    }

    /// A core with a line of its own.
    fn line(&self, core: &Core, width: usize) -> Line<'static> {
        let state = core.state;
        let set = core.set.map_or("-", |set| &self.now.info.sets[set].name);
        let names = self.now.info.sets.iter().map(|set| set.name.chars().count()).max().unwrap_or(1).min(10);
        let set: String = set.chars().take(names).collect();
        let full = (core.load * BAR as f64 * 8.0).round() as usize;
        let rest = [full % 8].into_iter().filter(|eighths| *eighths > 0).map(|eighths| EIGHTHS[eighths - 1]);
        let filled: String = std::iter::repeat_n('█', full / 8).chain(rest).collect();
        let ready = if state.ready > 0 { format!("+{}", state.ready) } else { String::new() };
        let mut text = format!("{:>1$} ", state.cpu, self.digits);
        if self.has_dies {
            text += &format!("die {:<2} ", state.llc);
        }
        text += &format!(
            "{set:<names$} {}{ready:<3} {filled:<BAR$} {:>3.0}%",
            core.activity(),
            core.load * 100.0
        );
        if self.frequencies {
            let ghz = format!("{:.1} GHz", state.seen_khz as f64 / 1e6);
            text += &format!(" {:>7}", if state.seen_khz > 0 { &ghz } else { "" });
        }
        let program = self.now.sample.on_core.get(&state.cpu).filter(|_| core.load > 0.0);
        text += &format!("  {}", program.map_or("", |program| program));
        let text: String = text.trim_end().chars().take(width).collect();
        Line::from(Span::styled(text, self.style(core)))
    }

    /// Cells with number, set, activity and load.
    fn cells(&self, dies: &[&[Core]], width: usize) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for die in dies {
            let head = match self.has_dies {
                true => format!("die {:<2} ", die[0].state.llc),
                false => String::new(),
            };
            let cell = |core: &Core| {
                let percent = format!("{:.0}%", core.load * 100.0);
                let text = format!(
                    "{:>1$} {2}{3}",
                    core.state.cpu,
                    self.digits,
                    self.initial(core),
                    core.activity()
                );
                Span::styled(format!("{text}{percent:>4}"), self.style(core))
            };
            let wide = self.digits + 7;
            let per_line = ((width.saturating_sub(head.len()) + 2) / (wide + 2)).max(1);
            for (index, cores) in die.chunks(per_line).enumerate() {
                let head = if index == 0 { head.clone() } else { " ".repeat(head.len()) };
                let mut spans = vec![Span::raw(head)];
                for (index, core) in cores.iter().enumerate() {
                    spans.extend((index > 0).then_some(Span::raw("  ")));
                    spans.push(cell(core));
                }
                lines.push(Line::from(spans));
            }
        }
        lines
    }

    /// A grid of small cells; each line starts with the number of its first core.
    fn grid(
        &self,
        parts: &[&[Core]],
        width: usize,
        group: usize,
        cell: &dyn Fn(&Core) -> Span<'static>,
    ) -> Vec<Line<'static>> {
        let wide = if group == PAIRS { 2 } else { 1 };
        let per_line = self.per_line(width, group, wide);
        parts.iter().flat_map(|part| self.rows(part, per_line, group, &mut |core| cell(core))).collect()
    }

    fn rows(
        &self,
        cores: &[Core],
        per_line: usize,
        group: usize,
        cell: &mut dyn FnMut(&Core) -> Span<'static>,
    ) -> Vec<Line<'static>> {
        let mut lines = Vec::new();
        for row in cores.chunks(per_line) {
            let mut spans = vec![Span::raw(format!("{:>1$}", row[0].state.cpu, self.digits))];
            for (index, core) in row.iter().enumerate() {
                spans.extend((index % group == 0).then_some(Span::raw(" ")));
                spans.push(cell(core));
            }
            lines.push(Line::from(spans));
        }
        lines
    }

    /// Cells in a line: whole groups if one fits.
    fn per_line(&self, width: usize, group: usize, wide: usize) -> usize {
        let room = width.saturating_sub(self.digits);
        match room / (group * wide + 1) {
            0 => (room.saturating_sub(1) / wide).max(1),
            groups => groups * group,
        }
    }

    /// The initial of the core's set if it is in one, and its load.
    fn pair(&self, core: &Core) -> Span<'static> {
        let initial = if core.set.is_some() { self.initial(core) } else { ' ' };
        Span::styled(format!("{initial}{}", core.bar()), self.style(core))
    }

    /// The load of one core, or the mean load of several.
    fn dot(&self, cores: &[Core]) -> Span<'static> {
        let shown = match cores {
            [core] => core.bar(),
            _ => bar(cores.iter().map(|core| core.load).sum::<f64>() / cores.len() as f64),
        };
        let set = cores.iter().find_map(|core| core.set);
        Span::styled(shown.to_string(), colour(self.view, set))
    }

    fn initial(&self, core: &Core) -> char {
        let initial = core.set.and_then(|set| self.now.info.sets[set].name.chars().next());
        initial.unwrap_or('-').to_ascii_uppercase()
    }

    fn style(&self, core: &Core) -> Style {
        let modifier = match core.state {
            CoreState { spinning: 1, .. } | CoreState { running: 1, .. } => Modifier::BOLD,
            _ => Modifier::empty(),
        };
        colour(self.view, core.set).add_modifier(modifier)
    }
}

/// Parts of a character from the left.
const EIGHTHS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

fn bar(load: f64) -> char {
    match (load * 8.0).round() as usize {
        0 => NO_LOAD,
        eighths => BARS[eighths.min(8) - 1],
    }
}
