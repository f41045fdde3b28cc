//! The pages and requests of the playground (docs/src/view.md says what they do).

use crate::playground::assist;
use crate::playground::check::check;
use crate::playground::document::{self, Document, DocumentState, MOST_BYTES, OpenError, SaveError};
use crate::playground::jobs::{Jobs, Kind};
use crate::playground::proof::{self, Progress, Prover};
use crate::playground::runs::Runs;
use crate::playground::simulate::{
    Inputs, MOST_TIME, OPENED, Plan, SimulateRequest, failed, refused, rejected, superseded,
};
use crate::playground::verdict::{self, verdict};
use crate::server::{Refusal, View, WorkPool, below, file};
use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, Query, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Json, Response};
use axum::routing::{any, get, post};
use hearth_ipanema::library::{WORDS, Word};
use hearth_ipanema::syntax::token::KEYWORDS;
use hearth_machine::{Governor, Machine};
use hearth_policy::{Policy, Settings, names};
use hearth_study::catalogue;
use hearth_workload::Workload;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tower::ServiceExt;

/// What the page shows first. Its link may say otherwise.
#[derive(Clone, Serialize)]
pub struct Start {
    pub machine: String,
    pub workload: String,
    pub governor: String,
    pub seed: u64,
    pub baseline: String,
}

impl Default for Start {
    fn default() -> Self {
        Start {
            machine: "xeon-5218".into(),
            workload: "configure".into(),
            governor: Governor::Schedutil.to_string(),
            seed: 1,
            baseline: "eevdf".into(),
        }
    }
}

/// A policy that a page edits, and everything that the page asks for.
pub struct Playground {
    document: Mutex<Document>,
    views: Vec<View>,
    start: Start,
    named: Inputs,
    jobs: Jobs,
    runs: Runs,
    proving: Mutex<HashMap<String, Arc<Progress>>>,
    /// Checks take milliseconds, the other work seconds.
    quick: WorkPool,
    slow: WorkPool,
    /// Time of one simulation.
    limit: Duration,
}

type App = State<Arc<Playground>>;
type Answer = Result<Response, Refusal>;

/// A text in JSON is larger than the text.
const MOST_BODY: usize = 2 * MOST_BYTES;

impl Playground {
    pub fn new(document: Document, views: Vec<View>, mut start: Start) -> Playground {
        // A policy beside itself shows nothing until it is changed; then the changes show.
        let name = document.compile(document.opened()).map(|policy| policy.name().to_owned());
        if name.is_ok_and(|name| name == start.baseline) {
            start.baseline = OPENED.into();
        }
        Playground {
            document: Mutex::new(document),
            views,
            start,
            named: Inputs::default(),
            jobs: Jobs::default(),
            runs: Runs::default(),
            proving: Mutex::default(),
            quick: WorkPool::default(),
            slow: WorkPool::default(),
            limit: MOST_TIME,
        }
    }

    /// Adds a machine that the page can name, and shows it first.
    pub fn with_machine(mut self, name: &str, machine: Machine) -> Playground {
        self.start.machine = name.into();
        self.named.machines.insert(name.into(), machine);
        self
    }

    /// Adds a workload that the page can name, and shows it first.
    pub fn with_workload(mut self, name: &str, workload: Workload) -> Playground {
        self.start.workload = name.into();
        self.named.workloads.insert(name.into(), workload);
        self
    }

    /// The pages, for [`Server::of_pages`](crate::server::Server::of_pages).
    pub fn pages(self) -> Router {
        Playground::shared(Arc::new(self))
    }

    fn shared(app: Arc<Playground>) -> Router {
        let api = Router::new()
            .route("/playground", get(playground))
            .route("/check", post(checks))
            .route("/complete", post(complete))
            .route("/meaning", post(meaning))
            .route("/format", post(format))
            .route("/simulate", post(simulate))
            .route("/verdict", post(verdicts))
            .route("/prove", post(prove))
            .route("/progress", get(progress))
            .route("/save", post(save))
            .layer(DefaultBodyLimit::max(MOST_BODY));
        Router::new()
            .route("/", get(async || file("playground.html")))
            .route("/{file}", get(async |Path(name): Path<String>| file(&name)))
            .route("/runs/{run}/", any(run))
            .route("/runs/{run}/{*path}", any(run))
            .nest("/api", api)
            .with_state(app)
    }

    fn document(&self) -> MutexGuard<'_, Document> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn proving(&self) -> MutexGuard<'_, HashMap<String, Arc<Progress>>> {
        self.proving.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Sent = Result<Bytes, BytesRejection>;

/// The body as JSON.
fn body<T: DeserializeOwned>(sent: Sent) -> Result<T, Refusal> {
    let large = |error: &dyn std::fmt::Display| {
        let help = format!("a policy has at most {MOST_BYTES} bytes");
        Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, error, help)
    };
    let bytes = sent.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => large(&"the text is too large"),
        status => Refusal::new(status, error.body_text(), "send the request again"),
    })?;
    let value = serde_json::from_slice(&bytes);
    value.map_err(|error| {
        Refusal::bad(error, "the page and the server must come from one build: reload the page")
    })
}

