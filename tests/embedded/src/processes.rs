//! What the processes do: a module for each kind.

pub mod numbers {
    use crate::wiring::Numbers;

    pub async fn numbers(mut ports: Numbers) {
        for n in 1..=10 {
            if ports.out.write(n).await.is_err() {
                return;
            }
        }
    }
}

pub mod worker {
    use crate::wiring::Worker;

    pub async fn worker(mut ports: Worker) {
        while let Some(n) = ports.in_.read().await {
            if ports.out.write(n * n).await.is_err() {
                return;
            }
        }
    }
}

pub mod sum {
    use crate::wiring::Sum;

    pub async fn sum(mut ports: Sum) {
        let mut sum = 0;
        while let Some((_, n)) = ports.in_.read().await {
            sum += n;
        }
        println!("{sum}");
    }
}
