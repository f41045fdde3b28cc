//! A list of drawing operations (`web/src/picture/painter.ts` writes it).

use serde::Deserialize;

/// Lengths are in CSS pixels; y grows downwards.
pub struct Drawing {
    pub width: u32,
    pub height: u32,
    pub list: Vec<Op>,
    pub images: Vec<Image>,
}

/// Opaque pixels, RGBA.
pub struct Image {
    pub width: u32,
    pub height: u32,
    pub pixels: Vec<u8>,
}

#[derive(Deserialize)]
#[serde(tag = "op", rename_all = "lowercase")]
pub enum Op {
    Rect {
        x: f32,
        y: f32,
        w: f32,
        h: f32,
        fill: Colour,
    },
    /// A polygon that is filled, a line, or both.
    Path {
        points: Vec<f32>,
        fill: Option<Colour>,
        stroke: Option<Colour>,
        width: f32,
        #[serde(default)]
        dash: Vec<f32>,
    },
    /// A cubic Bézier curve: four points.
    Curve {
        points: [f32; 8],
        stroke: Colour,
        width: f32,
    },
    Disc {
        x: f32,
        y: f32,
        r: f32,
        fill: Option<Colour>,
        stroke: Option<Colour>,
        width: f32,
    },
    /// `x` and `y` are the left end of the base line.
    Text {
        x: f32,
        y: f32,
        text: String,
        size: f32,
        weight: u16,
        fill: Colour,
    },
    Image {
        image: usize,
        x: f32,
        y: f32,
        w: f32,
        h: f32,
    },
    /// Begins a part that is cut to a rectangle.
    Clip {
        x: f32,
        y: f32,
        w: f32,
        h: f32,
    },
    /// Ends the innermost part.
    End,
}

/// Four curves that make a circle.
pub fn circle(x: f32, y: f32, r: f32) -> ([f32; 2], [[f32; 6]; 4]) {
    let k = r * 0.552_284_8;
    let curves = [
        [x + r, y + k, x + k, y + r, x, y + r],
        [x - k, y + r, x - r, y + k, x - r, y],
        [x - r, y - k, x - k, y - r, x, y - r],
        [x + k, y - r, x + r, y - k, x + r, y],
    ];
    ([x + r, y], curves)
}

/// Red, green, blue and opacity.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Colour(pub [u8; 4]);

impl TryFrom<String> for Colour {
    type Error = String;

    /// Reads `#rrggbb`, `#rrggbbaa` and `rgb(R,G,B)`.
    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a colour");
        let parts = match (text.strip_prefix('#'), text.strip_prefix("rgb(")) {
            (Some(hex), _) if hex.is_ascii() => {
                let bytes =
                    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok());
                bytes.collect::<Option<Vec<u8>>>()
            }
            (_, Some(rest)) => rest.strip_suffix(')').and_then(|rest| {
                rest.split(',').map(|part| part.trim().parse().ok()).collect::<Option<Vec<u8>>>()
            }),
            _ => None,
        };
        match parts.as_deref() {
            Some(&[r, g, b]) => Ok(Colour([r, g, b, 255])),
            Some(&[r, g, b, a]) => Ok(Colour([r, g, b, a])),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_read() {
        let colour = |text: &str| Colour::try_from(text.to_owned()).ok().map(|Colour(parts)| parts);
        assert_eq!(colour("#0a0b0c"), Some([10, 11, 12, 255]));
        assert_eq!(colour("#0a0b0c80"), Some([10, 11, 12, 128]));
        assert_eq!(colour("rgb(1, 2,3)"), Some([1, 2, 3, 255]));
        for wrong in ["", "red", "#1", "#12345", "rgb(1,2)", "rgb(1,2,300)", "#äöü"] {
            assert_eq!(colour(wrong), None, "{wrong}");
        }
    }
}
