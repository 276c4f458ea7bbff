//! Derived datatypes: datatypes that a program creates from others.

use std::marker::PhantomData;

use super::layout::{Block, Extent, Layout};
use crate::datatype::layout::MPI_Datatype;
use crate::raw::{AsRaw, FromRaw, MatchesRaw};
use crate::{Address, Count};

/// A datatype that can be part of another one. It need not be committed.
pub trait UncommittedDatatype: AsRaw<Raw = MPI_Datatype> {
    /// Type of the duplicates.
    type DuplicatedDatatype: FromRaw<Raw = MPI_Datatype>;

    /// Returns another handle of the same datatype (`MPI_Type_dup`). The handles compare equal.
    fn dup(&self) -> Self::DuplicatedDatatype {
        // SAFETY: layouts are never freed.
        unsafe { Self::DuplicatedDatatype::from_raw(self.as_raw()) }
    }
}

impl<D: UncommittedDatatype> UncommittedDatatype for &D {
    type DuplicatedDatatype = D::DuplicatedDatatype;
}

/// A datatype that elements of messages can have.
pub trait Datatype: UncommittedDatatype {}

impl<D: Datatype> Datatype for &D {}

/// Returns the layout of a datatype.
pub(crate) fn layout_of<D: AsRaw<Raw = MPI_Datatype>>(datatype: &D) -> &'static Layout {
    datatype.as_raw().0
}

/// Implements the traits that all handles of datatypes have in common.
macro_rules! handle {
    ($name:ident $(<$life:lifetime>)?, $duplicated:ty, $field:ident $(, $rest:ident)?) => {
        // SAFETY: layouts are never freed, so the handle is always valid.
        unsafe impl $(<$life>)? AsRaw for $name $(<$life>)? {
            type Raw = MPI_Datatype;

            fn as_raw(&self) -> Self::Raw {
                self.$field
            }
        }

        impl $(<$life>)? FromRaw for $name $(<$life>)? {
            unsafe fn from_raw($field: MPI_Datatype) -> Self {
                $name { $field $(, $rest: PhantomData)? }
            }
        }

        // SAFETY: the type is transparent, and its only field with a size is the handle.
        unsafe impl $(<$life>)? MatchesRaw for $name $(<$life>)? {}

        impl $(<$life>)? UncommittedDatatype for $name $(<$life>)? {
            type DuplicatedDatatype = $duplicated;
        }
    };
}

/// A borrowed datatype, which is committed.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct DatatypeRef<'a> {
    datatype: MPI_Datatype,
    phantom: PhantomData<&'a ()>,
}

handle!(DatatypeRef<'a>, UserDatatype, datatype, phantom);

impl Datatype for DatatypeRef<'_> {}

impl<'a> From<DatatypeRef<'a>> for UncommittedDatatypeRef<'a> {
    fn from(datatype: DatatypeRef<'a>) -> Self {
        // SAFETY: layouts are never freed.
        unsafe { UncommittedDatatypeRef::from_raw(datatype.as_raw()) }
    }
}

/// A borrowed datatype, which need not be committed.
#[repr(transparent)]
#[derive(Debug, Clone, Copy)]
pub struct UncommittedDatatypeRef<'a> {
    datatype: MPI_Datatype,
    phantom: PhantomData<&'a ()>,
}

handle!(
    UncommittedDatatypeRef<'a>,
    UncommittedUserDatatype,
    datatype,
    phantom
);

/// A derived datatype that is committed.
#[repr(transparent)]
#[derive(Debug)]
pub struct UserDatatype {
    datatype: MPI_Datatype,
}

handle!(UserDatatype, UserDatatype, datatype);

impl Datatype for UserDatatype {}

impl Clone for UserDatatype {
    fn clone(&self) -> Self {
        self.dup()
    }
}

impl<'a> From<&'a UserDatatype> for DatatypeRef<'a> {
    fn from(datatype: &'a UserDatatype) -> Self {
        datatype.as_ref()
    }
}

impl<'a> From<&'a UserDatatype> for UncommittedDatatypeRef<'a> {
    fn from(datatype: &'a UserDatatype) -> Self {
        datatype.as_ref().into()
    }
}

/// A derived datatype that is not committed. It can be part of other datatypes.
#[repr(transparent)]
#[derive(Debug)]
pub struct UncommittedUserDatatype {
    datatype: MPI_Datatype,
}

