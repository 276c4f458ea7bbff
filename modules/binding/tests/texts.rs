//! Tests of the text of each file, word for word, and of refused input.

mod common;
use common::{launch, mapped, show};
use graphmap_binding::command::{Launcher, command};
use graphmap_binding::{Launch, emitters, fgmpi, intel, mpich, openmpi, slurm};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Files};
use graphmap_kpn::mapping::Mapped;
use std::collections::BTreeMap;
use std::path::Path;

const TITLE: &str = "# farm on 4 OS processes, mapped by test; written by graphmap\n";

fn three_hosts() -> Launch {
    launch(&[
        ("h3", &[0], 4),
        ("h3", &[1], 4),
        ("h1", &[0, 1], 3),
        ("h3", &[2, 4, 5], 3),
    ])
}

#[test]
fn mpich() {
    let launch = three_hosts();
    assert_eq!(
        mpich::hostfile(&launch).unwrap(),
        format!("{TITLE}h3:2\nh1:1\nh3:1\n")
    );
    assert_eq!(
        mpich::configfile(&launch, &mut Diagnostics::new()).unwrap(),
        format!(
            "{TITLE}-n 1 -env GRAPHMAP_PROCESSES 4 taskset -c 0 ./farm -v\n\
             -n 1 -env GRAPHMAP_PROCESSES 4 taskset -c 1 ./farm -v\n\
             -n 1 -env GRAPHMAP_PROCESSES 3 taskset -c 0-1 ./farm -v\n\
             -n 1 -env GRAPHMAP_PROCESSES 3 taskset -c 2,4-5 ./farm -v\n"
        )
    );
    let alike = common::launch(&[("a", &[], 2), ("b", &[], 2), ("b", &[], 1), ("b", &[1], 1)]);
    assert!(mpich::configfile(&alike, &mut Diagnostics::new()).unwrap().ends_with(
        "\n-n 2 -env GRAPHMAP_PROCESSES 2 ./farm -v\n-n 1 -env GRAPHMAP_PROCESSES 1 ./farm -v\n\
         -n 1 -env GRAPHMAP_PROCESSES 1 taskset -c 1 ./farm -v\n"
    ));
}

#[test]
fn open_mpi() {
    let launch = three_hosts();
    let mut out = Diagnostics::new();
    assert_eq!(
        openmpi::hostfile(&launch).unwrap(),
        format!("{TITLE}h3 slots=3\nh1 slots=1\n")
    );
    assert_eq!(
        openmpi::rankfile(&launch, &mut out).unwrap(),
        format!(
            "{TITLE}rank 0=h3 slot=0\nrank 1=h3 slot=1\nrank 2=h1 slot=0-1\nrank 3=h3 slot=2,4-5\n"
        )
    );
    assert_eq!(show(&out), Vec::<String>::new());
    assert_eq!(
        openmpi::appfile(&launch, &mut Diagnostics::new()).unwrap(),
        "-np 1 -host h3:3 -x GRAPHMAP_PROCESSES=4 taskset -c 0 ./farm -v\n\
         -np 1 -host h3:3 -x GRAPHMAP_PROCESSES=4 taskset -c 1 ./farm -v\n\
         -np 1 -host h1:1 -x GRAPHMAP_PROCESSES=3 taskset -c 0-1 ./farm -v\n\
         -np 1 -host h3:3 -x GRAPHMAP_PROCESSES=3 taskset -c 2,4-5 ./farm -v\n"
    );
    let unbound = common::launch(&[("a", &[], 1), ("b", &[], 1), ("a", &[], 1)]);
    let text = openmpi::rankfile(&unbound, &mut out).unwrap();
    assert!(
        text.ends_with("rank 0=a slot=0\nrank 1=b slot=0\nrank 2=a slot=1\n"),
        "{text}"
    );
    assert_eq!(
        show(&out),
        ["G0431 warning 3 OS processes are not bound to a core, but a rankfile binds all"]
    );
}

