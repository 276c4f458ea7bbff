use crate::wiring::Sieve;
use graphmap_runtime::Stopped;

/// Keeps the first number, which is a prime, and drops all multiples of it.
///
/// The last process of the chain has no process to write to. It ends as soon as it has its prime,
/// and that stops the others.
pub async fn sieve(mut p: Sieve) -> Result<(), Stopped> {
    let Some(prime) = p.in_.read().await else {
        return Ok(());
    };
    p.prime.write(prime).await?;
    if !p.out.is_connected() {
        return Ok(());
    }
    while let Some(number) = p.in_.read_for(&mut p.out).await {
        if number % prime != 0 {
            p.out.write(number).await?;
        }
    }
    Ok(())
}
