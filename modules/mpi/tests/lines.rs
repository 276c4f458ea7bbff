//! Reports of calls contain the line of the program that makes the call, not a line of this crate.

use std::os::raw::c_void;
use std::sync::Mutex;

use mpi::collective::SystemOperation;
use mpi::endpoint::Endpoints;
use mpi::ffi;
use mpi::topology::{Color, SimpleCommunicator};
use mpi::traits::*;

/// Call that waits because the other rank does not make it.
type Call = fn(&SimpleCommunicator);

/// Begins a reduction through the C interface, as libraries do, and waits for it.
fn begun(world: &SimpleCommunicator) {
    let (sent, mut came, mut request) = (1_i32, 0_i32, ffi::RSMPI_REQUEST_NULL);
    let (from, to) = ((&raw const sent).cast(), (&raw mut came).cast::<c_void>());
    let (number, sum, comm) = (ffi::RSMPI_INT32_T, ffi::RSMPI_SUM, world.as_raw());
    // SAFETY: both buffers have one element and live until the request is complete.
    unsafe {
        ffi::MPI_Iallreduce(from, to, 1, number, sum, comm, &mut request);
        ffi::MPI_Wait(&mut request, ffi::RSMPI_STATUS_IGNORE);
    }
}

const CALLS: &[Call] = &[
    |world| assert_eq!(world.process_at_rank(1).receive::<u8>().0, 0),
    |world| drop(world.any_process().receive_vec::<u8>()),
    |world| assert_eq!(world.any_process().probe().tag(), 0),
    |world| drop(world.any_process().matched_probe()),
    |world| world.process_at_rank(1).synchronous_send(&1),
    |world| world.barrier(),
    |world| world.process_at_rank(1).broadcast_into(&mut 0),
    |world| world.process_at_rank(1).scatter_into(&mut 0),
    |world| world.all_gather_into(&1, &mut [0, 0][..]),
    |world| world.all_to_all_into(&[1, 2][..], &mut [0, 0][..]),
    |world| world.all_reduce_into(&1, &mut 0, SystemOperation::sum()),
    |world| world.scan_into(&1, &mut 0, SystemOperation::sum()),
    |world| {
        world
            .process_at_rank(0)
            .reduce_into_root(&1, &mut 0, SystemOperation::sum())
    },
    |world| world.reduce_scatter_block_into(&[1, 2][..], &mut 0, SystemOperation::sum()),
    |world| {
        let mut sum = 0;
        mpi::request::scope(|scope| {
            let begun =
                world.immediate_all_reduce_into(scope, &1, &mut sum, SystemOperation::sum());
            begun.wait();
        });
    },
    begun,
    |world| drop(world.duplicate()),
    |world| drop(world.split_by_color(Color::with_value(1))),
    |world| drop(world.split_by_subgroup_collective(&world.group())),
    |world| drop(world.endpoints(1)),
];

#[test]
fn reports_have_the_line_of_the_caller() {
    let mut wrong = Vec::new();
    for call in CALLS {
        let run = mpi::run(2, move || {
            let universe = mpi::initialize().unwrap();
            let world = universe.world();
            match world.rank() {
                0 => call(&world),
                _ => drop(world.this_process().receive_vec::<u8>()),
            }
        });
        let told = run.unwrap_err().to_string();
        // One for each of both ranks.
        if told.matches("modules/mpi/tests/lines.rs:").count() != 2 {
            wrong.push(told);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Makes a call that panics, and records the location of the panic.
#[test]
fn failed_calls_panic_at_the_line_of_the_caller() {
    static FILE: Mutex<Option<String>> = Mutex::new(None);
    let before = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        let told = panic.payload().downcast_ref::<String>();
        if told.is_some_and(|told| told.starts_with("invalid tag -5")) {
            let file = panic.location().map(|at| at.file().to_string());
            *FILE.lock().unwrap() = file;
        }
        before(panic);
    }));
    let run = mpi::run(1, || {
        let universe = mpi::initialize().unwrap();
        universe.world().this_process().send_with_tag(&1, -5);
    });
    assert!(run.unwrap_err().to_string().contains("invalid tag -5"));
    assert_eq!(
        FILE.lock().unwrap().as_deref(),
        Some("modules/mpi/tests/lines.rs")
    );
}
