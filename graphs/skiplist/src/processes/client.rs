use crate::types::{Answer, Operation, Search};
use crate::wiring::Client;
use graphmap_runtime::{Stopped, join};
use std::collections::BTreeMap;
use std::error::Error;

/// Does many operations, then walks along all keys that remain. Compares each answer with that of a
/// `BTreeMap`.
pub async fn client(mut p: Client) -> Result<(), Box<dyn Error>> {
    let operations = crate::operations()?;
    let mut map = BTreeMap::new();
    // Searches are sent without waiting for the answers to earlier ones.
    let put = async {
        for n in 0..operations {
            let (operation, key) = operation(n, operations);
            p.searches.write(Search::new(operation, key)).await?;
        }
        Ok::<(), Stopped>(())
    };
    let get = async {
        let mut steps = 0;
        for n in 0..operations {
            let answer = p.answers.read().await.ok_or("the list has ended")?;
            let (operation, key) = operation(n, operations);
            compare(&answer, operation, key, apply(&mut map, operation, key))?;
            steps += answer.steps;
        }
        Ok::<u64, String>(steps)
    };
    let (put, steps) = join(put, get).await;
    put?;
    let steps = steps? as f64 / operations as f64;
    println!("{operations} operations, {steps:.1} steps each");

    let (mut key, mut keys) = (0, 0);
    loop {
        let first = Search::new(Operation::First, key);
        p.searches.write(first).await?;
        let answer = p.answers.read().await.ok_or("the list has ended")?;
        let expected = apply(&mut map, Operation::First, key);
        compare(&answer, Operation::First, key, expected)?;
        let Some((found, _)) = answer.found else {
            break;
        };
        (key, keys) = (found + 1, keys + 1);
    }
    println!("{keys} keys remain, in order");
    println!("all answers are those of a BTreeMap");
    Ok(())
}

/// Returns operation number `n`, and its key.
fn operation(n: u64, operations: u64) -> (Operation, u64) {
    let random = crate::mix(n + 1);
    let key = random % (operations / 2 + 1);
    let operation = match random >> 62 {
        0 | 1 => Operation::Insert(n),
        2 => Operation::Find,
        _ => Operation::Delete,
    };
    (operation, key)
}

/// Does an operation on a map, and returns the expected answer.
fn apply(map: &mut BTreeMap<u64, u64>, operation: Operation, key: u64) -> Option<(u64, u64)> {
    let value = match operation {
        Operation::Insert(value) => map.insert(key, value),
        Operation::Find => map.get(&key).copied(),
        Operation::Delete => map.remove(&key),
        Operation::First => {
            let first = map.range(key..).next();
            return first.map(|(key, value)| (*key, *value));
        }
    };
    value.map(|value| (key, value))
}

/// # Errors
/// If the answer is not the expected one.
fn compare(
    answer: &Answer,
    operation: Operation,
    key: u64,
    expected: Option<(u64, u64)>,
) -> Result<(), String> {
    match answer.found == expected {
        true => Ok(()),
        false => Err(format!(
            "{operation:?} of key {key} has found {:?} instead of {expected:?}",
            answer.found
        )),
    }
}
