//! Pictures of traces as files.
//!
//! The viewer's drawing code (`web/src/draw`) draws them, in an embedded JavaScript engine. It asks for data as in the
//! browser; [`crate::server::Local`] answers. It draws an SVG, or a [`Drawing`] that becomes PDF or PNG.

mod drawing;
mod engine;
mod font;
mod pdf;
mod png;

pub use drawing::Drawing;

use crate::server::Local;
use engine::Engine;
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("cannot draw the picture: {0}")]
    Script(String),
    #[error("a picture of {width}×{height} pixels is too large")]
    TooLarge { width: u64, height: u64 },
}

/// What a picture shows. The words are those of the viewer's links and view files.
#[derive(Clone, Default, Debug, Serialize)]
pub struct Request {
    /// The part of a viewer's address after `#`.
    pub link: String,
    /// Name of a view.
    pub named: Option<String>,
    /// What replaces the values of view and link.
    pub replace: Replace,
    /// Start and end of the window in ns.
    pub from: Option<u64>,
    pub to: Option<u64>,
    /// Size in CSS pixels (1/96 inch).
    pub width: u32,
    /// `None`: as the number of rows needs.
    pub height: Option<u32>,
    /// Pixels of a PNG, and of the cells of a vector drawing, in one CSS pixel.
    pub ratio: u32,
}

#[derive(Clone, Default, Debug, Serialize)]
pub struct Replace {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colour: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub marks: Option<&'static [&'static str]>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    Svg,
    Pdf,
    Png,
}

#[derive(Deserialize)]
struct Answer {
    width: u32,
    height: u32,
    svg: Option<String>,
    #[serde(default)]
    list: Vec<drawing::Op>,
}

/// The size of a picture, and its file.
pub struct Picture {
    pub width: u32,
    pub height: u32,
    pub bytes: Vec<u8>,
}

/// Draws pictures of the same traces.
pub struct Artist(Engine);

impl Artist {
    pub fn new(traces: Local) -> Result<Artist, Error> {
        Ok(Artist(Engine::new(traces)?))
    }

    /// Draws one picture in several formats.
    pub fn draw(&self, request: &Request, formats: &[Format]) -> Result<Vec<Picture>, Error> {
        let is_svg = |format: &Format| *format == Format::Svg;
        let svg = if formats.iter().any(is_svg) { Some(self.answer(request, true)?) } else { None };
        let list = if formats.iter().all(is_svg) { None } else { Some(self.answer(request, false)?) };
        let file = |format: &Format| {
            let answer = if is_svg(format) { &svg } else { &list };
            let (drawing, _) =
                answer.as_ref().expect("each kind of answer that a format needs was asked for");
            let bytes = match format {
                Format::Svg => svg.as_ref().map(|(_, text)| text.clone().into_bytes()).unwrap_or_default(),
                Format::Pdf => pdf::write(drawing)?,
                Format::Png => png::write(drawing, request.ratio)?,
            };
            Ok(Picture { width: drawing.width, height: drawing.height, bytes })
        };
        formats.iter().map(file).collect()
    }

    /// The list of operations, or the text of an SVG.
    fn answer(&self, request: &Request, svg: bool) -> Result<(Drawing, String), Error> {
        #[derive(Serialize)]
        struct DrawingRequest<'a> {
            #[serde(flatten)]
            request: &'a Request,
            svg: bool,
        }
        let (Answer { width, height, svg, list }, images) =
            self.0.picture(&DrawingRequest { request, svg })?;
        Ok((Drawing { width, height, list, images }, svg.unwrap_or_default()))
    }
}
