use crate::complex::Complex;
use crate::types::Sample;
use crate::wiring::Stage;
use graphmap_runtime::Stopped;

/// Combines the value of its own row with the value of another row, in one stage.
///
/// The stage follows from the wiring: the two rows differ in the bit of the stage.
pub async fn stage(mut p: Stage) -> Result<(), Stopped> {
    while let (Some(own), Some(other)) = (p.own.read().await, p.other.read().await) {
        p.out.write(butterfly(own, other)).await?;
    }
    Ok(())
}

fn butterfly(own: Sample, other: Sample) -> Sample {
    let distance = own.row ^ other.row;
    let turn = Complex::turn((own.row % distance) as f64 / (2 * distance) as f64);
    let value = if own.row < other.row {
        own.value + turn * other.value
    } else {
        other.value - turn * own.value
    };
    Sample {
        row: own.row,
        value,
    }
}
