//! Waits for space in channels between schedulers that a larger capacity would avoid.

use graphmap_executor::exec::report;
use graphmap_executor::exec::report::Directory;
use graphmap_executor::exec::statistics::Statistics;
use graphmap_executor::exec::wait_graph::components;

/// Advised capacity. Channels with this capacity or more are not counted.
pub(crate) const ADVISED: u32 = 64;

/// Waits for space in channels that are not on a cycle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RoomWaits {
    pub(crate) count: u64,
    /// Description of the channel with the most waits, with its position.
    pub(crate) most: String,
}

/// Returns the waits at channels whose capacity is below [`ADVISED`] and that are not on a cycle.
/// Returns `None` if there are no such waits, if they were not measured, or if the ends of these
/// channels are unknown.
///
/// On a cycle, for example of processes in lock step, a process writes in response to what it
/// reads. So a larger capacity does not avoid the waits there.
pub(crate) fn of(directory: &dyn Directory, all_statistics: &[Statistics]) -> Option<RoomWaits> {
    let counted = all_statistics
        .iter()
        .flat_map(|statistics| &statistics.room_waits);
    let mut waits: Vec<(u64, u32)> = counted
        .map(|(&number, &count)| (count, number))
        .filter(|&(_, number)| directory.capacity(number) < ADVISED)
        .collect();
    // Skips the search of the network.
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
