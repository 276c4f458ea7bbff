//! Two networks in one program: the farm and the prime sieve, included in one graph. Each is a
//! module with a communicator of its own. The program runs in threads, in OS processes that share
//! memory, and over MPI on two hosts, also with other sizes.

use crate::common::hosts::{built_for, is_there, on_first, prepare, said};
use graphmap_testing::{Hosts, Need, build_cheaply};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const BOTH: &str = "digraph both {
    farm [use=\"farm.dot\"];
    sieve [use=\"sieve.dot\", sizes=\"primes=40\"];
}
";

/// First statements of each process. They use the communicator of the module around the process.
const MEETS: &str = r#"    {
        use graphmap_runtime::mpi;
        let own = mpi::of_level(1).unwrap().unwrap();
        let me = graphmap_runtime::me();
        let names = own.allgather(me.name.to_string()).await.unwrap();
        assert_eq!(names[own.rank()], *me.name);
        let module = me.name.split('.').next().unwrap();
        assert!(names.iter().all(|name| name.split('.').next() == Some(module)));
        assert!(mpi::world().unwrap().size() > names.len());
        if own.rank() == 0 {
            let here: std::collections::BTreeSet<_> = graphmap_runtime::os_processes()
                .iter()
                .map(|one| one.host.clone())
                .collect();
            println!("{module} has {} ranks, {} hosts", names.len(), here.len());
        }
    }"#;

/// Project in a permanent folder, so that tests share builds.
struct Both {
    folder: PathBuf,
}

impl Both {
    /// Creates the project, for runs over an MPI if one is given.
    fn new(mpi: Option<&str>) -> Both {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = folder.join(format!("composed-{}", mpi.unwrap_or("local")));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let both = Both { folder };
        let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
        let sieve = read("graphs/sieve.dot")
            .replace("replicas=100", "replicas=\"primes\"")
            .replace("rankdir=LR;", "sizes=\"primes=100\";");
        for (name, text) in [
            ("farm", read("graphs/farm.dot")),
            ("sieve", sieve),
            ("both", BOTH.to_owned()),
        ] {
            fs::write(both.folder.join(format!("{name}.dot")), text).unwrap();
        }
        let runtime = root.join("modules/runtime").display().to_string();
        let link = if mpi.is_some() { " --link mpi" } else { "" };
        let new = format!("new both --from both.dot{link} --quiet --runtime");
        let mut command = crate::common::graphmap();
        command.current_dir(&both.folder).args(new.split(' '));
        let made = command.arg(&runtime).output().unwrap();
        assert!(made.status.success(), "{}", said(&made));
        both.write_functions(root);
        both.adapt_manifest();
        if let Some(mpi) = mpi {
            both.share_builds(mpi);
        }
        both
    }

    /// Copies the functions of both networks. Each begins with `MEETS`.
    fn write_functions(&self, root: &Path) {
        let source = self.folder.join("both/src");
        for name in ["farm", "sieve"] {
            let from = root.join("graphs").join(name).join("src");
            for entry in fs::read_dir(from.join("processes")).unwrap() {
                let path = entry.unwrap().path();
                if path.ends_with("mod.rs") {
                    continue;
                }
                let mut text = String::new();
                for line in fs::read_to_string(&path).unwrap().lines() {
                    text.extend([line, "\n"]);
                    if line.starts_with("pub async fn ") {
                        text.extend([MEETS, "\n"]);
                    }
                }
                let to = source.join("processes").join(path.file_name().unwrap());
                assert!(to.is_file(), "{to:?}");
                fs::write(to, text).unwrap();
            }
        }
        for name in ["mandelbrot.rs", "order.rs", "types.rs"] {
            let from = root.join("graphs/farm/src").join(name);
            fs::copy(from, source.join(name)).unwrap();
        }
        let main = source.join("main.rs");
        let text = fs::read_to_string(&main).unwrap();
        let modules = "mod mandelbrot;\nmod order;\nmod processes;\n";
        let changed = text.replacen("mod processes;\n", modules, 1);
        assert!(changed != text);
        fs::write(main, changed).unwrap();
    }

