use crate::types::{Answer, Start};
use crate::wiring::Staff;
use graphmap_runtime::{State, Stopped};

/// Opens before all others, lets the helpers come, and answers until the end.
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
            // The clerk has enough. What is on its way to here is still answered.
            p.tasks.close();
        }
    }
    Ok(())
}
