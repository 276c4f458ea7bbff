//! Classes of distance, and the cost of a message for each class.

/// Relation between the two ends of a channel, closest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Both processes are in one OS process.
    Collocated,
    /// OS processes on cores that share their last cache.
    Cache,
    /// OS processes on one socket, without a common cache.
    Socket,
    /// OS processes on different sockets of one host, or on one host whose sockets are unknown.
    Host,
    /// OS processes on different hosts of one group (behind one switch).
    Group,
    /// OS processes on hosts of different groups.
    Apart,
}

impl Class {
    /// All classes, closest first. The index of a class in this array is its discriminant.
    pub const ALL: [Class; 6] = [
        Class::Collocated,
        Class::Cache,
        Class::Socket,
        Class::Host,
        Class::Group,
        Class::Apart,
    ];

    /// Returns the name of the class for messages and reports.
    pub fn about(self) -> &'static str {
        match self {
            Class::Collocated => "same OS process",
            Class::Cache => "same cache",
            Class::Socket => "same socket",
            Class::Host => "same host",
            Class::Group => "other host",
            Class::Apart => "other group of hosts",
        }
    }
}

/// Cost of a message for each [`Class`]. Costs are not negative, and a more distant class does not
/// cost less than a closer one.
///
/// The unit is up to the user, because only ratios influence a mapping. The default,
/// [`Distances::MEASURED`], is in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Distances([f64; 6]);

/// Reason why numbers cannot be distances.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum BadDistances {
    /// A number that is negative, infinite or NaN.
    #[error("the distance for `{}` is {value}; it must be a number of at least 0", class.about())]
    NotADistance {
        /// Class of the number.
        class: Class,
        /// Number that is not a distance.
        value: f64,
    },
    /// A class that costs less than a closer one.
    #[error(
        "`{}` has distance {value}, but `{}`, which is closer, has distance {closer}",
        class.about(), inner.about()
    )]
    Shrinks {
        /// Class that costs too little.
        class: Class,
        /// Distance of `class`.
        value: f64,
        /// Next closer class.
        inner: Class,
        /// Distance of `inner`.
        closer: f64,
    },
}

impl Distances {
    /// One-way time of a message of 8 KiB, in nanoseconds.
    ///
    /// All figures except the last are measured. Ranges are in parentheses:
    ///
    /// * collocated, 45: a channel within one OS process of the runtime's prototype, payload moved
    ///   (36 to 55 ns).
    /// * same cache, 1,100: a ring in shared memory between two cores of one cache slice, two
    ///   copies (900 to 1,300 ns).
    /// * same socket, 2,900, and same host, 3,500: the lower and the upper end of the range for the
    ///   same ring between cores of different cache slices (2,900 to 3,500 ns). The upper end
    ///   stands in for two sockets, because no machine with two sockets was available.
    /// * other host, 62,500: MPI over TCP between two nodes, from the thesis. It measured 1,410
    ///   (collocated) and 3,130 (shared memory) for the other two classes in the same session.
    /// * other group, 125,000: not measured. It is twice the distance of another host, because the
    ///   message passes more switches.
    ///
    /// To use your own measurements, set `distance=` in the [synthetic](crate::synthetic) format,
    /// or call [`Platform::with_distances`](crate::Platform::with_distances).
    pub const MEASURED: Distances =
        Distances([45.0, 1_100.0, 2_900.0, 3_500.0, 62_500.0, 125_000.0]);

    /// Creates distances from one number per class, in the order of [`Class::ALL`].
    ///
    /// # Errors
    /// [`BadDistances::NotADistance`] for a number that is negative, infinite or NaN.
    /// [`BadDistances::Shrinks`] for a number that is less than the one before it. The first wrong
    /// number is reported.
    pub fn new(values: [f64; 6]) -> Result<Distances, BadDistances> {
        for (i, &value) in values.iter().enumerate() {
            let class = Class::ALL[i];
            if !(value.is_finite() && value >= 0.0) {
                return Err(BadDistances::NotADistance { class, value });
            }
            if i > 0 && value < values[i - 1] {
                let (inner, closer) = (Class::ALL[i - 1], values[i - 1]);
                return Err(BadDistances::Shrinks {
                    class,
                    value,
                    inner,
                    closer,
                });
            }
        }
        Ok(Distances(values))
    }

    /// Returns the distance of a class.
    pub fn get(&self, class: Class) -> f64 {
        self.0[class as usize]
    }

    /// Returns the distances as integers.
    ///
    /// If all distances are multiples of the smallest positive one, and at most 1,000,000 times as
    /// large, they are divided by it. Otherwise they are scaled so that the largest is 1,000,000,
    /// and rounded. A positive distance stays positive. If all distances are 0, all results are 0.
    pub fn whole(&self) -> [u32; 6] {
        const LARGEST: f64 = 1e6;
        let largest = self.0[5];
        let Some(unit) = self.0.into_iter().find(|d| *d > 0.0) else {
            return [0; 6];
        };
        let exact = |d: &f64| (d / unit).fract() == 0.0;
        let scale = match largest / unit <= LARGEST && self.0.iter().all(exact) {
            true => unit,
            false => largest / LARGEST,
        };
        let least = |d: f64| if d > 0.0 { 1.0 } else { 0.0 };
        self.0.map(|d| (d / scale).round().max(least(d)) as u32)
    }

    /// Returns one number per class, in the order of [`Class::ALL`].
    pub fn as_array(&self) -> [f64; 6] {
        self.0
    }
}

impl Default for Distances {
    fn default() -> Distances {
        Distances::MEASURED
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measured_distances_are_distances() {
        let measured = Distances::MEASURED.as_array();
        assert_eq!(Distances::new(measured), Ok(Distances::MEASURED));
    }

    #[test]
    fn whole_numbers_keep_ratios() {
        let whole = |values| Distances::new(values).unwrap().whole();
        assert_eq!(
            whole([0.0, 0.5, 0.5, 1.0, 10.0, 10.0]),
            [0, 1, 1, 2, 20, 20]
        );
        assert_eq!(whole([0.0; 6]), [0; 6]);
        assert_eq!(
            whole([0.0, 3.0, 3.0, 4.0, 4.0, 4.0])[1..4],
            [750_000, 750_000, 1_000_000]
        );
        assert_eq!(
            whole([1e-300, 1.0, 1.0, 1.0, 1.0, 1e300]),
            [1, 1, 1, 1, 1, 1_000_000]
        );
        assert_eq!(Distances::MEASURED.whole()[4], 500_000);
    }

    #[test]
    fn decreasing_or_invalid_distances_are_errors() {
        let shrinks = Distances::new([0.0, 1.0, 1.0, 0.5, 2.0, 2.0]).unwrap_err();
        assert_eq!(
            shrinks.to_string(),
            "`same host` has distance 0.5, but `same socket`, which is closer, has distance 1"
        );
        assert!(Distances::new([0.0, 1.0, 1.0, 1.0, f64::NAN, 2.0]).is_err());
        assert!(Distances::new([-1.0, 1.0, 1.0, 1.0, 1.0, 2.0]).is_err());
    }
}
