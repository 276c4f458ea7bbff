use crate::types::Answer;
use crate::wiring::Helper;
use graphmap_runtime::{State, Stopped, yield_now};

/// How many numbers a shift is long.
const SHIFT: u64 = 5;

/// Comes for a shift, leaves, and comes back, as long as there is something to do.
pub async fn helper(mut p: Helper) -> Result<(), Stopped> {
    p.start.read().await;
    for shift in 1.. {
        // Who takes a number must be able to answer; and the clerk may have enough.
        if p.answers.open().await != State::Open || p.tasks.open().await == State::Closed {
            break;
        }
        let mut answered = 0;
        // After `close` as well, until nothing is on its way to here any more.
        while let Some(number) = p.tasks.read().await {
            let steps = crate::collatz(number);
            p.answers
                .write(Answer {
                    number,
                    steps,
                    shift,
                })
                .await?;
            answered += 1;
            if answered == SHIFT || p.answers.state() == State::Closing {
                p.tasks.close();
            }
        }
        p.answers.close();
        yield_now().await;
    }
    Ok(())
}
