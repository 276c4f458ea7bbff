//! Shapes of the elements of a network as JSON, for serde.

use crate::containers::Boxes;
use crate::declared::{BundleKind, Flow};
use crate::glue::GlueFunction;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::num::NonZeroU32;

/// Position of an element that could not be parsed.
#[derive(Deserialize)]
pub(super) struct SpanOnly {
    pub(super) span: Option<GivenSpan>,
}

/// Attributes that are kept and not interpreted.
pub(super) type AttributesJson<'a> = BTreeMap<Text<'a>, Text<'a>>;

/// A string, borrowed from the text if it has no escapes.
#[derive(Deserialize, PartialEq, Eq, PartialOrd, Ord)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] pub(super) Cow<'a, str>);

/// Name of a process that could not be parsed.
#[derive(Deserialize)]
pub(super) struct NameOnly<'a> {
    #[serde(borrow)]
    pub(super) name: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
pub(super) struct VersionOnly {
    pub(super) graphmap: Option<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Top<'a> {
    #[serde(rename = "graphmap")]
    pub(super) _version: u64,
    #[serde(default)]
    pub(super) name: String,
    #[serde(default, rename = "sources")]
    pub(super) _sources: Vec<String>,
    pub(super) skeleton: Option<String>,
    #[serde(borrow, default)]
    pub(super) attributes: AttributesJson<'a>,
    #[serde(borrow, default)]
    pub(super) modules: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) processes: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) channels: Vec<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) constraints: Vec<&'a RawValue>,
    #[serde(default)]
    pub(super) boxes: Vec<Boxes>,
    #[serde(default)]
    pub(super) environment: BTreeMap<String, String>,
    #[serde(default)]
    pub(super) glue: Vec<GlueFunction>,
    #[serde(borrow, default, rename = "kinds")]
    pub(super) _kinds: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "mapping")]
    pub(super) _mapping: Option<&'a RawValue>,
}

pub(super) type GivenSpan = (u32, u32, u32);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ModuleJson<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) parent: Option<usize>,
    #[serde(borrow, default)]
    pub(super) attributes: AttributesJson<'a>,
    pub(super) span: Option<GivenSpan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProcessJson<'a> {
    #[serde(borrow)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Option<Cow<'a, str>>,
    pub(super) module: Option<usize>,
    pub(super) load: Option<f64>,
    pub(super) mem: Option<f64>,
    #[serde(borrow, default)]
    pub(super) attributes: AttributesJson<'a>,
    #[serde(borrow)]
    pub(super) parameters: Option<Cow<'a, str>>,
    pub(super) arguments: Option<Vec<serde_json::Value>>,
    pub(super) span: Option<GivenSpan>,
}

#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum EndJson<'a> {
    Process(#[serde(borrow)] Cow<'a, str>),
    Port(#[serde(borrow)] Cow<'a, str>, #[serde(borrow)] Cow<'a, str>),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelJson<'a> {
    #[serde(borrow)]
    pub(super) from: &'a RawValue,
    #[serde(borrow)]
    pub(super) to: &'a RawValue,
    #[serde(borrow, rename = "type")]
    pub(super) ty: Option<Cow<'a, str>>,
    pub(super) capacity: Option<NonZeroU32>,
    #[serde(default)]
    pub(super) initial: u32,
    pub(super) tag: Option<i32>,
    pub(super) traffic: Option<f64>,
    pub(super) flow: Option<Flow>,
    pub(super) bundle: Option<BundleKind>,
    #[serde(borrow)]
    pub(super) bundle_name: Option<Cow<'a, str>>,
    pub(super) other_bundle: Option<BundleKind>,
    #[serde(borrow, default)]
    pub(super) attributes: AttributesJson<'a>,
    pub(super) span: Option<GivenSpan>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ConstraintJson<'a> {
    #[serde(borrow, default)]
    pub(super) processes: Vec<&'a RawValue>,
    pub(super) module: Option<usize>,
    pub(super) host: Option<String>,
    pub(super) osprocess: Option<u32>,
    pub(super) colocate: Option<String>,
    pub(super) separate: Option<String>,
    pub(super) program: Option<String>,
    pub(super) hold: Option<(u32, u32)>,
    pub(super) whole: Option<bool>,
    pub(super) prefer: Option<f64>,
    pub(super) span: Option<GivenSpan>,
}
