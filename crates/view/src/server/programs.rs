//! The colours of programs. There are more programs than colours: two that share one do not touch in the picture, where
//! that can be avoided.

use super::viewed::Viewed;
use hearth_base::colour;
use hearth_trace::tiles::{BINS, Field, Groups, TileId, tile_width};
use hearth_trace::{CoreInfo, Kind, Tid};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

/// The coarsest levels, whose tiles are looked at, and the most cells of them.
const LEVELS: u8 = 3;
const MOST_CELLS: usize = 1 << 20;
/// Events that are looked at in each trace; of one with more, as many groups of them as this is.
const MOST_EVENTS: u64 = 1 << 20;

/// The number of the colour of each program; `web/src/model/colour.ts` has the colours. Equal names of several traces have
/// equal numbers.
pub struct Programs(HashMap<String, usize>);

impl Programs {
    /// The same traces in the same order give the same numbers. What cannot be read of a trace counts for nothing here; the
    /// picture of it says so.
    pub fn of(traces: &[Arc<Viewed>]) -> Programs {
        let mut graph = Graph::default();
        for trace in traces {
            graph.add(trace);
        }
        let names = std::mem::take(&mut graph.names);
        let table = colour::table();
        let numbers = graph.coloured(&names, table.hues(), table.programs());
        Programs(names.into_iter().zip(numbers).collect())
    }

    pub fn number(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }
}

/// Programs, and how often two of them touch: on one core, one after the other, or on adjacent cores at one time.
#[derive(Default)]
struct Graph {
    names: Vec<String>,
    known: HashMap<String, usize>,
    /// Whether it is a program of the command, and its number of cells and slices.
    busy: Vec<(bool, u64)>,
    touches: HashMap<(usize, usize), u64>,
}

impl Graph {
    fn add(&mut self, trace: &Viewed) {
        let header = trace.header();
        let mut programs = HashMap::new();
        for thread in &header.threads {
            let program = self.program(&thread.name);
            self.busy[program].0 |= thread.traced;
            programs.insert(thread.tid, program);
        }
        let below = below(&header.cores);
        self.add_cells(trace, &programs, &below);
        self.add_slices(trace, &programs, &below);
    }

    fn program(&mut self, name: &str) -> usize {
        *self.known.entry(name.to_owned()).or_insert_with(|| {
            self.names.push(name.to_owned());
            self.busy.push((false, 0));
            self.names.len() - 1
        })
    }

    fn touch(&mut self, a: Option<&usize>, b: Option<&usize>) {
        if let (Some(&a), Some(&b)) = (a, b)
            && a != b
        {
            *self.touches.entry((a.min(b), a.max(b))).or_default() += 1;
        }
    }

    /// What coarse pictures show: of each cell, the thread that ran longest.
    fn add_cells(&mut self, trace: &Viewed, programs: &HashMap<Tid, usize>, below: &[Option<usize>]) {
        let mut cells = 0;
        for level in (0..=trace.index.coarsest()).rev().take(LEVELS.into()) {
            let tiles = trace.index.end() / tile_width(level) + 1;
            cells = (tiles as usize).saturating_mul(BINS * below.len()).saturating_add(cells);
            if cells > MOST_CELLS {
                return;
            }
            for index in 0..tiles {
                let Ok(Some(tile)) = trace.index.tile(&trace.groups, TileId { level, index }) else { return };
                let threads = tile.field(Field::Thread).as_chunks::<4>().0;
                let program = |cell: usize| programs.get(&Tid::from_le_bytes(*threads.get(cell)?));
                for (core, below) in below.iter().enumerate() {
                    for bin in 0..BINS {
                        let Some(here) = program(core * BINS + bin) else { continue };
                        self.busy[*here].1 += 1;
                        let next = if bin + 1 < BINS { program(core * BINS + bin + 1) } else { None };
                        self.touch(Some(here), next);
                        self.touch(Some(here), below.and_then(|below| program(below * BINS + bin)));
                    }
                }
            }
        }
    }

    /// What fine pictures show: slices.
    fn add_slices(&mut self, trace: &Viewed, programs: &HashMap<Tid, usize>, below: &[Option<usize>]) {
        let mut above = vec![None; below.len()];
        for (core, below) in below.iter().enumerate() {
            below.inspect(|below| above[*below] = Some(core));
        }
        let events: u64 = trace.groups.spans().iter().map(|span| span.events).sum();
        let step = events.div_ceil(MOST_EVENTS).max(1) as usize;
        for group in (0..trace.index.groups()).step_by(step) {
            let (Ok(snapshot), Ok(events)) = (trace.index.snapshot(group), trace.groups.read(group)) else {
                return;
            };
            let mut current: Vec<Tid> = snapshot.cores.iter().map(|core| core.current).collect();
            current.resize(below.len(), 0);
            for event in events.iter() {
                let core = usize::from(event.core);
                let (Kind::Switch { prev, next, .. }, true) = (event.kind, core < below.len()) else {
                    continue;
                };
                current[core] = next;
                let Some(here) = programs.get(&next) else { continue };
                self.busy[*here].1 += 1;
                self.touch(Some(here), programs.get(&prev));
                for beside in [above[core], below[core]].into_iter().flatten() {
                    self.touch(Some(here), programs.get(&current[beside]));
                }
            }
        }
    }

