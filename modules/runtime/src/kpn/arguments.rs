//! Arguments of processes: values of the parameters of their kind, as texts.

use std::str::FromStr;

use super::column::{Column, runs};
use super::connect::Ends;
use super::network::{Kind, Network};

/// Values of a parameter for the members of a kind.
#[derive(Debug, Clone, Copy)]
pub enum Values<'a> {
    /// The same value for all members.
    Same(&'a str),
    /// Whole numbers, as runs: `7+2*3 1` is 7, 9, 11, 1. Numbers may be negative.
    Runs(&'a str),
    /// The values in the order of the members.
    Listed(&'a [&'a str]),
}

impl Network {
    /// Sets the values of a parameter of a kind, which [`Ends::argument`] returns. Replaces values
    /// that were set before. If they are not as many as the members, or are malformed,
    /// [`run`](crate::run) reports the error.
    ///
    /// ```
    /// # use graphmap_runtime as rt;
    /// # struct None;
    /// struct Worker { seed: u64 }
    /// impl rt::Ports for Worker {
    ///     fn connect(ends: &mut rt::Ends<'_>) -> Self {
    ///         Worker { seed: ends.argument("seed") }
    ///     }
    /// }
    /// let mut net = rt::Network::new("net", "net.dot");
    /// let names = rt::Names::Numbered("worker", "1+1*3");
    /// let worker = net.kind("worker", names, "0+1*3", &[], |p: Worker| async move {
    ///     assert_eq!(p.seed, 7 + 2 * rt::me().index as u64);
    /// });
    /// net.arguments(worker, "seed", rt::Values::Runs("7+2*3"));
    /// rt::run(net, &rt::Options::new()).unwrap();
    /// ```
    pub fn arguments(&mut self, kind: Kind, parameter: &str, values: Values<'_>) {
        let column = match values {
            Values::Same(value) => Some(Column::Same(value.to_string())),
            Values::Listed(values) => {
                let values = values.iter().map(|value| value.to_string());
                Some(Column::Listed(values.collect()))
            }
            Values::Runs(text) => runs(text).map(Column::Runs),
        };
        let Some(table) = self.kinds.get_mut(kind.number()) else {
            let error = "arguments for a kind of another network".to_string();
            return self.errors.push(error);
        };
        let (name, members) = (&table.name, table.ranks.len());
        let error = match &column {
            None => "the values are not runs of whole numbers".to_string(),
            Some(column) => match column.len() {
                Some(count) if count != members => format!("{count} values for {members} members"),
                _ => String::new(),
            },
        };
        if !error.is_empty() {
            let error = format!("argument `{parameter}` of kind {name}: {error}");
            self.errors.push(error);
        }
        let Some(column) = column else {
            return;
        };
        let mut known = table.arguments.iter_mut();
        match known.find(|(name, _)| name == parameter) {
            Some((_, values)) => *values = column,
            None => table.arguments.push((parameter.to_string(), column)),
        }
    }
}

impl Ends<'_> {
    /// Returns the argument of this process for a parameter of its kind. Returns the default value,
    /// and the run fails, if the kind has no such parameter or the value is of another type.
    pub fn argument<T: FromStr + Default>(&mut self, parameter: &str) -> T {
        let column = self.arguments.iter().find(|(name, _)| name == parameter);
        let value = column.and_then(|(_, column)| column.get(self.member as usize));
        let error = match value {
            None => format!("the graph has no argument `{parameter}`"),
            Some(value) => match value.parse() {
                Ok(value) => return value,
                Err(_) => {
                    let ty = std::any::type_name::<T>();
                    format!(
                        "argument `{parameter}` is {value:?} in the graph, but a {ty} in the struct"
                    )
                }
            },
        };
        if self.errors.len() < 20 {
            self.errors.push(error);
        }
        T::default()
    }
}
