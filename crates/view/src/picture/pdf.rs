//! A drawing as a PDF of one page. It has no date and no random identifier: the same drawing gives the same file.

use crate::picture::Error;
use crate::picture::drawing::{Colour, Drawing, Image, Op, circle};
use crate::picture::font::{Font, Fonts};
use miniz_oxide::deflate::compress_to_vec_zlib;
use pdf_writer::types::{CidFontType, FontFlags, SystemInfo, UnicodeCmap};
use pdf_writer::{Content, Filter, Finish, Name, Pdf, Rect, Ref, Str};
use std::collections::{BTreeMap, BTreeSet};

/// Points in a CSS pixel.
const POINT: f32 = 0.75;
const LEVEL: u8 = 9;
const IDENTITY: SystemInfo =
    SystemInfo { registry: Str(b"Adobe"), ordering: Str(b"Identity"), supplement: 0 };

pub fn write(drawing: &Drawing) -> Result<Vec<u8>, Error> {
    let fonts = Fonts::new()?;
    let mut refs = (1..).map(Ref::new);
    let mut next = || refs.next().unwrap_or(Ref::new(i32::MAX));
    let [catalog, pages, page, content] = [(); 4].map(|()| next());
    let images: Vec<Ref> = drawing.images.iter().map(|_| next()).collect();
    let texts: Vec<Ref> = fonts.all().iter().map(|_| next()).collect();
    let drawn = Drawn::of(drawing, &fonts);

    let mut pdf = Pdf::new();
    pdf.catalog(catalog).pages(pages);
    pdf.pages(pages).kids([page]).count(1);
    let mut written = pdf.page(page);
    written.parent(pages).contents(content);
    written.media_box(Rect::new(0.0, 0.0, drawing.width as f32 * POINT, drawing.height as f32 * POINT));
    let mut resources = written.resources();
    let mut dict = resources.x_objects();
    for (i, image) in images.iter().enumerate() {
        dict.pair(Name(format!("I{i}").as_bytes()), *image);
    }
    dict.finish();
    let mut dict = resources.fonts();
    for (i, text) in texts.iter().enumerate() {
        dict.pair(Name(format!("F{i}").as_bytes()), *text);
    }
    dict.finish();
    let mut dict = resources.ext_g_states();
    for alpha in &drawn.alphas {
        let mut state = dict
            .insert(Name(format!("A{alpha}").as_bytes()))
            .start::<pdf_writer::writers::ExtGraphicsState>();
        state.non_stroking_alpha(f32::from(*alpha) / 255.0).stroking_alpha(f32::from(*alpha) / 255.0);
    }
    dict.finish();
    resources.finish();
    written.finish();

    let packed = compress_to_vec_zlib(&drawn.content.finish(), LEVEL);
    pdf.stream(content, &packed).filter(Filter::FlateDecode);
    for (image, id) in drawing.images.iter().zip(images) {
        write_image(&mut pdf, id, image);
    }
    for ((font, id), used) in fonts.all().iter().zip(texts).zip(&drawn.glyphs) {
        write_font(&mut pdf, id, [(); 4].map(|()| next()), font, used);
    }
    Ok(pdf.finish())
}

/// What the page's content refers to.
struct Drawn {
    content: Content,
    /// The characters of the used glyphs of each font.
    glyphs: [BTreeMap<u16, char>; 2],
    alphas: BTreeSet<u8>,
}

impl Drawn {
    fn of(drawing: &Drawing, fonts: &Fonts) -> Drawn {
        let (glyphs, alphas) = Default::default();
        let mut drawn = Drawn { content: Content::new(), glyphs, alphas };
        // The y axis of a PDF points upwards.
        let height = drawing.height as f32 * POINT;
        drawn.content.transform([POINT, 0.0, 0.0, -POINT, 0.0, height]);
        for op in &drawing.list {
            drawn.op(op, fonts);
        }
        drawn
    }

    fn op(&mut self, op: &Op, fonts: &Fonts) {
        match op {
            Op::Rect { x, y, w, h, fill } => {
                self.fill(*fill);
                self.content.rect(*x, *y, *w, *h).fill_nonzero();
            }
            Op::Path { points, fill, stroke, width, dash } => {
                self.paint(*fill, *stroke, *width);
                if !dash.is_empty() {
                    self.content.set_dash_pattern(dash.iter().copied(), 0.0);
                }
                for (i, point) in points.chunks_exact(2).enumerate() {
                    match i {
                        0 => self.content.move_to(point[0], point[1]),
                        _ => self.content.line_to(point[0], point[1]),
                    };
                }
                self.end(fill.is_some(), stroke.is_some());
                if !dash.is_empty() {
                    self.content.set_dash_pattern([], 0.0);
                }
            }
            Op::Curve { points: [x1, y1, x2, y2, x3, y3, x4, y4], stroke, width } => {
                self.paint(None, Some(*stroke), *width);
                self.content.move_to(*x1, *y1).cubic_to(*x2, *y2, *x3, *y3, *x4, *y4).stroke();
            }
            Op::Disc { x, y, r, fill, stroke, width } => {
                self.paint(*fill, *stroke, *width);
                let ([x, y], curves) = circle(*x, *y, *r);
                self.content.move_to(x, y);
                for [a, b, c, d, e, f] in curves {
                    self.content.cubic_to(a, b, c, d, e, f);
                }
                self.content.close_path();
                self.end(fill.is_some(), stroke.is_some());
            }
            Op::Text { x, y, text, size, weight, fill } => {
                self.text([*x, *y], text, *size, fonts.of(*weight), *fill)
            }
            Op::Image { image, x, y, w, h } => {
                // The first row of an image is at the top of its unit square.
                self.content.save_state().transform([*w, 0.0, 0.0, -*h, *x, *y + *h]);
                self.content.x_object(Name(format!("I{image}").as_bytes())).restore_state();
            }
            Op::Clip { x, y, w, h } => {
                self.content.save_state().rect(*x, *y, *w, *h).clip_nonzero().end_path();
            }
            Op::End => {
                self.content.restore_state();
            }
        }
    }