handle!(UncommittedUserDatatype, UncommittedUserDatatype, datatype);

impl Clone for UncommittedUserDatatype {
    fn clone(&self) -> Self {
        self.dup()
    }
}

impl<'a> From<&'a UncommittedUserDatatype> for UncommittedDatatypeRef<'a> {
    fn from(datatype: &'a UncommittedUserDatatype) -> Self {
        datatype.as_ref()
    }
}

/// Converts a number of elements.
///
/// # Panics
/// If the number is negative.
#[track_caller]
fn count(count: Count) -> usize {
    usize::try_from(count)
        .unwrap_or_else(|_| panic!("datatype of {count} elements: expected 0 or more"))
}

/// Returns the distance of `count` elements in bytes.
///
/// # Panics
/// If the distance exceeds the address space.
#[track_caller]
fn elements(count: Count, layout: &Layout) -> isize {
    let bytes = isize::try_from(count)
        .ok()
        .and_then(|count| count.checked_mul(layout.extent));
    bytes.expect("the displacement exceeds the address space")
}

impl UncommittedUserDatatype {
    #[track_caller]
    fn made_of(blocks: Vec<Block>) -> Self {
        let datatype = MPI_Datatype(Layout::blocks(blocks, Extent::Span));
        UncommittedUserDatatype { datatype }
    }

    /// Creates a datatype of `count` consecutive elements (`MPI_Type_contiguous`).
    ///
    /// # Panics
    /// If a number of elements is negative, or if the size or extent exceeds the address space.
    /// This applies to all constructors.
    #[track_caller]
    pub fn contiguous<D: UncommittedDatatype>(count: Count, oldtype: &D) -> Self {
        Self::vector(1, count, 1, oldtype)
    }

    /// Creates a datatype of `count` blocks of `blocklength` elements each, which begin `stride`
    /// elements apart (`MPI_Type_vector`). The stride may be negative.
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous). Also if the stride in bytes exceeds the address space.
    #[track_caller]
    pub fn vector<D: UncommittedDatatype>(
        count: Count,
        blocklength: Count,
        stride: Count,
        oldtype: &D,
    ) -> Self {
        let stride = elements(stride, layout_of(oldtype));
        Self::heterogeneous_vector(count, blocklength, stride, oldtype)
    }

    /// Creates a [`vector`](Self::vector) with the stride in bytes (`MPI_Type_create_hvector`).
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous).
    #[track_caller]
    pub fn heterogeneous_vector<D: UncommittedDatatype>(
        count: Count,
        blocklength: Count,
        stride: Address,
        oldtype: &D,
    ) -> Self {
        let block = (0, self::count(blocklength), layout_of(oldtype));
        Self::made_of(vec![Block::repeated(block, self::count(count), stride)])
    }

    /// Creates a datatype of blocks of different lengths, at displacements in elements
    /// (`MPI_Type_indexed`).
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous). Also if the numbers of lengths and displacements
    /// differ, or if a displacement in bytes exceeds the address space.
    #[track_caller]
    pub fn indexed<D: UncommittedDatatype>(
        blocklengths: &[Count],
        displacements: &[Count],
        oldtype: &D,
    ) -> Self {
        let of = layout_of(oldtype);
        let displacements: Vec<Address> =
            displacements.iter().map(|&at| elements(at, of)).collect();
        Self::heterogeneous_indexed(blocklengths, &displacements, oldtype)
    }

    /// Creates a datatype as [`indexed`](Self::indexed) does, with displacements in bytes
    /// (`MPI_Type_create_hindexed`).
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous). Also if the numbers of lengths and displacements
    /// differ.
    #[track_caller]
    pub fn heterogeneous_indexed<D: UncommittedDatatype>(
        blocklengths: &[Count],
        displacements: &[Address],
        oldtype: &D,
    ) -> Self {
        assert_eq!(
            blocklengths.len(),
            displacements.len(),
            "'blocklengths' and 'displacements' must be the same length"
        );
        let block = |(&count, &displacement): (&Count, &Address)| {
            Block::new(displacement, self::count(count), layout_of(oldtype))
        };
        Self::made_of(blocklengths.iter().zip(displacements).map(block).collect())
    }

    /// Creates a datatype of blocks of the same length, at displacements in elements
    /// (`MPI_Type_create_indexed_block`).
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous). Also if a displacement in bytes exceeds the address
    /// space.
    #[track_caller]
    pub fn indexed_block<D: UncommittedDatatype>(
        blocklength: Count,
        displacements: &[Count],
        oldtype: &D,
    ) -> Self {
        Self::indexed(
            &vec![blocklength; displacements.len()],
            displacements,
            oldtype,
        )
    }

    /// Creates a datatype as [`indexed_block`](Self::indexed_block) does, with displacements in
    /// bytes (`MPI_Type_create_hindexed_block`).
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous).
    #[track_caller]
    pub fn heterogeneous_indexed_block<D: UncommittedDatatype>(
        blocklength: Count,
        displacements: &[Address],
        oldtype: &D,
    ) -> Self {
        Self::heterogeneous_indexed(
            &vec![blocklength; displacements.len()],
            displacements,
            oldtype,
        )
    }

    /// Creates a datatype of blocks of different types, at displacements in bytes, as the fields of
    /// a struct (`MPI_Type_create_struct`). The extent is rounded up to a multiple of the largest
    /// alignment of the types.
    ///
    /// # Panics
    /// As [`contiguous`](Self::contiguous). Also if the three slices differ in length.
    #[track_caller]
    pub fn structured<D>(blocklengths: &[Count], displacements: &[Address], types: &[D]) -> Self
    where
        D: UncommittedDatatype + MatchesRaw<Raw = MPI_Datatype>,
    {
        let same = blocklengths.len() == displacements.len() && blocklengths.len() == types.len();
        assert!(
            same,
            "'displacements', 'blocklengths', and 'types' must be the same length"
        );
        let block = |((&count, &displacement), of): ((&Count, &Address), &D)| {
            Block::new(displacement, self::count(count), layout_of(of))
        };
        let blocks = blocklengths.iter().zip(displacements).zip(types).map(block);
        let datatype = MPI_Datatype(Layout::blocks(blocks.collect(), Extent::Rounded));
        UncommittedUserDatatype { datatype }
    }

    /// Commits the datatype, so that it can be the type of messages (`MPI_Type_commit`).
    pub fn commit(self) -> UserDatatype {
        UserDatatype {
            datatype: self.datatype,
        }
    }

    /// Borrows the datatype.
    #[allow(clippy::should_implement_trait)]
    pub fn as_ref(&self) -> UncommittedDatatypeRef<'_> {
        // SAFETY: layouts are never freed.
        unsafe { UncommittedDatatypeRef::from_raw(self.datatype) }
    }
}

