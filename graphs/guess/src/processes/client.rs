use crate::types::Answer;
use crate::wiring::Client;
use std::error::Error;

/// Finds the number of this client by binary search, and ends.
pub async fn client(mut p: Client) -> Result<(), Box<dyn Error>> {
    let (mut least, mut end) = (0, crate::limit()?);
    loop {
        let guess = least + (end - least) / 2;
        p.guess.write(guess).await?;
        match p.answer.read().await.ok_or("the server is gone")? {
            Answer::Smaller => end = guess,
            Answer::Larger => least = guess + 1,
            Answer::Right => return Ok(()),
        }
    }
}
