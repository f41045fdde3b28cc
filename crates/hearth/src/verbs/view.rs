use crate::arguments::examples;
use crate::failure::{Failure, Outcome};
use crate::output;
use hearth_trace::Store;
use hearth_trace::tiles::Index;
use hearth_view::server::{BrowserPage, Server, View, Viewed};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show traces in the browser: every core over time
///
/// Starts a server on 127.0.0.1 that requires the token in the printed URL. Ctrl-C ends it. The first time,
/// an index is written into the trace.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth view configure.trace",
    "hearth view before.trace after.trace               # on one time axis",
]))]
pub struct Args {
    /// The traces: one, or up to four to compare
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
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
        if self.traces.len() > MOST_TRACES {
            let count = self.traces.len();
            return Err(Failure::usage(format_args!(
                "{count} traces are named; the viewer shows at most four"
            ))
            .help("leave some out, or compare two in numbers: hearth report TRACE OTHER"));
        }
        let traces = self.traces.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
        let views = add_views(self.view.iter().map(|path| view(path)).collect::<Result<_, _>>()?);
        let first = views.first().map_or_else(String::new, |view| view.name.clone());
        let server = Server::bind(traces, views, self.port).map_err(|error| {
            let failure =
                Failure::new(format_args!("cannot listen on port {} of 127.0.0.1: {error}", self.port));
            failure.help("choose another port, or omit --port to use any free port")
        })?;
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
    if !Index::is_there(&store) {
        eprintln!("{}: building its index; this happens once", path.display());
    }
    let index = Index::of(&store).map_err(Failure::new)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let complete = store.complete();
    Ok(Viewed::new(name, Box::new(store), index, complete))
}

/// Reads a view file.
pub fn view(path: &Path) -> Result<View, Failure> {
    View::read(path).map_err(|error| {
        Failure::new(error).help(format_args!("a view file looks like this:\n{}", View::EXAMPLE))
    })
}
