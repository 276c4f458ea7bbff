//! Run-length encoding of numbers that ranks contribute to a collective call.
//!
//! The numbers are mostly regular: the colours of rows are runs of one number, and keys are ranks.
//! Each column of numbers is encoded as maximal arithmetic progressions of a few bytes each. So a
//! scheduler sends the leader bytes in proportion to the runs, not to its ranks.

use std::iter;

/// Maximum number of decoded numbers that do not belong to ranks.
const MOST_MORE: usize = 1 << 20;

/// Two numbers of one rank, or of each rank of a scheduler.
pub(super) enum Rows {
    /// Numbers of one rank, which is known by its index.
    One(i64, i64),
    /// Encoded columns: the ranks, the two numbers of each rank, and numbers without a rank.
    Many(Vec<Vec<u8>>),
}

graphmap_executor::payload!(
    enum Rows {
        One(first, second),
        Many(columns),
    }
);

impl Rows {
    /// Combines the numbers of the ranks of a scheduler, and the numbers `more` without a rank,
    /// into one part with the rank of the first part. Each part must be a [`Rows::One`]. Without
    /// parts, the result is empty and `more` is lost.
    pub(super) fn together(parts: Vec<(u32, Rows)>, more: &[i64]) -> Vec<(u32, Rows)> {
        let Some(&(first, _)) = parts.first() else {
            return parts;
        };
        let column = |of: fn(&(u32, Rows)) -> i64| pack(parts.iter().map(of));
        let one = |part: &(u32, Rows)| match part.1 {
            Rows::One(one, other) => (one, other),
            Rows::Many(_) => (0, 0),
        };
        let columns = vec![
            column(|part| part.0.into()),
            pack(parts.iter().map(|part| one(part).0)),
            pack(parts.iter().map(|part| one(part).1)),
            pack(more.iter().copied()),
        ];
        vec![(first, Rows::Many(columns))]
    }

    /// Returns the two numbers of each of the ranks below `size`, by rank, and the numbers without
    /// a rank. A [`Rows::One`] has the numbers of the rank that equals its index in `all`. Ranks
    /// without numbers get `missing`. Numbers of ranks that are not below `size` are ignored. Each
    /// [`Rows::Many`] contributes at most `size` ranks and 2^20 numbers without a rank, and its
    /// rows end with its shortest column.
    pub(super) fn apart(
        all: Vec<Rows>,
        size: usize,
        missing: (i64, i64),
    ) -> (Vec<(i64, i64)>, Vec<i64>) {
        let (mut rows, mut more) = (vec![missing; size], Vec::new());
        for (place, part) in (0..).zip(all) {
            let mut put = |rank: i64, row| {
                let rank = usize::try_from(rank).ok();
                if let Some(place) = rank.and_then(|rank| rows.get_mut(rank)) {
                    *place = row;
                }
            };
            match part {
                Rows::One(one, other) => put(place, (one, other)),
                Rows::Many(columns) => {
                    let column = |at: usize| unpack(columns.get(at).map_or(&[], Vec::as_slice));
                    let numbers = column(1).zip(column(2));
                    // The limit is the number of ranks, because the bytes of another scheduler may
                    // be invalid.
                    let numbers = column(0).zip(numbers).take(size);
                    numbers.for_each(|(rank, row)| put(rank, row));
                    more.extend(column(3).take(MOST_MORE));
                }
            }
        }
        (rows, more)
    }
}

/// Encodes numbers as progressions: the length of each, the difference between its first number and
/// the last number before, and its step if it has several numbers. The last number before the first
/// progression is 0.
fn pack(numbers: impl Iterator<Item = i64>) -> Vec<u8> {
    let (mut bytes, mut before) = (Vec::new(), 0);
    let mut run: Option<(i64, i64, u64)> = None;
    let mut end = |(first, step, count): (i64, i64, u64)| {
        write(&mut bytes, count);
        write(&mut bytes, zigzag(first.wrapping_sub(before)));
        if count > 1 {
            write(&mut bytes, zigzag(step));
        }
        before = at(first, step, count - 1);
    };
    for number in numbers {
        run = Some(match run {
            None => (number, 0, 1),
            Some((first, _, 1)) => (first, number.wrapping_sub(first), 2),
            Some((first, step, count)) if at(first, step, count) == number => {
                (first, step, count + 1)
            }
            Some(ended) => {
                end(ended);
                (number, 0, 1)
            }
        });
    }
    run.into_iter().for_each(end);
    bytes
}

