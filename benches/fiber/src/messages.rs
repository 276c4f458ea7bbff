//! Time of a message of eight bytes to another rank, between `async` ranks and between fibers.

use graphmap_fiber::{Fiber, wait};
use graphmap_runtime::{Local, Options, mpi};

use crate::measure;

const COUNT: u64 = 200_000;

/// Sends each number to the other rank and back.
async fn as_async() -> Result<(), mpi::Error> {
    let world = mpi::world()?;
    for number in 0..COUNT {
        if world.rank() == 0 {
            world.send(number, 1, 0).await?;
            world.recv::<u64>(1, 0).await?;
        } else {
            let (got, _) = world.recv::<u64>(0, 0).await?;
            world.send(got, 0, 0).await?;
        }
    }
    Ok(())
}

fn as_fiber() -> Result<(), mpi::Error> {
    let world = mpi::world()?;
    for number in 0..COUNT {
        if world.rank() == 0 {
            wait(world.send(number, 1, 0))?;
            wait(world.recv::<u64>(1, 0))?;
        } else {
            let (got, _) = wait(world.recv::<u64>(0, 0))?;
            wait(world.send(got, 0, 0))?;
        }
    }
    Ok(())
}

pub(crate) fn report(rounds: usize) {
    println!("a message of 8 bytes to another rank, one way; and to the first:");
    let mut asyncs = || {
        let mut net = Local::new();
        net.spawn(as_async());
        net.spawn(as_async());
        net.run(&Options::new()).unwrap();
    };
    let mut fibers = || {
        let mut net = Local::new();
        net.spawn(Fiber::new(as_fiber));
        net.spawn(Fiber::new(as_fiber));
        net.run(&Options::new()).unwrap();
    };
    let count = 2 * COUNT as usize;
    let contestants: &mut [(&str, &mut dyn FnMut())] =
        &mut [("async fn", &mut asyncs), ("fiber", &mut fibers)];
    measure(rounds, count, contestants);
}
