//! The copy of the program that belongs to a rank.

use std::cell::Cell;

use super::load::Image;
use crate::rank::{Part, Slot};

/// The copy of the program of a rank, until the rank ends. It stays loaded until the OS process
/// ends.
#[derive(Default)]
pub(crate) struct OwnImage(pub(crate) Cell<Option<&'static Image>>);

impl Part for OwnImage {
    const SLOT: Slot = Slot::OwnImage;
}
