//! Functions of the processes: one module for each kind.

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
    use graphmap_runtime::mpi::{self, Error};

    pub async fn worker(mut ports: Worker) -> Result<(), Error> {
        let mut squared = 0;
        while let Some(n) = ports.in_.read().await {
            if ports.out.write(n * n).await.is_err() {
                return Ok(());
            }
            squared += 1;
        }
        // Each module of the graph is a communicator.
        let team = mpi::of_module("team")?.expect("the drawing has it");
        let all = team.allreduce(squared, |a, b| a + b).await?;
        assert_eq!((team.size(), all), (4, 10));
        Ok(())
    }
}

pub mod sum {
    use crate::wiring::Sum;

    pub async fn sum(mut ports: Sum) {
        assert!(graphmap_runtime::modules().is_empty());
        let mut sum = 0;
        while let Some((_, n)) = ports.in_.read().await {
            sum += n;
        }
        println!("{sum}");
    }
}