#[test]
fn intel() {
    let launch = three_hosts();
    assert_eq!(
        intel::machinefile(&launch).unwrap(),
        mpich::hostfile(&launch).unwrap()
    );
    assert_eq!(
        intel::configfile(&launch, &mut Diagnostics::new()).unwrap(),
        format!(
            "{TITLE}-n 1 -host h3 -env GRAPHMAP_PROCESSES 4 -env I_MPI_PIN off taskset -c 0 ./farm -v\n\
             -n 1 -host h3 -env GRAPHMAP_PROCESSES 4 -env I_MPI_PIN off taskset -c 1 ./farm -v\n\
             -n 1 -host h1 -env GRAPHMAP_PROCESSES 3 -env I_MPI_PIN off taskset -c 0-1 ./farm -v\n\
             -n 1 -host h3 -env GRAPHMAP_PROCESSES 3 -env I_MPI_PIN off taskset -c 2,4-5 ./farm -v\n"
        )
    );
    // OS processes that are not bound are left to the launcher.
    let unbound = common::launch(&[("a", &[], 1), ("a", &[], 1)]);
    assert!(
        intel::configfile(&unbound, &mut Diagnostics::new())
            .unwrap()
            .ends_with("\n-n 2 -host a -env GRAPHMAP_PROCESSES 1 ./farm -v\n")
    );
}

#[test]
fn slurm() {
    let mut launch = three_hosts();
    assert_eq!(
        slurm::multi_prog(&launch, &mut Diagnostics::new()).unwrap(),
        format!(
            "{TITLE}0-1 env GRAPHMAP_PROCESSES=4 ./farm -v\n\
             2-3 env GRAPHMAP_PROCESSES=3 ./farm -v\n"
        )
    );
    assert_eq!(slurm::hostfile(&launch).unwrap(), "h3\nh3\nh1\nh3\n");
    assert_eq!(slurm::cpu_bind(&launch), None);
    launch.args.push("50%".into());
    let refused = slurm::multi_prog(&launch, &mut Diagnostics::new()).unwrap_err();
    assert!(show(&refused)[0].starts_with("G0433 error a `%` cannot be written"));
    let alike = common::launch(&[("a", &[0], 1), ("b", &[0], 1), ("a", &[1], 1)]);
    assert_eq!(
        slurm::cpu_bind(&alike).as_deref(),
        Some("--cpu-bind=mask_cpu:0x1,0x2")
    );
    let no_machine = common::launch(&[("a", &[u32::MAX], 1)]);
    assert_eq!(slurm::cpu_bind(&no_machine), None);
}

#[test]
fn fg_mpi() {
    let launch = launch(&[("a", &[], 4), ("a", &[], 4), ("b", &[], 0), ("b", &[], 3)]);
    assert_eq!(
        fgmpi::sections(&launch),
        "-n 2 -nfg 4 ./farm -v : -n 1 -nfg 3 ./farm -v"
    );
    let mut out = Diagnostics::new();
    let made = command(&launch, Launcher::FgMpi, &mut out).unwrap();
    let (name, hosts) = &made.files[0];
    assert_eq!(
        (*name, hosts.lines().skip(1).collect::<Vec<_>>()),
        ("hostfile", vec!["a:2", "b:1"])
    );
    assert_eq!(
        show(&out),
        ["G0438 note 1 OS process has no processes; FG-MPI cannot start it"]
    );
}

#[test]
fn open_mpi_hands_on_what_is_set_but_its_own_parameters() {
    let mut launch = launch(&[("", &[], 1)]);
    let names = ["OMPI_MCA_btl", "NAME", "PRTE_MCA_plm"];
    launch.environment = names.map(|name| (name.to_owned(), "1".to_owned())).to_vec();
    let made = command(&launch, Launcher::OpenMpi, &mut Diagnostics::new()).unwrap();
    let line = made.script.lines().last().unwrap();
    let appfile = openmpi::appfile(&launch, &mut Diagnostics::new()).unwrap();
    assert!(line.contains(" -x NAME -x GRAPHMAP_START sh "), "{line}");
    assert!(appfile.contains(" -x NAME=1 ./"), "{appfile}");
    for name in names {
        let set = format!("{name}=1\nexport {name}\n");
        assert!(made.script.contains(&set), "{}", made.script);
        assert_eq!(appfile.contains(name), name == "NAME", "{appfile}");
        assert_eq!(line.contains(name), name == "NAME", "{line}");
    }
    // The value is too long for a line of an appfile.
    launch.environment = vec![("NAME".to_owned(), "1".repeat(33))];
    let appfile = openmpi::appfile(&launch, &mut Diagnostics::new()).unwrap();
    assert!(appfile.contains(" -x NAME ./"), "{appfile}");
    // The value needs quotes, which an appfile cannot have.
    launch.environment = vec![("NAME".to_owned(), "a b".to_owned())];
    let appfile = openmpi::appfile(&launch, &mut Diagnostics::new()).unwrap();
    assert!(appfile.contains(" -x NAME ./"), "{appfile}");
}

