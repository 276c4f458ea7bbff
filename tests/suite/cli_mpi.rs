//! Selection of the MPI that a network is built for and started by, from installed programs and the
//! environment.

use crate::common::Test;

const SCRIPT: &str = "net/target/graphmap/hosts/mpiexec.sh";

/// Returns a project with the MPI link, in an environment without settings. No MPI needs to be
/// installed.
fn net() -> Test {
    let test = Test::new()
        .file("net.dot", "digraph net { a -> b [type=u64]; }")
        .args("new net --from net.dot --link mpi");
    test.run().status(0);
    // The default compiler.
    test.executable("mpicc.mpich", "#!/bin/sh\n")
}

/// Returns the script of a compiler whose `mpi.h` defines these macros.
fn compiler(macros: &str) -> String {
    format!("#!/bin/sh\ncase \"$*\" in *mpi.h*) printf '{macros}';; esac\n")
}

#[test]
fn the_compiler_that_the_environment_names_says_which_launcher() {
    for (macros, launcher, reads) in [
        (
            "#define A 1\\n#define OMPI_MAJOR_VERSION 5\\n",
            "openmpi",
            "mpiexec.openmpi",
        ),
        ("#define MPICH_VERSION \"4.3\"\\n", "mpich", "mpiexec.mpich"),
        (
            "#define MPICH_VERSION \"4\"\\n#define I_MPI_VERSION \"2021\"\\n",
            "intel",
            "${MPIEXEC:-mpiexec}",
        ),
    ] {
        // The name of the compiler does not matter.
        let test = net().executable("cc-of-mine", &compiler(macros));
        let test = test
            .env("MPICC", "cc-of-mine")
            .args("run net.dot --no-build --dry-run --link mpi -n 2");
        test.run()
            .status(0)
            .stderr_has(&format!("net/target/mpi-{launcher}-cc-of-mine/release/net"));
        assert!(test.read(SCRIPT).contains(reads), "{}", test.read(SCRIPT));
        let path = test.folder().join("bin/cc-of-mine").display().to_string();
        let test = test.env("MPICC", &path);
        test.run()
            .status(0)
            .stderr_has(&format!("net/target/mpi-{launcher}-"))
            .stderr_has("-bin-cc-of-mine/release/net");
        // The command line overrides the environment.
        let test =
            test.args("run net.dot --no-build --dry-run --link mpi -n 2 --set launcher=mpich");
        test.run()
            .status(0)
            .stderr_has("net/target/mpi-mpich/release/net");
        assert!(test.read(SCRIPT).contains("mpiexec.mpich"));
    }
    // A usual name has the usual folder. Without a name, no compiler is asked.
    for value in ["mpicc.openmpi", ""] {
        let macros = compiler("#define OMPI_MAJOR_VERSION 4\\n");
        let test = net().executable("mpicc.openmpi", &macros);
        let test = test
            .env("MPICC", value)
            .args("run net.dot --no-build --dry-run --link mpi -n 2");
        let launcher = if value.is_empty() { "mpich" } else { "openmpi" };
        test.run()
            .status(0)
            .stderr_has(&format!("net/target/mpi-{launcher}/release/net"));
    }
}

#[test]
fn a_compiler_without_an_mpi_is_reported_with_what_to_set() {
    for (value, why) in [
        ("nowhere", "it is not on PATH"),
        ("./nowhere", "it cannot be run: No such file"),
        (
            "plain",
            "its mpi.h defines none of I_MPI_VERSION, OMPI_MAJOR_VERSION, MPICH_VERSION",
        ),
    ] {
        let test = net()
            .executable("plain", &compiler("#define MPI_VERSION 3\\n"))
            .env("MPICC", value)
            .args("run net.dot --no-build --dry-run --link mpi -n 2");
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(&format!(
                "error[G0707]: the MPI of `MPICC={value}` is unknown\n"
            ))
            .stderr_has(&format!("= note: {why}"))
            .stderr_has(
                "= help: set MPICC to the compiler of an MPI, such as `mpicc.openmpi` or its path",
            )
            .stderr_has("`--set launcher=openmpi` uses the compiler of that MPI");
    }
}

