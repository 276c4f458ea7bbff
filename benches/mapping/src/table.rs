//! Output: Markdown tables as in the book, and details of each case on request.

use std::collections::BTreeMap;

use crate::known::Known;

/// A mapping and its evaluation.
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
    /// `Some` if the balance bound was raised; `Some(true)` if that was proved to be necessary.
    pub raised: Option<bool>,
}

#[derive(Default)]
pub struct Table {
    /// Cases in order of appearance.
    cases: Vec<(String, Vec<Result>)>,
    /// Engines in order of appearance.
    engines: Vec<String>,
    pub known: Known,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / f64::from(count))
}

fn shown(value: Option<f64>, digits: usize) -> String {
    value.map_or("-".to_owned(), |v| format!("{v:.digits$}"))
}

impl Table {
    pub fn add(&mut self, case: &str, result: Result) {
        if !self.engines.contains(&result.engine) {
            self.engines.push(result.engine.clone());
        }
        if result.feasible {
            self.known
                .learn(case, result.seed, result.cost, &result.engine);
        }
        match self.cases.iter_mut().find(|c| c.0 == case) {
            Some((_, rows)) => rows.push(result),
            None => self.cases.push((case.to_owned(), vec![result])),
        }
    }

    /// Returns the cost relative to the best known cost.
    fn ratio(&self, case: &str, row: &Result) -> f64 {
        let best = self.known.cost(case, row.seed).unwrap_or(row.cost);
        row.cost as f64 / best.max(1) as f64
    }

    /// Prints the results of a case, one line for each engine.
    pub fn print_details(&self, case: &str) {
        let Some((_, rows)) = self.cases.iter().find(|c| c.0 == case) else {
            return;
        };
        println!("\n{case}");
        for engine in &self.engines {
            let of: Vec<&Result> = rows.iter().filter(|r| &r.engine == engine).collect();
            let Some(cost) = mean(of.iter().map(|r| r.cost as f64)) else {
                continue;
            };
            let worst = of.iter().map(|r| r.balance).fold(0.0, f64::max);
            let fit = of.iter().filter(|r| r.feasible);
            let ratio = mean(fit.clone().map(|r| self.ratio(case, r)));
            println!(
                "  {engine:<14} J {cost:>11.0}  to best known {:>6}  balance {worst:>6.3}  feasible {}/{}  CPU {} s",
                shown(ratio, 3),
                fit.count(),
                of.len(),
                shown(mean(of.iter().map(|r| r.seconds)), 3)
            );
        }
    }

    pub fn print(&self) {
        self.print_engines();
        self.print_cases();
        self.print_claims();
    }

    fn print_engines(&self) {
        println!(
            "\n| engine | within the balance bound | to the best known, mean | worst | CPU s, mean | longest |"
        );
        println!("|---|---|---|---|---|---|");
        for engine in &self.engines {
            let rows = || {
                self.cases
                    .iter()
                    .flat_map(|(case, rows)| rows.iter().map(move |r| (case, r)))
                    .filter(|(_, r)| &r.engine == engine)
            };
            let ratios = || {
                rows()
                    .filter(|r| r.1.feasible)
                    .map(|(case, r)| self.ratio(case, r))
            };
            let seconds = || rows().map(|r| r.1.seconds);
            println!(
                "| {} | {}/{} | {} | {} | {} | {} |",
                name(engine),
                ratios().count(),
                rows().count(),
                shown(mean(ratios()), 3),
                shown(ratios().reduce(f64::max), 3),
                shown(mean(seconds()), 3),
                shown(seconds().reduce(f64::max), 3),
            );
        }
    }

    /// Returns the lowest feasible cost of all peers, and its engine, for each seed that has one.
    fn rivals(&self, rows: &[Result]) -> BTreeMap<u64, (u64, String)> {
        let mut best = BTreeMap::new();
        for row in rows.iter().filter(|r| r.feasible && !is_ours(&r.engine)) {
            let entry = best.entry(row.seed).or_insert((u64::MAX, String::new()));
            if row.cost < entry.0 {
                *entry = (row.cost, row.engine.clone());
            }
        }
        best
    }

    fn print_cases(&self) {
        let ours: Vec<&String> = self.engines.iter().filter(|e| is_ours(e)).collect();
        let Some(last) = ours.last() else { return };
        let heads: Vec<String> = ours.iter().map(|e| name(e)).collect();
        println!(
            "\n| network and machine | best known | {} | best peer of each seed | lower bound | gap | proved |",
            heads.join(" | ")
        );
        println!("|---|---|{}---|---|---|---|", "---|".repeat(ours.len()));
        for (case, rows) in &self.cases {
            let of = |engine: &str| {
                let engine = engine.to_owned();
                rows.iter().filter(move |r| r.engine == engine)
            };
            let best =
                mean(of(last).filter_map(|r| self.known.cost(case, r.seed).map(|c| c as f64)));
            let own: Vec<String> = ours
                .iter()
                .map(|e| {
                    let ratio = mean(of(e).map(|r| self.ratio(case, r)));
                    let cost = mean(of(e).map(|r| r.cost as f64));
                    format!("{} ({})", shown(cost, 0), shown(ratio, 3))
                })
                .collect();
            let rivals = self.rivals(rows);
            let rival = mean(rivals.values().map(|r| r.0 as f64));
            let who: std::collections::BTreeSet<String> =
                rivals.values().map(|r| name(&r.1)).collect();
            let who: Vec<String> = who.into_iter().collect();
            let bound = mean(of(last).map(|r| r.bound as f64)).unwrap_or(0.0);
            let gap =
                mean(of(last).map(|r| {
                    (r.cost.saturating_sub(r.bound)) as f64 / r.cost.max(1) as f64 * 100.0
                }));
            println!(
                "| {case} | {} | {} | {} {} | {bound:.0} | {}% | {}/{} |",
                shown(best, 0),
                own.join(" | "),
                shown(rival, 0),
                who.join(", "),
                shown(gap, 0),
                of(last).filter(|r| r.proved).count(),
                of(last).count(),
            );
        }
    }

