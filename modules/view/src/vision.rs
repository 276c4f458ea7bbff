//! Simulates how colours look to people with colour-blindness.

use crate::colour::Colour;

/// A matrix for linear sRGB.
type Matrix = [[f64; 3]; 3];

/// Kinds of vision. The matrices are those of G. Machado, M. Oliveira and L. Fernandes, "A
/// Physiologically-based Model for Simulation of Color Vision Deficiency", 2009, for severity 1.
const VISION: [(&str, Matrix); 4] = [
    (
        "normal vision",
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    ),
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// Checks that colours differ by more than `least` for all kinds of vision: the distance in CIE
/// L\*a\*b\*, of which 2.3 is just noticeable.
#[track_caller]
pub(crate) fn check_that_all_differ(colours: &[Colour], least: f64) {
    for (name, matrix) in VISION {
        for (i, a) in colours.iter().enumerate() {
            for b in &colours[..i] {
                let [p, q] = [a, b].map(|colour| lab(seen(*colour, matrix)));
                let square: f64 = p.iter().zip(q).map(|(p, q)| (p - q) * (p - q)).sum();
                let difference = square.sqrt();
                assert!(
                    difference > least,
                    "{a} and {b} differ by {difference:.1} with {name}"
                );
            }
        }
    }
}

fn seen(colour: Colour, matrix: Matrix) -> [f64; 3] {
    let rgb = colour.linear();
    matrix.map(|row| {
        let sum: f64 = row.iter().zip(rgb).map(|(a, b)| a * b).sum();
        sum.clamp(0.0, 1.0)
    })
}

/// Returns the position in CIE L\*a\*b\* of linear red, green and blue.
fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let f = |t: f64| {
        if t > 0.008_856 {
            t.cbrt()
        } else {
            7.787 * t + 16.0 / 116.0
        }
    };
    let x = f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.950_47);
    let y = f(0.2126 * r + 0.7152 * g + 0.0722 * b);
    let z = f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.088_83);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}
