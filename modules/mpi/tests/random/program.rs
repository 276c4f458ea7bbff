//! Programs and their steps.

use std::fmt;

use mpi::topology::SimpleCommunicator;

use super::chance::Chance;
use super::element::ELEMENTS;
use super::step_context::StepContext;
use super::{collective, communicators, datatypes, messages, probes, reductions, requests};

/// Kind of step: its name, and the function that every rank of a communicator calls.
pub(crate) type Kind = (&'static str, fn(&mut StepContext));

/// Kinds of steps by file. All files are equally likely, and all kinds of a file.
const KINDS: [&[Kind]; 7] = [
    &messages::KINDS,
    &probes::KINDS,
    &requests::KINDS,
    &collective::KINDS,
    &reductions::KINDS,
    &communicators::KINDS,
    &datatypes::KINDS,
];

/// Step of a program.
#[derive(Debug)]
pub(crate) struct Step {
    /// Number of the step, which does not depend on steps that are omitted.
    pub(crate) number: usize,
    pub(crate) seed: u64,
    /// Selects one of the communicators that exist at the step.
    communicator: usize,
    pub(crate) element: &'static str,
    kind: Kind,
}

/// Steps of a program.
#[derive(Debug)]
pub(crate) struct Program {
    seed: u64,
    steps: Vec<Step>,
}

/// Specification of a program: its seed, and the steps to omit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    /// Seed of the program.
    pub(crate) seed: u64,
    /// Numbers of the steps to omit.
    pub(crate) without: Vec<usize>,
}

impl fmt::Display for Spec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.seed)?;
        self.without
            .iter()
            .try_for_each(|step| write!(f, "-{step}"))
    }
}

impl Spec {
    /// Parses `FIRST..LAST`, which excludes `LAST`, or `SEED-3-5`, a program without steps 3 and 5.
    pub(crate) fn parse(text: &str) -> Option<Vec<Spec>> {
        if let Some((first, last)) = text.split_once("..") {
            let seeds = first.parse::<u64>().ok()?..last.parse().ok()?;
            let whole = |seed| Spec {
                seed,
                without: Vec::new(),
            };
            return Some(seeds.map(whole).collect());
        }
        let mut numbers = text.split('-');
        let seed = numbers.next()?.parse().ok()?;
        let without = numbers.map(str::parse).collect::<Result<_, _>>().ok()?;
        Some(vec![Spec { seed, without }])
    }
}

impl Program {
    /// Returns the program of a specification.
    pub(crate) fn new(spec: &Spec) -> Program {
        let mut chance = Chance::new(spec.seed);
        let length = 8 + chance.below(10);
        let steps = (0..length).map(|number| {
            let file = chance.pick(&KINDS);
            Step {
                number,
                seed: chance.next(),
                communicator: chance.below(1000),
                element: chance.pick(&ELEMENTS),
                kind: chance.pick(file),
            }
        });
        // Steps are omitted after all are drawn, so that the others do not change.
        let steps = steps.collect::<Vec<_>>().into_iter();
        let steps = steps.filter(|step| !spec.without.contains(&step.number));
        Program {
            seed: spec.seed,
            steps: steps.collect(),
        }
    }

    /// Returns the numbers of the steps.
    pub(crate) fn steps(&self) -> impl Iterator<Item = usize> {
        self.steps.iter().map(|step| step.number)
    }

    /// Takes all steps, and passes the log of this rank to `tell`, line by line.
    pub(crate) fn run(&self, world: &SimpleCommunicator, mut tell: impl FnMut(&str)) {
        // Includes communicators without this rank, so that all ranks use the same numbers.
        let mut communicators: Vec<Option<SimpleCommunicator>> = Vec::new();
        for step in &self.steps {
            // About half of the steps use the world.
            let which = step.communicator % (2 * communicators.len() + 1);
            let of = communicators.get(which).map_or(Some(world), Option::as_ref);
            let named = if which < communicators.len() {
                which as i64
            } else {
                -1
            };
            let mut made = None;
            if let Some(comm) = of {
                let mut context = StepContext::new(step, comm);
                step.kind.1(&mut context);
                let place = format!(
                    "{} {} in {named} as {}",
                    step.number, step.kind.0, context.me
                );
                for line in &context.seen {
                    tell(&format!("{place}: {line}"));
                }
                made = context.made.take();
            }
            if communicators::makes(&step.kind) {
                communicators.push(made);
            }
        }
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "program {}", self.seed)?;
        for step in &self.steps {
            let (number, name, element) = (step.number, step.kind.0, step.element);
            writeln!(
                f,
                "{number:4} {name} of {element}, communicator {}",
                step.communicator
            )?;
        }
        Ok(())
    }
}
