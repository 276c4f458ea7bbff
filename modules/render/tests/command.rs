//! The command, and the conversions.

use graphmap_render::{Error, Fonts, Format, render};
use resvg::tiny_skia::Pixmap;
use resvg::usvg::fontdb::Database;
use std::io::Write;
use std::process::{Command, Output, Stdio};

const PICTURE: &str = r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 200 100" width="200" height="100" font-family="Helvetica, Arial" font-size="20">
<rect width="100%" height="100%" fill="white"/>
<text x="20" y="60">worker</text>
</svg>
"##;

fn run(arguments: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_graphmap-render"));
    command.args(arguments);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // The command may end before it reads.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// Runs the command, and checks its exit code and that this text is in standard error.
fn fails(arguments: &[&str], input: &str, code: i32, text: &str) {
    let output = run(arguments, input);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    assert!(error.contains(text), "{error}");
    assert!(output.stdout.is_empty());
}

#[test]
fn a_png_has_the_scaled_size_and_its_text() {
    let folder = tempfile::tempdir().unwrap();
    let (input, output) = (folder.path().join("in.svg"), folder.path().join("out.PNG"));
    std::fs::write(&input, PICTURE).unwrap();
    let words = [
        input.to_str().unwrap(),
        "-o",
        output.to_str().unwrap(),
        "--scale",
        "3",
    ];
    let done = run(&words, "");
    assert!(done.status.success(), "{done:?}");
    let pixels = Pixmap::load_png(&output).unwrap();
    assert_eq!((pixels.width(), pixels.height()), (600, 300));
    let dark_in = |left: u32, right: u32| {
        let columns = (left..right).flat_map(|x| (0..300).map(move |y| (x, y)));
        columns
            .filter(|&(x, y)| pixels.pixel(x, y).unwrap().red() < 80)
            .count()
    };
    assert!(dark_in(60, 300) > 200);
    assert_eq!(dark_in(0, 55) + dark_in(330, 600), 0);
    // Only the picture and its source are there: no temporary file is left.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_pdf_has_one_page_with_text() {
    let done = run(&["-", "-o", "-", "--format=pdf"], PICTURE);
    assert!(done.status.success(), "{done:?}");
    assert!(done.stdout.starts_with(b"%PDF"));
    let text = String::from_utf8_lossy(&done.stdout);
    assert_eq!(text.matches("/Type /Page\n").count(), 1);
    assert!(text.contains("/MediaBox [0 0 150 75]"), "{text}");
    assert!(text.contains("/Type /Font"));
}

#[test]
fn a_long_page_fits_into_a_pdf() {
    let long = PICTURE
        .replace("200 100", "40000 100")
        .replace("\"200\"", "\"40000\"");
    let page = render(long.as_bytes(), Format::Pdf, 1.0, &Fonts::of_system()).unwrap();
    let text = String::from_utf8_lossy(&page);
    let (_, rest) = text.split_once("/MediaBox [0 0 ").unwrap();
    let width: f64 = rest.split(' ').next().unwrap().parse().unwrap();
    assert!((14300.0..=14400.0).contains(&width), "{width}");
}

#[test]
fn a_picture_of_graphviz_is_read() {
    let doctype = r#"<?xml version="1.0" encoding="UTF-8" standalone="no"?>
<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://www.w3.org/Graphics/SVG/1.1/DTD/svg11.dtd">
"#;
    let picture = format!("{doctype}{PICTURE}");
    assert!(render(picture.as_bytes(), Format::Png, 1.0, &Fonts::of_system()).is_ok());
}

#[test]
fn text_without_a_font_is_an_error() {
    let none = Fonts::of(Database::new());
    let outcome = render(PICTURE.as_bytes(), Format::Png, 1.0, &none);
    assert!(matches!(outcome, Err(Error::NoFont)));
    let rectangle = r#"<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><rect width="5" height="5"/></svg>"#;
    assert!(render(rectangle.as_bytes(), Format::Png, 1.0, &none).is_ok());
}

#[test]
fn a_picture_with_too_many_pixels_is_an_error() {
    let large = PICTURE
        .replace("\"200\"", "\"200000\"")
        .replace("\"100\"", "\"100000\"");
    let outcome = render(large.as_bytes(), Format::Png, 2.0, &Fonts::of_system());
    assert!(
        matches!(outcome, Err(Error::TooLarge { .. })),
        "{outcome:?}"
    );
}

#[test]
fn errors_name_what_is_wrong() {
    fails(
        &["-", "-o", "-", "--format", "png"],
        "digraph { a }",
        1,
        "`-`: not an SVG",
    );
    fails(&[], "", 2, "no output file");
    fails(&["-o", "x.png"], "", 2, "expected one input file, not 0");
    fails(
        &["a", "b", "-o", "x.png"],
        "",
        2,
        "expected one input file, not 2",
    );
    fails(&["-", "-o", "x.gif"], "", 2, "unknown format `gif`");
    fails(&["-", "-o", "-"], "", 2, "no format for `-`");
    fails(&["-", "-o"], "", 2, "`-o` needs a value");
    fails(&["-", "--colour", "x"], "", 2, "unknown option `--colour`");
    fails(
        &["-", "-o", "x.png", "--scale", "0"],
        "",
        2,
        "expected a scale from 0.01 to 100",
    );
    fails(
        &["-", "-o", "x.png", "--scale", "NaN"],
        "",
        2,
        "expected a scale",
    );
    fails(
        &["/nowhere/a.svg", "-o", "x.png"],
        "",
        2,
        "`/nowhere/a.svg` cannot be read",
    );
    fails(
        &["-", "-o", "/nowhere/x.png"],
        PICTURE,
        2,
        "`/nowhere/x.png` cannot be written: entity not found\n",
    );
}

#[test]
fn a_failed_run_keeps_the_old_file() {
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out.png");
    std::fs::write(&output, "old").unwrap();
    fails(
        &["-", "-o", output.to_str().unwrap()],
        "<svg",
        1,
        "not an SVG",
    );
    assert_eq!(std::fs::read(&output).unwrap(), b"old");
}
