use crate::failure::{Failure, Outcome};
use crate::output;
use hearth_trace::tiles::Index;
use hearth_trace::{Error as TraceError, Store};
use hearth_view::server::{Server, View, Viewed};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Look at traces in the browser: every core over time, at any zoom level
///
/// The server answers this machine alone, and only who knows the address that is printed. Ctrl-C ends it.
#[derive(clap::Args)]
pub struct Args {
    /// Traces that `hearth record`, `hearth predict` or `hearth sim` wrote: one, or up to four to compare
    #[arg(required = true, num_args = 1..=4, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// Listen on this port of 127.0.0.1, not on any that is free
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Only print the address
    #[arg(long)]
    no_open: bool,
    /// A view of your own, beside those that are built in (may be given several times)
    #[arg(long, value_name = "FILE.toml")]
    view: Vec<PathBuf>,
}

impl Args {
    pub fn run(self) -> Outcome {
        let traces = self.traces.iter().map(|path| open(path)).collect::<Result<_, _>>()?;
        let mut views = self.view.iter().map(|path| view(path)).collect::<Result<Vec<_>, _>>()?;
        // A file with the name of a built-in view takes its place.
        for built_in in View::built_in() {
            if views.iter().all(|own| own.name != built_in.name) {
                views.push(built_in);
            }
        }
        let first = views.first().map_or_else(String::new, |view| view.name.clone());
        let server = Server::bind(traces, views, self.port).map_err(|error| {
            let failure =
                Failure::new(format_args!("cannot listen on port {} of 127.0.0.1: {error}", self.port));
            failure.help("leave --port out: then a free one is taken")
        })?;
        let address = match self.view.is_empty() {
            true => server.address(),
            false => format!("{}#view={}", server.address(), first.replace(' ', "%20")),
        };
        output::text(&format!("{address}\n"))?;
        let page = if self.no_open || !has_display() { None } else { Page::open(&address) };
        let served = server.run();
        drop(page);
        served.map_err(|error| Failure::new(format_args!("the server stopped: {error}")))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn open(path: &Path) -> Result<Viewed, Failure> {
    let store = Store::open(path)?;
    whole(&store)?;
    if !Index::is_there(&store) {
        eprintln!("{}: building its index, once", path.display());
    }
    let index = Index::of(&store).map_err(Failure::new)?;
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let complete = store.complete();
    Ok(Viewed::new(name, Box::new(store), index, complete))
}

/// An index hides that files of events are cut off or missing: nobody reads them until a tile is wanted
/// that is not stored. So their ends are looked at before.
fn whole(store: &Store) -> Result<(), TraceError> {
    let Some(last) = store.groups().len().checked_sub(1) else { return Ok(()) };
    let folder = store.path().join("events");
    let reading = |path: &Path| {
        let path = path.to_owned();
        move |source| TraceError::File { action: "read", path, source }
    };
    let mut files = 0;
    for entry in fs::read_dir(&folder).map_err(reading(&folder))? {
        let name = entry.map_err(reading(&folder))?.file_name();
        files += usize::from(Path::new(&name).extension().is_some_and(|extension| extension == "parquet"));
    }
    for number in 0..files {
        let path = folder.join(format!("{number:06}.parquet"));
        if !ends_as_parquet(&path).map_err(reading(&path))? {
            return Err(TraceError::Corrupt { path, what: "it is cut off: its end is missing".into() });
        }
    }
    // The last file may be missing altogether.
    store.read_group(last).map(drop)
}

fn ends_as_parquet(path: &Path) -> io::Result<bool> {
    const MAGIC: &[u8; 4] = b"PAR1";
    let mut file = File::open(path)?;
    if file.metadata()?.len() < 2 * MAGIC.len() as u64 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-(MAGIC.len() as i64)))?;
    let mut end = [0; MAGIC.len()];
    file.read_exact(&mut end)?;
    Ok(end == *MAGIC)
}

fn view(path: &Path) -> Result<View, Failure> {
    View::read(path).map_err(|error| {
        Failure::new(error).help("the book's chapter on the viewer says what a view may hold")
    })
}

fn has_display() -> bool {
    ["DISPLAY", "WAYLAND_DISPLAY"]
        .iter()
        .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// A file that leads the browser to the address. Other users can see the arguments of programs, and
/// must not see the address; they cannot read this file.
struct Page(PathBuf);

impl Page {
    fn open(address: &str) -> Option<Page> {
        let folder = std::env::var_os("XDG_RUNTIME_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
        let path = folder.join(format!("hearth-view-{}.html", std::process::id()));
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).ok()?;
        let page = Page(path);
        write!(file, "<!doctype html><meta http-equiv=refresh content='0;url={address}'>").ok()?;
        let mut command = Command::new("xdg-open");
        command.arg(&page.0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // Without it, there is still the printed address.
        let mut opener = command.spawn().ok()?;
        std::thread::spawn(move || opener.wait());
        Some(page)
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