/// Refuses a text that is larger than a file may be.
fn sized(text: &str) -> Result<(), Refusal> {
    match text.len() {
        bytes if bytes > MOST_BYTES => {
            let help = format!("a policy has at most {MOST_BYTES} bytes");
            Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the text has {bytes} bytes"), help))
        }
        _ => Ok(()),
    }
}

// ---- the page ---------------------------------------------------------------------------------

#[derive(Serialize)]
struct Described {
    #[serde(flatten)]
    shown: DocumentState,
    machines: Vec<String>,
    workloads: Vec<Choice>,
    governors: Vec<&'static str>,
    /// Machines whose kernel requests no frequencies.
    ungoverned: Vec<String>,
    baselines: Vec<String>,
    start: Start,
    /// The words of the language, for highlighting.
    keywords: &'static [&'static str],
    library: Vec<LibraryWord>,
    prover: Prover,
}

#[derive(Serialize)]
struct LibraryWord {
    name: &'static str,
    usage: &'static str,
    doc: &'static str,
}

#[derive(Serialize)]
struct Choice {
    name: String,
    what: String,
}

async fn playground(State(app): App) -> Answer {
    let shown = app.document().shown().map_err(|error: OpenError| {
        refused(error, "restore the file, or open another one with `hearth view`")
    })?;
    let machines: Vec<String> =
        app.named.machines.keys().cloned().chain(Machine::names().map(str::to_owned)).collect();
    let governed = |name: &String| app.named.machine(name).is_ok_and(|machine| machine.has_governor());
    let given = app.named.workloads.keys().map(|name| Choice { name: name.clone(), what: String::new() });
    let listed =
        catalogue::workloads().into_iter().map(|entry| Choice { name: entry.name, what: entry.summary });
    let described = Described {
        shown,
        ungoverned: machines.iter().filter(|name| !governed(name)).cloned().collect(),
        machines,
        workloads: given.chain(listed).collect(),
        governors: Governor::ALL.iter().map(|governor| governor.name()).collect(),
        baselines: [OPENED].iter().chain(names()).map(|name| name.to_string()).collect(),
        start: app.start.clone(),
        keywords: KEYWORDS,
        library: WORDS
            .iter()
            .map(|&Word { name, usage, doc, .. }| LibraryWord { name, usage, doc })
            .collect(),
        prover: app.quick.run(|| Ok(Prover::find())).await?,
    };
    Ok(Json(described).into_response())
}

#[derive(Deserialize)]
struct Text {
    text: String,
}

async fn checks(State(app): App, sent: Sent) -> Answer {
    let Text { text } = body(sent)?;
    sized(&text)?;
    let document = app.document().clone();
    Ok(Json(app.quick.run(move || Ok(check(&document, &text))).await?).into_response())
}

/// A place in a text, in UTF-16 code units.
#[derive(Deserialize)]
struct Place {
    text: String,
    at: usize,
}

async fn complete(State(app): App, sent: Sent) -> Answer {
    let Place { text, at } = body(sent)?;
    sized(&text)?;
    let document = app.document().clone();
    Ok(Json(app.quick.run(move || Ok(assist::complete(&document, &text, at))).await?).into_response())
}

async fn meaning(State(app): App, sent: Sent) -> Answer {
    let Place { text, at } = body(sent)?;
    sized(&text)?;
    let document = app.document().clone();
    Ok(Json(app.quick.run(move || Ok(assist::meaning(&document, &text, at))).await?).into_response())
}

#[derive(Serialize)]
struct Formatted {
    text: String,
}

async fn format(State(app): App, sent: Sent) -> Answer {
    let Text { text } = body(sent)?;
    sized(&text)?;
    let text = app.quick.run(move || assist::format(&text)).await?;
    Ok(Json(Formatted { text }).into_response())
}

// ---- simulations ------------------------------------------------------------------------------

/// The page that asks: a newer request of it stops the older one.
#[derive(Deserialize)]
struct PageRequest<T> {
    #[serde(default)]
    page: String,
    #[serde(flatten)]
    request: T,
}

async fn simulate(State(app): App, sent: Sent) -> Answer {
    let PageRequest { page, request } = body::<PageRequest<SimulateRequest>>(sent)?;
    sized(&request.text)?;
    let job = app.jobs.start(&page, Kind::Simulate);
    let (document, shared, stop) = (app.document().clone(), Arc::clone(&app), Arc::clone(&job.stop));
    let run = app.slow.run(move || {
        if stop.load(Ordering::Relaxed) {
            return Err(superseded());
        }
        let plan = Plan::new(&document, &shared.named, request)?;
        let id = plan.id();
        if let Some(known) = shared.runs.get(&id) {
            return Ok(known);
        }
        let run = Arc::new(plan.run(id, &shared.views, shared.limit, &stop)?);
        shared.runs.put(Arc::clone(&run));
        Ok(run)
    });
    let run = run.await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], run.answer.clone()).into_response())
}

