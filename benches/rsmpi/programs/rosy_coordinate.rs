//! The exchange at the end of a parallel loop of a Rosy program. Each rank has one element of an
//! array of any type, and all ranks get the whole array. The library has no test of that.

use num_complex::Complex64;
use rosy_lib::taylor::init_taylor;
use rosy_lib::{RosyMPIContext, RosyValue, CD, DA};

use mpi::traits::CommunicatorCollectives;

fn main() -> anyhow::Result<()> {
    let context = RosyMPIContext::new()?;
    // The tables are a static: those of the first rank of an OS process are used by all.
    let _ = init_taylor(4, 3);
    let groups = f64::from(context.size);

    exchange(&context, groups, |rank| Ok(10.5 + f64::from(rank)))?;
    // Different lengths. All ranks send before they receive, so no message may exceed the eager
    // limit of MPICH.
    exchange(&context, groups, |rank| {
        Ok("x".repeat(1_000 * rank as usize))
    })?;
    exchange(&context, groups, |rank| Ok(vec![0.25; 7 * rank as usize]))?;
    exchange(&context, groups, map)?;
    exchange(&context, groups, |rank| {
        Ok(CD::from_da_parts(&map(rank)?, &map(rank + 1)?))
    })?;
    exchange(&context, groups, |rank| {
        Ok(match rank {
            0 => RosyValue::DA(map(rank)?),
            1 => RosyValue::ST("a text".to_string()),
            2 => RosyValue::Arr(vec![RosyValue::LO(true), RosyValue::VE(vec![1.5, -2.5])]),
            _ => RosyValue::CM(Complex64::new(1.0, f64::from(rank))),
        })
    })?;
    // Groups of one rank: each rank keeps its own element.
    exchange(&context, 1.0, |rank| Ok(f64::from(rank)))?;
    // Errors: the groups do not divide the ranks, and the standard does not exist.
    for (standard, mut groups) in [(1, groups + 1.0), (2, groups)] {
        let error = context.coordinate(&mut vec![0.0], standard, &mut groups);
        println!("{} {:#}", context.rank, error.unwrap_err());
    }
    Ok(())
}

/// Returns a polynomial of three variables that differs by rank.
fn map(rank: i32) -> anyhow::Result<DA> {
    let (x, y, z) = (DA::variable(1)?, DA::variable(2)?, DA::variable(3)?);
    let sum = ((&x * &y)? + (&z * f64::from(rank))?)?;
    (&sum * &(&x + 0.5)?)? + f64::from(rank)
}

/// Sends each rank's element to all ranks, and prints the whole array.
fn exchange<T>(
    context: &RosyMPIContext,
    mut groups: f64,
    own: impl Fn(i32) -> anyhow::Result<T>,
) -> anyhow::Result<()>
where
    T: bincode::Encode + bincode::Decode<()> + std::fmt::Debug + Default,
{
    let mut values = Vec::new();
    values.resize_with(groups as usize, T::default);
    let place = if groups == 1.0 {
        0
    } else {
        context.rank as usize
    };
    values[place] = own(context.rank)?;
    context.coordinate(&mut values, 1, &mut groups)?;
    for value in &values {
        let text = format!("{value:?}");
        let sum = text
            .bytes()
            .fold(0_u64, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte));
        println!("{} {} {sum} {:.200}", context.rank, text.len(), text);
    }
    // `coordinate` receives from any source. A message of the next exchange must not arrive in this
    // one.
    context.world.barrier();
    Ok(())
}
