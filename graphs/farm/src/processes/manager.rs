use crate::order::Order;
use crate::types::{Strip, Task};
use crate::wiring::Manager;
use graphmap_runtime as rt;
use std::error::Error;
use std::path::Path;

/// Number of rows in a strip.
const ROWS: usize = 8;

/// Writes the strips of a picture as tasks, assembles the results, and saves the picture to a file.
///
/// Both nodes of this split process work at the same time. If it wrote all tasks before it read the
/// first result, the farm would fill up and deadlock.
pub async fn manager(p: Manager) -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let order = Order::from_arguments(&arguments)?;
    let (put, picture) = rt::join(put(p.put_out, &order), get(p.get_in, &order)).await;
    put.map_err(|_| "the farm takes no more tasks")?;
    if picture.missing() > 0 {
        return Err(format!("{} rows did not come back", picture.missing()).into());
    }
    picture.report();
    picture.write(&order.file)?;
    println!("wrote {}", order.file.display());
    Ok(())
}

async fn put(mut out: rt::Output<Task>, order: &Order) -> Result<(), rt::Stopped> {
    let &Order { width, height, .. } = order;
    for first in (0..height).step_by(ROWS) {
        let rows = first..height.min(first + ROWS);
        out.write(Task {
            width,
            height,
            rows,
        })
        .await?;
    }
    Ok(())
}

async fn get(mut results: rt::Input<Strip>, order: &Order) -> Picture {
    let mut picture = Picture::new(order);
    while let Some(strip) = results.read().await {
        picture.add(strip);
    }
    picture
}

struct Picture {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
    /// Number of rows that have come back.
    rows: usize,
    /// Number of strips that each worker has drawn.
    strips: Vec<usize>,
}

impl Picture {
    fn new(order: &Order) -> Picture {
        Picture {
            width: order.width,
            height: order.height,
            pixels: vec![0; 3 * order.width * order.height],
            rows: 0,
            strips: Vec::new(),
        }
    }

    /// Copies a strip into the picture. Strips arrive in any order, each with its position.
    fn add(&mut self, strip: Strip) {
        let row = 3 * self.width;
        self.pixels[strip.rows.start * row..strip.rows.end * row].copy_from_slice(&strip.pixels);
        self.rows += strip.rows.len();
        if self.strips.len() <= strip.worker {
            self.strips.resize(strip.worker + 1, 0);
        }
        self.strips[strip.worker] += 1;
    }

    fn missing(&self) -> usize {
        self.height - self.rows
    }

    /// Prints statistics, of which only the last line depends on the schedule.
    fn report(&self) {
        let strips: usize = self.strips.iter().sum();
        println!("{} x {} pixels in {strips} strips", self.width, self.height);
        println!("checksum {:016x}", checksum(&self.pixels));
        println!("strips by worker: {:?}", self.strips);
    }

    fn write(&self, file: &Path) -> Result<(), Box<dyn Error>> {
        let named = |error| format!("cannot write {}: {error}", file.display());
        let create = std::fs::File::create(file).map_err(|error| named(error.to_string()))?;
        let (width, height) = (self.width as u32, self.height as u32);
        let mut encoder = png::Encoder::new(std::io::BufWriter::new(create), width, height);
        encoder.set_color(png::ColorType::Rgb);
        let write = |encoder: png::Encoder<_>| {
            let mut writer = encoder.write_header()?;
            writer.write_image_data(&self.pixels)?;
            writer.finish()
        };
        write(encoder).map_err(|error| named(error.to_string()).into())
    }
}

/// Returns the FNV-1a hash of the bytes.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
