//! Counts allocations on worlds of a thousand million ranks. Look-ups, comparisons, operations and
//! encoding must not expand a form into an array.
//!
//! There is a single test, because the counter is global to the program.

use graphmap_rankmap::{
    Axis, Builder, Cartesian, Choice, Comparison, Error, RankMap, Representation,
};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// More than any operation here needs, and a 60,000th of an array of the members.
const LITTLE: usize = 64 << 10;

/// Runs `act` and asserts that it allocated at most [`LITTLE`], including memory that was freed
/// again.
fn little<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let region = Region::new(ALLOCATOR);
    let done = act();
    let change = region.change();
    let bytes = change.bytes_allocated + change.bytes_reallocated.unsigned_abs();
    assert!(bytes < LITTLE, "{what}: {bytes} bytes");
    done
}

fn asked(what: &str, map: &RankMap) {
    little(what, || {
        let len = map.len();
        for k in 0..1000_u64 {
            let rank = (k.wrapping_mul(0x9E37_79B9_7F4A_7C15) % len) as u32;
            let world = map.select(rank).expect("there are so many");
            assert_eq!(map.rank(world), Some(rank), "{what}");
        }
        assert_eq!(
            map.iter()
                .take(1000)
                .filter(|world| map.contains(*world))
                .count() as u64,
            len.min(1000)
        );
    });
    let bytes = little(what, || map.to_bytes());
    assert!(bytes.len() < 1000, "{what}: {} bytes", bytes.len());
    let back = match little(what, || RankMap::from_bytes(&bytes)) {
        // Rejected, because validation would take seconds: see `RankMap::from_bytes`.
        Err(Error::Malformed("parts that cannot be told apart")) => {
            assert_eq!(map.representation(), Representation::Concatenation);
            map.clone()
        }
        back => back.expect("it was sent"),
    };
    little(what, || {
        assert_eq!(map.compare(&back), Comparison::Identical, "{what}")
    });
    assert!(map.bytes() < 2000, "{what}: {} bytes", map.bytes());
}

#[test]
fn a_world_of_a_thousand_million_is_never_written_out() {
    const N: u64 = 1_000_000_000;
    let world = RankMap::identity(N);
    let cube = Cartesian::new(&[1000, 1000, 1000]).unwrap();
    let dead: Vec<u32> = (0..20).map(|k| k * 49_999_999 + 7).collect();
    let make = |what: &str, act: &dyn Fn() -> RankMap| {
        let map = little(what, act);
        asked(what, &map);
        map
    };
    make("world", &|| world.clone());
    let even = make("even", &|| RankMap::range(0, 2, N / 2).unwrap());
    let thirds = make("thirds", &|| RankMap::range(1, 3, N / 3).unwrap());
    let down = make("down", &|| RankMap::range(N as u32 - 1, -1, N).unwrap());
    let row = make("row", &|| cube.section(&[Some(3), Some(5), None]).unwrap());
    let column = make("column", &|| {
        cube.section(&[None, Some(5), Some(9)]).unwrap()
    });
    let plane = make("plane", &|| cube.section(&[None, Some(5), None]).unwrap());
    let front = make("front", &|| cube.section(&[None, None, Some(9)]).unwrap());
    let window = make("window", &|| {
        cube.window(&[(100, 500), (200, 500), (300, 500)]).unwrap()
    });
    make("wrapped", &|| {
        cube.window(&[(900, 200), (900, 200), (900, 200)]).unwrap()
    });
    let transposed = make("transposed", &|| cube.reordered(&[2, 1, 0]).unwrap());
    make("shifted", &|| cube.shifted(&[1, -1, 10]).unwrap());
    let face = make("face", &|| {
        RankMap::hypercube_face(29, 0b1001, 0b1000).unwrap()
    });
    let dealt = make("dealt", &|| RankMap::block_cyclic(N, 7, 64, 3).unwrap());
    make("deal", &|| RankMap::block_cyclic_order(N, 8, 125).unwrap());
    make("tiles", &|| {
        RankMap::grid(
            5,
            &[
                Axis::line(1000, 900_000),
                Axis::line(500, 1000),
                Axis::line(700, 1),
            ],
        )
        .unwrap()
    });

    let alive = make("alive", &|| world.exclude(&dead).unwrap());
    make("alive twice", &|| alive.exclude(&dead).unwrap());
    make("some", &|| world.include(&dead).unwrap());
    make("odd", &|| world.difference(&even));
    make("even and thirds", &|| even.intersection(&thirds));
    make("even or thirds", &|| even.union(&thirds));
    make("even, not thirds", &|| even.difference(&thirds));
    make("thirds, then even", &|| thirds.union(&even));
    make("row and plane", &|| row.intersection(&plane));
    make("column and plane", &|| column.intersection(&plane));
    make("plane or row", &|| plane.union(&row));
    make("planes", &|| plane.union(&front));
    make("plane and front", &|| plane.intersection(&front));
    make("plane without front", &|| plane.difference(&front));
    make("window of the living", &|| window.intersection(&alive));
    make("living dealt", &|| {
        dealt.difference(&RankMap::from_slice(&dead).unwrap())
    });
    make("living, backwards", &|| down.intersection(&alive));
    make("turned and alive", &|| transposed.exclude(&dead).unwrap());
    make("living face", &|| face.exclude(&[5, 70_000_000]).unwrap());
    make("not in the plane", &|| world.difference(&plane));
    make("not in the window", &|| window.complement(N).unwrap());
    make("ranges", &|| {
        world
            .range_include(&[
                (5, 900_000_000, 3),
                (7, 800_000_000, 3),
                (900_000_001, 900_000_000, -1),
            ])
            .unwrap()
    });
    make("without ranges", &|| {
        let ranges = [(5, 300_000_000, 1), (400_000_000, 900_000_000, 1)];
        world.range_exclude(&ranges).unwrap()
    });
    make("every other of a transpose", &|| {
        transposed.compose(&even).unwrap()
    });
    make("a part of the living", &|| {
        alive
            .compose(&RankMap::range(1, 3, 300_000_000).unwrap())
            .unwrap()
    });
    make("set of a transpose", &|| transposed.to_set());
    make("rebuilt", &|| Builder::new().rebuild(&window).unwrap());

    // A smaller world, because it is walked through rank by rank.
    let large = RankMap::identity(10_000_000);
    for (what, colour) in [
        ("rows", (|rank| rank / 1_000_000) as fn(u32) -> u32),
        ("columns", |rank| rank % 20),
    ] {
        let choice = |rank| Choice {
            colour: Some(colour(rank)),
            key: i64::from(rank),
        };
        let parts = little(what, || large.split(choice).unwrap());
        assert!(
            parts
                .iter()
                .all(|(_, part)| part.bytes() == size_of::<RankMap>())
        );
    }

    // Keys that change the order, but have a simple order themselves.
    let large = RankMap::identity(1_000_000);
    for (what, key, second) in [
        (
            "backwards",
            (|rank| -i64::from(rank)) as fn(u32) -> i64,
            999_998,
        ),
        ("few keys", |rank| i64::from(rank % 10), 10),
        ("few runs", |rank| i64::from(rank % 100_000), 100_000),
    ] {
        let choice = |rank| Choice {
            colour: Some(7),
            key: key(rank),
        };
        let parts = little(what, || large.split(choice).unwrap());
        assert_eq!(parts[0].1.select(1), Some(second), "{what}");
        assert!(parts[0].1.bytes() < 500, "{what}");
    }

    let as_diagram = |map: &RankMap| {
        let builder = Builder::new().representation(Representation::DecisionDiagram);
        builder.rebuild(map).unwrap()
    };
    let halves = RankMap::hypercube_face(30, 1 << 25 | 1 << 20, 1 << 20).unwrap();
    let others = RankMap::hypercube_face(30, 1 << 27 | 1 << 22, 1 << 27).unwrap();
    let halves = make("face as a diagram", &|| as_diagram(&halves));
    let others = make("other face as a diagram", &|| as_diagram(&others));
    make("both faces", &|| halves.intersection(&others));
    make("one face, not the other", &|| halves.difference(&others));
    make("one face after the other", &|| halves.union(&others));

    members_that_have_no_pattern();

    let same = |a: &RankMap, b: &RankMap| little("comparing", || a.compare(b));
    assert_eq!(same(&world, &down), Comparison::Similar);
    assert_eq!(same(&world, &transposed), Comparison::Similar);
    assert_eq!(same(&transposed, &down), Comparison::Similar);
    assert_eq!(same(&even, &world), Comparison::Unequal);
    assert_eq!(
        same(&alive, &world.exclude(&dead).unwrap()),
        Comparison::Identical
    );
    assert_eq!(
        same(&alive, &world.exclude(&dead[1..]).unwrap()),
        Comparison::Unequal
    );
}

