use crate::types::{Token, worker};
use crate::wiring::Source;
use std::error::Error;

/// Writes each token on all three ways. The argument is the number of tokens.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().nth(1).ok_or("how many?")?.parse()?;
    let workers = p.dealt.members();
    let gone = |_| "nobody reads";
    for number in 0..count {
        p.copied.write(Token::new(number)).await.map_err(gone)?;
        let worker = worker(number, workers);
        p.dealt
            .write_to(worker, Token::new(number))
            .await
            .map_err(gone)?;
        p.shared.write(Token::new(number)).await.map_err(gone)?;
    }
    Ok(())
}
