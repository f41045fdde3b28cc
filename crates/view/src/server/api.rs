//! The requests of the page and their answers.
//!
//! Below `http://127.0.0.1:PORT/TOKEN/`. All but tiles is JSON. `N` is the trace's number; times are in ns. An error has a
//! status of 400 or more and `{"error", "help"}`.
//!
//! | address | answer |
//! |---|---|
//! | `api/traces` | of each trace: name, machine, source, duration, events (lost, inferred), cores, whether there is `sql`, reasons, sets, frequencies, energy, threads, levels, warnings |
//! | `api/traces/N/tiles/L/K?fields=busy,mhz` | the [fields](hearth_trace::tiles::Field) of tile (L, K) in this order, little-endian, each padded to 8 bytes |
//! | `api/traces/N/events?from=&to=&limit=&whole=` | slices (who, where, when, mean frequency, why it stopped, who woke it, placement reason) and marks; at most 20,000 together (default 5000), from at most 4 million events: else `truncated`, and with `whole=true` empty |
//! | `api/traces/N/threads?q=&limit=` | threads whose number, kernel number or pid is `q`, or whose name or process's name contains it, ignoring case; at most 1000 |
//! | `api/traces/N/threads?ids=1,2` | these threads |
//! | `api/traces/N/threads/T` | one thread: its numbers in the trace and in the kernel, name, parent, whether it is traced, process, number of its program's colour |
//! | `api/traces/N/processes/P` | a process of the trace: pid, name, ancestors, children, threads |
//! | `api/traces/N/raw?from=&to=&cores=0-3,8&thread=&limit=` | single events with their positions; at most 1000; `until` says how far it came in five seconds |
//! | `api/traces/N/threads/T/next?time=&direction=` | its next slice `forward` or `back` from there, or `null`; gives up after five seconds |
//! | `api/traces/N/threads/T/states/L/K` | how long it ran and was ready in each bin of tile (L, K) |
//! | `api/traces/N/usage?from=&to=&cores=0-3,8&thread=&limit=` | threads that ran or were ready there, and their sums; `until` says how far it came in five seconds |
//! | `api/traces/N/find?what=&time=&direction=&least=` | the next `wakeup` or `overload` of at least `least` ns; `until` says how far it searched |
//! | `api/traces/N/why?core=&time=` | the decision that put the slice there, and what the policy saw, or `null` |
//! | `api/traces/N/at?core=&time=` | what runs there: thread, begin and end of the slice (`null`: far away), waker, wake-up latency, reason, frequency, frequency that the policy saw, runnable threads, sets |
//! | `api/traces/N/sql?query=` | one `SELECT`: `columns`, `rows`, and whether they are `truncated` |
//! | `api/views`, `api/views/NAME` | the views |
//! | `api/playground` | the policy's text, what can be chosen, the language's words, whether provers are installed |
//! | POST `api/check`, `complete`, `meaning`, `format`, `simulate`, `verdict`, `prove`, `save` | for the `text`: diagnostics and parameters; words and the meaning `at` an offset in UTF-16; the formatted text; numbers and the `run`, whose viewer is at `runs/RUN/`; the model checker's and the provers' answers; the new digest |

use super::error::Refusal;
use super::programs::Programs;
use super::viewed::{Thread, Viewed};
use super::views::View;
use super::work::WorkPool;
use super::{find, look, raw, slices, sql, tiles, usage, why};
use axum::Router;
use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::get;
use hearth_trace::tiles::{Field, TileId};
use hearth_trace::{CoreId, Tid, Time};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

/// The state that all requests share.
pub struct Shared {
    pub traces: Vec<Arc<Viewed>>,
    pub views: Vec<View>,
    pub tiles: Arc<tiles::Tiles>,
    pub pool: WorkPool,
    pub sql: sql::QueryLock,
    programs: OnceLock<Programs>,
}

impl Shared {
    pub fn new(traces: Vec<Viewed>, views: Vec<View>) -> Shared {
        Shared {
            traces: traces.into_iter().map(Arc::new).collect(),
            views,
            tiles: Arc::default(),
            pool: WorkPool::default(),
            sql: sql::QueryLock::default(),
            programs: OnceLock::new(),
        }
    }

    /// The threads with the colours of their programs, which the first request computes.
    fn coloured<'a>(&self, threads: impl IntoIterator<Item = Thread<'a>>) -> Vec<Thread<'a>> {
        let programs = self.programs.get_or_init(|| Programs::of(&self.traces));
        threads.into_iter().map(|thread| thread.coloured(programs)).collect()
    }
}

