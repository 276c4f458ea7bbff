//! Two futures of one process at the same time.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

/// Goes on with both futures in turn until both are done: for a process that writes at one end of
/// a network and reads at the other, where neither may wait for the other.
///
/// ```
/// use graphmap_runtime::{Local, Options, join};
///
/// let mut net = Local::new();
/// let (mut there, mut input) = net.channel(1);
/// let (mut output, mut back) = net.channel(1);
/// net.spawn(async move {
///     while let Some(n) = input.read().await {
///         output.write(n * n).await?;
///     }
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// net.spawn(async move {
///     let put = async move {
///         for n in 1..=10 {
///             there.write(n).await?;
///         }
///         Ok::<(), graphmap_runtime::Stopped>(())
///     };
///     let get = async {
///         let mut sum = 0;
///         while let Some(square) = back.read().await {
///             sum += square;
///         }
///         sum
///     };
///     assert_eq!(join(put, get).await, (Ok(()), 385));
/// });
/// net.run(&Options::new()).unwrap();
/// ```
pub async fn join<A: Future, B: Future>(first: A, second: B) -> (A::Output, B::Output) {
    let (mut first, mut second) = (pin!(first), pin!(second));
    let (mut a, mut b) = (None, None);
    poll_fn(|context| {
        if a.is_none()
            && let Poll::Ready(output) = first.as_mut().poll(context)
        {
            a = Some(output);
        }
        if b.is_none()
            && let Poll::Ready(output) = second.as_mut().poll(context)
        {
            b = Some(output);
        }
        match (a.take(), b.take()) {
            (Some(a), Some(b)) => Poll::Ready((a, b)),
            // Not both yet: what is there is kept.
            (one, other) => {
                (a, b) = (one, other);
                Poll::Pending
            }
        }
    })
    .await
}