#[test]
fn each_file_that_starts_programs_sets_variables_or_warns() {
    let mut launch = launch(&[("h", &[], 1)]);
    let set = [("DATA", "/data/x-1.5"), ("WORDS", "a b"), ("PERCENT", "%t")];
    launch.environment = set.map(|(n, v)| (n.to_owned(), v.to_owned())).to_vec();
    type File = fn(&Launch, &mut Diagnostics) -> Result<String, Diagnostics>;
    let files: [(&str, &str, File); 4] = [
        ("a configfile", " -env DATA /data/x-1.5 ", mpich::configfile),
        ("a configfile", " -env DATA /data/x-1.5 ", intel::configfile),
        (
            "a --multi-prog file",
            " DATA=/data/x-1.5 ",
            slurm::multi_prog,
        ),
        ("an appfile", " -x DATA=/data/x-1.5 ", openmpi::appfile),
    ];
    for (file, data, write) in files {
        let mut out = Diagnostics::new();
        let text = write(&launch, &mut out).unwrap();
        assert!(text.contains(data), "{text}");
        let lost = ["WORDS", "PERCENT"].map(|name| {
            format!("G0433 warning the value of the variable `{name}` is not written into {file}")
        });
        assert_eq!(show(&out), lost, "{text}");
    }
}

#[test]
fn a_rankfile_with_several_ranks_on_a_core_is_a_warning() {
    let (zero, both): (&[u32], &[u32]) = (&[0], &[0, 1]);
    let launch = launch(&[
        ("a", zero, 1),
        ("b", zero, 1),
        ("a", both, 1),
        ("a", both, 1),
    ]);
    let mut out = Diagnostics::new();
    openmpi::rankfile(&launch, &mut out).unwrap();
    assert_eq!(
        show(&out),
        ["G0440 warning OS processes 0 and 2 are both bound to core 0 of `a`"]
    );
}

#[test]
fn the_command() {
    let script = |launch: &Launch, launcher| {
        let mut out = Diagnostics::new();
        let made = command(launch, launcher, &mut out).unwrap();
        let line = made.script.lines().last().unwrap().to_string();
        let files: Vec<_> = made.files.iter().map(|(name, _)| *name).collect();
        (line, files, show(&out))
    };
    let lost = vec!["G0432 warning the binding to cores is not in these files".to_string()];
    let bound = three_hosts();
    let start = "sh -c 'eval \"$GRAPHMAP_START\"'";
    for (launcher, words, has, lost) in [
        (
            Launcher::Mpich,
            format!("\"$@\" -f \"$here/hostfile\" -n 4 {start}"),
            &["hostfile", "agent.sh"][..],
            &[][..],
        ),
        // Each section has all slots of its host.
        (
            Launcher::OpenMpi,
            format!(
                "\"$@\" --hostfile \"$here/openmpi-hostfile\" --bind-to none \
                 -np 2 -host h3:3 -x GRAPHMAP_START {start} : -np 1 -host h1:1 -x GRAPHMAP_START {start} : \
                 -np 1 -host h3:3 -x GRAPHMAP_START {start}"
            ),
            &["openmpi-hostfile"],
            &[],
        ),
        (
            Launcher::Intel,
            format!(
                "\"$@\" -n 2 -host h3 -env I_MPI_PIN off {start} : -n 1 -host h1 -env I_MPI_PIN off {start} : \
                 -n 1 -host h3 -env I_MPI_PIN off {start}"
            ),
            &[],
            &[],
        ),
        (
            Launcher::Slurm,
            format!("\"$@\" --distribution=arbitrary -n 4 {start}"),
            &["slurm-hostfile"],
            &lost,
        ),
    ] {
        let (line, files, found) = script(&bound, launcher);
        assert!(line.ends_with(&words), "{line}");
        assert_eq!((&*files, &*found), (has, lost), "{launcher:?}");
    }

    let anywhere = launch(&[("", &[], 1), ("", &[], 1)]);
    for (name, launcher) in Launcher::ALL {
        let (line, files, found) = script(&anywhere, launcher);
        assert!(!line.contains("host"), "{name}: {line}");
        assert!(
            files.is_empty() && found.is_empty(),
            "{name}: {files:?} {found:?}"
        );
    }
    let wrong = Launcher::from_name("mpch").unwrap_err();
    assert_eq!(
        (wrong.message.as_str(), wrong.help[0].as_str()),
        ("there is no launcher `mpch`", "did you mean `mpich`?")
    );
}

