//! Stacking of neighbours. The vertices fill the first block in source order, up to its share of
//! the load, then the next block. A plain rank order gives the same mapping. It is good for
//! pipelines.

use super::{Context, Found};
use crate::error::Error;
use crate::pack::Ledger;

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let k = inst.k();
    let machine = &inst.shared.machine;
    let speed = |b: usize| i128::from(machine.blocks()[b].speed);
    let total_speed = i128::from(machine.total_speed());
    let total_load = i128::from(inst.total_load());
    let mut ledger = Ledger::new(inst);
    let mut here = 0;
    let mut passed = 0_i64;
    let mut reach = speed(0);
    let mut block = vec![0; inst.len()];
    for v in 0..inst.len() as u32 {
        // The middle of the vertex decides on which side of a boundary it is.
        let middle = i128::from(2 * passed + inst.load(v)) * total_speed;
        while here + 1 < k && middle > 2 * total_load * reach {
            here += 1;
            reach += speed(here);
        }
        passed += inst.load(v);
        block[v as usize] = ledger.put_near(v, here as u32);
    }
    Ok(block.into())
}
