//! The Mandelbrot set: the points `c` of the plane for which `z = z * z + c` stays near zero.

/// Number of steps after which a point counts as part of the set.
const STEPS: u32 = 500;

/// Returns the colours of row `y` of the picture, three bytes per pixel.
pub fn row(width: usize, height: usize, y: usize) -> Vec<u8> {
    // The picture is 3.2 wide; pixels are squares.
    let pixel = 3.2 / width as f64;
    let im = (height as f64 / 2.0 - y as f64 - 0.5) * pixel;
    (0..width)
        .flat_map(|x| {
            let re = (x as f64 + 0.5 - width as f64 / 2.0) * pixel - 0.7;
            colour(steps(re, im))
        })
        .collect()
}

/// Returns the number of steps until the point is more than 2 from zero, or [`STEPS`].
fn steps(re: f64, im: f64) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..STEPS {
        let (xx, yy) = (x * x, y * y);
        if xx + yy > 4.0 {
            return step;
        }
        y = 2.0 * x * y + im;
        x = xx - yy + re;
    }
    STEPS
}

/// Returns black for the set. Around it, colours run from blue over white to brown, and repeat.
fn colour(steps: u32) -> [u8; 3] {
    const RING: [[i32; 3]; 4] = [[10, 30, 110], [240, 245, 255], [255, 170, 40], [70, 25, 10]];
    const BETWEEN: usize = 12;
    if steps == STEPS {
        return [0, 0, 0];
    }
    let (at, part) = (steps as usize / BETWEEN, steps as usize % BETWEEN);
    let (from, to) = (RING[at % 4], RING[(at + 1) % 4]);
    std::array::from_fn(|i| (from[i] + (to[i] - from[i]) * part as i32 / BETWEEN as i32) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_in_the_set_and_the_rim_is_not() {
        assert_eq!(steps(0.0, 0.0), STEPS);
        assert_eq!(steps(-1.0, 0.0), STEPS);
        assert_eq!(steps(2.0, 2.0), 1);
    }

    #[test]
    fn the_picture_is_symmetric() {
        assert_eq!(row(30, 20, 3), row(30, 20, 16));
    }
}
