//! Steps that create communicators, and that log properties of these and of groups.

use mpi::topology::{Color, GroupRelation, SimpleCommunicator, SystemGroup, UserGroup};
use mpi::traits::*;

use super::program::Kind;
use super::step_context::StepContext;

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
fn made(context: &mut StepContext, made: Option<SimpleCommunicator>) {
    match &made {
        None => context.say("in none"),
        Some(comm) => {
            let mut members = vec![0_i32; comm.size() as usize];
            comm.all_gather_into(&(context.me as i32), &mut members[..]);
            let relation = context.comm.compare(comm);
            context.say(format!("{} of {members:?}, {relation:?}", comm.rank()));
        }
    }
    context.made = made;
}

fn duplicate(context: &mut StepContext) {
    let copy = context.comm.duplicate();
    let name = format!("copy {}", context.step.number);
    copy.set_name(&name);
    let got = copy.get_name();
    context.say(got);
    made(context, Some(copy));
}

fn split(context: &mut StepContext) {
    let colors: Vec<usize> = (0..context.size).map(|_| context.chance.below(3)).collect();
    let keys: Vec<i32> = (0..context.size)
        .map(|_| context.chance.below(3) as i32 - 1)
        .collect();
    let color = match (colors[context.me], context.chance.one_in(2)) {
        (2, true) => Color::undefined(),
        (color, _) => Color::with_value(color as i32),
    };
    let comm = match context.chance.one_in(3) {
        true => context.comm.split_by_color(color),
        // Ranks with equal keys keep their order.
        false => context
            .comm
            .split_by_color_with_key(color, keys[context.me]),
    };
    made(context, comm);
}

fn split_shared(context: &mut StepContext) {
    let sign = -(context.chance.below(2) as i32);
    let comm = context.comm.split_shared(sign * context.me as i32);
    // Its members depend on the placement of ranks, but their order does not.
    let mut members = vec![0_i32; comm.size() as usize];
    comm.all_gather_into(&(context.me as i32), &mut members[..]);
    let has_me = members[comm.rank() as usize] == context.me as i32;
    let ordered = match sign {
        0 => members.is_sorted(),
        _ => members.is_sorted_by(|one, next| one > next),
    };
    context.say(format!("{has_me} {ordered}"));
}

/// Draws some ranks in random order.
fn some_ranks(context: &mut StepContext) -> Vec<i32> {
    let order = context.chance.order(context.size);
    let count = context.chance.below(context.size + 1);
    order[..count].iter().map(|rank| *rank as i32).collect()
}

fn split_by_group(context: &mut StepContext) {
    let ranks = some_ranks(context);
    let collective = context.chance.one_in(2);
    let group = context.comm.group().include(&ranks);
    let inside = ranks.contains(&(context.me as i32));
    let comm = match (collective, inside) {
        (true, _) => context.comm.split_by_subgroup_collective(&group),
        // Only ranks of the group make this call.
        (false, true) => context
            .comm
            .split_by_subgroup_with_tag(&group, context.tag(0)),
        (false, false) => None,
    };
    made(context, comm);
}

/// Formats the ranks of a communicator that are in a group, in the order of the group.
fn members(group: &UserGroup, comm: &SimpleCommunicator) -> String {
    let all: Vec<i32> = (0..group.size()).collect();
    let ranks = group.translate_ranks(&all, &comm.group());
    format!("{:?} {:?}", group.rank(), ranks)
}

fn groups(context: &mut StepContext) {
    let (first, second) = (some_ranks(context), some_ranks(context));
    let comm = context.comm;
    let (a, b) = (comm.group().include(&first), comm.group().exclude(&second));
    for group in [
        &a,
        &b,
        &a.union(&b),
        &a.intersection(&b),
        &a.difference(&b),
        &b.union(&a),
    ] {
        context.say(members(group, comm));
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
    context.say(format!("{relations:?} {translated:?}"));
}

fn cartesian(context: &mut StepContext) {
    let size = context.size;
    let across = context.chance.pick(&[1, 2, size]).min(size);
    let dims = [across as i32, (size / across) as i32];
    let periods = [context.chance.one_in(2), context.chance.one_in(2)];
    let retain = [[true, false], [false, true]][context.chance.below(2)];
    let by = context.chance.below(3) as i32 - 1;
    let Some(grid) = context
        .comm
        .create_cartesian_communicator(&dims, &periods, false)
    else {
        context.say("in no grid");
        return;
    };
    let layout = grid.get_layout();
    context.say(format!(
        "{} of {} {:?} {:?} {:?}",
        grid.rank(),
        grid.num_dimensions(),
        layout.dims,
        layout.periods,
        layout.coords
    ));
    for rank in 0..grid.size() {
        context.say(format!("{:?}", grid.rank_to_coordinates(rank)));
    }
    for dimension in 0..2 {
        context.say(format!("{:?}", grid.shift(dimension, by)));
    }
    let row = grid.subgroup(&retain);
    let mut ranks = vec![0_i32; row.size() as usize];
    row.all_gather_into(&grid.rank(), &mut ranks[..]);
    context.say(format!(
        "{} of {ranks:?} {:?}",
        row.rank(),
        row.get_layout().coords
    ));
}

/// Packs data, which the next rank unpacks.
fn packed(context: &mut StepContext) {
    let length = context.chance.below(20);
    let numbers: Vec<i32> = context.elements(context.me, 0, length);
    let reals: Vec<f64> = context.elements(context.me, 1, length);
    let mut bytes = context.comm.pack(&numbers[..]);
    let first = bytes.len();
    bytes.resize(first + 8 * length, 0);
    let end = context
        .comm
        .pack_into(&reals[..], &mut bytes[..], first as i32);
    let (to, from) = (
        (context.me + 1) % context.size,
        (context.me + context.size - 1) % context.size,
    );
    let (mut theirs, mut real) = (vec![0_i32; length], vec![0_f64; length]);
    let mut came = vec![0_u8; bytes.len()];
    mpi::point_to_point::send_receive_into(
        &bytes[..],
        &context.comm.process_at_rank(to as i32),
        &mut came[..],
        &context.comm.process_at_rank(from as i32),
    );
    // SAFETY: `came` contains packed elements of these types and lengths.
    unsafe {
        let at = context.comm.unpack_into(&came[..], &mut theirs[..], 0);
        context.comm.unpack_into(&came[..], &mut real[..], at);
    }
    context.say(format!("{end} {theirs:?} {real:?}"));
}
