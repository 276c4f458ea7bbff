//! Tests that rules are read as intended, and that errors are reported at their positions.

use super::*;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;

fn read(word: &str, text: &str) -> Result<RuleKind, Box<Diagnostic>> {
    rule(word, &SourceMap::new().add("--rule", text).unwrap()).map(|r| r.kind)
}

fn shown(kind: &RuleKind) -> String {
    let name = |p: &Pattern| {
        if p.literal {
            format!("{:?}", p.text)
        } else {
            p.text.clone()
        }
    };
    let names = |list: &[Pattern]| list.iter().map(name).collect::<Vec<_>>().join(",");
    let term = |t: &Term| match t.of {
        NameKind::Process => name(&t.name),
        NameKind::Kind => format!("kind:{}", name(&t.name)),
        NameKind::Module => format!("module:{}", name(&t.name)),
    };
    let terms = |list: &[Term]| list.iter().map(term).collect::<Vec<_>>().join(",");
    let place = |p: &OsProcessSet| match p {
        OsProcessSet::Host(p) => format!("host:{}", name(p)),
        OsProcessSet::OsProcess(a, b, _) => format!("{a}-{b}"),
    };
    let places = |list: &[OsProcessSet]| list.iter().map(place).collect::<Vec<_>>().join(",");
    let at = |list: &[OsProcessSet]| match list {
        [] => String::new(),
        _ => format!("@{}", places(list)),
    };
    match kind {
        RuleKind::Pin(what, there) => format!("pin {}={}", terms(what), places(there)),
        RuleKind::Together(what) => format!("together {}", terms(what)),
        RuleKind::Apart(what, there) => format!("apart {}{}", terms(what), at(there)),
        RuleKind::Hold(what, least, most, there) => {
            format!("hold {}={least}-{most}{}", terms(what), at(there))
        }
        RuleKind::Whole(modules) => format!("whole {}", names(modules)),
        RuleKind::Prefer(modules, traffic) => format!("prefer {}={traffic}", names(modules)),
        RuleKind::Memory(there, bytes) => format!("memory {}={bytes}", places(there)),
        RuleKind::Move(what, Price::Mem) => format!("move {}=mem", terms(what)),
        RuleKind::Move(what, Price::Traffic(price)) => format!("move {}={price}", terms(what)),
        RuleKind::Permute(what, Order::Known(order)) => {
            format!("permute {}={order:?}", terms(what))
        }
        RuleKind::Permute(what, Order::File(path, _)) => format!("permute {}={path}", terms(what)),
        RuleKind::Container(container) => shown_container(container),
        RuleKind::Boxes(boxes) => {
            let boxes: Vec<String> = boxes.iter().map(shown_boxes).collect();
            format!("boxes {}", boxes.join(","))
        }
    }
}

fn shown_container(container: &Container) -> String {
    let item = |item: &Item| {
        let prefix = item.prefix.iter().map(|name| format!("{}.", name.text));
        let count = match &item.count {
            None => String::new(),
            Some(Count::Any) => "[*]".to_owned(),
            Some(Count::Some) => "[+]".to_owned(),
            Some(Count::Expr(expr)) => format!("[{}]", expr.text),
        };
        format!("{}{}{count}", prefix.collect::<String>(), item.name.text)
    };
    let items: Vec<String> = container.items.iter().map(item).collect();
    let most = container.most.as_ref();
    let most = most.map_or_else(String::new, |most| format!("/{}", most.text));
    format!(
        "container {}={}{most}",
        container.name.text,
        items.join(",")
    )
}

fn shown_boxes(boxes: &BoxesDecl) -> String {
    let prefix: Vec<&str> = boxes.prefix.iter().map(|name| &*name.text).collect();
    let colon = if prefix.is_empty() { "" } else { ":" };
    let count = boxes.count.as_ref();
    let count = count.map_or_else(String::new, |count| format!("*{}", count.text));
    let one = format!("{}{colon}{}{count}", prefix.join("."), boxes.name.text);
    match &boxes.range {
        None => one,
        Some((name, first, last)) => format!("for {} in {first}..{last}{{{one}}}", name.text),
    }
}

