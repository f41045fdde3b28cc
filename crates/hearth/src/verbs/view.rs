use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::verbs::query;
use crate::{output, recording};
use hearth_machine::Machine;
use hearth_trace::Store;
use hearth_trace::tiles::Index;
use hearth_view::playground::{Document, OpenError, Playground, Start};
use hearth_view::server::{BrowserPage, Server, View, Viewed};
use hearth_workload::Workload;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show traces in the browser, or edit a policy beside its picture
///
/// Starts a server on 127.0.0.1 that requires the token in the printed URL. Ctrl-C ends it. The first time,
/// an index is written into the trace. With a policy, opens the playground: an editor beside the simulation of the policy,
/// its numbers and its verdict.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth view configure.trace",
    "hearth view before.trace after.trace               # on one time axis",
    "hearth view mine.ipa -m xeon-5218 -w kbuild        # the playground",
]))]
pub struct Args {
    /// The traces: one, or up to four to compare. Or a policy: the path of an .ipa file, or the name of a built-in one
    #[arg(required = true, value_name = "TRACE|POLICY")]
    traces: Vec<PathBuf>,
    /// Playground: the machine to begin with: the name of a built-in one, or the path of a machine file
    #[arg(short, long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Playground: the workload to begin with: a generator with parameters, or the path of a workload file
    #[arg(short, long, value_name = "SPEC|FILE")]
    workload: Option<String>,
    /// The port to listen on [default: any free port]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Print the URL, but do not open a browser
    #[arg(long)]
    no_open: bool,
    /// Add a view from a file; it replaces a built-in view of the same name. Repeatable
    #[arg(long, value_name = "FILE.toml")]
    view: Vec<PathBuf>,
}

pub const MOST_TRACES: usize = 4;

impl Args {
    pub fn run(self) -> Outcome {
        let views = add_views(self.view.iter().map(|path| view(path)).collect::<Result<_, _>>()?);
        let first = views.first().map_or_else(String::new, |view| view.name.clone());
        let server = match self.document()? {
            Some(document) => self.playground(document, views),
            None => self.viewer(views),
        }?;
        let address = match self.view.is_empty() {
            true => server.address(),
            false => format!("{}#view={}", server.address(), first.replace(' ', "%20")),
        };
        output::text(&format!("{address}\n"))?;
        let page = if self.no_open { None } else { BrowserPage::open(&address) };
        let served = server.run();
        drop(page);
        served.map_err(|error| Failure::new(format_args!("the server stopped: {error}")))?;
        Ok(ExitCode::SUCCESS)
    }

    fn viewer(&self, views: Vec<View>) -> Result<Server, Failure> {
        if self.machine.is_some() || self.workload.is_some() {
            return Err(Failure::usage(
                "--machine and --workload are for the playground, but a trace is named",
            )
            .help("name a policy: hearth view ./mine.ipa"));
        }
        if self.traces.len() > MOST_TRACES {
            let count = self.traces.len();
            return Err(Failure::usage(format_args!(
                "{count} traces are named; the viewer shows at most four"
            ))
            .help("leave some out, or compare two in numbers: hearth report TRACE OTHER"));
        }
        let traces = self.traces.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
        self.listen(Server::bind(traces, views, self.port))
    }

    /// The policy to edit. `None`: traces are named.
    fn document(&self) -> Result<Option<Document>, Failure> {
        let is_file = |path: &Path| path.extension().is_some_and(|extension| extension == "ipa");
        let is_policy = |path: &&PathBuf| is_file(path) || !path.exists() && builtin(path).is_some();
        let Some(policy) = self.traces.iter().find(is_policy) else { return Ok(None) };
        if self.traces.len() > 1 {
            return Err(Failure::usage(format_args!(
                "{} is a policy; the playground edits one at a time",
                policy.display()
            ))
            .help("name only the policy, or only traces"));
        }
        if !is_file(policy) {
            return Ok(builtin(policy));
        }
        Document::open(policy).map(Some).map_err(|error| match &error {
            OpenError::Read { source, .. } => {
                let failure = Failure::new(&error).near(policy, source);
                if failure.has_help() || source.kind() != io::ErrorKind::NotFound {
                    return failure;
                }
                failure.help(format_args!("write a first version: hearth new {}", policy.display()))
            }
            OpenError::Large { .. } => Failure::new(&error),
        })
    }

    fn playground(&self, document: Document, views: Vec<View>) -> Result<Server, Failure> {
        let mut playground = Playground::new(document, views, Start::default());
        if let Some(name) = &self.machine {
            playground = playground.with_machine(name, Machine::load(name)?);
        }
        if let Some(spec) = &self.workload {
            playground = playground.with_workload(spec, Workload::resolve(spec)?);
        }
        self.listen(Server::of_pages(playground.pages(), self.port))
    }

    fn listen(&self, server: io::Result<Server>) -> Result<Server, Failure> {
        server.map_err(|error| {
            let failure =
                Failure::new(format_args!("cannot listen on port {} of 127.0.0.1: {error}", self.port));
            failure.help("choose another port, or omit --port to use any free port")
        })
    }
}

/// A copy of the built-in policy of this name, which is saved in the current folder.
fn builtin(name: &Path) -> Option<Document> {
    Document::copy(name.to_str()?, Path::new("."))
}

/// Adds the built-in views, except those that views of the user replace.
pub fn add_views(mut views: Vec<View>) -> Vec<View> {
    for built_in in View::built_in() {
        if views.iter().all(|own| own.name != built_in.name) {
            views.push(built_in);
        }
    }
    views
}

pub fn open(path: &Path) -> Result<Viewed, Failure> {
    let store = Store::open(path)?;
    store.check_files()?;
    recording::tell_what_is_missing(&store, path);
    if !Index::is_there(&store) {
        eprintln!("{}: building its index; this happens once", path.display());
    }
    let index = Index::of(&store).map_err(Failure::new)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let complete = store.complete();
    let sql = query::of_viewer(path);
    Ok(Viewed::new(name, Box::new(store), index, complete).with_sql(sql))
}

/// Reads a view file.
pub fn view(path: &Path) -> Result<View, Failure> {
    View::read(path).map_err(|error| {
        Failure::new(error).help(format_args!("a view file looks like this:\n{}", View::EXAMPLE))
    })
}
