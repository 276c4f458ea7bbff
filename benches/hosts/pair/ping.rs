use crate::wiring::Ping;
use std::error::Error;
use std::time::{Duration, Instant, SystemTime};

/// Sends a token to pong and back. The arguments are the bytes of a token and the number of rounds.
/// Prints the nanoseconds of one way, after a tenth of the rounds as warm-up.
///
/// With a third argument, it sends tokens of 8 bytes after pauses of once to twice that many
/// milliseconds, and prints the median of the delays that pong reports.
pub async fn ping(mut p: Ping) -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next()?.parse::<usize>().ok();
    let bytes = number().ok_or("how many bytes?")?;
    let rounds = number().ok_or("how often?")?;
    let (mut start, trial) = (Instant::now(), rounds / 10);
    let gone = "nobody answers";
    if let Some(rest) = number() {
        let mut late = Vec::new();
        // Pauses are random, because otherwise each token would find pong at the same point of its
        // own pause.
        let (rest, mut chance) = (1000 * rest as u64, 1_u64);
        for _ in 0..rounds {
            // The linear congruential generator of Knuth's MMIX.
            chance = chance.wrapping_mul(6_364_136_223_846_793_005);
            chance = chance.wrapping_add(1_442_695_040_888_963_407);
            std::thread::sleep(Duration::from_micros(rest + (chance >> 33) % rest));
            p.small.write(now()).await.map_err(|_| gone)?;
            late.push(p.small_back.read().await.ok_or(gone)?);
        }
        late.sort();
        println!("late in the middle {}", late[rounds / 2]);
        return Ok(());
    }
    if bytes == 8 {
        for round in 0..trial + rounds {
            if round == trial {
                start = Instant::now();
            }
            p.small.write(round as u64).await.map_err(|_| gone)?;
            let back = p.small_back.read().await.ok_or(gone)?;
            assert_eq!(back, round as u64);
        }
    } else {
        drop(p.small);
        let mut block = vec![1; bytes];
        for round in 0..trial + rounds {
            if round == trial {
                start = Instant::now();
            }
            p.large.write(block).await.map_err(|_| gone)?;
            block = p.large_back.read().await.ok_or(gone)?;
        }
        assert_eq!(block.len(), bytes);
    }
    let took = start.elapsed().as_nanos() as f64;
    println!("one way {:.0}", took / (2 * rounds) as f64);
    Ok(())
}

/// Returns a time that is the same for all OS processes of a machine, in nanoseconds.
pub(crate) fn now() -> u64 {
    let since = SystemTime::UNIX_EPOCH.elapsed();
    since.map_or(0, |since| since.as_nanos() as u64)
}
