//! Nearest-name hints: what a misspelt word was probably meant to be.

/// The longest word, in bytes, that is compared with others.
const LONGEST: usize = 100;

/// The candidate closest to `word`, if one is close enough to suggest.
///
/// Distance is optimal string alignment (insert, delete, replace, swap of neighbours) without
/// regard to case; a candidate counts when at most a third of the longer word must change, which
/// leaves words of one or two letters without a hint. Of equals the first wins, so the answer does
/// not depend on anything but the order given. Words longer than any that a person types have no
/// neighbours: the distance costs the product of two lengths.
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
