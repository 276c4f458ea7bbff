//! Glue functions of a network, as skeletons see them.

use crate::identifier::{Case, Identifiers, Language};
use graphmap_kpn::glue::{GlueFunction, Stage};
use graphmap_kpn::network::Network;
use serde::Serialize;
use std::collections::BTreeMap;

/// The glue functions of a network.
#[derive(Clone, Debug, Default, Serialize)]
pub struct GlueModel {
    /// Identifiers of all functions in Rust, each once.
    pub functions: Vec<String>,
    /// Functions at the start of each OS process.
    pub maininit: Vec<CallModel>,
    /// Functions before the processes and channels are made.
    pub mapinit: Vec<CallModel>,
    /// Functions after the processes and channels are made.
    pub mapfinalize: Vec<CallModel>,
    /// Functions before the function of each process.
    pub getparams: Vec<CallModel>,
    /// Functions after the function of each process.
    pub freeparams: Vec<CallModel>,
    /// Functions after the run.
    pub maincleanup: Vec<CallModel>,
    /// Whether functions are called around each process.
    pub around: bool,
}

/// A call of a glue function.
#[derive(Clone, Debug, Serialize)]
pub struct CallModel {
    /// Identifier of the function in Rust.
    pub function: String,
    /// Environment variable that must have the value `value`. Empty for no condition.
    pub variable: String,
    /// The value.
    pub value: String,
}

impl GlueModel {
    /// Returns the glue functions of a network, or `None` if it has none.
    pub(crate) fn of(network: &Network) -> Option<GlueModel> {
        if network.glue.is_empty() {
            return None;
        }
        let mut identifiers = Identifiers::new(Language::Rust, &[]);
        let mut known: BTreeMap<&str, String> = BTreeMap::new();
        let mut functions = Vec::new();
        for glue in &network.glue {
            known.entry(&glue.function).or_insert_with(|| {
                let (function, _) = identifiers.take(&glue.function, Case::Snake);
                functions.push(function.clone());
                function
            });
        }
        let calls = |stage: Stage| -> Vec<CallModel> {
            let of_stage = network.glue.iter().filter(|glue| glue.stage == stage);
            let call = |glue: &GlueFunction| {
                let (variable, value) = glue.condition.clone().unwrap_or_default();
                CallModel {
                    function: known[&*glue.function].clone(),
                    variable,
                    value,
                }
            };
            of_stage.map(call).collect()
        };
        let (getparams, freeparams) = (calls(Stage::GetParams), calls(Stage::FreeParams));
        Some(GlueModel {
            maininit: calls(Stage::MainInit),
            mapinit: calls(Stage::MapInit),
            mapfinalize: calls(Stage::MapFinalize),
            maincleanup: calls(Stage::MainCleanup),
            around: !getparams.is_empty() || !freeparams.is_empty(),
            getparams,
            freeparams,
            functions,
        })
    }
}