/// Declares the constructors that commit the datatype at once.
macro_rules! committed {
    ($($name:ident($($argument:ident: $of:ty),*)),*) => {
        impl UserDatatype {
            $(
                #[doc = concat!("Creates and commits a datatype: see [`UncommittedUserDatatype::", stringify!($name), "`].")]
                #[track_caller]
                pub fn $name<D: UncommittedDatatype>($($argument: $of,)* oldtype: &D) -> UserDatatype {
                    UncommittedUserDatatype::$name($($argument,)* oldtype).commit()
                }
            )*
        }
    };
}

committed! {
    contiguous(count: Count),
    vector(count: Count, blocklength: Count, stride: Count),
    heterogeneous_vector(count: Count, blocklength: Count, stride: Address),
    indexed(blocklengths: &[Count], displacements: &[Count]),
    heterogeneous_indexed(blocklengths: &[Count], displacements: &[Address]),
    indexed_block(blocklength: Count, displacements: &[Count]),
    heterogeneous_indexed_block(blocklength: Count, displacements: &[Address])
}

impl UserDatatype {
    /// Creates and commits a datatype of blocks of different types: see
    /// [`UncommittedUserDatatype::structured`].
    ///
    /// # Panics
    /// As [`UncommittedUserDatatype::structured`].
    #[track_caller]
    pub fn structured<D>(
        blocklengths: &[Count],
        displacements: &[Address],
        types: &[D],
    ) -> UserDatatype
    where
        D: UncommittedDatatype + MatchesRaw<Raw = MPI_Datatype>,
    {
        UncommittedUserDatatype::structured(blocklengths, displacements, types).commit()
    }

    /// Borrows the datatype.
    #[allow(clippy::should_implement_trait)]
    pub fn as_ref(&self) -> DatatypeRef<'_> {
        // SAFETY: layouts are never freed.
        unsafe { DatatypeRef::from_raw(self.datatype) }
    }
}
