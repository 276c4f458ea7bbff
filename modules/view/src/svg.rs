//! Picture of a mapping as SVG, without Graphviz: hosts and their sockets, caches and cores, the OS
//! processes on them with their kinds and loads, and the traffic between OS processes.
//!
//! The elements have classes and attributes for style sheets and scripts:
//!
//! | class | element | attributes |
//! |---|---|---|
//! | `frame host`, `frame socket`, `frame cache` | part of the hardware | `data-host` |
//! | `core used`, `core free` | core | `data-core`, `data-os-process` |
//! | `os-process` | box | `data-os-process`, `data-host`, `data-load` |
//! | `arc arc-CLASS` | from box to box | `data-from`, `data-to`, `data-traffic`, `data-class` |
//! | `cell` | cell of the matrix | `data-from`, `data-to`, `data-traffic` |
//! | `class arc-CLASS` | class of distance in the legend | `data-class`, `data-traffic` |
//!
//! `data-os-process` of a box is a list of numbers and ranges. An arc names a box by its first OS
//! process. The classes of distance are `cache`, `socket`, `host`, `group`, `apart` (other group of
//! hosts) and `unknown`. Arcs and cells also have `data-channels`, the number of channels.

use crate::Scene;
use crate::mapping;
use crate::shown::{Detail, detail};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::mapping::Mapped;
use std::path::Path;

/// Emitter of `*.svg`.
pub struct Svg;

impl Emitter for Svg {
    fn name(&self) -> &str {
        "svg"
    }

    fn about(&self) -> &str {
        "a picture of the mapping: hardware, OS processes, their kinds, load and traffic"
    }

    fn options(&self) -> Option<&[&str]> {
        Some(&["detail"])
    }

    fn accepts(&self, path: &Path) -> bool {
        path.extension().is_some_and(|e| e == "svg")
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        // Boxes always list kinds. The option is checked only for its errors.
        detail(context, mapped)?;
        let scene = Scene::of(mapped, Detail::Kinds);
        let name = &mapped.network().name;
        files.generated(context.path, draw(name, &scene, context.platform));
        Ok(())
    }
}

/// Returns the SVG document for a scene. `name` is the title. Sockets, caches and cores are shown
/// only if the hardware has them.
///
/// From 50 OS processes on, OS processes that are alike share a box. At most 60 arcs are drawn. The
/// matrix shows all traffic.
///
/// # Panics
/// Panics if an index in the scene is out of range, or if there are OS processes without hosts.
pub fn draw(name: &str, scene: &Scene, hardware: Option<&Hardware>) -> String {
    mapping::draw(name, scene, hardware)
}
