//! The networks in `graphs/`. Each is wired as its graph file says. Each gives the same result with
//! any number of schedulers, in several OS processes, and in any order of its processes.

use crate::common::Test;
use crate::common::networks::{CASES, Case};
use graphmap_testing::{Need, cases, skip};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Returns the root of the repository.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the folder of the programs. Builds all of them the first time.
fn programs() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let programs = Path::new(env!("CARGO_BIN_EXE_graphmap")).parent().unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo
            .args(["build", "--quiet", "--locked"])
            .current_dir(root());
        cargo.arg("--target-dir").arg(programs.parent().unwrap());
        if programs.ends_with("release") {
            cargo.arg("--release");
        }
        for case in CASES {
            cargo.args(["-p", case.name]);
        }
        assert!(
            cargo.status().unwrap().success(),
            "the networks do not build"
        );
        programs.to_owned()
    })
}

impl Case {
    fn of(name: &str) -> &'static Case {
        CASES.iter().find(|case| case.name == name).unwrap()
    }

    /// Runs the program in a folder, and returns the lines that it prints. `variables` are for the
    /// runtime.
    #[track_caller]
    fn run(&self, folder: &Path, variables: &[(&str, String)]) -> Vec<String> {
        let output = Command::new(programs().join(self.name))
            .args(self.args)
            .current_dir(folder)
            .envs(variables.iter().map(|(name, value)| (name, value)))
            .output()
            .unwrap();
        let stdout = String::from_utf8(output.stdout).unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        let all = format!("{} with {variables:?}\n{stdout}\n{stderr}", self.name);
        assert!(output.status.success(), "{all}");
        let lines: Vec<String> = stdout.lines().map(str::to_owned).collect();
        for line in self.lines {
            assert!(lines.iter().any(|l| l == line), "no line `{line}`: {all}");
        }
        lines
    }

    /// Returns the number of processes of the network, from its wiring.
    fn processes(&self) -> usize {
        let wiring = root().join(format!("graphs/{}/src/wiring.rs", self.name));
        let wiring = std::fs::read_to_string(wiring).unwrap();
        let rest = wiring.split("Processes: ").nth(1).unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    }

    /// Runs the program with 1, 2, 3 and 5 schedulers, in several OS processes, and in many orders
    /// of its processes. Returns the lines that each run prints.
    #[track_caller]
    fn result(&self) -> Vec<String> {
        let test = Test::new();
        let run = |variables: &[(&str, String)]| {
            let mut lines = self.run(test.folder(), variables);
            lines.retain(|line| !self.varies(line));
            lines
        };
        let first = run(&[]);
        for schedulers in [1, 2, 3, 5] {
            let found = run(&[("GRAPHMAP_OS_PROCESSES", schedulers.to_string())]);
            assert_eq!(found, first, "{} at {schedulers} schedulers", self.name);
        }
        // Several OS processes, and a mapping that separates neighbours.
        let mapping = test.folder().join("round-robin");
        for (os_processes, schedulers) in [(2, 1), (4, 1), (7, 1), (2, 2), (4, 2), (7, 2)] {
            let how = format!(
                "{} in {os_processes} OS processes of {schedulers} schedulers",
                self.name
            );
            let shared = [
                ("GRAPHMAP_OS_PROCESSES", os_processes.to_string()),
                ("GRAPHMAP_SCHEDULERS", schedulers.to_string()),
                ("GRAPHMAP_LINK", "shm".to_string()),
            ];
            assert_eq!(run(&shared), first, "{how}");
            let ranks = (0..self.processes()).map(|rank| (rank % os_processes).to_string());
            std::fs::write(&mapping, ranks.collect::<Vec<_>>().join(" ")).unwrap();
            let by = ("GRAPHMAP_MAPPING", mapping.display().to_string());
            let [n, schedulers, link] = shared;
            let found = run(&[n, schedulers, link, by]);
            assert_eq!(found, first, "{how}, dealt round");
        }
        for seed in 0..cases(10) {
            let found = run(&[("GRAPHMAP_SHUFFLE", seed.to_string())]);
            assert_eq!(found, first, "{} with seed {seed}", self.name);
        }
        first
    }
}

/// Returns the rest of the line that begins with a text.
#[track_caller]
fn after<'a>(lines: &'a [String], start: &str) -> &'a str {
    let found = lines.iter().find_map(|line| line.strip_prefix(start));
    found.unwrap_or_else(|| panic!("no line starts with `{start}`: {lines:#?}"))
}

/// Returns the FNV-1a hash, as the farm computes it.
fn checksum(bytes: &[u8]) -> String {
    let sum = bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    format!("{sum:016x}")
}

#[test]
fn the_farm_draws_the_same_picture_however_its_tasks_are_shared_out() {
    let lines = Case::of("farm").result();
    // The picture of the naive program below.
    assert_eq!(after(&lines, "checksum "), checksum(&mandelbrot(90, 60)));
}

