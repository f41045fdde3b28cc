//! Compares tiles with their definitions, on random consistent traces.

use super::plan::Plan;
use super::reference::Reference;
use super::*;
use crate::event::*;
use crate::metrics::State;
use crate::testing::{self, Step, any_khz, any_trace};
use crate::{Metrics, Trace};
use proptest::collection::vec;
use proptest::prelude::*;
use std::convert::Infallible;

const CORES: u16 = 3;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let pass = prop_oneof![0..3u64, 0..3_000u64, Just(1024), Just(262_144), 0..600_000u64, 0..9_000_000u64];
    let say = prop_oneof![
        2 => any_khz().prop_map(|khz| Kind::Frequency { khz }),
        1 => any_khz().prop_map(|khz| Kind::Tick { khz: khz.max(100_000) }),
        1 => any::<bool>().prop_map(|on| Kind::Spin { on }),
        2 => (0..3u8, any::<bool>()).prop_map(|(set, member)| Kind::Set { set, member }),
        1 => (0..CORES, 0..4u16).prop_map(|(target, reason)| Kind::Place { thread: 1, target, reason, seen_khz: 0 }),
    ];
    testing::steps(CORES, pass, say)
}

fn play(steps: &[Step]) -> Trace {
    let header = Header {
        cores: vec![CoreInfo::default(); usize::from(CORES)],
        sets: ["primary", "reserve", "other"].map(String::from).to_vec(),
        reasons: ["a", "b", "c", "d"].map(String::from).to_vec(),
        ..Header::default()
    };
    testing::play(header, steps)
}

/// Index of a trace with groups of `size` events, in which tiles with at least `threshold` events
/// are stored.
struct Built {
    end: Time,
    snapshots: Vec<Snapshot>,
    tiles: Vec<(TileId, Tile)>,
    underload: UnderloadSeries,
}

fn spans(trace: &Trace, size: usize) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for group in trace.events.chunks(size) {
        let latest = group.iter().map(|event| event.time).max().unwrap_or(0);
        spans.push(Span::new(group[0].time, latest, group.len() as u64, spans.last()));
    }
    spans
}

fn build(trace: &Trace, size: usize, threshold: u64) -> Built {
    let spans = spans(trace, size);
    let end = spans.last().map_or(0, |span| span.end).max(trace.header.duration.min(tile::LAST_TIME));
    let plan = Plan::new(&spans, trace.header.cores.len(), end).with_threshold(threshold);
    let mut builder = TileBuilder::with_plan(&trace.header, &plan, end);
    let snapshots = trace.events.chunks(size).map(|group| builder.group(group)).collect();
    let underload = builder.finish();
    let mut tiles = builder.take_tiles();
    tiles.iter_mut().for_each(|(id, tile)| underload.fill(*id, end, tile));
    Built { end, snapshots, tiles, underload }
}

impl Built {
    fn demand(&self, trace: &Trace, size: usize, id: TileId) -> Option<Tile> {
        let begin = id.begin()?;
        let first = self.snapshots.partition_point(|snapshot| snapshot.time < begin).saturating_sub(1);
        let start = Snapshot::start(trace.header.cores.len());
        let snapshot = self.snapshots.get(first).unwrap_or(&start);
        let groups = trace.events.chunks(size).skip(first).map(Ok::<_, Infallible>);
        let state = State::new(&trace.header);
        let mut tile =
            demand::compute(Shape::of(&trace.header), id, state, snapshot, self.end, groups).unwrap()?;
        self.underload.fill(id, self.end, &mut tile);
        Some(tile)
    }

    /// Like `demand`, for up to `count` tiles in one pass.
    fn run(&self, trace: &Trace, size: usize, first: TileId, count: usize) -> Vec<Tile> {
        let begin = first.begin().expect("a time");
        let group = self.snapshots.partition_point(|snapshot| snapshot.time < begin).saturating_sub(1);
        let start = Snapshot::start(trace.header.cores.len());
        let snapshot = self.snapshots.get(group).unwrap_or(&start);
        let groups = trace.events.chunks(size).skip(group).map(Ok::<_, Infallible>);
        let (shape, state) = (Shape::of(&trace.header), State::new(&trace.header));
        let mut tiles =
            demand::compute_run(shape, (first, count), state, snapshot, self.end, groups).unwrap();
        for (index, tile) in (first.index..).zip(&mut tiles) {
            self.underload.fill(TileId { index, ..first }, self.end, tile);
        }
        tiles
    }
}

/// Entries of a field as numbers.
fn numbers(tile: &Tile, field: Field) -> Vec<f64> {
    let bytes = tile.field(field);
    let wide = |bytes: &[u8]| bytes.try_into().unwrap();
    match field {
        Field::Underload => bytes.chunks(4).map(|b| f32::from_le_bytes(wide(b)).into()).collect(),
        Field::Thread => bytes.chunks(4).map(|b| u32::from_le_bytes(wide(b)).into()).collect(),
        Field::Mhz | Field::Runnable | Field::CoresUsed | Field::SetSizes => {
            bytes.chunks(2).map(|b| u16::from_le_bytes([b[0], b[1]]).into()).collect()
        }
        _ => bytes.iter().map(|b| f64::from(*b)).collect(),
    }
}

