//! Types of other languages, and the corresponding Rust types. By Rust's convention, types of a
//! project begin with a capital letter, so they do not conflict with these names.

/// Types of C with names of several words. A longer name precedes its prefixes.
pub(super) const SEVERAL_WORDS: &[(&str, &str)] = &[
    ("unsigned long long", "u64"),
    ("unsigned long", "u64"),
    ("unsigned short", "u16"),
    ("unsigned char", "u8"),
    ("unsigned int", "u32"),
    ("signed char", "i8"),
    ("signed int", "i32"),
    ("long double", "f64"),
    ("long long", "i64"),
    ("long int", "i64"),
    ("short int", "i16"),
];

/// Types of C, C++, Fortran, Go, Java, Python and MPI with names of one word.
const ONE_WORD: &[(&str, &str)] = &[
    ("int", "i32"),
    ("uint", "u32"),
    ("unsigned", "u32"),
    ("signed", "i32"),
    ("long", "i64"),
    ("ulong", "u64"),
    ("short", "i16"),
    ("ushort", "u16"),
    ("byte", "u8"),
    ("float", "f32"),
    ("double", "f64"),
    ("boolean", "bool"),
    ("void", "()"),
    ("string", "String"),
    ("size_t", "usize"),
    ("ssize_t", "isize"),
    ("ptrdiff_t", "isize"),
    ("intptr_t", "isize"),
    ("uintptr_t", "usize"),
    ("wchar_t", "char"),
    ("integer", "i32"),
    ("real", "f32"),
    ("int8", "i8"),
    ("int16", "i16"),
    ("int32", "i32"),
    ("int64", "i64"),
    ("uint8", "u8"),
    ("uint16", "u16"),
    ("uint32", "u32"),
    ("uint64", "u64"),
    ("float32", "f32"),
    ("float64", "f64"),
    ("int8_t", "i8"),
    ("int16_t", "i16"),
    ("int32_t", "i32"),
    ("int64_t", "i64"),
    ("uint8_t", "u8"),
    ("uint16_t", "u16"),
    ("uint32_t", "u32"),
    ("uint64_t", "u64"),
    ("MPI_CHAR", "i8"),
    ("MPI_SIGNED_CHAR", "i8"),
    ("MPI_UNSIGNED_CHAR", "u8"),
    ("MPI_BYTE", "u8"),
    ("MPI_SHORT", "i16"),
    ("MPI_UNSIGNED_SHORT", "u16"),
    ("MPI_INT", "i32"),
    ("MPI_INTEGER", "i32"),
    ("MPI_UNSIGNED", "u32"),
    ("MPI_LONG", "i64"),
    ("MPI_LONG_LONG", "i64"),
    ("MPI_UNSIGNED_LONG", "u64"),
    ("MPI_FLOAT", "f32"),
    ("MPI_REAL", "f32"),
    ("MPI_DOUBLE", "f64"),
    ("MPI_DOUBLE_PRECISION", "f64"),
    ("MPI_INT8_T", "i8"),
    ("MPI_INT16_T", "i16"),
    ("MPI_INT32_T", "i32"),
    ("MPI_INT64_T", "i64"),
    ("MPI_UINT8_T", "u8"),
    ("MPI_UINT16_T", "u16"),
    ("MPI_UINT32_T", "u32"),
    ("MPI_UINT64_T", "u64"),
    ("complex", "(f64, f64)"),
    ("bytes", "Vec<u8>"),
    ("vec", "Vec<..>"),
    ("vector", "Vec<..>"),
    ("list", "Vec<..>"),
    ("array", "[..; N]"),
    ("pair", "(.., ..)"),
    ("tuple", "(.., ..)"),
    ("optional", "Option<..>"),
    ("unique_ptr", "Box<..>"),
    ("dict", "std::collections::BTreeMap<.., ..>"),
    ("map", "std::collections::BTreeMap<.., ..>"),
    ("unordered_map", "std::collections::HashMap<.., ..>"),
    ("set", "std::collections::BTreeSet<..>"),
    ("unordered_set", "std::collections::HashSet<..>"),
    ("deque", "std::collections::VecDeque<..>"),
];

/// Returns the Rust type for a path of another language, such as `int` or `std::vector`. `path` has
/// the names of the path. Returns `None` for any path other than a known name, or `std` and a known
/// name.
pub(super) fn rust_name(path: &[&str]) -> Option<&'static str> {
    let ([name] | ["std", name]) = path else {
        return None;
    };
    let found = ONE_WORD.iter().find(|(said, _)| said == name);
    found.map(|(_, rust)| *rust)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_a_type_of_rust() {
        for (said, rust) in SEVERAL_WORDS.iter().chain(ONE_WORD) {
            let filled = rust.replace("N", "4").replace("..", "u8");
            assert!(crate::payload::parse(&filled).is_ok(), "{said}: {rust}");
        }
    }
}