#[test]
fn the_farm_writes_a_picture_and_gives_every_worker_its_share() {
    let test = Test::new();
    let lines = Case::of("farm").run(test.folder(), &[]);
    let file = std::fs::File::open(test.folder().join("picture.png")).unwrap();
    let mut reader = png::Decoder::new(std::io::BufReader::new(file))
        .read_info()
        .unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!(
        (info.width, info.height, info.color_type),
        (90, 60, png::ColorType::Rgb)
    );
    assert!(
        pixels == mandelbrot(90, 60),
        "the pixels are not those of the set"
    );
    let shares = after(&lines, "strips by worker: ").trim_matches(['[', ']']);
    let shares: Vec<usize> = shares.split(", ").map(|n| n.parse().unwrap()).collect();
    assert_eq!(shares.iter().sum::<usize>(), 8);
    assert!(
        shares.len() == 4 && shares.iter().all(|&n| n > 0),
        "{shares:?}"
    );
}

/// Returns the picture of the farm, computed without a network.
fn mandelbrot(width: usize, height: usize) -> Vec<u8> {
    let ring = [
        [10.0, 30.0, 110.0],
        [240.0, 245.0, 255.0],
        [255.0, 170.0, 40.0],
        [70.0, 25.0, 10.0],
    ];
    let mut pixels = Vec::new();
    for y in 0..height {
        for x in 0..width {
            let pixel = 3.2 / width as f64;
            let re = (x as f64 + 0.5 - width as f64 / 2.0) * pixel - 0.7;
            let im = (height as f64 / 2.0 - y as f64 - 0.5) * pixel;
            let (mut zr, mut zi, mut steps) = (0.0_f64, 0.0_f64, 0);
            while steps < 500 && zr * zr + zi * zi <= 4.0 {
                (zr, zi) = (zr * zr - zi * zi + re, 2.0 * zr * zi + im);
                steps += 1;
            }
            let (from, to) = (ring[steps / 12 % 4], ring[(steps / 12 + 1) % 4]);
            for i in 0..3 {
                let mixed: f64 = from[i] + ((to[i] - from[i]) * (steps % 12) as f64 / 12.0).trunc();
                pixels.push(if steps == 500 { 0 } else { mixed as u8 });
            }
        }
    }
    pixels
}

#[test]
fn the_tree_counts_all_ways_whoever_counts_them() {
    Case::of("tree").result();
}

#[test]
fn the_sieve_finds_the_primes_and_stops() {
    let lines = Case::of("sieve").result();
    let is_prime = |n: &usize| (2..*n).all(|d| !n.is_multiple_of(d));
    let expected: Vec<String> = (2..)
        .filter(is_prime)
        .take(100)
        .map(|n| n.to_string())
        .collect();
    let words = lines[..lines.len() - 1]
        .iter()
        .flat_map(|line| line.split_whitespace());
    assert_eq!(words.collect::<Vec<_>>(), expected);
}

#[test]
fn the_butterfly_gives_what_the_definition_gives() {
    let lines = Case::of("fft").result();
    let difference: f64 = after(&lines, "largest difference from the definition ")
        .parse()
        .unwrap();
    assert!(difference < 1e-12, "{difference}");
}

#[test]
fn the_server_answers_who_asks_until_all_are_gone() {
    let lines = Case::of("guess").result();
    let (mut all, mut clients) = (0, 0);
    for line in &lines[..lines.len() - 1] {
        let words: Vec<&str> = line.split_whitespace().collect();
        assert_eq!(words[..2], ["client", &format!("{clients}:")]);
        let number: u64 = words[2].parse().unwrap();
        // The guesses of a client that bisects 0..1000.
        let (mut least, mut end, mut guesses) = (0, 1000, 1);
        while least + (end - least) / 2 != number {
            match least + (end - least) / 2 {
                guess if number < guess => end = guess,
                guess => least = guess + 1,
            }
            guesses += 1;
        }
        assert_eq!(words[3..], ["in", &guesses.to_string(), "guesses"]);
        (all, clients) = (all + guesses, clients + 1);
    }
    assert_eq!(clients, 8);
    let sum = format!("8 numbers found in {all} guesses");
    assert_eq!(lines.last(), Some(&sum));
}

/// Checks both ends: the clerk asks for the end, as in figure 3.21 of (CM)2PI, and the foreman
/// closes, as in figure 3.20.
#[test]
fn the_crew_ends_from_either_side() {
    Case::of("crew").result();
    let to_the_last = Case {
        args: &["200", "150"],
        lines: &["none of 200 numbers takes more than 150 steps"],
        ..*Case::of("crew")
    };
    to_the_last.result();
}

#[test]
fn the_helpers_of_the_crew_come_back() {
    let test = Test::new();
    let lines = Case::of("crew").run(test.folder(), &[]);
    let shifts = after(&lines, "shifts: [").split(']').next().unwrap();
    let shifts: Vec<u32> = shifts.split(", ").map(|n| n.parse().unwrap()).collect();
    assert!(shifts.len() == 4 && shifts[0] == 1, "{shifts:?}");
    assert!(shifts[1..].iter().any(|&shift| shift > 1), "{shifts:?}");
}

