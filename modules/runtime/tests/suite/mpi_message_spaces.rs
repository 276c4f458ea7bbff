//! Message spaces of a communicator, and recalled messages.

use std::future::Future;

use graphmap_runtime::mpi::{self, SendMode};
use graphmap_runtime::{Local, Options};

fn run<F: Future<Output = Result<(), mpi::Error>> + 'static>(ranks: usize, rank: fn() -> F) {
    let mut net = Local::new();
    for _ in 0..ranks {
        net.spawn(rank());
    }
    net.run(&Options::new()).unwrap();
}

#[test]
fn messages_of_spaces_do_not_meet() {
    async fn rank() -> Result<(), mpi::Error> {
        let world = mpi::world()?;
        let spaces = [world.apart(3), world.apart(1), world.apart(0)];
        for (number, space) in spaces.iter().enumerate() {
            space.send(number, 1 - world.rank(), 7).await?;
        }
        for number in [2, 0, 1] {
            let receive = spaces[number].recv::<usize>(mpi::ANY_SOURCE, mpi::ANY_TAG);
            assert_eq!(receive.await?.0, number);
        }
        assert_eq!(
            world
                .dup()
                .await?
                .apart(2)
                .allreduce(1, |a, b| a + b)
                .await?,
            2
        );
        Ok(())
    }
    run(2, rank);
}

#[test]
fn a_recalled_message_is_not_received() {
    async fn rank() -> Result<(), mpi::Error> {
        let world = mpi::world()?;
        if world.rank() == 0 {
            let mut tickets = Vec::new();
            for byte in 0..3 {
                world.send_bytes(&[byte], 1, 0, SendMode::Standard).await?;
                tickets.push(world.ticket());
            }
            assert!(world.recall(1, tickets[1]));
            assert!(!world.recall(1, tickets[1]));
            assert!(!world.recall(0, tickets[0]));
            world.barrier().await?;
            world.barrier().await?;
            assert!(!world.recall(1, tickets[0]));
        } else {
            world.barrier().await?;
            for byte in [0, 2] {
                let (packed, _) = world.recv::<mpi::Packed>(0, 0).await?;
                assert_eq!(packed[..], [byte]);
            }
            world.barrier().await?;
        }
        Ok(())
    }
    run(2, rank);
}

#[test]
fn a_cancelled_send_is_inactive() {
    async fn rank() -> Result<(), mpi::Error> {
        let world = mpi::world()?;
        let mut first = world.ssend(1, 0, 0);
        let mut second = world.ssend(2, 0, 0);
        assert!(first.try_cancel());
        assert!(!first.try_cancel());
        assert_eq!(world.recv::<i32>(0, 0).await?.0, 2);
        assert!(!second.try_cancel());
        second.await
    }
    run(1, rank);
}
