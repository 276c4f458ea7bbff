use crate::wiring::Sink;
use graphmap_runtime::Stopped;

/// Checks the order of its tokens. Reports when the first token has arrived, and the count at the
/// end.
pub async fn sink(mut p: Sink) -> Result<(), Stopped> {
    let mut count = 0;
    while let Some(number) = p.in_.read().await {
        assert_eq!(number, count);
        count += 1;
        if count == 1 {
            p.out.write(0).await?;
        }
    }
    p.out.write(count).await
}
