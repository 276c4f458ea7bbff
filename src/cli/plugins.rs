//! External passes, strategies, emitters and front ends that are ended together with graphmap.

use crate::cli::signals::Guard;
use crate::front_end::{self, FrontEnd};
use crate::search::ReadOptions;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::mapper::{MapContext, Mapper, Proposal};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::pass::{Pass, PassContext};
use graphmap_kpn::source::SourceMap;
use graphmap_plugin::External;
use std::collections::BTreeMap;
use std::path::Path;

/// An external pass or emitter that is ended together with graphmap.
pub(crate) struct Guarded(pub(crate) External);

impl Pass for Guarded {
    fn name(&self) -> &str {
        Pass::name(&self.0)
    }

    fn about(&self) -> &str {
        Pass::about(&self.0)
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let _guard = Guard::new();
        Pass::run(&self.0, context)
    }
}

impl Emitter for Guarded {
    fn name(&self) -> &str {
        Emitter::name(&self.0)
    }

    fn about(&self) -> &str {
        Emitter::about(&self.0)
    }

    fn accepts(&self, path: &Path) -> bool {
        self.0.accepts(path)
    }

    fn usual_file(&self) -> Option<&str> {
        self.0.usual_file()
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let _guard = Guard::new();
        self.0.emit(mapped, context, files)
    }
}

/// An external strategy that is ended together with graphmap.
pub(crate) struct GuardedMapper {
    pub(crate) external: External,
    /// Options of the command line (`--set NAME=VALUE`).
    pub(crate) options: BTreeMap<String, String>,
}

impl Mapper for GuardedMapper {
    fn name(&self) -> &str {
        &self.external.name
    }

    fn map(&self, context: &mut MapContext<'_>) -> Result<Proposal, Diagnostics> {
        let _guard = Guard::new();
        self.external.map(context, &self.options)
    }
}

/// An external front end that is ended together with graphmap.
pub(crate) struct Reader {
    pub(crate) external: External,
    /// Options of the command line (`--set NAME=VALUE`).
    pub(crate) options: BTreeMap<String, String>,
}

impl FrontEnd for Reader {
    fn name(&self) -> &str {
        &self.external.name
    }

    fn about(&self) -> &str {
        "external"
    }

    fn accepts(&self, _: &Path) -> bool {
        // The name of a file must not start a program.
        false
    }

    fn has_sizes(&self) -> bool {
        false
    }

    fn read(
        &self,
        name: &str,
        bytes: Vec<u8>,
        // The protocol has no sizes.
        _: &ReadOptions,
        sources: &mut SourceMap,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let source = front_end::text(name, bytes, sources)?;
        let _guard = Guard::new();
        let (mut declared, found) = self.external.read(&source, sources, &self.options)?;
        if declared.name.is_empty() {
            declared.name = front_end::stem(name);
        }
        Ok((declared, found))
    }
}
