//! Rank maps: which world ranks a group has, and in what order, in as few bytes as its structure needs.
//!
//! A communicator of a million ranks needs no array of a million numbers if it is a row, a plane, every
//! third rank, or all but the five that failed. A [`RankMap`] maps the ranks of a group to world ranks
//! (SELECT) and back (RANK), in a form that is chosen by what the group is like: by S. M. Mir Taheri's
//! framework of sets and permutations (*Scalability of communicators in MPI*, 2011), with closed forms for
//! what topologies make, and operations that work on the forms as they are.
//!
//! ```
//! use graphmap_rankmap::{Cartesian, RankMap};
//!
//! // A thousand million ranks in a cube; one plane of it, without those that failed.
//! let plane = Cartesian::new(&[1000, 1000, 1000])?.section(&[None, Some(7), None])?;
//! let alive = plane.difference(&RankMap::from_slice(&[7_123, 5_007_999])?);
//! assert_eq!(alive.len(), 999_998);
//! assert_eq!(alive.select(123), Some(7_124));
//! assert_eq!(alive.rank(5_007_999), None);
//! assert!(alive.bytes() < 1000);
//! # Ok::<(), graphmap_rankmap::Error>(())
//! ```
//!
//! # What a look-up costs
//!
//! `n` is the number of members, `u` that of the ranks they are out of, `r` that of runs, `d` of axes.
//!
//! | form | bytes | SELECT | RANK | source |
//! |---|---|---|---|---|
//! | progression | 0 on the heap | 1 | 1 | Chaarawi and Gabriel 2008 |
//! | grid | 160 and 40 `d`, half as much more where a part of a torus wraps | `d` | `d` | regular sections, Havlak and Kennedy 1991 |
//! | runs | 8 to 16 `r` | log `r` | log `r` | |
//! | run lengths | about `r` (1 + log(`u`/`r`)/4) | 1 * | 1 * | two sequences of gaps |
//! | bitmap | 0.14 `u` | 1 * | 1 | Jacobson 1989, Gonzalez et al. 2005 |
//! | bare bitmap | `u`/8 | `u` | `u` | |
//! | Elias-Fano | `n` (2 + log(`u`/`n`))/8, and about `n`/3 for samples | 1 * | 1 * | Elias 1974, Vigna 2013 |
//! | packed array | `n` log(`u`)/8; in any order as much again for the order | 1 | log `n` | |
//! | permutation with shortcuts | `n` (log(`n`) + 2)/7, with `n` of a logarithm the range within which 128 neighbours are | 1 | 16 steps at most | Munro et al. 2003, blocks as Goldstein et al. 1998 |
//! | permutation with inverse | `n` log(`n`)/4 | 1 | 1 | |
//! | wavelet tree on runs | 0.14 `n` log `k`, of `k` ascending sequences | log `k` log `n` | log `k` | Barbay and Navarro 2009 |
//! | decision diagram | 8 a word, about 6 a node | log `u` | log `u` | Bryant 1986; SELECT as Mir Taheri 2011 |
//! | roaring, with the feature `roaring` | at most 4 a range, 2 `n` and 8192 a chunk of 2^16, and 40 a chunk | `u` / 2^16 and a chunk | `u` / 2^16 and a chunk | Lemire et al. 2018; the crate `roaring` |
//! | complement | those of what is left out | log of its size | 1 * | |
//! | composition | of both, where not shared | of both | of both | |
//! | concatenation | of its parts | log of the parts | of the parts | |
//!
//! \* and a logarithm where members crowd. What a form would cost is told from a single walk through the
//! members, without building it, but for a decision diagram, which is begun and given up as soon as it is too large; see [`Builder`] and [`Strategy`].
//!
//! # What operations cost
//!
//! | operation | on closed forms | on `p` progressions | else |
//! |---|---|---|---|
//! | [`compose`](RankMap::compose), [`include`](RankMap::include) | 1 | `p` | `n` |
//! | [`intersection`](RankMap::intersection), [`union`](RankMap::union), [`difference`](RankMap::difference) | `p` log `p` | `p` log `p` | `n`, of the smaller where it is much smaller; of two decision diagrams their nodes, at most multiplied |
//! | [`exclude`](RankMap::exclude) of `k` ranks | `k` log `k` | `k` log `k` | `k` log `k` |
//! | [`compare`](RankMap::compare) | 1 if equal | `p` | `n` |
//! | [`split`](RankMap::split) | `n` log `n` | `n` log `n` | `n` log `n` |
//! | [`iter`](RankMap::iter) | `n` | `n` | `n` |
//! | [`to_bytes`](RankMap::to_bytes) | 1 | `p` | the bytes in memory |
//!
//! Each operation tells its cost and its source where it stands, which a test holds.
//!
//! What is made is made out of progressions as they come, not out of an array of members (of a union of sets without a
//! pattern, the order is a bit or a few for each member, from merging them); but for
//! [`split`](RankMap::split) where colours or keys have no order, lists that do not ascend when they are given, and [`to_set`](RankMap::to_set) of forms
//! that do not know their ascending order (a part of a permuted group, or a grid cut off or wrapped in part). Maps are immutable; clones share what is on the heap, between threads too.

//!
//! # Sources
//!
//! - J. Barbay, G. Navarro, *Compressed representations of permutations, and applications*, STACS 2009.
//! - R. E. Bryant, *Graph-based algorithms for Boolean function manipulation*, IEEE Transactions on Computers 35(8), 1986.
//! - M. Chaarawi, E. Gabriel, *Evaluating sparse data storage techniques for MPI groups and communicators*, ICCS 2008.
//! - P. Elias, *Efficient storage and retrieval by content and address of static files*, Journal of the ACM 21(2), 1974.
//! - J. Goldstein, R. Ramakrishnan, U. Shaft, *Compressing relations and indexes*, ICDE 1998.
//! - R. González, S. Grabowski, V. Mäkinen, G. Navarro, *Practical implementation of rank and select queries*, WEA 2005.
//! - T. Granlund, P. L. Montgomery, *Division by invariant integers using multiplication*, PLDI 1994.
//! - P. Havlak, K. Kennedy, *An implementation of interprocedural bounded regular section analysis*, IEEE Transactions on
//!   Parallel and Distributed Systems 2(3), 1991.
//! - G. Jacobson, *Space-efficient static trees and graphs*, FOCS 1989.
//! - D. Lemire et al., *Roaring bitmaps: implementation of an optimized software library*, Software: Practice and
//!   Experience 48(4), 2018.
//! - D. Lemire, O. Kaser, N. Kurz, *Faster remainder by direct computation*, Software: Practice and Experience 49(6), 2019.
//! - S. M. Mir Taheri, *Scalability of communicators in MPI*, thesis, University of British Columbia, 2011.
//! - MPI Forum, *MPI: a message-passing interface standard, version 4.1*, 2023.
//! - J. I. Munro, R. Raman, V. Raman, S. S. Rao, *Succinct representations of permutations*, ICALP 2003.
//! - S. Vigna, *Broadword implementation of rank/select queries*, WEA 2008; *Quasi-succinct indices*, WSDM 2013.

// docs.rs says which feature an item comes with.
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
