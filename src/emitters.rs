//! Emitters that need only the model.

use crate::front_end::ends_with;
use graphmap_dot::write::lost;
use graphmap_exchange::{graphml, node_link};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::json;
use graphmap_kpn::mapping::Mapped;
use std::path::Path;

/// Writes the network with its mapping as JSON.
pub(crate) struct Json;

impl Emitter for Json {
    fn name(&self) -> &str {
        "json"
    }

    fn about(&self) -> &str {
        "the network with its mapping as JSON"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "json")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let text = json::write(mapped.network(), Some(mapped.mapping())) + "\n";
        files.generated(context.path, text);
        Ok(())
    }
}

/// Writes the network as GraphML.
pub(crate) struct GraphMl;

impl Emitter for GraphMl {
    fn name(&self) -> &str {
        "graphml"
    }

    fn about(&self) -> &str {
        "the network as GraphML"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, &["graphml"])
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let text = graphml::write(mapped.network())?;
        context.diagnostics.extend(lost(mapped.network()));
        files.generated(context.path, text);
        Ok(())
    }
}

/// Writes the network in the notation of (CM)2PI.
pub(crate) struct Cpa;

impl Emitter for Cpa {
    fn name(&self) -> &str {
        "cpa"
    }

    fn about(&self) -> &str {
        "the network in the notation of (CM)2PI"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
    }

    fn accepts(&self, path: &Path) -> bool {
        ends_with(path, &["cpa"])
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let text = graphmap_cpa::write(mapped.network())?;
        files.generated(context.path, text);
        Ok(())
    }
}

/// Writes the network as node-link JSON.
pub(crate) struct NodeLink;

impl Emitter for NodeLink {
    fn name(&self) -> &str {
        "node-link"
    }

    fn about(&self) -> &str {
        "the network as node-link JSON, which NetworkX reads"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&[])
    }

    fn accepts(&self, _: &Path) -> bool {
        false
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        context.diagnostics.extend(lost(mapped.network()));
        files.generated(context.path, node_link::write(mapped.network()));
        Ok(())
    }
}
