//! Compact encoding of execution traces, with a limit of size.
//!
//! A panel becomes bytes in base64. Each core starts with the number of its segments. A segment is:
//! the gap since the previous segment and its length, both in steps of the panel's duration and of
//! variable length; its frequency in units of 25 MHz and its busy fraction in units of 1/255, one
//! byte each. A panel that exceeds its share of [`TRACE_BUDGET`] is averaged over columns of time.

use super::{Segment, TimelinePanel};
use base64::{Engine, engine::general_purpose::STANDARD};

/// Limit of the data of all traces on a page, in bytes.
pub const TRACE_BUDGET: usize = 4 << 20;
pub const GHZ_UNIT: f64 = 0.025;
pub const UNDERLOAD_UNIT: f64 = 0.1;
/// Steps of a panel that is not averaged.
const EXACT: u32 = 1 << 20;
const MOST_COLUMNS: u32 = 4096;

/// One panel. `columns` is 0 if it is not averaged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    pub steps: u32,
    pub columns: u32,
    pub rows: String,
    pub underload: String,
}

impl Encoded {
    fn size(&self) -> usize {
        self.rows.len() + self.underload.len()
    }
}

/// Encodes all panels in at most `budget` bytes, unless one column of each is already larger.
/// Large panels get what small ones leave of their share.
pub fn panels(panels: &[TimelinePanel], budget: usize) -> Vec<Encoded> {
    let mut all: Vec<Encoded> = panels.iter().map(exact).collect();
    let mut by_size: Vec<usize> = (0..all.len()).collect();
    by_size.sort_by_key(|&i| all[i].size());
    let mut left = budget;
    for (done, &i) in by_size.iter().enumerate() {
        let share = left / (by_size.len() - done);
        if all[i].size() > share {
            all[i] = fit(&panels[i], share);
        }
        left = left.saturating_sub(all[i].size());
    }
    all
}

/// Averages over nearly as many columns as fit into `share` bytes.
fn fit(panel: &TimelinePanel, share: usize) -> Encoded {
    let rows = rows(panel);
    let (mut fits, mut too_many) = (1, MOST_COLUMNS);
    let mut best = averaged(panel, &rows, fits);
    let mut try_next = MOST_COLUMNS;
    while too_many - fits > fits / 8 {
        let encoded = averaged(panel, &rows, try_next);
        if encoded.size() <= share {
            (best, fits) = (encoded, try_next);
        } else {
            too_many = try_next;
        }
        // Halve until something fits, then bisect.
        try_next = if fits == 1 { too_many / 2 } else { (fits + too_many) / 2 };
        if try_next <= fits {
            break;
        }
    }
    best
}

#[derive(Clone, Copy)]
struct Piece {
    from: u32,
    to: u32,
    ghz: u8,
    busy: u8,
}

impl Piece {
    fn new(from: u32, to: u32, ghz: f64, busy: f64) -> Piece {
        let ghz = if ghz > 0.0 { (ghz / GHZ_UNIT).round().clamp(1.0, 255.0) as u8 } else { 0 };
        Piece { from, to, ghz, busy: (busy * 255.0).round().clamp(1.0, 255.0) as u8 }
    }
}

/// The segments of each row by time, clipped to the panel. Invalid segments are dropped.
fn rows(panel: &TimelinePanel) -> Vec<Vec<Segment>> {
    let mut rows = vec![Vec::new(); panel.cores.len()];
    let end = duration(panel);
    for segment in &panel.segments {
        let Some(row) = rows.get_mut(segment.row as usize) else { continue };
        if segment.t0 < segment.t1 && segment.t0 < end && segment.t1 > 0.0 && segment.busy > 0.0 {
            let (t0, t1) = (segment.t0.max(0.0), segment.t1.min(end));
            row.push(Segment { t0, t1, busy: segment.busy.min(1.0), ..*segment });
        }
    }
    for row in &mut rows {
        row.sort_by(|a, b| a.t0.total_cmp(&b.t0));
    }
    rows
}

pub fn duration(panel: &TimelinePanel) -> f64 {
    if panel.duration_s.is_finite() { panel.duration_s.max(0.0) } else { 0.0 }
}

