//! Colours of processes by kind, of the parts of a picture in its two schemes, and of users.
//!
//! Fills are from the scheme "light" of Paul Tol, which is made for dark text and stays
//! distinguishable with colour-blindness (P. Tol, "Colour Schemes", SRON technical note
//! SRON/EPS/TN/09-002, 2021). Coloured strokes are from M. Okabe and K. Ito, "Color Universal
//! Design", 2008.

use std::collections::BTreeMap;
use std::fmt;

/// Fills of kinds. The pale grey of the scheme is [`NO_KIND`].
pub(crate) const FILLS: [Colour; 8] = [
    Colour([0x77, 0xaa, 0xdd]),
    Colour([0xee, 0x88, 0x66]),
    Colour([0xee, 0xdd, 0x88]),
    Colour([0xff, 0xaa, 0xbb]),
    Colour([0x99, 0xdd, 0xff]),
    Colour([0x44, 0xbb, 0x99]),
    Colour([0xbb, 0xcc, 0x33]),
    Colour([0xaa, 0xaa, 0x00]),
];
/// Fill of boxes without a kind.
pub(crate) const NO_KIND: Colour = Colour([0xdd; 3]);
/// Text on [`FILLS`] and on [`NO_KIND`].
pub(crate) const INK: Colour = Colour([0x11; 3]);
/// Outline of boxes, in both schemes: it contrasts with the fills.
pub(crate) const OUTLINE: Colour = Colour([0x4d; 3]);
/// Opacity of the black patterns on fills, in hundredths.
pub(crate) const PATTERN_OPACITY: u8 = 18;

/// Number of fills with patterns: plain, striped, dotted.
pub(crate) const STYLES: usize = 3 * FILLS.len();

/// Colours of a picture for a background that is light or dark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scheme {
    /// Background of the picture.
    pub(crate) background: Colour,
    /// Background of frames.
    pub(crate) frame: Colour,
    /// Outline of frames.
    pub(crate) border: Colour,
    /// Lines.
    pub(crate) line: Colour,
    /// Flow-controlled lines: blue and sky blue of Okabe and Ito.
    pub(crate) controlled: Colour,
    /// Text on the background and on frames.
    pub(crate) text: Colour,
    /// Notes and names of frames.
    pub(crate) faint: Colour,
}

/// Colours on a light background.
pub(crate) const LIGHT: Scheme = Scheme {
    background: Colour([0xff; 3]),
    frame: Colour([0xf6; 3]),
    border: Colour([0x80; 3]),
    line: Colour([0x3d; 3]),
    controlled: Colour([0x00, 0x72, 0xb2]),
    text: Colour([0x11; 3]),
    faint: Colour([0x4d; 3]),
};

/// Colours on a dark background.
pub(crate) const DARK: Scheme = Scheme {
    background: Colour([0x1b; 3]),
    frame: Colour([0x27; 3]),
    border: Colour([0x8c; 3]),
    line: Colour([0xc8; 3]),
    controlled: Colour([0x56, 0xb4, 0xe9]),
    text: Colour([0xee; 3]),
    faint: Colour([0xc0; 3]),
};

