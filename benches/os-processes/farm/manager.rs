use crate::types::{Strip, Task, compute};
use crate::wiring::Manager;
use graphmap_runtime as rt;
use std::error::Error;

/// Sends tasks through the farm. The arguments are the number of tasks and the rounds of each task.
/// With a third argument, computes the tasks itself. Prints the time to standard error.
pub async fn manager(p: Manager) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (tasks, rounds): (u64, u64) = (arguments[0].parse()?, arguments[1].parse()?);
    let mut results = Results::default();
    let start = std::time::Instant::now();
    if arguments.len() > 2 {
        (0..tasks).for_each(|_| results.add(compute(rounds)));
    } else {
        let (mut tasks_out, mut results_in) = (p.put_out, p.get_in);
        let put = async move {
            for _ in 0..tasks {
                tasks_out.write(Task { rounds }).await?;
            }
            Ok::<(), rt::Stopped>(())
        };
        let get = async {
            while let Some(Strip { value }) = results_in.read().await {
                results.add(value);
            }
        };
        rt::join(put, get)
            .await
            .0
            .map_err(|_| "nobody takes the tasks")?;
    }
    eprintln!("took {:.6} s", start.elapsed().as_secs_f64());
    println!("{} results, {:x}", results.count, results.bits);
    Ok(())
}

#[derive(Default)]
struct Results {
    count: u64,
    bits: u64,
}

impl Results {
    /// Adds a result. The sum does not depend on the order.
    fn add(&mut self, value: f64) {
        self.count += 1;
        self.bits = self.bits.wrapping_add(value.to_bits());
    }
}
