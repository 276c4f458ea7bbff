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

/// Returns the colour of an arc. The colours are from the palette of Okabe and Ito, and have a
/// contrast of at least 3 on white.
pub(crate) fn arc(class: Class) -> &'static str {
    match class {
        Class::Cache => "#009e73",
        Class::Socket => "#0072b2",
        Class::Host => "#cc79a7",
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
    (".arc-unknown path,.arc-unknown .plate", "stroke:#b0b4ba"),
    (".arc-unknown polygon", "fill:#b0b4ba"),
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
