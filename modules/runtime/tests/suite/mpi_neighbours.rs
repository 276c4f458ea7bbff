//! Collective calls of neighbours in random graphs and in grids, at each place.

use std::future::poll_fn;
use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::task::Poll;

use crate::common::places::{Place, RANKS};
use crate::common::ranks::{everywhere, run_at};
use crate::common::{Random, seeds, size};
use graphmap_runtime::RunError;
use graphmap_runtime::mpi::{AnyValue, Error, Grid};

/// Returns the value that a rank sends along its edge `at` in a round.
fn sent(rank: usize, at: usize, round: u64) -> Vec<u64> {
    let long = (rank + at).is_multiple_of(7);
    vec![rank as u64 * 1000 + at as u64; if long { 10_000 } else { round as usize }]
}

/// Builds random graphs, with parallel edges and self-loops. Each edge must carry the value that
/// was sent along it.
#[test]
fn random_graphs() {
    for seed in seeds(12, 2) {
        let count = 1 + seed as usize % 6;
        everywhere(count, seed, move |world| async move {
            let mut random = Random(seed + 1);
            let below = |random: &mut Random| random.below(count as u64) as usize;
            let edges: Vec<_> = (0..random.below(4 * count as u64))
                .map(|_| (below(&mut random), below(&mut random)))
                .collect();
            let me = world.rank();
            let out = |rank: usize| edges.iter().filter(move |edge| edge.0 == rank);
            // Parallel edges from one rank are matched in the order in which that rank lists them.
            // Otherwise, the order of the sources is free.
            let mut sources: Vec<usize> = edges
                .iter()
                .filter(|edge| edge.1 == me)
                .map(|edge| edge.0)
                .collect();
            if random.below(2) == 0 {
                sources.reverse();
            }
            let destinations: Vec<usize> = out(me).map(|edge| edge.1).collect();
            let graph = world.graph(&sources, &destinations).await?;
            assert!(graph.sources().eq(sources.iter().copied().map(Some)));
            assert!(
                graph
                    .destinations()
                    .eq(destinations.iter().copied().map(Some))
            );
            for round in 0..size(4, 1) {
                let values = (0..destinations.len()).map(|at| sent(me, at, round));
                // Two collective calls at the same time.
                let first = graph.alltoall(values.collect());
                let all = graph.allgather((me, round)).await?;
                let from = sources.iter().map(|&source| Some((source, round)));
                assert!(all.into_iter().eq(from));
                let mut seen = vec![0; count];
                let wanted = sources.iter().map(|&source| {
                    let to_me = out(source).enumerate().filter(|(_, edge)| edge.1 == me);
                    let at = to_me.map(|(at, _)| at).nth(seen[source]).unwrap();
                    seen[source] += 1;
                    Some(sent(source, at, round))
                });
                let wanted: Vec<_> = wanted.collect();
                assert_eq!(first.await?, wanted);
            }
            Ok(())
        });
    }
}

/// Builds graphs of edges that any rank may list, between any ranks. An edge exists as often as it
/// is listed.
#[test]
fn random_graphs_of_edge_lists() {
    for seed in seeds(12, 2) {
        let count = 1 + seed as usize % 6;
        everywhere(count, seed, move |world| async move {
            let mut random = Random(seed + 1);
            let me = world.rank();
            // The rank that lists the edge, its source, and its destination.
            let said: Vec<[usize; 3]> = (0..random.below(4 * count as u64))
                .map(|_| [0; 3].map(|_| random.below(count as u64) as usize))
                .collect();
            let own = said.iter().filter(|edge| edge[0] == me);
            let own: Vec<(usize, usize)> = own.map(|edge| (edge[1], edge[2])).collect();
            let graph = world.graph_of_edges(&own).await?;
            let mut all = said;
            all.sort_by_key(|edge| edge[0]);
            let sources = all.iter().filter(|edge| edge[2] == me).map(|edge| edge[1]);
            let destinations = all.iter().filter(|edge| edge[1] == me).map(|edge| edge[2]);
            assert!(graph.sources().eq(sources.map(Some)));
            assert!(graph.destinations().eq(destinations.map(Some)));
            // Edge `at` carries the value `along(at)`, of one of three types.
            let along = |at: usize| match at % 3 {
                0 => AnyValue::new(vec![at; at * 100]),
                1 => AnyValue::new(format!("along {at}")),
                _ => AnyValue::new(at as u8),
            };
            let out = (0..all.len()).filter(|&at| all[at][1] == me);
            let came = graph.alltoall(out.map(along).collect()).await?;
            let into = (0..all.len()).filter(|&at| all[at][2] == me);
            assert_eq!(came.len(), into.clone().count());
            for (came, at) in came.into_iter().flatten().zip(into) {
                match at % 3 {
                    0 => assert_eq!(came.open::<Vec<usize>>()?, vec![at; at * 100]),
                    1 => assert_eq!(came.open::<String>()?, format!("along {at}")),
                    _ => assert_eq!(came.open::<u8>()?, at as u8),
                }
            }
            let none = world
                .graph_of_edges(&[(0, count * usize::from(me == 0))])
                .await;
            let wrong = Error::Rank {
                rank: count,
                size: count,
            };
            assert_eq!(none.map(drop), Err(wrong));
            Ok(())
        });
    }
}

