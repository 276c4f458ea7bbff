//! Checks that no field of a host is lost without a warning. For each field and each emitter,
//! either the files contain the field, or a warning names it.
//!
//! A new field of a host does not compile here until it is listed. A new emitter, launcher or field
//! fails until the table contains it.

mod common;
use common::{mapped, show};
use graphmap_binding::command::Launcher;
use graphmap_binding::emitters;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::{EmitContext, Files};
use graphmap_kpn::hardware::{Access, Core, Distances, Hardware, Host};
use std::collections::BTreeMap;
use std::path::Path;

/// A field of a host.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Name,
    Slots,
    MaxSlots,
    Speed,
    Memory,
    Group,
    Cores,
    User,
    Port,
    Interface,
    Binding,
}
use Field::*;

/// How an emitter handles a field.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    /// The files contain the value of the field.
    Carried,
    /// A warning with this code names the field.
    Warned(&'static str),
    /// The files contain no hosts, or no cores. Files of this other emitter, which are used
    /// together with them, do.
    With(&'static str),
    /// The mapping has used the field, and launchers do not need it.
    Mapped,
}
use Fate::*;

const LOST: Fate = Warned("G0445");

/// Returns how an emitter handles a field. For the script, `emitter` also names the launcher.
fn fate(emitter: &str, field: Field) -> Fate {
    match (emitter, field) {
        (_, Slots | Speed | Memory | Group) => Mapped,
        ("openmpi-hostfile", MaxSlots) => Carried,
        // The script for Open MPI comes with that file.
        ("mpiexec openmpi", MaxSlots) => Carried,
        // Files start the mapped OS processes. A warning reports more than the limit.
        (_, MaxSlots) => Mapped,

        ("hostfile", Name | User | Binding) => Carried,
        ("hostfile", Port | Interface) => LOST,
        ("hostfile", Cores) => With("configfile"),
        ("configfile", Cores) => Carried,
        ("configfile", _) => With("hostfile"),
        ("mpiexec mpich", Name | User | Binding | Cores) => Carried,
        ("mpiexec mpich", Port | Interface) => LOST,

        ("openmpi-hostfile", Name | User | Port) => Carried,
        ("openmpi-hostfile", Interface | Binding) => LOST,
        ("openmpi-hostfile", Cores) => With("rankfile"),
        ("rankfile" | "appfile", Name | Cores) => Carried,
        ("rankfile" | "appfile", User | Port | Interface | Binding) => LOST,
        ("mpiexec openmpi", Name | Cores) => Carried,
        ("mpiexec openmpi", User | Port | Interface | Binding) => LOST,

        ("machinefile", Name | User) => Carried,
        ("machinefile", Port | Interface | Binding) => LOST,
        ("machinefile", Cores) => With("intel-configfile"),
        ("intel-configfile" | "mpiexec intel", Name | User | Cores) => Carried,
        ("intel-configfile" | "mpiexec intel", Port | Interface | Binding) => LOST,

        ("slurm-hostfile", Name) => Carried,
        ("slurm-hostfile", User | Port | Interface | Binding) => LOST,
        ("slurm-hostfile", Cores) => With("multi-prog"),
        ("multi-prog", Cores) => Warned("G0432"),
        ("multi-prog", _) => With("slurm-hostfile"),
        ("mpiexec slurm", Name) => Carried,
        ("mpiexec slurm", User | Port | Interface | Binding) => LOST,
        ("mpiexec slurm", Cores) => Warned("G0432"),

        ("mpiexec fgmpi", Name | User | Binding) => Carried,
        ("mpiexec fgmpi", Port | Interface) => LOST,
        ("mpiexec fgmpi", Cores) => Warned("G0432"),
        // It contains functions of ranks. The script starts them.
        ("fgmpi", _) => With("mpiexec fgmpi"),

        ("mapping", Name | Cores) => Carried,
        ("mapping", User | Port | Interface | Binding) => LOST,

        _ => panic!("say here what becomes of {field:?} in the files of `{emitter}`"),
    }
}

/// Returns a host with all fields, whose values occur nowhere else in the files.
fn host() -> Host {
    let core = |cpu| Core {
        socket: 0,
        cache: 0,
        cpus: vec![cpu],
        speed: 1.0,
    };
    Host {
        name: "hostx".into(),
        slots: 2,
        max_slots: Some(8321),
        speed: 2.5,
        memory: Some(987_654_321),
        group: 0,
        cores: vec![core(8177), core(8177)],
        access: Access {
            user: Some("userx".into()),
            port: Some(8422),
            interface: Some("interfacex".into()),
            binding: Some("core:8".into()),
        },
    }
}

/// Returns each field, with the text of its value.
fn fields(host: &Host) -> Vec<(Field, String)> {
    // There is no `..`, so that a new field must be listed.
    let Host {
        name,
        slots,
        max_slots,
        speed,
        memory,
        group,
        cores,
        access,
    } = host;
    let Access {
        user,
        port,
        interface,
        binding,
    } = access;
    let Core {
        socket: _,
        cache: _,
        cpus,
        speed: _,
    } = &cores[0];
    let text = |value: &Option<String>| value.clone().unwrap();
    vec![
        (Name, name.clone()),
        (Slots, slots.to_string()),
        (MaxSlots, max_slots.unwrap().to_string()),
        (Speed, speed.to_string()),
        (Memory, memory.unwrap().to_string()),
        (Group, group.to_string()),
        (Cores, cpus[0].to_string()),
        (User, text(user)),
        (Port, port.unwrap().to_string()),
        (Interface, text(interface)),
        (Binding, text(binding)),
    ]
}

/// Returns the text that an emitter writes for two OS processes on the host, and its diagnostics.
fn written(emitter: &str, launcher: Option<&str>, host: &Host) -> (String, Vec<String>) {
    let platform = Hardware {
        os_processes: None,
        hosts: vec![host.clone()],
        order: vec![graphmap_kpn::hardware::Slots { host: 0, slots: 2 }],
        distances: Distances {
            os_process: 0.0,
            cache: 1.0,
            socket: 1.0,
            host: 1.0,
            group: 1.0,
            platform: 1.0,
        },
    };
    let on = (Some(host.name.as_str()), &host.cores[0].cpus[..]);
    let mapped = mapped("digraph pair { a -> b }", &[0, 1], &[on, on]);
    let launcher = launcher.map(|name| ("launcher".to_owned(), name.to_owned()));
    let options: BTreeMap<String, String> = launcher.into_iter().collect();
    let mut out = Diagnostics::new();
    let mut context = EmitContext::new(Path::new("x"), &options, &mut out);
    context.platform = Some(&platform);
    let mut files = Files::new();
    let all = emitters();
    let emitter = all.iter().find(|e| e.name() == emitter).unwrap();
    emitter.emit(&mapped, &mut context, &mut files).unwrap();
    // The agent is left out, because it is a program with many words.
    let texts = files.iter().filter(|(path, _)| !path.ends_with("agent.sh"));
    let text = texts.map(|(_, file)| String::from_utf8_lossy(&file.content).into_owned());
    (text.collect(), show(&out))
}

#[test]
fn each_field_of_a_host_is_carried_or_warned_of() {
    let host = host();
    let mut rows: Vec<(String, Option<&str>)> = Vec::new();
    for emitter in emitters() {
        match emitter.name() {
            "mpiexec" => rows.extend(
                Launcher::ALL.map(|(launcher, _)| (emitter.name().to_owned(), Some(launcher))),
            ),
            name => rows.push((name.to_owned(), None)),
        }
    }
    for (emitter, launcher) in rows {
        let row = match launcher {
            Some(launcher) => format!("{emitter} {launcher}"),
            None => emitter.clone(),
        };
        let (text, found) = written(&emitter, launcher, &host);
        for (field, value) in fields(&host) {
            let name = match field {
                User => "ssh user",
                Port => "ssh port",
                Interface => "network interface",
                Binding => "binding",
                _ => "field",
            };
            let named = |code: &str| {
                let what = match field {
                    Cores => "the binding to cores".to_owned(),
                    _ => format!("the {name} of host `{}`", host.name),
                };
                found
                    .iter()
                    .any(|line| line.starts_with(code) && line.contains(&what))
            };
            let fate = fate(&row, field);
            match fate {
                Carried => assert!(text.contains(&value), "{row} lacks {field:?}: {text}"),
                Warned(code) => {
                    assert!(named(code), "{row} loses {field:?}: {found:?}");
                    let there = field == Cores || !text.contains(&value);
                    assert!(
                        there || row == "mpiexec openmpi",
                        "{row} has {field:?}: {text}"
                    );
                }
                With(other) => {
                    let there = self::fate(other, field);
                    assert!(!matches!(there, With(_) | Mapped), "{other}: {there:?}");
                }
                Mapped => {}
            }
            let warned = named("G0445") || named("G0432");
            assert_eq!(
                warned,
                matches!(fate, Warned(_)),
                "{row} {field:?}: {found:?}"
            );
        }
    }
}

#[test]
fn a_warning_names_the_first_host_and_counts_the_others() {
    let launch = graphmap_binding::Launch {
        facts: ["a", "b", "c"]
            .map(|name| {
                let access = Access {
                    port: Some(22),
                    ..Access::default()
                };
                let facts = graphmap_binding::HostFacts {
                    access,
                    max_slots: None,
                };
                (name.to_owned(), facts)
            })
            .into(),
        ..common::launch(&[("b", &[], 1), ("a", &[], 1), ("b", &[], 1)])
    };
    let mut out = Diagnostics::new();
    graphmap_binding::command::command(&launch, Launcher::Mpich, &mut out).unwrap();
    let all: Vec<_> = out.iter().collect();
    assert_eq!(
        show(&out),
        ["G0445 warning the ssh port of host `b` cannot be written to the files of this launcher"]
    );
    assert_eq!(all[0].notes, ["the ssh port of 1 more host is missing too"]);
}

#[test]
fn a_limit_that_is_passed_is_a_warning() {
    let mut host = host();
    host.max_slots = Some(1);
    for emitter in ["hostfile", "openmpi-hostfile", "mpiexec"] {
        let (text, found) = written(emitter, None, &host);
        let expected = "G0440 warning 2 OS processes start on `hostx`, but its limit is 1";
        assert!(
            found.iter().any(|line| line == expected),
            "{emitter}: {found:?}"
        );
        assert!(!text.contains("max_slots"), "{text}");
    }
}
