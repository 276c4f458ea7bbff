//! Constraints on the mapping of nodes or modules.

use super::keys::Key;
use super::reading::Reading;
use super::value;
use crate::events::Attribute;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{Constraint, ConstraintDecl, ConstraintTarget};
use hashbrown::HashMap;

/// Constraints on elements of one sort: nodes or modules.
#[derive(Default)]
pub(super) struct Constraints {
    /// Index of the constraint of each element and key, because a later one replaces it.
    indices: HashMap<(u32, Key), usize>,
}

impl Constraints {
    /// Adds a constraint, or replaces an earlier one of the same key on the same element. Reports
    /// an invalid value. Adds no constraint in this case, and for `whole=false`.
    pub(super) fn add(
        &mut self,
        reading: &mut Reading<'_>,
        target: ConstraintTarget,
        key: Key,
        attribute: &Attribute,
    ) {
        let value = reading.text.value(attribute.value).into_owned();
        let constraint = match key {
            Key::OsProcess => reading
                .number(attribute, value::count)
                .map(Constraint::OsProcess),
            Key::Hold => reading
                .number_or(attribute, value::range, value::computed_range)
                .map(|(least, most)| Constraint::Hold { least, most }),
            Key::Whole => reading
                .read(attribute, value::truth)
                .and_then(|whole| whole.then_some(Constraint::Whole)),
            Key::Prefer => reading
                .number(attribute, value::amount)
                .map(Constraint::Prefer),
            _ => {
                let valid = reading.read(attribute, |v| value::name(v).map(drop));
                match (valid, key) {
                    (Some(()), Key::Host) => Some(Constraint::Host(value)),
                    (Some(()), Key::Colocate) => Some(Constraint::Colocate(value)),
                    (Some(()), Key::Separate) => Some(Constraint::Separate(value)),
                    (Some(()), Key::Program) => Some(Constraint::Program(value)),
                    _ => None,
                }
            }
        };
        let Some(constraint) = constraint else {
            return;
        };
        let decl = ConstraintDecl {
            target,
            constraint,
            span: attribute.span(),
        };
        let of = match target {
            ConstraintTarget::Node(node) => (node.index() as u32, key),
            ConstraintTarget::Module(module) => (module.index() as u32, key),
        };
        let next = reading.out.constraints.len();
        let index = *self.indices.entry(of).or_insert(next);
        match reading.out.constraints.get_mut(index) {
            Some(earlier) => *earlier = decl,
            None => reading.out.constraints.push(decl),
        }
    }
}
