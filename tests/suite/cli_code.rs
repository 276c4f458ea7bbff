//! Translation of compiler messages by `graphmap run`. Each message uses the terms of the graph,
//! has a position that the user can fix, and appears once.

use crate::common::Test;

// The other functions are stubs.
const GRAPH: &str = "digraph copies { allow=\"G0614\";
    numbers -> worker [type=u64, bundle=share, at=all];
    worker -> sum [type=u64, at=all];
    worker [replicas=3];
}
";

const HEAD: &str = "use crate::wiring::Worker;\n";

/// A valid worker for any token type.
const WORKER: &str = "pub async fn worker(mut p: Worker) -> Result<(), graphmap_runtime::Stopped> {
    while let Some(token) = p.in_.read().await {
        p.out.write(token).await?;
    }
    Ok(())
}
";

/// The function of `worker`, and the expected first diagnostic: first line, position, first help.
const WRONG: &[(&str, &str, &str, &str)] = &[
    (
        "pub fn worker(p: Worker) { drop(p); }",
        "error[G0618]: the function of the kind `worker` is not `async`",
        "2:1",
        "declare it as `pub async fn worker(ports: Worker)`",
    ),
    (
        "pub async fn worker(p: Worker) -> u32 { drop(p); 3 }",
        "error[G0618]: the function of the kind `worker` returns `u32`",
        "2:1",
        "return nothing, or `Result<(), E>`, whose error ends the run",
    ),
    (
        "pub async fn worker(p: Worker) -> Result<(), u32> { drop(p); Ok(()) }",
        "error[G0618]: the function of the kind `worker` returns the error `u32`, which does not implement `Error`",
        "2:1",
        "return nothing, or `Result<(), E>`, whose error ends the run",
    ),
    (
        "// fn worker() is not here\npub async fn worker(p: crate::wiring::Sum, _q: Worker) { drop(p); }",
        "error[G0618]: the function of the kind `worker` has other parameters than its ports",
        "3:1",
        "declare it as `pub async fn worker(ports: Worker)`",
    ),
    (
        "pub async fn worker(\n    p: crate::wiring::Numbers,\n) {\n    let _: Option<Worker> = None;\n    drop(p);\n}",
        "error[G0618]: the function of the kind `worker` has other parameters than its ports",
        "2:1",
        "declare it as `pub async fn worker(ports: Worker)`",
    ),
    (
        "use graphmap_runtime::mpi;\npub async fn worker(_: Worker) { drop(mpi::world()); }",
        "error[G0703]: unresolved import `graphmap_runtime::mpi` (E0432)",
        "2:5",
        "add `features = [\"mpi\"]` to `graphmap-runtime` in Cargo.toml: ranks need the feature \
         `mpi`",
    ),
    (
        "use graphmap_runtime as rt;\npub async fn worker(_: Worker) { drop(rt::mpi::world()); }",
        "error[G0703]: cannot find `mpi` in `rt` (E0433)",
        "3:43",
        "add `features = [\"mpi\"]` to `graphmap-runtime` in Cargo.toml: ranks need the feature \
         `mpi`",
    ),
    (
        "pub async fn worker(mut p: Worker) { while let Some(n) = p.in_.read() { drop(n); } }",
        "error[G0703]: mismatched types (E0308)",
        "2:48",
        "await the read: `.read().await`",
    ),
    (
        "pub async fn worker(mut p: Worker) { p.out.write(1).unwrap(); }",
        "error[G0703]: no method named `unwrap` found for struct `graphmap_runtime::Write",
        "2:53",
        "await the write: `.write(..).await`",
    ),
    (
        "pub async fn worker(p: Worker) { drop(p); assert!(graphmap_runtime::me().index() < 3); }",
        "error[G0703]: no method named `index` found for struct `Me` in the current scope (E0599)",
        "2:74",
        "remove the parentheses: `me().index` is a field",
    ),
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        n = p.in_ => drop(n),\n    }\n}",
        "error[G0703]: `select!` has no `else` arm",
        "3:5",
        "",
    ),
    // The advice to remove the `.await` would be wrong, because the macro generates it.
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        n = p.in_.read().await => drop(n),\n        else => {}\n    }\n}",
        "error[G0703]: `select!` cannot wait for `Option<u64>` (E0277)",
        "3:5",
        "name the port itself, without a read or a write: `token = p.in_ => ..`",
    ),
    // The advice to add `.await` would be wrong, because the macro awaits the arm.
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        n = p.in_.read() => drop(n),\n        else => {}\n    }\n}",
        "error[G0703]: `select!` cannot wait for `graphmap_runtime::Read<'_, u64>` (E0277)",
        "3:5",
        "name the port itself, without a read or a write: `token = p.in_ => ..`",
    ),
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        _ = p.out.write(1) => {}\n        else => {}\n    }\n}",
        "error[G0703]: `select!` cannot wait for `graphmap_runtime::Write<'_, u64>` (E0277)",
        "3:5",
        "name the port itself, without a read or a write: `token = p.in_ => ..`",
    ),
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        Some(n) = p.in_ => drop::<u64>(n),\n        else => {}\n    }\n}",
        "error[G0703]: mismatched types (E0308)",
        "4:9",
        "",
    ),
    (
        "pub async fn worker(mut p: Worker) {\n    graphmap_runtime::select! {\n        n = p.inn_ => drop::<u64>(n),\n        else => {}\n    }\n}",
        "error[G0703]: no field `inn_` on type `Worker` (E0609)",
        "4:15",
        "a field with a similar name exists: `in_`",
    ),
    (
        "pub async fn worker(mut p: Worker) -> Result<(), graphmap_runtime::Stopped> {\n    graphmap_runtime::select! {\n        n = p.in_ => p.out.write(n)?,\n        else => {}\n    }\n    Ok(())\n}",
        "error[G0703]: ",
        "4:22",
        "await the write: `.write(..).await`",
    ),
];

