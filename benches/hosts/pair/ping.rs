use crate::wiring::Ping;
use std::error::Error;
use std::time::Instant;

/// Arguments: bytes of a token, and how often it goes there and back. Says how long one way takes, in nanoseconds, after a
/// tenth of them as a trial.
pub async fn ping(mut p: Ping) -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut number = || args.next()?.parse::<usize>().ok();
    let bytes = number().ok_or("how many bytes?")?;
    let rounds = number().ok_or("how often?")?;
    let (mut start, trial) = (Instant::now(), rounds / 10);
    let gone = "nobody answers";
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
