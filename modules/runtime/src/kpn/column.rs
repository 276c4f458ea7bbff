//! Values of a parameter, in compact form.

/// Values of a parameter.
pub(super) enum Column {
    Same(String),
    /// First number, step, and count.
    Runs(Vec<(i128, i128, usize)>),
    Listed(Vec<String>),
}

impl Column {
    /// Returns the value of a member as a text, or `None` if there is none.
    pub(super) fn get(&self, mut index: usize) -> Option<String> {
        match self {
            Column::Same(value) => Some(value.clone()),
            Column::Listed(values) => values.get(index).cloned(),
            Column::Runs(runs) => {
                for &(first, step, count) in runs {
                    if index < count {
                        let number = step.checked_mul(index as i128)?.checked_add(first)?;
                        return Some(number.to_string());
                    }
                    index -= count;
                }
                None
            }
        }
    }

    /// Returns the number of values, or `None` if it is not limited.
    pub(super) fn len(&self) -> Option<usize> {
        match self {
            Column::Same(_) => None,
            Column::Listed(values) => Some(values.len()),
            Column::Runs(runs) => runs
                .iter()
                .try_fold(0usize, |all, run| all.checked_add(run.2)),
        }
    }
}

/// Parses runs of whole numbers. Returns `None` if the text is not of this form.
pub(super) fn runs(text: &str) -> Option<Vec<(i128, i128, usize)>> {
    let all = text.split(' ').filter(|run| !run.is_empty());
    all.map(|run| match run.split_once('*') {
        None => Some((run.parse().ok()?, 0, 1)),
        Some((numbers, count)) => {
            // The sign of the first number does not separate.
            let plus = numbers.get(1..)?.find('+')? + 1;
            let (first, step) = (&numbers[..plus], &numbers[plus + 1..]);
            Some((first.parse().ok()?, step.parse().ok()?, count.parse().ok()?))
        }
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_have_signs_and_steps() {
        let all = |text: &str| {
            let column = Column::Runs(runs(text)?);
            (0..column.len()?)
                .map(|index| column.get(index))
                .collect::<Option<Vec<_>>>()
        };
        assert_eq!(all("7+2*3 -1").unwrap(), ["7", "9", "11", "-1"]);
        assert_eq!(all("-3+-1*2").unwrap(), ["-3", "-4"]);
        assert_eq!(all("").unwrap(), [""; 0]);
        for wrong in ["x", "1+2", "1*2", "1+2*", "1+2*x", "+*"] {
            assert_eq!(all(wrong), None, "{wrong}");
        }
    }
}
