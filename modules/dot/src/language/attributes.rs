//! Graphviz's own attributes, and the elements on which each is allowed.
//!
//! The names are those of Graphviz's attribute reference up to version 14, of its output (`pos`,
//! `bb`, `_draw_`), and of older versions. They are accepted silently on elements on which they
//! have an effect, and reported on others.

use super::keys::Element;

/// Returns true if Graphviz has this attribute for an element.
///
/// Attributes of the graph, of subgraphs and of clusters are allowed on all three, because Graphviz
/// inherits them, and writes them like that itself.
pub(crate) fn is_graphviz(element: Element, name: &str) -> bool {
    used_by(name).contains(letters(element))
}

/// Returns the names of the elements for which Graphviz has this attribute, with their articles:
/// graph, subgraph, cluster, node, edge. The result is empty if Graphviz does not have the
/// attribute.
pub(crate) fn elements(name: &str) -> Vec<&'static str> {
    let used = used_by(name).chars();
    used.map(|letter| match letter {
        'G' => Element::Graph.name(),
        'S' => Element::Subgraph.name(),
        'C' => Element::Cluster.name(),
        'N' => Element::Node.name(),
        _ => Element::Edge.name(),
    })
    .collect()
}

/// Returns the names of Graphviz's attributes of an element for suggestions, in alphabetical order.
/// Omits those that begin with `_`, which only programs write. For the graph, subgraphs and
/// clusters, these are the attributes of all three.
pub(crate) fn graphviz(element: Element) -> impl Iterator<Item = &'static str> {
    let fits = move |used: &str| used.contains(letters(element));
    let names = ATTRIBUTES.iter().filter(move |(_, used)| fits(used));
    names
        .map(|(name, _)| *name)
        .filter(|name| !name.starts_with('_'))
}

/// Returns the elements that use an attribute, as letters of [`ATTRIBUTES`]. The string is empty if
/// Graphviz does not have the attribute.
fn used_by(name: &str) -> &'static str {
    let found = ATTRIBUTES.binary_search_by_key(&name, |(name, _)| name);
    found.map_or("", |at| ATTRIBUTES[at].1)
}

fn letters(element: Element) -> &'static [char] {
    match element {
        Element::Graph | Element::Cluster | Element::Subgraph => &['G', 'S', 'C'],
        Element::Node => &['N'],
        Element::Edge => &['E'],
    }
}