/// MPICH 4.0.2 crashes at a configfile with a few more words. Open MPI 5 reads 1 KiB of a line.
#[test]
fn files_that_launchers_do_not_read_are_reported() {
    let many: Vec<(&str, &[u32], u32)> = (0..2)
        .flat_map(|_| [("a", &[0][..], 1), ("b", &[1][..], 1)])
        .collect();
    let mut launch = launch(&many);
    launch.args = vec!["x".to_owned(); 216];
    let mut out = Diagnostics::new();
    mpich::configfile(&launch, &mut out).unwrap();
    openmpi::appfile(&launch, &mut out).unwrap();
    assert_eq!(show(&out), Vec::<String>::new());
    launch.args = vec!["xxxx".to_owned(); 217];
    mpich::configfile(&launch, &mut out).unwrap();
    openmpi::appfile(&launch, &mut out).unwrap();
    assert_eq!(
        show(&out),
        [
            "G0441 warning the configfile has 904 words, but mpiexec of MPICH 4.0 crashes at more than 900",
            "G0441 warning a line of the appfile has 1144 bytes, which is too long for Open MPI 5",
        ]
    );
    // The only limit of a script is the limit of the system.
    for (_, launcher) in Launcher::ALL {
        let mut out = Diagnostics::new();
        command(&launch, launcher, &mut out).unwrap();
        assert!(!show(&out).join(" ").contains("G0441"), "{launcher:?}");
    }
    launch.args = vec!["x".repeat(131_000)];
    let refused = command(&launch, Launcher::Mpich, &mut Diagnostics::new()).unwrap_err();
    let message = &show(&refused)[0];
    assert!(
        message.starts_with("G0441 error the line that starts the program has 131"),
        "{message}"
    );
}

#[test]
fn a_program_that_is_an_option_is_refused() {
    let one = mapped(PAIR, &[0, 0], &[(None, &[])]);
    for (program, why) in [
        (
            "-x",
            "launchers treat a word that begins with `-` as an option",
        ),
        ("", "it is empty"),
    ] {
        let (_, found) = emit(&one, "mpiexec", "x", &[("program", program)]);
        let message = format!("G0433 error `program={program}` cannot be started: {why}");
        assert_eq!(found, [message]);
    }
}

#[test]
fn values_that_files_cannot_contain_are_errors() {
    let refused = |text: Result<String, Diagnostics>| show(&text.unwrap_err()).join("\n");
    let anywhere = launch(&[("", &[], 1)]);
    assert_eq!(
        refused(mpich::hostfile(&anywhere)),
        "G0430 error the mapping names no hosts, but a hostfile requires them"
    );
    assert_eq!(
        refused(openmpi::rankfile(&anywhere, &mut Diagnostics::new())),
        "G0430 error the mapping names no hosts, but a rankfile requires them"
    );
    let some = launch(&[("a", &[], 1), ("", &[], 1)]);
    let message = "G0430 error OS process 1 has no host, but others have one";
    assert_eq!(refused(slurm::hostfile(&some)), message);
    assert_eq!(
        refused(openmpi::appfile(&some, &mut Diagnostics::new())),
        message
    );
    for (_, launcher) in Launcher::ALL {
        let wrong = command(&some, launcher, &mut Diagnostics::new()).unwrap_err();
        assert_eq!(show(&wrong), [message]);
    }
    let mut odd = launch(&[("a", &[], 1)]);
    odd.args = vec!["two words".into()];
    let message = "G0433 error \"two words\" cannot be written into a configfile, because words in it cannot be quoted";
    assert_eq!(
        refused(mpich::configfile(&odd, &mut Diagnostics::new())),
        message
    );
    assert!(refused(slurm::multi_prog(&odd, &mut Diagnostics::new())).starts_with("G0433"));
    odd.args = vec![":".into()];
    assert!(refused(openmpi::appfile(&odd, &mut Diagnostics::new())).starts_with("G0433"));
}

