//! The front ends, passes and emitters of graphmap.

use std::sync::LazyLock;

pub(crate) static REGISTRY: LazyLock<graphmap::Registry> = LazyLock::new(graphmap::Registry::new);
