//! Representations of a communicator: rank maps and their alternatives.

use bzip2::{Compression, read::BzDecoder, read::BzEncoder};
use graphmap_rankmap::{Builder, RankMap, Representation, Strategy};
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::io::Read;
use vers_vecs::EliasFanoVec;

/// SELECT and RANK. An operation that would have to walk through all ranks returns `None`.
pub trait Contestant {
    fn bytes(&self) -> usize;
    fn select(&self, _rank: u32) -> Option<u32> {
        None
    }
    fn rank(&self, _world: u32) -> Option<u32> {
        None
    }
    fn selects(&self) -> bool {
        true
    }
    fn ranks(&self) -> bool {
        true
    }
    /// Returns the sum of all ranks by iteration, or `None` if there is no iteration.
    fn sum(&self) -> Option<u64> {
        None
    }
    fn form(&self) -> String {
        String::new()
    }
}

impl Contestant for RankMap {
    fn bytes(&self) -> usize {
        self.bytes()
    }
    // Inlined into the calling loop like the array's, as in a call without a trait.
    #[inline(always)]
    fn select(&self, rank: u32) -> Option<u32> {
        self.select(rank)
    }
    fn rank(&self, world: u32) -> Option<u32> {
        self.rank(world)
    }
    fn sum(&self) -> Option<u64> {
        Some(self.iter().map(u64::from).sum())
    }
    fn form(&self) -> String {
        self.representation().to_string()
    }
}

pub struct Array(pub Vec<u32>);

impl Contestant for Array {
    fn bytes(&self) -> usize {
        self.0.len() * 4 + size_of::<Vec<u32>>()
    }
    #[inline(always)]
    fn select(&self, rank: u32) -> Option<u32> {
        self.0.get(rank as usize).copied()
    }
    fn ranks(&self) -> bool {
        false
    }
    fn sum(&self) -> Option<u64> {
        Some(self.0.iter().copied().map(u64::from).sum())
    }
}

/// An array whose RANK is a binary search.
pub struct Sorted(pub Vec<u32>);

impl Contestant for Sorted {
    fn bytes(&self) -> usize {
        self.0.len() * 4 + size_of::<Vec<u32>>()
    }
    fn select(&self, rank: u32) -> Option<u32> {
        self.0.get(rank as usize).copied()
    }
    fn rank(&self, world: u32) -> Option<u32> {
        self.0.binary_search(&world).ok().map(|rank| rank as u32)
    }
    fn sum(&self) -> Option<u64> {
        Some(self.0.iter().copied().map(u64::from).sum())
    }
}

/// World ranks to ranks. An array beside it has the other direction.
pub struct Hashed(pub HashMap<u32, u32>);

impl Contestant for Hashed {
    fn bytes(&self) -> usize {
        // An entry and a control byte for each bucket. At most seven of eight buckets are used.
        let buckets = (self.0.capacity() * 8 / 7).next_power_of_two();
        buckets * 9 + size_of::<HashMap<u32, u32>>()
    }
    fn rank(&self, world: u32) -> Option<u32> {
        self.0.get(&world).copied()
    }
    fn selects(&self) -> bool {
        false
    }
}

impl Contestant for RoaringBitmap {
    fn bytes(&self) -> usize {
        // The serialized size. In memory it takes more.
        self.serialized_size() + size_of::<RoaringBitmap>()
    }
    fn select(&self, rank: u32) -> Option<u32> {
        self.select(rank)
    }
    fn rank(&self, world: u32) -> Option<u32> {
        self.contains(world).then(|| self.rank(world) as u32 - 1)
    }
    fn sum(&self) -> Option<u64> {
        Some(self.iter().map(u64::from).sum())
    }
}

/// The Elias-Fano vector of `vers-vecs`, whose numbers have 64 bits.
impl Contestant for EliasFanoVec {
    fn bytes(&self) -> usize {
        self.heap_size() + size_of::<EliasFanoVec>()
    }
    fn select(&self, rank: u32) -> Option<u32> {
        self.get(rank as usize).map(|world| world as u32)
    }
    fn rank(&self, world: u32) -> Option<u32> {
        let below = self.rank(u64::from(world)) as usize;
        (self.get(below) == Some(u64::from(world))).then_some(below as u32)
    }
}

/// The last resort of the thesis: blocks of 1,000 ranks, each compressed by bzip2.
pub struct Blocks(Vec<Vec<u8>>);

impl Blocks {
    pub fn new(ranks: &[u32]) -> Self {
        let blocks = ranks.chunks(1000).map(|block| {
            let bytes: Vec<u8> = block.iter().flat_map(|rank| rank.to_le_bytes()).collect();
            let mut packed = Vec::new();
            BzEncoder::new(&bytes[..], Compression::best())
                .read_to_end(&mut packed)
                .expect("from memory");
            packed.shrink_to_fit();
            packed
        });
        Blocks(blocks.collect())
    }
}

impl Contestant for Blocks {
    fn bytes(&self) -> usize {
        self.0
            .iter()
            .map(|block| block.len() + size_of::<Vec<u8>>())
            .sum::<usize>()
            + size_of::<Blocks>()
    }
    fn select(&self, rank: u32) -> Option<u32> {
        let block = self.0.get(rank as usize / 1000)?;
        let mut bytes = Vec::with_capacity(4000);
        BzDecoder::new(&block[..]).read_to_end(&mut bytes).ok()?;
        let at = rank as usize % 1000 * 4;
        Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    }
    fn ranks(&self) -> bool {
        false
    }
}

pub const FORMS: [Representation; 13] = [
    Representation::Progression,
    Representation::Grid,
    Representation::Runs,
    Representation::RunLengths,
    Representation::Bitmap,
    Representation::BareBitmap,
    Representation::EliasFano,
    Representation::List,
    Representation::Complement,
    Representation::Shortcuts,
    Representation::Inverse,
    Representation::Wavelet,
    Representation::DecisionDiagram,
];

/// Builds a contestant, or returns `None` if it cannot represent these ranks.
pub fn build(name: &str, ranks: &[u32]) -> Option<Box<dyn Contestant>> {
    let ascending = ranks.is_sorted();
    let by = |strategy| Builder::new().strategy(strategy).slice(ranks).ok();
    let map = match name {
        "space" => by(Strategy::Space)?,
        "time" => by(Strategy::Time)?,
        "hybrid" => by(Strategy::default())?,
        "u32 array" => return Some(Box::new(Array(ranks.to_vec()))),
        "sorted array" => {
            return ascending.then(|| Box::new(Sorted(ranks.to_vec())) as Box<dyn Contestant>);
        }
        "hash map" => return Some(Box::new(Hashed(ranks.iter().copied().zip(0..).collect()))),
        "roaring" => {
            if !ascending {
                return None;
            }
            let mut bitmap = RoaringBitmap::from_sorted_iter(ranks.iter().copied()).ok()?;
            bitmap.optimize();
            return Some(Box::new(bitmap));
        }
        "vers-vecs" => {
            let wide: Vec<u64> = ranks.iter().map(|rank| u64::from(*rank)).collect();
            return ascending
                .then(|| Box::new(EliasFanoVec::from_slice(&wide)) as Box<dyn Contestant>);
        }
        "bzip2 blocks" => return Some(Box::new(Blocks::new(ranks))),
        form => {
            let form = FORMS.iter().find(|kind| kind.to_string() == form)?;
            Builder::new().representation(*form).slice(ranks).ok()?
        }
    };
    Some(Box::new(map))
}
