//! What a program of Rosy's does at the end of a parallel loop: each rank has one element of an array, of whatever type, and all ranks
//! get the whole array. The library has no test of that.

use num_complex::Complex64;
use rosy_lib::taylor::init_taylor;
use rosy_lib::{RosyMPIContext, RosyValue, CD, DA};

use mpi::traits::CommunicatorCollectives;

fn main() -> anyhow::Result<()> {
    let context = RosyMPIContext::new()?;
    // Its tables are a static: those of the first rank of an OS process serve all.
    let _ = init_taylor(4, 3);
    let groups = f64::from(context.size);

    exchange(&context, groups, |rank| Ok(10.5 + f64::from(rank)))?;
    // Of different lengths; all send before they receive, so none may be longer than what MPICH sends without waiting.
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
    // Alone in its group, each keeps its own.
    exchange(&context, 1.0, |rank| Ok(f64::from(rank)))?;
    // These do not divide the ranks, and there is no such standard.
    for (standard, mut groups) in [(1, groups + 1.0), (2, groups)] {
        let error = context.coordinate(&mut vec![0.0], standard, &mut groups);
        println!("{} {:#}", context.rank, error.unwrap_err());
    }
    Ok(())
}

/// A polynomial of three variables that differs by rank.
fn map(rank: i32) -> anyhow::Result<DA> {
    let (x, y, z) = (DA::variable(1)?, DA::variable(2)?, DA::variable(3)?);
    let sum = ((&x * &y)? + (&z * f64::from(rank))?)?;
    (&sum * &(&x + 0.5)?)? + f64::from(rank)
}

/// Gives all ranks an array of which each knows one element, and prints what has come.
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
    // It receives from any source: a rank that is ahead must not be taken for the one that is awaited.
    context.world.barrier();
    Ok(())
}
