//! Temporary.
use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read(&args[1]).unwrap();
    let mut found = Diagnostics::new();
    let declared = load(&mut SourceMap::new(), "x.dot", text, &mut found).unwrap_or_else(|| panic!("{found:#?}"));
    let network = resolve(expand(declared).unwrap().0).unwrap().0;
    let network = infer(network).and_then(verify).unwrap_or_else(|d| panic!("{d:#?}")).0;
    let t = std::time::Instant::now();
    let picture = match args[2].as_str() {
        "processes" => graphmap_view::contents::Picture::of_processes(&network),
        "kinds" => graphmap_view::contents::Picture::of_kinds(&network),
        "folded" => graphmap_view::contents::Picture::folded(&network, 50),
        _ => graphmap_view::contents::Picture::of_network(&network),
    };
    let t1 = t.elapsed();
    let drawing = graphmap_view::layout::layout(&picture);
    let t2 = t.elapsed();
    let svg = graphmap_view::write::to_svg(&drawing);
    eprintln!("{} boxes {} edges: contents {:?} layout {:?} svg {:?}", picture.nodes.len(), picture.edges.len(), t1, t2 - t1, t.elapsed() - t2);
    std::fs::write(&args[3], svg).unwrap();
}
