//! Distributes the vertices to the blocks in turn, in source order. This spreads work evenly along
//! a pipeline, but makes nearly every channel remote.

use super::{Context, Found};
use crate::error::Error;
use crate::pack::Ledger;

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let mut ledger = Ledger::new(inst);
    let mut order = inst.shared.machine.in_order();
    // The blocks from any position on are one slice of the doubled list.
    order.extend_from_within(..);
    let k = inst.k();
    let block: Vec<u32> = (0..inst.len())
        .map(|v| ledger.put_first(v as u32, &order[v % k..v % k + k]))
        .collect();
    Ok(block.into())
}
