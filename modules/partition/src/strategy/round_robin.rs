//! Dealing vertices to the blocks in turn, as they were listed: spreads work evenly along a pipeline, at the price of
//! making nearly every channel remote.

use super::{Context, Found};
use crate::error::Error;
use crate::pack::Ledger;

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let mut ledger = Ledger::new(inst);
    let mut order = inst.shared.machine.in_order();
    // Each has those after it in one piece.
    order.extend_from_within(..);
    let k = inst.k();
    let block: Vec<u32> = (0..inst.len())
        .map(|v| ledger.put_first(v as u32, &order[v % k..v % k + k]))
        .collect();
    Ok(block.into())
}