/// Texts about the code of macros that must not appear: positions in it, and advice that would have
/// to be followed there.
const OF_MACROS: &[&str] = &[
    "remove the `.await`",
    "required for",
    "OneOf<",
    "this call returns",
    "the following other types",
];

/// Statements whose result `worker` ignores, each with the only advice about it. The compiler would
/// advise to ignore the result.
const FORGOTTEN: &[(&str, &str)] = &[
    ("p.out.write(1);", "await it: `.write(..).await`"),
    ("p.in_.read();", "await it: `.read().await`"),
    ("p.out.stopped();", "add `.await`"),
    ("async { drop(p) };", "add `.await`"),
    (
        "p.out.write(1).await;",
        "a write fails after its reader has left: add `?` to end the process then, or `let _ =` to \
         ignore it",
    ),
];

#[test]
fn compiler_messages_are_reported_at_user_code() {
    let test = Test::new()
        .file("copies.dot", GRAPH)
        .args("new copies --from copies.dot --quiet");
    test.run().status(0);
    // Stubs would be reported as stubs.
    let done =
        |kind: &str, function| format!("pub async fn {function}(_: crate::wiring::{kind}) {{}}\n");
    let mut test = test
        .file(
            "copies/src/processes/numbers.rs",
            done("Numbers", "numbers"),
        )
        .file("copies/src/processes/sum.rs", done("Sum", "sum"))
        .args("run copies.dot --dev --no-run");
    for (body, message, place, help) in WRONG {
        test = test.file("copies/src/processes/worker.rs", format!("{HEAD}{body}\n"));
        let done = test.run().status(1);
        let said = done.stderr();
        let mut lines = said.lines();
        assert_eq!(lines.next(), Some("graphmap: building copies"), "{body}");
        let first = lines.next().unwrap();
        assert!(first.starts_with(message), "{body}\n{said}");
        let at = format!("--> copies/src/processes/worker.rs:{place}\n");
        assert!(said.contains(&at), "{body}\n{said}");
        assert!(said.contains("::: copies.dot:"), "{body}\n{said}");
        assert!(
            said.contains(&format!("= help: {help}")) || help.is_empty(),
            "{said}"
        );
        // No diagnostic mentions generated code or dependencies, and each is reported once.
        assert!(
            !said.contains("wiring.rs") && !said.contains(".graphmap/"),
            "{said}"
        );
        for inside in OF_MACROS {
            assert!(!said.contains(inside), "{body}\n{said}");
        }
        assert!(said.contains("graphmap: 1 error\n"), "{body}\n{said}");
    }

    for (body, help) in FORGOTTEN {
        let text = format!("{HEAD}pub async fn worker(mut p: Worker) {{\n    {body}\n}}\n");
        let text = text.replace(
            "mut p",
            if body.contains("drop(p)") {
                "p"
            } else {
                "mut p"
            },
        );
        test = test.file("copies/src/processes/worker.rs", text);
        let said = test.run().status(0).stderr();
        assert!(
            said.contains("(unused_must_use)\n --> copies/src"),
            "{said}"
        );
        assert_eq!(said.matches("= help: ").count(), 1, "{body}\n{said}");
        assert!(
            said.contains(&format!("= help: {help}\n")),
            "{body}\n{said}"
        );
        assert!(said.contains("graphmap: 1 warning\n"), "{body}\n{said}");
    }

    // Error types that need no manual conversion.
    for error in [
        "std::io::Error",
        "Box<dyn std::error::Error>",
        "Box<dyn std::error::Error + Send + Sync>",
        "Box<dyn std::error::Error + Send>",
        "&'static str",
    ] {
        let text = WORKER.replace("graphmap_runtime::Stopped", error);
        let text = text.replace(
            "p.out.write(token).await?",
            "let _ = p.out.write(token).await",
        );
        test = test.file("copies/src/processes/worker.rs", format!("{HEAD}{text}"));
        test.run()
            .status(0)
            .stderr_is("graphmap: building copies\n");
    }

    // A missing type of several channels and of a function is one diagnostic.
    let typed = GRAPH.replace("u64", "Load");
    test = test.file("copies.dot", typed).file(
        "copies/src/processes/worker.rs",
        format!(
            "{HEAD}use crate::types::Load;\n{}",
            WORKER.replace("token).await", "Load::from(token)).await")
        ),
    );
    let done = test.run().status(1);
    done.stderr_has("error[G0610]: src/types.rs does not define the type `Load`\n --> copies.dot:2:5\n")
        .stderr_has("= help: add `#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)] pub struct Load;` to src/types.rs")
        .stderr_has("graphmap: 1 error\n");

    // The type has a new field that `payload!` does not list.
    let load = "pub struct Load {\n    pub n: u64,\n}\ngraphmap_runtime::payload!(Load);\n";
    let types = test.read("copies/src/types.rs");
    test = test.file("copies/src/types.rs", load);
    test.run()
        .status(1)
        .stderr_has("error[G0703]: `payload!` of `Load` does not list its field `n`\n --> copies/src/types.rs:4:1")
        .stderr_has("list all fields: `graphmap_runtime::payload!(Load { n })`")
        .stderr_has("graphmap: 1 error");
    let two = load
        .replace("n: u64,", "n: u64, m: u64,")
        .replace("(Load)", "(Load { n })");
    test = test.file("copies/src/types.rs", two);
    test.run()
        .status(1)
        .stderr_has("error[G0703]: `payload!` of `Load` does not list its field `m`\n --> copies/src/types.rs:4:1")
        .stderr_has("list all fields: `graphmap_runtime::payload!(Load { n, m })`")
        .stderr_has("graphmap: 1 error");

    // The derive lists the fields itself. The types of the fields must be payloads, too.
    let derived = "use std::cell::Cell;\n\n#[derive(graphmap_runtime::Payload)]\npub struct Load {\n    \
                   pub n: u64,\n    pub cell: Cell<u64>,\n}\n";
    test = test.file("copies/src/types.rs", derived);
    test.run()
        .status(1)
        .stderr_has("error[G0703]: a value of `Cell<u64>` cannot be sent as bytes")
        .stderr_has(" --> copies/src/types.rs:6:15")
        .stderr_has("graphmap: 1 error");

    // A project that was created without the feature.
    let manifest = test.read("copies/Cargo.toml");
    let without = manifest.replace(", features = [\"derive\"]", "");
    assert_ne!(without, manifest);
    test = test.file("copies/Cargo.toml", without);
    for derive in [
        "#[derive(graphmap_runtime::Payload)]\npub struct Load;\n",
        "use graphmap_runtime::Payload;\n#[derive(Payload)]\npub struct Load;\n",
    ] {
        test = test.file("copies/src/types.rs", derive);
        test.run()
            .status(1)
            .stderr_has("add `features = [\"derive\"]` to `graphmap-runtime` in Cargo.toml");
    }
    test = test.file("copies/Cargo.toml", manifest);

    // Errors that an attribute causes in the wiring are reported at the attribute, once.
    let plain = "#[derive(Clone)]\npub struct Load;\ngraphmap_runtime::payload!(Load);\n";
    test = test.file("copies/src/types.rs", plain);
    let filled = GRAPH
        .replace("u64, at", "Load, initial=1, at")
        .replace("u64", "Load");
    test = test.file("copies.dot", filled);
    test = test.file("copies/src/processes/worker.rs", format!("{HEAD}{WORKER}"));
    test.run()
        .status(1)
        .stderr_has("error[G0703]: `Load` does not implement `Default`, which creates the `initial=` tokens")
        .stderr_has("--> copies.dot:3:5")
        .stderr_has("graphmap: 1 error");
    test = test.file("copies.dot", GRAPH.replace("u64", "\"std::vec::Vac<u8>\""));
    test.run()
        .status(1)
        .stderr_has("error[G0703]: the type `std::vec::Vac<u8>` does not exist\n")
        .stderr_has("--> copies.dot:2:29\n")
        .stderr_has("graphmap: 1 error");
    test = test.file("copies/src/types.rs", types);

    // A new type that still compiles is not reported.
    test = test
        .file("copies.dot", GRAPH.replace("u64", "f32"))
        .file("copies/src/processes/worker.rs", format!("{HEAD}{WORKER}"));
    test.run()
        .status(0)
        .stderr_is("graphmap: updated copies/src/wiring.rs\ngraphmap: building copies\n");
    // Without the compiler, possible errors are warnings.
    let test = test
        .file("copies.dot", GRAPH)
        .args("run copies.dot --no-build");
    test.run()
        .status(0)
        .stderr_has(
            "warning[G0607]: the function `worker` may not match its kind: the port `in` changed \
             its type from `f32` to `u64`",
        )
        .stderr_has("= help: check with the compiler: `graphmap run copies.dot --no-run`\n");
    let test = test
        .file("copies.dot", GRAPH.replace("u64", "Load"))
        .args("run copies.dot --no-build");
    test.run()
        .status(0)
        .stderr_has("warning[G0610]: copies/src/types.rs does not name the type `Load`")
        .stderr_has("= help: check with the compiler: `graphmap run copies.dot --no-run`\n");

    // A new port is reported in every run until the function uses it, because a function that does
    // not use it compiles.
    let more = GRAPH.replace(
        "worker -> sum",
        "worker -> sum [src=more, type=u64, at=all];\n    worker -> sum",
    );
    let new =
        "warning[G0607]: the function `worker` does not match its kind: the port `more` was added";
    let mut test = test.file("copies.dot", &more);
    // This warning does not depend on the compiler.
    test = test.args("run copies.dot --no-build");
    test.run().status(0).stderr_has(new);
    test = test.args("run copies.dot --dev --no-run");
    for _ in 0..2 {
        test.run().status(0).stderr_has(new);
    }
    let named = WORKER.replace("p.out.write(token)", "p.more.write(token)");
    test = test.file("copies/src/processes/worker.rs", format!("{HEAD}{named}"));
    test.run()
        .status(0)
        .stderr_is("graphmap: building copies\n");
    assert!(
        !test
            .folder()
            .join("copies/target/graphmap")
            .join("wiring.rs")
            .exists()
    );

    // A removed port is reported in every run, until the function compiles again.
    let gone = "warning[G0607]: the function `worker` does not match its kind: the port `more` was removed";
    test = test.file("copies.dot", GRAPH);
    for _ in 0..2 {
        test.run()
            .status(1)
            .stderr_has(gone)
            .stderr_has("error[G0703]");
    }
    test = test.file("copies/src/processes/worker.rs", format!("{HEAD}{WORKER}"));
    for said in ["graphmap: building copies\n", ""] {
        test.run().status(0).stderr_is(said);
    }
}

