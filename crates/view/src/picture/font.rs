//! The embedded font: Roboto, in two weights.
//!
//! Every machine draws the same picture, so the fonts of the system are not used. A letter that the font lacks is
//! drawn as an empty box.

use crate::picture::Error;
use ttf_parser::{Face, GlyphId};

/// Latin, Greek and Cyrillic letters of Roboto 2.138 (Apache-2.0, see font/README.md).
const FILES: [(&str, &[u8]); 2] = [
    ("Roboto-Regular", include_bytes!("../../font/Roboto-Regular.ttf")),
    ("Roboto-Medium", include_bytes!("../../font/Roboto-Medium.ttf")),
];

pub struct Font {
    pub name: &'static str,
    pub file: &'static [u8],
    pub face: Face<'static>,
}

pub struct Fonts([Font; 2]);

impl Fonts {
    pub fn new() -> Result<Fonts, Error> {
        let font = |(name, file): (&'static str, &'static [u8])| {
            let face = Face::parse(file, 0).map_err(|error| Error::Script(format!("{name}: {error}")))?;
            Ok(Font { name, file, face })
        };
        let [regular, bold] = FILES;
        Ok(Fonts([font(regular)?, font(bold)?]))
    }

    pub fn of(&self, weight: u16) -> (usize, &Font) {
        let at = usize::from(weight >= 500);
        (at, &self.0[at])
    }

    pub fn all(&self) -> &[Font] {
        &self.0
    }

    /// Width of a text in pixels.
    pub fn width(&self, text: &str, size: f64, weight: u16) -> f64 {
        let (_, font) = self.of(weight);
        font.glyphs(text).map(|(_, advance)| f64::from(advance)).sum::<f64>() * size
    }
}

impl Font {
    /// The glyphs of a text with their advances, in parts of the font's size.
    pub fn glyphs(&self, text: &str) -> impl Iterator<Item = (GlyphId, f32)> {
        text.chars().filter(|c| !c.is_control()).map(|c| {
            let glyph = self.face.glyph_index(c).unwrap_or_default();
            (glyph, self.advance(glyph))
        })
    }

    pub fn advance(&self, glyph: GlyphId) -> f32 {
        let units = f32::from(self.face.units_per_em());
        f32::from(self.face.glyph_hor_advance(glyph).unwrap_or_default()) / units
    }
}
