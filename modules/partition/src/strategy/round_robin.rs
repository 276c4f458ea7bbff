//! Dealing vertices to the blocks in turn: spreads work evenly along a pipeline, at the price of
//! making nearly every channel remote.

use super::{Context, Found};
use crate::error::Error;
use crate::pack::Ledger;

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let mut ledger = Ledger::new(inst);
    let block: Vec<u32> = (0..inst.len() as u32)
        .map(|v| ledger.put_near(v, v % inst.k() as u32))
        .collect();
    Ok(block.into())
}
