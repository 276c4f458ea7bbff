use crate::types::{Answer, Start};
use crate::wiring::Staff;
use graphmap_runtime::{State, Stopped};

/// Opens its channels first, starts the helpers, and answers numbers until the end.
pub async fn staff(mut p: Staff) -> Result<(), Stopped> {
    p.tasks.open().await;
    p.answers.open().await;
    p.start.write(Start).await?;
    while let Some(number) = p.tasks.read().await {
        let steps = crate::collatz(number);
        let shift = 1;
        p.answers
            .write(Answer {
                number,
                steps,
                shift,
            })
            .await?;
        if p.answers.state() == State::Closing {
            // The clerk has asked for the end. Numbers on their way are still answered.
            p.tasks.close();
        }
    }
    Ok(())
}
