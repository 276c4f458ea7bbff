//! Rank maps: the world ranks of a group, in order, in as few bytes as the structure of the group
//! allows.
//!
//! A communicator of a million ranks needs no array of a million numbers if it is a row, a plane,
//! every third rank, or all ranks except five that failed. A [`RankMap`] maps the ranks of a group
//! to world ranks (SELECT) and back (RANK). It chooses a form that suits the group. The framework
//! of sets and permutations is by S. M. Mir Taheri (*Scalability of communicators in MPI*, 2011).
//! This crate adds closed forms for the groups of topologies, and operations that work on the forms
//! directly.
//!
//! ```
//! use graphmap_rankmap::{Cartesian, RankMap};
//!
//! // One plane of a cube of 10^9 ranks, without the ranks that failed.
//! let plane = Cartesian::new(&[1000, 1000, 1000])?.section(&[None, Some(7), None])?;
//! let alive = plane.difference(&RankMap::from_slice(&[7_123, 5_007_999])?);
//! assert_eq!(alive.len(), 999_998);
//! assert_eq!(alive.select(123), Some(7_124));
//! assert_eq!(alive.rank(5_007_999), None);
//! assert!(alive.bytes() < 1000);
//! # Ok::<(), graphmap_rankmap::Error>(())
//! ```
//!
//! # Cost of a look-up
//!
//! `n` is the number of members, `u` the number of ranks from which they are taken, `r` the number
//! of runs, and `d` the number of axes. The unit of size is the byte.
//!
//! | form | bytes | SELECT | RANK | source |
//! |---|---|---|---|---|
//! | progression | 0 on the heap | 1 | 1 | Chaarawi and Gabriel 2008 |
//! | grid | 160 + 40 `d` (1) | `d` | `d` | Havlak and Kennedy 1991 |
//! | runs | 8 `r` to 16 `r` | log `r` | log `r` | |
//! | run lengths | about `r` (1 + log(`u`/`r`)/4) | 1 (2) | 1 (2) | two sequences of gaps |
//! | bitmap | 0.14 `u` | 1 (2) | 1 | Jacobson 1989, Gonzalez et al. 2005 |
//! | bare bitmap | `u`/8 | `u` | `u` | |
//! | Elias-Fano | `n` (2 + log(`u`/`n`))/8 + `n`/3 | 1 (2) | 1 (2) | Elias 1974, Vigna 2013 |
//! | packed array | `n` log(`u`)/8 (3) | 1 | log `n` | |
//! | permutation with shortcuts | `n` (log(`w`) + 2)/7 (4) | 1 | 16 | Munro et al. 2003 |
//! | permutation with inverse | `n` log(`n`)/4 | 1 | 1 | |
//! | wavelet tree on runs | `n` log(`k`)/7 (5) | log `k` log `n` | log `k` | Barbay, Navarro 2009 |
//! | decision diagram | 8 a word, 6 a node | log `u` | log `u` | Bryant 1986, Mir Taheri 2011 |
//! | roaring | see (6) | `u` / 2^16 | `u` / 2^16 | Lemire et al. 2018 |
//! | complement | as the complemented set | log of its size | 1 (2) | |
//! | composition | both, less what is shared | both | both | |
//! | concatenation | the sum of the parts | log of the parts | sum of the parts | |
//!
//! The numbers in brackets refer to these notes:
//!
//! 1. A grid is a regular section. It takes half as much again if a part of a torus wraps.
//! 2. Plus a logarithm if members are clustered.
//! 3. Twice as much if the members do not ascend, because the order is stored too.
//! 4. `w` is the range of the images of 128 neighbours. The blocks are as in Goldstein et al. 1998.
//!    RANK takes at most 16 steps.
//! 5. `k` is the number of ascending sequences.
//! 6. Requires the feature `roaring` (crate `roaring`). At most 4 bytes a range, at most 2 `n`
//!    bytes, at most 8192 bytes a chunk of 2^16 ranks, and 40 bytes a chunk in addition. A look-up
//!    visits the chunks and then searches one of them.
//!
//! The costs of all forms except one are estimated in a single walk through the members, without
//! building the form. A decision diagram is built to find its size, and given up as soon as it is
//! too large. See [`Builder`] and [`Strategy`].
//!
//! # Cost of operations
//!
//! `n` is the number of members, and `p` the number of progressions.
//!
//! | operation | closed forms | `p` progressions | otherwise |
//! |---|---|---|---|
//! | [`compose`](RankMap::compose), [`include`](RankMap::include) | 1 | `p` | `n` |
//! | [`intersection`](RankMap::intersection) | `p` log `p` | `p` log `p` | `n` (1) |
//! | [`union`](RankMap::union) | `p` log `p` | `p` log `p` | `n` (1) |
//! | [`difference`](RankMap::difference) | `p` log `p` | `p` log `p` | `n` (1) |
//! | [`exclude`](RankMap::exclude) of `k` ranks | `k` log `k` | `k` log `k` | `k` log `k` |
//! | [`compare`](RankMap::compare) | 1 if equal | `p` | `n` |
//! | [`split`](RankMap::split) | `n` log `n` | `n` log `n` | `n` log `n` |
//! | [`iter`](RankMap::iter) | `n` | `n` | `n` |
//! | [`to_bytes`](RankMap::to_bytes) | 1 | `p` | the bytes in memory |
//!
//! Note:
//!
//! 1. The smaller map counts if it is much smaller. For two decision diagrams, the cost is at most
//!    the product of their nodes.
//!
//! The documentation of each operation states its cost and its source (`tests/documented.rs` checks
//! this).
//!
//! Operations build their result from a stream of progressions, and not from an array of members.
//! The order of a union of sets without a pattern comes from merging the sets, and takes a few bits
//! for each member. Three cases do need an array:
//!
//! - [`split`](RankMap::split), if neither colours nor keys have an order;
//! - lists that do not ascend, when a map is built from them;
//! - [`to_set`](RankMap::to_set), if the form does not have its ascending order (a part of a
//!   permuted group, or a grid that is cut off or wraps in part).
//!
//! Maps are immutable. Clones share the heap storage, also between threads.
//!
//! # Sources
//!
//! - J. Barbay, G. Navarro, *Compressed representations of permutations, and applications*, STACS
//!   2009.
//! - R. E. Bryant, *Graph-based algorithms for Boolean function manipulation*, IEEE Transactions on
//!   Computers 35(8), 1986.
//! - M. Chaarawi, E. Gabriel, *Evaluating sparse data storage techniques for MPI groups and
//!   communicators*, ICCS 2008.
//! - P. Elias, *Efficient storage and retrieval by content and address of static files*, Journal of
//!   the ACM 21(2), 1974.
//! - J. Goldstein, R. Ramakrishnan, U. Shaft, *Compressing relations and indexes*, ICDE 1998.
//! - R. González, S. Grabowski, V. Mäkinen, G. Navarro, *Practical implementation of rank and
//!   select queries*, WEA 2005.
//! - T. Granlund, P. L. Montgomery, *Division by invariant integers using multiplication*, PLDI
//!   1994.
//! - P. Havlak, K. Kennedy, *An implementation of interprocedural bounded regular section
//!   analysis*, IEEE Transactions on Parallel and Distributed Systems 2(3), 1991.
//! - G. Jacobson, *Space-efficient static trees and graphs*, FOCS 1989.
//! - D. Lemire et al., *Roaring bitmaps: implementation of an optimized software library*,
//!   Software: Practice and Experience 48(4), 2018.
//! - D. Lemire, O. Kaser, N. Kurz, *Faster remainder by direct computation*, Software: Practice and
//!   Experience 49(6), 2019.
//! - S. M. Mir Taheri, *Scalability of communicators in MPI*, thesis, University of British
//!   Columbia, 2011.
//! - MPI Forum, *MPI: a message-passing interface standard, version 4.1*, 2023.
//! - J. I. Munro, R. Raman, V. Raman, S. S. Rao, *Succinct representations of permutations*, ICALP
//!   2003.
//! - S. Vigna, *Broadword implementation of rank/select queries*, WEA 2008; *Quasi-succinct
//!   indices*, WSDM 2013.

// docs.rs shows the feature that an item requires.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod bit_vector;
mod bits;
mod build;
mod choose;
mod compose;
mod division;
mod error;
mod form;
mod group;
mod map;
mod memory;
mod merge;
mod progression;
mod representation;
mod split;
mod survey;
mod topology;
mod wire;

pub use build::Builder;
pub use choose::{Estimate, Strategy};
pub use error::Error;
pub use form::grid::Axis;
pub use group::{Comparison, RangeTriplet};
pub use map::{Iter, RankMap};
pub use progression::Progression;
pub use representation::Representation;
pub use split::Choice;
pub use topology::Cartesian;