    fn text(&mut self, [x, y]: [f32; 2], text: &str, size: f32, (at, font): (usize, &Font), fill: Colour) {
        self.fill(fill);
        let characters = text.chars().filter(|c| !c.is_control());
        let glyphs: Vec<u16> = font.glyphs(text).map(|(glyph, _)| glyph.0).collect();
        let bytes: Vec<u8> = glyphs.iter().flat_map(|glyph| glyph.to_be_bytes()).collect();
        self.glyphs[at].extend(glyphs.into_iter().zip(characters));
        self.content.begin_text().set_font(Name(format!("F{at}").as_bytes()), size);
        self.content.set_text_matrix([1.0, 0.0, 0.0, -1.0, x, y]).show(Str(&bytes)).end_text();
    }

    fn paint(&mut self, fill: Option<Colour>, stroke: Option<Colour>, width: f32) {
        if let Some(fill) = fill {
            self.fill(fill);
        }
        if let Some(stroke) = stroke {
            let [r, g, b] = self.opaque(stroke);
            self.content.set_stroke_rgb(r, g, b).set_line_width(width);
        }
    }

    fn fill(&mut self, fill: Colour) {
        let [r, g, b] = self.opaque(fill);
        self.content.set_fill_rgb(r, g, b);
    }

    /// Sets the opacity; returns the rest of the colour.
    fn opaque(&mut self, Colour([r, g, b, alpha]): Colour) -> [f32; 3] {
        self.alphas.insert(alpha);
        self.content.set_parameters(Name(format!("A{alpha}").as_bytes()));
        [r, g, b].map(|part| f32::from(part) / 255.0)
    }

    fn end(&mut self, fill: bool, stroke: bool) {
        match (fill, stroke) {
            (true, true) => self.content.fill_nonzero_and_stroke(),
            (true, false) => self.content.fill_nonzero(),
            (false, true) => self.content.stroke(),
            (false, false) => self.content.end_path(),
        };
    }
}

fn write_image(pdf: &mut Pdf, id: Ref, image: &Image) {
    let rgb: Vec<u8> =
        image.pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
    let packed = compress_to_vec_zlib(&rgb, LEVEL);
    let mut written = pdf.image_xobject(id, &packed);
    written.width(image.width as i32).height(image.height as i32);
    written.bits_per_component(8).interpolate(false).color_space().device_rgb();
    written.filter(Filter::FlateDecode);
}

/// Embeds the whole font file, which has few glyphs, with the texts of those that the drawing uses.
fn write_font(
    pdf: &mut Pdf,
    id: Ref,
    [cid, descriptor, file, texts]: [Ref; 4],
    font: &Font,
    used: &BTreeMap<u16, char>,
) {
    let face = &font.face;
    let units = |value: f32| value * 1000.0 / f32::from(face.units_per_em());
    let name = Name(font.name.as_bytes());
    pdf.type0_font(id)
        .base_font(name)
        .encoding_predefined(Name(b"Identity-H"))
        .descendant_font(cid)
        .to_unicode(texts);

    let mut written = pdf.cid_font(cid);
    written.subtype(CidFontType::Type2).base_font(name).system_info(IDENTITY).font_descriptor(descriptor);
    written.default_width(0.0).cid_to_gid_map_predefined(Name(b"Identity"));
    let mut widths = written.widths();
    for glyph in used.keys() {
        widths.consecutive(*glyph, [font.advance(ttf_parser::GlyphId(*glyph)) * 1000.0]);
    }
    widths.finish();
    written.finish();

    let area = face.global_bounding_box();
    let [x0, y0, x1, y1] = [area.x_min, area.y_min, area.x_max, area.y_max].map(|side| units(side.into()));
    let mut written = pdf.font_descriptor(descriptor);
    written.name(name).flags(FontFlags::SYMBOLIC).bbox(Rect::new(x0, y0, x1, y1)).italic_angle(0.0);
    written.ascent(units(face.ascender().into())).descent(units(face.descender().into()));
    written.cap_height(units(face.capital_height().unwrap_or_default().into())).stem_v(80.0).font_file2(file);
    written.finish();

    let packed = compress_to_vec_zlib(font.file, LEVEL);
    let mut stream = pdf.stream(file, &packed);
    stream.filter(Filter::FlateDecode).pair(Name(b"Length1"), font.file.len() as i32);
    stream.finish();

    let mut map = UnicodeCmap::new(Name(b"Custom"), IDENTITY);
    for (glyph, character) in used {
        map.pair(*glyph, *character);
    }
    pdf.cmap(texts, &map.finish());
}
