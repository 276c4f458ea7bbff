//! METIS, as the library in the `metis` crate.
//!
//! This module works around its limits:
//!
//! * It prints to standard output if there are hardly more vertices than parts. It is not called
//!   then.
//! * It stores weights in 32 bits. They are scaled down.
//! * It ignores distances. Part `i` becomes block `i`.
//! * It supports neither pins nor vertices that must be apart. The mapping is repaired afterwards.
//! * It may exceed the balance bound, which the evaluation reports.
//! * It draws random numbers from `rand` of the C library, whose state all threads share. Only one
//!   call runs at a time, so that the same seed gives the same parts.

use std::sync::{Mutex, PoisonError};

use ::metis::option::{Opt, Seed, UFactor};

use super::FEW;
use crate::error::Error;
use crate::instance::{Instance, NO_LIMIT};
use crate::large;
use crate::refine::rebalance::repair_rules;
use crate::strategy::{Context, Found};

/// Lock for calls of METIS, because concurrent calls would share one sequence of random numbers.
static RANDOM: Mutex<()> = Mutex::new(());

type Method = fn(::metis::Graph<'_>, &mut [::metis::Idx]) -> ::metis::Result<::metis::Idx>;

const KWAY: Method = |graph, part| graph.part_kway(part);
const RECURSIVE: Method = |graph, part| graph.part_recursive(part);

pub(crate) fn run_kway(context: &mut Context<'_>) -> Result<Found, Error> {
    one(context, KWAY).map(Found::from)
}

pub(crate) fn run_recursive(context: &mut Context<'_>) -> Result<Found, Error> {
    one(context, RECURSIVE).map(Found::from)
}

pub(crate) fn run(context: &mut Context<'_>) -> Result<Found, Error> {
    let inst = context.inst;
    let kway = one(context, KWAY)?;
    let both = [one(context, RECURSIVE)?, kway].into_iter();
    let best = both.min_by_key(|block| (overload(inst, block), inst.cost(block)));
    Ok(best.expect("one of two").into())
}

fn overload(inst: &Instance, block: &[u32]) -> i64 {
    let loads = inst.loads(block).into_iter().enumerate();
    loads.map(|(b, l)| (l - inst.load_bound(b)).max(0)).sum()
}

fn one(context: &mut Context<'_>, method: Method) -> Result<Vec<u32>, Error> {
    let inst = context.inst;
    let (n, k) = (inst.len(), inst.k());
    if k == 1 || n < 2 {
        return Ok(vec![0; n]);
    }
    // METIS prints to standard output if a part of its recursion runs out of vertices. This happens
    // if there are hardly more vertices than parts, so METIS is not called then.
    if n < FEW * k {
        let warning = "there are too few processes for METIS; recursive bisection is used instead";
        if !context.warnings.iter().any(|known| known == warning) {
            context.warnings.push(warning.to_owned());
        }
        let mut block = large::map_in_full(inst, &large::FAST, &mut context.random);
        repair_rules(inst, &mut block);
        return Ok(block);
    }
    // Divisor for weights, so that 32 bits hold their sum.
    let scale = |sum: i64| (sum >> 29).max(0) + 1;
    let idx = |v: i64| ::metis::Idx::try_from(v).unwrap_or(::metis::Idx::MAX);
    let offsets: Vec<_> = inst.offsets.iter().map(|&o| idx(i64::from(o))).collect();
    let targets: Vec<_> = inst.targets.iter().map(|&t| idx(i64::from(t))).collect();
    let divide = scale(inst.weights.iter().sum());
    let weights = inst.weights.iter().map(|&w| idx((w / divide).max(1)));
    let weights: Vec<_> = weights.collect();
    // A dimension that is unlimited on some block has no meaning for METIS. A limit that several
    // blocks share is divided evenly between them.
    let upper = |b: usize, d: usize| {
        let at = inst.shared.at(b, d);
        let sharing = (0..k).filter(|&c| inst.shared.at(c, d) == at).count();
        inst.shared.upper[at] / sharing as i64
    };
    let limited = |d: usize| (0..k).all(|b| inst.shared.upper[inst.shared.at(b, d)] < NO_LIMIT);
    let dims: Vec<usize> = (0..inst.dims()).filter(|&d| d == 0 || limited(d)).collect();
    let mut size = vec![0; n * dims.len()];
    let mut share = vec![0.0; k * dims.len()];
    for (i, &d) in dims.iter().enumerate() {
        let of = |v: usize| inst.size[v * inst.dims() + d];
        let divide = scale((0..n).map(of).sum());
        for v in 0..n {
            size[v * dims.len() + i] = idx(of(v) / divide);
        }
        let uppers: Vec<f64> = (0..k).map(|b| upper(b, d) as f64).collect();
        let total: f64 = uppers.iter().sum();
        for (b, upper) in uppers.iter().enumerate() {
            // METIS requires positive shares with the sum 1.
            let even = 1.0 / k as f64;
            let part = if total > 0.0 { upper / total } else { even };
            share[b * dims.len() + i] = (part * 0.999 + 0.001 / k as f64) as ::metis::Real;
        }
    }
    let mut part = vec![0; n];
    let mut options = [-1; ::metis::NOPTIONS];
    options[Seed::INDEX] = (context.random.next() >> 40) as ::metis::Idx;
    options[UFactor::INDEX] = 30;
    let graph = ::metis::Graph::new(idx(dims.len() as i64), idx(k as i64), &offsets, &targets)
        .map_err(|e| Error::Solver(format!("METIS: {e}")))?
        .set_vwgt(&size)
        .set_adjwgt(&weights)
        .set_tpwgts(&share)
        .set_options(&options);
    let alone = RANDOM.lock().unwrap_or_else(PoisonError::into_inner);
    method(graph, &mut part).map_err(|e| Error::Solver(format!("METIS: {e}")))?;
    drop(alone);
    let mut block: Vec<u32> = part.iter().map(|&p| p as u32).collect();
    repair_rules(inst, &mut block);
    Ok(block)
}
