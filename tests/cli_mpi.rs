//! Which MPI a network is built for and started by, told from what is there and what the environment says.

#![cfg(unix)]

mod common;

use common::Test;

const SCRIPT: &str = "net/target/graphmap/hosts/mpiexec.sh";

/// A project with the MPI link, in an environment that says nothing; no MPI needs to be there.
fn net() -> Test {
    let test = Test::new()
        .file("net.dot", "digraph net { a -> b [type=u64]; }")
        .args("new net --from net.dot --link mpi");
    test.run().status(0);
    // What is looked for, if nothing is said.
    test.executable("mpicc.mpich", "#!/bin/sh\n")
}

/// A compiler whose `mpi.h` defines this, as an executable.
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
            "intel-configfile",
        ),
    ] {
        // Whatever it is called.
        let test = net().executable("cc-of-mine", &compiler(macros));
        let test = test
            .env("MPICC", "cc-of-mine")
            .args("run net.dot --no-build --print --link mpi -n 2");
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
        // What the command line says holds.
        let test = test.args("run net.dot --no-build --print --link mpi -n 2 --set launcher=mpich");
        test.run()
            .status(0)
            .stderr_has("net/target/mpi-mpich/release/net");
        assert!(test.read(SCRIPT).contains("mpiexec.mpich"));
    }
    // One of the usual names has the usual folder; where nothing is said, nothing is asked.
    for value in ["mpicc.openmpi", ""] {
        let macros = compiler("#define OMPI_MAJOR_VERSION 4\\n");
        let test = net().executable("mpicc.openmpi", &macros);
        let test = test
            .env("MPICC", value)
            .args("run net.dot --no-build --print --link mpi -n 2");
        let launcher = if value.is_empty() { "mpich" } else { "openmpi" };
        test.run()
            .status(0)
            .stderr_has(&format!("net/target/mpi-{launcher}/release/net"));
    }
}

#[test]
fn a_compiler_that_says_nothing_of_an_mpi_is_told_with_what_to_set() {
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
            .args("run net.dot --no-build --print --link mpi -n 2");
        test.run()
            .status(2)
            .stdout_is("")
            .stderr_has(&format!(
                "error[G0707]: `MPICC={value}` does not say for which MPI it compiles\n"
            ))
            .stderr_has(&format!("= note: {why}"))
            .stderr_has(
                "= help: set MPICC to the compiler of an MPI, such as `mpicc.openmpi` or its path",
            )
            .stderr_has("`--set launcher=openmpi` takes the compiler of that MPI");
    }
}

/// Open MPI would refuse more OS processes than there are cores; with hosts, its hostfile has a slot for each.
#[test]
fn as_many_as_are_asked_for_start_on_this_host() {
    let lines = [
        "OMPI_MCA_rmaps_base_oversubscribe=1\nexport ",
        "PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe\nexport ",
    ];
    for (more, env, is_told) in [
        ("--link mpi -n 64", "", true),
        ("--hosts names=h1,h2", "", false),
        // What somebody has said before holds.
        (
            "--link mpi -n 64",
            "PRTE_MCA_rmaps_default_mapping_policy",
            false,
        ),
    ] {
        let test = net()
            .executable("mpicc.openmpi", "#!/bin/sh\n")
            .args(&format!(
                "run net.dot --no-build --print {more} --set launcher=openmpi"
            ));
        let test = match env {
            "" => test,
            name => test.env(name, ":nooversubscribe"),
        };
        test.run().status(0);
        let script = test.read(SCRIPT);
        for line in lines {
            assert_eq!(script.contains(line), is_told, "{more} {env}: {script}");
        }
    }
}