/// Asserts that groups without a closed form are built without an array of their members.
fn members_that_have_no_pattern() {
    const MEMBERS: u32 = 1_000_000;
    let gaps = |most: u32, seed: u32| {
        (0..MEMBERS).scan(0_u32, move |at, k| {
            let any = (k ^ seed).wrapping_mul(0x9E37_79B9).rotate_left(11);
            *at += 1 + (any.wrapping_mul(0x85EB_CA6B) >> 8) % most;
            Some(*at)
        })
    };
    let taken = |act: &mut dyn FnMut()| {
        let region = Region::new(ALLOCATOR);
        act();
        let change = region.change();
        change.bytes_allocated + change.bytes_reallocated.unsigned_abs()
    };
    let array = size_of::<u32>() * MEMBERS as usize;
    for (form, most) in [
        (Representation::EliasFano, 1000),
        (Representation::Bitmap, 3),
        (Representation::RunLengths, 3),
        (Representation::List, 1000),
    ] {
        let builder = Builder::new().representation(form);
        let made = |seed| builder.iter(gaps(most, seed)).unwrap();
        let (a, b, again) = (made(1), made(2), made(1));
        little("asking", || {
            for k in (0..MEMBERS).step_by(999) {
                assert_eq!(a.rank(a.select(k).unwrap()), Some(k));
            }
        });
        little("comparing", || {
            assert_eq!(a.compare(&again), Comparison::Identical);
            assert_eq!(a.compare(&b), Comparison::Unequal);
        });
        // Includes growth by doubling.
        let sent = taken(&mut || drop(a.to_bytes()));
        let bytes = a.to_bytes();
        let arrived = taken(&mut || drop(RankMap::from_bytes(&bytes).unwrap()));
        assert!(
            sent <= 4 * a.bytes() && arrived <= 4 * a.bytes(),
            "{form}: {sent}, {arrived}"
        );
        let both = taken(&mut || drop(a.intersection(&b)));
        let rest = taken(&mut || drop(b.difference(&a)));
        assert!(both < array && rest < array, "{form}: {both}, {rest}");
        // The union as a set, the members that the first set lacks, and half a byte a member for
        // the order of both.
        let union = taken(&mut || drop(a.union(&b)));
        let set = a.union(&b).to_set();
        let set = taken(&mut || drop(Builder::new().rebuild(&set).unwrap()));
        assert!(
            union < set + rest + MEMBERS as usize,
            "{form}: {union}, {set}, {rest}"
        );
    }
}
