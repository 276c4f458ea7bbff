//! The pictures of each table, drawn by graphmap and by Graphviz, and their flaws.

use crate::check::{Counts, check};
use crate::read::read;
use bench_common::Random;
use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Names of the tables.
pub const TABLES: [&str; 5] = ["graphs", "unfolded", "folded", "random", "mapped"];

/// Networks of `skeletons/networks`, with the sizes for about 20, 200, 2,000, 100,000 and 1,000,000
/// processes.
const NETWORKS: [(&str, [&str; 5]); 10] = [
    (
        "mesh",
        [
            "rows=4 columns=5",
            "rows=10 columns=20",
            "rows=40 columns=50",
            "rows=250 columns=400",
            "rows=1000 columns=1000",
        ],
    ),
    (
        "torus",
        [
            "rows=4 columns=5",
            "rows=10 columns=20",
            "rows=40 columns=50",
            "rows=250 columns=400",
            "rows=1000 columns=1000",
        ],
    ),
    (
        "ring",
        [
            "members=20",
            "members=200",
            "members=2000",
            "members=100000",
            "members=1000000",
        ],
    ),
    (
        "pipeline",
        [
            "stages=20",
            "stages=200",
            "stages=2000",
            "stages=100000",
            "stages=1000000",
        ],
    ),
    (
        "tree",
        [
            "arity=4 depth=2",
            "depth=7",
            "depth=10",
            "depth=16",
            "depth=19",
        ],
    ),
    (
        "farm",
        [
            "workers=20",
            "workers=200",
            "workers=2000",
            "workers=100000",
            "workers=1000000",
        ],
    ),
    (
        "butterfly",
        ["order=3", "order=5", "order=8", "order=13", "order=16"],
    ),
    (
        "hypercube",
        [
            "dimension=4",
            "dimension=8",
            "dimension=11",
            "dimension=17",
            "dimension=19",
        ],
    ),
    (
        "map-reduce",
        [
            "mappers=16 reducers=4",
            "mappers=190 reducers=10",
            "mappers=1990 reducers=10",
            "mappers=99998 reducers=2",
            "mappers=999998 reducers=2",
        ],
    ),
    (
        "request-reply",
        [
            "clients=19",
            "clients=199",
            "clients=1999",
            "clients=99999",
            "clients=999999",
        ],
    ),
];

/// Names of the sizes in [`NETWORKS`].
const SIZES: [&str; 5] = ["20", "200", "2000", "100000", "1000000"];

/// Numbers of nodes and edges of random networks.
const RANDOM: [(usize, usize); 3] = [(100, 200), (1000, 2000), (10_000, 20_000)];

/// Networks whose mappings are drawn, and hosts for the first sizes in [`NETWORKS`].
const MAPPED: [&str; 4] = ["mesh", "farm", "butterfly", "tree"];
const HOSTS: [&str; 2] = ["hosts=2:sockets=2:cores=1", "hosts=4:sockets=2:cores=2"];

/// Options for Graphviz, so that its pictures can be compared: the direction and the shapes of
/// graphmap's.
const DOT: [&str; 6] = [
    "-Tsvg",
    "-Grankdir=LR",
    "-Nshape=box",
    "-Gfontname=Helvetica",
    "-Nfontname=Helvetica",
    "-Efontname=Helvetica",
];

pub struct Gallery {
    /// Folder of graphmap's sources.
    root: PathBuf,
    /// Folder for the pictures.
    out: PathBuf,
    graphmap: PathBuf,
    /// Time limit of Graphviz.
    patience: Duration,
    /// Pictures of graphmap, and those with a flaw that none may have.
    drawn: usize,
    flawed: usize,
}

/// A picture with its flaws.
struct Drawn {
    counts: Counts,
    seconds: f64,
}

/// Graphviz's picture.
enum Other {
    /// Not compared.
    None,
    /// Not finished within this number of seconds, or failed.
    Over(String),
    Drawn(Drawn),
}