#[test]
fn rules_are_read_as_they_are_meant() {
    for (word, text, means) in [
        ("pin", "w*=node1", "pin w*=host:node1"),
        ("pin", " kind:w , a = 3 , 5-7 ", "pin kind:w,a=3-3,5-7"),
        (
            "pin",
            "\"a=b, c\"=host:3,\"4\"",
            "pin \"a=b, c\"=host:3,host:\"4\"",
        ),
        ("pin", "a=n-1,1-n", "pin a=host:n-1,host:1-n"),
        ("together", "module:farm?, b", "together module:farm?,b"),
        ("apart", "kind : \"k\"", "apart kind:\"k\""),
        ("apart", "a,b @ *", "apart a,b@host:*"),
        ("apart", "a@n1,0-3", "apart a@host:n1,0-3"),
        ("hold", "*=4", "hold *=4-4"),
        ("hold", "*=-4", "hold *=0-4"),
        ("hold", "*=1-", "hold *=1-4294967295"),
        ("hold", "a=1 - 4 @ 0-3,x", "hold a=1-4@0-3,host:x"),
        ("whole", "farm*,module:b", "whole farm*,b"),
        ("prefer", "farm=0.5", "prefer farm=0.5"),
        ("memory", "node*=2G", "memory host:node*=2147483648"),
        ("move", "kind:t, b = 2.5", "move kind:t,b=2.5"),
        ("move", "*= mem ", "move *=mem"),
        (
            "container",
            "c = w[ * ],a.b.d[ 2 * i+1 ] , e, \"f g\"[+] / 10 ",
            "container c=w[*],a.b.d[2 * i+1],e,f g[+]/10",
        ),
        ("container", "for=for[1]", "container for=for[1]"),
        ("boxes", "c", "boxes c"),
        (
            "boxes",
            "a.b : c * 2*3, for i in 1 .. 2*4 { a:d } , for*2,e",
            "boxes a.b:c*2*3,for i in 1..8{a:d},for*2,e",
        ),
        ("permute", "kind:w=random:6", "permute kind:w=Random(6)"),
        ("permute", "w* = stride: 3", "permute w*=Stride(3)"),
        ("permute", "w=a:b.txt", "permute w=a:b.txt"),
    ] {
        assert_eq!(shown(&read(word, text).unwrap()), means, "{word} {text}");
    }
}

#[test]
fn syntax_errors_are_reported_at_their_position() {
    for (word, text, at) in [
        ("pin", "", ""),
        ("pin", "a", ""),
        ("pin", "a=", ""),
        ("pin", "a b=1", "b"),
        ("pin", "a=3-1", "3-1"),
        ("pin", "a=99999999999", "99999999999"),
        ("pin", "\"a=1", "\"a=1"),
        ("apart", "a,", ""),
        ("apart", "a=1", "=1"),
        ("apart", "a@", ""),
        ("apart", "a@b=1", "=1"),
        ("hold", "a=", ""),
        ("hold", "a=4-1", "4-1"),
        ("hold", "a=x", "x"),
        ("hold", "a=1@", ""),
        ("prefer", "a=-1", "-1"),
        ("prefer", "a=NaN", "NaN"),
        ("prefer", "a=1e400", "1e400"),
        ("memory", "a=1X", "1X"),
        ("move", "a", ""),
        ("move", "a=-1", "-1"),
        ("move", "a=memo", "memo"),
        ("memory", "a=99999999T", "99999999T"),
        ("container", "", ""),
        ("container", "c w[1]", "w"),
        ("container", "c=w[", ""),
        ("container", "c=w[*", ""),
        ("container", "c=a.", ""),
        ("container", "c=w[]", "]"),
        ("boxes", "c*", ""),
        ("boxes", "a:", ""),
        ("boxes", "for i of 1..2 { c }", "o"),
        ("boxes", "for i in 1 { c }", "{"),
        ("boxes", "for i in 1..2 { c", ""),
        ("boxes", "c d", "d"),
        ("permute", "a=", ""),
        ("permute", "a=random:x", "random:x"),
    ] {
        let wrong = read(word, text).unwrap_err();
        assert_eq!(wrong.code, codes::BAD_RULE);
        let span = wrong.primary.unwrap().span;
        assert_eq!(
            &text[span.start as usize..span.end as usize],
            at,
            "{word} {text}"
        );
    }
}

#[test]
fn a_file_has_a_rule_a_line() {
    let text = "# all\n\n pin a = 1 # here\r\napart \"#\"\npni b=1\n=\ntogether";
    let mut map = SourceMap::new();
    map.add("before", "x").unwrap();
    let mut found = Diagnostics::new();
    assert_eq!(rules(&map.add("r", text).unwrap(), &mut found).len(), 2);
    let errors = found.iter().map(|d| {
        let place = map.location(d.primary.as_ref().unwrap().span).unwrap();
        (place.to_string(), d.help[0].clone())
    });
    let errors: Vec<_> = errors.collect();
    assert_eq!(
        errors[0],
        ("r:5:1".to_owned(), "did you mean `pin`?".to_owned())
    );
    assert_eq!(
        (errors[1].0.as_str(), errors[2].0.as_str()),
        ("r:6:1", "r:7:9")
    );
    let sound = text.lines().take(4).collect::<Vec<_>>().join("\n");
    let read = rules(&map.add("s", sound).unwrap(), &mut found);
    let at: Vec<_> = read
        .iter()
        .map(|r| map.location(r.span).unwrap().to_string())
        .collect();
    assert_eq!(at, ["s:3:2", "s:4:1"]);
    let texts: Vec<_> = read.iter().map(|r| shown(&r.kind)).collect();
    assert_eq!(texts, ["pin a=1-1", "apart \"#\""]);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(word in 0..RULES.len(), text in "(for i in )?[a1:=,@\"*é .{}\\[\\]/+-]{0,12}") {
        let _ = read(RULES[word], &text);
        let mut map = SourceMap::new();
        let file = format!("{} {text}\n{text}", RULES[word]);
        let source = map.add("r", file).unwrap();
        let mut found = Diagnostics::new();
        let _ = rules(&source, &mut found);
        for diagnostic in found.iter() {
            prop_assert!(map.range(diagnostic.primary.as_ref().unwrap().span).is_some());
        }
    }
}
