//! Placements of a network as runs and as rank maps: the OS process, one of 64, of each of a
//! million processes.

use bench_common::Random;
use graphmap_rankmap::{Builder, Strategy};

#[allow(dead_code)]
#[path = "../../../modules/wiring/src/sequence.rs"]
mod sequence;

const PROCESSES: u32 = 1_000_000;
const PARTS: u32 = 64;

/// Prints the bytes of placements as a text of runs, as in wiring and discovery, and as a rank map
/// for each OS process. The rank maps are packed for space. Their size as text is six bits per
/// letter.
pub fn tables() {
    println!("\nWhere {PROCESSES} processes are, on {PARTS} OS processes: bytes.\n");
    println!("| placement | text of runs | rank maps | as text |");
    println!("|---|---:|---:|---:|");
    let mut random = Random(11);
    let mut moved: Vec<u32> = (0..PROCESSES)
        .map(|rank| rank / (PROCESSES / PARTS))
        .collect();
    for _ in 0..PROCESSES / 100 {
        moved[random.below(PROCESSES.into()) as usize] = random.below(PARTS.into()) as u32;
    }
    let of = |place: &dyn Fn(u32) -> u32| (0..PROCESSES).map(place).collect::<Vec<u32>>();
    let placements = [
        ("blocks", of(&|rank| rank / (PROCESSES / PARTS))),
        ("dealt one by one", of(&|rank| rank % PARTS)),
        (
            "tiles of a matrix of 1,000",
            of(&|rank| rank / 1000 / 125 * 8 + rank % 1000 / 125),
        ),
        (
            "bricks of a cube of 100",
            of(&|rank| rank / 10_000 / 25 * 16 + rank / 100 % 100 / 25 * 4 + rank % 100 / 25),
        ),
        ("blocks, one in a hundred moved", moved),
        (
            "at random",
            of(&|rank| {
                rank.wrapping_mul(0x9E37_79B9)
                    .rotate_left(13)
                    .wrapping_mul(0x85EB_CA6B)
                    >> 26
            }),
        ),
    ];
    for (name, place) in placements {
        let builder = Builder::new().strategy(Strategy::Space);
        let maps = (0..PARTS).map(|part| {
            let members = (0..PROCESSES).filter(|rank| place[*rank as usize] == part);
            builder.iter(members).expect("ascending").to_bytes().len()
        });
        let bytes: usize = maps.sum();
        let text = sequence::encode(&place).len();
        println!("| {name} | {text} | {bytes} | {} |", bytes.div_ceil(3) * 4);
    }
}