    /// Adds what the functions need to the manifest.
    fn adapt_manifest(&self) {
        let manifest = self.folder.join("both/Cargo.toml");
        let text = fs::read_to_string(&manifest).unwrap();
        let dependencies = "[dependencies]\n";
        let changed = text
            .replacen("\"derive\"", "\"derive\", \"mpi\"", 1)
            .replacen(dependencies, &format!("{dependencies}png = \"0.18\"\n"), 1);
        assert!(
            changed.contains("\"mpi\"") && changed.contains("png"),
            "{text}"
        );
        fs::write(manifest, changed).unwrap();
    }

    /// Builds for an MPI where other tests do, with the same versions of packages.
    fn share_builds(&self, mpi: &str) {
        let project = self.folder.join("both");
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let lock = root.join("modules/link-mpi/Cargo.lock");
        fs::copy(lock, project.join("Cargo.lock")).unwrap();
        let built = project.join(format!("target/mpi-{mpi}"));
        fs::create_dir_all(built.parent().unwrap()).unwrap();
        let shared = built_for(mpi);
        fs::create_dir_all(&shared).unwrap();
        std::os::unix::fs::symlink(&shared, &built).unwrap();
    }

    /// Runs `graphmap run`, or a command that runs it.
    fn run(&self, mut command: Command, args: &str) -> Output {
        build_cheaply(&mut command).current_dir(&self.folder);
        command.args(["run", "both.dot", "--dev", "--quiet"]);
        command.args(args.split_whitespace());
        command.args(["--", "90", "60", "picture.png"]);
        command.output().unwrap()
    }

    /// Checks the output of a run.
    fn check(&self, output: &Output, primes: usize, sum: usize, hosts: usize) {
        let text = said(output);
        assert!(output.status.success(), "{text}");
        let lines: BTreeSet<&str> = text.lines().collect();
        for line in [
            format!("farm has 21 ranks, {hosts} hosts"),
            format!("sieve has {} ranks, {hosts} hosts", primes + 2),
            format!("{primes} primes, their sum is {sum}"),
            "90 x 60 pixels in 8 strips".to_owned(),
        ] {
            assert!(lines.contains(line.as_str()), "no `{line}` in {text}");
        }
    }
}

fn run_on_hosts(mpi: &'static str, need: Need) {
    if !is_there(mpi, need) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::new(folder.path(), 2) else {
        return;
    };
    let both = Both::new(Some(mpi));
    let launcher = format!("--set launcher={mpi}");
    // Builds outside of the hosts, because Cargo may not be able to get packages on a host.
    fs::write(both.folder.join("hostfile"), "h1\nh2\n").unwrap();
    let build = format!("--hosts hostfile --no-run {launcher}");
    let output = both.run(crate::common::graphmap(), &build);
    assert!(output.status.success(), "{}", said(&output));
    let agent = hosts.agent().display().to_string();
    for (args, primes, sum) in [
        ("--strategy round-robin", 40, 3087),
        ("-D sieve.primes=100", 100, 24133),
    ] {
        let mut command = on_first(&hosts);
        prepare(&mut command);
        let before = hosts.sent();
        let args = format!("--hosts hostfile --set agent={agent} {launcher} {args}");
        let output = both.run(command, &args);
        both.check(&output, primes, sum, 2);
        assert!(hosts.sent() > before, "nothing went over the wire");
    }
}

#[test]
fn in_threads_and_over_shared_memory() {
    let both = Both::new(None);
    for (args, primes, sum) in [
        ("-n 1", 40, 3087),
        ("-n 3 --link shm --strategy round-robin", 40, 3087),
        ("-n 2 --link shm -D sieve.primes=7", 7, 58),
    ] {
        let output = both.run(crate::common::graphmap(), args);
        both.check(&output, primes, sum, 1);
    }
}

#[test]
fn over_mpich() {
    run_on_hosts("mpich", Need::Mpich);
}

#[test]
fn over_open_mpi() {
    run_on_hosts("openmpi", Need::OpenMpi);
}
