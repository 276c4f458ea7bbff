//! Time to split a world into rows in one of several ways, over ranks that are coroutines in
//! several OS processes (`benches/runtime/run splits`).
//!
//! `splits WAY RANKS ROWS` is one run of such a world. `WAY` is `none`, `rows` or `columns` (by
//! `split`), `random` (a random colour for each rank), or `grid` (`cartesian` and `part`). Rank 0
//! prints the milliseconds, and the first rank of each scheduler prints the peak memory of its OS
//! process in kB.
#![allow(clippy::print_stdout)]

use std::cell::RefCell;
use std::process::ExitCode;
use std::time::Instant;

use graphmap_runtime as rt;
use rt::mpi::{Communicator, Error, Grid};

thread_local! {
    static SPEAKS: RefCell<bool> = const { RefCell::new(true) };
}

fn main() -> ExitCode {
    rt::main(|| {
        let arguments: Vec<String> = std::env::args().skip(1).collect();
        let number = |at: usize| arguments[at].parse::<usize>().expect("a number");
        let (way, ranks, rows) = (arguments[0].clone(), number(1), number(2));
        bench_runtime::ranks(ranks, move |world| {
            let way = way.clone();
            async move { run(&world, &way, rows).await }
        })
    })
}

/// Returns the communicator of this rank's part of the world, and with `grid` also the communicator
/// of the grid.
async fn part(
    world: &Communicator,
    way: &str,
    rows: usize,
) -> Result<(Option<Communicator>, Communicator), Error> {
    let (me, columns) = (world.rank(), world.size() / rows);
    let colour = match way {
        "rows" => me / columns,
        "columns" => me % columns,
        "random" => (me.wrapping_mul(0x9e37_79b9_7f4a_7c15) % (rows << 32)) >> 32,
        "grid" => {
            let grid = Grid::new(&[rows, columns], &[false; 2])?;
            let grid = world.cartesian(&grid).await?.ok_or(Error::Inactive)?;
            let row = grid.part(&[false, true]).await?.communicator().clone();
            return Ok((Some(grid.communicator().clone()), row));
        }
        _ => return Ok((None, world.clone())),
    };
    let part = world.split(Some(colour as u32), 0).await?;
    Ok((None, part.ok_or(Error::Inactive)?))
}

async fn run(world: &Communicator, way: &str, rows: usize) -> Result<(), Error> {
    world.barrier().await?;
    let start = Instant::now();
    let made = part(world, way, rows).await?;
    world.barrier().await?;
    if world.rank() == 0 {
        println!("ms {:.1}", start.elapsed().as_secs_f64() * 1e3);
    }
    let own = made.1.group().translate(&[made.1.rank()], world.group());
    assert_eq!(own, [Some(world.rank())]);
    if SPEAKS.replace(false) {
        println!("kB {}", bench_common::peak() / 1024.0);
    }
    world.barrier().await
}