type App = State<Arc<Shared>>;
type Answer = Result<Response, Refusal>;

const MOST_EVENTS: usize = 20_000;
const MOST_THREADS: usize = 1000;
const MOST_RAW: usize = 1000;

pub fn routes() -> Router<Arc<Shared>> {
    Router::new()
        .route("/traces", get(traces))
        .route("/traces/{trace}/tiles/{level}/{index}", get(tile))
        .route("/traces/{trace}/events", get(events))
        .route("/traces/{trace}/threads", get(threads))
        .route("/traces/{trace}/threads/{thread}", get(thread))
        .route("/traces/{trace}/threads/{thread}/next", get(next))
        .route("/traces/{trace}/threads/{thread}/states/{level}/{index}", get(states))
        .route("/traces/{trace}/at", get(at))
        .route("/traces/{trace}/why", get(why))
        .route("/traces/{trace}/processes/{process}", get(process))
        .route("/traces/{trace}/raw", get(raw))
        .route("/traces/{trace}/usage", get(usage))
        .route("/traces/{trace}/find", get(find))
        .route("/traces/{trace}/sql", get(select))
        .route("/views", get(async |State(app): App| Json(app.views.clone())))
        .route("/views/{name}", get(view))
}

/// Computes an answer when its turn comes.
async fn work<T: Send + 'static>(
    app: Arc<Shared>,
    work: impl FnOnce(&Shared) -> Result<T, Refusal> + Send + 'static,
) -> Result<T, Refusal> {
    let shared = app.clone();
    app.pool.run(move || work(&shared)).await
}

fn trace(app: &Shared, number: usize) -> Result<&Arc<Viewed>, Refusal> {
    let help = || format!("the traces are numbered from 0 to {}", app.traces.len().saturating_sub(1));
    app.traces.get(number).ok_or_else(|| Refusal::not_found(format!("there is no trace {number}"), help()))
}

fn path<T>(parameters: Result<Path<T>, PathRejection>) -> Result<T, Refusal> {
    parameters
        .map(|Path(value)| value)
        .map_err(|error| Refusal::bad(error.body_text(), "see the page about `hearth view` in the book"))
}

fn query<T>(parameters: Result<Query<T>, QueryRejection>) -> Result<T, Refusal> {
    parameters
        .map(|Query(value)| value)
        .map_err(|error| Refusal::bad(error.body_text(), "see the page about `hearth view` in the book"))
}

/// The time since `began` as a `Server-Timing` header. The benchmark reads it.
fn timing(began: Instant) -> [(HeaderName, String); 1] {
    let ms = began.elapsed().as_secs_f64() * 1e3;
    [(HeaderName::from_static("server-timing"), format!("work;dur={ms:.2}"))]
}

fn json(value: impl Serialize) -> Answer {
    Ok(Json(value).into_response())
}

async fn traces(State(app): App) -> Answer {
    json(app.traces.iter().map(|trace| trace.info()).collect::<Vec<_>>())
}

#[derive(Deserialize)]
struct Fields {
    fields: String,
}

async fn tile(
    State(app): App,
    at: Result<Path<(usize, u8, u64)>, PathRejection>,
    asked: Result<Query<Fields>, QueryRejection>,
) -> Answer {
    let (number, level, index) = path(at)?;
    let fields = fields(&query(asked)?.fields)?;
    let id = TileId { level, index };
    let began = Instant::now();
    let trace = trace(&app, number)?;
    let found = tiles::tile(&app.tiles, &app.pool, (number, trace), id).await?;
    let tile = found.ok_or_else(|| no_tile(trace, id))?;
    let mut bytes = Vec::new();
    for field in fields {
        bytes.extend_from_slice(tile.field(field));
        bytes.resize(bytes.len().next_multiple_of(8), 0);
    }
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CACHE_CONTROL, "private, max-age=86400, immutable"),
    ];
    Ok((headers, timing(began), Body::from(bytes)).into_response())
}

/// The requested fields, each at most once.
fn fields(names: &str) -> Result<Vec<Field>, Refusal> {
    let known = || Field::ALL.map(Field::name).join(", ");
    let mut fields: Vec<Field> = Vec::new();
    for name in names.split(',') {
        let field = Field::named(name)
            .filter(|field| !fields.contains(field))
            .ok_or_else(|| Refusal::bad(format!("'{name}' is not a field, or is given twice"), known()))?;
        fields.push(field);
    }
    Ok(fields)
}