/// Decodes the bytes of [`pack`] lazily, up to the first progression that is incomplete or empty. A
/// few invalid bytes can encode 2^64 numbers, so the caller must limit their number.
fn unpack(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let (mut rest, mut before) = (bytes, 0_i64);
    let runs = iter::from_fn(move || {
        let count = read(&mut rest)?;
        let first = before.wrapping_add(unzigzag(read(&mut rest)?));
        let step = match count {
            0 => return None,
            1 => 0,
            _ => unzigzag(read(&mut rest)?),
        };
        before = at(first, step, count - 1);
        Some((first, step, count))
    });
    runs.flat_map(|(first, step, count)| (0..count).map(move |index| at(first, step, index)))
}

/// Returns the number at `index` of a progression. Overflow wraps around.
fn at(first: i64, step: i64, index: u64) -> i64 {
    first.wrapping_add(step.wrapping_mul(index.cast_signed()))
}

/// Maps numbers with small absolute values to small unsigned numbers: 0, -1, 1, -2 to 0, 1, 2, 3.
fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63).cast_unsigned()
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

/// Appends a number with seven bits per byte, the lowest first. The top bit is set in all bytes but
/// the last.
fn write(bytes: &mut Vec<u8>, number: u64) {
    let mut rest = number;
    while rest >= 0x80 {
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

/// Reads a number that [`write`] wrote, and advances `bytes`. `None` if the bytes end before the
/// end of the number, or if it has more than ten bytes. `bytes` is then advanced as well.
fn read(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packed_numbers_round_trip() {
        let mixed = |n: i64| n.wrapping_mul(0x9e37_79b9_7f4a_7c15_u64.cast_signed());
        let cases: [Vec<i64>; 7] = [
            vec![],
            vec![i64::MIN, i64::MAX, 0, -1, i64::MAX, i64::MIN, i64::MIN],
            (0..100).map(mixed).collect(),
            (0..100).map(|n| mixed(n) >> 61).collect(),
            (0..1000).map(|n| n / 10).collect(),
            (0..1000).map(|n| -n).collect(),
            vec![5],
        ];
        for numbers in cases {
            let bytes = pack(numbers.iter().copied());
            assert!(unpack(&bytes).eq(numbers.iter().copied()));
            // A prefix of the bytes decodes to a prefix of the numbers.
            for end in 0..bytes.len() {
                let cut: Vec<i64> = unpack(&bytes[..end]).collect();
                assert!(numbers.starts_with(&cut), "{end}");
            }
        }
    }

    #[test]
    fn regular_numbers_take_few_bytes() {
        let rows = (0..1_000_000).map(|rank| rank / 1000);
        assert_eq!(pack(rows).len(), 1000 * 4);
        assert_eq!(pack(0..1_000_000).len(), 3 + 1 + 1);
        let random = (0..10_000_i64).map(|n| n.wrapping_mul(0x9e37_79b9) >> 7 & 511);
        assert!(pack(random).len() <= 10_000 * 3);
    }

    #[test]
    fn forged_rows_do_not_take_long() {
        let mut endless = Vec::new();
        write(&mut endless, u64::MAX);
        endless.extend([0, 0]);
        let columns = vec![endless.clone(); 4];
        let (rows, more) = Rows::apart(vec![Rows::Many(columns)], 3, (-1, 0));
        assert_eq!(rows, [(0, 0), (-1, 0), (-1, 0)]);
        assert_eq!(more.len(), MOST_MORE);
        let (rows, more) = Rows::apart(vec![Rows::Many(Vec::new())], 2, (-1, 0));
        assert_eq!((rows, more), (vec![(-1, 0); 2], vec![]));
    }
}
