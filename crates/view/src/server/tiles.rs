//! Tiles for those who ask: each is worked out once, with its neighbours if that is cheaper, and
//! those asked for last are kept.

use super::api::{Shared, work};
use super::error::Refusal;
use super::viewed::Viewed;
use hearth_trace::tiles::{Groups, Span, Tile, TileId};
use hearth_trace::{Error, Event, Header};
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const MOST_BYTES: usize = 64 << 20;

/// Which trace's, and which.
type Key = (usize, TileId);

#[derive(Default)]
pub struct Tiles {
    recent: Mutex<Recent>,
    /// Runs of tiles that are being worked out, or waited for: one asks, the others wait for it.
    under_way: Mutex<HashMap<Key, Arc<tokio::sync::Mutex<()>>>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The tiles used last.
#[derive(Default)]
struct Recent {
    /// The one used last is at the end.
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
        // The last one stays, however large it is: somebody is about to ask for it.
        while self.bytes > MOST_BYTES && self.tiles.len() > 1 {
            self.bytes -= self.tiles.pop_front().map_or(0, |(_, tile)| tile.bytes());
        }
    }
}

/// A tile of trace `number`; `None`: there is no such tile in it.
pub async fn tile(app: Arc<Shared>, number: usize, id: TileId) -> Result<Option<Arc<Tile>>, Refusal> {
    let run = super::api::trace(&app, number)?.index.run_of(id);
    let turn = Turn::of(&app.tiles, (number, TileId { level: id.level, index: run.start }));
    let _mine = turn.wait.lock().await;
    let known = locked(&app.tiles.recent).get((number, id));
    match known {
        Some(tile) => Ok(Some(tile)),
        None => make(app.clone(), number, id, run).await,
    }
}

/// One who wants a tile of a run, also after the connection was closed: then it is dropped.
struct Turn<'a> {
    tiles: &'a Tiles,
    run: Key,
    wait: Arc<tokio::sync::Mutex<()>>,
}

impl<'a> Turn<'a> {
    fn of(tiles: &'a Tiles, run: Key) -> Turn<'a> {
        let wait = locked(&tiles.under_way).entry(run).or_default().clone();
        Turn { tiles, run, wait }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut under_way = locked(&self.tiles.under_way);
        // The last one: the list itself holds the other.
        if Arc::strong_count(&self.wait) == 2 {
            under_way.remove(&self.run);
        }
    }
}

/// Works a run of tiles out, keeps them, and gives the one asked for.
async fn make(
    app: Arc<Shared>,
    number: usize,
    id: TileId,
    run: Range<u64>,
) -> Result<Option<Arc<Tile>>, Refusal> {
    let wanted = Wanted::default();
    let given_up = wanted.0.clone();
    work(app, move |app| {
        let trace = super::api::trace(app, number)?;
        let groups = WhileWanted { trace, given_up };
        let tiles = trace.index.tiles_of(&groups, id.level, run.clone())?;
        let mut recent = locked(&app.tiles.recent);
        for (index, tile) in run.zip(tiles) {
            recent.put((number, TileId { level: id.level, index }), Arc::new(tile));
        }
        Ok(recent.get((number, id)))
    })
    .await
}

/// Tells, when it is dropped, that nobody waits any more: a page gives up what goes out of sight.
#[derive(Default)]
struct Wanted(Arc<AtomicBool>);

impl Drop for Wanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Groups of events, until nobody waits for what is made of them.
struct WhileWanted<'a> {
    trace: &'a Viewed,
    given_up: Arc<AtomicBool>,
}

impl Groups for WhileWanted<'_> {
    fn header(&self) -> &Header {
        self.trace.header()
    }

    fn spans(&self) -> Vec<Span> {
        self.trace.groups.spans()
    }

    fn read(&self, group: usize) -> Result<Arc<Vec<Event>>, Error> {
        if self.given_up.load(Ordering::Relaxed) {
            let source = std::io::ErrorKind::Interrupted.into(); // nobody reads this
            return Err(Error::File { action: "read", path: PathBuf::new(), source });
        }
        self.trace.groups.read(group)
    }
}
