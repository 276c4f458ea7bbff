//! Cases that end well wherever ranks are, among them those of the *Note for MPI Endpoints*.

use mpi::collective::SystemOperation;
use mpi::endpoint::{self, Endpoint, Endpoints, Running};
use mpi::topology::{Color, Rank, SimpleCommunicator};
use mpi::traits::*;

/// What each of so many ranks does, with the communicator of all.
pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) ranks: usize,
    pub(crate) rank: fn(SimpleCommunicator),
}

pub(crate) const CASES: &[Case] = &[Case {
    name: "messages between endpoints of a rank",
    ranks: 2,
    rank: messages_within,
}];

/// Both of a rank send to each other before they receive, and neither send is over before the other has received: so one stack would wait for itself.
fn messages_within(world: SimpleCommunicator) {
    let both = world.endpoints(2);
    let first = 2 * world.rank();
    assert_eq!((both[0].rank(), both[1].rank()), (first, first + 1));
    assert_eq!(both[0].size(), 2 * world.size());
    let came = endpoint::each(both, |mine| {
        let other = mine.process_at_rank(mine.rank() ^ 1);
        let mut came = Vec::new();
        for round in 0..10 {
            if mine.rank() % 2 == round % 2 {
                other.synchronous_send(&(mine.rank() * 100 + round));
                came.push(other.receive::<i32>().0);
            } else {
                came.push(other.receive::<i32>().0);
                other.synchronous_send(&(mine.rank() * 100 + round));
            }
        }
        came
    });
    for (at, came) in (0..).zip(came) {
        let other = first + 1 - at;
        assert_eq!(
            came,
            (0..10).map(|round| other * 100 + round).collect::<Vec<_>>()
        );
    }
}
