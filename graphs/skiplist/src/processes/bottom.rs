use crate::list::List;
use crate::types::{Answer, Operation};
use crate::wiring::Bottom;
use graphmap_runtime::Stopped;
use std::collections::HashMap;

/// Ends each search, and answers it.
pub async fn bottom(mut p: Bottom) -> Result<(), Stopped> {
    let mut keys = List::default();
    let mut values = HashMap::new();
    while let Some(mut search) = p.search.read().await {
        keys.advance(&mut search);
        let next = keys.next(search.at);
        let found = match search.operation {
            Operation::First => next,
            _ => next.filter(|next| *next == search.key),
        };
        let found = found.map(|key| (key, values[&key]));
        match search.operation {
            Operation::Insert(value) => values.insert(search.key, value),
            Operation::Delete => values.remove(&search.key),
            Operation::Find | Operation::First => None,
        };
        keys.change(&search);
        let steps = search.steps;
        p.answer.write(Answer { found, steps }).await?;
    }
    Ok(())
}
