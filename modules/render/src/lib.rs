//! Converts pictures from SVG to PNG and PDF, for `graphmap view -o x.png` and `-o x.pdf`.
//!
//! The widths of texts in pictures of graphmap are those of Helvetica. Therefore a font with these
//! widths is chosen, if the machine has one ([`Fonts::of_system`]).

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{self, ImageHrefResolver, Options, Tree, fontdb};
use std::fmt;
use std::sync::Arc;
use svg2pdf::{ConversionOptions, PageOptions};

/// Families with the widths of Helvetica, the most similar first.
const SAME_WIDTHS: [&str; 8] = [
    "Helvetica",
    "Arial",
    "Liberation Sans",
    "Arimo",
    "Nimbus Sans",
    "Nimbus Sans L",
    "TeX Gyre Heros",
    "FreeSans",
];

/// Families with about these widths.
const SIMILAR_WIDTHS: [&str; 4] = [
    "DejaVu Sans Condensed",
    "Noto Sans",
    "Open Sans",
    "DejaVu Sans",
];

/// Maximum number of pixels of a PNG: 1 GiB of memory.
const MOST_PIXELS: f64 = (1 << 28) as f64;

/// Maximum width and height of a page, in points (ISO 32000-1, annex C).
const LONGEST_PAGE: f32 = 14400.0;

/// Dots per inch of an SVG, as defined by CSS.
const DPI: f32 = 96.0;

/// Format of an output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Pixels.
    Png,
    /// One page, with texts that can be selected.
    Pdf,
}

impl Format {
    /// Returns the format with this name or file extension.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        match name.to_ascii_lowercase().as_str() {
            "png" => Some(Format::Png),
            "pdf" => Some(Format::Pdf),
            _ => None,
        }
    }

    /// Returns the scale of this format unless another is given: pixels for dense screens, and
    /// pages in the size of the picture.
    #[must_use]
    pub fn scale(self) -> f32 {
        match self {
            Format::Png => 2.0,
            Format::Pdf => 1.0,
        }
    }
}

/// Error of a conversion.
#[derive(Debug)]
pub enum Error {
    /// The input is not an SVG.
    Input(usvg::Error),
    /// The picture contains text, but there is no font.
    NoFont,
    /// The picture would have more pixels than fit into memory.
    TooLarge {
        /// Width in pixels.
        width: f64,
        /// Height in pixels.
        height: f64,
    },
    /// A renderer failed.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Input(why) => write!(f, "not an SVG: {why}"),
            Error::NoFont => write!(f, "no font on this machine, so all text would be missing"),
            Error::TooLarge { width, height } => {
                write!(f, "{width:.0} x {height:.0} pixels are too many for a PNG")
            }
            Error::Failed(why) => write!(f, "the picture cannot be rendered: {why}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<usvg::Error> for Error {
    fn from(why: usvg::Error) -> Error {
        Error::Input(why)
    }
}

impl Error {
    /// Returns advice, if there is any.
    #[must_use]
    pub fn help(&self) -> Option<&'static str> {
        match self {
            Error::NoFont => Some("install a font, such as `fonts-liberation` of Debian"),
            Error::TooLarge { .. } => Some("choose a smaller `--scale`, or write a PDF"),
            Error::Input(_) | Error::Failed(_) => None,
        }
    }
}

/// Fonts for texts.
#[derive(Debug, Default)]
pub struct Fonts {
    found: Arc<fontdb::Database>,
    sans_serif: Option<String>,
    exact: bool,
}

impl Fonts {
    /// Returns the fonts of this machine.
    #[must_use]
    pub fn of_system() -> Fonts {
        let mut found = fontdb::Database::new();
        found.load_system_fonts();
        Fonts::of(found)
    }

