//! Counts the flaws of pictures of networks. See `run`.

mod check;
mod gallery;
mod geometry;
mod grid;
mod picture;
mod read;
#[cfg(test)]
mod tests;
#[allow(dead_code)]
#[path = "../../../modules/view/src/text.rs"]
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((first, files)) if first == "check" => files.iter().try_for_each(|file| print(file)),
        _ => gallery::Gallery::new().and_then(|mut gallery| match words.is_empty() {
            true => gallery.print(&gallery::TABLES.map(str::to_owned)),
            false => gallery.print(&words),
        }),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pictures: {why}");
            ExitCode::FAILURE
        }
    }
}

/// Prints the flaws of one picture.
fn print(file: &str) -> Result<(), String> {
    let svg = std::fs::read_to_string(file).map_err(|why| format!("{file}: {why}"))?;
    let picture = read::read(&svg).map_err(|why| format!("{file}: {why}"))?;
    let c = check::check(&picture);
    println!(
        "{file}: {} boxes, {} edges; {} edges through boxes, {} boxes over boxes, {} of {} labels over something, {} crossings, {:.2} wide to high{}{}",
        c.boxes,
        c.edges,
        c.through,
        c.over,
        c.labels,
        picture.labels.len(),
        gallery::crossings(&c),
        c.ratio,
        if gallery::others(&c).is_empty() {
            ""
        } else {
            ", "
        },
        gallery::others(&c)
    );
    Ok(())
}