#[test]
fn the_mesh_multiplies() {
    Case::of("matmul").result();
}

#[test]
fn the_grid_of_blocks_is_like_the_whole_plate() {
    Case::of("stencil").result();
}

/// Checks that the upper levels shorten the way. Without them, a search would follow half of the
/// links of the bottom.
#[test]
fn the_skip_list_answers_like_a_map_in_few_steps() {
    let lines = Case::of("skiplist").result();
    let steps = after(&lines, "2000 operations, ");
    let steps: f64 = steps.strip_suffix(" steps each").unwrap().parse().unwrap();
    assert!((2.0..20.0).contains(&steps), "{steps}");
}

#[test]
fn the_network_of_networks_sorts() {
    Case::of("sort").result();
}

/// Returns the names of the graph files in `graphs/`.
fn drawings() -> Vec<String> {
    let entries = std::fs::read_dir(root().join("graphs")).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    let names = paths.filter(|path| path.extension().is_some_and(|e| e == "dot"));
    let mut names: Vec<String> = names
        .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_graph_has_a_program_and_its_wiring_is_current() {
    let mut names = drawings();
    // The listing of the thesis has no program.
    names.retain(|name| name != "a3");
    assert_eq!(
        names,
        CASES.iter().map(|case| case.name).collect::<Vec<_>>()
    );
    for name in names {
        let wiring = format!("wiring=graphs/{name}/src/wiring.rs");
        let output = crate::common::graphmap()
            .args([&format!("graphs/{name}.dot"), "--emit", &wiring, "--check"])
            .current_dir(root())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "run `graphmap graphs/{name}.dot --emit {wiring}`:\n{stderr}"
        );
    }
}

#[test]
fn the_listing_of_the_thesis_is_sound_and_can_be_wired() {
    let listing = std::fs::read(root().join("graphs/a3.dot")).unwrap();
    let test = Test::new().file("a3.dot", listing).args("check a3.dot");
    let checked = test.run().status(0);
    checked.stderr_has("16 processes of 6 kinds, 24 channels");
    test.args("a3.dot --emit wiring=-")
        .run()
        .status(0)
        .stdout_has("pub struct InTask {")
        .stdout_has("pub inreq: rt::Select<types::Token>,");
}

/// Compares a picture of the book with a new one, or replaces it if `GRAPHMAP_TEST_UPDATE` is set.
fn compare_picture(name: &str, fresh: &str) {
    let picture = root().join(format!("docs/src/{name}.svg"));
    if std::env::var_os("GRAPHMAP_TEST_UPDATE").is_some() {
        std::fs::write(&picture, fresh).unwrap();
    }
    let known = std::fs::read_to_string(&picture).unwrap();
    let how = "GRAPHMAP_TEST_UPDATE=1 cargo test -p graphmap --test suite networks::";
    assert!(known == fresh, "{name}: write it anew: {how}");
}

#[test]
fn every_graph_has_its_picture_in_the_book() {
    let book = std::fs::read_to_string(root().join("docs/src/networks.md")).unwrap();
    for name in drawings() {
        assert!(
            book.contains(&format!("networks/{name}.svg")),
            "no picture of {name}"
        );
        compare_view(&format!("networks/{name}"), &format!("graphs/{name}.dot"));
    }
}

/// Compares a picture of the book with one that `graphmap view` draws of a file.
fn compare_view(name: &str, file: &str) {
    let output = crate::common::graphmap()
        .args(["view", "--svg", "--quiet"])
        .arg(root().join(file))
        .output()
        .unwrap();
    assert!(output.status.success(), "{name}");
    compare_picture(name, std::str::from_utf8(&output.stdout).unwrap());
}

#[test]
fn every_network_of_the_library_has_its_picture_in_the_book() {
    for name in crate::cli_sizes::library() {
        let page = std::fs::read_to_string(root().join(format!("docs/src/library/{name}.md")));
        assert!(page.unwrap().contains(&format!("({name}.svg)")), "{name}");
        compare_view(
            &format!("library/{name}"),
            &format!("skeletons/networks/{name}.dot"),
        );
    }
}

#[test]
fn graphviz_draws_every_graph_without_warnings() {
    if let Err(error) = Command::new("dot").arg("-V").output() {
        skip(Need::Graphviz, format!("dot does not start: {error}"));
        return;
    }
    for name in drawings() {
        let file = root().join(format!("graphs/{name}.dot"));
        let output = Command::new("dot").arg("-Tsvg").arg(file).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{name}: {said}");
    }
}

#[test]
fn the_picture_of_readme_shows_its_graph_mapped() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let graph = readme.split("```dot\n").nth(1).unwrap();
    let test = Test::new().file("farm.dot", graph.split("```").next().unwrap());
    let how = "graphmap farm.dot --hosts hosts=2:cores=2 --emit farm.svg";
    let words = readme.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(how));
    let test = test.args(how.strip_prefix("graphmap ").unwrap());
    test.run().status(0);
    compare_picture("networks/readme", &test.read("farm.svg"));
}
