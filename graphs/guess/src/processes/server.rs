use crate::types::Answer;
use crate::wiring::Server;
use std::cmp::Ordering;
use std::error::Error;

/// State of a client.
#[derive(Clone, Default)]
struct Known {
    guesses: u32,
    found: bool,
    gone: bool,
}

/// Answers each guess until all clients have ended.
pub async fn server(mut p: Server) -> Result<(), Box<dyn Error>> {
    let limit = crate::limit()?;
    let mut clients = vec![Known::default(); p.guesses.members()];
    while let Some((client, guess)) = p.guesses.read_or_end().await {
        let known = &mut clients[client];
        let Some(guess) = guess else {
            known.gone = true;
            continue;
        };
        known.guesses += 1;
        let answer = match number(client, limit).cmp(&guess) {
            Ordering::Less => Answer::Smaller,
            Ordering::Greater => Answer::Larger,
            Ordering::Equal => Answer::Right,
        };
        known.found = answer == Answer::Right;
        p.answers.write_to(client, answer).await?;
    }
    for (client, known) in clients.iter().enumerate() {
        assert!(known.found && known.gone, "client {client} is not done");
        let number = number(client, limit);
        println!("client {client}: {number} in {} guesses", known.guesses);
    }
    let all: u32 = clients.iter().map(|known| known.guesses).sum();
    println!("{} numbers found in {all} guesses", clients.len());
    Ok(())
}

/// Returns the number that a client must guess. The golden ratio scatters these numbers below the
/// limit.
fn number(client: usize, limit: u64) -> u64 {
    let scattered = (client as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((u128::from(scattered) * u128::from(limit)) >> 64) as u64
}