    /// Returns these fonts. `sans-serif` stands for the first existing family of these: one with the
    /// widths of Helvetica, one with similar widths, any sans-serif family, any family.
    #[must_use]
    pub fn of(mut found: fontdb::Database) -> Fonts {
        let has = |name: &str| {
            let query = fontdb::Query {
                families: &[fontdb::Family::Name(name)],
                ..fontdb::Query::default()
            };
            found.query(&query).is_some()
        };
        let exact = SAME_WIDTHS.into_iter().find(|name| has(name));
        let named = exact.or_else(|| SIMILAR_WIDTHS.into_iter().find(|name| has(name)));
        let sans_serif = named.map(str::to_owned).or_else(|| any_family(&found));
        let exact = exact.is_some();
        if let Some(family) = &sans_serif {
            found.set_sans_serif_family(family);
            // usvg takes `serif` if no family of a text is found.
            let serif = found.family_name(&fontdb::Family::Serif).to_owned();
            let query = fontdb::Query {
                families: &[fontdb::Family::Name(&serif)],
                ..fontdb::Query::default()
            };
            if found.query(&query).is_none() {
                found.set_serif_family(family);
            }
        }
        Fonts {
            found: Arc::new(found),
            sans_serif,
            exact,
        }
    }

    /// Returns the family for texts if it does not have the widths of Helvetica, so that texts may
    /// be wider than their boxes.
    #[must_use]
    pub fn other_widths(&self) -> Option<&str> {
        self.sans_serif.as_deref().filter(|_| !self.exact)
    }
}

/// Returns a family of the database: if possible, one that calls itself sans-serif.
fn any_family(found: &fontdb::Database) -> Option<String> {
    let names = || {
        found
            .faces()
            .filter_map(|face| Some(&face.families.first()?.0))
    };
    let sans = names()
        .filter(|name| name.contains("Sans") && !name.contains("Mono"))
        .min();
    sans.or_else(|| names().min()).cloned()
}

/// Converts an SVG. `scale` multiplies its size. A page that would be longer than PDF allows is
/// smaller.
///
/// The output depends only on the arguments. Files that the SVG refers to are not read.
///
/// # Errors
/// See [`Error`].
pub fn render(svg: &[u8], format: Format, scale: f32, fonts: &Fonts) -> Result<Vec<u8>, Error> {
    let text = std::str::from_utf8(svg).map_err(|_| Error::Input(usvg::Error::NotAnUtf8Str))?;
    // Graphviz writes a document type.
    let allow_dtd = usvg::roxmltree::ParsingOptions {
        allow_dtd: true,
        ..usvg::roxmltree::ParsingOptions::default()
    };
    let document = usvg::roxmltree::Document::parse_with_options(text, allow_dtd)
        .map_err(usvg::Error::ParsingFailed)?;
    let mut texts = document
        .descendants()
        .filter(|node| node.tag_name().name() == "text");
    if fonts.found.is_empty() && texts.next().is_some() {
        return Err(Error::NoFont);
    }
    let options = Options {
        fontdb: Arc::clone(&fonts.found),
        font_family: "sans-serif".to_owned(),
        image_href_resolver: ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..Options::default()
    };
    let tree = Tree::from_xmltree(&document, &options)?;
    match format {
        Format::Png => png(&tree, scale),
        Format::Pdf => pdf(&tree, scale),
    }
}

fn png(tree: &Tree, scale: f32) -> Result<Vec<u8>, Error> {
    let width = (f64::from(tree.size().width()) * f64::from(scale))
        .ceil()
        .max(1.0);
    let height = (f64::from(tree.size().height()) * f64::from(scale))
        .ceil()
        .max(1.0);
    let too_large = Error::TooLarge { width, height };
    if width * height > MOST_PIXELS {
        return Err(too_large);
    }
    let mut pixels = Pixmap::new(width as u32, height as u32).ok_or(too_large)?;
    resvg::render(
        tree,
        Transform::from_scale(scale, scale),
        &mut pixels.as_mut(),
    );
    pixels
        .encode_png()
        .map_err(|why| Error::Failed(why.to_string()))
}

fn pdf(tree: &Tree, scale: f32) -> Result<Vec<u8>, Error> {
    let longest = tree.size().width().max(tree.size().height());
    // A little smaller, because of rounding.
    let fitting = longest * 72.0 / (0.999 * LONGEST_PAGE);
    let page = PageOptions {
        dpi: (DPI / scale).max(fitting),
    };
    svg2pdf::to_pdf(tree, ConversionOptions::default(), page)
        .map_err(|why| Error::Failed(why.to_string()))
}