/// The viewer of a run: its page and its API.
async fn run(State(app): App, Path(parts): Path<HashMap<String, String>>, request: Request) -> Answer {
    let id = parts.get("run").map_or("", String::as_str);
    let run = app.runs.get(id).ok_or_else(|| {
        Refusal::not_found(
            "this simulation is no longer in memory",
            "simulate it again: change the seed and back",
        )
    })?;
    run.viewer
        .clone()
        .oneshot(below(request, "/runs/".len() + id.len()))
        .await
        .map_err(|never| match never {})
}

// ---- verdicts ---------------------------------------------------------------------------------

#[derive(Deserialize)]
struct WithParams {
    text: String,
    #[serde(default)]
    params: BTreeMap<String, i64>,
}

fn explore(
    document: &Document,
    asked: &WithParams,
    stop: &AtomicBool,
) -> Result<(Policy, verdict::Verdict), Refusal> {
    let policy = document.compile(&asked.text).map_err(|failed| rejected(&failed))?;
    let known =
        policy.params().iter().filter_map(|param| Some((&*param.name, *asked.params.get(&param.name)?)));
    let params = Settings::from_pairs(&policy, known).map_err(|error| refused(error, "move the slider"))?;
    let found = verdict(&policy, &params, stop).map_err(failed)?.ok_or_else(superseded)?;
    Ok((policy, found))
}

async fn verdicts(State(app): App, sent: Sent) -> Answer {
    let PageRequest { page, request } = body::<PageRequest<WithParams>>(sent)?;
    sized(&request.text)?;
    let job = app.jobs.start(&page, Kind::Verdict);
    let (document, stop) = (app.document().clone(), Arc::clone(&job.stop));
    let found = app.slow.run(move || explore(&document, &request, &stop)).await?;
    Ok(Json(found.1).into_response())
}

/// A proof under way. When it is dropped, it has no more progress.
struct Proving<'p> {
    app: &'p Playground,
    page: String,
    progress: Arc<Progress>,
}

impl<'p> Proving<'p> {
    fn start(app: &'p Playground, page: String) -> Proving<'p> {
        let progress = Arc::<Progress>::default();
        app.proving().insert(page.clone(), Arc::clone(&progress));
        Proving { app, page, progress }
    }
}

impl Drop for Proving<'_> {
    fn drop(&mut self) {
        let mut proving = self.app.proving();
        if proving.get(&self.page).is_some_and(|newest| Arc::ptr_eq(newest, &self.progress)) {
            proving.remove(&self.page);
        }
    }
}

async fn prove(State(app): App, sent: Sent) -> Answer {
    let PageRequest { page, request } = body::<PageRequest<WithParams>>(sent)?;
    sized(&request.text)?;
    let job = app.jobs.start(&page, Kind::Prove);
    let proving = Proving::start(&app, page);
    let progress = Arc::clone(&proving.progress);
    let (document, stop) = (app.document().clone(), Arc::clone(&job.stop));
    let proved = app.slow.run(move || {
        // A theorem is about all values of parameters; what it must not contradict is about their defaults.
        let asked = WithParams { params: BTreeMap::new(), ..request };
        let (policy, explored) = explore(&document, &asked, &stop)?;
        proof::prove(&policy, &explored, &progress, stop).map_err(|error| match &error {
            hearth_prove::Error::Stopped => superseded(),
            _ => refused(&error, error.help().unwrap_or("see `hearth prove`")),
        })
    });
    Ok(Json(proved.await?).into_response())
}

#[derive(Deserialize)]
struct Page {
    page: String,
}

#[derive(Serialize)]
struct ProofProgress {
    done: usize,
    of: usize,
}

/// Goals of the page's proof that are done. None: there is no proof.
async fn progress(State(app): App, Query(Page { page }): Query<Page>) -> Json<Option<ProofProgress>> {
    let progress = app.proving().get(&page).cloned();
    Json(
        progress.map(|p| ProofProgress {
            done: p.done.load(Ordering::Relaxed),
            of: p.of.load(Ordering::Relaxed),
        }),
    )
}

// ---- saving -----------------------------------------------------------------------------------

#[derive(Deserialize)]
struct Save {
    text: String,
    /// Of the text on disk that the page knows.
    digest: String,
    /// For a copy of a built-in policy, the new file's name.
    name: Option<String>,
}

async fn save(State(app): App, sent: Sent) -> Answer {
    let Save { text, digest, name } = body(sent)?;
    sized(&text)?;
    let shared = Arc::clone(&app);
    let shown = app.quick.run(move || {
        let mut document = shared.document();
        document.save(&text, &digest, name.as_deref()).map_err(|error| {
            let status = match error {
                SaveError::Changed { .. } | SaveError::Exists { .. } => StatusCode::CONFLICT,
                SaveError::Name { .. } | SaveError::Unnamed => StatusCode::UNPROCESSABLE_ENTITY,
                SaveError::Write { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            };
            Refusal::new(status, &error, error.help())
        })?;
        // The text may be changed again at this moment: the page knows the one that it sent.
        Ok(DocumentState {
            digest: document::digest(&text),
            text: String::new(),
            ..document.shown().map_err(failed)?
        })
    });
    Ok(Json(shown.await?).into_response())
}

#[cfg(test)]
mod tests;