/// Checks that `new` names the type that replaces missing types.
#[test]
fn a_project_without_types_says_so() {
    let none = "`Token` in src/types.rs, because no channel has `type=`\n";
    let some = "`Token` in src/types.rs, for 2 of 3 channels, which have no `type=`: the first at net.dot:1:34\n";
    for (edges, note) in [
        ("a -> b; b -> c;", Some(none)),
        ("a -> b [type=u64]; b -> c; c -> d;", Some(some)),
        ("a -> b [type=u64]; b -> c [type=u8];", None),
        ("a;", None),
    ] {
        let done = Test::new()
            .file("net.dot", format!("digraph net {{ {edges} }}\n"))
            .args("new made --from net.dot")
            .run()
            .status(0);
        let told = format!("{}{}", done.stdout(), done.stderr());
        let line = told.split_once("  the tokens     ").map(|(_, rest)| rest);
        let said = line.map(|rest| &rest[..=rest.find('\n').unwrap()]);
        assert_eq!(said, note, "{edges}: {told}");
    }
}

/// Checks that missing types are reported if some channels have a type.
#[test]
fn missing_types_are_reported_if_others_exist() {
    for (edges, said) in [
        (
            "a -> b [type=u64]; b -> c; c -> d;",
            Some(("2 of 3 channels have no type and carry `Token`", "1:34")),
        ),
        (
            "a -> b; b -> c [type=u64];",
            Some(("1 of 2 channels has no type and carries `Token`", "1:15")),
        ),
        ("a -> b; b -> c;", None),
        ("a -> b [type=u64];", None),
    ] {
        let done = Test::new()
            .file("net.dot", format!("digraph net {{ {edges} }}\n"))
            .args("check net.dot")
            .run()
            .status(0);
        match said {
            Some((message, place)) => {
                let head = format!("note[G0620]: {message}\n --> net.dot:{place}\n");
                assert_eq!(done.stderr().matches("G0620").count(), 1);
                done.stderr_has(&head);
            }
            None => drop(done.stderr_lacks("G0620")),
        }
    }
}
