//! Steps that create communicators, and that log properties of these and of groups.

use mpi::topology::{Color, GroupRelation, SimpleCommunicator, SystemGroup, UserGroup};
use mpi::traits::*;

use super::program::Kind;
use super::turn::Turn;

pub(crate) const KINDS: [Kind; 7] = [
    ("duplicate", duplicate),
    ("split", split),
    ("split_shared", split_shared),
    ("split_by_group", split_by_group),
    ("groups", groups),
    ("cartesian", cartesian),
    ("packed", packed),
];

/// Returns true if the step makes a communicator that later steps may use.
pub(crate) fn makes(kind: &Kind) -> bool {
    ["duplicate", "split", "split_by_group"].contains(&kind.0)
}

/// Logs a new communicator and keeps it. A rank that is not in it has none.
fn made(turn: &mut Turn, made: Option<SimpleCommunicator>) {
    match &made {
        None => turn.say("in none"),
        Some(comm) => {
            let mut members = vec![0_i32; comm.size() as usize];
            comm.all_gather_into(&(turn.me as i32), &mut members[..]);
            let relation = turn.comm.compare(comm);
            turn.say(format!("{} of {members:?}, {relation:?}", comm.rank()));
        }
    }
    turn.made = made;
}

fn duplicate(turn: &mut Turn) {
    let copy = turn.comm.duplicate();
    let name = format!("copy {}", turn.step.number);
    copy.set_name(&name);
    let got = copy.get_name();
    turn.say(got);
    made(turn, Some(copy));
}

fn split(turn: &mut Turn) {
    let colors: Vec<usize> = (0..turn.size).map(|_| turn.chance.below(3)).collect();
    let keys: Vec<i32> = (0..turn.size)
        .map(|_| turn.chance.below(3) as i32 - 1)
        .collect();
    let color = match (colors[turn.me], turn.chance.one_in(2)) {
        (2, true) => Color::undefined(),
        (color, _) => Color::with_value(color as i32),
    };
    let comm = match turn.chance.one_in(3) {
        true => turn.comm.split_by_color(color),
        // Ranks with equal keys keep their order.
        false => turn.comm.split_by_color_with_key(color, keys[turn.me]),
    };
    made(turn, comm);
}

fn split_shared(turn: &mut Turn) {
    let sign = -(turn.chance.below(2) as i32);
    let comm = turn.comm.split_shared(sign * turn.me as i32);
    // Its members depend on the placement of ranks, but their order does not.
    let mut members = vec![0_i32; comm.size() as usize];
    comm.all_gather_into(&(turn.me as i32), &mut members[..]);
    let has_me = members[comm.rank() as usize] == turn.me as i32;
    let ordered = match sign {
        0 => members.is_sorted(),
        _ => members.is_sorted_by(|one, next| one > next),
    };
    turn.say(format!("{has_me} {ordered}"));
}

/// Draws some ranks in random order.
fn some_ranks(turn: &mut Turn) -> Vec<i32> {
    let order = turn.chance.order(turn.size);
    let count = turn.chance.below(turn.size + 1);
    order[..count].iter().map(|rank| *rank as i32).collect()
}

fn split_by_group(turn: &mut Turn) {
    let ranks = some_ranks(turn);
    let collective = turn.chance.one_in(2);
    let group = turn.comm.group().include(&ranks);
    let inside = ranks.contains(&(turn.me as i32));
    let comm = match (collective, inside) {
        (true, _) => turn.comm.split_by_subgroup_collective(&group),
        // Only ranks of the group make this call.
        (false, true) => turn.comm.split_by_subgroup_with_tag(&group, turn.tag(0)),
        (false, false) => None,
    };
    made(turn, comm);
}

/// Formats the ranks of a communicator that are in a group, in the order of the group.
fn members(group: &UserGroup, comm: &SimpleCommunicator) -> String {
    let all: Vec<i32> = (0..group.size()).collect();
    let ranks = group.translate_ranks(&all, &comm.group());
    format!("{:?} {:?}", group.rank(), ranks)
}

fn groups(turn: &mut Turn) {
    let (first, second) = (some_ranks(turn), some_ranks(turn));
    let comm = turn.comm;
    let (a, b) = (comm.group().include(&first), comm.group().exclude(&second));
    for group in [
        &a,
        &b,
        &a.union(&b),
        &a.intersection(&b),
        &a.difference(&b),
        &b.union(&a),
    ] {
        turn.say(members(group, comm));
    }
    let relations: [GroupRelation; 4] = [
        a.compare(&b),
        a.compare(&a.union(&a)),
        a.compare(
            &comm
                .group()
                .include(&first.iter().rev().copied().collect::<Vec<_>>()),
        ),
        a.intersection(&b).compare(&SystemGroup::empty()),
    ];
    let translated: Vec<Option<i32>> = (0..comm.size())
        .map(|rank| comm.group().translate_rank(rank, &b))
        .collect();
    turn.say(format!("{relations:?} {translated:?}"));
}

fn cartesian(turn: &mut Turn) {
    let size = turn.size;
    let across = turn.chance.pick(&[1, 2, size]).min(size);
    let dims = [across as i32, (size / across) as i32];
    let periods = [turn.chance.one_in(2), turn.chance.one_in(2)];
    let retain = [[true, false], [false, true]][turn.chance.below(2)];
    let by = turn.chance.below(3) as i32 - 1;
    let Some(grid) = turn
        .comm
        .create_cartesian_communicator(&dims, &periods, false)
    else {
        turn.say("in no grid");
        return;
    };
    let layout = grid.get_layout();
    turn.say(format!(
        "{} of {} {:?} {:?} {:?}",
        grid.rank(),
        grid.num_dimensions(),
        layout.dims,
        layout.periods,
        layout.coords
    ));
    for rank in 0..grid.size() {
        turn.say(format!("{:?}", grid.rank_to_coordinates(rank)));
    }
    for dimension in 0..2 {
        turn.say(format!("{:?}", grid.shift(dimension, by)));
    }
    let row = grid.subgroup(&retain);
    let mut ranks = vec![0_i32; row.size() as usize];
    row.all_gather_into(&grid.rank(), &mut ranks[..]);
    turn.say(format!(
        "{} of {ranks:?} {:?}",
        row.rank(),
        row.get_layout().coords
    ));
}

/// Packs data, which the next rank unpacks.
fn packed(turn: &mut Turn) {
    let length = turn.chance.below(20);
    let numbers: Vec<i32> = turn.elements(turn.me, 0, length);
    let reals: Vec<f64> = turn.elements(turn.me, 1, length);
    let mut bytes = turn.comm.pack(&numbers[..]);
    let first = bytes.len();
    bytes.resize(first + 8 * length, 0);
    let end = turn
        .comm
        .pack_into(&reals[..], &mut bytes[..], first as i32);
    let (to, from) = (
        (turn.me + 1) % turn.size,
        (turn.me + turn.size - 1) % turn.size,
    );
    let (mut theirs, mut real) = (vec![0_i32; length], vec![0_f64; length]);
    let mut came = vec![0_u8; bytes.len()];
    mpi::point_to_point::send_receive_into(
        &bytes[..],
        &turn.comm.process_at_rank(to as i32),
        &mut came[..],
        &turn.comm.process_at_rank(from as i32),
    );
    // SAFETY: `came` contains packed elements of these types and lengths.
    unsafe {
        let at = turn.comm.unpack_into(&came[..], &mut theirs[..], 0);
        turn.comm.unpack_into(&came[..], &mut real[..], at);
    }
    turn.say(format!("{end} {theirs:?} {real:?}"));
}