/// Names of colours and their values in hexadecimal: the names that both X11 and SVG have, with the
/// values of Graphviz.
const NAMES: &str = "\
    aliceblue f0f8ff antiquewhite faebd7 aqua 00ffff aquamarine 7fffd4 azure f0ffff beige f5f5dc \
    bisque ffe4c4 black 000000 blanchedalmond ffebcd blue 0000ff blueviolet 8a2be2 brown a52a2a \
    burlywood deb887 cadetblue 5f9ea0 chartreuse 7fff00 chocolate d2691e coral ff7f50 \
    cornflowerblue 6495ed cornsilk fff8dc crimson dc143c cyan 00ffff darkblue 00008b darkcyan \
    008b8b darkgoldenrod b8860b darkgray a9a9a9 darkgreen 006400 darkgrey a9a9a9 darkkhaki bdb76b \
    darkmagenta 8b008b darkolivegreen 556b2f darkorange ff8c00 darkorchid 9932cc darkred 8b0000 \
    darksalmon e9967a darkseagreen 8fbc8f darkslateblue 483d8b darkslategray 2f4f4f darkslategrey \
    2f4f4f darkturquoise 00ced1 darkviolet 9400d3 deeppink ff1493 deepskyblue 00bfff dimgray \
    696969 dimgrey 696969 dodgerblue 1e90ff firebrick b22222 floralwhite fffaf0 forestgreen 228b22 \
    fuchsia ff00ff gainsboro dcdcdc ghostwhite f8f8ff gold ffd700 goldenrod daa520 gray c0c0c0 \
    green 00ff00 greenyellow adff2f grey c0c0c0 honeydew f0fff0 hotpink ff69b4 indianred cd5c5c \
    indigo 4b0082 ivory fffff0 khaki f0e68c lavender e6e6fa lavenderblush fff0f5 lawngreen 7cfc00 \
    lemonchiffon fffacd lightblue add8e6 lightcoral f08080 lightcyan e0ffff lightgoldenrodyellow \
    fafad2 lightgray d3d3d3 lightgreen 90ee90 lightgrey d3d3d3 lightpink ffb6c1 lightsalmon ffa07a \
    lightseagreen 20b2aa lightskyblue 87cefa lightslategray 778899 lightslategrey 778899 \
    lightsteelblue b0c4de lightyellow ffffe0 lime 00ff00 limegreen 32cd32 linen faf0e6 magenta \
    ff00ff maroon b03060 mediumaquamarine 66cdaa mediumblue 0000cd mediumorchid ba55d3 \
    mediumpurple 9370db mediumseagreen 3cb371 mediumslateblue 7b68ee mediumspringgreen 00fa9a \
    mediumturquoise 48d1cc mediumvioletred c71585 midnightblue 191970 mintcream f5fffa mistyrose \
    ffe4e1 moccasin ffe4b5 navajowhite ffdead navy 000080 oldlace fdf5e6 olive 808000 olivedrab \
    6b8e23 orange ffa500 orangered ff4500 orchid da70d6 palegoldenrod eee8aa palegreen 98fb98 \
    paleturquoise afeeee palevioletred db7093 papayawhip ffefd5 peachpuff ffdab9 peru cd853f pink \
    ffc0cb plum dda0dd powderblue b0e0e6 purple a020f0 red ff0000 rosybrown bc8f8f royalblue \
    4169e1 saddlebrown 8b4513 salmon fa8072 sandybrown f4a460 seagreen 2e8b57 seashell fff5ee \
    sienna a0522d silver c0c0c0 skyblue 87ceeb slateblue 6a5acd slategray 708090 slategrey 708090 \
    snow fffafa springgreen 00ff7f steelblue 4682b4 tan d2b48c teal 008080 thistle d8bfd8 tomato \
    ff6347 turquoise 40e0d0 violet ee82ee wheat f5deb3 white ffffff whitesmoke f5f5f5 yellow \
    ffff00 yellowgreen 9acd32";

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

    /// Returns the colour that a user wrote as Graphviz does: a name, `#rgb`, `#rrggbb`, or the
    /// numbers of hue, saturation and value from 0 to 1. Returns `None` for anything else, such as
    /// lists of colours and names that SVG does not have. Linear in the length of the text.
    pub(crate) fn parsed(text: &str) -> Option<Colour> {
        let text = text.trim();
        if let Some(digits) = text.strip_prefix('#') {
            return Colour::from_digits(digits);
        }
        let mut words = NAMES.split_ascii_whitespace();
        while let (Some(name), Some(digits)) = (words.next(), words.next()) {
            if name.eq_ignore_ascii_case(text) {
                return Colour::from_digits(digits);
            }
        }
        let mut numbers = text
            .split(|c: char| c == ',' || c.is_ascii_whitespace())
            .filter(|word| !word.is_empty())
            .map(|word| word.parse().ok().filter(|n| (0.0..=1.0).contains(n)));
        let [hue, saturation, value] = [(); 3].map(|()| numbers.next().flatten());
        match numbers.next() {
            None => Some(Colour::from_hsv(hue?, saturation?, value?)),
            Some(_) => None,
        }
    }

    fn from_digits(digits: &str) -> Option<Colour> {
        if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let value = u32::from_str_radix(digits, 16).ok()?;
        match digits.len() {
            3 => Some(Colour([8, 4, 0].map(|at| (value >> at & 15) as u8 * 17))),
            6 => Some(Colour([16, 8, 0].map(|at| (value >> at) as u8))),
            _ => None,
        }
    }

    fn from_hsv(hue: f64, saturation: f64, value: f64) -> Colour {
        let channel = |offset: f64| {
            let k = (offset + hue * 6.0) % 6.0;
            let part = value - value * saturation * k.min(4.0 - k).clamp(0.0, 1.0);
            (part * 255.0).round() as u8
        };
        Colour([channel(5.0), channel(3.0), channel(1.0)])
    }

    /// Returns the relative luminance of WCAG 2: 0 for black, 1 for white.
    fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Returns the intensities of red, green and blue, without the gamma of sRGB.
    pub(crate) fn linear(self) -> [f64; 3] {
        self.0.map(|channel| {
            let c = f64::from(channel) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// Returns the contrast ratio of WCAG 2, from 1 to 21.
    pub(crate) fn contrast(self, other: Colour) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Returns the colour mixed with as much white as it needs for a contrast of 3 with a dark
    /// background.
    pub(crate) fn lightened(self, background: Colour) -> Colour {
        let mixed = |tenths: u16| {
            let mix = |channel: u8| (u16::from(channel) * (10 - tenths) + 255 * tenths) / 10;
            Colour(self.0.map(|channel| mix(channel) as u8))
        };
        let mut all = (0..=10).map(mixed);
        let bright = all.find(|colour| colour.contrast(background) >= 3.0);
        bright.unwrap_or(Colour([255; 3]))
    }

    /// Returns black or white, whichever has more contrast with this colour: at least 4.5.
    pub(crate) fn ink(self) -> Colour {
        let [black, white] = [Colour([0; 3]), Colour([255; 3])];
        if self.contrast(black) >= self.contrast(white) {
            black
        } else {
            white
        }
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

/// Returns the number of the style of each kind, below [`STYLES`]: the index of its colour in
/// [`FILLS`], plus 8 if it is striped, or 16 if it is dotted. It depends on the name, so that a
/// kind keeps its style when others are added. Kinds with the same hash are resolved in the order
/// of names. Beyond [`STYLES`] kinds, styles repeat. Linear in the number of kinds.
pub(crate) fn styles<'a>(kinds: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut styles: BTreeMap<&str, usize> = kinds.map(|kind| (kind, STYLES)).collect();
    let mut taken = [false; STYLES];
    // First each kind for which its own colour is free, then the free colours, then patterns.
    for (first, count, tries) in [(0, 8, 1), (0, 8, 8), (8, 16, 16)] {
        for (kind, style) in styles.iter_mut().filter(|(_, style)| **style == STYLES) {
            let mut candidates = (0..tries).map(|i| first + (hash(kind) + i) % count);
            if let Some(free) = candidates.find(|&candidate| !taken[candidate]) {
                taken[free] = true;
                *style = free;
            }
        }
    }
    for (kind, style) in styles.iter_mut().filter(|(_, style)| **style == STYLES) {
        *style = hash(kind) % STYLES;
    }
    styles
}

/// Returns the hash of a name: FNV-1a with 32 bits, which never changes.
fn hash(name: &str) -> usize {
    let mix = |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, mix) as usize
}

#[cfg(test)]
mod tests {
    use super::{
        Colour, DARK, FILLS, INK, LIGHT, NO_KIND, OUTLINE, PATTERN_OPACITY, STYLES, hash, styles,
    };
    use crate::vision::check_that_all_differ;
    use std::collections::BTreeSet;

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

    #[test]
    fn colours_of_graphviz_are_understood_and_others_are_not() {
        let hex = |text| Colour::parsed(text).map(|c| c.to_string());
        for (text, expected) in [
            ("red", "#ff0000"),
            ("LightBlue", "#add8e6"),
            ("green", "#00ff00"),
            ("yellowgreen", "#9acd32"),
            ("#1f77b4", "#1f77b4"),
            ("#F80", "#ff8800"),
            ("0.0 1.0 1.0", "#ff0000"),
            ("0.482,0.714,0.878", "#40e0cf"),
            (".5, .5  .5", "#408080"),
            ("1 1 1", "#ff0000"),
        ] {
            assert_eq!(hex(text).as_deref(), Some(expected), "{text}");
        }
        for text in [
            "",
            "#",
            "#12",
            "#1f77b480",
            "#+12345",
            "transparent",
            "red:blue",
            "antiquewhite4",
            "f0f8ff",
            "1 1",
            "1 1 1 1",
            "1 1 2",
            "NaN 1 1",
            "url(#x)",
            "red\"/><script>",
            "rgb(1,2,3)",
        ] {
            assert_eq!(hex(text), None, "{text}");
        }
    }

    #[test]
    fn kinds_have_different_styles_and_keep_them() {
        let names: Vec<String> = (0..40).map(|i| format!("kind{i}")).collect();
        let of = |count: usize| styles(names[..count].iter().map(String::as_str));
        for count in 1..=8 {
            assert_eq!(of(count).values().filter(|s| **s >= 8).count(), 0);
        }
        for count in 1..=STYLES {
            let distinct: BTreeSet<usize> = of(count).into_values().collect();
            assert_eq!(distinct.len(), count);
        }
        assert!(of(40).values().all(|style| *style < STYLES));
        // A kind whose own colour is free has it, however many kinds there are.
        assert_eq!(of(1)["kind0"], hash("kind0") % 8);
        assert_eq!(of(40)["kind0"], of(1)["kind0"]);
        assert_eq!(hash(""), 0x811c_9dc5);
        assert_eq!(hash("foobar"), 0xbf9c_f968);
    }

    #[test]
    fn texts_and_outlines_have_contrast_in_both_schemes() {
        let darkened = |Colour(fill): Colour| {
            let left = f64::from(100 - PATTERN_OPACITY) / 100.0;
            Colour(fill.map(|c| (f64::from(c) * left).round() as u8))
        };
        for fill in FILLS.into_iter().chain([NO_KIND]) {
            assert!(INK.contrast(fill) >= 4.5, "{fill}");
            assert!(INK.contrast(darkened(fill)) >= 4.5, "{fill}");
            assert!(OUTLINE.contrast(fill) >= 3.0, "{fill}");
            assert!(fill.contrast(DARK.background) >= 3.0, "{fill}");
            assert!(fill.contrast(DARK.frame) >= 3.0, "{fill}");
        }
        assert!(OUTLINE.contrast(LIGHT.background) >= 7.0);
        for scheme in [LIGHT, DARK] {
            for ground in [scheme.background, scheme.frame] {
                for text in [scheme.text, scheme.faint] {
                    assert!(text.contrast(ground) >= 4.5, "{text} on {ground}");
                }
                for stroke in [scheme.border, scheme.line, scheme.controlled] {
                    assert!(stroke.contrast(ground) >= 3.0, "{stroke} on {ground}");
                }
            }
        }
        for user in [Colour([0; 3]), Colour([0, 0, 255]), Colour([0, 0, 0x80])] {
            let light = user.lightened(DARK.frame);
            assert!(light.contrast(DARK.frame) >= 3.0, "{light}");
            assert!(light.contrast(DARK.frame) < 6.0, "{light}");
        }
        let orange = Colour([255, 0xa5, 0]);
        assert_eq!(orange.lightened(DARK.frame), orange);
        for grey in 0..=255 {
            let fill = Colour([grey; 3]);
            assert!(fill.ink().contrast(fill) >= 4.5, "{fill}");
        }
    }

    /// Striped and dotted boxes are compared only with each other, because the pattern is a second
    /// mark.
    #[test]
    fn colours_differ_for_colour_blind_readers() {
        check_that_all_differ(&FILLS, 10.0);
        for fill in FILLS {
            check_that_all_differ(&[NO_KIND, fill], 10.0);
        }
        for scheme in [LIGHT, DARK] {
            check_that_all_differ(&[scheme.line, scheme.controlled], 30.0);
        }
    }
}
