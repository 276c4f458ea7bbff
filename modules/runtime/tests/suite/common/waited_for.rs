//! Networks in which a process continues only when others have continued. It sees this by a file,
//! outside of all channels.
#![allow(clippy::print_stdout)]

use std::time::{Duration, Instant};

use super::BOTH;
use super::cases::{Outcome, Ports, pair};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

/// Returns a network of a pair, and a process beside the writer that computes until the token has
/// been read.
pub fn before() -> Network {
    let file = || std::env::var("GRAPHMAP_TEST_FILE").expect("a file");
    let write = |mut p: Ports| async move {
        // The reader sleeps by then, so it must be woken. While awake, it would find the token by
        // itself.
        std::thread::sleep(Duration::from_millis(300));
        p.outs[0].write(vec![1]).await?;
        // The process must not end yet, because all tokens are sent when it ends.
        p.outs[0].stopped().await;
        Ok(())
    };
    let mut net = pair(write, move |mut p| async move {
        p.ins[0].read().await;
        std::fs::write(file(), "it has come")?;
        Ok(())
    });
    let compute = move |()| async move {
        let start = std::time::Instant::now();
        while !std::path::Path::new(&file()).exists() {
            // This would never end if the token waited for this process.
            assert!(start.elapsed().as_secs() < 40, "nothing was read meanwhile");
            std::hint::spin_loop();
        }
    };
    net.kind("computer", Names::Listed(&["carol"]), "2", &[], compute);
    net
}

/// Returns a network in which a process has a large token to read. It computes until another
/// process has read a thousand small tokens of the same writer.
pub fn held_up() -> Network {
    let file = || std::env::var("GRAPHMAP_TEST_FILE").expect("a file");
    let write = |mut p: Ports| async move {
        p.outs[1].write(vec![1; 1 << 20]).await?;
        for n in 0..1000_u16 {
            p.outs[0].write(n.to_ne_bytes().to_vec()).await?;
        }
        Ok(())
    };
    let mut net = pair(write, move |mut p| async move {
        let mut read = 0;
        while p.ins[0].read().await.is_some() {
            read += 1;
        }
        std::fs::write(file(), format!("{read}"))?;
        Ok(())
    });
    let compute = move |mut p: Ports| async move {
        let start = Instant::now();
        while !std::path::Path::new(&file()).exists() {
            // This would never end if the small tokens waited for the large one to be read.
            assert!(start.elapsed().as_secs() < 40, "nothing was read meanwhile");
            std::hint::spin_loop();
        }
        let token = p.ins[0].read().await.map(|token| token.len());
        println!("read {}, then {token:?}", std::fs::read_to_string(file())?);
        Outcome::Ok(())
    };
    let to = net.kind("computer", Names::Listed(&["carol"]), "2", BOTH, compute);
    net.channels::<Vec<u8>>(Channels {
        line: "8",
        column: "3",
        ..Channels::new((rt::Kind::FIRST, 1), (to, 0), "0", "0")
    });
    net
}

/// Returns a network with a nested run that writes to the outside, and ends when its token has been
/// read.
pub fn around() -> Network {
    let file = || std::env::var("GRAPHMAP_TEST_FILE").expect("a file");
    let write = move |mut p: Ports| async move {
        // The reader sleeps by then.
        std::thread::sleep(Duration::from_millis(300));
        let mut inner = rt::Local::new();
        inner.spawn(async move {
            p.outs[0].write(vec![1]).await?;
            let start = std::time::Instant::now();
            while !std::path::Path::new(&file()).exists() {
                // This would never end if the token waited for the outer run.
                assert!(start.elapsed().as_secs() < 40, "nothing was read meanwhile");
                rt::yield_now().await;
            }
            Ok::<(), Stopped>(())
        });
        inner.run(&rt::Options::new())?;
        Ok(())
    };
    pair(write, move |mut p| async move {
        p.ins[0].read().await;
        std::fs::write(file(), "it has come")?;
        Ok(())
    })
}

/// Returns a network of two processes that each write more to the other than a byte ring can hold.
/// They then run a network of their own before they read.
pub fn full_rings() -> Network {
    const TOKENS: u32 = 200;
    let process = |mut p: Ports| async move {
        for _ in 0..TOKENS {
            assert!(p.outs[0].try_write(vec![1; 60_000]).is_ok());
        }
        let mut inner = rt::Local::new();
        inner.spawn(rt::yield_now());
        inner.run(&rt::Options::new())?;
        p.outs.clear();
        let mut read = 0;
        while p.ins[0].read().await.is_some() {
            read += 1;
        }
        println!("end {read}");
        Outcome::Ok(())
    };
    let mut net = Network::new("net", "net.dot");
    let both = net.kind("p", Names::Listed(&["alice", "bob"]), "0 1", BOTH, process);
    for (from, to) in [("0", "1"), ("1", "0")] {
        net.channels::<Vec<u8>>(Channels {
            capacity: TOKENS,
            ..Channels::new((both, 1), (both, 0), from, to)
        });
    }
    net.payload(rt::format_of!(Vec<u8>));
    net
}