/// The points of underload inside the panel by time, clamped to at least 0.
fn underload(panel: &TimelinePanel) -> Vec<(f64, f64)> {
    let inside = |t: f64| t >= 0.0 && t < duration(panel);
    let points = panel.underload.iter().filter(|(t, x)| inside(*t) && x.is_finite());
    let mut points: Vec<_> = points.map(|(t, x)| (*t, x.max(0.0))).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

fn exact(panel: &TimelinePanel) -> Encoded {
    let step = |t: f64| (t / duration(panel) * f64::from(EXACT)).round() as u32;
    let pieces = rows(panel).into_iter().map(|row| {
        let mut end = 0;
        let row = row.into_iter().map(|s| {
            let from = step(s.t0).max(end);
            end = step(s.t1).max(from + 1);
            Piece::new(from, end, s.ghz.into(), s.busy.into())
        });
        row.collect()
    });
    let underload = underload(panel).into_iter().map(|(t, x)| (step(t), x)).collect();
    encode(EXACT, 0, pieces.collect(), underload)
}

fn averaged(panel: &TimelinePanel, rows: &[Vec<Segment>], columns: u32) -> Encoded {
    let width = duration(panel) / f64::from(columns);
    let column = |t: f64| ((t / width) as u32).min(columns - 1);
    let pieces = rows.iter().map(|row| {
        // Column, busy seconds, busy seconds at a known frequency, GHz-seconds.
        let mut cells: Vec<(u32, f64, f64, f64)> = Vec::new();
        for s in row {
            let reached = cells.last().map_or(0, |cell| cell.0);
            for at in column(s.t0).max(reached)..=column(s.t1) {
                if cells.last().is_none_or(|cell| cell.0 != at) {
                    cells.push((at, 0.0, 0.0, 0.0));
                }
                let from = s.t0.max(f64::from(at) * width);
                let to = s.t1.min(f64::from(at + 1) * width);
                let busy = (to - from).max(0.0) * f64::from(s.busy);
                let known = if s.ghz > 0.0 { busy } else { 0.0 };
                let cell = cells.last_mut().expect("a cell for this column");
                cell.1 += busy;
                cell.2 += known;
                cell.3 += known * f64::from(s.ghz.max(0.0));
            }
        }
        let used = cells.into_iter().filter(|cell| cell.1 > 0.0);
        used.map(|(at, busy, known, sum)| {
            let ghz = if known > 0.0 { sum / known } else { 0.0 };
            Piece::new(at, at + 1, ghz, busy / width)
        })
        .collect()
    });
    let mut means = vec![0.0; columns as usize];
    let points = underload(panel);
    let ends = points.iter().skip(1).map(|(t, _)| *t).chain([duration(panel)]);
    for ((t, x), end) in points.iter().zip(ends) {
        for (at, mean) in (0u32..).zip(&mut means).take(column(end) as usize + 1).skip(column(*t) as usize) {
            let (from, to) = (t.max(f64::from(at) * width), end.min(f64::from(at + 1) * width));
            *mean += (to - from).max(0.0) / width * x;
        }
    }
    let underload = if points.is_empty() { Vec::new() } else { (0u32..).zip(means).collect() };
    encode(columns, columns, pieces.collect(), underload)
}

fn encode(steps: u32, columns: u32, rows: Vec<Vec<Piece>>, points: Vec<(u32, f64)>) -> Encoded {
    let mut bytes = Vec::new();
    for row in rows {
        let row = joined(row);
        number(&mut bytes, row.len() as u32);
        let mut end = 0;
        for piece in row {
            number(&mut bytes, piece.from - end);
            number(&mut bytes, piece.to - piece.from);
            bytes.extend([piece.ghz, piece.busy]);
            end = piece.to;
        }
    }
    let mut series = Vec::new();
    let mut last = (0, u32::MAX);
    for (at, value) in points {
        let value = (value / UNDERLOAD_UNIT).round().min(1e9) as u32;
        if value != last.1 {
            number(&mut series, at - last.0);
            number(&mut series, value);
            last = (at, value);
        }
    }
    Encoded { steps, columns, rows: STANDARD.encode(bytes), underload: STANDARD.encode(series) }
}

/// Merges adjacent pieces with equal frequency and load.
fn joined(row: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(row.len());
    for piece in row {
        match joined.last_mut() {
            Some(last) if (last.to, last.ghz, last.busy) == (piece.from, piece.ghz, piece.busy) => {
                last.to = piece.to;
            }
            _ => joined.push(piece),
        }
    }
    joined
}

/// LEB128: seven bits a byte, lowest first; the high bit says that more follow.
fn number(bytes: &mut Vec<u8>, mut x: u32) {
    while x >= 0x80 {
        bytes.push(x as u8 | 0x80);
        x >>= 7;
    }
    bytes.push(x as u8);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::CoreRow;

    fn panel(cores: u32, segments: Vec<Segment>) -> TimelinePanel {
        let core = |i: u32| CoreRow { label: i.to_string(), socket: 0 };
        let cores = (0..cores).map(core).collect();
        TimelinePanel { duration_s: 8.0, cores, segments, ..Default::default() }
    }

    fn seg(row: u32, t0: f64, t1: f64, ghz: f32, busy: f32) -> Segment {
        Segment { row, t0, t1, ghz, busy }
    }

    fn averages(panel: &TimelinePanel, columns: u32) -> Encoded {
        averaged(panel, &rows(panel), columns)
    }

    fn bytes(text: &str) -> Vec<u8> {
        STANDARD.decode(text).unwrap()
    }

    #[test]
    fn numbers_are_seven_bits_at_a_time() {
        let mut out = Vec::new();
        for x in [0, 127, 128, 300] {
            number(&mut out, x);
        }
        assert_eq!(out, [0, 127, 0x80, 1, 0xac, 2]);
    }

    #[test]
    fn averages_are_weighted_by_busy_time() {
        // One column: 2 s at 1 GHz and 1 s (2 s half busy) at 4 GHz, of 8 s.
        let p = panel(2, vec![seg(1, 0.0, 2.0, 1.0, 1.0), seg(1, 4.0, 6.0, 4.0, 0.5)]);
        let mean_ghz = (2.0f64 * 1.0 + 1.0 * 4.0) / 3.0;
        let expected = [0, 1, 0, 1, (mean_ghz / 0.025).round() as u8, (255.0f64 * 3.0 / 8.0).round() as u8];
        assert_eq!(bytes(&averages(&p, 1).rows), expected);
    }

    #[test]
    fn underload_is_averaged_over_time() {
        // 4 for one second, none for three, 2 for four.
        let underload = vec![(0.0, 4.0), (1.0, 0.0), (4.0, 2.0), (9.0, 7.0), (2.0, f64::NAN)];
        let p = TimelinePanel { underload, ..panel(1, vec![]) };
        assert_eq!(bytes(&averages(&p, 4).underload), [0, 20, 1, 0, 1, 20]);
        assert_eq!(bytes(&averages(&p, 1).underload), [0, 15]);
        assert!(averages(&panel(1, vec![]), 4).underload.is_empty());
    }

    #[test]
    fn alike_neighbours_join() {
        let p = panel(1, vec![seg(0, 2.0, 4.0, 2.0, 1.0), seg(0, 0.0, 2.0, 2.0, 1.0)]);
        assert_eq!(bytes(&averages(&p, 4).rows), [1, 0, 2, 80, 255]);
    }

    #[test]
    fn nonsense_is_left_out() {
        let p = panel(
            1,
            vec![
                seg(0, f64::NAN, f64::NAN, 2.0, 1.0),
                seg(0, 3.0, 2.0, 2.0, 1.0),
                seg(9, 0.0, 1.0, 2.0, 1.0),
                seg(0, 0.0, 1.0, 2.0, f32::NAN),
                seg(0, 0.0, 1.0, 2.0, 0.0),
                seg(0, 9.0, 10.0, 2.0, 1.0),
            ],
        );
        assert_eq!(bytes(&exact(&p).rows), [0]);
        let unknown = seg(0, 0.0, 1.0, f32::NAN, 1.0);
        let row = bytes(&exact(&panel(1, vec![unknown])).rows);
        assert_eq!(row[row.len() - 2], 0, "an unknown frequency is 0");
        for duration_s in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let p = TimelinePanel { duration_s, ..p.clone() };
            assert_eq!(bytes(&exact(&p).rows), [0]);
            assert_eq!(bytes(&averages(&p, 3).rows), [0]);
        }
    }

    #[test]
    fn large_panels_shrink_to_what_small_ones_leave() {
        let busy = |n: u32| {
            let t = 8.0 / f64::from(n);
            let at = |i: u32| {
                seg(i % 16, f64::from(i) * t, f64::from(i + 1) * t, (i % 90) as f32 * 0.025 + 1.0, 1.0)
            };
            panel(16, (0..n).map(at).collect())
        };
        let many = [busy(40_000), busy(10), busy(60_000)];
        let encoded = panels(&many, 100_000);
        assert_eq!(encoded[1], exact(&many[1]));
        assert!(encoded[0].columns > 0 && encoded[2].columns > 0);
        let total: usize = encoded.iter().map(Encoded::size).sum();
        assert!(total <= 100_000 && total > 50_000, "{total}");
    }
}
