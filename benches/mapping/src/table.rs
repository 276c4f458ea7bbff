//! What is printed: one block a case, then the summary with ratios.

use std::collections::BTreeMap;

/// One mapping as judged.
#[derive(Clone)]
pub struct Result {
    pub engine: String,
    pub seed: u64,
    pub cost: u64,
    pub balance: f64,
    pub feasible: bool,
    pub seconds: f64,
    pub bound: u64,
    pub proved: bool,
}

#[derive(Default)]
pub struct Table {
    cases: BTreeMap<String, Vec<Result>>,
    /// Engines in order of appearance.
    engines: Vec<String>,
}

impl Table {
    pub fn add(&mut self, case: &str, result: Result) {
        if !self.engines.contains(&result.engine) {
            self.engines.push(result.engine.clone());
        }
        self.cases.entry(case.to_owned()).or_default().push(result);
    }

    fn of<'a>(&'a self, case: &str, engine: &'a str) -> Vec<&'a Result> {
        self.cases[case]
            .iter()
            .filter(|r| r.engine == engine)
            .collect()
    }

    /// Mean over the seeds of the cost relative to the best feasible of all engines.
    fn ratio(&self, case: &str, engine: &str) -> Option<f64> {
        let rows = self.of(case, engine);
        if rows.is_empty() || rows.iter().any(|r| !r.feasible) {
            return None;
        }
        let mut sum = 0.0;
        for row in &rows {
            let rivals = self.cases[case]
                .iter()
                .filter(|r| r.seed == row.seed && r.feasible);
            let best = rivals.map(|r| r.cost).min().unwrap_or(row.cost);
            sum += row.cost as f64 / best.max(1) as f64;
        }
        Some(sum / rows.len() as f64)
    }

    pub fn print_case(&self, case: &str) {
        let Some(rows) = self.cases.get(case) else {
            return;
        };
        println!("\n{case}");
        println!(
            "  {:<14} {:>13} {:>8} {:>8} {:>9} {:>9}",
            "engine", "mean J", "ratio", "balance", "feasible", "CPU s"
        );
        for engine in &self.engines {
            let of: Vec<&Result> = rows.iter().filter(|r| &r.engine == engine).collect();
            if of.is_empty() {
                continue;
            }
            let n = of.len() as f64;
            let mean = of.iter().map(|r| r.cost as f64).sum::<f64>() / n;
            let balance = of.iter().map(|r| r.balance).fold(0.0, f64::max);
            let feasible = of.iter().filter(|r| r.feasible).count();
            let seconds = of.iter().map(|r| r.seconds).sum::<f64>() / n;
            let ratio = self
                .ratio(case, engine)
                .map_or("-".to_owned(), |r| format!("{r:.3}"));
            let proved = of.iter().filter(|r| r.proved).count();
            let bound = of.iter().map(|r| r.bound as f64).sum::<f64>() / n;
            let mut tail = String::new();
            if bound > 0.0 {
                tail = format!(
                    "  bound {:.0} ({:.0}% gap)",
                    bound,
                    100.0 * (mean - bound) / mean
                );
            }
            if proved > 0 {
                tail.push_str(&format!("  proved {proved}/{}", of.len()));
            }
            println!(
                "  {engine:<14} {mean:>13.0} {ratio:>8} {balance:>8.3} {feasible:>7}/{} {seconds:>9.3}{tail}",
                of.len()
            );
        }
    }

    pub fn print_summary(&self) {
        println!(
            "\nmean ratio to the best feasible mapping, over cases where all seeds are feasible"
        );
        println!(
            "  {:<14} {:>8} {:>8} {:>12} {:>10}",
            "engine", "mean", "worst", "feasible", "CPU s"
        );
        for engine in &self.engines {
            let ratios: Vec<f64> = self
                .cases
                .keys()
                .filter_map(|c| self.ratio(c, engine))
                .collect();
            let rows: Vec<&Result> = self
                .cases
                .values()
                .flatten()
                .filter(|r| &r.engine == engine)
                .collect();
            let feasible = rows.iter().filter(|r| r.feasible).count();
            let seconds = rows.iter().map(|r| r.seconds).sum::<f64>() / rows.len() as f64;
            let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
            let worst = ratios.iter().copied().fold(0.0, f64::max);
            println!(
                "  {engine:<14} {mean:>8.3} {worst:>8.3} {:>12} {seconds:>10.3}",
                format!("{feasible}/{}", rows.len())
            );
        }
        self.print_rivals();
    }

    /// Each of our rows against the best feasible peer, by case.
    fn print_rivals(&self) {
        let ours: Vec<&String> = self.engines.iter().filter(|e| is_ours(e)).collect();
        for engine in ours {
            let (mut no_worse, mut cases, mut product) = (0, 0, 0.0_f64);
            let mut lost = Vec::new();
            for case in self.cases.keys() {
                let mean = |name: &str| {
                    let rows = self.of(case, name);
                    let sound = !rows.is_empty() && rows.iter().all(|r| r.feasible);
                    sound.then(|| {
                        rows.iter().map(|r| r.cost as f64).sum::<f64>() / rows.len() as f64
                    })
                };
                let peers = self.engines.iter().filter(|e| !is_ours(e));
                let best = peers.filter_map(|e| mean(e)).fold(f64::INFINITY, f64::min);
                let Some(own) = mean(engine) else {
                    lost.push(format!("{case} (infeasible)"));
                    cases += 1;
                    continue;
                };
                if best.is_finite() {
                    cases += 1;
                    product += (own / best).ln();
                    if own <= best {
                        no_worse += 1;
                    } else {
                        lost.push(format!("{case} ({:+.1}%)", 100.0 * (own / best - 1.0)));
                    }
                }
            }
            if cases > 0 {
                println!(
                    "{engine}: mean J no worse than the best feasible peer on {no_worse} of {cases} cases, geometric mean ratio {:.3}; behind on: {}",
                    (product / f64::from(cases)).exp(),
                    if lost.is_empty() {
                        "none".to_owned()
                    } else {
                        lost.join(", ")
                    }
                );
            }
        }
    }
}

fn is_ours(engine: &str) -> bool {
    let name = engine.split('@').next().unwrap_or(engine);
    graphmap_partition::strategies()
        .iter()
        .any(|s| s.name == name)
}
