//! Pictures of networks before they are mapped.

use graphmap_kpn::network::Verified;
use graphmap_view::draw;
use graphmap_view::picture::Picture;

/// Returns a picture of a network as SVG. It shows all processes, or samples of repeated modules and
/// processes if there are more than can be distinguished.
///
/// `graphmap view FILE -o PATH.svg` writes the same picture. For a picture of a mapping, pass a
/// path that ends in `.svg` to [`emit`](crate::emit).
#[must_use]
pub fn to_svg(network: &Verified) -> String {
    draw(&Picture::of_network(network))
}
