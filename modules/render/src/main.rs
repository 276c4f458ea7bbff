//! `graphmap-render IN.svg -o OUT`: converts a picture to PNG or PDF.

use graphmap_render::{Error, Fonts, Format, render};
use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Converts pictures of graphmap from SVG to PNG and PDF

Usage: graphmap-render IN.svg -o OUT

Arguments:
  IN.svg  Picture; `-` is standard input

Options:
  -o, --output OUT    Output file; `-` is standard output. Its extension selects the format: .png
                      or .pdf
      --format NAME   Format: png or pdf [default: from the extension of OUT]
      --scale NUMBER  Factor of the size [default: 2 for PNG, 1 for PDF]
  -h, --help          Print help
  -V, --version       Print version

Exit status:
  0  success
  1  the input is not an SVG
  2  wrong usage, no font, or a file cannot be read or written
  5  the renderer failed
";

/// Scales that are accepted.
const SCALES: std::ops::RangeInclusive<f32> = 0.01..=100.0;

/// What is wrong, and advice.
struct Failure {
    code: u8,
    what: String,
    help: Option<String>,
}

impl Failure {
    fn usage(what: impl fmt::Display) -> Failure {
        Failure {
            code: 2,
            what: what.to_string(),
            help: Some(
                "`graphmap-render IN.svg -o OUT.png`; see `graphmap-render --help`".to_owned(),
            ),
        }
    }

    fn file(path: &Path, what: &str, why: &io::Error) -> Failure {
        Failure {
            code: 2,
            what: format!("`{}` cannot be {what}: {why}", path.display()),
            help: None,
        }
    }
}

struct Arguments {
    input: PathBuf,
    output: PathBuf,
    format: Format,
    scale: f32,
}

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let asked = |short: &str, long: &str| words.iter().any(|word| word == short || word == long);
    let done = if asked("-h", "--help") {
        print(HELP)
    } else if asked("-V", "--version") {
        print(concat!("graphmap-render ", env!("CARGO_PKG_VERSION"), "\n"))
    } else {
        arguments(words).and_then(|arguments| convert(&arguments))
    };
    let Err(failure) = done else {
        return ExitCode::SUCCESS;
    };
    report("error", &failure.what, failure.help.as_deref());
    ExitCode::from(failure.code)
}

/// Prints a message to standard error. Errors of writing are ignored, because there is nowhere to
/// report them.
fn report(severity: &str, what: &str, help: Option<&str>) {
    let help = help.map_or(String::new(), |help| format!("\n  = help: {help}"));
    let _ = writeln!(io::stderr(), "{severity}: {what}{help}");
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|why| Failure::file(Path::new("-"), "written", &why))
}

fn arguments(words: Vec<OsString>) -> Result<Arguments, Failure> {
    let (mut inputs, mut output, mut format, mut scale) = (Vec::new(), None, None, None);
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let option = word.to_str().unwrap_or_default().to_owned();
        let (name, joined) = match option.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name, Some(OsString::from(value))),
            _ => (option.as_str(), None),
        };
        if !option.starts_with('-') || option == "-" {
            inputs.push(PathBuf::from(word));
            continue;
        }
        let value = joined.or_else(|| words.next());
        let value = value.ok_or_else(|| Failure::usage(format_args!("`{name}` needs a value")));
        match name {
            "-o" | "--output" => output = Some(PathBuf::from(value?)),
            "--format" => format = Some(value?),
            "--scale" => scale = Some(value?),
            _ => return Err(Failure::usage(format_args!("unknown option `{name}`"))),
        }
    }
    let output = output.ok_or_else(|| Failure::usage("no output file"))?;
    let [input] = <[PathBuf; 1]>::try_from(inputs).map_err(|inputs| {
        Failure::usage(format_args!(
            "expected one input file, not {}",
            inputs.len()
        ))
    })?;
    let named = format.as_deref().or_else(|| output.extension());
    let format = named.and_then(|name| Format::named(name.to_str()?));
    let format = format.ok_or_else(|| {
        let name = named.unwrap_or_default().to_string_lossy();
        Failure {
            help: Some("the formats are png and pdf; `--format` selects one".to_owned()),
            ..Failure::usage(match name.as_ref() {
                "" => format!("no format for `{}`", output.display()),
                name => format!("unknown format `{name}`"),
            })
        }
    })?;
    let scale = match scale {
        None => format.scale(),
        Some(text) => {
            let number = text.to_str().and_then(|text| text.parse().ok());
            number
                .filter(|scale| SCALES.contains(scale))
                .ok_or_else(|| {
                    let (least, most) = (SCALES.start(), SCALES.end());
                    let text = text.to_string_lossy();
                    Failure::usage(format_args!(
                        "expected a scale from {least} to {most}, not `{text}`"
                    ))
                })?
        }
    };
    Ok(Arguments {
        input,
        output,
        format,
        scale,
    })
}

fn convert(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { input, output, .. } = arguments;
    let svg = read(input).map_err(|why| Failure::file(input, "read", &why))?;
    let fonts = Fonts::of_system();
    let rendered =
        render(&svg, arguments.format, arguments.scale, &fonts).map_err(|why| Failure {
            code: match why {
                Error::Input(_) => 1,
                Error::NoFont | Error::TooLarge { .. } => 2,
                Error::Failed(_) => 5,
            },
            what: format!("`{}`: {why}", input.display()),
            help: why.help().map(str::to_owned),
        })?;
    if let Some(family) = fonts.other_widths() {
        let what = format!("texts may be wider than their boxes, because the font is {family}");
        let help = "install a font with the widths of Helvetica, such as Liberation Sans";
        report("warning", &what, Some(help));
    }
    write(output, &rendered).map_err(|why| Failure::file(output, "written", &why))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    if path != Path::new("-") {
        return std::fs::read(path);
    }
    let mut text = Vec::new();
    io::stdin().read_to_end(&mut text)?;
    Ok(text)
}

/// Writes a file through a temporary file in the same folder, so that it is never incomplete. Writes
/// to a device or a pipe directly.
fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    if path == Path::new("-") {
        let mut out = io::stdout();
        out.write_all(content)?;
        return out.flush();
    }
    if std::fs::metadata(path).is_ok_and(|known| !known.is_file()) {
        return std::fs::write(path, content);
    }
    // A link stays a link.
    let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // The error would name the temporary file, of which the user knows nothing.
    let mut temporary = builder
        .tempfile_in(folder)
        .map_err(|why| io::Error::from(why.kind()))?;
    temporary.write_all(content)?;
    temporary.persist(&path)?;
    Ok(())
}
