//! Reductions with predefined and user-defined operations.
//!
//! A user-defined operation treats elements independently, because MPI may call it for parts of a
//! message.

use std::os::raw::{c_int, c_void};

use mpi::collective::{SystemOperation, UnsafeUserOperation, UserOperation, reduce_local_into};
use mpi::request::scope;
use mpi::traits::*;

use super::element::{Element, by_element};
use super::program::Kind;
use super::step_context::StepContext;

pub(crate) const KINDS: [Kind; 6] = [
    ("reduce_by_system", |context| {
        by_element!(by_system(context))
    }),
    ("reduce_bits", bits),
    ("reduce_truths", truths),
    ("reduce_by_closure", |context| {
        by_element!(by_closure(context))
    }),
    ("reduce_functions", functions),
    ("reduce_by_function", unsafely),
];

/// Makes one of the reductions of the elements of this rank.
fn reduction<T: Element>(
    context: &mut StepContext,
    sent: &[T],
    operation: impl Operation + Copy,
    name: &str,
) {
    let (way, immediate, root) = (
        context.chance.below(6),
        context.chance.one_in(2),
        context.rank(),
    );
    let comm = context.comm;
    let process = comm.process_at_rank(root as i32);
    let whole = sent.len() / context.size;
    let mut room = vec![T::default(); if way == 4 { whole } else { sent.len() }];
    // The same number of elements for each rank.
    let blocks = &sent[..whole * context.size];
    let into = &mut room[..];
    match (way, immediate) {
        (0, false) => comm.all_reduce_into(sent, into, operation),
        (0, true) => scope(|scope| {
            comm.immediate_all_reduce_into(scope, sent, into, operation)
                .wait_without_status();
        }),
        (1, false) if context.me == root => process.reduce_into_root(sent, into, operation),
        (1, true) if context.me == root => scope(|scope| {
            process
                .immediate_reduce_into_root(scope, sent, into, operation)
                .wait_without_status();
        }),
        (1, false) => process.reduce_into(sent, operation),
        (1, true) => scope(|scope| {
            process
                .immediate_reduce_into(scope, sent, operation)
                .wait_without_status();
        }),
        (2, false) => comm.scan_into(sent, into, operation),
        (2, true) => scope(|scope| {
            comm.immediate_scan_into(scope, sent, into, operation)
                .wait_without_status();
        }),
        (3, false) => comm.exclusive_scan_into(sent, into, operation),
        (3, true) => scope(|scope| {
            comm.immediate_exclusive_scan_into(scope, sent, into, operation)
                .wait_without_status();
        }),
        (4, false) => comm.reduce_scatter_block_into(blocks, into, operation),
        (4, true) => scope(|scope| {
            comm.immediate_reduce_scatter_block_into(scope, blocks, into, operation)
                .wait_without_status();
        }),
        _ => {
            into.copy_from_slice(&context.small::<T>(context.me, 9, sent.len()));
            reduce_local_into(sent, into, operation);
        }
    }
    let called = [
        "all_reduce",
        "reduce",
        "scan",
        "exclusive_scan",
        "reduce_scatter_block",
        "reduce_local",
    ][way];
    // The result of an exclusive scan is undefined at rank 0.
    if way == 3 && context.me == 0 {
        room.clear();
    }
    context.say_elements(&format!("{called} {name}"), &room);
}

/// Returns elements of this rank. Their number is sometimes a multiple of the number of ranks.
fn sent<T: Element>(context: &mut StepContext) -> Vec<T> {
    let length = context.chance.length();
    let length = if context.chance.one_in(2) {
        length * context.size
    } else {
        length
    };
    context.small(context.me, 0, length)
}

macro_rules! reduce_by {
    ($context:ident, $sent:expr, $($name:ident)*) => {{
        let names = [$(stringify!($name)),*];
        match $context.chance.pick(&names) {
            $(stringify!($name) => {
                let operation = SystemOperation::$name();
                reduction($context, $sent, operation, stringify!($name));
            })*
            _ => unreachable!(),
        }
    }};
}

fn by_system<T: Element>(context: &mut StepContext) {
    let sent: Vec<T> = sent(context);
    reduce_by!(context, &sent, sum product max min);
}

fn bits(context: &mut StepContext) {
    let length = context.chance.length();
    let whole: Vec<u64> = (0..length as u64)
        .map(|at| super::chance::mixed(context.step.seed ^ at << 8 ^ context.me as u64))
        .collect();
    let bytes: Vec<u8> = whole.iter().map(|bits| *bits as u8).collect();
    match context.chance.one_in(2) {
        true => reduce_by!(context, &whole, bitwise_and bitwise_or bitwise_xor),
        false => reduce_by!(context, &bytes, bitwise_and bitwise_or bitwise_xor),
    }
}

fn truths(context: &mut StepContext) {
    let length = context.chance.length();
    let truths: Vec<bool> = context.small(context.me, 0, length);
    let numbers: Vec<i32> = truths.iter().map(|truth| i32::from(*truth)).collect();
    match context.chance.one_in(2) {
        true => reduce_by!(context, &numbers, logical_and logical_or logical_xor),
        false => reduce_by!(context, &truths, logical_and logical_or logical_xor),
    }
}

/// Reduces to the first or to the last operand, which does not commute.
fn by_closure<T: Element>(context: &mut StepContext) {
    let sent: Vec<T> = sent(context);
    let last = context.chance.one_in(2);
    let operation = UserOperation::associative(move |left, right| {
        let left: &[T] = left.downcast().expect("of the type that was sent");
        let right: &mut [T] = right.downcast().expect("of the type that was sent");
        if !last {
            right.copy_from_slice(left);
        }
    });
    reduction(
        context,
        &sent,
        &operation,
        if last { "last" } else { "first" },
    );
}

/// Composes two functions x -> a x + b modulo 2^32. Each is one element, with `a` in the upper
/// half.
fn after(first: u64, second: u64) -> u64 {
    let (a, b) = ((first >> 32) as u32, first as u32);
    let (c, d) = ((second >> 32) as u32, second as u32);
    let (a, b) = (a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d));
    u64::from(a) << 32 | u64::from(b)
}

fn functions(context: &mut StepContext) {
    let length = context.chance.length();
    let length = if context.chance.one_in(2) {
        length * context.size
    } else {
        length
    };
    let sent: Vec<u64> = (0..length as u64)
        .map(|at| super::chance::mixed(context.step.seed ^ at << 8 ^ context.me as u64))
        .collect();
    let operation = UserOperation::associative(|left, right| {
        let left: &[u64] = left.downcast().expect("of the type that was sent");
        let right: &mut [u64] = right.downcast().expect("of the type that was sent");
        for (left, right) in left.iter().zip(right) {
            *right = after(*left, *right);
        }
    });
    reduction(context, &sent, &operation, "functions");
}

unsafe extern "C" fn lesser(
    left: *mut c_void,
    right: *mut c_void,
    count: *mut c_int,
    _datatype: *mut mpi::ffi::MPI_Datatype,
) {
    // SAFETY: both pointers refer to `*count` elements of `i64`.
    unsafe {
        for at in 0..*count as usize {
            let (left, right) = (
                *left.cast::<i64>().add(at),
                &mut *right.cast::<i64>().add(at),
            );
            *right = left.min(*right);
        }
    }
}

fn unsafely(context: &mut StepContext) {
    let sent: Vec<i64> = sent(context);
    // SAFETY: `lesser` is commutative and associative, and is used for `i64` only.
    let operation = unsafe { UnsafeUserOperation::commutative(lesser) };
    reduction(context, &sent, &operation, "lesser");
}
