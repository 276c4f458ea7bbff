use crate::mandelbrot;
use crate::types::{Request, Strip};
use crate::wiring::DoTask;
use graphmap_runtime as rt;

/// Requests strips, draws them, and writes the pixels.
pub async fn do_task(mut p: DoTask) -> Result<(), rt::Stopped> {
    let worker = rt::me().index;
    loop {
        p.outreq.write(Request).await?;
        let Some(task) = p.in_.read().await else {
            return Ok(());
        };
        let mut pixels = Vec::with_capacity(3 * task.width * task.rows.len());
        for y in task.rows.clone() {
            pixels.extend(mandelbrot::row(task.width, task.height, y));
            // Drawing takes long. Meanwhile, the other processes can pass on tasks.
            rt::yield_now().await;
        }
        let rows = task.rows;
        p.out
            .write(Strip {
                rows,
                pixels,
                worker,
            })
            .await?;
    }
}
