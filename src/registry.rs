//! Front ends, passes, strategies and emitters by name.

use crate::front_end::{self, FrontEnd};
use crate::report::Error;
use crate::{emitters, skeletons, weights};
use graphmap_kpn::emit::Emitter;
use graphmap_kpn::pass::Pass;
use graphmap_partition::Strategy;
use std::fmt;
use std::path::Path;

/// Front ends, passes, strategies and emitters, which can be looked up by name. Front ends and
/// emitters can also be looked up by the path of a file.
///
/// [`Registry::new`] contains the built-in ones. If several match, the first one is used.
pub struct Registry {
    front_ends: Vec<Box<dyn FrontEnd + Send + Sync>>,
    passes: Vec<Box<dyn Pass + Send + Sync>>,
    emitters: Vec<Box<dyn Emitter + Send + Sync>>,
    /// Strategies in addition to the built-in ones of the engine.
    strategies: Vec<Strategy>,
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let front_ends: Vec<&str> = self.front_ends().map(|f| f.name()).collect();
        let passes: Vec<&str> = self.passes().map(|p| p.name()).collect();
        let emitters: Vec<&str> = self.emitters().map(|e| e.name()).collect();
        f.debug_struct("Registry")
            .field("front_ends", &front_ends)
            .field("passes", &passes)
            .field("emitters", &emitters)
            .field("strategies", &self.strategies)
            .finish()
    }
}

impl Default for Registry {
    fn default() -> Registry {
        Registry::new()
    }
}

impl Registry {
    /// Returns a registry with the built-in front ends, passes and emitters.
    #[must_use]
    pub fn new() -> Registry {
        let mut registry = Registry::empty()
            .front_end(front_end::Dot)
            .front_end(front_end::Json)
            .front_end(front_end::GRAPHML)
            .front_end(front_end::NODE_LINK)
            .front_end(crate::cpa::Cpa)
            .pass(weights::Weights)
            .emitter(graphmap_view::dot::MappedDot)
            .emitter(graphmap_view::svg::Svg)
            .emitter(graphmap_wiring::emitters::ModelEmitter)
            .emitter(graphmap_wiring::tables::TablesEmitter);
        for emitter in graphmap_wiring::emitters::built_in(&skeletons::BUILT_IN) {
            registry = registry.emitter(emitter);
        }
        registry.emitters.extend(graphmap_binding::emitters());
        let registry = registry
            .emitter(emitters::GraphMl)
            .emitter(emitters::Cpa)
            .emitter(emitters::NodeLink);
        // Must be last, because it accepts every `*.json`.
        registry.emitter(emitters::Json)
    }

    /// Returns an empty registry, which still finds the strategies of the engine.
    #[must_use]
    pub fn empty() -> Registry {
        Registry {
            front_ends: Vec::new(),
            passes: Vec::new(),
            emitters: Vec::new(),
            strategies: Vec::new(),
        }
    }

    /// Adds a front end. The first one reads input without a path, such as standard input.
    #[must_use]
    pub fn front_end(mut self, front_end: impl FrontEnd + Send + Sync + 'static) -> Registry {
        self.front_ends.push(Box::new(front_end));
        self
    }

    /// Adds a pass.
    #[must_use]
    pub fn pass(mut self, pass: impl Pass + Send + Sync + 'static) -> Registry {
        self.passes.push(Box::new(pass));
        self
    }

    /// Adds an emitter.
    #[must_use]
    pub fn emitter(mut self, emitter: impl Emitter + Send + Sync + 'static) -> Registry {
        self.emitters.push(Box::new(emitter));
        self
    }

    /// Adds a strategy. It takes precedence over a strategy of the engine with the same name.
    #[must_use]
    pub fn strategy(mut self, strategy: Strategy) -> Registry {
        self.strategies.push(strategy);
        self
    }

    /// Returns all front ends in the order in which they were added.
    pub fn front_ends(&self) -> impl Iterator<Item = &dyn FrontEnd> {
        self.front_ends.iter().map(|f| &**f as _)
    }

    /// Returns all passes in the order in which they were added.
    pub fn passes(&self) -> impl Iterator<Item = &dyn Pass> {
        self.passes.iter().map(|p| &**p as _)
    }

    /// Returns all emitters in the order in which they were added.
    pub fn emitters(&self) -> impl Iterator<Item = &dyn Emitter> {
        self.emitters.iter().map(|e| &**e as _)
    }

    /// Returns all strategies: first the added ones, in that order, then the built-in ones.
    pub fn strategies(&self) -> impl Iterator<Item = &Strategy> {
        let engine = graphmap_partition::strategies();
        let engine = engine.map(|strategy| -> &Strategy { strategy });
        let even = std::iter::once(graphmap_plan::even_strategy());
        self.strategies.iter().chain(engine).chain(even)
    }

    /// Returns the first front end with this name, or `None` if none has it.
    pub fn front_end_named(&self, name: &str) -> Option<&dyn FrontEnd> {
        self.front_ends().find(|f| f.name() == name)
    }

    /// Returns the first front end that accepts this path ([`FrontEnd::accepts`]), or `None` if
    /// none does. The file is not read.
    pub fn front_end_of(&self, path: &Path) -> Option<&dyn FrontEnd> {
        self.front_ends().find(|f| f.accepts(path))
    }

    /// Returns the first pass with this name, or `None` if none has it.
    pub fn pass_named(&self, name: &str) -> Option<&dyn Pass> {
        self.passes().find(|p| p.name() == name)
    }

    /// Returns the strategy with this name, for [`Request::options`](crate::Request::options).
    ///
    /// # Errors
    /// Returns an error, with the nearest name, if no strategy has this name. Returns an error if
    /// the strategy is not compiled in.
    pub fn strategy_named(&self, name: &str) -> Result<Strategy, Error> {
        graphmap_plan::strategy(name, &self.strategies).map_err(Error::without_text)
    }

    /// Returns the first emitter with this name, or `None` if none has it.
    pub fn emitter_named(&self, name: &str) -> Option<&dyn Emitter> {
        self.emitters().find(|e| e.name() == name)
    }

    /// Returns the first emitter that accepts this path ([`Emitter::accepts`]), or `None` if none
    /// does.
    pub fn emitter_of(&self, path: &Path) -> Option<&dyn Emitter> {
        self.emitters().find(|e| e.accepts(path))
    }
}