/// Checks that the script permits more OS processes than cores, which Open MPI would refuse. With
/// hosts, the hostfile has a slot for each OS process. The script keeps values from the
/// environment.
#[test]
fn as_many_as_are_asked_for_start_on_this_host() {
    let lines = [
        "OMPI_MCA_rmaps_base_oversubscribe=${OMPI_MCA_rmaps_base_oversubscribe-1}\n",
        "PRTE_MCA_rmaps_default_mapping_policy=${PRTE_MCA_rmaps_default_mapping_policy-:oversubscribe}\n",
    ];
    for (more, is_set) in [("--link mpi -n 64", true), ("--hosts names=h1,h2", false)] {
        let test = net()
            .executable("mpicc.openmpi", "#!/bin/sh\n")
            .args(&format!(
                "run net.dot --no-build --dry-run {more} --set launcher=openmpi"
            ));
        test.run().status(0);
        let script = test.read(SCRIPT);
        for line in lines {
            assert_eq!(script.contains(line), is_set, "{more}: {script}");
        }
    }
}

/// Checks that the header identifies the MPI of `mpicc`, because any MPI may install this name.
#[test]
fn a_compiler_without_a_surname_says_which_launcher() {
    for (macros, set, launcher, reads) in [
        ("OMPI_MAJOR_VERSION 5", "", "openmpi", "mpiexec.openmpi"),
        ("MPICH_VERSION \"4\"", "", "mpich", "mpiexec.mpich"),
        ("I_MPI_VERSION \"2021\"", "", "intel", "${MPIEXEC:-mpiexec}"),
        ("MPI_VERSION 3", "", "mpich", "mpiexec.mpich"),
        ("OMPI_MAJOR_VERSION 5", "slurm", "slurm", "srun"),
        (
            "MPICH_VERSION \"4\"",
            "intel",
            "intel",
            "${MPIEXEC:-mpiexec}",
        ),
        ("MPI_VERSION 3", "openmpi", "openmpi", "mpiexec.openmpi"),
    ] {
        let test = alone(&compiler(&format!("#define {macros}\\n")));
        let set = match set {
            "" => String::new(),
            launcher => format!(" --set launcher={launcher}"),
        };
        let test = test.args(&format!(
            "run net.dot --no-build --dry-run --link mpi -n 2{set}"
        ));
        test.run()
            .status(0)
            .stderr_has(&format!("net/target/mpi-{launcher}/release/net"));
        let script = test.read(SCRIPT);
        assert!(script.contains(reads), "{macros}{set}: {script}");
    }
    for (asked, told, help) in [
        (
            "mpich",
            "error[G0707]: no MPI is installed that builds programs for the launcher `mpich`: `mpicc` belongs to `openmpi`\n",
            "= help: use that MPI with `--set launcher=openmpi`, or name the other compiler with MPICC=PROGRAM",
        ),
        (
            "mpch",
            "error[G0437]: there is no launcher `mpch`\n",
            "= help: did you mean `mpich`?",
        ),
    ] {
        let test = alone(&compiler("#define OMPI_MAJOR_VERSION 5\\n"));
        let asked = format!("run net.dot --no-build --link mpi -n 2 --set launcher={asked}");
        let test = test.args(&asked);
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(told)
            .stderr_has(help);
    }
}

/// Returns a project where this compiler, with the name `mpicc`, is the only one.
fn alone(compiler: &str) -> Test {
    let test = net().executable("mpicc", compiler);
    std::fs::remove_file(test.folder().join("bin/mpicc.mpich")).unwrap();
    // Tools that the scripts of the test need. No MPI is in the PATH.
    for tool in ["sh", "printf"] {
        let there = ["/usr/bin", "/bin"].map(|folder| std::path::Path::new(folder).join(tool));
        let there = there.iter().find(|path| path.exists()).unwrap();
        std::os::unix::fs::symlink(there, test.folder().join("bin").join(tool)).unwrap();
    }
    let bin = test.folder().join("bin").display().to_string();
    test.env("PATH", &bin)
}

