//! Parts of MPI that libraries over rsmpi use in addition to its traits: functions of the C
//! interface, which they call directly, and a `Universe` in a `static`.

mod common;

use std::cell::RefCell;
use std::os::raw::{c_int, c_void};
use std::sync::Mutex;

use common::ranks_on;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::{SimpleCommunicator, Topology};
use mpi::traits::*;
use proptest::prelude::*;

/// Returns the communicator of a graph. Each rank passes its own neighbours.
fn graph(of: &SimpleCommunicator, sources: &[c_int], destinations: &[c_int]) -> SimpleCommunicator {
    let mut made = ffi::RSMPI_COMM_NULL;
    // SAFETY: the counts are the lengths of the slices, and `made` is the handle of a new
    // communicator.
    unsafe {
        let done = ffi::MPI_Dist_graph_create_adjacent(
            of.as_raw(),
            sources.len() as c_int,
            sources.as_ptr(),
            ffi::RSMPI_UNWEIGHTED(),
            destinations.len() as c_int,
            destinations.as_ptr(),
            ffi::RSMPI_UNWEIGHTED(),
            ffi::RSMPI_INFO_NULL,
            0,
            &mut made,
        );
        assert_eq!(done, ffi::MPI_SUCCESS);
        SimpleCommunicator::from_raw(made)
    }
}

/// Returns the numbers of sources and destinations of a rank.
fn degrees(of: &SimpleCommunicator) -> (c_int, c_int) {
    let (mut into, mut out, mut weighted) = (-1, -1, -1);
    // SAFETY: the pointers refer to variables of this function.
    unsafe { ffi::MPI_Dist_graph_neighbors_count(of.as_raw(), &mut into, &mut out, &mut weighted) };
    assert_eq!(weighted, 0);
    (into, out)
}

/// Returns the elements that rank `from` sends to rank `to`.
fn sent(from: usize, to: usize, count: usize) -> Vec<i64> {
    (0..count)
        .map(|at| (from * 10_000 + to * 100 + at) as i64)
        .collect()
}

