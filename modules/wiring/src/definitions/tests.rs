//! What is told of types without a format, and what is not.

use super::*;
use proptest::prelude::*;

/// Whether `Item` lacks a format in a program of these types and another file.
fn lacks(types: &str, other: &str) -> bool {
    let wanted = HashSet::from(["Item".to_owned()]);
    let mut found = Definitions::new(&wanted);
    let files = [(types, true), (other, false), ("mod types;", false)];
    let all = files
        .iter()
        .try_for_each(|(text, is_types)| found.read(text, *is_types));
    all.is_some() && found.lacks_format("Item")
}

#[test]
fn formats_are_found_however_they_are_written() {
    for format in [
        "graphmap_runtime::payload!(Item);",
        "rt::payload! { Item { a, b } }",
        "payload![Item];",
        "payload !\t(\r\n\tItem\r\n);",
        "payload!(// why\n Item);",
        "payload /* a */ ! /* b */ ( /* c /* d */ */ Item );",
        "payload!(r#Item);",
        "payload!(enum Item { A, B(x) });",
        "payload!(enum /* a */ Item { A });",
        "payload!(Item<T> { rows });",
        "payload!(Item by to_text, from_text);",
        "impl rt::Payload for crate::types::Item {",
        "impl<T: Payload> Payload for Item<T>\nwhere",
        "impl<T> rt::Payload\r\n    for crate :: types::Item<T>",
        "impl Payload/* a */for// b\n(Item) {",
        "impl Payload for r#Item {",
        "impl Payload for ((crate::types::Item)) {",
        "impl r#Payload for Item where u8: Copy {",
        "fn f() { impl Payload for Item {} }",
        "macro_rules! all { () => { payload!(Item); impl $crate::Payload for Item {} } }",
    ] {
        assert!(!lacks("pub struct Item;", format), "{format}");
        assert!(
            !lacks(&format!("pub struct Item;\n{format}"), ""),
            "{format}"
        );
    }
}

#[test]
fn what_only_looks_like_a_format_is_none() {
    for other in [
        "",
        "payload!(Items); struct Items;",
        "impl Payload for Items {} struct Items;",
        "// payload!(Item);",
        "/* payload!(Item); /* */ impl Payload for Item {} */",
        "/// ```\n/// payload!(Item);\n/// ```\nfn f() {}",
        "const A: &str = \"payload!(Item)\";",
        "const A: &str = r#\"\"impl Payload for Item\"#;",
        "const A: char = '\"'; // payload!(Item) \"",
        "impl MyPayload for Item {}",
        "impl Payloads for Item {}",
        "impl Other for Item where u8: Payload {}",
        "fn f<T: Payload>() { for Item in [] {} }",
        "use graphmap_runtime::Payload as _;",
        "fn f() { <Other as Payload>::size(&x); }",
        "#[derive(Payload)] struct Other;",
        "fn f() { let all = vec![Item; 3]; assert_eq!(all[0], Item); matches!(x, Item) }",
        "fn f() { tokio::join!(a, b); } fn g(item: Item) -> Item { item }",
        "const A: &[u8] = include_bytes!(\"a\");",
        "fn f(x: bool) { if !(x) { return !(Item::x()) } }",
        "impl std::fmt::Display for Item {}",
        "#[inline] fn f(item: Item) {} #[cfg(a)] mod tests { use crate::types::Item; #[test] fn f() {} }",
        "#![allow(a)] #[derive(Clone, Debug)] struct All { item: Item }",
        "#[tokio::main] async fn main() {} fn f(item: Item) {}",
        "#[derive(thiserror::Error)] enum Wrong { #[error(\"a\")] A } struct All(Item);",
        "struct All { #[wire(skip)] a: u8 } fn f(item: Item) {}",
        "#[a::b] const A: [u8; 2] = [1, 2]; fn f(item: Item) {}",
        "fn f() { log::info!(\"a\"); mine!(); let item: Item = make!(1); }",
        "macro_rules! mine { () => { struct A; } } mine!(); mod a { mine! {} }",
        "println!(); thread_local! { static A: u8 = 1; }",
        "type All = Vec<Item>; type Two = (Item, Item); mod a { pub struct All; }",
        "fn f(item: Item) -> u8 { Item::A as u8 }",
        "macro_rules! mine { ($($p:ident)*) => { $(impl Other for $p {})* } }",
        "macro_rules! mine { ($p:ident) => { impl $crate::Other for Item {} } }",
        "macro_rules! mine { ($p:ty) => { impl Of<$p> { fn f() { for Item in [] {} } } } }",
    ] {
        assert!(lacks("pub struct Item;", other), "{other}");
    }
}

