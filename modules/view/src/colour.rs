//! Colours that distinguish OS processes.

use std::fmt;

/// A colour in sRGB. Displays as `#rrggbb`, which SVG and Graphviz accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour(pub [u8; 3]);

impl Colour {
    /// Returns a light fill colour for OS process `index`. Hues differ by the golden angle, so that
    /// neighbours are distinct and the number of colours is unlimited. Black text is readable on
    /// all of them.
    pub fn of(index: usize) -> Colour {
        let hue = (index as f64 * 137.507_764 + 210.0) % 360.0;
        let lightness = [0.80, 0.70, 0.88][index / 12 % 3];
        Colour::from_hsl(hue, 0.65, lightness)
    }

    fn from_hsl(hue: f64, saturation: f64, lightness: f64) -> Colour {
        let spread = saturation * lightness.min(1.0 - lightness);
        let channel = |offset: f64| {
            let k = (offset + hue / 30.0) % 12.0;
            let value = lightness - spread * (k - 3.0).min(9.0 - k).clamp(-1.0, 1.0);
            (value * 255.0).round() as u8
        };
        Colour([channel(0.0), channel(8.0), channel(4.0)])
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [r, g, b] = self.0;
        write!(f, "#{r:02x}{g:02x}{b:02x}")
    }
}

#[cfg(test)]
mod tests {
    use super::Colour;

    #[test]
    fn neighbours_differ_and_text_stays_readable() {
        for i in 0..100 {
            let Colour([r, g, b]) = Colour::of(i);
            let luminance = 0.2126 * f64::from(r) + 0.7152 * f64::from(g) + 0.0722 * f64::from(b);
            assert!(luminance > 110.0, "{i}: {}", Colour::of(i));
            assert_ne!(Colour::of(i), Colour::of(i + 1));
        }
        assert_eq!(Colour::from_hsl(0.0, 1.0, 0.5).to_string(), "#ff0000");
        assert_eq!(Colour::from_hsl(240.0, 1.0, 0.5).to_string(), "#0000ff");
    }
}
