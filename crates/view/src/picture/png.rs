//! A drawing as pixels.

use crate::picture::Error;
use crate::picture::drawing::{Colour, Drawing, Image, Op, circle};
use crate::picture::font::Fonts;
use tiny_skia::{
    FillRule, FilterQuality, LineJoin, Mask, Paint, Path, PathBuilder, Pixmap, PixmapPaint, Rect, Stroke,
    StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

/// Limit of the pixels of a picture: 1 GiB of memory.
const MOST_PIXELS: u64 = 1 << 28;

/// Encodes a drawing with `ratio` device pixels in a CSS pixel.
pub fn write(drawing: &Drawing, ratio: u32) -> Result<Vec<u8>, Error> {
    let fonts = Fonts::new()?;
    let (width, height) = (u64::from(drawing.width * ratio), u64::from(drawing.height * ratio));
    let too_large = || Error::TooLarge { width, height };
    if width * height > MOST_PIXELS {
        return Err(too_large());
    }
    let pixmap = Pixmap::new(width as u32, height as u32).ok_or_else(too_large)?;
    let to = Transform::from_scale(ratio as f32, ratio as f32);
    let mut canvas = Canvas { pixmap, to, clips: Vec::new() };
    for op in &drawing.list {
        canvas.draw(op, &drawing.images, &fonts);
    }
    canvas.pixmap.encode_png().map_err(|error| Error::Script(error.to_string()))
}

/// Encodes the pixels of an image.
pub fn of_image(image: &Image) -> Result<Vec<u8>, Error> {
    pixmap(image)
        .ok_or_else(|| Error::Script("an image is empty".into()))?
        .encode_png()
        .map_err(|error| Error::Script(error.to_string()))
}

fn pixmap(image: &Image) -> Option<Pixmap> {
    let mut pixmap = Pixmap::new(image.width, image.height)?;
    // They are opaque, so premultiplied pixels are the same.
    pixmap.data_mut().copy_from_slice(&image.pixels);
    Some(pixmap)
}

struct Canvas {
    pixmap: Pixmap,
    to: Transform,
    /// The area of each open part, and its mask once a shape needs it.
    clips: Vec<(Rect, Option<Mask>)>,
}

impl Canvas {
    fn draw(&mut self, op: &Op, images: &[Image], fonts: &Fonts) {
        match op {
            Op::Rect { x, y, w, h, fill } => self.rect(Rect::from_xywh(*x, *y, *w, *h), *fill),
            Op::Path { points, fill, stroke, width, dash } => {
                let mut path = PathBuilder::new();
                for (i, point) in points.chunks_exact(2).enumerate() {
                    match i {
                        0 => path.move_to(point[0], point[1]),
                        _ => path.line_to(point[0], point[1]),
                    }
                }
                self.path(path, *fill, *stroke, *width, dash);
            }
            Op::Curve { points: [x1, y1, x2, y2, x3, y3, x4, y4], stroke, width } => {
                let mut path = PathBuilder::new();
                path.move_to(*x1, *y1);
                path.cubic_to(*x2, *y2, *x3, *y3, *x4, *y4);
                self.path(path, None, Some(*stroke), *width, &[]);
            }
            Op::Disc { x, y, r, fill, stroke, width } => {
                let ([x, y], curves) = circle(*x, *y, *r);
                let mut path = PathBuilder::new();
                path.move_to(x, y);
                curves.iter().for_each(|[a, b, c, d, e, f]| path.cubic_to(*a, *b, *c, *d, *e, *f));
                path.close();
                self.path(path, *fill, *stroke, *width, &[]);
            }
            Op::Text { x, y, text, size, weight, fill } => {
                self.text([*x, *y], text, *size, *weight, *fill, fonts)
            }
            Op::Image { image, x, y, w, h } => {
                if let Some(image) = images.get(*image) {
                    self.image(image, [*x, *y, *w, *h]);
                }
            }
            Op::Clip { x, y, w, h } => self.clip(Rect::from_xywh(*x, *y, *w, *h)),
            Op::End => drop(self.clips.pop()),
        }
    }

    /// Everything is outside an empty area.
    fn clip(&mut self, area: Option<Rect>) {
        let nothing = Rect::from_xywh(-1.0, -1.0, 0.0, 0.0);
        let area = match self.clips.last() {
            Some((outer, _)) => area.and_then(|area| area.intersect(outer)),
            None => area,
        };
        if let Some(area) = area.or(nothing) {
            self.clips.push((area, None));
        }
    }

    fn rect(&mut self, rect: Option<Rect>, fill: Colour) {
        // Rectangles are most of a drawing: they are cut without a mask.
        let rect = match self.clips.last() {
            Some((area, _)) => rect.and_then(|rect| rect.intersect(area)),
            None => rect,
        };
        if let Some(rect) = rect {
            self.pixmap.fill_rect(rect, &paint(fill), self.to, None);
        }
    }

    /// The mask of the innermost part.
    fn mask<'a>(clips: &'a mut [(Rect, Option<Mask>)], pixmap: &Pixmap, to: Transform) -> Option<&'a Mask> {
        let (area, mask) = clips.last_mut()?;
        if mask.is_none() {
            let mut new = Mask::new(pixmap.width(), pixmap.height())?;
            new.fill_path(&PathBuilder::from_rect(*area), FillRule::Winding, true, to);
            *mask = Some(new);
        }
        mask.as_ref()
    }

    fn path(
        &mut self,
        path: PathBuilder,
        fill: Option<Colour>,
        stroke: Option<Colour>,
        width: f32,
        dash: &[f32],
    ) {
        let Some(path) = path.finish() else { return };
        if let Some(fill) = fill {
            self.fill(&path, fill);
        }
        if let Some(colour) = stroke {
            let dash = StrokeDash::new(dash.to_vec(), 0.0);
            let stroke = Stroke { width, line_join: LineJoin::Miter, dash, ..Stroke::default() };
            let mask = Self::mask(&mut self.clips, &self.pixmap, self.to);
            self.pixmap.stroke_path(&path, &paint(colour), &stroke, self.to, mask);
        }
    }

    fn fill(&mut self, path: &Path, fill: Colour) {
        let mask = Self::mask(&mut self.clips, &self.pixmap, self.to);
        self.pixmap.fill_path(path, &paint(fill), FillRule::Winding, self.to, mask);
    }

    fn text(&mut self, [x, y]: [f32; 2], text: &str, size: f32, weight: u16, fill: Colour, fonts: &Fonts) {
        let (_, font) = fonts.of(weight);
        let scale = size / f32::from(font.face.units_per_em());
        let mut outline = Outline { path: PathBuilder::new(), x, y, scale };
        for (glyph, advance) in font.glyphs(text) {
            font.face.outline_glyph(glyph, &mut outline);
            outline.x += advance * size;
        }
        if let Some(path) = outline.path.finish() {
            self.fill(&path, fill);
        }
    }

    fn image(&mut self, image: &Image, [x, y, w, h]: [f32; 4]) {
        let Some(pixmap) = pixmap(image) else { return };
        let (sx, sy) = (w / image.width as f32, h / image.height as f32);
        let to = self.to.pre_translate(x, y).pre_scale(sx, sy);
        let paint = PixmapPaint { quality: FilterQuality::Nearest, ..PixmapPaint::default() };
        let mask = Self::mask(&mut self.clips, &self.pixmap, self.to);
        self.pixmap.draw_pixmap(0, 0, pixmap.as_ref(), &paint, to, mask);
    }
}

fn paint(Colour([r, g, b, a]): Colour) -> Paint<'static> {
    let mut paint = Paint::default();
    paint.set_color_rgba8(r, g, b, a);
    paint
}

/// Adds glyphs to a path. The y axis of a font points upwards.
struct Outline {
    path: PathBuilder,
    x: f32,
    y: f32,
    scale: f32,
}

impl Outline {
    fn at(&self, x: f32, y: f32) -> (f32, f32) {
        (self.x + x * self.scale, self.y - y * self.scale)
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.at(x, y);
        self.path.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.at(x1, y1), self.at(x, y));
        self.path.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2), (x, y)) = (self.at(x1, y1), self.at(x2, y2), self.at(x, y));
        self.path.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.path.close();
    }
}
