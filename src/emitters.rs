//! Emitters that need only the model.

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
