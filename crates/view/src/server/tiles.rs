//! A cache of tiles. Each tile is computed once, together with its neighbours if that is cheaper.

use super::error::Refusal;
use super::viewed::Viewed;
use super::work::WorkPool;
use hearth_trace::tiles::{Groups, Span, Tile, TileId};
use hearth_trace::{Error, Event, Header};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MOST_BYTES: usize = 64 << 20;

/// The number of a trace, and one of its tiles.
type Key = (usize, TileId);

#[derive(Default)]
pub struct Tiles {
    recent: Mutex<Recent>,
    /// Runs of tiles that a request computes or waits for. The first request computes, the others wait.
    under_way: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The most recently used tiles.
#[derive(Default)]
struct Recent {
    /// Least recently used first.
    tiles: VecDeque<(Key, Arc<Tile>)>,
    bytes: usize,
}

impl Recent {
    fn get(&mut self, key: Key) -> Option<Arc<Tile>> {
        let at = self.tiles.iter().position(|(other, _)| *other == key)?;
        let found = self.tiles.remove(at)?;
        let tile = found.1.clone();
        self.tiles.push_back(found);
        Some(tile)
    }

    fn put(&mut self, key: Key, tile: Arc<Tile>) {
        if self.get(key).is_some() {
            return;
        }
        self.bytes += tile.bytes();
        self.tiles.push_back((key, tile));
        // The newest stays, whatever its size: a request is about to take it.
        while self.bytes > MOST_BYTES && self.tiles.len() > 1 {
            self.bytes -= self.tiles.pop_front().map_or(0, |(_, tile)| tile.bytes());
        }
    }
}

/// A tile of `trace`, which has this number; `None`: the trace has no such tile.
pub async fn tile(
    tiles: &Arc<Tiles>,
    pool: &WorkPool,
    (number, trace): (usize, &Arc<Viewed>),
    id: TileId,
) -> Result<Option<Arc<Tile>>, Refusal> {
    let run = trace.index.run_of(id);
    let request = Request::of(tiles, (number, TileId { level: id.level, index: run.start }));
    let _mine = request.wait.lock().await;
    let known = locked(&tiles.recent).get((number, id));
    if known.is_some() {
        return Ok(known);
    }
    let on_drop = CancelOnDrop::default();
    let cancelled = on_drop.0.clone();
    let (tiles, trace) = (tiles.clone(), trace.clone());
    pool.run(move || compute(&tiles, Cancellable { trace: &trace, cancelled }, (number, id), run)).await
}

/// A request for a tile of a run. It is dropped when it is answered or its connection closes.
struct Request<'a> {
    tiles: &'a Tiles,
    run: Key,
    wait: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> Request<'a> {
    fn of(tiles: &'a Tiles, run: Key) -> Request<'a> {
        let wait = locked(&tiles.under_way).entry(run).or_default().clone();
        Request { tiles, run, wait }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        let mut under_way = locked(&self.tiles.under_way);
        // No other request waits: the second reference is the map's own.
        if Arc::strong_count(&self.wait) == 2 {
            under_way.remove(&self.run);
        }
    }
}

/// Computes a run of tiles, keeps them, and returns the one that was requested.
fn compute(
    tiles: &Tiles,
    groups: Cancellable,
    (number, id): Key,
    run: Range<u64>,
) -> Result<Option<Arc<Tile>>, Refusal> {
    let made = groups.trace.index.tiles_of(&groups, id.level, run.clone())?;
    let mut recent = locked(&tiles.recent);
    for (index, tile) in run.zip(made) {
        recent.put((number, TileId { level: id.level, index }), Arc::new(tile));
    }
    Ok(recent.get((number, id)))
}

/// Sets its flag when it is dropped: the page cancels requests for tiles that go out of sight.
#[derive(Default)]
struct CancelOnDrop(Arc<AtomicBool>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The groups of a trace. Reading fails as soon as no request waits for the result.
struct Cancellable<'a> {
    trace: &'a Viewed,
    cancelled: Arc<AtomicBool>,
}

impl Groups for Cancellable<'_> {
    fn header(&self) -> &Header {
        self.trace.header()
    }

    fn spans(&self) -> Vec<Span> {
        self.trace.groups.spans()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        if self.cancelled.load(Ordering::Relaxed) {
            let source = std::io::ErrorKind::Interrupted.into(); // no request reads this
            return Err(Error::File { action: "read", path: PathBuf::new(), source });
        }
        self.trace.groups.read(group)
    }
}
