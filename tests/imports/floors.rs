//! On which floor each module of a crate stands.

/// The floors of the runtime, from the ground up: what stands on a floor may use what is below it, or
/// in the same folder.
const RUNTIME: &[&str] = &[
    "visible",
    "os_signal",
    "file_limit",
    "unnamed",
    "own_stream",
    "sync",
    "copy",
    "payload",
    "place",
    "sequence",
    "block",
    "overgrown",
    "error",
    "pin",
    "say",
    "prefix",
    "output_file",
    "clock",
    "host",
    "quote",
    "trace",
    "running",
    "options",
    "placement",
    "link",
    "usr1",
    "exec",
    "mpi",
    "kpn",
    "stats",
    "chrome",
    "outputs",
    "relatives",
    "panics",
    "run",
    "local",
    "launcher",
    "entry",
    "lib",
];

/// Those of the stacks.
const STACK: &[&str] = &[
    "system",
    "budget",
    "label",
    "shape",
    "error",
    "options",
    "registry",
    "alternate",
    "overflow",
    "canary",
    "slab",
    "pool",
    "current",
    "fiber",
    "lib",
];

/// Those of the rank maps.
const RANKMAP: &[&str] = &[
    "error",
    "bits",
    "bit_vector",
    "division",
    "progression",
    "form",
    "map",
    "representation",
    "memory",
    "survey",
    "choose",
    "build",
    "merge",
    "compose",
    "group",
    "split",
    "topology",
    "wire",
    "lib",
];

/// Those of the mapping engine.
const PARTITION: &[&str] = &[
    "tuning",
    "random",
    "union",
    "delta_debugging",
    "clusters",
    "csr",
    "watch",
    "budget",
    "error",
    "graph",
    "machine",
    "scale",
    "problem",
    "evaluate",
    "quota",
    "draft",
    "pigeonhole",
    "constraints",
    "explain",
    "instance",
    "feasibility",
    "bound",
    "multilevel",
    "refine",
    "pack",
    "exact",
    "proof",
    "diagnose",
    "large",
    "strategy",
    "solve",
    "lib",
];

/// Those of the planner.
const PLAN: &[&str] = &[
    "codes",
    "pattern",
    "language",
    "names",
    "spots",
    "translate",
    "previous",
    "request",
    "rules",
    "failure",
    "bare",
    "plan",
    "lib",
];

/// Those of the model.
const KPN: &[&str] = &[
    "arena",
    "controls",
    "hardware",
    "input",
    "nearest",
    "size",
    "source",
    "level",
    "diagnostic",
    "told",
    "names",
    "codes",
    "declared",
    "parts",
    "network",
    "expand",
    "bundles",
    "resolve",
    "mapping",
    "pass",
    "emit",
    "json",
    "integrity",
    "infer",
    "verify",
    "pipeline",
    "breaks",
    "lib",
];

/// Those of the plug-ins.
const PLUGIN: &[&str] = &[
    "codes", "external", "search", "reply", "process", "ask", "lib",
];

/// Those of the library's face, with the command on top.
const FACE: &[&str] = &[
    "codes",
    "visible",
    "render",
    "report",
    "levels",
    "identity",
    "write",
    "dot",
    "emitters",
    "weights",
    "front_end",
    "builder",
    "registry",
    "flow",
    "program",
    "cli",
    "tool",
    "lib",
    "main",
];

/// Those of the reader of DOT.
const DOT: &[&str] = &[
    "codes", "decode", "token", "lexer", "compose", "events", "recent", "graph", "mistakes",
    "scan", "parser", "dialect", "fmt", "lib",
];

/// Those of the readers of hostfiles.
const PLATFORM: &[&str] = &[
    "codes",
    "distance",
    "keys",
    "model",
    "report",
    "hardware",
    "local",
    "slot",
    "text",
    "dialect",
    "hwloc",
    "build",
    "mpich",
    "nodelist",
    "openmpi",
    "intel",
    "slurm",
    "synthetic",
    "read",
    "lib",
];

/// Those of wiring.
const WIRING: &[&str] = &[
    "codes",
    "layout",
    "lexer",
    "sources",
    "budget",
    "identifier",
    "inert",
    "definitions",
    "positions",
    "sequence",
    "structure",
    "testing",
    "signature",
    "classes",
    "helpers",
    "names",
    "payload",
    "context",
    "skeleton",
    "changes",
    "family",
    "rustc",
    "doubts",
    "emitters",
    "project",
    "ranks_project",
    "formats",
    "foreign",
    "lib",
];

/// Those of the pictures.
const VIEW: &[&str] = &[
    "colour", "layers", "picture", "shown", "dot", "svg", "network", "lib",
];

/// Those of what launchers read.
const BINDING: &[&str] = &[
    "codes",
    "launch",
    "mapping_json",
    "fgmpi",
    "mpich",
    "openmpi",
    "slurm",
    "intel",
    "command",
    "emitters",
    "lib",
];

/// Those of the ranks under rsmpi's API.
const MPI: &[&str] = &[
    "abi",
    "lazy",
    "raw",
    "threading",
    "attribute",
    "life",
    "shared",
    "rank",
    "fiber",
    "datatype",
    "operation",
    "place",
    "topology",
    "environment",
    "status",
    "request",
    "collective",
    "point_to_point",
    "run",
    "ffi",
    "lib",
];

/// Those of the link over MPI.
const LINK_MPI: &[&str] = &[
    "bell",
    "digest",
    "frames",
    "printed",
    "waves",
    "nap",
    "calls",
    "finalize",
    "launchers",
    "messages",
    "unreachable",
    "link",
    "lib",
];

/// Those of the files of other partitioners.
const GRAPHFILE: &[&str] = &["codes", "text", "edges", "file", "metis", "scotch", "lib"];

/// The floors of each crate but the command.
/// Those of what finds what ranks share.
const SHARING: &[&str] = &[
    "codes",
    "reach",
    "facts",
    "names",
    "depth",
    "known_macros",
    "shape",
    "judge",
    "look",
    "read",
    "tree",
    "tell",
    "packages",
    "lib",
];

pub(crate) const FLOORS: &[(&str, &[&str])] = &[
    ("runtime", RUNTIME),
    ("stack", STACK),
    ("rankmap", RANKMAP),
    ("", FACE),
    ("partition", PARTITION),
    ("graphfile", GRAPHFILE),
    ("plan", PLAN),
    ("kpn", KPN),
    ("plugin", PLUGIN),
    ("sharing", SHARING),
    ("dot", DOT),
    ("platform", PLATFORM),
    ("wiring", WIRING),
    ("view", VIEW),
    ("binding", BINDING),
    ("mpi", MPI),
    ("link-mpi", LINK_MPI),
    ("testing", &["lib"]),
];
