use crate::types::{Token, worker};
use crate::wiring::Sink;
use graphmap_runtime as rt;
use std::error::Error;

/// Checks that all tokens arrive on all three ways, once and in order.
pub async fn sink(p: Sink) -> Result<(), Box<dyn Error>> {
    let copied = copied(p.copied);
    let dealt = in_order(p.dealt, |number, member, members| {
        worker(number, members) == member
    });
    let shared = in_order(p.shared, |_, _, _| true);
    let (copied, (dealt, shared)) = rt::join(copied, rt::join(dealt, shared)).await;
    let (copied, dealt, shared) = (copied?, dealt?, shared?);
    if copied != dealt || copied != shared {
        return Err(format!("{copied:?} copied, {dealt:?} dealt, {shared:?} shared").into());
    }
    println!(
        "{} tokens three ways, {} messages",
        copied.count,
        8 * copied.count
    );
    Ok(())
}

/// Count and sums of the tokens that have arrived, to compare the three ways.
#[derive(Debug, Default, PartialEq, Eq)]
struct Come {
    count: u64,
    sum: u64,
    mixed: u64,
}

impl Come {
    fn add(&mut self, token: &Token) -> Result<(), String> {
        if !token.is_whole() {
            return Err(format!(
                "token {} is not what the source made",
                token.number
            ));
        }
        let mixed = token.number.wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.count += 1;
        self.sum = self.sum.wrapping_add(token.number);
        self.mixed = self.mixed.wrapping_add(mixed ^ (mixed >> 29));
        Ok(())
    }
}

async fn copied(mut input: rt::Gather<Token>) -> Result<Come, String> {
    let mut come = Come::default();
    while let Some(row) = input.read().await {
        if row.iter().any(|token| token.number != come.count) {
            return Err(format!("{} tokens copied, then {row:?}", come.count));
        }
        come.add(&row[0])?;
    }
    Ok(come)
}

/// Reads tokens, and checks that the tokens of each member arrive in the order of the source.
async fn in_order(
    mut input: rt::Select<Token>,
    belongs: fn(u64, usize, usize) -> bool,
) -> Result<Come, String> {
    let mut come = Come::default();
    let mut next = vec![0; input.members()];
    while let Some((member, token)) = input.read().await {
        let number = token.number;
        if number < next[member] || !belongs(number, member, next.len()) {
            return Err(format!("member {member} sent {number}"));
        }
        next[member] = number + 1;
        come.add(&token)?;
    }
    Ok(come)
}