/// Each attribute and the elements that use it: the graph (`G`), subgraphs (`S`), clusters (`C`),
/// nodes (`N`), edges (`E`).
const ATTRIBUTES: &[(&str, &str)] = &[
    ("Damping", "G"),
    ("K", "GC"),
    ("TBbalance", "G"),
    ("URL", "GCNE"),
    ("_background", "G"),
    ("_draw_", "GCNE"),
    ("_hdraw_", "E"),
    ("_hldraw_", "E"),
    ("_ldraw_", "GCNE"),
    ("_tdraw_", "E"),
    ("_tldraw_", "E"),
    ("area", "CN"),
    ("arrowhead", "E"),
    ("arrowsize", "E"),
    ("arrowtail", "E"),
    ("bb", "G"),
    ("beautify", "G"),
    ("bgcolor", "GC"),
    ("center", "G"),
    ("charset", "G"),
    ("class", "GCNE"),
    ("cluster", "C"),
    ("clusterrank", "G"),
    ("color", "GCNE"),
    ("colorscheme", "GCNE"),
    ("comment", "GCNE"),
    ("compound", "G"),
    ("concentrate", "G"),
    ("constraint", "E"),
    ("decorate", "E"),
    ("defaultdist", "G"),
    ("dim", "G"),
    ("dimen", "G"),
    ("dir", "E"),
    ("diredgeconstraints", "G"),
    ("distortion", "N"),
    ("dpi", "G"),
    ("edgeURL", "E"),
    ("edgehref", "E"),
    ("edgetarget", "E"),
    ("edgetooltip", "E"),
    ("epsilon", "G"),
    ("esep", "G"),
    ("fillcolor", "CNE"),
    ("fixedsize", "N"),
    ("fontcolor", "GCNE"),
    ("fontname", "GCNE"),
    ("fontnames", "G"),
    ("fontpath", "G"),
    ("fontsize", "GCNE"),
    ("forcelabels", "G"),
    ("gradientangle", "GCN"),
    ("group", "N"),
    ("headURL", "E"),
    ("head_lp", "E"),
    ("headclip", "E"),
    ("headhref", "E"),
    ("headlabel", "E"),
    ("headport", "E"),
    ("headtarget", "E"),
    ("headtooltip", "E"),
    ("height", "N"),
    ("href", "GCNE"),
    ("id", "GCNE"),
    ("image", "N"),
    ("imagepath", "G"),
    ("imagepos", "N"),
    ("imagescale", "N"),
    ("inputscale", "G"),
    ("key", "E"),
    ("label", "GCNE"),
    ("labelURL", "E"),
    ("label_scheme", "G"),
    ("labelangle", "E"),
    ("labeldistance", "E"),
    ("labelfloat", "E"),
    ("labelfontcolor", "E"),
    ("labelfontname", "E"),
    ("labelfontsize", "E"),
    ("labelhref", "E"),
    ("labeljust", "GC"),
    ("labelloc", "GCN"),
    ("labeltarget", "E"),
    ("labeltooltip", "E"),
    ("landscape", "G"),
    ("layer", "GCNE"),
    ("layerlistsep", "G"),
    ("layers", "G"),
    ("layerselect", "G"),
    ("layersep", "G"),
    ("layout", "G"),
    ("len", "E"),
    ("levels", "G"),
    ("levelsgap", "G"),
    ("lhead", "E"),
    ("lheight", "GC"),
    ("linelength", "G"),
    ("lp", "GCNE"),
    ("ltail", "E"),
    ("lwidth", "GC"),
    ("margin", "GCN"),
    ("maxiter", "G"),
    ("mclimit", "G"),
    ("mindist", "G"),
    ("minlen", "E"),
    ("mode", "G"),
    ("model", "G"),
    ("mosek", "G"),
    ("newrank", "G"),
    ("nodesep", "G"),
    ("nojustify", "GCNE"),
    ("normalize", "G"),
    ("notranslate", "G"),
    ("nslimit", "G"),
    ("nslimit1", "G"),
    ("oneblock", "G"),
    ("ordering", "GN"),
    ("orientation", "GN"),
    ("outputorder", "G"),
    ("overlap", "G"),
    ("overlap_scaling", "G"),
    ("overlap_shrink", "G"),
    ("pack", "G"),
    ("packmode", "G"),
    ("pad", "G"),
    ("page", "G"),
    ("pagedir", "G"),
    ("pencolor", "C"),
    ("penwidth", "GCNE"),
    ("peripheries", "CN"),
    ("pin", "N"),
    ("pos", "NE"),
    ("quadtree", "G"),
    ("quantum", "G"),
    ("radius", "E"),
    ("rank", "S"),
    ("rankdir", "G"),
    ("ranksep", "G"),
    ("ratio", "G"),
    ("rects", "N"),
    ("regular", "N"),
    ("remincross", "G"),
    ("repulsiveforce", "G"),
    ("resolution", "G"),
    ("root", "GN"),
    ("rotate", "G"),
    ("rotation", "G"),
    ("samehead", "E"),
    ("sametail", "E"),
    ("samplepoints", "N"),
    ("scale", "G"),
    ("searchsize", "G"),
    ("sep", "G"),
    ("shape", "N"),
    ("shapefile", "N"),
    ("showboxes", "GNE"),
    ("sides", "N"),
    ("size", "G"),
    ("skew", "N"),
    ("smoothing", "G"),
    ("sortv", "GCN"),
    ("splines", "G"),
    ("start", "G"),
    ("style", "GCNE"),
    ("stylesheet", "G"),
    ("tailURL", "E"),
    ("tail_lp", "E"),
    ("tailclip", "E"),
    ("tailhref", "E"),
    ("taillabel", "E"),
    ("tailport", "E"),
    ("tailtarget", "E"),
    ("tailtooltip", "E"),
    ("target", "GCNE"),
    ("tooltip", "GCNE"),
    ("truecolor", "G"),
    ("vertices", "N"),
    ("viewport", "G"),
    ("voro_margin", "G"),
    ("weight", "E"),
    ("width", "N"),
    ("xdotversion", "GCNE"),
    ("xlabel", "NE"),
    ("xlp", "NE"),
    ("z", "N"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_and_says_where() {
        assert!(ATTRIBUTES.is_sorted_by_key(|(name, _)| name));
        for (name, used) in ATTRIBUTES {
            assert!(!used.is_empty(), "{name}");
            assert!(
                used.chars().all(|letter| "GSCNE".contains(letter)),
                "{name}"
            );
        }
        assert!(is_graphviz(Element::Cluster, "rank"));
        assert!(!is_graphviz(Element::Node, "rank"));
        assert_eq!(elements("shape"), ["a node"]);
        assert_eq!(elements("root"), ["the graph", "a node"]);
        assert!(elements("flavour").is_empty());
    }

    #[test]
    fn attributes_of_newer_versions_are_known() {
        // Graphviz 2.50, 9 and 14.1.
        assert!(is_graphviz(Element::Cluster, "cluster"));
        assert!(is_graphviz(Element::Graph, "TBbalance"));
        assert!(is_graphviz(Element::Edge, "radius"));
    }
}
