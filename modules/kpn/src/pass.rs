//! Passes: what changes a network between its verification and its mapping.
//!
//! A pass changes loads, capacities or names in place, or makes a new network: take
//! [`crate::json`], or declare one and [`crate::resolve`] it. It need not leave a sound network
//! behind: [`crate::pipeline`] verifies what comes out.

use crate::diagnostic::Diagnostics;
use crate::hardware::Hardware;
use crate::network::Network;
use std::collections::BTreeMap;

/// What a pass works on.
#[non_exhaustive]
pub struct PassContext<'a> {
    /// The network, to be changed.
    pub network: &'a mut Network,
    /// Options of the command line (`--set NAME=VALUE`), for the pass to read.
    pub options: &'a BTreeMap<String, String>,
    /// What it is to run on, where the command says so (`--hosts`, `-n`).
    pub platform: Option<&'a Hardware>,
    /// Findings that do not keep the pass from its work.
    pub diagnostics: &'a mut Diagnostics,
}

/// One step between a verified network and the next.
pub trait Pass {
    /// Its name, as in `--pass NAME`.
    fn name(&self) -> &str;

    /// One line for `graphmap passes`.
    fn about(&self) -> &str;

    /// Names of the options (`--set NAME=VALUE`) that it reads; a name that ends with a dot stands for
    /// all that begin so. `None`: any option may be for it.
    fn options(&self) -> Option<&[&str]> {
        None
    }

    /// Changes the network.
    ///
    /// # Errors
    /// All that keeps the pass from its work; the run ends there.
    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics>;
}
