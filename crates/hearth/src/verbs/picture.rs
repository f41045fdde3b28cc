use super::view::{MOST_TRACES, add_views, open};
use crate::arguments::{examples, time_of_trace};
use crate::failure::{Failure, Outcome};
use crate::output;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::value_parser;
use hearth_view::picture::{Artist, Error, Format, Replace, Request};
use hearth_view::server::{Local, View, Viewed};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Draw traces into a file: SVG, PDF or PNG
///
/// The picture is that of the viewer, with a legend: every core over time. All rows fit. The same traces and
/// arguments give the same file, to the byte.
#[derive(clap::Args)]
#[command(after_help = examples(&[
    "hearth picture configure.trace -o configure.pdf",
    "hearth picture cfs.trace nest.trace -o both.svg -o both.png --to 300ms --theme dark",
    "hearth picture build.trace -o - --format svg --view queue --size 800x400 > build.svg",
]))]
pub struct Args {
    /// The traces: one, or up to four on one time axis
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    /// The file to write; - is standard output. Repeatable: one picture in several formats
    #[arg(short, long, required = true, value_name = "FILE")]
    output: Vec<PathBuf>,
    /// The format [default: by the file's extension: .svg, .pdf or .png]
    #[arg(long, value_parser = format_parser())]
    format: Option<Format>,
    /// A view: a built-in one (frequency, queue, threads, placement, nest), or the path of a view file
    #[arg(long, value_name = "VIEW")]
    view: Option<String>,
    /// A link that the viewer copied, or the part of it after '#'. Other options replace its values
    #[arg(long)]
    link: Option<String>,
    /// Start of the time window, from the start of the trace: 1.5s, 300ms
    #[arg(long, value_name = "TIME", value_parser = time_of_trace)]
    from: Option<Duration>,
    /// End of the time window
    #[arg(long, value_name = "TIME", value_parser = time_of_trace)]
    to: Option<Duration>,
    /// What the colours show [default: frequency]
    #[arg(long, value_parser = ["frequency", "queue", "thread", "process", "reason"])]
    colour_by: Option<String>,
    /// What a row stands for [default: core]
    #[arg(long, value_parser = ["core", "thread", "process", "program"])]
    rows: Option<String>,
    /// Show cores that never ran a thread
    #[arg(long)]
    unused: bool,
    /// Colours for white paper or for a dark slide [default: light]
    #[arg(long, value_parser = ["light", "dark"])]
    theme: Option<String>,
    /// Width, or width and height, in pixels of 1/96 inch. Without a height, it follows from the rows
    #[arg(long, value_name = "W[xH]", default_value = "1200", value_parser = size)]
    size: Size,
    /// Device pixels of a PNG, and of the cells in SVG and PDF, in one pixel
    #[arg(long, default_value_t = 2, value_parser = value_parser!(u32).range(1..=8))]
    scale: u32,
}

#[derive(Clone, Copy)]
struct Size {
    width: u32,
    height: Option<u32>,
}

/// Limits of a side. A narrower picture has no room for its rows.
const SIDES: std::ops::RangeInclusive<u32> = 300..=20_000;

fn size(text: &str) -> Result<Size, String> {
    let (width, height) = text.split_once('x').map_or((text, None), |(width, height)| (width, Some(height)));
    let side = |text: &str, least: u32| {
        let number = text.parse().ok().filter(|side| (least..=*SIDES.end()).contains(side));
        number.ok_or_else(|| {
            format!("write a width from {} to {}, such as 1200 or 1200x600", SIDES.start(), SIDES.end())
        })
    };
    Ok(Size {
        width: side(width, *SIDES.start())?,
        height: height.map(|height| side(height, 1)).transpose()?,
    })
}

const FORMATS: [(&str, Format); 3] = [("svg", Format::Svg), ("pdf", Format::Pdf), ("png", Format::Png)];

fn format_parser() -> impl TypedValueParser<Value = Format> {
    let named =
        |name: String| FORMATS.into_iter().find(|(known, _)| *known == name).map(|(_, format)| format);
    PossibleValuesParser::new(FORMATS.map(|(name, _)| name))
        .try_map(move |name| named(name).ok_or("unknown format"))
}

