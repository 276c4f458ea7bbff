//! The version of the encoding, and the tag of each form.

pub(super) const VERSION: u8 = 2;

pub(super) const PROGRESSION: u8 = 0;
pub(super) const GRID: u8 = 1;
pub(super) const RUNS: u8 = 2;
pub(super) const RUN_LENGTHS: u8 = 3;
pub(super) const BITMAP: u8 = 4;
pub(super) const BARE_BITMAP: u8 = 5;
pub(super) const ELIAS_FANO: u8 = 6;
pub(super) const LIST: u8 = 7;
pub(super) const COMPLEMENT: u8 = 8;
pub(super) const COMPOSITION: u8 = 9;
pub(super) const CONCATENATION: u8 = 10;
pub(super) const SHORTCUTS: u8 = 11;
pub(super) const INVERSE: u8 = 12;
pub(super) const WAVELET: u8 = 13;
pub(super) const DIAGRAM: u8 = 14;
#[cfg(feature = "roaring")]
pub(super) const ROARING: u8 = 15;
