//! Balanced dimensions (`MPI_Dims_create`). The standard does not define the balance. Like MPICH,
//! this module minimizes the difference of the largest and the smallest dimension. Of equal
//! solutions, that with the largest smallest dimension is chosen.

/// Returns `count` dimensions in descending order, whose product is `number`. `number` and `count`
/// must be at least 1.
pub(super) fn balanced(number: usize, count: usize) -> Vec<usize> {
    let (mut rest, mut dims) = (number, Vec::with_capacity(count));
    let primes = primes(number);
    // A prime above the root of the rest is a dimension of its own.
    for (index, &prime) in primes.iter().enumerate().skip(1).rev() {
        let is_single = primes[index - 1] != prime && primes.get(index + 1) != Some(&prime);
        if dims.len() + 1 >= count || !is_single || prime * prime <= rest {
            break;
        }
        dims.push(prime);
        rest /= prime;
    }
    let mut search = Search {
        divisors: divisors(rest),
        chosen: Vec::new(),
        best: None,
    };
    search.run(rest, count - dims.len());
    let found = search.best.map(|(_, dims)| dims).unwrap_or_default();
    dims.extend(found.into_iter().rev());
    dims
}

/// Returns the prime factors of a number, in ascending order.
fn primes(number: usize) -> Vec<usize> {
    let (mut rest, mut primes, mut next) = (number, Vec::new(), 2);
    while next * next <= rest {
        while rest.is_multiple_of(next) {
            primes.push(next);
            rest /= next;
        }
        next += 1;
    }
    primes.extend((rest > 1).then_some(rest));
    primes
}

/// Returns the divisors of a number, in ascending order.
fn divisors(number: usize) -> Vec<usize> {
    let low = (1..).take_while(|n| n * n <= number);
    let low = low.filter(|n| number.is_multiple_of(*n));
    let mut all: Vec<usize> = low.flat_map(|n| [n, number / n]).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Returns the smallest number whose power is at least `of`.
fn root(of: usize, power: usize) -> usize {
    let power = power as u32;
    let is_low = |root: usize| root.checked_pow(power).is_some_and(|all| all < of);
    let mut root = (of as f64).powf(1.0 / f64::from(power)) as usize;
    while root > 0 && !is_low(root - 1) && root > 1 {
        root -= 1;
    }
    while is_low(root) {
        root += 1;
    }
    root
}

/// Search for dimensions in ascending order. Each is tried from large to small, so that of equal
/// solutions the first one has the largest smallest dimension.
struct Search {
    divisors: Vec<usize>,
    chosen: Vec<usize>,
    /// Difference of the largest and the smallest dimension, and the dimensions.
    best: Option<(usize, Vec<usize>)>,
}

impl Search {
    fn run(&mut self, rest: usize, count: usize) {
        let before = self.chosen.last().copied().unwrap_or(1);
        // The largest dimension is at least the root of the rest.
        let least = root(rest, count);
        let is_better = |search: &Search, smallest: usize, largest: usize| {
            let best = search.best.as_ref();
            best.is_none_or(|&(best, _)| largest - smallest < best)
        };
        if count == 1 {
            let smallest = self.chosen.first().copied().unwrap_or(rest);
            if rest >= before && is_better(self, smallest, rest) {
                let mut dims = self.chosen.clone();
                dims.push(rest);
                self.best = Some((rest - smallest, dims));
            }
            return;
        }
        for index in (0..self.divisors.partition_point(|&dim| dim <= least)).rev() {
            let dim = self.divisors[index];
            if dim < before {
                break;
            }
            let smallest = self.chosen.first().copied().unwrap_or(dim);
            if !is_better(self, smallest, least.max(smallest)) {
                break;
            }
            if rest.is_multiple_of(dim) {
                self.chosen.push(dim);
                self.run(rest / dim, count - 1);
                self.chosen.pop();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_is_minimal() {
        assert_eq!(balanced(1, 3), [1, 1, 1]);
        assert_eq!(balanced(12, 1), [12]);
        assert_eq!(balanced(12, 4), [3, 2, 2, 1]);
        assert_eq!(balanced(100, 3), [5, 5, 4]);
        assert_eq!(balanced(14, 3), [7, 2, 1]);
        assert_eq!(balanced(7, 2), [7, 1]);
        assert_eq!(balanced(64, 3), [4, 4, 4]);
        assert_eq!(balanced(5040, 3), [21, 16, 15]);
        assert_eq!(balanced(7488, 3), [26, 18, 16]);
        assert_eq!(balanced(1 << 20, 20), [2; 20]);
    }

    #[test]
    fn search_equals_enumeration() {
        fn all(number: usize, count: usize, least: usize) -> Vec<Vec<usize>> {
            if count == 1 {
                return if number >= least {
                    vec![vec![number]]
                } else {
                    Vec::new()
                };
            }
            let first = (least..=number).filter(|dim| number.is_multiple_of(*dim));
            first
                .flat_map(|dim| {
                    let rest = all(number / dim, count - 1, dim);
                    rest.into_iter().map(move |rest| [vec![dim], rest].concat())
                })
                .collect()
        }
        for number in 1..300 {
            for count in 1..4 {
                let dims = balanced(number, count);
                assert_eq!(dims.iter().product::<usize>(), number);
                assert!(dims.is_sorted_by(|a, b| a >= b));
                let least = all(number, count, 1)
                    .into_iter()
                    .map(|dims| dims[count - 1] - dims[0]);
                assert_eq!(
                    Some(dims[0] - dims[count - 1]),
                    least.min(),
                    "{number} {count}"
                );
            }
        }
    }

    #[test]
    fn root_is_exact() {
        for (of, power, expected) in [(1, 1, 1), (8, 3, 2), (9, 3, 3), (1 << 30, 2, 1 << 15)] {
            assert_eq!(root(of, power), expected);
        }
    }
}
