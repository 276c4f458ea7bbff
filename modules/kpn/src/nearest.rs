//! Suggestions for misspelt words.

/// Length in bytes of the longest word that is compared.
const LONGEST: usize = 100;

/// Returns the candidate closest to `word`, or `None` if none is close enough to be suggested.
///
/// The distance is optimal string alignment (insert, delete, replace, swap of neighbours), and
/// ignores case. At most a third of the characters of the longer word may change. Therefore two
/// words of one or two letters must be equal apart from case. Of equally close candidates the first
/// is returned.
///
/// Words of more than 100 bytes are not compared, because the time is proportional to the product
/// of the lengths.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > LONGEST {
        return None;
    }
    let word = word.to_lowercase();
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate.len() > LONGEST {
            continue;
        }
        let other = candidate.to_lowercase();
        let lengths = [&word, &other].map(|text| text.chars().count());
        let limit = lengths[0].max(lengths[1]) / 3;
        if lengths[0].abs_diff(lengths[1]) > limit {
            continue;
        }
        let distance = strsim::osa_distance(&word, &other);
        if distance <= limit && best.is_none_or(|(d, _)| distance < d) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn suggests_what_is_close_and_nothing_else() {
        let words = ["bundle", "capacity", "type", "traffic"];
        assert_eq!(nearest("capcity", words), Some("capacity"));
        assert_eq!(nearest("tpye", words), Some("type"));
        assert_eq!(nearest("BUNDLE", words), Some("bundle"));
        assert_eq!(nearest("colour", words), None);
        assert_eq!(nearest("", words), None);
        assert_eq!(nearest("a", ["b"]), None);
        assert_eq!(nearest("w1", ["w2"]), None);
        assert_eq!(nearest("ot", ["in", "out"]), Some("out"));
    }

    #[test]
    fn a_word_of_a_million_letters_costs_nothing() {
        let (a, b) = ("a".repeat(1_000_000), "a".repeat(999_999));
        assert_eq!(nearest(&a, [b.as_str()]), None);
        assert_eq!(nearest("aaa", [b.as_str(), "aab"]), Some("aab"));
    }
}