/// Exchanges elements over edges `(from, to, elements)`, with a gap of one before each part.
fn exchange(of: &SimpleCommunicator, edges: &[(usize, usize, usize)], rank: usize) {
    let out: Vec<_> = edges.iter().filter(|edge| edge.0 == rank).collect();
    let into: Vec<_> = edges.iter().filter(|edge| edge.1 == rank).collect();
    let laid_out = |edges: &[&(usize, usize, usize)]| {
        let (mut counts, mut displs, mut values) = (Vec::new(), Vec::new(), Vec::new());
        for &&(from, to, count) in edges {
            values.push(-1);
            displs.push(values.len() as c_int);
            counts.push(count as c_int);
            values.append(&mut sent(from, to, count));
        }
        (counts, displs, values)
    };
    let (counts, displs, values) = laid_out(&out);
    let (wanted_counts, wanted_displs, wanted) = laid_out(&into);
    let mut received = vec![-1_i64; wanted.len()];
    let of_values = i64::equivalent_datatype().as_raw();
    // SAFETY: counts and displacements describe ranges of the two vectors.
    unsafe {
        ffi::MPI_Neighbor_alltoallv(
            values.as_ptr().cast::<c_void>(),
            counts.as_ptr(),
            displs.as_ptr(),
            of_values,
            received.as_mut_ptr().cast::<c_void>(),
            wanted_counts.as_ptr(),
            wanted_displs.as_ptr(),
            of_values,
            of.as_raw(),
        );
    }
    assert_eq!(received, wanted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn neighbours_exchange_by_direct_mpi_calls(
        count in 1_usize..7,
        schedulers in 1_usize..3,
        ends in prop::collection::btree_map((0_usize..7, 0_usize..7), 0_usize..5, 0..20),
    ) {
        let edges: Vec<_> = ends
            .into_iter()
            .map(|((from, to), elements)| (from % count, to % count, elements))
            .collect();
        ranks_on(schedulers, count, move |world| {
            let rank = world.rank() as usize;
            let into = edges.iter().filter(|edge| edge.1 == rank);
            let sources: Vec<_> = into.map(|edge| edge.0 as c_int).collect();
            let out = edges.iter().filter(|edge| edge.0 == rank);
            let destinations: Vec<_> = out.map(|edge| edge.1 as c_int).collect();
            let made = graph(&world, &sources, &destinations);
            assert_eq!(made.topology(), Topology::DistributedGraph);
            assert_eq!((made.rank(), made.size()), (world.rank(), world.size()));
            assert_eq!(degrees(&made), (sources.len() as c_int, destinations.len() as c_int));
            let copy = made.duplicate();
            assert_eq!(degrees(&copy), degrees(&made));
            exchange(&copy, &edges, rank);
            exchange(&made, &edges, rank);
            // SAFETY: the communicator exists.
            unsafe { ffi::MPI_Barrier(made.as_raw()) };
        });
    }
}

#[test]
fn as_many_elements_go_to_each_neighbour() {
    ranks_on(1, 5, |world| {
        let (rank, size) = (world.rank(), world.size());
        let before = (rank + size - 1) % size;
        let (next, after) = ((rank + 1) % size, (rank + 2) % size);
        let made = graph(&world, &[before, (rank + size - 2) % size], &[next, after]);
        let values = [rank, 10 + rank, 20 + rank, 30 + rank];
        let mut received = [-1; 4];
        let of_values = i32::equivalent_datatype().as_raw();
        // SAFETY: both arrays have two elements for each of two neighbours.
        unsafe {
            ffi::MPI_Neighbor_alltoall(
                values.as_ptr().cast(),
                2,
                of_values,
                received.as_mut_ptr().cast(),
                2,
                of_values,
                made.as_raw(),
            );
        }
        let far = (rank + size - 2) % size;
        assert_eq!(received, [before, 10 + before, 20 + far, 30 + far]);
    });
}

/// Request of MPI's C interface, which does not borrow its buffers.
#[derive(Clone, Copy)]
struct Begun(ffi::MPI_Request);

impl Begun {
    /// Returns the request that `begin` makes.
    fn by(begin: impl FnOnce(*mut ffi::MPI_Request) -> c_int) -> Self {
        let mut request = ffi::RSMPI_REQUEST_NULL;
        assert_eq!(begin(&mut request), ffi::MPI_SUCCESS);
        assert_ne!(request, ffi::RSMPI_REQUEST_NULL);
        Begun(request)
    }

    /// Completes the request by `MPI_Wait`, or by `MPI_Test` if `ask` is set. Returns the source
    /// and the tag of its status.
    fn done(mut self, ask: bool) -> (c_int, c_int) {
        // SAFETY: all zeros are a valid `MPI_Status`.
        let mut status = unsafe { std::mem::zeroed::<ffi::MPI_Status>() };
        let mut flag = 0;
        // SAFETY: `self.0` is a request, and the pointers refer to variables of this function.
        unsafe {
            while ask && flag == 0 {
                ffi::MPI_Test(&mut self.0, &mut flag, &mut status);
            }
            if !ask {
                ffi::MPI_Wait(&mut self.0, &mut status);
            }
            assert_eq!(self.0, ffi::RSMPI_REQUEST_NULL);
            ffi::MPI_Wait(&mut self.0, ffi::RSMPI_STATUS_IGNORE);
            ffi::MPI_Test(&mut self.0, &mut flag, ffi::RSMPI_STATUS_IGNORE);
        }
        assert_eq!(flag, 1);
        (status.MPI_SOURCE, status.MPI_TAG)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn direct_mpi_calls_match_the_model(
        count in 1_usize..6,
        schedulers in 1_usize..3,
        elements in 0_usize..5,
        ask in any::<bool>(),
    ) {
        ranks_on(schedulers, count, move |world| {
            let (rank, size) = (world.rank(), world.size());
            let (before, next) = ((rank + size - 1) % size, (rank + 1) % size);
            let values = |of: c_int| -> Vec<f64> { (0..elements).map(|at| f64::from(of) + at as f64).collect() };
            let (comm, of_values) = (world.as_raw(), ffi::RSMPI_DOUBLE);
            assert_eq!(of_values, f64::equivalent_datatype().as_raw());
            let length = elements as c_int;
            let (mut received, mut sum, mut most) = (values(-1), values(-1), values(-1));
            // SAFETY: each buffer has `elements` elements and lives until the calls are complete.
            unsafe {
                let own = values(rank);
                let receive = Begun::by(|request| {
                    ffi::MPI_Irecv(received.as_mut_ptr().cast(), length, of_values, before, 7, comm, request)
                });
                let send = Begun::by(|request| {
                    ffi::MPI_Isend(own.as_ptr().cast(), length, of_values, next, 7, comm, request)
                });
                let reduce = Begun::by(|request| {
                    let to = sum.as_mut_ptr().cast();
                    ffi::MPI_Iallreduce(own.as_ptr().cast(), to, length, of_values, ffi::RSMPI_SUM, comm, request)
                });
                let to = most.as_mut_ptr().cast();
                ffi::MPI_Allreduce(own.as_ptr().cast(), to, length, of_values, ffi::RSMPI_MAX, comm);
                reduce.done(ask);
                assert_eq!(receive.done(ask), (before, 7));
                send.done(ask);
            }
            assert_eq!(received, values(before));
            assert_eq!(most, values(size - 1));
            let all = (0..size).map(values).reduce(|sum, more| sum.iter().zip(more).map(|(a, b)| a + b).collect());
            assert_eq!(Some(sum), all);
        });
    }
}

#[test]
fn direct_mpi_calls_accept_the_null_rank() {
    ranks_on(1, 2, |world| {
        let (comm, none, of_values) = (world.as_raw(), ffi::RSMPI_PROC_NULL, ffi::RSMPI_UINT64_T);
        let mut value = 5_u64;
        let at = (&raw mut value).cast();
        // SAFETY: `at` refers to one element.
        unsafe {
            let send = |request| ffi::MPI_Isend(at, 1, of_values, none, 0, comm, request);
            Begun::by(send).done(false);
            let receive = |request| ffi::MPI_Irecv(at, 1, of_values, none, 0, comm, request);
            assert_eq!(Begun::by(receive).done(true), (none, ffi::RSMPI_ANY_TAG));
        }
        assert_eq!(value, 5);
    });
}

#[test]
fn errors_of_direct_mpi_calls_panic() {
    let truncated = failure(2, |world| {
        let (rank, comm, of_values) = (world.rank(), world.as_raw(), ffi::RSMPI_INT32_T);
        let mut values = [rank; 2];
        let at = values.as_mut_ptr().cast();
        // SAFETY: `at` refers to two elements.
        unsafe {
            let begun = Begun::by(|request| match rank {
                0 => ffi::MPI_Isend(at, 2, of_values, 1, 0, comm, request),
                _ => ffi::MPI_Irecv(at, 1, of_values, 0, 0, comm, request),
            });
            begun.done(rank == 1);
        }
    });
    assert!(truncated.contains("a buffer of 1"), "{truncated}");
    let undefined = failure(1, |world| {
        let mut value = 1.0_f32;
        let at = (&raw mut value).cast();
        // SAFETY: `at` refers to one element.
        unsafe { ffi::MPI_Allreduce(at, at, 1, ffi::RSMPI_FLOAT, ffi::RSMPI_BXOR, world.as_raw()) };
    });
    assert!(undefined.contains("not defined"), "{undefined}");
    // Ranks that are not valid. The report shows the argument as it was passed. (-1 is
    // `MPI_PROC_NULL`.)
    for no_rank in [-5, c_int::MIN, 1] {
        let to_nobody = failure(1, move |world| {
            let mut value = 1_i32;
            let (at, of_values) = ((&raw mut value).cast(), ffi::RSMPI_INT32_T);
            // SAFETY: `at` refers to one element.
            let begun = Begun::by(|request| unsafe {
                ffi::MPI_Isend(at, 1, of_values, no_rank, 0, world.as_raw(), request)
            });
            begun.done(false);
        });
        let told = format!("rank {no_rank} does not exist: ");
        assert!(to_nobody.contains(&told), "{to_nobody}");
    }
}

#[test]
fn a_communicator_has_a_number_for_fortran() {
    ranks_on(1, 2, |world| {
        let copy = world.duplicate();
        // SAFETY: the communicators exist.
        let numbers = unsafe { [&world, &copy].map(|of| ffi::RSMPI_Comm_c2f(of.as_raw())) };
        assert_ne!(numbers[0], numbers[1]);
        // SAFETY: as above.
        unsafe {
            assert_eq!(ffi::RSMPI_Comm_c2f(world.as_raw()), numbers[0]);
            assert_eq!(ffi::RSMPI_Comm_f2c(numbers[1]), copy.as_raw());
            assert_eq!(ffi::RSMPI_Comm_f2c(1000), ffi::RSMPI_COMM_NULL);
        }
    });
}

/// Returns the error of a run with a number of ranks.
fn failure(count: usize, rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static) -> String {
    let options = mpi::Options::new().schedulers(1).threads(1);
    let ended = mpi::run_with(&options, count, move || {
        let universe = mpi::initialize().unwrap();
        rank(universe.world());
    });
    ended.expect_err("it fails").to_string()
}

#[test]
fn missing_graph_or_edge_panics() {
    let none = failure(1, |world| assert_eq!(degrees(&world), (0, 0)));
    assert!(none.contains("the communicator has no graph"), "{none}");
    let half = failure(2, |world| drop(graph(&world, &[], &[1 - world.rank()])));
    assert!(
        half.contains("each edge of a graph must be listed"),
        "{half}"
    );
    let beyond = failure(1, |world| drop(graph(&world, &[-1], &[-1])));
    assert!(beyond.contains("rank"), "{beyond}");
}

#[test]
fn a_universe_is_kept_in_a_static() {
    static UNIVERSE: Mutex<Option<Universe>> = Mutex::new(None);
    let options = mpi::Options::new().schedulers(1).threads(1);
    mpi::run_with(&options, 1, || {
        *UNIVERSE.lock().unwrap() = mpi::initialize();
        assert_eq!(UNIVERSE.lock().unwrap().as_ref().unwrap().world().size(), 1);
        *UNIVERSE.lock().unwrap() = None;
        assert!(mpi::environment::is_finalized());
    })
    .unwrap();
}

#[test]
fn universe_of_another_rank_panics() {
    static FIRST: Mutex<Option<Universe>> = Mutex::new(None);
    let options = mpi::Options::new().schedulers(1).threads(1);
    let of_another = |then: fn(Option<Universe>)| {
        let ended = mpi::run_with(&options, 2, move || {
            let universe = mpi::initialize();
            let rank = SimpleCommunicator::world().rank();
            if rank == 0 {
                *FIRST.lock().unwrap() = universe;
                SimpleCommunicator::world().barrier();
            } else {
                SimpleCommunicator::world().barrier();
                let other = FIRST.lock().unwrap().take();
                then(other);
            }
        });
        ended.expect_err("it fails").to_string()
    };
    let asked = of_another(|universe| drop(universe.unwrap().world()));
    assert!(
        asked.contains("this `Universe` belongs to another rank"),
        "{asked}"
    );
    let dropped = of_another(drop);
    assert!(
        dropped.contains("a rank dropped the `Universe` of another rank"),
        "{dropped}"
    );
}

/// Keeps a `Universe` in a static after its run. The next run may drop it, but calls on it report
/// that its rank has ended.
#[test]
fn a_universe_is_kept_in_a_static_over_two_runs() {
    static UNIVERSE: Mutex<Option<Universe>> = Mutex::new(None);
    let options = mpi::Options::new().schedulers(1).threads(1);
    let run = |rank: fn()| mpi::run_with(&options, 1, rank);
    for _ in 0..2 {
        run(|| {
            let before = UNIVERSE.lock().unwrap().take();
            *UNIVERSE.lock().unwrap() = mpi::initialize();
            drop(before);
            UNIVERSE.lock().unwrap().as_ref().unwrap().world().barrier();
        })
        .unwrap();
    }
    let ended = run(|| {
        let _own = mpi::initialize();
        let universe = UNIVERSE.lock().unwrap().take().unwrap();
        universe.world().barrier();
    });
    let told = ended.expect_err("it fails").to_string();
    assert!(told.contains("to a rank that has ended"), "{told}");
}

/// Keeps a `Universe` in a thread-local. It is dropped after the thread-local that identifies the
/// calling rank.
#[test]
fn a_universe_is_kept_in_a_thread_local() {
    thread_local! {
        static UNIVERSE: RefCell<Option<Universe>> = const { RefCell::new(None) };
    }
    let thread = std::thread::spawn(|| {
        // Initialized first, so that it is dropped last.
        UNIVERSE.set(None);
        let options = mpi::Options::new().schedulers(1).threads(1);
        mpi::run_with(&options, 2, || {
            let universe = mpi::initialize();
            if universe.as_ref().unwrap().world().rank() == 0 {
                UNIVERSE.set(universe);
            }
        })
        .unwrap();
    });
    thread.join().unwrap();
}

/// Calls from a thread that is not a rank, such as a thread of a library's pool. The library has
/// declared its communicator `Send`.
#[test]
fn call_by_a_foreign_thread_panics() {
    struct Sent(SimpleCommunicator);
    // SAFETY: the rank waits in `join` while the thread uses the communicator.
    unsafe impl Send for Sent {}
    let told = failure(1, |world| {
        let sent = Sent(world);
        let asked = std::thread::spawn(move || {
            let sent = sent;
            sent.0.barrier();
        });
        std::panic::resume_unwind(asked.join().expect_err("it is no rank"));
    });
    assert!(told.contains("the caller is not a rank"), "{told}");
}

#[test]
fn universe_on_a_foreign_thread_panics() {
    let options = mpi::Options::new().schedulers(1).threads(1);
    mpi::run_with(&options, 1, || {
        let universe = mpi::initialize().unwrap();
        let world = universe.world();
        let asked = std::thread::spawn(move || drop(universe.world())).join();
        let told = asked.expect_err("it is no rank");
        let told = told.downcast_ref::<String>().unwrap();
        assert!(told.starts_with("the caller is not a rank"), "{told}");
        // The thread has dropped the `Universe`. The rank continues until it ends.
        world.barrier();
    })
    .unwrap();
}
