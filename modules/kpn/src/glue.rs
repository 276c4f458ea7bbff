//! Glue: functions of the project that are called around the run, the mapping and the processes.

use serde::{Deserialize, Serialize};

/// A function of the project, and when it is called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GlueFunction {
    /// When it is called.
    pub stage: Stage,
    /// Its name.
    pub function: String,
    /// Header of the function in C.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub header: String,
    /// Environment variable and the value that it must have. By default, the function is always
    /// called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<(String, String)>,
}

/// When a glue function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// At the start of each OS process.
    MainInit,
    /// In each OS process, before the processes and channels are made.
    MapInit,
    /// In each OS process, after the processes and channels are made.
    MapFinalize,
    /// In each process, before its function.
    GetParams,
    /// In each process, after its function has returned.
    FreeParams,
    /// In each OS process, after the run.
    MainCleanup,
}

impl Stage {
    /// All stages.
    pub const ALL: [Stage; 6] = [
        Stage::MainInit,
        Stage::MapInit,
        Stage::MapFinalize,
        Stage::GetParams,
        Stage::FreeParams,
        Stage::MainCleanup,
    ];

    /// Returns the name, as in the notation of (CM)2PI.
    pub fn name(self) -> &'static str {
        match self {
            Stage::MainInit => "maininit",
            Stage::MapInit => "mapinit",
            Stage::MapFinalize => "mapfinalize",
            Stage::GetParams => "getparams",
            Stage::FreeParams => "freeparams",
            Stage::MainCleanup => "maincleanup",
        }
    }
}