    /// The number of the colour of each program. The busiest of the command choose first. None chooses a colour of a
    /// program that it touches, nor its hue, if there is another one.
    fn coloured(&self, names: &[String], hues: usize, colours: usize) -> Vec<usize> {
        let mut beside: Vec<Vec<(usize, u64)>> = vec![Vec::new(); names.len()];
        for (&(a, b), &count) in &self.touches {
            beside[a].push((b, count));
            beside[b].push((a, count));
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_unstable_by_key(|program| (Reverse(self.busy[*program]), &names[*program]));
        let (mut chosen, mut users) = (vec![None; names.len()], vec![0; colours]);
        for program in order {
            let (mut touched, mut touched_hue) = (vec![0; colours], vec![0; hues]);
            for &(other, count) in &beside[program] {
                if let Some(colour) = chosen[other] {
                    touched[colour] += count;
                    touched_hue[colour % hues] += count;
                }
            }
            let cost =
                |colour: &usize| (touched[*colour], touched_hue[colour % hues], users[*colour], *colour);
            let best = (0..colours).min_by_key(cost).unwrap_or(0);
            users[best] += 1;
            chosen[program] = Some(best);
        }
        chosen.into_iter().map(Option::unwrap_or_default).collect()
    }
}

/// The core in the row below each core, as the viewer orders them.
fn below(cores: &[CoreInfo]) -> Vec<Option<usize>> {
    let mut order: Vec<usize> = (0..cores.len()).collect();
    order.sort_by_key(|core| (cores[*core].socket, cores[*core].llc, cores[*core].physical, *core));
    let mut below = vec![None; cores.len()];
    for pair in order.windows(2) {
        below[pair[0]] = Some(pair[1]);
    }
    below
}

#[cfg(test)]
mod tests {
    use super::*;
    use hearth_trace::{Event, Header, IDLE, Stop, ThreadInfo, Trace};

    /// `programs` run in turns on each of two cores, of which one is two turns ahead.
    fn ring(programs: u32) -> Arc<Viewed> {
        let threads = (1..=programs).map(|tid| ThreadInfo {
            tid,
            name: format!("program {tid}"),
            ..ThreadInfo::default()
        });
        let header = Header {
            cores: vec![CoreInfo::default(); 2],
            duration: u64::from(4 * programs + 1) * 1_000_000,
            threads: threads.collect(),
            ..Header::default()
        };
        let events = (0..4 * programs).flat_map(|turn| {
            let thread = |turn: u32| turn % programs + 1;
            let switch = |core: u16, shift: u32| Event {
                time: u64::from(turn + 1) * 1_000_000,
                core,
                kind: Kind::Switch {
                    prev: if turn == 0 { IDLE } else { thread(turn + shift - 1) },
                    stop: Stop::Preempted,
                    next: thread(turn + shift),
                },
            };
            [switch(0, 0), switch(1, 2)]
        });
        let trace = Trace { events: events.collect(), header };
        Arc::new(Viewed::in_memory("ring".into(), trace).expect("an index"))
    }

    #[test]
    fn programs_that_touch_have_different_colours() {
        let count = 100;
        let colours = colour::table().programs();
        assert!(colours < count as usize, "some have to share");
        let programs = Programs::of(&[ring(count)]);
        let number = |tid: u32| programs.number(&format!("program {}", (tid - 1) % count + 1)).unwrap();
        for tid in 1..=count {
            for other in [tid + 1, tid + 2] {
                assert_ne!(number(tid), number(other), "{tid} and {other}");
            }
        }
        let used: std::collections::BTreeSet<usize> = (1..=count).map(number).collect();
        assert_eq!(used, (0..colours).collect(), "all colours are used");
    }

    #[test]
    fn the_busiest_programs_have_the_first_colours_and_names_of_several_traces_agree() {
        let programs = Programs::of(&[ring(5), ring(1)]);
        let number = |tid: u32| programs.number(&format!("program {tid}"));
        assert_eq!(number(1), Some(0), "it ran in both");
        let mut others: Vec<_> = (2..=5).filter_map(number).collect();
        others.sort_unstable();
        assert_eq!(others, [1, 2, 3, 4]);
        assert_eq!(number(6), None);
    }

    #[test]
    fn rows_are_ordered_by_socket_die_and_physical_core() {
        let at = |socket, physical| CoreInfo { socket, llc: socket, numa: socket, physical };
        let cores = [at(0, 0), at(1, 2), at(0, 1), at(0, 0)];
        assert_eq!(below(&cores), [Some(3), None, Some(1), Some(2)]);
    }
}
