//! The model of a process network and what every other part of graphmap needs to speak of it.
//!
//! Data flows one way: a front end makes [`declared::Declared`], [`expand`] repeats what is
//! declared once for many, [`resolve`] joins the ends into a [`network::Network`], passes change
//! it, [`infer`] checks that its parts fit together and makes it [`infer::Inferred`], [`verify`] makes
//! that [`network::Verified`], a mapping makes it [`mapping::Mapped`], and emitters write files from
//! that.

// docs.rs says which feature an item comes with.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod arena;
#[cfg(any(test, feature = "breaks"))]
pub mod breaks;
pub mod bundles;
pub mod codes;
pub mod controls;
pub mod cycles;
pub mod declared;
pub mod diagnostic;
pub mod emit;
pub mod expand;
pub mod foreign;
pub mod hardware;
pub mod identifier;
pub mod infer;
pub mod input;
pub mod integrity;
pub mod json;
pub mod level;
pub mod mapping;
pub mod names;
pub mod nearest;
pub mod network;
mod parts;
pub mod pass;
pub mod pipeline;
pub mod placed;
pub mod resolve;
pub mod size;
pub mod source;
mod told;
pub mod verify;
pub mod version;