    /// Prints a summary of the tables in sentences.
    fn print_claims(&self) {
        println!();
        for engine in self.engines.iter().filter(|e| is_ours(e)) {
            let (mut no_worse, mut cases, mut behind) = (0, 0, Vec::new());
            let (mut far, mut broken) = (Vec::new(), 0);
            for (case, rows) in &self.cases {
                let own: Vec<&Result> = rows.iter().filter(|r| &r.engine == engine).collect();
                let rivals = self.rivals(rows);
                broken += own.iter().filter(|r| !r.feasible).count();
                let pairs = || {
                    let pair = |r: &&Result| Some((r.cost as f64, rivals.get(&r.seed)?.0 as f64));
                    own.iter().filter_map(pair)
                };
                if let (Some(a), Some(b)) = (mean(pairs().map(|p| p.0)), mean(pairs().map(|p| p.1)))
                {
                    cases += 1;
                    if a <= b {
                        no_worse += 1;
                    } else {
                        behind.push(format!("`{case}` ({:+.2}%)", 100.0 * (a / b - 1.0)));
                    }
                }
                let ratio = mean(own.iter().map(|r| self.ratio(case, r))).unwrap_or(1.0);
                if ratio > 1.02 {
                    far.push(format!("`{case}` ({:+.1}%)", 100.0 * (ratio - 1.0)));
                }
            }
            let list = |list: Vec<String>| match list.len() {
                0 => "none".to_owned(),
                _ => list.join(", "),
            };
            if cases > 0 {
                println!(
                    "- {}: mean `J` no worse than the best feasible peer of each seed on {no_worse} of {cases} networks; behind on {}.",
                    name(engine),
                    list(behind)
                );
            }
            println!(
                "- {}: more than 2% above the best known on {}; over the balance bound in {broken} runs.",
                name(engine),
                list(far)
            );
        }
    }

    /// Prints the proofs, one row for each case, for the suite `exact`.
    pub fn print_proofs(&self) {
        println!(
            "\n| network and machine | runs | proved | longest CPU s | nothing within the bound |"
        );
        println!("|---|---|---|---|---|");
        let (mut all, mut proved, mut longest) = (0, 0, 0.0_f64);
        for (case, rows) in &self.cases {
            let rows: Vec<&Result> = rows.iter().filter(|r| is_ours(&r.engine)).collect();
            let done = rows.iter().filter(|r| r.proved).count();
            let time = rows.iter().map(|r| r.seconds).fold(0.0, f64::max);
            let raised = rows.iter().filter(|r| r.raised.is_some()).count();
            let shown = rows.iter().filter(|r| r.raised == Some(true)).count();
            let text = match raised {
                0 => "-".to_owned(),
                _ => format!("{raised}, proved of {shown}"),
            };
            println!("| {case} | {} | {done} | {time:.3} | {text} |", rows.len());
            all += rows.len();
            proved += done;
            longest = longest.max(time);
        }
        println!("\n{proved} of {all} proved, in {longest:.3} s of CPU at most.");
    }
}

fn name(engine: &str) -> String {
    match engine.split_once('@') {
        Some((strategy, rest)) => {
            let (time, threads) = match rest.split_once('x') {
                Some((time, threads)) => (time, format!(", {threads} threads")),
                None => (rest, String::new()),
            };
            match time.parse::<u64>() {
                Ok(ms) if ms >= 1000 && ms % 1000 == 0 => {
                    format!("`{strategy}`, {} s{threads}", ms / 1000)
                }
                _ => format!("`{strategy}`, {time} ms{threads}"),
            }
        }
        None => match engine {
            "metis-k" => "METIS k-way",
            "metis-r" => "METIS recursive",
            "scotch" => "Scotch",
            "kahip-fast" => "KaHIP fast",
            "kahip-eco" => "KaHIP eco",
            "kahip-strong" => "KaHIP strong",
            "mtkahypar" => "Mt-KaHyPar",
            "mtkahypar-q" => "Mt-KaHyPar, highest quality",
            "kaminpar" => "KaMinPar",
            "sharedmap-f" => "SharedMap fast",
            "sharedmap-e" => "SharedMap eco",
            "sharedmap-s" => "SharedMap strong",
            other => other,
        }
        .to_owned(),
    }
}

fn is_ours(engine: &str) -> bool {
    let name = engine.split('@').next().unwrap_or(engine);
    graphmap_partition::strategies().any(|s| s.name == name)
}
