//! Cases that once went wrong.

use graphmap_partition::{Channel, Constraint, Graph, Machine, Options, Problem, solve};

#[test]
fn a_pin_and_a_pair_apart_do_not_hide_the_optimum() {
    let channels = [Channel {
        from: 2,
        to: 0,
        traffic: 1,
    }];
    let graph = Graph::new(vec![1, 0, 3, 3, 3, 3], &channels).unwrap();
    let machine = Machine::regular(&[(3, 1), (2, 7)]).unwrap();
    let constraints = [
        Constraint::Apart {
            vertices: vec![1, 5],
            places: Vec::new(),
        },
        Constraint::Pin {
            vertex: 1,
            blocks: vec![5].into(),
        },
    ];
    let problem = Problem {
        constraints: &constraints,
        ..Problem::new(&graph, &machine)
    };
    let options = Options {
        steps: 20_000,
        ..Options::default()
    };
    let found = solve(&problem, &options).unwrap();
    assert_eq!(
        found.minimised, 1,
        "{:?} {:?} {:?}",
        found.block_of, found.raised, found.log
    );
}
