//! What idle fibers hold.

use std::fs;
use std::future::{Future, pending};
use std::pin::Pin;
use std::task::{Context, Waker};

use graphmap_fiber::{Options, Stacks, wait};

const COUNT: usize = 200_000;

/// A value of `/proc/self/status`, in bytes.
fn status(name: &str) -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix(name)).unwrap();
    let value = line.trim().trim_end_matches(" kB").parse::<usize>();
    value.unwrap() * 1024
}

fn mappings() -> usize {
    fs::read_to_string("/proc/self/maps")
        .unwrap()
        .lines()
        .count()
}

pub(crate) fn report() {
    let stacks = Stacks::new(Options::new());
    let mut fibers = Vec::with_capacity(COUNT);
    let (resident, tables, maps) = (status("VmRSS:"), status("VmPTE:"), mappings());
    let mut context = Context::from_waker(Waker::noop());
    for number in 0..COUNT {
        let name = format_args!("rank {number} (worker)");
        let mut fiber = stacks.fiber(name, || wait(pending::<()>())).unwrap();
        assert!(Pin::new(&mut fiber).poll(&mut context).is_pending());
        fibers.push(fiber);
    }
    let counts = stacks.counts();
    let each = |now: usize, before: usize| (now - before) as f64 / COUNT as f64;
    let (live, protected) = (counts.live, counts.protected);
    println!("{live} stacks ({protected} by mprotect), all suspended");
    println!("  reserved {:>8.0} B each", each(counts.reserved, 0));
    println!(
        "  resident {:>8.0} B each",
        each(status("VmRSS:"), resident)
    );
    println!(
        "  page tables {:>5.0} B each",
        each(status("VmPTE:"), tables)
    );
    println!("  handle {:>10} B", size_of_val(&fibers[0]));
    println!("  mappings {:>8} in all", mappings() - maps);
}