#[derive(Deserialize)]
struct Range {
    from: Time,
    to: Time,
    limit: Option<usize>,
    /// Answer with no events rather than with some of them.
    #[serde(default)]
    whole: bool,
}

async fn events(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    range: Result<Query<Range>, QueryRejection>,
) -> Answer {
    let (number, range) = (path(number)?, query(range)?);
    let limit = range.limit.unwrap_or(5000);
    if range.from >= range.to || limit > MOST_EVENTS {
        let help = format!("'from' must be below 'to', and 'limit' at most {MOST_EVENTS}");
        return Err(Refusal::bad("the range or the limit is not valid", help));
    }
    let began = Instant::now();
    let found = work(app, move |app| Ok(slices::events(trace(app, number)?, range.from, range.to, limit)?));
    let mut found = found.await?;
    if range.whole && found.truncated {
        found = slices::Events { truncated: true, ..slices::Events::default() };
    }
    Ok((timing(began), Json(found)).into_response())
}

#[derive(Deserialize)]
struct Search {
    #[serde(default)]
    q: String,
    limit: Option<usize>,
    /// Thread numbers, separated by commas. They replace the search.
    ids: Option<String>,
}

async fn threads(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    search: Result<Query<Search>, QueryRejection>,
) -> Answer {
    let (number, search) = (path(number)?, query(search)?);
    let limit = search.limit.unwrap_or(50).min(MOST_THREADS);
    work(app, move |app| {
        let trace = trace(app, number)?;
        match &search.ids {
            Some(ids) => {
                let ids = ids.split(',').take(MOST_THREADS).filter_map(|id| id.parse().ok());
                json(app.coloured(ids.filter_map(|id| trace.thread(id))))
            }
            None => json(app.coloured(trace.search(&search.q, limit))),
        }
    })
    .await
}

async fn thread(State(app): App, at: Result<Path<(usize, Tid)>, PathRejection>) -> Answer {
    let (number, tid) = path(at)?;
    work(app, move |app| {
        let thread = trace(app, number)?.thread(tid).ok_or_else(|| no_thread(tid))?;
        json(app.coloured([thread]).first())
    })
    .await
}

async fn process(State(app): App, at: Result<Path<(usize, u32)>, PathRejection>) -> Answer {
    let (number, process) = path(at)?;
    let family = trace(&app, number)?.family(process);
    json(family.ok_or_else(|| {
        Refusal::not_found(
            format!("there is no process {process}"),
            "a thread says its process, if it is known",
        )
    })?)
}

fn no_thread(tid: Tid) -> Refusal {
    Refusal::not_found(format!("there is no thread {tid}"), "search by name: threads?q=NAME")
}

#[derive(Deserialize)]
struct Next {
    time: Time,
    #[serde(default)]
    direction: Direction,
}

#[derive(Deserialize, Default, Clone, Copy, PartialEq)]
#[serde(rename_all = "snake_case")]
enum Direction {
    #[default]
    Forward,
    Back,
}

async fn next(
    State(app): App,
    at: Result<Path<(usize, Tid)>, PathRejection>,
    next: Result<Query<Next>, QueryRejection>,
) -> Answer {
    let ((number, tid), next) = (path(at)?, query(next)?);
    let back = next.direction == Direction::Back;
    json(work(app, move |app| Ok(look::next(trace(app, number)?, tid, next.time, back)?)).await?)
}

#[derive(Deserialize)]
struct Point {
    core: CoreId,
    time: Time,
}

/// A trace that has `core`.
fn with_core(app: &Shared, number: usize, core: CoreId) -> Result<&Viewed, Refusal> {
    let trace = trace(app, number)?;
    let cores = trace.header().cores.len();
    if usize::from(core) >= cores {
        let help = format!("the cores are numbered from 0 to {}", cores.saturating_sub(1));
        return Err(Refusal::not_found(format!("there is no core {core}"), help));
    }
    Ok(trace)
}

async fn at(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    point: Result<Query<Point>, QueryRejection>,
) -> Answer {
    let (number, Point { core, time }) = (path(number)?, query(point)?);
    json(work(app, move |app| Ok(look::at(with_core(app, number, core)?, core, time)?)).await?)
}

async fn why(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    point: Result<Query<Point>, QueryRejection>,
) -> Answer {
    let (number, Point { core, time }) = (path(number)?, query(point)?);
    json(work(app, move |app| Ok(why::why(with_core(app, number, core)?, core, time)?)).await?)
}

