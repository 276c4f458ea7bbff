//! Ids of the channels. Declarations that are joined to the environment are not channels.

use crate::arena::Id;
use crate::network::ChannelId;

/// Channels between processes, by the index of the declaration.
#[derive(Default)]
pub(super) struct Ids {
    /// Empty while all declarations are channels, which is the usual case.
    list: Vec<Option<ChannelId>>,
    count: usize,
}

impl Ids {
    /// Adds the next declaration. `index` must be the number of earlier declarations.
    pub(super) fn push(&mut self, index: usize, is_channel: bool) {
        let id = ChannelId::from_index(self.count);
        if self.list.is_empty() && !is_channel {
            let before = (0..index).map(|i| Some(ChannelId::from_index(i)));
            self.list.extend(before);
        }
        if !is_channel || !self.list.is_empty() {
            self.list.push(is_channel.then_some(id));
        }
        self.count += usize::from(is_channel);
    }

    /// Returns the channel of a declaration that was added, or `None` if the declaration is joined
    /// to the environment. Other values of `index` may panic.
    pub(super) fn of(&self, index: usize) -> Option<ChannelId> {
        match self.list.is_empty() {
            true => Some(ChannelId::from_index(index)),
            false => self.list[index],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Ids;
    use crate::arena::Id as _;

    #[test]
    fn channels_are_counted_without_what_is_none() {
        for said in [
            [true, true, true, true],
            [false, true, false, true],
            [true, true, false, true],
            [false, false, false, false],
        ] {
            let mut ids = Ids::default();
            (0..4).for_each(|i| ids.push(i, said[i]));
            for i in 0..4 {
                let index = said[..i].iter().filter(|is| **is).count();
                let found = ids.of(i).map(|id| id.index());
                assert_eq!(found, said[i].then_some(index), "{i} of {said:?}");
            }
        }
    }
}
