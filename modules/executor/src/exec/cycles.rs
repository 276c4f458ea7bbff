//! Which processes of a network are on a cycle with each other.

/// The strongly connected component of each process (Tarjan 1972): of two processes on a cycle it is the same number.
pub fn components(processes: usize, channels: &[(u32, u32)]) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    // The readers of each process, one process after the other.
    let mut begins = vec![0_usize; processes + 1];
    for &(from, _) in channels {
        begins[from as usize + 1] += 1;
    }
    for at in 0..processes {
        begins[at + 1] += begins[at];
    }
    let mut next = begins.clone();
    let mut readers = vec![0_u32; channels.len()];
    for &(from, to) in channels {
        readers[next[from as usize]] = to;
        next[from as usize] += 1;
    }
    next.copy_from_slice(&begins);
    let mut component = vec![UNSEEN; processes];
    // The order in which processes were reached, and the earliest that each leads back to.
    let (mut reached, mut earliest) = (vec![UNSEEN; processes], vec![UNSEEN; processes]);
    let (mut open, mut path) = (Vec::new(), Vec::new());
    let (mut count, mut components) = (0, 0);
    for first in 0..processes {
        if reached[first] == UNSEEN {
            path.push(first);
        }
        while let Some(&at) = path.last() {
            if reached[at] == UNSEEN {
                (reached[at], earliest[at]) = (count, count);
                count += 1;
                open.push(at);
            }
            let unread = readers[next[at]..begins[at + 1]].first();
            if let Some(&reader) = unread {
                let reader = reader as usize;
                if reached[reader] == UNSEEN {
                    // Looked at again when it is done.
                    path.push(reader);
                    continue;
                }
                if component[reader] == UNSEEN {
                    earliest[at] = earliest[at].min(earliest[reader]);
                }
                next[at] += 1;
                continue;
            }
            path.pop();
            if earliest[at] == reached[at] {
                while let Some(member) = open.pop() {
                    component[member] = components;
                    if member == at {
                        break;
                    }
                }
                components += 1;
            }
        }
    }
    component
}

#[cfg(test)]
mod tests {
    use super::components;

    #[test]
    fn processes_on_a_cycle_are_of_one_component() {
        let same = |n: usize, channels: &[(u32, u32)], pairs: &[(usize, usize, bool)]| {
            let of = components(n, channels);
            for &(a, b, same) in pairs {
                assert_eq!(of[a] == of[b], same, "{a} {b}: {channels:?}: {of:?}");
            }
        };
        same(2, &[(0, 1)], &[(0, 1, false)]);
        same(2, &[(0, 1), (1, 0)], &[(0, 1, true)]);
        // Two cycles with a channel between them, and a collector.
        let two = [
            (0, 1),
            (1, 2),
            (2, 0),
            (2, 3),
            (3, 4),
            (4, 3),
            (0, 5),
            (4, 5),
        ];
        let pairs = [
            (0, 2, true),
            (1, 2, true),
            (2, 3, false),
            (3, 4, true),
            (4, 5, false),
        ];
        same(6, &two, &pairs);
        // A cycle that is closed last, from far below.
        let late = [(0, 1), (0, 2), (1, 3), (3, 4), (4, 1), (4, 0), (2, 2)];
        same(5, &late, &[(0, 4, true), (1, 3, true), (0, 2, false)]);
        assert!(components(0, &[]).is_empty());
    }

    #[test]
    fn a_long_path_takes_no_stack() {
        let n = 300_000;
        let mut channels: Vec<(u32, u32)> = (1..n).map(|at| (at - 1, at)).collect();
        let of = components(n as usize, &channels);
        assert_ne!(of[0], of[n as usize - 1]);
        channels.push((n - 1, 0));
        assert!(
            components(n as usize, &channels)
                .iter()
                .all(|&one| one == 0)
        );
    }
}
