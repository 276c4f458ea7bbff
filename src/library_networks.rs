//! The library of networks, which a graph includes by name: `use=farm`.

/// Folder of the library in the names of its texts.
pub(crate) const PREFIX: &str = "library:";

/// Name and text of each network.
const NETWORKS: &[(&str, &str)] = &[
    (
        "butterfly",
        include_str!("../skeletons/networks/butterfly.dot"),
    ),
    ("farm", include_str!("../skeletons/networks/farm.dot")),
    (
        "hypercube",
        include_str!("../skeletons/networks/hypercube.dot"),
    ),
    (
        "map-reduce",
        include_str!("../skeletons/networks/map-reduce.dot"),
    ),
    ("mesh", include_str!("../skeletons/networks/mesh.dot")),
    (
        "pipeline",
        include_str!("../skeletons/networks/pipeline.dot"),
    ),
    (
        "request-reply",
        include_str!("../skeletons/networks/request-reply.dot"),
    ),
    ("ring", include_str!("../skeletons/networks/ring.dot")),
    ("torus", include_str!("../skeletons/networks/torus.dot")),
    ("tree", include_str!("../skeletons/networks/tree.dot")),
];

/// Returns the names of all networks, sorted.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().map(|(name, _)| *name)
}

/// Returns the text of a network, or `None` if the library has none of this name.
pub(crate) fn text(name: &str) -> Option<&'static str> {
    let found = NETWORKS.iter().find(|(known, _)| *known == name);
    found.map(|(_, text)| *text)
}