/// Checks that a launcher that cannot start the program is reported before the build.
#[test]
fn the_launcher_of_another_mpi_is_reported_before_the_build() {
    let open = "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.3'\n";
    let hydra = "#!/bin/sh\necho 'HYDRA build details:'\n";
    for (name, says, named, set, told) in [
        (
            "mpiexec.other",
            open,
            "mpiexec.other",
            "mpich",
            "`MPIEXEC=mpiexec.other` is the launcher of another MPI\n  = note: it belongs to `openmpi`",
        ),
        (
            "mpirun",
            hydra,
            "mpirun",
            "openmpi",
            "`MPIEXEC=mpirun` is the launcher of another MPI\n  = note: it belongs to `mpich`",
        ),
        (
            "mpiexec.mpich",
            open,
            "",
            "mpich",
            "`mpiexec.mpich` is the launcher of another MPI",
        ),
        (
            "unused",
            "",
            "nowhere",
            "mpich",
            "the program cannot be started: the launcher `MPIEXEC=nowhere` names no program",
        ),
        (
            "unused",
            "",
            "/nowhere/mpiexec",
            "mpich",
            "the program cannot be started: the launcher `MPIEXEC=/nowhere/mpiexec` names no program",
        ),
    ] {
        let test = net()
            .executable("mpicc.openmpi", "#!/bin/sh\n")
            .executable(name, says)
            .env("MPIEXEC", named)
            .args(&format!("run net.dot --link mpi -n 2 --set launcher={set}"));
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(&format!("error[G0707]: {told}"));
    }
    let test = alone(&compiler("#define MPICH_VERSION \"4\"\\n"));
    let done = test.args("run net.dot --link mpi -n 2").run();
    done.status(2).stderr_has(
        "error[G0707]: the program cannot be started: the launcher `mpiexec.mpich` or `mpiexec` is not on PATH\n",
    );
}

/// Checks that such a host is reported before the start, because `mpiexec` of MPICH would never
/// end.
#[test]
fn a_host_without_an_address_is_reported_at_its_position() {
    // The domain `.invalid` does not exist (RFC 2606).
    let ssh = "#!/bin/sh
case $2 in
alias.invalid) echo hostname 127.0.0.1 ;;
behind.invalid) echo hostname behind.invalid; echo proxyjump gate ;;
*) echo hostname $2; echo proxycommand none ;;
esac
";
    let on = |hostfile: &str, launcher: &str| {
        let test = net()
            .executable("mpicc.openmpi", "#!/bin/sh\n")
            .executable("mpiexec.here", "#!/bin/sh\n")
            .executable("ssh", ssh)
            .file("hostfile", hostfile)
            // A build that ends at once.
            .executable("no-cargo", "#!/bin/sh\nexit 1\n")
            .env("CARGO", "no-cargo")
            .env("MPIEXEC", "mpiexec.here");
        test.args(&format!(
            "run net.dot --hosts hostfile --set launcher={launcher}"
        ))
    };
    for launcher in ["mpich", "openmpi"] {
        let test = on("# ours\n127.0.0.1\nndoe2.invalid\n", launcher);
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has("error[G0711]: the host `ndoe2.invalid` has no address: ")
            .stderr_has(" --> hostfile:3:1\n")
            .stderr_has("so that `ssh ndoe2.invalid true` works")
            .stderr_has("graphmap: 1 error and 1 warning\n");
    }
    let is_built = |test: Test| {
        let done = test.run().status(2);
        let told = done.stderr();
        assert!(!told.contains("G0711") && !told.contains("G0707"), "{told}");
    };
    // ssh knows these hosts by other names or routes.
    is_built(on("alias.invalid\nbehind.invalid\n", "mpich"));
    // The launcher does not use ssh.
    let nobody = "a.invalid\nb.invalid\n";
    is_built(on(nobody, "mpich").env("HYDRA_LAUNCHER", "rsh"));
    is_built(on(nobody, "mpich").env("SLURM_JOB_ID", "1"));
    let agent = "run net.dot --hosts hostfile --set agent=mine";
    is_built(on(nobody, "mpich").args(agent));
}
