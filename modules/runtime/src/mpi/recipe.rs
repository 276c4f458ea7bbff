//! Communicators that are to be: what each scheduler is told of them, and makes of it when the first of its ranks asks.

use std::cell::OnceCell;
use std::rc::Rc;

use super::communicator::Communicator;
use super::entry::NONE;
use super::error::Error;
use super::group::Group;
use super::state::CommunicatorState;
use super::state::World;
use crate::payload::{DecodeError, Decoder, Encoder, Payload};

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

/// What comes of a call that makes communicators.
#[derive(Default)]
pub(super) struct Recipes {
    recipes: Vec<Recipe>,
    /// Which of them each rank of the parent is in; empty: all are in the first.
    which: Vec<u32>,
    /// What is wrong with the calls of ranks, in order.
    wrong: Vec<(u32, Error)>,
    /// What is wrong with all of it.
    all_wrong: Option<Error>,
}

crate::payload!(Recipes {
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
        let members = ranks
            .iter()
            .filter_map(|&rank| parent.group().at(rank))
            .collect();
        let which = self.recipes.len() as u32;
        match Group::of(members) {
            Ok(group) => self.add(&parent.world, group, name),
            Err(error) => self.all_wrong = Some(error),
        }
        for &rank in ranks {
            if let Some(place) = self.which.get_mut(rank as usize) {
                *place = which;
            }
        }
    }

    /// What the call of a rank has asked for is wrong.
    pub(super) fn refuse(&mut self, rank: u32, error: Error) {
        let at = self.wrong.partition_point(|wrong| wrong.0 < rank);
        self.wrong.insert(at, (rank, error));
    }

    /// Whether the call of a rank was refused.
    pub(super) fn is_refused(&self, rank: u32) -> bool {
        let wrong = self.wrong.binary_search_by_key(&rank, |wrong| wrong.0);
        wrong.is_ok()
    }

    /// The group of the communicator that a rank of the parent gets.
    pub(super) fn group_of(&self, rank: u32) -> Option<&Group> {
        let which = match self.which.is_empty() {
            true => 0,
            false => *self.which.get(rank as usize)?,
        };
        Some(&self.recipes.get(which as usize)?.group)
    }

    /// What a rank of the parent gets.
    pub(super) fn communicator(
        &self,
        parent: &CommunicatorState,
        rank: u32,
    ) -> Result<Option<Communicator>, Error> {
        let wrong = self.wrong.binary_search_by_key(&rank, |wrong| wrong.0);
        let wrong = wrong.ok().map(|at| &self.wrong[at].1);
        if let Some(error) = self.all_wrong.as_ref().or(wrong) {
            return Err(error.clone());
        }
        let which = match self.which.is_empty() {
            true => 0,
            false => self.which.get(rank as usize).copied().unwrap_or(NONE),
        };
        let Some(recipe) = self.recipes.get(which as usize) else {
            return Ok(None);
        };
        let member = parent.group().at(rank);
        let Some(own) = member.and_then(|member| recipe.group.rank_of(member)) else {
            return Ok(None);
        };
        let join = || {
            parent
                .world
                .join(recipe.number, recipe.group.clone(), recipe.name.clone())
        };
        let shared = recipe.made.get_or_init(join);
        Ok(Some(Communicator::new(Rc::clone(shared), own)))
    }
}
