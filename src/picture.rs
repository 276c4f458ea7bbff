//! Pictures of networks before they are mapped.

use graphmap_kpn::network::Verified;
use graphmap_view::MOST_PROCESSES;
use graphmap_view::network::draw;
use graphmap_view::picture::Picture;

/// A picture of a network as SVG: all its processes, or one node for each kind where there are too many to
/// be told apart.
///
/// This is what `graphmap view FILE -o PATH.svg` writes; a picture of a mapping is what [`emit`](crate::emit)
/// makes of a path that ends in `.svg`.
#[must_use]
pub fn to_svg(network: &Verified) -> String {
    draw(&match network.processes.len() > MOST_PROCESSES {
        true => Picture::of_kinds(network),
        false => Picture::of_processes(network),
    })
}
