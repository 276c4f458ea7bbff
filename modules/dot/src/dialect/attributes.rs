//! The attributes that belong to Graphviz itself, by what they stand on.
//!
//! From Graphviz's attribute reference, with those that its output adds (`pos`, `bb`, `_draw_`).
//! They pass silently; what is neither here nor in the dialect is reported.

use super::keys::Element;

/// Whether Graphviz knows an attribute on an element.
///
/// Attributes of the graph may stand on clusters and subgraphs too: they are inherited there, and
/// Graphviz itself writes them so.
pub(crate) fn is_graphviz(element: Element, name: &str) -> bool {
    let mut lists = lists(element).iter();
    lists.any(|list| list.binary_search(&name).is_ok())
}

/// Graphviz's own attributes of an element that people write, for hints.
pub(crate) fn graphviz(element: Element) -> impl Iterator<Item = &'static str> {
    let names = lists(element).iter().flat_map(|list| list.iter().copied());
    names.filter(|name| !name.starts_with('_'))
}

fn lists(element: Element) -> &'static [&'static [&'static str]] {
    match element {
        Element::Graph | Element::Cluster | Element::Subgraph => &[GRAPH, CLUSTER, ALL],
        Element::Node => &[NODE, ALL],
        Element::Edge => &[EDGE, ALL],
    }
}

/// On everything.
const ALL: &[&str] = &[
    "URL",
    "_draw_",
    "_ldraw_",
    "class",
    "color",
    "colorscheme",
    "comment",
    "fontcolor",
    "fontname",
    "fontsize",
    "href",
    "id",
    "label",
    "layer",
    "lp",
    "nojustify",
    "penwidth",
    "style",
    "target",
    "tooltip",
    "xdotversion",
];

const GRAPH: &[&str] = &[
    "Damping",
    "K",
    "_background",
    "bb",
    "beautify",
    "bgcolor",
    "center",
    "charset",
    "clusterrank",
    "compound",
    "concentrate",
    "defaultdist",
    "dim",
    "dimen",
    "diredgeconstraints",
    "dpi",
    "epsilon",
    "esep",
    "fontnames",
    "fontpath",
    "forcelabels",
    "gradientangle",
    "imagepath",
    "inputscale",
    "label_scheme",
    "labeljust",
    "labelloc",
    "landscape",
    "layerlistsep",
    "layers",
    "layerselect",
    "layersep",
    "layout",
    "len",
    "levels",
    "levelsgap",
    "lheight",
    "linelength",
    "lwidth",
    "margin",
    "maxiter",
    "mclimit",
    "mindist",
    "mode",
    "model",
    "newrank",
    "nodesep",
    "normalize",
    "notranslate",
    "nslimit",
    "nslimit1",
    "oneblock",
    "ordering",
    "orientation",
    "outputorder",
    "overlap",
    "overlap_scaling",
    "overlap_shrink",
    "pack",
    "packmode",
    "pad",
    "page",
    "pagedir",
    "quadtree",
    "quantum",
    "rank",
    "rankdir",
    "ranksep",
    "ratio",
    "rects",
    "remincross",
    "repulsiveforce",
    "resolution",
    "root",
    "rotate",
    "rotation",
    "scale",
    "searchsize",
    "sep",
    "showboxes",
    "size",
    "smoothing",
    "sortv",
    "splines",
    "start",
    "stylesheet",
    "truecolor",
    "viewport",
    "voro_margin",
];

const CLUSTER: &[&str] = &[
    "K",
    "area",
    "bgcolor",
    "cluster",
    "fillcolor",
    "gradientangle",
    "labeljust",
    "labelloc",
    "lheight",
    "lwidth",
    "margin",
    "pencolor",
    "peripheries",
    "sortv",
];

const NODE: &[&str] = &[
    "area",
    "distortion",
    "fillcolor",
    "fixedsize",
    "gradientangle",
    "group",
    "height",
    "image",
    "imagepos",
    "imagescale",
    "labelloc",
    "margin",
    "ordering",
    "orientation",
    "peripheries",
    "pin",
    "pos",
    "rects",
    "regular",
    "root",
    "samplepoints",
    "shape",
    "shapefile",
    "showboxes",
    "sides",
    "skew",
    "sortv",
    "vertices",
    "width",
    "xlabel",
    "xlp",
    "z",
];

const EDGE: &[&str] = &[
    "_hdraw_",
    "_hldraw_",
    "_tdraw_",
    "_tldraw_",
    "arrowhead",
    "arrowsize",
    "arrowtail",
    "constraint",
    "decorate",
    "dir",
    "edgeURL",
    "edgehref",
    "edgetarget",
    "edgetooltip",
    "fillcolor",
    "headURL",
    "head_lp",
    "headclip",
    "headhref",
    "headlabel",
    "headport",
    "headtarget",
    "headtooltip",
    "key",
    "labelURL",
    "labelangle",
    "labeldistance",
    "labelfloat",
    "labelfontcolor",
    "labelfontname",
    "labelfontsize",
    "labelhref",
    "labeltarget",
    "labeltooltip",
    "len",
    "lhead",
    "ltail",
    "minlen",
    "pos",
    "samehead",
    "sametail",
    "showboxes",
    "tailURL",
    "tail_lp",
    "tailclip",
    "tailhref",
    "taillabel",
    "tailport",
    "tailtarget",
    "tailtooltip",
    "weight",
    "xlabel",
    "xlp",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted() {
        for list in [ALL, GRAPH, CLUSTER, NODE, EDGE] {
            assert!(list.is_sorted(), "{list:?}");
        }
        assert!(is_graphviz(Element::Cluster, "rank"));
        assert!(!is_graphviz(Element::Node, "rank"));
    }
}
