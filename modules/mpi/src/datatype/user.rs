//! Datatypes that a program makes of others.

use std::marker::PhantomData;

use super::layout::{Block, Extent, Layout};
use crate::datatype::layout::MPI_Datatype;
use crate::raw::{AsRaw, FromRaw, MatchesRaw};
use crate::{Address, Count};

/// A datatype that may be part of another one, and need not be committed.
pub trait UncommittedDatatype: AsRaw<Raw = MPI_Datatype> {
    /// The type of its duplicates.
    type DuplicatedDatatype: FromRaw<Raw = MPI_Datatype>;

    /// Another handle of it.
    fn dup(&self) -> Self::DuplicatedDatatype {
        // SAFETY: layouts are never freed.
        unsafe { Self::DuplicatedDatatype::from_raw(self.as_raw()) }
    }
}

impl<D: UncommittedDatatype> UncommittedDatatype for &D {
    type DuplicatedDatatype = D::DuplicatedDatatype;
}

/// A datatype that messages may be of.
pub trait Datatype: UncommittedDatatype {}

impl<D: Datatype> Datatype for &D {}

/// The layout behind a datatype.
pub(crate) fn layout_of<D: AsRaw<Raw = MPI_Datatype>>(datatype: &D) -> &'static Layout {
    datatype.as_raw().0
}

/// What all handles of datatypes do alike.
macro_rules! handle {
    ($name:ident $(<$life:lifetime>)?, $duplicated:ty, $field:ident $(, $rest:ident)?) => {
        // SAFETY: layouts are never freed.
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

        // SAFETY: it has nothing but the handle, and is transparent.
        unsafe impl $(<$life>)? MatchesRaw for $name $(<$life>)? {}

        impl $(<$life>)? UncommittedDatatype for $name $(<$life>)? {
            type DuplicatedDatatype = $duplicated;
        }
    };
}

/// A datatype that somebody else has.
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

/// A datatype that somebody else has, and that may not be committed.
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

/// A datatype that was made of others, and is committed.
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

/// A datatype that was made of others, and is not committed yet: it may be part of others.
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

/// A number of elements.
///
/// # Panics
/// If it is less than 0.
#[track_caller]
fn count(count: Count) -> usize {
    usize::try_from(count)
        .unwrap_or_else(|_| panic!("datatype of {count} elements: expected 0 or more"))
}

/// As many bytes as so many elements are apart.
///
/// # Panics
/// If these do not fit into the address space.
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

    /// Elements one behind the other.
    ///
    /// # Panics
    /// As all constructors: if a number of elements is less than 0, or the type larger than the address space.
    #[track_caller]
    pub fn contiguous<D: UncommittedDatatype>(count: Count, oldtype: &D) -> Self {
        Self::vector(1, count, 1, oldtype)
    }

    /// `count` blocks of `blocklength` elements each, which begin `stride` elements apart.
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

    /// As [`vector`](Self::vector), with the stride in bytes.
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

    /// Blocks of different lengths, at displacements in elements.
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

    /// As [`indexed`](Self::indexed), with displacements in bytes.
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

    /// Blocks of the same length, at displacements in elements.
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

    /// As [`indexed_block`](Self::indexed_block), with displacements in bytes.
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

    /// Blocks of different types, at displacements in bytes, as the fields of a struct. The extent is a multiple of the alignment.
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

    /// Commits it, so that messages may be of it.
    pub fn commit(self) -> UserDatatype {
        UserDatatype {
            datatype: self.datatype,
        }
    }

    /// A reference to it.
    #[allow(clippy::should_implement_trait)]
    pub fn as_ref(&self) -> UncommittedDatatypeRef<'_> {
        // SAFETY: layouts are never freed.
        unsafe { UncommittedDatatypeRef::from_raw(self.datatype) }
    }
}

/// Each constructor of types that are committed at once.
macro_rules! committed {
    ($($name:ident($($argument:ident: $of:ty),*)),*) => {
        impl UserDatatype {
            $(
                #[doc = concat!("As [`UncommittedUserDatatype::", stringify!($name), "`], and committed.")]
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
    /// As [`UncommittedUserDatatype::structured`], and committed.
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

    /// A reference to it.
    #[allow(clippy::should_implement_trait)]
    pub fn as_ref(&self) -> DatatypeRef<'_> {
        // SAFETY: layouts are never freed.
        unsafe { DatatypeRef::from_raw(self.datatype) }
    }
}
