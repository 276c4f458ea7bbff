//! Names of `colocate` and `separate` groups that stand for one group of the source several times:
//! once for each instance of a module or for each included graph.

use rustc_hash::{FxHashMap, FxHashSet};

/// The groups of one kind of constraint. Different groups have different names.
#[derive(Default)]
pub(crate) struct Groups {
    taken: FxHashSet<String>,
    /// Name of each group in each instance.
    named: FxHashMap<(String, String), String>,
}

impl Groups {
    /// Reserves the name of a group that keeps its name. Must be called before [`Groups::name`].
    pub(crate) fn keep(&mut self, group: &str) {
        if !self.taken.contains(group) {
            self.taken.insert(group.to_owned());
        }
    }

    /// Returns the name of a group in an instance. It is the same in all calls with the same group
    /// and instance, and differs from all other names.
    ///
    /// `name` returns the name with an addition. The addition is empty, unless another group has
    /// that name.
    pub(crate) fn name(
        &mut self,
        group: &str,
        instance: &str,
        name: impl Fn(&str) -> String,
    ) -> String {
        let key = (group.to_owned(), instance.to_owned());
        if let Some(known) = self.named.get(&key) {
            return known.clone();
        }
        let mut free = name("");
        let mut number = 2;
        while self.taken.contains(&free) {
            free = name(&format!("_{number}"));
            number += 1;
        }
        self.taken.insert(free.clone());
        self.named.insert(key, free.clone());
        free
    }
}

#[cfg(test)]
mod tests {
    use super::Groups;

    #[test]
    fn different_groups_have_different_names() {
        let mut groups = Groups::default();
        groups.keep("z1");
        groups.keep("z1_2");
        let mut name = |group: &str, instance: &str| {
            groups.name(group, instance, |more| format!("{group}{instance}{more}"))
        };
        assert_eq!(name("z", "1"), "z1_3");
        assert_eq!(name("z", "2"), "z2");
        assert_eq!(name("z", "12"), "z12");
        assert_eq!(name("z1", "2"), "z12_2");
        assert_eq!(name("z", "1"), "z1_3");
    }
}
