//! The copy of the program that belongs to a rank.

use std::cell::RefCell;

use super::load::Image;
use crate::rank::{Part, Slot};

/// The copy of the program of a rank. It stays loaded until the OS process ends.
#[derive(Default)]
pub(crate) struct OwnImage(pub(crate) RefCell<Option<Image>>);

impl Part for OwnImage {
    const SLOT: Slot = Slot::OwnImage;
}
