use crate::types::Answer;
use crate::wiring::Helper;
use graphmap_runtime::{State, Stopped, yield_now};

/// Number of numbers in a shift.
const SHIFT: u64 = 5;

/// Works in shifts: opens its channels, answers numbers, and closes the channels again. Ends when
/// the network does.
pub async fn helper(mut p: Helper) -> Result<(), Stopped> {
    p.start.read().await;
    for shift in 1.. {
        // Opens `answers` first, because a helper that reads a number must be able to answer it.
        // The clerk may have asked for the end.
        if p.answers.open().await != State::Open || p.tasks.open().await == State::Closed {
            break;
        }
        let mut answered = 0;
        // Continues after `close`, until no number is on its way to this helper.
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
