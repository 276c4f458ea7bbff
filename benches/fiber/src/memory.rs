//! Memory of suspended fibers.

use std::fs;
use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Waker};

use bench_common::{resident, status};
use graphmap_fiber::{Options, Stacks, wait};

const COUNT: usize = 200_000;

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

pub(crate) fn report() {
    let stacks = Stacks::new(Options::new());
    let mut fibers = Vec::with_capacity(COUNT);
    let (before, tables, maps) = (resident(), status("VmPTE"), mappings());
    let mut context = Context::from_waker(Waker::noop());
    for number in 0..COUNT {
        let name = format_args!("rank {number} (worker)");
        let mut fiber = stacks.fiber(name, || wait(pending::<()>())).unwrap();
        assert!(Pin::new(&mut fiber).poll(&mut context).is_pending());
        fibers.push(fiber);
    }
    let counts = stacks.counts();
    let each = |now: f64, before: f64| (now - before) / COUNT as f64;
    let (live, protected) = (counts.live, counts.protected);
    println!("{live} stacks ({protected} by mprotect), all suspended");
    println!(
        "  reserved {:>8.0} B each",
        each(counts.reserved as f64, 0.0)
    );
    println!("  resident {:>8.0} B each", each(resident(), before));
    println!(
        "  page tables {:>5.0} B each",
        each(status("VmPTE"), tables)
    );
    println!("  handle {:>10} B", size_of_val(&fibers[0]));
    println!("  mappings {:>8} in all", mappings() - maps);
}
