//! Colours of the picture. Attributes have the light scheme, and a style sheet overrides them in
//! the dark scheme.

use super::matrix::STEPS;
use super::place::Class;

/// Text on white.
pub(crate) const TEXT: &str = "#1a1a1a";
/// Text that is less important.
pub(crate) const QUIET: &str = "#555";
/// Outlines.
pub(crate) const OUTLINE: &str = "#555";
/// Cells of the matrix, from little to much traffic.
pub(crate) const CELLS: [&str; STEPS] = [
    "#e6f0f8", "#bfd9ed", "#8fbcdf", "#5a9bcb", "#1f69a8", "#0b3f75",
];
/// Text in cells.
pub(crate) const ON_CELLS: [&str; STEPS] = [TEXT, TEXT, TEXT, TEXT, "#fff", "#fff"];

/// Returns the colour of an arc. The colours are from the palette of Okabe and Ito, some darker, so
/// that they have a contrast of at least 3 on white and on frames.
pub(crate) fn arc(class: Class) -> &'static str {
    match class {
        Class::Cache => "#009650",
        Class::Socket => "#0062a8",
        Class::Host => "#cc5c98",
        Class::Group => "#d55e00",
        Class::Apart => "#000",
        Class::Unknown => "#555",
    }
}

/// Rules of the dark scheme: selectors, separated by commas, and declarations.
const DARK: &[(&str, &str)] = &[
    (".background", "fill:#16181c"),
    ("text", "fill:#e8e8e8"),
    (".quiet", "fill:#b0b4ba"),
    (".plate", "fill:#16181c"),
    (".host rect", "fill:#1e2127;stroke:#9aa0a8"),
    (".socket rect", "fill:#252a31;stroke:#9aa0a8"),
    (".cache rect", "fill:#2c323a;stroke:#9aa0a8"),
    (".frame .core rect", "fill:#16181c;stroke:#9aa0a8"),
    (".frame .used rect", "fill:#8f98a3"),
    (".used text", "fill:#16181c"),
    (".outline,.behind", "stroke:#c8ccd2"),
    (".os-process .outline,.behind", "fill:#16181c"),
    (".os-process>.scale", "fill:#3a4049"),
    (".os-process>.load", "fill:#e8e8e8"),
    (".os-process>.fair", "stroke:#e8e8e8"),
    (".arc-cache path,.arc-cache .plate", "stroke:#009e73"),
    (".arc-cache polygon", "fill:#009e73"),
    (".arc-socket path,.arc-socket .plate", "stroke:#56b4e9"),
    (".arc-socket polygon", "fill:#56b4e9"),
    (".arc-host path,.arc-host .plate", "stroke:#cc79a7"),
    (".arc-host polygon", "fill:#cc79a7"),
    (".arc-group path,.arc-group .plate", "stroke:#e69f00"),
    (".arc-group polygon", "fill:#e69f00"),
    (".arc-apart path,.arc-apart .plate", "stroke:#f0e442"),
    (".arc-apart polygon", "fill:#f0e442"),
    (".arc-unknown path,.arc-unknown .plate", "stroke:#d8dce0"),
    (".arc-unknown polygon", "fill:#d8dce0"),
    (".grid", "stroke:#9aa0a8"),
    (".cell-0 rect", "fill:#12263a"),
    (".cell-1 rect", "fill:#173a5c"),
    (".cell-2 rect", "fill:#1f5486"),
    (".cell-3 rect", "fill:#5a9bcb"),
    (".cell-4 rect", "fill:#8fbcdf"),
    (".cell-5 rect", "fill:#d3e6f5"),
    (".cell-within rect", "fill:#3a4049"),
    (".cell-3 text,.cell-4 text,.cell-5 text", "fill:#16181c"),
];