#[derive(Deserialize)]
struct Uses {
    from: Time,
    to: Time,
    /// All if it is missing.
    cores: Option<String>,
    thread: Option<Tid>,
    limit: Option<usize>,
}

async fn usage(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    asked: Result<Query<Uses>, QueryRejection>,
) -> Answer {
    let (number, Uses { from, to, cores, thread, limit }) = (path(number)?, query(asked)?);
    in_order(from, to)?;
    let limit = limit.unwrap_or(50).min(MOST_THREADS);
    let found = work(app, move |app| {
        let trace = trace(app, number)?;
        let cores = cores.map(|text| core_list(&text, trace.header().cores.len())).transpose()?;
        Ok(usage::usage(trace, usage::Area { from, to, cores, thread }, limit)?)
    });
    json(found.await?)
}

async fn raw(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    asked: Result<Query<Uses>, QueryRejection>,
) -> Answer {
    let (number, Uses { from, to, cores, thread, limit }) = (path(number)?, query(asked)?);
    in_order(from, to)?;
    let limit = limit.unwrap_or(200).min(MOST_RAW);
    let found = work(app, move |app| {
        let trace = trace(app, number)?;
        let cores = cores.map(|text| core_list(&text, trace.header().cores.len())).transpose()?;
        Ok(raw::raw(trace, &usage::Area { from, to, cores, thread }, limit)?)
    });
    json(found.await?)
}

fn in_order(from: Time, to: Time) -> Result<(), Refusal> {
    let bad = || Refusal::bad("the range is not valid", "'from' must be below 'to'");
    if from < to { Ok(()) } else { Err(bad()) }
}

/// Which of `count` cores a list such as `0-3,8` names.
fn core_list(text: &str, count: usize) -> Result<Vec<bool>, Refusal> {
    let mut named = vec![false; count];
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (Ok(first), Ok(last)) = (first.parse::<CoreId>(), last.parse::<CoreId>()) else {
            return Err(Refusal::bad(format!("'{part}' is not a core"), "write a list of cores as in 0-3,8"));
        };
        named.iter_mut().take(usize::from(last) + 1).skip(first.into()).for_each(|core| *core = true);
    }
    Ok(named)
}

async fn states(State(app): App, at: Result<Path<(usize, Tid, u8, u64)>, PathRejection>) -> Answer {
    let (number, tid, level, index) = path(at)?;
    let found = work(app, move |app| {
        let (trace, id) = (trace(app, number)?, TileId { level, index });
        trace.thread(tid).ok_or_else(|| no_thread(tid))?;
        usage::states(trace, tid, id)?.ok_or_else(|| no_tile(trace, id))
    });
    json(found.await?)
}

fn no_tile(trace: &Viewed, TileId { level, index }: TileId) -> Refusal {
    let error = format!("tile {index} of level {level} is not in the trace");
    Refusal::not_found(error, format!("it ends at {} ns", trace.index.end()))
}

#[derive(Deserialize)]
struct Find {
    what: find::What,
    time: Time,
    #[serde(default)]
    direction: Direction,
    /// Least duration in ns.
    least: Time,
}

async fn find(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    asked: Result<Query<Find>, QueryRejection>,
) -> Answer {
    let (number, Find { what, time, direction, least }) = (path(number)?, query(asked)?);
    let search = find::Search { what, time, least, back: direction == Direction::Back };
    json(work(app, move |app| Ok(find::find(trace(app, number)?, &search)?)).await?)
}

#[derive(Deserialize)]
struct Select {
    query: String,
}

async fn select(
    State(app): App,
    number: Result<Path<usize>, PathRejection>,
    asked: Result<Query<Select>, QueryRejection>,
) -> Answer {
    let (number, Select { query }) = (path(number)?, query(asked)?);
    let none = || Refusal::not_found("this trace is not in files, which SQL needs", "record or save it");
    let sql = trace(&app, number)?.sql.as_ref().ok_or_else(none)?;
    let headers = [(header::CONTENT_TYPE, "application/json")];
    Ok((headers, sql.answer(&query, &app.sql).await?).into_response())
}

async fn view(State(app): App, name: Result<Path<String>, PathRejection>) -> Answer {
    let name = path(name)?;
    let names = || app.views.iter().map(|view| view.name.as_str()).collect::<Vec<_>>().join(", ");
    let view = app.views.iter().find(|view| view.name == name);
    json(view.ok_or_else(|| Refusal::not_found(format!("there is no view '{name}'"), names()))?)
}
