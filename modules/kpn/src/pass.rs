//! Passes, which change a network between its verification and its mapping.
//!
//! A pass changes loads, capacities or names in place, or creates a new network. For a new network,
//! read it with [`crate::json`], or declare it and call [`crate::resolve`]. The result may be
//! invalid, because [`crate::pipeline`] verifies it.

use crate::diagnostic::Diagnostics;
use crate::hardware::Hardware;
use crate::network::Network;
use std::collections::BTreeMap;

/// Input and output of a pass.
#[non_exhaustive]
pub struct PassContext<'a> {
    /// Network to change.
    pub network: &'a mut Network,
    /// Options of the command line (`--set NAME=VALUE`).
    pub options: &'a BTreeMap<String, String>,
    /// Platform, if the command states one (`--hosts`, `-n`).
    pub platform: Option<&'a Hardware>,
    /// Diagnostics that do not make the pass fail.
    pub diagnostics: &'a mut Diagnostics,
}

/// A step that changes a verified network.
pub trait Pass {
    /// Returns the name, as in `--pass NAME`.
    fn name(&self) -> &str;

    /// Returns one line for `graphmap passes`.
    fn about(&self) -> &str;

    /// Returns the names of the options (`--set NAME=VALUE`) that the pass reads.
    ///
    /// A name that ends with a dot covers all options that begin with it. `None` means that the
    /// pass may read any option.
    fn options(&self) -> Option<&[&str]> {
        None
    }

    /// Changes the network.
    ///
    /// # Errors
    /// Returns the reasons why the pass failed. The run then ends.
    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics>;
}
