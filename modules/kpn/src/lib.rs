//! The model of a process network, and the stages that build and check it.
//!
//! A network passes through these stages in order:
//!
//! 1. A front end produces a [`declared::Declared`].
//! 2. [`expand`] replaces abstract declarations by their instances.
//! 3. [`resolve`] joins the ends of channels. The result is a [`network::Network`].
//! 4. Passes ([`pass`]) change the network.
//! 5. [`infer`] checks the integrity of the network and returns an [`infer::Inferred`].
//! 6. [`verify`] checks all other properties and returns a [`network::Verified`].
//! 7. A mapping is added ([`mapping::Mapped`]). A [`mapper`] may find it.
//! 8. Emitters ([`emit`]) write files from the mapped network.

// docs.rs shows the feature that each item requires.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod arena;
pub mod arguments;
pub mod attributes;
#[cfg(any(test, feature = "breaks"))]
pub mod breaks;
pub mod bundles;
pub mod c_text;
pub mod codes;
pub mod compose;
pub mod containers;
pub mod controls;
pub mod cycles;
pub mod declared;
pub mod diagnostic;
pub mod emit;
pub mod expand;
pub mod expression;
pub mod foreign;
pub mod glue;
mod groups;
pub mod hardware;
pub mod identifier;
pub mod infer;
pub mod input;
pub mod integrity;
pub mod json;
pub mod level;
mod limited;
pub mod mapper;
pub mod mapping;
pub mod names;
pub mod nearest;
pub mod network;
mod parts;
pub mod pass;
pub mod pipeline;
pub mod placed;
pub mod programs;
pub mod resolve;
pub mod size;
pub mod sizes;
pub mod source;
pub mod verify;
pub mod version;
