//! Tests of `create_group`, which only the members of the group call, and of vectors that are sent
//! like slices.

use graphmap_runtime::mpi::{self, ANY_SOURCE, ANY_TAG, Communicator, Error, Group};
use graphmap_runtime::{Local, Options};

fn ranks<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    rank: impl Fn(Communicator) -> F + Copy + 'static,
) {
    let mut net = Local::new();
    for _ in 0..count {
        net.spawn(async move { rank(mpi::world()?).await });
    }
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_group_makes_a_communicator_without_the_others() {
    ranks(7, |world| async move {
        let odd = world.group().include(&[5, 1, 3])?;
        if world.rank() % 2 == 0 {
            // A rank outside the group need not call it. If it does, it gets `None`.
            if world.rank() == 4 {
                assert!(world.create_group(&odd, 0).await?.is_none());
            }
            return Ok(());
        }
        let made = world.create_group(&odd, 0).await?.unwrap();
        assert_eq!(made.group().compare(&odd), mpi::Comparison::Identical);
        let all = made.allgather(world.rank()).await?;
        assert_eq!(*all, [5, 1, 3]);
        Ok(())
    });
}

#[test]
fn groups_made_at_the_same_time_are_told_apart_by_tags() {
    ranks(4, |world| async move {
        let all = world.group().clone();
        // The ranks call it in different orders. A pending receive from any rank with any tag must
        // not match the internal messages.
        let any = world.recv::<u8>(ANY_SOURCE, ANY_TAG);
        let (first, second) = match world.rank() % 2 == 0 {
            true => {
                let first = world.create_group(&all, 1);
                (first, world.create_group(&all, 2))
            }
            false => {
                let second = world.create_group(&all, 2);
                (world.create_group(&all, 1), second)
            }
        };
        let (first, second) = graphmap_runtime::join(first, second).await;
        let (first, second) = (first?.unwrap(), second?.unwrap());
        assert_eq!(first.compare(&second), mpi::Comparison::Congruent);
        let next = (world.rank() + 1) % 4;
        first.send(1_u8, next, 0).await?;
        second.send(2_u8, next, 0).await?;
        assert_eq!(second.recv::<u8>(ANY_SOURCE, ANY_TAG).await?.0, 2);
        assert_eq!(first.recv::<u8>(ANY_SOURCE, ANY_TAG).await?.0, 1);
        world.send(3_u8, next, 0).await?;
        assert_eq!(any.await?.0, 3);
        Ok(())
    });
}

#[test]
fn a_group_with_strangers_or_a_wrong_tag_is_an_error() {
    ranks(3, |world| async move {
        let low = Group::all(2);
        let Some(pair) = world.create_group(&low, 3).await? else {
            return Ok(());
        };
        let strangers = pair.create_group(&Group::all(3), 0).await;
        assert!(matches!(strangers, Err(Error::Group(_))));
        let wrong = pair.create_group(&low, -1).await;
        assert!(matches!(wrong, Err(Error::Tag(-1))));
        // No rank is a member of an empty group.
        assert!(pair.create_group(&Group::all(0), 0).await?.is_none());
        Ok(())
    });
}

#[test]
fn a_vector_is_received_as_a_slice_is() {
    ranks(2, |world| async move {
        if world.rank() == 0 {
            world.send_vec(vec![1_u16, 2, 3], 1, 0).await?;
            world.ssend_vec(vec![4_u16, 5], 1, 1).await?;
            world.bsend_vec(vec![6_u16; 100_000], 1, 2).await?;
            let unready = world.rsend_vec(vec![7_u16], 1, 3).await;
            assert!(matches!(unready, Err(Error::NotReady)));
            // Above the eager limit, so the send waits for a receive.
            let mut large = world.send_vec(vec![8_u16; 100_000], 1, 4);
            assert!(mpi::Request::test(&mut large).await?.is_none());
            world.send(0_u8, 1, 5).await?;
            return large.await;
        }
        assert_eq!(world.probe(0, 0).await?.count, 3);
        let mut room = [0_u16; 4];
        assert_eq!(world.recv_into(&mut room, 0, 0).await?.count, 3);
        assert_eq!(room, [1, 2, 3, 0]);
        assert_eq!(world.recv::<Vec<u16>>(0, 1).await?.0, [4, 5]);
        assert_eq!(world.recv::<Vec<u16>>(0, 2).await?.0.len(), 100_000);
        world.recv::<u8>(0, 5).await?;
        assert_eq!(world.recv::<Vec<u16>>(0, 4).await?.0, vec![8; 100_000]);
        Ok(())
    });
}
