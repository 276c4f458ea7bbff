use crate::types::{Count, Request};
use crate::wiring::DoTask;
use graphmap_runtime as rt;

/// Requests boards, counts the ways to fill each, and writes the counts.
pub async fn do_task(mut p: DoTask) -> Result<(), rt::Stopped> {
    loop {
        p.outreq.write(Request).await?;
        let Some(board) = p.in_.read().await else {
            return Ok(());
        };
        let mut ways = 0;
        for next in board.next() {
            ways += next.ways();
            // Counting takes long. Meanwhile, the other processes can pass on tasks.
            rt::yield_now().await;
        }
        p.out.write(Count { tasks: 1, ways }).await?;
    }
}