/// Returns the style sheet. Its rules have no effect outside of pictures of mappings, because a
/// page may contain several pictures.
pub(crate) fn sheet() -> String {
    let scoped = |selectors: &str| {
        let selectors = selectors
            .split(',')
            .map(|s| format!(".graphmap-mapping {s}"));
        selectors.collect::<Vec<_>>().join(",")
    };
    let mut sheet = "@media (prefers-color-scheme:dark){\n".to_owned();
    for (selectors, declarations) in DARK {
        sheet += &format!("{}{{{declarations}}}\n", scoped(selectors));
    }
    sheet + "}"
}

#[cfg(test)]
mod tests {
    use super::{CELLS, Class, DARK, ON_CELLS, OUTLINE, QUIET, TEXT, arc};
    use crate::colour::Colour;
    use crate::vision::check_that_all_differ;

    const CLASSES: [(Class, &str); 6] = [
        (Class::Cache, "cache"),
        (Class::Socket, "socket"),
        (Class::Host, "host"),
        (Class::Group, "group"),
        (Class::Apart, "apart"),
        (Class::Unknown, "unknown"),
    ];
    /// White, and the fills of frames of hosts, sockets and caches (`draw.rs`).
    const GROUNDS: [&str; 4] = ["#fff", "#f6f7f8", "#eceff2", "#e1e6ea"];

    fn colour(text: &str) -> Colour {
        Colour::parsed(text).unwrap()
    }

    /// Returns the value of a property in the dark scheme.
    fn dark(selector: &str, property: &str) -> Colour {
        let mut rules = DARK.iter().filter(|(known, _)| *known == selector);
        let (_, declarations) = rules.next().unwrap();
        let mut declarations = declarations.split(';').filter_map(|d| d.split_once(':'));
        let (_, value) = declarations.find(|(name, _)| *name == property).unwrap();
        colour(value)
    }

    #[test]
    fn arcs_have_contrast_and_differ_for_colour_blind_readers() {
        let light = CLASSES.map(|(class, _)| colour(arc(class)));
        let in_dark = CLASSES
            .map(|(_, name)| dark(&format!(".arc-{name} path,.arc-{name} .plate"), "stroke"));
        let dark_grounds = [
            dark(".background", "fill"),
            dark(".host rect", "fill"),
            dark(".socket rect", "fill"),
            dark(".cache rect", "fill"),
        ];
        for (arcs, grounds) in [(light, GROUNDS.map(colour)), (in_dark, dark_grounds)] {
            check_that_all_differ(&arcs, 15.0);
            for ground in grounds {
                for arc in arcs {
                    assert!(arc.contrast(ground) >= 3.0, "{arc} on {ground}");
                }
            }
        }
        for (i, (_, name)) in CLASSES.into_iter().enumerate() {
            assert_eq!(dark(&format!(".arc-{name} polygon"), "fill"), in_dark[i]);
        }
    }

    #[test]
    fn texts_have_contrast_in_both_schemes() {
        for ground in GROUNDS.map(colour) {
            for text in [TEXT, QUIET] {
                assert!(colour(text).contrast(ground) >= 4.5, "{text} on {ground}");
            }
            assert!(colour(OUTLINE).contrast(ground) >= 3.0);
        }
        for (cell, text) in CELLS.into_iter().zip(ON_CELLS) {
            assert!(
                colour(text).contrast(colour(cell)) >= 4.5,
                "{text} on {cell}"
            );
        }
        let (text, quiet) = (dark("text", "fill"), dark(".quiet", "fill"));
        for name in ["host", "socket", "cache"] {
            let ground = dark(&format!(".{name} rect"), "fill");
            assert!(text.contrast(ground) >= 4.5 && quiet.contrast(ground) >= 4.5);
            assert!(dark(&format!(".{name} rect"), "stroke").contrast(ground) >= 3.0);
        }
        for (i, _) in CELLS.into_iter().enumerate() {
            let cell = dark(&format!(".cell-{i} rect"), "fill");
            let on = match i {
                0..3 => text,
                _ => dark(".cell-3 text,.cell-4 text,.cell-5 text", "fill"),
            };
            assert!(on.contrast(cell) >= 4.5, "{on} on {cell}");
        }
    }
}