fn assert_defined(reference: &Reference, id: TileId, tile: &Tile, how: &str) {
    for field in Field::ALL {
        let (found, defined) = (numbers(tile, field), reference.field(id, field));
        if let Some(at) = (0..found.len().max(defined.len())).find(|at| found.get(*at) != defined.get(*at)) {
            let (row, bin) = (at / BINS, at % BINS);
            panic!(
                "{how} {id:?} {}: row {row} bin {bin} is {:?}, not {:?}",
                field.name(),
                found.get(at),
                defined.get(at)
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(8, 128)))]

    #[test]
    fn tiles_agree_with_the_definitions(
        steps in steps(), size in 1usize..40, threshold in 2u64..30, picks in vec((0u8..8, any::<u64>()), 3),
    ) {
        let trace = play(&steps);
        prop_assert_eq!(trace.check(), vec![]);
        let built = build(&trace, size, threshold);
        let reference = Reference::new(&trace, built.end);
        for (id, tile) in built.tiles.iter().take(6) {
            assert_defined(&reference, *id, tile, "stored");
            prop_assert!(built.demand(&trace, size, *id).as_ref() == Some(tile));
        }
        for (level, index) in picks {
            let id = TileId { level, index: index % (built.end / tile_width(level) + 1) };
            let tile = built.demand(&trace, size, id).expect("a tile of the trace");
            assert_defined(&reference, id, &tile, "computed");
            for (index, tile) in (id.index..).zip(built.run(&trace, size, id, 3)) {
                let alone = built.demand(&trace, size, TileId { level, index });
                prop_assert!(alone.as_ref() == Some(&tile), "tile {} of level {}", index, level);
            }
        }
    }

    /// Tiles do not depend on the group size, and the stored tiles form a tree.
    #[test]
    fn groups_do_not_matter(steps in steps(), size in 1usize..40, threshold in 2u64..30) {
        let trace = play(&steps);
        let (built, other) = (build(&trace, size, threshold), build(&trace, 7, threshold));
        for (id, tile) in built.tiles.iter().take(20) {
            prop_assert!(other.demand(&trace, 7, *id).as_ref() == Some(tile));
            let parent = TileId { level: id.level + 1, index: id.index / 4 };
            let top = id.level == coarsest_level(built.end);
            prop_assert!(top || built.tiles.iter().any(|(other, _)| *other == parent));
        }
        let root = TileId { level: coarsest_level(built.end), index: 0 };
        prop_assert_eq!(built.tiles.iter().filter(|(id, _)| *id == root).count(), 1);
    }

    /// Tiles add up to the metrics.
    #[test]
    fn tiles_add_up_to_the_metrics(steps in steps()) {
        let trace = play(&steps);
        let built = build(&trace, 16, 1000);
        let mut metrics = Metrics::new(&trace.header);
        trace.events.iter().for_each(|event| metrics.event(event));
        let summary = metrics.finish(trace.header.duration);
        let underload: u32 = built.underload.0.iter().map(|(_, underload)| underload).sum();
        prop_assert_eq!(f64::from(underload) / summary.duration_s, summary.underload_per_s);
    }

    /// Inconsistent traces give tiles, not panics.
    #[test]
    fn nonsense_never_panics(mut trace in any_trace(), small in any::<bool>(), level in 0u8..30, index in any::<u64>()) {
        trace.header.cores.resize(4, CoreInfo::default());
        for event in trace.events.iter_mut().filter(|_| small) {
            event.core %= 4;
            event.time %= 1 << 24;
            if let Kind::Switch { prev, next, .. } = &mut event.kind {
                (*prev, *next) = (*prev % 4, *next % 4);
            }
            if let Kind::Wakeup { thread, target, .. } = &mut event.kind {
                (*thread, *target) = (*thread % 4, *target % 4);
            }
        }
        let built = build(&trace, 13, 20);
        built.demand(&trace, 13, TileId { level, index });
        built.demand(&trace, 13, TileId { level: level % 4, index: index % 256 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(hearth_tests::cases(8, 128)))]

    /// Tiles read from an index match the definitions, and building an index twice gives the same
    /// bytes.
    #[test]
    fn an_index_returns_the_tiles_it_stores(steps in steps(), level in 0u8..8, index in any::<u64>()) {
        let trace = play(&steps);
        let (mut bytes, mut again) = (Vec::new(), Vec::new());
        Index::build(&trace, &mut bytes).unwrap();
        Index::build(&trace, &mut again).unwrap();
        prop_assert!(bytes == again);
        let opened = Index::open(Place::Memory(bytes), &trace).unwrap();
        let reference = Reference::new(&trace, opened.end());
        let root = TileId { level: opened.coarsest(), index: 0 };
        prop_assert!(opened.is_stored(root));
        let level = level.min(opened.coarsest());
        let other = TileId { level, index: index % (opened.end() / tile_width(level) + 1) };
        for id in [root, other] {
            let tile = opened.tile(&trace, id).unwrap().expect("a tile of the trace");
            assert_defined(&reference, id, &tile, "read");
        }
        let behind = TileId { level, index: opened.end() / tile_width(level) + 1 };
        prop_assert!(opened.tile(&trace, behind).unwrap().is_none());
    }

    /// A damaged index does not open, or reading gives an error, or the damage did not affect the
    /// tile.
    #[test]
    fn damage_is_found(steps in steps(), at in any::<prop::sample::Index>(), bit in 0u8..8, cut in any::<bool>()) {
        let trace = play(&steps);
        let mut bytes = Vec::new();
        Index::build(&trace, &mut bytes).unwrap();
        let root = TileId { level: coarsest_level(Groups::end(&trace)), index: 0 };
        let sound = Index::open(Place::Memory(bytes.clone()), &trace).unwrap().tile(&trace, root).unwrap();
        let at = at.index(bytes.len());
        match cut {
            true => bytes.truncate(at),
            false => bytes[at] ^= 1 << bit,
        }
        if let Ok(index) = Index::open(Place::Memory(bytes), &trace)
            && let Ok(tile) = index.tile(&trace, root)
        {
            prop_assert!(tile == sound);
        }
    }

    /// Decoding arbitrary bytes never panics.
    #[test]
    fn hostile_bytes_are_no_table(mut bytes in vec(any::<u8>(), 0..400), counts in any::<[u8; 3]>(), cores in 0usize..9) {
        // Counts small enough to pass the length check.
        for (at, count) in [8, 12, 16].into_iter().zip(counts) {
            if let Some(place) = bytes.get_mut(at..at + 4) {
                place.copy_from_slice(&u32::from(count % 4).to_le_bytes());
            }
        }
        if let Some(table) = table::Table::decode(&bytes) {
            prop_assert_eq!(table.encode(), bytes.clone());
            let mut tile = Tile::new(Shape { cores, sets: 0 });
            table.underload.fill(TileId { level: 2, index: 0 }, table.end, &mut tile);
        }
        if let Some(snapshot) = Snapshot::decode(5, cores, &bytes) {
            let header = Header { cores: vec![CoreInfo::default(); cores], ..Header::default() };
            let nothing = std::iter::empty::<Result<Vec<Event>, Infallible>>();
            let id = TileId { level: 0, index: 0 };
            demand::compute(Shape::of(&header), id, State::new(&header), &snapshot, 1000, nothing).unwrap();
        }
    }
}

#[test]
fn an_index_of_other_events_is_refused() {
    let event = |time| Event { time, core: 0, kind: Kind::Tick { khz: 1 } };
    let header = Header { cores: vec![CoreInfo::default()], duration: 9, ..Header::default() };
    let one = Trace { header: header.clone(), events: vec![event(1)] };
    let two = Trace { header, events: vec![event(1), event(2)] };
    let mut bytes = Vec::new();
    Index::build(&one, &mut bytes).unwrap();
    let error = Index::open(Place::Memory(bytes), &two).err().unwrap();
    assert!(error.to_string().contains("it belongs to another trace"), "{error}");
}

/// The index is written on commit and rebuilt if missing or damaged.
#[test]
fn the_index_of_a_folder_is_built_when_it_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.trace");
    let event =
        |time| Event { time, core: 0, kind: Kind::Switch { prev: IDLE, stop: Stop::Preempted, next: 1 } };
    let header = Header { cores: vec![CoreInfo::default()], duration: 999, ..Header::default() };
    Trace { header, events: vec![event(100)] }.write(&path).unwrap();
    let store = crate::Store::open(&path).unwrap();
    let file = path.join("tiles/index");
    let written = std::fs::read(&file).unwrap();
    let root = TileId { level: 0, index: 0 };
    let busy = |index: &Index| index.tile(&store, root).unwrap().unwrap().field(Field::Busy)[0];
    assert_eq!(busy(&Index::of(&store).unwrap()), 224); // 899 of 1024 ns
    for damage in [None, Some(&b"no index"[..]), Some(&written[..written.len() - 1])] {
        std::fs::remove_file(&file).unwrap();
        if let Some(bytes) = damage {
            std::fs::write(&file, bytes).unwrap();
        }
        assert_eq!(busy(&Index::of(&store).unwrap()), 224);
        assert!(std::fs::read(&file).unwrap() == written);
    }
    assert_eq!(std::fs::read_dir(path.join("tiles")).unwrap().count(), 1);
}
