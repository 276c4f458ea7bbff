//! Pictures of networks with hostile names, in a browser that is listened to.
//!
//! All requests of the browser go through a proxy, which is this test. It serves the pictures and
//! records any other request. The pictures have a policy that forbids scripts and loads but does not
//! enforce it: a violation is reported to the proxy, and takes place.

use crate::common::{Started, Test, gone};
use graphmap_testing::{Need, skip};
use graphmap_view::{Host, OsProcess, Scene, SceneNode};
use serde_json::Value;
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

/// Texts that break out of XML, HTML, CSS or attributes if they are not escaped. Each starts a
/// request if it succeeds.
const HOSTILE: &[&str] = &[
    "<script>fetch('//evil.test/1')</script>",
    "\"/><script>fetch('//evil.test/2')</script>",
    "</title><script>fetch('//evil.test/3')</script>",
    "</style><script>fetch('//evil.test/4')</script>",
    "]]><script>fetch('//evil.test/5')</script>",
    "' onload='fetch(\"//evil.test/6\")",
    "\" onload=\"fetch('//evil.test/7')",
    "\" onmouseover=\"alert(1)",
    "<img src=//evil.test/8 onerror=alert(1)>",
    "<image href=\"http://evil.test/9\"/>",
    "<foreignObject><iframe src=\"http://evil.test/10\">",
    "<a href=\"javascript:alert(1)\">click</a>",
    "javascript:fetch('//evil.test/11')",
    "<style>@import url(http://evil.test/12)</style>",
    "red;} * {background:url(http://evil.test/13)}",
    "url(http://evil.test/14)",
    "<!DOCTYPE svg [<!ENTITY x SYSTEM \"http://evil.test/15\">]>",
    "<?xml-stylesheet href=\"http://evil.test/16\"?>",
    "&x; &amp; &#60;script&#62;",
    "<![CDATA[ x ]]>",
    "<!-- -->",
    "--><script>fetch('//evil.test/17')</script>",
    "<svg onload=alert(1)>",
    "${alert(1)} {{alert(1)}} %3Cscript%3E",
    "\u{1}\u{7f}\u{9b}x",
    "\u{202e}evil\u{2066}",
    "\u{1f980}\u{fe0f} caf\u{e9} \u{4e2d}\u{6587}",
];

/// Picture that attacks in several ways, so that the test shows that it hears them.
const CANARY: &str = r#"<svg xmlns="http://www.w3.org/2000/svg" onload="fetch('http://evil.test/load')">
<script>fetch('http://evil.test/script')</script>
<image href="http://evil.test/image" width="9" height="9"/>
<rect class="node" data-name="canary" onmouseover="fetch('http://evil.test/event')"/></svg>"#;

/// Page that loads each picture as a document and inside of HTML, sends events to all elements, and
/// posts what it finds.
const PAGE: &str = r#"<!DOCTYPE html><meta charset="utf-8"><body><script>
async function look(path) {
  const frame = document.createElement('iframe');
  await new Promise(done => { frame.onload = done; frame.src = path; document.body.append(frame); });
  const all = [...frame.contentDocument.querySelectorAll('*')];
  for (const element of all)
    for (const event of ['load', 'error', 'click', 'mouseover', 'focusin', 'beginEvent'])
      element.dispatchEvent(new Event(event, {bubbles: true}));
  const values = name => all.filter(e => e.hasAttribute(name)).map(e => e.getAttribute(name));
  const texts = name => all.filter(e => e.localName == name).map(e => e.textContent);
  return {
    path,
    elements: [...new Set(all.map(e => e.localName))],
    attributes: [...new Set(all.flatMap(e => e.getAttributeNames()))],
    values: ['data-name', 'data-kind', 'data-host'].flatMap(values),
    texts: ['text', 'title'].flatMap(texts),
  };
}
(async () => {
  const found = [];
  for (const path of PATHS) found.push(await look(path));
  await fetch('/found', {method: 'POST', body: JSON.stringify(found)});
})();
</script>"#;

/// Requests that the proxy has answered, and what the page has found.
#[derive(Default)]
struct Heard {
    /// Paths of the own site, addresses of others, and reports of violations.
    requests: Vec<String>,
    found: Option<Value>,
}

