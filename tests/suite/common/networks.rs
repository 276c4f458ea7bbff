//! The networks in `graphs/`.

/// Network, with the arguments and the expected output of its program.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) args: &'static [&'static str],
    /// Lines that the output must contain.
    pub(crate) lines: &'static [&'static str],
    /// Beginnings of the lines that may differ from run to run.
    pub(crate) varies: &'static [&'static str],
}

pub(crate) const CASES: &[Case] = &[
    Case {
        name: "crew",
        args: &["1000", "110"],
        lines: &["27 is the first that takes more than 110 steps"],
        varies: &["shifts: "],
    },
    Case {
        name: "farm",
        args: &["90", "60", "picture.png"],
        lines: &["90 x 60 pixels in 8 strips", "wrote picture.png"],
        varies: &["strips by worker"],
    },
    Case {
        name: "fft",
        args: &["20"],
        lines: &["20 signals of 16 samples"],
        varies: &[],
    },
    Case {
        name: "guess",
        args: &["1000"],
        lines: &[],
        varies: &[],
    },
    Case {
        name: "matmul",
        args: &["5"],
        lines: &[
            "20 x 20 numbers on 4 x 4 cells",
            "equal to the product made at once",
        ],
        varies: &[],
    },
    Case {
        name: "sieve",
        args: &[],
        lines: &["100 primes, their sum is 24133"],
        varies: &[],
    },
    Case {
        name: "skiplist",
        args: &["2000"],
        lines: &[
            "512 keys remain, in order",
            "all answers are those of a BTreeMap",
        ],
        varies: &[],
    },
    Case {
        name: "sort",
        args: &["1001"],
        lines: &["1001 numbers sorted"],
        varies: &[],
    },
    Case {
        name: "stencil",
        args: &["3", "50"],
        lines: &[
            "12 x 12 points in 4 x 4 blocks, 50 steps",
            "largest difference from the whole plate 0e0",
        ],
        varies: &[],
    },
    Case {
        name: "tree",
        args: &["8"],
        lines: &["8 queens, 42 tasks", "92 ways"],
        varies: &[],
    },
];

impl Case {
    /// Returns whether a line of the output may differ from run to run.
    pub(crate) fn varies(&self, line: &str) -> bool {
        self.varies.iter().any(|start| line.starts_with(start))
    }
}
