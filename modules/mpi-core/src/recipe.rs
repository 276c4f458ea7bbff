//! Communicators that are to be: what each scheduler is told of them, and makes of it when the first of its ranks asks.

use std::cell::OnceCell;
use std::rc::Rc;

use super::communicator::Communicator;
use super::entry::NONE;
use super::error::Error;
use super::group::Group;
use super::state::CommunicatorState;
use super::state::World;
use graphmap_executor::payload::{DecodeError, Decoder, Encoder, Payload};

/// A communicator that is to be.
struct Recipe {
    number: u32,
    group: Group,
    name: String,
    /// When somebody here has asked. It stays until all here have what they get.
    made: OnceCell<Rc<CommunicatorState>>,
}

impl Payload for Recipe {
    fn size(&self) -> usize {
        self.number.size() + self.group.size_as_bytes() + self.name.size()
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        self.number.encode(to);
        self.group.encode(to);
        self.name.encode(to);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Recipe {
            number: u32::decode(from)?,
            group: Group::decode(from)?,
            name: String::decode(from)?,
            made: OnceCell::new(),
        })
    }
}

/// So few communicators are looked through for the one that has a rank.
const FEW: usize = 4;

/// What comes of a call that makes communicators.
#[derive(Default)]
pub(super) struct Recipes {
    recipes: Vec<Recipe>,
    /// Which of them each rank of the parent is in; empty: it is looked up in their groups.
    which: Vec<u32>,
    /// What is wrong with the calls of ranks, in order.
    wrong: Vec<(u32, Error)>,
    /// What is wrong with all of it.
    all_wrong: Option<Error>,
}

graphmap_executor::payload!(Recipes {
    recipes,
    which,
    wrong,
    all_wrong
});

impl Recipes {
    /// Of one communicator of all ranks.
    pub(super) fn one(world: &World, group: Group, name: String) -> Self {
        let mut this = Recipes::default();
        this.add(world, group, name);
        this
    }

    /// Of none so far, for so many ranks.
    pub(super) fn none(ranks: usize) -> Self {
        Recipes {
            which: vec![NONE; ranks],
            ..Recipes::default()
        }
    }

    /// Nothing comes of it.
    pub(super) fn wrong(error: Error) -> Self {
        Recipes {
            all_wrong: Some(error),
            ..Recipes::default()
        }
    }

    fn add(&mut self, world: &World, group: Group, name: String) {
        match world.new_number() {
            Ok(number) => self.recipes.push(Recipe {
                number,
                group,
                name,
                made: OnceCell::new(),
            }),
            Err(error) => self.all_wrong = Some(error),
        }
    }

    /// Joins some ranks of a communicator, in this order. None of them is joined already.
    pub(super) fn join(&mut self, parent: &CommunicatorState, ranks: &[u32], name: String) {
        match parent.group().part(ranks) {
            Ok(group) => drop(self.of_group(parent, group, ranks, name)),
            Err(error) => self.all_wrong = Some(error),
        }
    }

    /// The same, where the group is known: which of those that are to be it is.
    pub(super) fn of_group(
        &mut self,
        parent: &CommunicatorState,
        group: Group,
        ranks: &[u32],
        name: String,
    ) -> u32 {
        let which = self.recipes.len() as u32;
        self.add(&parent.world, group, name);
        for &rank in ranks {
            if let Some(place) = self.which.get_mut(rank as usize) {
                *place = which;
            }
        }
        which
    }

    /// Which of those that are to be a rank of the parent is in.
    pub(super) fn which(&self, rank: u32) -> Option<u32> {
        let which = self.which.get(rank as usize).copied();
        which.filter(|&which| which != NONE)
    }

    /// All are there. Where these are few, ranks are looked up in them, so that what other schedulers are sent does not grow
    /// with the ranks.
    pub(super) fn look_up(&mut self) {
        if self.recipes.len() <= FEW {
            self.which = Vec::new();
        }
    }

    /// What the call of a rank has asked for is wrong.
    pub(super) fn refuse(&mut self, rank: u32, error: Error) {
        let at = self.wrong.partition_point(|wrong| wrong.0 < rank);
        self.wrong.insert(at, (rank, error));
    }

    /// What a rank of the parent gets. If it has said the group, that is there already, and is what the communicator has.
    pub(super) fn communicator(
        &self,
        parent: &CommunicatorState,
        rank: u32,
        said: Option<&Group>,
    ) -> Result<Option<Communicator>, Error> {
        let wrong = self.wrong.binary_search_by_key(&rank, |wrong| wrong.0);
        let wrong = wrong.ok().map(|at| &self.wrong[at].1);
        if let Some(error) = self.all_wrong.as_ref().or(wrong) {
            return Err(error.clone());
        }
        let Some(member) = parent.group().at(rank) else {
            return Ok(None);
        };
        let found = match self.which.is_empty() {
            // Of several that a rank is in by mistake, it is in the last.
            true => {
                let in_it = |recipe: &Recipe| recipe.group.rank_of(member);
                let mut all = self.recipes.iter().rev();
                all.find_map(|recipe| Some((recipe, in_it(recipe)?)))
            }
            false => self.which(rank).and_then(|which| {
                let recipe = self.recipes.get(which as usize)?;
                Some((recipe, recipe.group.rank_of(member)?))
            }),
        };
        let Some((recipe, own)) = found else {
            return Ok(None);
        };
        let shared = recipe.made.get_or_init(|| {
            let (number, name) = (recipe.number, recipe.name.clone());
            let said = said.filter(|said| said.same(&recipe.group));
            let group = said.unwrap_or(&recipe.group).clone();
            parent.world.join(number, group, name, Some(parent))
        });
        Ok(Some(Communicator::new(Rc::clone(shared), own)))
    }
}
