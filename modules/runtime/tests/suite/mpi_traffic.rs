//! Messages between ranks in the profile of a run.

use graphmap_runtime::{Local, Options, Payload, mpi};

/// Returns the profile of a run of `ranks` ranks that all execute `rank`.
fn profile<F>(options: &Options, ranks: usize, rank: impl Fn() -> F) -> String
where
    F: Future<Output = Result<(), mpi::Error>> + 'static,
{
    let mut net = Local::new();
    for _ in 0..ranks {
        net.spawn(rank());
    }
    let report = net.run(&options.clone().profile(true)).unwrap();
    report.profile().unwrap()
}

/// Returns the part of a profile about communicators and pairs.
fn of_ranks(profile: &str) -> &str {
    let at = profile.find(",\n\"communicators\"");
    at.map_or("", |at| profile[at..].trim_end().trim_end_matches('}'))
}

#[test]
fn each_message_counts_once_whatever_its_mode() {
    let told = profile(&Options::new(), 3, || async {
        let world = mpi::world()?;
        let other = world.dup().await?;
        match world.rank() {
            0 => {
                // To a rank that waits, and to one that does not.
                world.barrier().await?;
                world.send(1u64, 1, 0).await?;
                world.ssend(2u64, 1, 0).await?;
                world.bsend(3u32, 1, 0).await?;
                world.send_slice(&[1u8, 2, 3], 2, 0).await?;
                world.send_vec(vec![1u16, 2], 2, 0).await?;
                other.send(4u64, 2, 0).await?;
                // None of these is sent, because each is an error.
                assert!(world.send(5u64, 3, 0).await.is_err());
                assert!(world.send(5u64, 1, -1).await.is_err());
                assert!(world.rsend(5u64, 1, 0).await.is_err());
            }
            1 => {
                let first = world.recv::<u64>(0, 0);
                world.barrier().await?;
                first.await?;
                world.recv::<u64>(0, 0).await?;
                world.recv::<u32>(0, 0).await?;
                // To itself.
                let back = world.recv::<u8>(1, 0);
                world.send(6u8, 1, 0).await?;
                back.await?;
            }
            _ => {
                world.barrier().await?;
                world.recv_into(&mut [0u8; 3], 0, 0).await?;
                world.recv_into(&mut [0u16; 2], 0, 0).await?;
                other.recv::<u64>(0, 0).await?;
            }
        }
        Ok(())
    });
    // A vector is encoded as its length and its elements.
    let expected = ",\n\
        \"communicators\":[{\"name\":\"world\",\"calls\":6},\n\
        {\"name\":\"world.dup\",\"calls\":0}],\n\
        \"pairs\":[{\"communicator\":0,\"from\":0,\"to\":1,\"messages\":3,\"bytes\":20},\n\
        {\"communicator\":0,\"from\":0,\"to\":2,\"messages\":2,\"bytes\":LENGTHS},\n\
        {\"communicator\":0,\"from\":1,\"to\":1,\"messages\":1,\"bytes\":1},\n\
        {\"communicator\":1,\"from\":0,\"to\":2,\"messages\":1,\"bytes\":8}]";
    let vectors = [vec![1u8, 2, 3].size(), vec![1u16, 2].size()];
    let lengths: usize = vectors.iter().sum();
    assert_eq!(
        of_ranks(&told),
        expected.replace("LENGTHS", &lengths.to_string())
    );
}

#[test]
fn it_is_the_same_wherever_ranks_are_and_in_whatever_order() {
    let rank = || async {
        let world = mpi::world()?;
        let (rank, size) = (world.rank(), world.size());
        let half = world.split(Some(rank as u32 % 2), 0).await?.unwrap();
        for round in 0..20 {
            let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
            world
                .sendrecv::<i32, i32>(round, next, 0, previous, 0)
                .await?;
            half.allreduce(round, |a: i32, b| a + b).await?;
        }
        // Longer than one frame, and longer than the eager limit.
        let long = world.recv::<Vec<u8>>((rank + 3) % size, 1);
        world
            .send(vec![0u8; 1 << 20], (rank + size - 3) % size, 1)
            .await?;
        long.await?;
        Ok(())
    };
    let one = profile(&Options::new(), 8, rank);
    assert!(
        of_ranks(&one).contains("\"messages\":20,\"bytes\":80}"),
        "{one}"
    );
    assert!(
        of_ranks(&one).contains("{\"name\":\"world.split(0)\",\"calls\":80}"),
        "{one}"
    );
    assert_eq!(of_ranks(&one).matches("\"from\"").count(), 16);
    for options in [
        Options::new().schedulers(2),
        Options::new().schedulers(3),
        Options::new().shuffle(7),
    ] {
        assert_eq!(of_ranks(&profile(&options, 8, rank)), of_ranks(&one));
    }
}

#[test]
fn communicators_of_one_name_are_one() {
    let told = profile(&Options::new(), 2, || async {
        let world = mpi::world()?;
        for _ in 0..100 {
            let one = world.dup().await?;
            let other = 1 - one.rank();
            one.sendrecv::<u8, u8>(0, other, 0, other, 0).await?;
        }
        Ok(())
    });
    let told = of_ranks(&told);
    assert_eq!(told.matches("\"name\"").count(), 2, "{told}");
    assert!(
        told.contains("\"from\":1,\"to\":0,\"messages\":100,\"bytes\":100}"),
        "{told}"
    );
}

#[test]
fn nothing_is_counted_unless_it_is_asked_for() {
    let mut net = Local::new();
    for _ in 0..2 {
        net.spawn(async { mpi::world()?.barrier().await });
    }
    let report = net.run(&Options::new().stats(true)).unwrap();
    assert!(report.profile().is_none());
    // A run without calls adds nothing to the profile.
    let mut net = Local::new();
    net.spawn(async { Ok::<(), mpi::Error>(()) });
    let report = net.run(&Options::new().profile(true)).unwrap();
    assert_eq!(of_ranks(&report.profile().unwrap()), "");
}

#[test]
fn an_endpoint_counts_as_its_process() {
    let told = profile(&Options::new(), 2, || async {
        let world = mpi::world()?;
        let two = world.endpoints(2).await?;
        match world.rank() {
            0 => two[1].send(7u8, 3, 0).await?,
            _ => drop(two[1].recv::<u8>(1, 0).await?),
        }
        Ok(())
    });
    let expected =
        "\"pairs\":[{\"communicator\":1,\"from\":0,\"to\":1,\"messages\":1,\"bytes\":1}]";
    assert!(of_ranks(&told).ends_with(expected), "{told}");
    assert!(
        told.contains("{\"name\":\"world.endpoints\",\"calls\":0}"),
        "{told}"
    );
}