impl Args {
    pub fn run(self) -> Outcome {
        if self.traces.len() > MOST_TRACES {
            let count = self.traces.len();
            return Err(Failure::usage(format_args!(
                "{count} traces are named; a picture shows at most four"
            ))
            .help("leave some out, or draw several pictures"));
        }
        let outputs = self.outputs()?;
        let (view, named) = self.view()?;
        let traces = self.traces.iter().map(|path| open(path)).collect::<Result<Vec<_>, _>>()?;
        self.check_window(&traces)?;
        let request = self.request(named);
        let traces = Local::new(traces, add_views(view.into_iter().collect()))
            .map_err(|error| Failure::new(format_args!("cannot start to draw: {error}")))?;
        let artist = Artist::new(traces)?;
        let formats: Vec<Format> = outputs.iter().map(|(_, format)| *format).collect();
        let pictures = artist.draw(&request, &formats)?;
        pictures.iter().try_for_each(|picture| self.check_height(picture.height))?;
        for ((path, _), picture) in outputs.into_iter().zip(pictures) {
            output::file(path, &picture.bytes)?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The files and their formats.
    fn outputs(&self) -> Result<Vec<(&Path, Format)>, Failure> {
        let format_of = |path: &Path| -> Result<Format, Failure> {
            let extension = path.extension().map(|extension| extension.to_string_lossy().to_lowercase());
            let known = FORMATS.into_iter().find(|(name, _)| Some(*name) == extension.as_deref());
            let format = self.format.or(known.map(|(_, format)| format)).ok_or_else(|| {
                Failure::usage(format_args!("cannot tell the format from the name {}", path.display()))
                    .help("use the extension .svg, .pdf or .png, or give --format")
            })?;
            output::check_writable(path)?;
            Ok(format)
        };
        self.output.iter().map(|path| Ok((path.as_path(), format_of(path)?))).collect()
    }

    /// The view of a file, and the name of the view that applies.
    fn view(&self) -> Result<(Option<View>, Option<String>), Failure> {
        let Some(name) = &self.view else { return Ok((None, None)) };
        if View::built_in().iter().any(|view| view.name == *name) {
            return Ok((None, Some(name.clone())));
        }
        let view = super::view::view(Path::new(name))?;
        let name = view.name.clone();
        Ok((Some(view), Some(name)))
    }

    fn check_window(&self, traces: &[Viewed]) -> Result<(), Failure> {
        let end = traces.iter().map(|trace| trace.index.end()).max().unwrap_or(0);
        let from = self.from.map_or(0, nanoseconds);
        let to = self.to.map_or(end, nanoseconds);
        if from < to && from < end {
            return Ok(());
        }
        let text = |ns| format!("{:?}", Duration::from_nanos(ns));
        Err(Failure::usage(format_args!("the window from {} to {} is empty", text(from), text(to)))
            .help(format_args!("--from must be before --to and before the end of the traces, {}", text(end))))
    }

    fn request(&self, named: Option<String>) -> Request {
        let link = self.link.as_deref().unwrap_or_default();
        let link = link.rsplit_once('#').map_or(link, |(_, state)| state).to_owned();
        // A link says itself what it shows.
        let said = |key: &str| link.split('&').any(|part| part.split('=').next() == Some(key));
        let (has_theme, is_linked) = (said("theme"), self.link.is_some());
        let theme = self.theme.clone().or_else(|| (!has_theme).then(|| "light".to_owned()));
        let unused = self.unused.then_some(true);
        // Signs of single events cover what a figure is to show.
        let marks = (!is_linked && named.is_none()).then_some(&["overload", "inversion"] as &[_]);
        let (colour, rows) = (self.colour_by.clone(), self.rows.clone());
        Request {
            link,
            named,
            replace: Replace { colour, rows, theme, unused, marks },
            from: self.from.map(nanoseconds),
            to: self.to.map(nanoseconds),
            width: self.size.width,
            height: self.size.height,
            ratio: self.scale,
        }
    }

    /// The drawing code makes a picture higher if its content does not fit.
    fn check_height(&self, needed: u32) -> Result<(), Failure> {
        match self.size.height {
            Some(height) if needed > height => {
                let width = self.size.width;
                Err(Failure::usage(format_args!("the picture does not fit in a height of {height} pixels"))
                    .help(format_args!(
                        "use --size {width}x{needed} or more, fewer traces, or a view with fewer strips"
                    )))
            }
            _ => Ok(()),
        }
    }
}

fn nanoseconds(time: Duration) -> u64 {
    time.as_nanos().try_into().unwrap_or(u64::MAX)
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let failure = Failure::new(&error);
        match error {
            Error::TooLarge { .. } => failure.help("use a smaller --size or --scale"),
            Error::Script(_) => failure,
        }
    }
}
