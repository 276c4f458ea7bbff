//! Receives whose sender writes the message into the buffer of the receiver.

use std::cell::Cell;
use std::ptr::NonNull;
use std::rc::Rc;

use graphmap_runtime::mpi::{
    self, ANY_SOURCE, ANY_TAG, Communicator, Error, Packed, Receiving, Request, SendMode,
};
use graphmap_runtime::{Local, Options, Report, yield_now};

/// Runs two ranks that both execute `rank`.
fn two<F: Future<Output = Result<(), Error>> + 'static>(
    rank: impl Fn(Communicator) -> F + 'static,
) -> Report {
    let mut net = Local::new();
    let rank = Rc::new(rank);
    for _ in 0..2 {
        let rank = Rc::clone(&rank);
        net.spawn(async move { rank(mpi::world()?).await });
    }
    net.run(&Options::new()).unwrap()
}

/// Buffer of five bytes that outlives the receives into it.
#[derive(Clone, Default)]
struct Buffer(Rc<Cell<[u8; 5]>>);

impl Buffer {
    fn receive(&self, world: &Communicator) -> Receiving<Packed> {
        // SAFETY: the buffer is valid for five bytes and outlives the request, because each test
        // keeps its `Buffer`. The test reads the bytes only after the receive has ended.
        unsafe { world.recv_packed_at(NonNull::from(&*self.0).cast(), 5, ANY_SOURCE, ANY_TAG) }
    }
}

#[test]
fn bytes_are_put_where_a_receive_waits_for_them() {
    two(|world| async move {
        if world.rank() == 1 {
            for count in 0..=5 {
                world.recv::<()>(0, 1).await?;
                world
                    .send_bytes(&[1, 2, 3, 4, 5][..count], 0, 7, SendMode::Standard)
                    .await?;
            }
            return Ok(());
        }
        for count in 0..=5 {
            let buffer = Buffer::default();
            let received = buffer.receive(&world);
            world.send((), 1, 1).await?;
            let (packed, status) = received.await?;
            assert!(packed.is_empty());
            assert_eq!((status.count, status.tag), (count, 7));
            let mut expected = [0; 5];
            expected[..count].copy_from_slice(&[1, 2, 3, 4, 5][..count]);
            assert_eq!(buffer.0.get(), expected);
        }
        Ok(())
    });
}

#[test]
fn in_all_modes() {
    let modes = [
        SendMode::Standard,
        SendMode::Synchronous,
        SendMode::Buffered,
        SendMode::Ready,
    ];
    two(move |world| async move {
        for (mode, byte) in modes.into_iter().zip(1..) {
            if world.rank() == 1 {
                world.recv::<()>(0, 1).await?;
                world.send_bytes(&[byte], 0, 0, mode).await?;
                continue;
            }
            let buffer = Buffer::default();
            let received = buffer.receive(&world);
            world.send((), 1, 1).await?;
            let (packed, status) = received.await?;
            assert_eq!((packed.len(), status.count), (0, 1));
            assert_eq!(buffer.0.get(), [byte, 0, 0, 0, 0]);
        }
        Ok(())
    });
}

/// Sends a message that is too long, one that arrives before the receive, and values that are not
/// sent as bytes. They must be received as they would be without a buffer.
#[test]
fn other_messages_are_received_as_ever() {
    two(|world| async move {
        let buffer = Buffer::default();
        if world.rank() == 1 {
            world.send_bytes(&[9], 0, 0, SendMode::Standard).await?;
            world.recv::<()>(0, 1).await?;
            world
                .send_bytes(&[1, 2, 3, 4, 5, 6], 0, 0, SendMode::Standard)
                .await?;
            world.recv::<()>(0, 1).await?;
            world
                .send_packed(Packed::from(vec![1, 2]), 0, 0, SendMode::Standard)
                .await?;
            world.recv::<()>(0, 1).await?;
            return world.send(8_u64, 0, 0).await;
        }
        world.probe(1, 0).await?;
        let before = buffer.receive(&world).await?.0;
        assert_eq!(&before[..], [9]);
        for expected in [&[1, 2, 3, 4, 5, 6][..], &[1, 2]] {
            let received = buffer.receive(&world);
            world.send((), 1, 1).await?;
            assert_eq!(&received.await?.0[..], expected);
        }
        let received = buffer.receive(&world);
        world.send((), 1, 1).await?;
        let error = received.await.unwrap_err();
        assert_eq!(
            error.to_string(),
            "a message of type `u64` was received as `graphmap_runtime::mpi::Packed`"
        );
        assert_eq!(buffer.0.get(), [0; 5]);
        Ok(())
    });
}

