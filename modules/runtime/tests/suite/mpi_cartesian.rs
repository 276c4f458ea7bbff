//! Grids of ranks, checked against coordinates, and comparison of communicators.

use crate::common::{Random, size};
use graphmap_runtime::mpi::{self, Error, Grid};
use graphmap_runtime::{Local, Options};

fn grid(random: &mut Random) -> Grid {
    let dims: Vec<usize> = (0..random.below(4))
        .map(|_| 1 + random.below(4) as usize)
        .collect();
    let periodic: Vec<bool> = dims.iter().map(|_| random.below(2) == 0).collect();
    Grid::new(&dims, &periodic).unwrap()
}

/// Returns all coordinates. The last one varies fastest.
fn all(dims: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &dim in dims {
        let longer = |at: &Vec<usize>| {
            (0..dim)
                .map(|n| [&at[..], &[n]].concat())
                .collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all
}

#[test]
fn ranks_are_where_counting_puts_them() {
    for seed in 0..size(300, 20) {
        let mut random = Random(seed);
        let grid = grid(&mut random);
        let places = all(grid.dims());
        assert_eq!(grid.size(), places.len());
        for (rank, at) in places.iter().enumerate() {
            assert_eq!(grid.coordinates(rank).as_ref(), Some(at));
            for (dimension, &dim) in grid.dims().iter().enumerate() {
                let by = random.below(11) as isize - 5;
                // Takes one step after the other.
                let walk = |steps: isize| {
                    let mut to = at.clone();
                    for _ in 0..steps.unsigned_abs() {
                        let next = to[dimension].cast_signed() + steps.signum();
                        let inside = (0..dim.cast_signed()).contains(&next);
                        if !inside && !grid.periodic()[dimension] {
                            return None;
                        }
                        to[dimension] = next.rem_euclid(dim.cast_signed()).cast_unsigned();
                    }
                    places.iter().position(|place| *place == to)
                };
                assert_eq!(grid.shift(rank, dimension, by), Some((walk(-by), walk(by))));
            }
        }
        assert_eq!(grid.coordinates(places.len()), None);
        assert_eq!(grid.shift(0, grid.dims().len(), 1), None);
    }
}

#[test]
fn the_largest_dimension_is_as_small_as_can_be() {
    for ranks in 1..=size(300, 30) as usize {
        let two = (1..=ranks)
            .filter(|&b| ranks.is_multiple_of(b) && b <= ranks / b)
            .max()
            .unwrap();
        let grid = Grid::balanced(ranks, &[0, 0], &[false; 2]).unwrap();
        assert_eq!(grid.dims(), [ranks / two, two]);
        let grid = Grid::balanced(ranks, &[0, 0, 0], &[false; 3]).unwrap();
        let dims = grid.dims();
        assert_eq!(grid.size(), ranks);
        assert!(dims.is_sorted_by(|a, b| a >= b), "{dims:?}");
        let fits = |largest: usize| {
            let rest = ranks / largest;
            (1..=rest).any(|b| rest.is_multiple_of(b) && b <= largest && rest / b <= largest)
        };
        let largest = (1..=ranks)
            .find(|&n| ranks.is_multiple_of(n) && fits(n))
            .unwrap();
        assert_eq!(dims[0], largest, "{ranks}");
    }
    let dims = |ranks, dims: &[usize]| {
        Grid::balanced(ranks, dims, &vec![true; dims.len()]).map(|grid| grid.dims().to_vec())
    };
    assert_eq!(dims(24, &[0, 2, 0]), Ok(vec![4, 2, 3]));
    assert_eq!(dims(1 << 30, &[0; 30]), Ok(vec![2; 30]));
    assert_eq!(dims(2_147_483_647, &[0, 0]), Ok(vec![2_147_483_647, 1]));
    assert_eq!(dims(7, &[7]), Ok(vec![7]));
}

#[test]
fn grids_that_cannot_be_are_errors() {
    let wrong =
        |made: Result<Grid, Error>| assert!(matches!(made, Err(Error::Topology(_))), "{made:?}");
    wrong(Grid::new(&[2, 0], &[true; 2]));
    wrong(Grid::new(&[2], &[]));
    wrong(Grid::new(&[usize::MAX, 2], &[true; 2]));
    wrong(Grid::new(&[1 << 16, 1 << 16], &[true; 2]));
    wrong(Grid::balanced(0, &[0], &[true]));
    wrong(Grid::balanced(7, &[2, 0], &[true; 2]));
    wrong(Grid::balanced(7, &[], &[]));
    wrong(Grid::balanced(6, &[3], &[true]));
    wrong(Grid::balanced(6, &[usize::MAX, usize::MAX, 0], &[true; 3]));
    let grid = Grid::new(&[3], &[true]).unwrap();
    assert_eq!(
        grid.shift(1, 0, isize::MIN),
        grid.shift(1, 0, isize::MIN % 3)
    );
    assert_eq!(
        grid.shift(1, 0, isize::MAX),
        grid.shift(1, 0, isize::MAX % 3)
    );
    assert_eq!(
        grid.rank_at(&[isize::MIN]),
        Some(isize::MIN.rem_euclid(3) as usize)
    );
    assert_eq!(grid.rank_at(&[0, 0]), None);
}

/// Neighbours exchange their ranks, and the members of a part gather theirs.
#[test]
fn neighbours_and_parts_talk() {
    for seed in 0..size(60, 6) {
        let mut random = Random(seed);
        let grid = grid(&mut random);
        let keep: Vec<bool> = grid.dims().iter().map(|_| random.below(2) == 0).collect();
        let by = random.below(7) as isize - 3;
        let mut net = Local::new();
        for _ in 0..grid.size() + random.below(3) as usize {
            let (grid, keep) = (grid.clone(), keep.clone());
            net.spawn(async move {
                let world = mpi::world()?;
                let Some(cartesian) = world.cartesian(&grid).await? else {
                    assert!(world.rank() >= grid.size());
                    return Ok(());
                };
                let comm = cartesian.communicator();
                assert_eq!((comm.rank(), comm.size()), (world.rank(), grid.size()));
                for dimension in 0..grid.dims().len() {
                    let (from, to) = cartesian.shift(dimension, by).unwrap();
                    let sent = to.map(|to| comm.send(comm.rank(), to, dimension as i32));
                    if let Some(from) = from {
                        assert_eq!(comm.recv::<usize>(from, dimension as i32).await?.0, from);
                    }
                    if let Some(sent) = sent {
                        sent.await?;
                    }
                }
                let part = cartesian.part(&keep).await?;
                let mine = cartesian.coordinates();
                let same = |at: &Vec<usize>| (0..keep.len()).all(|n| keep[n] || at[n] == mine[n]);
                let places = all(grid.dims());
                let mates: Vec<usize> = (0..places.len())
                    .filter(|&rank| same(&places[rank]))
                    .collect();
                assert_eq!(
                    part.communicator().allgather(comm.rank()).await?,
                    mates.into()
                );
                let kept = |n: &usize| keep[*n];
                let wanted: Vec<_> = (0..keep.len()).filter(kept).map(|n| mine[n]).collect();
                assert_eq!(part.coordinates(), wanted);
                Ok::<(), Error>(())
            });
        }
        net.run(&Options::new()).unwrap();
    }
}

#[test]
fn invalid_grids_are_errors_on_all_ranks() {
    let mut net = Local::new();
    for _ in 0..3 {
        net.spawn(async {
            let world = mpi::world()?;
            let mine = Grid::new(&[1 + world.rank() % 2], &[true])?;
            assert!(matches!(
                world.cartesian(&mine).await,
                Err(Error::Topology(_))
            ));
            let large = Grid::new(&[2, 2], &[true; 2])?;
            assert!(matches!(
                world.cartesian(&large).await,
                Err(Error::Topology(_))
            ));
            let line = Grid::new(&[3], &[true])?;
            let line = world.cartesian(&line).await?.unwrap();
            assert!(matches!(line.part(&[]).await, Err(Error::Topology(_))));
            Ok::<(), Error>(())
        });
    }
    net.run(&Options::new()).unwrap();
}

#[test]
fn communicators_compare() {
    use mpi::Comparison::{Congruent, Identical, Similar, Unequal};
    let mut net = Local::new();
    for _ in 0..4 {
        net.spawn(async {
            let world = mpi::world()?;
            assert_eq!(world.compare(&mpi::world()?), Identical);
            let dup = world.dup().await?;
            assert_eq!(
                (world.compare(&dup), dup.compare(&dup.clone())),
                (Congruent, Identical)
            );
            let square = world
                .cartesian(&Grid::new(&[2, 2], &[true; 2])?)
                .await?
                .unwrap();
            assert_eq!(square.communicator().compare(&dup), Congruent);
            let back = world.split(Some(0), -(world.rank() as i64)).await?.unwrap();
            assert_eq!(world.compare(&back), Similar);
            let row = square.part(&[false, true]).await?;
            assert_eq!(world.compare(row.communicator()), Unequal);
            let mut inner = Local::new();
            let outer = world.clone();
            for _ in 0..4 {
                let outer = outer.clone();
                inner.spawn(async move {
                    assert_eq!(outer.compare(&mpi::world()?), Unequal);
                    Ok::<(), Error>(())
                });
            }
            inner.run(&Options::new()).unwrap();
            Ok::<(), Error>(())
        });
    }
    net.run(&Options::new()).unwrap();
}