impl Gallery {
    /// Returns a gallery with the settings of the environment.
    ///
    /// # Errors
    /// Returns an error if the folder for the pictures cannot be made.
    pub fn new() -> Result<Gallery, String> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
        let out = target
            .unwrap_or_else(|| root.join("target"))
            .join("pictures");
        fs::create_dir_all(out.join("dot")).map_err(|why| format!("{}: {why}", out.display()))?;
        let graphmap = std::env::var_os("GRAPHMAP").ok_or("GRAPHMAP is not set; use `run`")?;
        let patience = std::env::var("DOT").map_or(Ok(60), |text| text.parse());
        let patience = patience.map_err(|_| "DOT is not a number of seconds")?;
        Ok(Gallery {
            root,
            out,
            graphmap: graphmap.into(),
            patience: Duration::from_secs(patience),
            drawn: 0,
            flawed: 0,
        })
    }

    /// Prints the tables with these names.
    ///
    /// # Errors
    /// Returns an error if a file cannot be written, or if graphmap cannot be run.
    pub fn print(&mut self, tables: &[String]) -> Result<(), String> {
        println!(
            "Graphviz: edges through boxes / labels over anything / crossings / width to height / seconds.\n"
        );
        println!(
            "| picture | boxes | edges | through | over | labels | crossings | width : height | seconds | other flaws | Graphviz | with clusters |"
        );
        println!("|---|---|---|---|---|---|---|---|---|---|---|---|");
        for table in tables {
            match table.as_str() {
                "graphs" => self.graphs()?,
                "unfolded" => self.networks(&SIZES[..3], "processes")?,
                "folded" => self.networks(&SIZES, "")?,
                "random" => self.random()?,
                "mapped" => self.mapped()?,
                _ => {
                    return Err(format!(
                        "no table `{table}`; the tables are {}",
                        TABLES.join(", ")
                    ));
                }
            }
        }
        println!(
            "\n{} pictures in {}, {} with an edge through a box, or a box or label over something.",
            self.drawn,
            self.out.display(),
            self.flawed
        );
        Ok(())
    }

    fn graphs(&mut self) -> Result<(), String> {
        let folder = self.root.join("graphs");
        let entries = fs::read_dir(&folder).map_err(|why| why.to_string())?;
        let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        files.retain(|path| path.extension().is_some_and(|end| end == "dot"));
        files.sort();
        for file in files {
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            self.view(&stem, &file, &[], "processes", true)?;
            self.view(&format!("{stem}-nodes"), &file, &[], "nodes", false)?;
        }
        Ok(())
    }

    fn networks(&mut self, sizes: &[&str], detail: &str) -> Result<(), String> {
        for (network, definitions) in NETWORKS {
            for (size, definitions) in sizes.iter().zip(definitions) {
                let file = self.network(network);
                let definitions: Vec<&str> = definitions.split(' ').collect();
                let (name, unfolded) = match detail {
                    "" => (format!("{network}-{size}-folded"), false),
                    _ => (format!("{network}-{size}"), true),
                };
                self.view(&name, &file, &definitions, detail, unfolded)?;
            }
        }
        Ok(())
    }

    fn network(&self, name: &str) -> PathBuf {
        self.root.join(format!("skeletons/networks/{name}.dot"))
    }

    fn random(&mut self) -> Result<(), String> {
        for (nodes, edges) in RANDOM {
            let name = format!("random-{nodes}");
            let file = self.out.join(format!("{name}.dot"));
            write(&file, random(nodes, edges).as_bytes())?;
            self.view(&name, &file, &[], "processes", true)?;
        }
        Ok(())
    }

    fn mapped(&mut self) -> Result<(), String> {
        let networks = NETWORKS.iter().filter(|(name, _)| MAPPED.contains(name));
        for (network, definitions) in networks {
            for ((size, definitions), hosts) in SIZES.iter().zip(definitions).zip(HOSTS) {
                let name = format!("{network}-{size}-mapped");
                let picture = self.out.join(format!("{name}.svg"));
                let graph = self.out.join("dot").join(format!("{name}.dot"));
                let mut words = vec![self.network(network).display().to_string()];
                define(&mut words, &definitions.split(' ').collect::<Vec<_>>());
                let hosts = ["--hosts", hosts, "--imbalance", "20", "--emit"];
                words.extend(hosts.map(str::to_owned));
                let mut graph_words = words.clone();
                words.push(format!("svg={}", picture.display()));
                graph_words.push(format!("mapped={}", graph.display()));
                let drawn = self.draw(&name, &words, &picture)?;
                if drawn.is_none() {
                    self.row(&name, drawn, &Other::None, &Other::None);
                    continue;
                }
                self.graphmap(&graph_words)?;
                let text = fs::read_to_string(&graph).map_err(|why| why.to_string())?;
                let clusters = self.graphviz(&name, &text)?;
                self.row(&name, drawn, &Other::None, &clusters);
            }
        }
        Ok(())
    }

    /// Draws a network by graphmap, and if `compared` also by Graphviz.
    fn view(
        &mut self,
        name: &str,
        file: &Path,
        definitions: &[&str],
        detail: &str,
        compared: bool,
    ) -> Result<(), String> {
        let picture = self.out.join(format!("{name}.svg"));
        let file = file.display().to_string();
        let mut words = vec!["view".to_owned(), file.clone()];
        define(&mut words, definitions);
        words.extend(["-o".to_owned(), picture.display().to_string()]);
        if !detail.is_empty() {
            words.extend(["--detail".to_owned(), detail.to_owned()]);
        }
        let drawn = self.draw(name, &words, &picture)?;
        let (mut flat, mut clusters) = (Other::None, Other::None);
        if compared && drawn.is_some() && !self.patience.is_zero() {
            let mut words = vec!["expand".to_owned(), file];
            define(&mut words, definitions);
            let text = environment(&self.graphmap(&words)?);
            let without = text.replace("subgraph cluster_", "subgraph part_");
            let without = without.replace("subgraph \"cluster_", "subgraph \"part_");
            flat = self.graphviz(&format!("{name}-flat"), &without)?;
            if without != text {
                clusters = self.graphviz(&format!("{name}-clusters"), &text)?;
            }
        }
        self.row(name, drawn, &flat, &clusters);
        Ok(())
    }

    /// Runs graphmap, and counts the flaws of the picture that it writes. Returns `None` and prints
    /// why if graphmap does not write it.
    fn draw(
        &mut self,
        name: &str,
        words: &[String],
        picture: &Path,
    ) -> Result<Option<Drawn>, String> {
        // graphmap would not overwrite a picture with an old date, and an old picture must not be
        // taken for a new one.
        let _ = fs::remove_file(picture);
        let start = Instant::now();
        let done = self.graphmap(words);
        let seconds = start.elapsed().as_secs_f64();
        if let Err(why) = done {
            let why = why.lines().find(|line| line.starts_with("error"));
            eprintln!("{name}: {}", why.unwrap_or("graphmap failed"));
            return Ok(None);
        }
        let counts = counts(picture)?;
        self.drawn += 1;
        let flaws = [counts.over, counts.through, counts.labels];
        self.flawed += usize::from(flaws != [0; 3]);
        Ok(Some(Drawn { counts, seconds }))
    }

    /// Runs graphmap, and returns its output.
    fn graphmap(&self, words: &[String]) -> Result<String, String> {
        let output = Command::new(&self.graphmap).args(words).output();
        let output = output.map_err(|why| format!("{}: {why}", self.graphmap.display()))?;
        match output.status.success() {
            true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
            false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
        }
    }

    /// Draws a graph by Graphviz, or takes the picture of an earlier run with the same graph and
    /// time limit.
    fn graphviz(&self, name: &str, graph: &str) -> Result<Other, String> {
        if self.patience.is_zero() {
            return Ok(Other::None);
        }
        let file = |end: &str| self.out.join("dot").join(format!("{name}.{end}"));
        let (input, picture, time) = (file("gv"), file("svg"), file("seconds"));
        let key = format!("// {}\n{graph}", DOT.join(" "));
        let known = fs::read_to_string(&input).is_ok_and(|known| known == key);
        let earlier = fs::read_to_string(&time).ok().filter(|_| known);
        let limit = self.patience.as_secs();
        let over = format!("over {limit} s");
        let outcome = match earlier {
            Some(earlier) if !earlier.starts_with("over") || earlier == over => earlier,
            _ => {
                let _ = fs::remove_file(&time);
                write(&input, key.as_bytes())?;
                let seconds = self
                    .run_dot(&input, &picture)
                    .map_err(|why| format!("dot: {why}"))?;
                let outcome = match seconds {
                    Some(Ok(seconds)) => seconds.to_string(),
                    Some(Err(())) => "failed".to_owned(),
                    None => over,
                };
                write(&time, outcome.as_bytes())?;
                outcome
            }
        };
        match outcome.parse() {
            Ok(seconds) => {
                let counts = counts(&picture)?;
                Ok(Other::Drawn(Drawn { counts, seconds }))
            }
            Err(_) => Ok(Other::Over(outcome)),
        }
    }

    /// Runs Graphviz. Returns its duration in seconds, or an error if it failed, or `None` if it was
    /// ended because of the time limit.
    fn run_dot(&self, input: &Path, picture: &Path) -> io::Result<Option<Result<f64, ()>>> {
        let start = Instant::now();
        let mut command = Command::new("dot");
        let command = command.args(DOT).arg("-o").arg(picture).arg(input);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        loop {
            if let Some(status) = child.try_wait()? {
                let seconds = start.elapsed().as_secs_f64();
                return Ok(Some(if status.success() {
                    Ok(seconds)
                } else {
                    Err(())
                }));
            }
            if start.elapsed() > self.patience {
                child.kill()?;
                child.wait()?;
                return Ok(None);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    fn row(&self, name: &str, drawn: Option<Drawn>, flat: &Other, clusters: &Other) {
        let ours = match drawn {
            None => " | | | | | | | | failed".to_owned(),
            Some(Drawn { counts: c, seconds }) => format!(
                "{} | {} | {} | {} | {} | {} | {} | {} | {}",
                c.boxes,
                c.edges,
                c.through,
                c.over,
                c.labels,
                crossings(&c),
                ratio(c.ratio),
                time(seconds),
                others(&c)
            ),
        };
        println!("| {name} | {ours} | {} | {} |", cell(flat), cell(clusters));
        let _ = io::stdout().flush();
    }
}

fn define(words: &mut Vec<String>, definitions: &[&str]) {
    for definition in definitions {
        words.extend(["-D".to_owned(), (*definition).to_owned()]);
    }
}

fn write(path: &Path, content: &[u8]) -> Result<(), String> {
    fs::write(path, content).map_err(|why| format!("{}: {why}", path.display()))
}

fn counts(picture: &Path) -> Result<Counts, String> {
    let named = |why: String| format!("{}: {why}", picture.display());
    let svg = fs::read_to_string(picture).map_err(|why| named(why.to_string()))?;
    Ok(check(&read(&svg).map_err(named)?))
}

/// Returns the number of crossings of a picture.
pub fn crossings(c: &Counts) -> String {
    let over = if c.more { "over " } else { "" };
    format!("{over}{}", c.crossings)
}

fn ratio(ratio: f64) -> String {
    match ratio {
        wide if wide >= 1.0 => format!("{wide:.1}"),
        tall => format!("1/{:.1}", 1.0 / tall),
    }
}

fn time(seconds: f64) -> String {
    format!("{seconds:.2}")
}

/// Returns the flaws that rarely occur.
pub fn others(c: &Counts) -> String {
    let flaws = [
        (c.overlaps, "edges over edges"),
        (c.wide, "texts too wide"),
        (c.loose, "loose ends"),
        (c.outside, "outside"),
    ];
    let mut text = String::new();
    for (count, flaw) in flaws.into_iter().filter(|&(count, _)| count > 0) {
        let comma = if text.is_empty() { "" } else { ", " };
        let _ = write!(text, "{comma}{count} {flaw}");
    }
    text
}

fn cell(other: &Other) -> String {
    match other {
        Other::None => String::new(),
        Other::Over(why) => why.clone(),
        Other::Drawn(Drawn { counts: c, seconds }) => format!(
            "{} / {} / {} / {} / {}",
            c.through,
            c.labels,
            crossings(c),
            ratio(c.ratio),
            time(*seconds)
        ),
    }
}

/// Replaces the node `NULL` of an expanded graph by a point for each channel, as graphmap draws the
/// environment.
fn environment(graph: &str) -> String {
    let mut text = String::with_capacity(graph.len());
    let mut points = 0;
    for line in graph.lines() {
        let channel = line.trim_start();
        let point = format!("NULL_{points}");
        let replaced = match channel.split_once(" -> ") {
            Some(("NULL", rest)) => Some(format!("{point} -> {rest}")),
            Some((from, rest)) => rest
                .strip_prefix("NULL")
                .filter(|rest| rest.starts_with([' ', ';']))
                .map(|rest| format!("{from} -> {point}{rest}")),
            None => None,
        };
        match replaced {
            Some(channel) => {
                points += 1;
                let _ = writeln!(text, "    {point} [shape=point];\n    {channel}");
            }
            None => text.extend([line, "\n"]),
        }
    }
    text
}

/// Returns a random graph without loops and without two edges between the same nodes, always the
/// same for the same numbers. Each edge has ports of its own, and each node a
/// kind of its own.
fn random(nodes: usize, edges: usize) -> String {
    let mut text = "digraph random {\n".to_owned();
    for node in 1..=nodes {
        let _ = writeln!(text, "    n{node} [kind=k{node}];");
    }
    let mut random = Random(1);
    let mut known = HashSet::new();
    while known.len() < edges {
        let mut node = || random.below(nodes as u64) + 1;
        let (from, to) = (node(), node());
        if from != to && known.insert((from, to)) {
            let ports = known.len();
            let _ = writeln!(text, "    n{from} -> n{to} [src=o{ports} dst=i{ports}];");
        }
    }
    text += "}\n";
    text
}

#[cfg(test)]
mod tests {
    use super::{environment, random};

    #[test]
    fn each_channel_of_the_environment_has_a_point() {
        let graph = "digraph a {\n    NULL -> b [dst=x];\n    b -> NULL;\n    b -> NULLA;\n}\n";
        let points = environment(graph);
        assert!(points.contains("    NULL_0 -> b [dst=x];\n"), "{points}");
        assert!(
            points.contains("    b -> NULL_1;\n    b -> NULLA;\n"),
            "{points}"
        );
    }

    #[test]
    fn random_graphs_are_always_the_same() {
        assert_eq!(random(10, 20), random(10, 20));
        assert_eq!(random(10, 20).matches("->").count(), 20);
    }
}
