//! Waits for room in channels between schedulers that more room would spare.

use graphmap_executor::exec::report;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::exec::statistics::Tally;
use graphmap_executor::exec::wait_graph::components;

/// The capacity that is advised: a channel that has it is not counted.
pub(crate) const ADVISED: u32 = 64;

/// Waits in channels that are on no cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoomWaits {
    pub(crate) count: u64,
    /// The channel with most of them, in words, with its place.
    pub(crate) most: String,
}

/// Finds the waits for room that more room would spare; none if there are none.
///
/// On a cycle, as where processes work in lock step, what a process writes next depends on what it reads, and more room
/// changes nothing.
pub(crate) fn of(directory: &dyn Directory, tallies: &[Tally]) -> Option<RoomWaits> {
    let counted = tallies.iter().flat_map(|tally| &tally.room_waits);
    let mut waits: Vec<(u64, u32)> = counted
        .map(|(&number, &count)| (count, number))
        .filter(|&(_, number)| directory.capacity(number) < ADVISED)
        .collect();
    // Otherwise the network need not be looked at.
    if waits.is_empty() {
        return None;
    }
    let peers = |number| match directory.peers(number) {
        (Some(from), Some(to)) => Some((from, to)),
        _ => None,
    };
    let channels: Vec<(u32, u32)> = (0..directory.channels()).filter_map(peers).collect();
    let component = components(directory.processes(), &channels);
    waits.retain(|&(_, number)| {
        peers(number).is_some_and(|(from, to)| component[from as usize] != component[to as usize])
    });
    let (_, most) = waits.iter().max()?;
    Some(RoomWaits {
        count: waits.iter().map(|(count, _)| count).sum(),
        most: report::channel(directory, *most),
    })
}
