//! Calls that block all ranks of a thread, and locks that a rank holds while it waits.

use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::thread::{self, JoinHandle, sleep as doze};
use std::time::Duration;

fn calls() {
    thread::sleep(Duration::from_secs(1)); //~ G0809
    doze(Duration::ZERO); //~ G0809
    std::thread::park(); //~ G0809
    let barrier = Arc::new(Barrier::new(2)); //~ G0809
    thread::scope(|scope| { //~ G0809
        scope.spawn(|| thread::sleep(Duration::ZERO));
    });
    libc::usleep(1); //~ G0809
}

fn methods(from: Receiver<u8>, thread: JoinHandle<()>, gate: &(Mutex<bool>, Condvar)) {
    let first = from.recv(); //~ G0809
    let second = from.recv_timeout(Duration::ZERO); //~ G0809
    thread.join().unwrap(); //~ G0809
    let mut open = gate.0.lock().unwrap();
    while !*open {
        open = gate.1.wait(open).unwrap(); //~ G0809
    }
    open = gate.1.wait_while(open, |open| !*open).unwrap(); //~ G0809
}

fn loops() {
    let (to, from) = mpsc::channel::<u8>();
    for one in from {} //~ G0809
    let (to, others) = crossbeam_channel::unbounded();
    for other in &others {} //~ G0809
    for other in others.iter() {} //~ G0809
    for other in others.try_iter() {}
    std::process::Command::new("gnuplot").status().unwrap(); //~ G0809
    std::io::stdin().read_line(&mut text).unwrap(); //~ G0809
}

/// Blocking in a separate thread does not block ranks.
fn threads() {
    let (to, from) = mpsc::channel();
    thread::spawn(move || {
        thread::sleep(Duration::ZERO);
        while let Ok(one) = from.recv() {}
    });
    thread::Builder::new().spawn(|| libc::sleep(1)).unwrap();
}

async fn none() {
    let path = Path::new("a").join("b");
    let text = ["a", "b"].join(" ");
    let one = receiver.recv().await;
    request.wait();
    let two = from.try_recv();
    crate::own::sleep(1);
}

fn locks(world: &SimpleCommunicator, table: &Mutex<Vec<u8>>) {
    let sum = table.lock().unwrap().iter().sum();
    world.all_reduce_into(&sum, &mut all, SystemOperation::sum());
    {
        let rows = table.lock().unwrap();
        let row = &rows[0];
        world.process_at_rank(1).send(row); //~ G0810
    }
    let rows = table.lock().unwrap();
    drop(rows);
    world.barrier();
    world.process_at_rank(1).send(&table.lock().unwrap()[..]); //~ G0810
    if let Some(last) = table.lock().unwrap().pop() {
        world.process_at_rank(1).receive_into(&mut last); //~ G0810
    }
    for round in 0..3 {
        let Ok(mut rows) = table.lock() else { return };
        if round > 0 {
            rows.push(world.any_process().receive::<u8>().0); //~ G0810
        }
    }
}
