//! Random numbers that are the same on all ranks.

/// Sequence of random numbers, determined by its seed (SplitMix64).
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

/// Mixes a number, so that each bit of the result depends on all bits of the argument.
pub(crate) fn mixed(number: u64) -> u64 {
    let number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

impl Chance {
    pub(crate) fn new(seed: u64) -> Chance {
        Chance(mixed(seed))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mixed(self.0)
    }

    /// Returns a number below `bound`.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    /// Returns the length of a message: mostly short, sometimes 0, and sometimes too long to be
    /// sent at once.
    pub(crate) fn length(&mut self) -> usize {
        match self.below(40) {
            0 => 20_000 + self.below(2_000),
            1..=3 => 200 + self.below(200),
            _ => self.below(8),
        }
    }

    /// Returns the numbers below `count` in random order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..count).collect();
        for at in (1..count).rev() {
            order.swap(at, self.below(at + 1));
        }
        order
    }
}
