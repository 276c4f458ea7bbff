//! Frames of a mapped drawing: hosts, OS processes in them, and parts of modules in these.

use crate::Scene;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::mapping::Mapped;
use std::collections::HashMap;

/// Sizes in inches, as Graphviz draws the elements.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Extent of a process along a row, with the space beside it.
    pub(super) along: f64,
    /// Extent of a process across a row, with the space below it.
    pub(super) across: f64,
    /// Space that a channel takes that passes a row.
    pub(super) lane: f64,
    /// Space beside the contents of a frame.
    pub(super) margin: f64,
    /// Space that a label of a frame takes above its contents.
    pub(super) label: f64,
    /// True if rows are beside each other (`rankdir=LR`).
    pub(super) turned: bool,
}

/// What a frame is around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Around {
    Picture,
    /// A host, by its index in the scene.
    Host(usize),
    OsProcess(usize),
    /// The part of a module in an OS process.
    Module(ModuleId),
}

pub(super) struct Frame {
    pub(super) around: Around,
    /// Frames in it, by index. They follow this one.
    pub(super) frames: Vec<usize>,
    /// Processes directly in it.
    pub(super) processes: Vec<usize>,
}

/// All frames. The first one is around the picture.
pub(super) struct Frames(pub(super) Vec<Frame>);

/// Width of the label of an OS process in inches.
const OS_PROCESS: f64 = 1.5;
/// The same with the space beside the frame, where rows are beside each other.
const TURNED: f64 = 1.9;
/// Part of the elements without a common row that Graphviz puts beside each other.
const BESIDE: f64 = 0.35;

/// Rows of a frame, its extent along them, and the labels above its first row.
#[derive(Clone, Copy)]
struct Extent {
    first: usize,
    last: usize,
    along: f64,
    labels: f64,
}

impl Frames {
    pub(super) fn of(mapped: &Mapped, scene: &Scene) -> Frames {
        let mut frames = Frames(Vec::new());
        frames.open(None, Around::Picture);
        for (h, host) in scene.hosts.iter().enumerate() {
            let host_frame = frames.open(Some(0), Around::Host(h));
            for &o in &host.os_processes {
                let frame = frames.open(Some(host_frame), Around::OsProcess(o));
                frames.fill(mapped, frame, &scene.os_processes[o].nodes);
            }
        }
        frames
    }

    fn open(&mut self, parent: Option<usize>, around: Around) -> usize {
        let new = self.0.len();
        self.0.push(Frame {
            around,
            frames: Vec::new(),
            processes: Vec::new(),
        });
        if let Some(parent) = parent {
            self.0[parent].frames.push(new);
        }
        new
    }

    /// Adds processes to the frame of their OS process, with the parts of their modules.
    fn fill(&mut self, mapped: &Mapped, frame: usize, processes: &[usize]) {
        let network = mapped.network();
        let mut parts: HashMap<ModuleId, usize> = HashMap::new();
        for &process in processes {
            let id = Id::from_index(process);
            let mut missing = Vec::new();
            let mut module = network.processes[id].module;
            while let Some(id) = module.filter(|id| !parts.contains_key(id)) {
                missing.push(id);
                module = network.modules[id].parent;
            }
            let mut inner = module.map_or(frame, |id| parts[&id]);
            for id in missing.into_iter().rev() {
                inner = self.open(Some(inner), Around::Module(id));
                parts.insert(id, inner);
            }
            self.0[inner].processes.push(process);
        }
    }

    /// Returns an estimate of the extent of the picture along its rows and across them, as Graphviz
    /// places the processes if they have these rows.
    pub(super) fn extent(&self, rows: &[usize], sizes: Sizes) -> (f64, f64) {
        let count = rows.iter().max().map_or(1, |last| last + 1);
        let mut labels = vec![0.0f64; count];
        let mut extents: Vec<Option<Extent>> = vec![None; self.0.len()];
        // Inner frames follow outer ones.
        for (index, frame) in self.0.iter().enumerate().rev() {
            let inner = frame.frames.iter().filter_map(|&inner| extents[inner]);
            let processes = frame.processes.iter().map(|&process| Extent {
                first: rows[process],
                last: rows[process],
                along: sizes.along,
                labels: 0.0,
            });
            let mut changes: Vec<(usize, f64)> = Vec::new();
            let mut all: Option<Extent> = None;
            for extent in inner.chain(processes) {
                changes.push((extent.first, extent.along));
                changes.push((extent.last + 1, -extent.along));
                let known = all.get_or_insert(Extent {
                    along: 0.0,
                    ..extent
                });
                if extent.first < known.first {
                    (known.first, known.labels) = (extent.first, extent.labels);
                } else if extent.first == known.first {
                    known.labels = known.labels.max(extent.labels);
                }
                known.last = known.last.max(extent.last);
            }
            changes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            let Some(mut extent) = all else {
                continue;
            };
            let (mut along, mut widest, mut sum) = (0.0f64, 0.0f64, 0.0);
            for (_, change) in changes {
                along += change;
                widest = widest.max(along);
                sum += change.max(0.0);
            }
            // Graphviz puts some elements below each other that have no row in common.
            extent.along = widest + BESIDE * (sum - widest);
            if frame.around != Around::Picture {
                extent.labels += sizes.label;
                labels[extent.first] = labels[extent.first].max(extent.labels);
                extent.along += sizes.margin;
            }
            if matches!(frame.around, Around::OsProcess(_)) {
                if sizes.turned {
                    let rows = (extent.last - extent.first + 1) as f64;
                    let missing = TURNED - rows * sizes.across;
                    labels[extent.first] = labels[extent.first].max(missing);
                } else {
                    extent.along = extent.along.max(OS_PROCESS);
                }
            }
            extents[index] = Some(extent);
        }
        let along = extents[0].map_or(0.0, |all| all.along);
        (
            along,
            count as f64 * sizes.across + labels.iter().sum::<f64>(),
        )
    }
}
