use crate::complex::Complex;
use crate::types::Sample;
use crate::wiring::Stage;
use graphmap_runtime::Stopped;

/// One stage of one row: joins the value of its own row with that of another.
///
/// Which stage it is, the wiring alone tells: the rows that meet differ in the bit of this stage.
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
