//! The built-in skeletons, which are the files of the folder `skeletons`.

use graphmap_wiring::skeleton::BuiltIn;

macro_rules! embed {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../skeletons/", $name, ".hbs")))),*]
    };
}

/// The built-in skeletons and their families.
pub(crate) static BUILT_IN: BuiltIn = BuiltIn {
    families: include_str!("../skeletons/families.toml"),
    skeletons: embed! {
        "pilot/_header"
        "pilot/_makefile"
        "pilot/_ports"
        "pilot/_process"
        "pilot/explicit"
        "project/cargo"
        "project/gitignore"
        "project/glue"
        "project/main"
        "project/process"
        "project/processes"
        "project/readme"
        "project/types"
        "ranks/cargo"
        "ranks/main"
        "ranks/readme"
        "ranks/ring"
        "rust/_calls"
        "rust/_glue"
        "rust/_head"
        "rust/_names"
        "rust/_network"
        "rust/_ports"
        "rust/_sizes"
        "rust/chain"
        "rust/explicit"
        "rust/farm"
        "rust/grid"
        "rust/tree"
    },
};
