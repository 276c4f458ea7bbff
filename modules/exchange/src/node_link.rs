//! Node-link JSON, as `node_link_data` of NetworkX writes it.
//!
//! The graph is an object with the members `directed`, `multigraph`, `graph`, `nodes` and `edges`
//! (`links` in older files). A node has an `id`, and an edge has a `source` and a `target`. All
//! other members of nodes and edges are attributes of the graph language, and so are the members of
//! `graph`, except for `name` and `modules`.
//!
//! The attribute `module` of a node is the id of an entry of `modules`, or a path `a/b`: the module
//! `b` in the module `a`. An entry of `modules` has an `id`, and may have a `parent`, which must
//! precede it. Its other members are attributes of the module. `memory` of a node is the attribute
//! `mem`, because the Python package uses this name. The node `NULL` is the environment, and need
//! not be declared.

mod read;
mod write;

pub use read::{is_node_link, read};
pub use write::write;
