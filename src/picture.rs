//! Pictures of networks before they are mapped.

use graphmap_kpn::network::Verified;
use graphmap_view::MOST_PROCESSES;
use graphmap_view::network::draw;
use graphmap_view::picture::Picture;

/// Returns a picture of a network as SVG. It shows all processes, or one node for each kind if
/// there are more processes than can be distinguished.
///
/// `graphmap view FILE -o PATH.svg` writes the same picture. For a picture of a mapping, pass a
/// path that ends in `.svg` to [`emit`](crate::emit).
#[must_use]
pub fn to_svg(network: &Verified) -> String {
    draw(&match network.processes.len() > MOST_PROCESSES {
        true => Picture::of_kinds(network),
        false => Picture::of_processes(network),
    })
}