/// Documents by path, with their types.
type Documents = Vec<(String, &'static str, String)>;

/// Answers one request.
fn answer(mut stream: TcpStream, documents: &Documents, heard: &Mutex<Heard>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut first = String::new();
    reader.read_line(&mut first).ok()?;
    let address = first.split(' ').nth(1)?.to_owned();
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let (name, value) = match line.trim_end() {
            "" => break,
            line => line.split_once(':').unwrap_or_default(),
        };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = address.strip_prefix("http://pictures.test").unwrap_or("");
    let document = documents.iter().find(|(known, ..)| known == path);
    let mut heard = heard.lock().unwrap();
    match path {
        "/found" => heard.found = serde_json::from_slice(&body).ok(),
        "/violation" => heard
            .requests
            .push(String::from_utf8_lossy(&body).into_owned()),
        _ if document.is_some() => {}
        _ => heard.requests.push(address.clone()),
    }
    drop(heard);
    let (status, kind, content) = match document {
        Some((_, kind, content)) => ("200 OK", *kind, &content[..]),
        None => ("404 Not Found", "text/plain", ""),
    };
    let policy = match path {
        "/" => "",
        _ => {
            "Content-Security-Policy-Report-Only: default-src 'none'; style-src 'unsafe-inline'; report-uri /violation\r\n"
        }
    };
    let length = content.len();
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{policy}Access-Control-Allow-Origin: *\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(content.as_bytes()).ok()
}

/// Loads pictures in the browser. Returns what it heard and found, or `None` without a browser.
fn look(pictures: &[String]) -> Option<Heard> {
    let version = Command::new("chromium").arg("--version").output();
    if !version.is_ok_and(|done| done.status.success()) {
        skip(Need::Chromium, "chromium does not start");
        return None;
    }
    let mut documents: Documents = Vec::new();
    for (i, svg) in pictures
        .iter()
        .map(|svg| &svg[..])
        .chain([CANARY])
        .enumerate()
    {
        let html = format!("<!DOCTYPE html><meta charset=\"utf-8\"><body>{svg}</body>");
        documents.push((format!("/{i}.html"), "text/html", html));
        documents.push((format!("/{i}.svg"), "image/svg+xml", svg.to_owned()));
    }
    let paths: Vec<&str> = documents.iter().map(|(path, ..)| &path[..]).collect();
    let page = PAGE.replace("PATHS", &serde_json::to_string(&paths).unwrap());
    documents.push(("/".to_owned(), "text/html", page));
    documents.push(("/favicon.ico".to_owned(), "image/x-icon", String::new()));

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = format!("--proxy-server={}", listener.local_addr().unwrap());
    let heard = Arc::new(Mutex::new(Heard::default()));
    let also = Arc::clone(&heard);
    std::thread::spawn(move || {
        let documents = Arc::new(documents);
        for stream in listener.incoming().flatten() {
            let (documents, heard) = (Arc::clone(&documents), Arc::clone(&also));
            std::thread::spawn(move || answer(stream, &documents, &heard));
        }
    });

    let profile = tempfile::tempdir().unwrap();
    let mut command = Command::new("chromium");
    command
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
        ])
        .args([
            "--disable-sync",
            "--disable-default-apps",
            "--disable-extensions",
        ])
        .args(["--disable-dev-shm-usage", "--disable-breakpad"])
        .args(["--proxy-bypass-list=<-loopback>", &proxy])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("http://pictures.test/")
        .env("HOME", profile.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut browser = Started::of(&mut command);
    // The canary is loaded last, so that everything before it was heard.
    let is_heard = || {
        let heard = heard.lock().unwrap();
        let has = |what: &str| heard.requests.iter().any(|request| request.contains(what));
        let canary = format!("/{}.svg", pictures.len());
        heard.found.is_some()
            && ["load", "script", "image", "event"]
                .iter()
                .all(|kind| has(&format!("//evil.test/{kind}")))
            && heard
                .requests
                .iter()
                .any(|request| request.contains("violated-directive") && request.contains(&canary))
    };
    browser.wait_until(is_heard, "sound of the canary");
    browser.end_by("TERM");
    let left = processes_with(&profile.path().display().to_string());
    assert!(left.iter().all(|pid| gone(pid)), "{left:?}");
    Some(std::mem::take(&mut heard.lock().unwrap()))
}

/// Returns the ids of the processes that have a text in their arguments.
fn processes_with(text: &str) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let has = |pid: &String| {
        let arguments = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&arguments).contains(text)
    };
    names.filter(has).collect()
}

/// Returns a text as XML represents it.
fn representable(text: &str) -> String {
    text.replace(|c: char| c.is_control(), "\u{fffd}")
}

/// Returns a text as an attribute of Graphviz.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\\\""))
}

/// Returns a graph in which each text is the name of a node, a module and a kind, and a label.
fn graph(texts: &[String]) -> String {
    let mut graph = "digraph {\n".to_owned();
    for text in texts {
        let (module, text) = (quoted(&format!("cluster_{text}")), quoted(text));
        writeln!(
            graph,
            "subgraph {module} {{ label={text}; {text} [kind={text}, label={text}]; }}"
        )
        .unwrap();
    }
    for pair in texts.windows(2) {
        let [from, to] = [&pair[0], &pair[1]].map(|text| quoted(text));
        writeln!(graph, "{from} -> {to} [label={from}, color={from}];").unwrap();
    }
    graph + "}\n"
}