/// Drops calls, or lets them fail at some ranks. The next call must receive only its own values.
#[test]
fn the_next_call_gets_nothing_of_one_that_was_let_go_of() {
    everywhere(4, 5, |world| async move {
        let (me, count) = (world.rank(), world.size());
        let (before, next) = ((me + count - 1) % count, (me + 1) % count);
        // One self-loop, and two edges to the next rank.
        let edges = [(me, next), (me, me), (me, next)];
        let graph = world.graph_of_edges(&edges).await?;
        let sources: Vec<usize> = graph.sources().flatten().collect();
        assert_eq!(sources.len(), 3);
        let ring = world.cartesian(&Grid::new(&[count], &[true])?).await?;
        let line = ring.ok_or(Error::Inactive)?.neighbours().await?;
        for step in 0..20 {
            drop(graph.allgather((me, step)));
            drop(line.allgather("of another type".to_string()));
            if step % 3 == me % 3 {
                // Some ranks poll the call before they drop it, and others do not.
                let mut begun = pin!(graph.clone().allgather((me, step)));
                poll_fn(|context| {
                    let _ = begun.as_mut().poll(context);
                    Poll::Ready(())
                })
                .await;
            } else {
                graph.allgather((me, step)).await?;
            }
            // Rank 2 sends another type, so the call fails at rank 2 and at the rank after it.
            let failed = match me {
                2 => graph.allgather(0u8).await.map(drop),
                _ => graph.allgather((me, step)).await.map(drop),
            };
            assert_eq!(failed.is_err(), me == 2 || before == 2);
            let came = graph.allgather((me, step + 1)).await?;
            let wanted = sources.iter().map(|&source| Some((source, step + 1)));
            assert!(came.into_iter().eq(wanted));
            let came = line.allgather(me).await?;
            assert_eq!(came, [Some(before), Some(next)]);
        }
        Ok(())
    });
}

/// A value that panics when it is dropped, if `.1` is set.
struct Bomb(u32, bool);

graphmap_runtime::payload!(Bomb(number, armed));

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(!self.1, "bomb {}", self.0);
    }
}

/// Drops calls, one of whose values panics when it is dropped. The values of the other dropped
/// calls must not reach a later call.
#[test]
fn a_value_of_a_call_that_was_let_go_of_panics() {
    // At the other places, the sender drops the value.
    run_at(Place::One, 2, 1, |world| async move {
        let other = 1 - world.rank();
        let graph = world.graph(&[other], &[other]).await?;
        if world.rank() == 1 {
            world.recv::<()>(0, 0).await?;
            for number in 0..5 {
                graph.alltoall(vec![Bomb(number, number == 0)]).await?;
            }
            return Ok(());
        }
        for number in 0..3 {
            drop(graph.alltoall(vec![Bomb(number, false)]));
        }
        let fourth = graph.alltoall(vec![Bomb(3, false)]);
        world.send((), 1, 0).await?;
        assert_eq!(fourth.await?[0].as_ref().map(|bomb| bomb.0), Some(3));
        // The first three values have arrived, because they were sent before.
        let call = || graph.alltoall(vec![Bomb(4, false)]);
        let panicked = std::panic::catch_unwind(AssertUnwindSafe(call));
        let told = panicked.map(drop).expect_err("the first of all is dropped");
        let told = told.downcast_ref::<String>().unwrap();
        assert!(told.contains("was not made: bomb 0"), "{told}");
        let fifth = call().await?;
        assert_eq!(fifth[0].as_ref().map(|bomb| bomb.0), Some(4));
        Ok(())
    })
    .unwrap();
}