const PAIR: &str = "digraph pair { a -> b }";

fn emit(mapped: &Mapped, name: &str, path: &str, options: &[(&str, &str)]) -> (Files, Vec<String>) {
    let own = |(k, v): &(&str, &str)| (k.to_string(), v.to_string());
    let options: BTreeMap<String, String> = options.iter().map(own).collect();
    let mut diagnostics = Diagnostics::new();
    let mut context = EmitContext::new(Path::new(path), &options, &mut diagnostics);
    let all = emitters();
    let emitter = all.iter().find(|e| e.name() == name).expect("an emitter");
    let mut files = Files::new();
    match emitter.emit(mapped, &mut context, &mut files) {
        Ok(()) => (files, show(&diagnostics)),
        Err(refused) => (Files::new(), show(&refused)),
    }
}

#[test]
fn emitters_write_at_their_path() {
    let two = mapped(PAIR, &[1, 0], &[(Some("h1"), &[0]), (Some("h2"), &[0])]);
    let options = [("program", "./pair"), ("args", " -x  3 ")];
    for emitter in emitters() {
        let path = format!("out/x.{}", emitter.name());
        let (files, found) = emit(&two, emitter.name(), &path, &options);
        assert!(files.get(&path).is_some(), "{} {found:?}", emitter.name());
        let accepted: Vec<&str> = [
            "hostfile",
            "mapping.json",
            "launch.sh",
            "a.rankfile",
            "b.fgmpi.c",
            "x.dot",
            "multi-prog",
        ]
        .into_iter()
        .filter(|p| emitter.accepts(Path::new(p)))
        .collect();
        assert!(accepted.len() <= 1, "{} takes {accepted:?}", emitter.name());
    }
    let (files, _) = emit(
        &two,
        "mpiexec",
        "out/go.sh",
        &[("launcher", "fgmpi"), ("program", "./pair")],
    );
    let paths: Vec<_> = files
        .iter()
        .map(|(path, file)| (path.to_str().unwrap(), file.executable))
        .collect();
    assert_eq!(
        paths,
        [
            ("out/fgmpi.c", false),
            ("out/go.sh", true),
            ("out/hostfile", false)
        ]
    );
    let (files, _) = emit(&two, "configfile", "c", &options);
    let text = String::from_utf8(files.get("c").unwrap().content.clone()).unwrap();
    assert!(
        text.contains("-n 2 -env GRAPHMAP_PROCESSES 1 taskset -c 0 ./pair -x 3\n"),
        "{text}"
    );
}

#[test]
fn emitters_refuse_what_would_break_a_line() {
    let odd = mapped(PAIR, &[0, 0], &[(Some("h1\nrm -rf"), &[])]);
    for emitter in emitters()
        .iter()
        .filter(|e| e.name() != "mapping" && e.name() != "fgmpi")
    {
        let (files, found) = emit(&odd, emitter.name(), "x", &[]);
        assert_eq!(files.iter().len(), 0);
        assert_eq!(
            found,
            ["G0433 error \"h1\\nrm -rf\" cannot be the name of a host"]
        );
    }
    let one = mapped(PAIR, &[0, 0], &[(None, &[])]);
    let (_, found) = emit(&one, "mpiexec", "x", &[("launcher", "lam")]);
    assert_eq!(found, ["G0437 error there is no launcher `lam`"]);
}

#[test]
fn names_that_open_mpi_rejects_are_reported() {
    let said = |hosts: [&str; 3]| {
        let launch = launch(&hosts.map(|h| (h, &[][..], 1)));
        let mut out = Diagnostics::new();
        command(&launch, Launcher::OpenMpi, &mut out).unwrap();
        show(&out)
    };
    assert_eq!(said(["n-1", "n-2.a", "n-1"]), [""; 0]);
    assert_eq!(said(["10.0.0.1", "10.0.0.2", "n"]), [""; 0]);
    assert_eq!(
        said(["n-1.a", "n_2", "n-1.b"]),
        [
            "G0439 warning Open MPI 4.1 refuses the name `n_2` because of its `_`",
            "G0439 warning Open MPI 4.1 treats `n-1.a` and `n-1.b` as one host",
        ]
    );
}
