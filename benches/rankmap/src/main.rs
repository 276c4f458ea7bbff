//! Bytes and look-up times of rank maps, for the tables of docs/src/rankmap.md.

mod classes;
mod constants;
mod contestants;
mod measure;
mod reports;
mod tables;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("all", String::as_str);
    let count = args.get(1).map_or(12, |count| {
        count.parse().expect("how many communicators a class")
    });
    let wanted = |name: &str| what == name || what == "all";
    let reports: [(&str, &dyn Fn()); 11] = [
        ("limits", &reports::limits),
        ("A", &|| reports::class('A', count)),
        ("B", &|| reports::class('B', count)),
        ("C", &|| reports::class('C', count)),
        ("D", &|| reports::class('D', count)),
        ("E", &|| reports::class('E', count)),
        ("chapter6", &reports::chapter_6),
        ("cube", &reports::cube),
        ("giants", &reports::giants),
        ("tables", &tables::tables),
        ("constants", &constants::constants),
    ];
    assert!(
        what == "all" || reports.iter().any(|(name, _)| *name == what),
        "see the script `run`"
    );
    for (_, report) in reports.iter().filter(|(name, _)| wanted(name)) {
        report();
    }
}