/// Drops receives. The message is given back, even if it was written to the buffer, and nothing is
/// written to the buffer afterwards.
#[test]
fn a_receive_that_is_let_go_of_is_over() {
    let report = two(|world| async move {
        if world.rank() == 1 {
            for byte in 1..=3 {
                world.recv::<()>(0, 1).await?;
                world.send_bytes(&[byte], 0, 0, SendMode::Standard).await?;
            }
            return Ok(());
        }
        let buffer = Buffer::default();
        let received = buffer.receive(&world);
        world.send((), 1, 1).await?;
        yield_now().await;
        assert!(received.is_done() && received.cancel());
        assert_eq!(buffer.0.get(), [1, 0, 0, 0, 0]);
        assert_eq!(&world.recv::<Packed>(1, 0).await?.0[..], [1]);
        // No receive waits with this buffer.
        drop(buffer.receive(&world));
        world.send((), 1, 1).await?;
        assert_eq!(&world.recv::<Packed>(1, 0).await?.0[..], [2]);
        // A message that is given back may match a receive with a buffer, but is not written into
        // it.
        let given_back = world.recv::<Packed>(1, 0);
        let waits = buffer.receive(&world);
        world.send((), 1, 1).await?;
        yield_now().await;
        drop(given_back);
        assert_eq!(&waits.await?.0[..], [3]);
        assert_eq!(buffer.0.get(), [1, 0, 0, 0, 0]);
        Ok(())
    });
    assert!(report.unreceived.is_none());
}

/// Sends bytes and receives them packed, and the reverse.
#[test]
fn bytes_and_what_was_packed_are_the_same() {
    two(|world| async move {
        if world.rank() == 1 {
            world.send_slice(&[1_u8, 2, 3], 0, 0).await?;
            world.send(vec![4_u8; 20], 0, 1).await?;
            world.send_bytes(&[5; 20], 0, 2, SendMode::Standard).await?;
            world.send_bytes(&[6], 0, 3, SendMode::Standard).await?;
            return world.send_bytes(&[7, 8], 0, 4, SendMode::Standard).await;
        }
        assert_eq!(&world.recv::<Packed>(1, 0).await?.0[..], [1, 2, 3]);
        assert_eq!(&world.recv::<Packed>(1, 1).await?.0[..], [4; 20]);
        assert_eq!(world.recv::<Vec<u8>>(1, 2).await?.0, [5; 20]);
        let (one, status) = world.recv::<Vec<u8>>(1, 3).await?;
        assert_eq!((one, status.count), (vec![6], 1));
        let mut room = [0_u8; 3];
        assert_eq!(world.recv_into(&mut room, 1, 4).await?.count, 2);
        assert_eq!(room, [7, 8, 0]);
        Ok(())
    });
}

/// Checks that a receive that still waits at the end of the run is not counted as an unreceived
/// message.
#[test]
fn pending_buffers_are_not_unreceived_messages() {
    let kept = Rc::new(Cell::new(None));
    let buffer = Buffer::default();
    let (keeps, at) = (Rc::clone(&kept), buffer.clone());
    let report = two(move |world| {
        if world.rank() == 0 {
            keeps.set(Some(at.receive(&world)));
        }
        async { Ok(()) }
    });
    assert!(report.unreceived.is_none());
    drop(kept.take());
}