#[test]
fn a_type_is_defined_at_the_top_of_its_file_and_plainly() {
    for (types, is_own) in [
        ("pub struct Item {", true),
        ("enum\r\n\tItem<T> {", true),
        ("union Item {}", true),
        ("pub(crate) struct/* a */r#Item(u8);", true),
        (
            "#[allow(x)]\n#[derive(Clone, std::fmt::Debug, serde::Serialize)]\n#[repr(C)] struct Item;",
            true,
        ),
        (
            "//! Types.\n/// One.\n#[doc = \"path = 1\"]\npub struct Item;",
            true,
        ),
        ("#[derive(Other)] struct Other;\nstruct Item;", true),
        ("mod a { #[other] struct A; } struct Item;", true),
        ("const A: [u8; 2] = [b'{', '}' as u8]; struct Item;", true),
        ("// struct Item;", false),
        ("/* struct Item; */", false),
        ("/// struct Item;\nstruct Other;", false),
        ("const A: &str = \"struct Item;\";", false),
        ("pub type Item = u64; mod inner { pub struct Item; }", false),
        (
            "pub use inner::Thing as Item; mod inner { pub struct Thing; struct Item; }",
            false,
        ),
        ("pub use other::Item;", false),
        ("struct Items;", false),
        ("define! { struct Item; }", false),
        ("define!(Item); struct Item;", false),
        ("#[cfg(a)] pub struct Item;", false),
        ("#[derive(Clone, Wire)] pub struct Item;", false),
        ("#[wire::layout]\n/// One.\npub struct Item;", false),
        ("#[cfg_attr(a, derive(Wire))] pub struct Item;", false),
        ("macro_rules! item { () => { struct Item; } }", false),
        ("#[derive(Wire)] pub(crate) struct Item {}", false),
        ("#[wire::layout] pub(in crate::a) struct Item(u8);", false),
        (
            "#[cfg(not(unix))] pub(crate) struct Item; #[cfg(unix)] pub(crate) type Item = u64;",
            false,
        ),
        (
            "#[cfg(a)] pub(crate) type Other = u8; pub(crate) struct Item;",
            true,
        ),
        ("#[cfg(a)] fn f() {} pub(crate) struct Item {}", true),
        ("\u{feff}pub struct Item;", true),
        ("\u{feff}struct Item;", true),
        ("#!/usr/bin/env \"run\nstruct Item;", true),
    ] {
        assert_eq!(lacks(types, ""), is_own, "{types}");
    }
    let wanted = HashSet::from(["Item".to_owned()]);
    let mut found = Definitions::new(&wanted);
    found.read("struct Item;", true).unwrap();
    assert!(
        !found.lacks_format("Item"),
        "nothing says that this file is `types`"
    );
}

#[test]
fn what_cannot_be_followed_is_uncertain() {
    for other in [
        "include!(\"more.rs\");",
        "fn f() { std::include! [concat!(\"a\", \"b\")] }",
        "#[path = \"elsewhere.rs\"] mod more;",
        "#[cfg_attr(a, path = \"elsewhere.rs\")] mod more;",
        "mod types { pub struct Item; }",
        "use graphmap_runtime::Payload as Wire; impl Wire for Item {}",
        "use graphmap_runtime::payload as lay; lay!(Item);",
        "use crate::types::Item as Thing; payload!(Thing);",
        "type Thing = crate::types::Item; impl Payload for Thing {}",
        "my_payload!(Item);",
        "const _: () = { my::payloads! { (Item, Other) } };",
        "#[layout(Item)] mod more {}",
        "macro_rules! lay { ($t:ident) => { payload!($t); } }",
        "macro_rules! lay { ($t:ident) => { payload!(enum $t { A }); } }",
        "macro_rules! lay { ($t:ty) => { impl rt::Payload for $t {} } }",
        "macro_rules! lay { ($of:ident) => { impl $of for Item {} } }",
        "impl Payload for <Other as Of>::Type {}",
        "#[never closed",
        "#[wire::layout] impl Item {}",
        "#[wire::formats] fn all() -> (Item, u8) {}",
        "#[wire::formats] fn all() -> Of<{ 1 }> where Item: Clone {}",
        "#[wire::formats] #[inline] pub(crate) fn all() { let a = 1; { Item } }",
        "#[derive(wire::Formats)] struct All { item: Item }",
        "#[derive(Clone, wire::Formats)] pub(crate) struct All<T>(T, Item);",
        "#[wire::all] mod x { pub use crate::types::Item; }",
        "mod y { #[wire::all] mod x { fn f() {} pub use crate::types::Item; } }",
        "struct All { #[wire::field] item: Item }",
        "mod a { pub struct Thing; } mod b { use crate::types::Item as Thing; impl Payload for Thing {} }",
        "mod a { pub struct B; } use crate::types::{Other, Item as B}; payload!(B);",
        "mod a { pub struct B; } type B = crate::types::Item; impl Payload for B {}",
        "mod a { pub struct B; } type B<T> = types::Item<T>; impl Payload for B<u8> {}",
        "wire::generate!();",
        "mod a { mod b { wire_file!(\"a.wire\"); } }",
        "fn f() {} wire::generate! {}",
        "const _: () = { wire::generate!(); };",
        "macro_rules! mine { () => { wire::generate!(); } } mine!();",
        "macro_rules! lay { ($($p:ident)::+) => { impl $($p)::+ for Item {} } } lay!(rt::Payload);",
        "macro_rules! lay { ($p:path) => { impl $p for Item {} } } lay!(rt::Payload);",
        "macro_rules! lay { ($($p:tt)*) => { impl $($p)* for crate::types::Item {} } }",
        "\u{feff}include!(\"more.rs\");",
        "#!/bin/it's\nimpl Payload for Item {} //'",
    ] {
        assert!(!lacks("pub struct Item;", other), "{other}");
    }
    let many: String = (0..=MOST_NAMES)
        .map(|number| format!("struct A{number};"))
        .collect();
    assert!(!lacks("pub struct Item;", &many));
}

proptest! {
    #[test]
    fn any_text_is_read(
        words in prop::collection::vec(
            "payload|Payload|for|enum|struct|Item|mod|types|include|path|my|[!#$;:=<>(){}\\[\\]\"'/]|as|_|derive|\\PC", 0..40
        )
    ) {
        let wanted = HashSet::from(["Item".to_owned()]);
        let _ = Definitions::new(&wanted).read(&words.join(" "), true);
        let _ = Definitions::new(&wanted).read(&words.concat(), true);
    }
}