/// Returns a scene in which each text is the name of a host and of the kind of a process on it.
fn scene(texts: &[String]) -> Scene {
    let each = || texts.iter().enumerate();
    Scene {
        hosts: each()
            .map(|(i, text)| Host {
                name: text.clone(),
                os_processes: vec![i],
            })
            .collect(),
        os_processes: each()
            .map(|(i, _)| OsProcess {
                load: 1.0,
                processes: 1,
                nodes: vec![i],
                cores: vec![0],
            })
            .collect(),
        nodes: each()
            .map(|(i, text)| SceneNode {
                label: text.clone(),
                kind: text.clone(),
                os_process: i,
                processes: 1,
                load: 1.0,
            })
            .collect(),
        flows: Vec::new(),
    }
}

#[test]
fn hostile_names_inject_nothing_in_a_browser() {
    let mut texts: Vec<String> = HOSTILE.iter().map(|text| (*text).to_owned()).collect();
    texts.push("<b onclick=alert(1)>".repeat(200));
    // The network is named after its file.
    let file = "<script>fetch('evil.test') \"x\" &amp; ]]>.dot";
    let test = Test::new().file(file, graph(&texts));
    let mut pictures = Vec::new();
    for details in [
        &["view", file, "--svg", "--detail", "processes"][..],
        &["view", file, "--svg", "--detail", "nodes"],
        &["view", file, "--svg", "--detail", "kinds"],
        &["view", file, "--svg", "--detail", "folded"],
        &[file, "--hosts", "hosts=2:cores=2", "--emit", "svg=-"],
    ] {
        let mut command = test.command();
        let output = command.args(details).output().unwrap();
        assert!(output.status.success(), "{details:?}: {output:?}");
        pictures.push(String::from_utf8(output.stdout).unwrap());
    }
    pictures.push(graphmap_view::svg::draw(&texts[0], &scene(&texts), None));

    let Some(heard) = look(&pictures) else {
        return;
    };
    // Requests of the browser itself go to other sites. No picture has caused one of these, because
    // each load is a violation.
    let canary = format!("/{}.", pictures.len());
    let of_pictures = heard.requests.iter().filter(|request| {
        (request.contains(".test/") || request.contains("violated-directive"))
            && !request.contains(&canary)
            && !["load", "script", "image", "event"]
                .iter()
                .any(|kind| **request == format!("http://evil.test/{kind}"))
    });
    assert_eq!(of_pictures.collect::<Vec<_>>(), Vec::<&String>::new());

    let found = heard.found.unwrap();
    let documents = found.as_array().unwrap();
    assert_eq!(documents.len(), 2 * (pictures.len() + 1));
    let list = |document: &Value, name: &str| -> Vec<String> {
        serde_json::from_value(document[name].clone()).unwrap()
    };
    for document in &documents[..2 * pictures.len()] {
        let path = document["path"].as_str().unwrap();
        for element in list(document, "elements") {
            let known =
                "html head meta body svg title style defs pattern g rect path circle polygon text";
            assert!(
                known.split(' ').any(|name| name == element),
                "{path}: {element}"
            );
        }
        for attribute in list(document, "attributes") {
            let is_plain = !attribute.starts_with("on") && !attribute.ends_with("href");
            assert!(is_plain, "{path}: {attribute}");
        }
        let (values, seen) = (list(document, "values"), list(document, "texts"));
        let of_picture = |i: usize| path.starts_with(&format!("/{i}."));
        let is_mapping = of_picture(pictures.len() - 2);
        let is_scene = of_picture(pictures.len() - 1);
        for text in &texts {
            let text = representable(text);
            // Characters that change the direction of a text are not shown.
            let shown = text.replace(['\u{202e}', '\u{2066}'], "\u{fffd}");
            let value = if is_scene { &shown } else { &text };
            // The data of a mapping do not name its processes.
            assert!(is_mapping || values.contains(value), "{path}: no {value:?}");
            // Long texts are shortened. Boxes of mappings list kinds.
            let is_seen = seen.iter().any(|seen| match is_mapping || is_scene {
                true => seen.contains(&shown),
                false => *seen == shown,
            });
            assert!(is_seen || text.chars().count() > 16, "{path}: no {shown:?}");
        }
    }
    let canary = list(&documents[2 * pictures.len() + 1], "elements");
    assert!(canary.iter().any(|name| name == "script"), "{canary:?}");
}
