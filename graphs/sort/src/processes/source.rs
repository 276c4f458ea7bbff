use crate::wiring::Source;
use std::error::Error;

/// Writes unsorted numbers.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    for number in numbers()? {
        p.out.write(number).await?;
    }
    Ok(())
}

/// Returns unsorted numbers, the same in each run. The argument is their count, 100,000 by default.
pub fn numbers() -> Result<impl Iterator<Item = u64>, String> {
    let count = match std::env::args().nth(1) {
        None => 100_000,
        Some(text) => match text.parse() {
            Ok(count) => count,
            Err(_) => return Err(format!("`{text}` is no number of numbers")),
        },
    };
    // A xorshift generator: the state is never 0.
    let next = |state: &u64| {
        let mut x = *state;
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        Some(x)
    };
    Ok(std::iter::successors(Some(88_172_645_463_325_252), next).take(count))
}
