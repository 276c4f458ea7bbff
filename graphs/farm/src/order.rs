//! Command-line arguments.

use std::error::Error;
use std::path::PathBuf;

/// Size of the picture, and the file to write it to.
pub struct Order {
    pub width: usize,
    pub height: usize,
    pub file: PathBuf,
}

impl Order {
    /// Reads `[WIDTH HEIGHT [FILE]]`.
    pub fn from_arguments(arguments: &[String]) -> Result<Order, Box<dyn Error>> {
        let side = |text: &str| match text.parse() {
            Ok(pixels @ 1..=20_000) => Ok(pixels),
            _ => Err(format!("`{text}` is no number of pixels from 1 to 20000")),
        };
        let (sides, file) = match arguments {
            [] => (["900", "600"], "mandelbrot.png"),
            [width, height] => ([width.as_str(), height], "mandelbrot.png"),
            [width, height, file] => ([width.as_str(), height], file.as_str()),
            _ => return Err("wanted: [WIDTH HEIGHT [FILE.png]]".into()),
        };
        Ok(Order {
            width: side(sides[0])?,
            height: side(sides[1])?,
            file: file.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(arguments: &[&str]) -> Result<Order, Box<dyn Error>> {
        let arguments: Vec<String> = arguments.iter().map(|a| (*a).to_owned()).collect();
        Order::from_arguments(&arguments)
    }

    #[test]
    fn sizes_are_checked() {
        assert_eq!(order(&["30", "20"]).unwrap().height, 20);
        for wrong in [
            &["0", "20"][..],
            &["30"],
            &["30", "x"],
            &["1", "1", "a", "b"],
        ] {
            assert!(order(wrong).is_err(), "{wrong:?}");
        }
    }
}
