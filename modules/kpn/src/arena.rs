//! Arenas with typed ids.
//!
//! The elements of the model are stored in vectors. Each vector has its own type of id of four
//! bytes. Therefore the id of a process cannot be used to access a channel.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

/// A typed index of an [`Arena`].
pub trait Id: Copy + Eq {
    /// Returns the id of the element at `index`.
    ///
    /// # Panics
    /// Panics if the index is too large. An id type of `define_id!` supports 2^32 - 1
    /// elements.
    fn from_index(index: usize) -> Self;
    /// Returns the position of the element in the arena, from 0.
    fn index(self) -> usize;
}

/// Defines an id type of four bytes (also as an `Option`), ordered by index.
///
/// `Debug` writes the letter and the index.
///
/// ```
/// use graphmap_kpn::arena::Id;
///
/// graphmap_kpn::define_id!(
///     /// A colour.
///     pub ColourId,
///     "c"
/// );
/// assert_eq!(format!("{:?}", ColourId::from_index(7)), "c7");
/// ```
#[macro_export]
macro_rules! define_id {
    ($(#[$doc:meta])* $vis:vis $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        $vis struct $name(std::num::NonZeroU32);

        impl $crate::arena::Id for $name {
            #[inline]
            fn from_index(index: usize) -> Self {
                let plus_one = u32::try_from(index + 1).expect("at most 2^32 - 1 elements");
                $name(std::num::NonZeroU32::new(plus_one).expect("one more than an index"))
            }
            #[inline]
            fn index(self) -> usize {
                self.0.get() as usize - 1
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!($letter, "{}"), self.0.get() - 1)
            }
        }
    };
}
pub(crate) use crate::define_id;

/// A vector that is indexed by ids of type `I`. Indexing panics if the id is out of range.
#[derive(Clone, PartialEq, Eq)]
pub struct Arena<I, T> {
    items: Vec<T>,
    id: PhantomData<fn() -> I>,
}

impl<I: Id, T> Arena<I, T> {
    /// Creates an empty arena.
    pub fn new() -> Self {
        Arena {
            items: Vec::new(),
            id: PhantomData,
        }
    }

    /// Creates an empty arena with capacity for at least `n` elements.
    pub fn with_capacity(n: usize) -> Self {
        Arena {
            items: Vec::with_capacity(n),
            id: PhantomData,
        }
    }

    /// Adds an element and returns its id.
    ///
    /// # Panics
    /// Panics if the index of the element is too large for an id.
    pub fn push(&mut self, item: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(item);
        id
    }

    /// Removes the last item and returns it, or `None` if the arena is empty. An id of the item must
    /// not be in use.
    pub fn pop(&mut self) -> Option<T> {
        self.items.pop()
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Returns true if the arena is empty.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Iterates over all ids, in order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = I> + DoubleEndedIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Iterates over all elements with their ids, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (I, &T)> + DoubleEndedIterator {
        self.items
            .iter()
            .enumerate()
            .map(|(i, item)| (I::from_index(i), item))
    }

    /// Iterates over all elements, in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// Iterates over all elements mutably, in order.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// Returns the element of an id, or `None` if the arena has no such element.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// Frees unused capacity.
    pub fn shrink_to_fit(&mut self) {
        self.items.shrink_to_fit();
    }
}

impl<I: Id, T> Default for Arena<I, T> {
    fn default() -> Self {
        Arena::new()
    }
}

impl<I: Id, T: fmt::Debug> fmt::Debug for Arena<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.items).finish()
    }
}

impl<I: Id, T> FromIterator<T> for Arena<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(iter: A) -> Self {
        Arena {
            items: iter.into_iter().collect(),
            id: PhantomData,
        }
    }
}

impl<I: Id, T> Index<I> for Arena<I, T> {
    type Output = T;
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Arena<I, T> {
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}