/// Drops thousands of calls before the neighbour makes its own. A test of `graphmap-mpi-core`
/// (`abandoned.rs`) counts how many of them each call examines.
#[test]
fn thousands_of_calls_are_let_go_of() {
    let calls = 5000;
    run_at(Place::One, 2, 1, move |world| async move {
        let other = 1 - world.rank();
        let graph = world.graph(&[other], &[other]).await?;
        if world.rank() == 1 {
            world.recv::<()>(0, 0).await?;
        }
        for call in 0..calls {
            drop(graph.allgather(call));
        }
        if world.rank() == 0 {
            world.send((), 1, 0).await?;
        }
        assert_eq!(graph.allgather(calls).await?, [Some(calls)]);
        Ok(())
    })
    .unwrap();
}

/// Exchanges values in grids. A value that is sent to the previous rank arrives from the next one,
/// also in dimensions of size two or one.
#[test]
fn grids() {
    for (dims, periodic) in [
        (&[3, 2][..], &[true, true][..]),
        (&[2, 3], &[false, true]),
        (&[1, 2, 3], &[true, false, false]),
        (&[6], &[true]),
    ] {
        let grid = Grid::new(dims, periodic).unwrap();
        everywhere(6, 3, move |world| {
            let grid = grid.clone();
            async move {
                let cartesian = world.cartesian(&grid).await?.ok_or(Error::Inactive)?;
                let me = cartesian.communicator().rank();
                let neighbours = cartesian.neighbours().await?;
                let sides = grid.dims().len() * 2;
                assert_eq!(neighbours.destinations().count(), sides);
                let values = (0..sides).map(|side| (me, side)).collect();
                let came = neighbours.alltoall(values).await?;
                for (side, came) in came.into_iter().enumerate() {
                    let by = if side % 2 == 0 { -1 } else { 1 };
                    let neighbour = grid.shift(me, side / 2, by).unwrap().1;
                    assert_eq!(came, neighbour.map(|neighbour| (neighbour, side ^ 1)));
                }
                let all = neighbours.allgather(me).await?;
                assert!(all.into_iter().eq(neighbours.sources()));
                Ok(())
            }
        });
    }
}

#[test]
fn errors_are_reported() {
    everywhere(3, 1, |world| async move {
        let me = world.rank();
        let next = (me + 1) % 3;
        let one_sided = world.graph(&[], &[next]).await.unwrap_err();
        assert!(
            one_sided
                .to_string()
                .starts_with("each edge of a graph must be listed"),
            "{one_sided}"
        );
        let none = world.graph(&[3], &[]).await.unwrap_err();
        assert_eq!(none, Error::Rank { rank: 3, size: 3 });
        let ring = world.graph(&[(me + 2) % 3], &[next]).await?;
        let wanted = Error::Count {
            given: 2,
            wanted: 1,
        };
        assert_eq!(ring.alltoall(vec![1, 2]).await, Err(wanted));
        let types = match me {
            0 => ring.allgather(1u8).await.map(drop),
            _ => ring.allgather(1u16).await.map(drop),
        };
        assert_eq!(
            matches!(types, Err(Error::Type { .. })),
            me < 2,
            "{me}: {types:?}"
        );
        Ok(())
    });
}

/// Checks the report of a rank that waits for a neighbour that does not call.
#[test]
fn a_neighbour_that_does_not_call_is_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let me = world.rank();
            let both = world.graph(&[1 - me], &[1 - me]).await?;
            if me == 0 {
                both.allgather(me).await?;
            }
            world.barrier().await
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        let told = block.to_string();
        assert!(
            told.contains("waits in receive (world.graph, from rank 1, tag 0): ")
                && told.contains("tests/suite/mpi_neighbours.rs:"),
            "{told}"
        );
    }
}
