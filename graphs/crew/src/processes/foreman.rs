use crate::wiring::Foreman;
use graphmap_runtime::State;

/// Writes one number after the other, until all are written or the readers ask for the end.
pub async fn foreman(mut p: Foreman) -> Result<(), String> {
    for number in 1..=crate::numbers()? {
        if p.tasks.state() == State::Closing {
            break;
        }
        if p.tasks.write(number).await.is_err() {
            break;
        }
    }
    p.tasks.close();
    Ok(())
}
