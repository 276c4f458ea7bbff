//! `replicas="+"` and `replicas="*"`: as many instances as the OS processes of the run hold.

use super::reading::{Fit, Fitted, Reading};
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{Constraint, ConstraintTarget, ModuleId, NodeId};
use graphmap_kpn::diagnostic::Diagnostic;
use hashbrown::HashMap;

impl Reading<'_> {
    /// Records the value of `replicas=` and returns true, if it stands for as many as fit.
    pub(super) fn fits(&mut self, element: Fitted, attribute: &Attribute) -> bool {
        let least = match &*self.text.value(attribute.value) {
            "+" => 1,
            "*" => 0,
            _ => return false,
        };
        let span = attribute.span();
        self.fits.push(Fit {
            element,
            least,
            span,
        });
        true
    }

    /// Sets the numbers of instances that follow from the OS processes and from `hold=`. Without a
    /// number of OS processes, sets the smallest ones.
    pub(super) fn fit(&mut self) {
        let fits = std::mem::take(&mut self.fits);
        if fits.is_empty() {
            return;
        }
        for fit in &fits {
            self.set(fit.element, fit.least);
        }
        let most = self.most_of_kinds();
        for fit in &fits {
            // Two attributes of one element are a contradiction, which is reported.
            let Some((kind, in_each)) = self.limit(fit.element, &most) else {
                self.report.push(
                    Diagnostic::error(codes::NOTHING_LIMITS, "nothing limits the number of instances")
                        .at(fit.span, "as many as each OS process holds")
                        .help("set how many processes of the kind an OS process holds: `hold=1` or `hold=\"1-4\"`"),
                );
                continue;
            };
            self.out.fitted.push((fit.span, fit.least));
            let Some(os_processes) = self.sizes.os_processes() else {
                continue;
            };
            let room = u64::from(in_each) * u64::from(os_processes);
            let (taken, each) = self.taken(fit.element, kind);
            let fitting = room.saturating_sub(taken) / each.max(1);
            let fitting = u32::try_from(fitting).unwrap_or(u32::MAX);
            if fitting < fit.least {
                let message = format!(
                    "{os_processes} OS processes hold {room} processes of the kind, and no instance fits"
                );
                self.report.push(
                    Diagnostic::error(codes::NOTHING_LIMITS, message)
                        .at(fit.span, "at least one instance")
                        .help("raise `hold=` or the number of OS processes"),
                );
                continue;
            }
            self.set(fit.element, fitting);
        }
    }

    fn set(&mut self, element: Fitted, replicas: u32) {
        match element {
            Fitted::Node(node) => self.out.nodes[node].replicas = Some(replicas),
            Fitted::Module(module) => self.out.modules[module].replicas = Some(replicas),
        }
    }

    /// Returns the largest number of processes in an OS process for each kind that `hold=` limits.
    fn most_of_kinds(&self) -> HashMap<usize, u32> {
        let mut most = HashMap::new();
        for constraint in &self.out.constraints {
            if let (ConstraintTarget::Node(node), Constraint::Hold { most: limit, .. }) =
                (constraint.target, &constraint.constraint)
                && *limit < u32::MAX
            {
                let kind = self.out.nodes[node].kind.index();
                let known = most.entry(kind).or_insert(*limit);
                *known = (*known).min(*limit);
            }
        }
        most
    }

    /// Returns the kind that limits the number of instances of an element, with the number of its
    /// processes in each OS process. For a module it is the kind inside that allows the fewest
    /// instances. Returns `None` if no kind is limited.
    fn limit(&self, element: Fitted, most: &HashMap<usize, u32>) -> Option<(usize, u32)> {
        let module = match element {
            Fitted::Node(node) => {
                let kind = self.out.nodes[node].kind.index();
                return most.get(&kind).map(|limit| (kind, *limit));
            }
            Fitted::Module(module) => module,
        };
        let inside = self.out.nodes.iter().filter_map(|(id, node)| {
            self.instances_in(id, Some(module))?;
            let kind = node.kind.index();
            Some((kind, *most.get(&kind)?))
        });
        inside.min_by(|(a, in_a), (b, in_b)| {
            let each = |kind| self.taken(element, kind).1;
            let of_a = u64::from(*in_a) * each(*b);
            of_a.cmp(&(u64::from(*in_b) * each(*a)))
        })
    }

    /// Returns the number of processes of a kind outside of an element, and the number in each
    /// instance of it, counting all instances of the modules around it.
    fn taken(&self, element: Fitted, kind: usize) -> (u64, u64) {
        let (mut outside, mut each) = (0u64, 0u64);
        let nodes = self.out.nodes.iter();
        for (id, _) in nodes.filter(|(_, node)| node.kind.index() == kind) {
            let all = self.instances_in(id, None).unwrap_or(1);
            let inside = match element {
                Fitted::Node(node) => node == id,
                Fitted::Module(module) => self.instances_in(id, Some(module)).is_some(),
            };
            let own = match element {
                Fitted::Node(node) => self.out.nodes[node].replicas,
                Fitted::Module(module) => self.out.modules[module].replicas,
            };
            match inside {
                // The number of the element itself is not known yet.
                true => each = each.saturating_add(all / u64::from(own.unwrap_or(1)).max(1)),
                false => outside = outside.saturating_add(all),
            }
        }
        (outside, each)
    }

    /// Returns the number of instances of a node in all, or `None` if it is not inside `module`.
    /// An element whose number is not known counts once.
    fn instances_in(&self, node: NodeId, module: Option<ModuleId>) -> Option<u64> {
        let node = &self.out.nodes[node];
        let mut count = u64::from(node.replicas.unwrap_or(1).max(1));
        let mut around = node.module;
        let mut inside = module.is_none();
        while let Some(id) = around {
            let of = &self.out.modules[id];
            count = count.saturating_mul(u64::from(of.replicas.unwrap_or(1).max(1)));
            inside |= Some(id) == module;
            around = of.parent;
        }
        inside.then_some(count)
    }
}
