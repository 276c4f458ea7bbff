//! Finds the poll that wrote each token and the poll that read it, by the number of the channel and
//! the ordinal of the token.

use graphmap_executor::trace::{Event, Part, Way};

/// Poll of a process: the index of its part, and its time on the clock of the trace.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Poll {
    pub(super) part: u32,
    pub(super) kind: u32,
    pub(super) index: u32,
    start: i64,
    end: i64,
}

/// Message from a time in one poll to a time in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arrow {
    pub(super) channel: u32,
    /// Ordinal of the token on its channel.
    pub(super) ordinal: u64,
    pub(super) from: Poll,
    pub(super) written_at: i64,
    pub(super) to: Poll,
    pub(super) read_at: i64,
}

/// Messages of a trace, and the numbers of those without an arrow.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    pub(super) arrows: Vec<Arrow>,
    pub(super) one_sided: u64,
    pub(super) backward: u64,
}

impl Arrows {
    pub(super) fn new(parts: &[Part], shifts: &[i64]) -> Self {
        // Channel, ordinal, direction and poll of each read and write. If a write is repeated, the
        // last one counts, because the token of an earlier one was taken back.
        let mut sides: Vec<(u32, u64, Way, Poll)> = Vec::new();
        for (at, (part, shift)) in parts.iter().zip(shifts).enumerate() {
            let mut first = sides.len();
            for event in &part.events {
                match *event {
                    Event::Message {
                        way,
                        channel,
                        ordinal,
                    } => sides.push((channel, ordinal, way, Poll::default())),
                    Event::Poll {
                        kind,
                        index,
                        start,
                        end,
                        ..
                    } => {
                        let poll = Poll {
                            part: at as u32,
                            kind,
                            index,
                            start: start as i64 + shift,
                            end: end as i64 + shift,
                        };
                        sides[first..].iter_mut().for_each(|side| side.3 = poll);
                        first = sides.len();
                    }
                    Event::Ready { .. } => {}
                }
            }
            // Drops messages whose poll was not recorded.
            sides.truncate(first);
        }
        sides.sort_unstable_by_key(|&(channel, ordinal, way, poll)| {
            (channel, ordinal, way, poll.start)
        });
        let mut all = Arrows::default();
        for token in sides.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let last = |way| token.iter().rev().find(|side| side.2 == way);
            let (Some(from), Some(to)) = (last(Way::Write), last(Way::Read)) else {
                all.one_sided += 1;
                continue;
            };
            match arrow((from.0, from.1), from.3, to.3) {
                Some(arrow) => all.arrows.push(arrow),
                None => all.backward += 1,
            }
        }
        all
    }
}

/// Returns the arrow of a message, or `None` if the poll `to` that read it had ended when the poll
/// `from` that wrote it began, or has no duration. The exact times within the two polls are
/// unknown. The chosen times respect the order of write and read.
fn arrow((channel, ordinal): (u32, u64), from: Poll, to: Poll) -> Option<Arrow> {
    // A poll does not include its end, at which the next one may begin.
    let read_at = to.start.max(from.start);
    let written_at = read_at.min(from.end - 1);
    (read_at < to.end).then_some(Arrow {
        channel,
        ordinal,
        from,
        written_at,
        to,
        read_at,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphmap_executor::trace::After;

    fn part(os_process: u32, events: Vec<Event>) -> Part {
        Part {
            os_process,
            scheduler: os_process,
            pid: 1,
            host: None,
            time_of_day_offset: 0,
            polls_dropped: 0,
            messages_dropped: 0,
            events,
        }
    }

    fn poll(kind: u32, start: u64, end: u64) -> Event {
        Event::Poll {
            kind,
            index: 0,
            start,
            end,
            after: After::Ended,
        }
    }

    fn message(way: Way, channel: u32, ordinal: u64) -> Event {
        Event::Message {
            way,
            channel,
            ordinal,
        }
    }

    #[test]
    fn messages_are_found_by_channel_and_ordinal() {
        use Way::{Read, Write};
        let writer = part(
            0,
            vec![
                // Earlier messages are missing.
                message(Write, 3, 7),
                message(Write, 3, 8),
                poll(0, 10, 20),
                // Token 9 is taken back, and another takes its ordinal.
                message(Write, 3, 9),
                poll(0, 30, 40),
                message(Write, 3, 9),
                message(Write, 4, 7),
                poll(0, 50, 60),
                message(Write, 4, 8),
            ],
        );
        let reader = part(
            1,
            vec![
                message(Read, 3, 6),
                message(Read, 3, 7),
                poll(1, 5, 12),
                message(Read, 3, 8),
                message(Read, 3, 9),
                poll(1, 15, 70),
                message(Read, 4, 7),
                poll(1, 45, 48),
            ],
        );
        let all = Arrows::new(&[writer, reader], &[0, 0]);
        let times: Vec<_> = all
            .arrows
            .iter()
            .map(|arrow| (arrow.channel, arrow.written_at, arrow.read_at))
            .collect();
        // The second token is read while the poll that wrote it goes on. The third is read in a
        // poll that began before that.
        assert_eq!(times, [(3, 10, 10), (3, 15, 15), (3, 50, 50)]);
        assert_eq!((all.one_sided, all.backward), (1, 1));
    }

    #[test]
    fn arrows_end_within_their_polls() {
        let poll = |start, end| Poll {
            start,
            end,
            ..Poll::default()
        };
        for (from, to, expected) in [
            ((0, 5), (7, 9), Some((4, 7))),
            ((0, 5), (5, 9), Some((4, 5))),
            ((0, 5), (2, 9), Some((2, 2))),
            ((4, 5), (2, 9), Some((4, 4))),
            ((4, 9), (2, 5), Some((4, 4))),
            ((5, 9), (2, 5), None),
        ] {
            let found = arrow((0, 0), poll(from.0, from.1), poll(to.0, to.1));
            let times = found.map(|arrow| (arrow.written_at, arrow.read_at));
            assert_eq!(times, expected, "{from:?} {to:?}");
        }
    }
}
