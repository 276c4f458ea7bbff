use crate::queens::Board;
use crate::wiring::Manager;
use std::error::Error;

/// Writes every board with its first two rows filled, and reads the sum of the results.
pub async fn manager(p: Manager) -> Result<(), Box<dyn Error>> {
    let size = match std::env::args().nth(1) {
        None => 10,
        Some(text) => match text.parse() {
            Ok(size @ 2..=16) => size,
            _ => return Err(format!("`{text}` is no size of a board from 2 to 16").into()),
        },
    };
    let Manager {
        mut put_out,
        mut get_in,
    } = p;
    for board in Board::new(size).next().flat_map(Board::next) {
        let put = put_out.write(board).await;
        put.map_err(|_| "the tree takes no more tasks")?;
    }
    // No more tasks: the end of the stream passes down the tree, and the sums come up.
    drop(put_out);
    let sum = get_in.read().await.ok_or("no sum came back")?;
    println!("{} queens, {} tasks", size, sum.tasks);
    println!("{} ways", sum.ways);
    Ok(())
}
