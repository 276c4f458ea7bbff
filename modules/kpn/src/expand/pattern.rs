//! Repetition of a declared channel.

use super::limit::LIMIT;
use super::scopes::{ScopeId, Scopes, digits, flat};
use crate::codes;
use crate::declared::{At, ChannelDecl, ChannelExtra, Declared, EndDecl};
use crate::diagnostic::{Diagnostic, Diagnostics};

/// Repetition of a channel: the scopes that contain both ends, and the scopes of each end alone.
pub(super) struct Pattern {
    shared: Vec<u64>,
    step: Vec<i64>,
    wrap: bool,
    beyond: bool,
    /// True if neither end is the environment.
    inside: bool,
    from_own: Vec<u64>,
    to_own: Vec<u64>,
    from: Picked,
    to: Picked,
    paired: bool,
}

/// Returns the product of `replicas`, which is the number of instances of nested scopes. It is 1
/// for an empty slice.
///
/// Saturates, because the number is not limited if an enclosing scope has no instances.
fn product(replicas: &[u64]) -> u64 {
    replicas.iter().fold(1, |n, &r| n.saturating_mul(r))
}

/// Returns the first scope, outermost first, whose step leads past the end from every instance. The
/// result is its number of instances and its step.
///
/// Returns `None` if there is no such scope. A scope with a single instance is not reported: no
/// step fits it, and the graph may be meant for other numbers too.
fn too_wide(shared: &[u64], step: &[i64]) -> Option<(u64, i64)> {
    let mut levels = shared.iter().copied().zip(step.iter().copied());
    levels.find(|&(n, step)| n >= 2 && step.unsigned_abs() >= n)
}

/// Selected instances of the scopes of one end alone, as a range of flat numbers.
pub(super) type Picked = std::ops::Range<u64>;

impl Pattern {
    /// Returns the repetition of a channel with the properties `extra`. Adds a warning to
    /// `diagnostics` if `at=` or `step=` has no effect. The numbers of `step=` belong to the
    /// innermost shared scopes.
    ///
    /// # Errors
    /// Returns an error if `step=` has too many numbers (`G0252`), if both ends are repeated
    /// independently without `at=` (`G0251`), if `at=each` joins different numbers of instances
    /// (`G0254`), or if `at=N` is out of range at a repeated end (`G0253`).
    pub(super) fn of(
        channel: &ChannelDecl,
        extra: &ChannelExtra,
        declared: &Declared,
        scopes: &Scopes,
        diagnostics: &mut Diagnostics,
    ) -> Result<Pattern, Box<Diagnostic>> {
        let inside = channel.from.node.is_some() && channel.to.node.is_some();
        // The environment is in the scopes around the declaration.
        let path = |end: EndDecl, other: EndDecl| match other.node {
            Some(_) if end.node.is_none() => scopes.around(channel),
            _ => scopes.node_path(end.node),
        };
        let from = path(channel.from, channel.to);
        let to = path(channel.to, channel.from);
        let depth = from.iter().zip(to).take_while(|(a, b)| a == b).count();
        // Scopes of the environment alone repeat nothing.
        let own = |end: EndDecl, path: &[ScopeId]| match end.node {
            Some(_) => scopes.replicas(&path[depth..]),
            None => Vec::new(),
        };
        let steps = if inside { depth } else { 0 };
        let span = if extra.span.is_none() {
            channel.span
        } else {
            extra.span
        };
        let at_name = |end: EndDecl| {
            end.node
                .map_or("NULL", |n| declared.name(declared.nodes[n].name))
        };
        let (from_name, to_name) = (at_name(channel.from), at_name(channel.to));
        if extra.step.len() > steps {
            let message = if steps == 0 {
                format!(
                    "`step=` joins `{from_name}` and `{to_name}`, which share no repeated module"
                )
            } else {
                format!(
                    "`step=` has {} numbers, but `{from_name}` and `{to_name}` share only {steps} repeated module{}",
                    extra.step.len(),
                    if steps == 1 { "" } else { "s" }
                )
            };
            return Err(Box::new(
                Diagnostic::error(codes::STEP_WITHOUT_SCOPE, message)
                    .at(span, "")
                    .help(
                        "use `step=` only inside a cluster or a node with `replicas=`, with at \
                         most one number for each",
                    )
                    .help("use `at=` to join an end outside the repeated module"),
            ));
        }
        let (from_own, to_own) = (own(channel.from, from), own(channel.to, to));
        let stated = extra.from_at.is_some() || extra.to_at.is_some();
        if stated && from_own.is_empty() && to_own.is_empty() {
            let (message, help) = if inside || depth == 0 {
                let message = format!(
                    "`at=` has no effect: neither `{from_name}` nor `{to_name}` is repeated without the other"
                );
                let help =
                    "remove `at=`, or use `step=` to reach another instance of the same module";
                (message, help)
            } else {
                let name = if channel.from.node.is_some() {
                    from_name
                } else {
                    to_name
                };
                let message = format!(
                    "`at=` has no effect: `{name}` is not repeated inside the cluster of this edge"
                );
                let help = "write the edge outside of the cluster to select one of its instances";
                (message, help)
            };
            diagnostics.push(
                Diagnostic::warning(codes::AT_WITHOUT_EFFECT, message)
                    .at(span, "")
                    .help(help),
            );
        }
        let both = !from_own.is_empty() && !to_own.is_empty();
        let (count_from, count_to) = (product(&from_own), product(&to_own));
        let each = extra.from_at == Some(At::Each) || extra.to_at == Some(At::Each);
        if both && !stated {
            let mut error = Diagnostic::error(
                codes::AMBIGUOUS_REPETITION,
                format!(
                    "`{from_name}` and `{to_name}` are repeated independently, and `at=` is missing"
                ),
            )
            .at(channel.span, "this edge stands for several channels");
            if count_from == count_to {
                error = error.help(
                    "use `at=each` to join the first with the first, the second with the second",
                );
            }
            return Err(Box::new(
                error
                    .help(
                        "use `at=all` with `bundle=broadcast`, `scatter`, `switch` or `share`, to join each \
                         instance to each",
                    )
                    .help(
                        "use `at=\"last,first\"` to join one instance of each, and join the others by \
                         separate edges",
                    ),
            ));
        }
        if both && each && count_from != count_to {
            return Err(Box::new(
                Diagnostic::error(
                    codes::EACH_COUNTS_DIFFER,
                    format!(
                        "`at=each` needs equal numbers of instances, but `{from_name}` has \
                         {count_from} and `{to_name}` has {count_to}"
                    ),
                )
                .at(span, "")
                .help("set the same `replicas=` at both ends")
                .help("or use `at=all` with `bundle=broadcast`, `scatter`, `switch` or `share`"),
            ));
        }
        let pick = |at: Option<At>, own: &[u64], count: u64, name: &str| match at {
            _ if own.is_empty() => Ok(0..1),
            None | Some(At::All | At::Each) => Ok(0..count),
            Some(At::First) => Ok(0..count.min(1)),
            Some(At::Last) => Ok(count.saturating_sub(1)..count),
            Some(At::Index(i)) if i >= 1 && u64::from(i) <= count => {
                Ok(u64::from(i) - 1..u64::from(i))
            }
            Some(At::Index(i)) => Err(Box::new(
                Diagnostic::error(
                    codes::AT_OUT_OF_RANGE,
                    format!(
                        "`at={i}` is out of range: `{name}` has {count} instance{}",
                        if count == 1 { "" } else { "s" }
                    ),
                )
                .at(span, "")
                .help("use a number from 1, or `at=last` for the last instance"),
            )),
        };
        let mut writers = pick(extra.from_at, &from_own, count_from, from_name)?;
        let mut readers = pick(extra.to_at, &to_own, count_to, to_name)?;
        let paired = both && each;
        if paired {
            // The selections of both ends apply to the pairs.
            writers.start = writers.start.max(readers.start);
            writers.end = writers.end.min(readers.end).max(writers.start);
            readers = writers.clone();
        }
        let mut step: Vec<i64> = vec![0; depth - extra.step.len()];
        step.extend(extra.step.iter().map(|&s| i64::from(s)));
        let shared = scopes.replicas(&from[..depth]);
        if !extra.wrap
            && !extra.beyond
            && let Some((n, step)) = too_wide(&shared, &step)
        {
            let message = format!("`step={step}` has no effect: there are only {n} instances");
            diagnostics.push(
                Diagnostic::warning(codes::AT_WITHOUT_EFFECT, message)
                    .at(span, "")
                    .help(
                        "correct `step=` or `replicas=`, or add `beyond=NULL` to close the ports",
                    ),
            );
        }
        Ok(Pattern {
            shared,
            step,
            wrap: extra.wrap,
            beyond: extra.beyond,
            from: writers,
            to: readers,
            paired,
            inside,
            from_own,
            to_own,
        })
    }

    /// Returns true if a reader has at most one channel only because its repeated writer has at
    /// most one instance. With more instances, the reader would have a channel from each of them.
    ///
    /// `extra` contains the properties that the repetition was created from. Returns false if
    /// instances are paired (`at=each`), and if `at=` selects one instance of the writer.
    pub(super) fn has_lone_writer(&self, extra: &ChannelExtra) -> bool {
        let all = matches!(extra.from_at, None | Some(At::All));
        all && !self.paired && !self.from_own.is_empty() && product(&self.from_own) <= 1
    }

    /// Returns true if exactly one end has no instances in the scopes that contain this end alone.
    /// Returns false if an end is the environment.
    pub(super) fn is_vacant(&self) -> bool {
        let [from, to] = [&self.from_own, &self.to_own].map(|own| product(own) == 0);
        self.inside && from != to
    }

    /// Returns the selected instances of one end, if the other end has none. Instances whose step
    /// leads past the end are omitted. If no end or both ends lack instances, the iterator is
    /// empty.
    ///
    /// An item is a flat instance number of the writer (first) or of the reader (second). The other
    /// entry is `None`.
    pub(super) fn vacancies(&self) -> impl Iterator<Item = (Option<u64>, Option<u64>)> {
        let shared = if self.is_vacant() {
            product(&self.shared)
        } else {
            0
        };
        let (from_count, to_count) = (product(&self.from_own), product(&self.to_own));
        (0..shared).flat_map(move |instance| {
            // No instance of an end without instances. At the other end, the instances that would
            // be joined.
            let picked = |picked: &Picked, count: u64, way: i64| match self.shifted(instance, way) {
                Some(_) => picked.start.min(count)..picked.end.min(count),
                None => 0..0,
            };
            let from = picked(&self.from, from_count, 1);
            let to = picked(&self.to, to_count, -1);
            let from = from.map(move |i| (Some(instance * from_count + i), None));
            from.chain(to.map(move |j| (None, Some(instance * to_count + j))))
        })
    }

    /// Returns an upper bound of the number of channels and of ports joined to the environment. The
    /// bound is at most one more than [`LIMIT`].
    pub(super) fn most(&self) -> u64 {
        let len = |picked: &Picked| picked.end - picked.start;
        // An end without instances counts for the port that is closed at the other end.
        let vacant = |picked| len(picked).max(u64::from(self.is_vacant()));
        let to = if self.paired { 1 } else { vacant(&self.to) };
        product(&self.shared)
            .saturating_mul(vacant(&self.from))
            .saturating_mul(to)
            .saturating_mul(1 + u64::from(self.beyond))
            .min(LIMIT + 1)
    }

    /// Returns the flat instance numbers of writer and reader, for each channel. They are ordered
    /// by instance of the shared scopes, then by writer, then by reader.
    ///
    /// Instances of the shared scopes from which the step leads past the end have no channels.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (u64, u64)> {
        let shared = product(&self.shared);
        let (from_count, to_count) = (product(&self.from_own), product(&self.to_own));
        (0..shared).flat_map(move |instance| {
            let there = self.shifted(instance, 1);
            let froms = if there.is_some() {
                self.from.clone()
            } else {
                0..0
            };
            froms.flat_map(move |i| {
                let to = if self.paired {
                    i..i + 1
                } else {
                    self.to.clone()
                };
                let there = there.unwrap_or(0);
                to.map(move |j| (instance * from_count + i, there * to_count + j))
            })
        })
    }

    /// Returns the writers and readers that `beyond=NULL` joins to the environment. Without
    /// `beyond=NULL`, the iterator is empty.
    ///
    /// An item is a flat instance number of a writer (first) or of a reader (second). The other
    /// entry is `None`. For these writers, the step leads past the end. For these readers, no step
    /// leads to them.
    pub(super) fn beyond(&self) -> impl Iterator<Item = (Option<u64>, Option<u64>)> {
        let shared = if self.beyond {
            product(&self.shared)
        } else {
            0
        };
        let (from_count, to_count) = (product(&self.from_own), product(&self.to_own));
        (0..shared).flat_map(move |instance| {
            let picked = |there: Option<u64>, picked: &Picked| {
                if there.is_none() {
                    picked.clone()
                } else {
                    0..0
                }
            };
            let from = picked(self.shifted(instance, 1), &self.from);
            let to = picked(self.shifted(instance, -1), &self.to);
            let from = from.map(move |i| (Some(instance * from_count + i), None));
            from.chain(to.map(move |j| (None, Some(instance * to_count + j))))
        })
    }

    /// Returns the instance of the shared scopes to which a step leads from `instance`. `way` is 1
    /// for a step forward and -1 for a step back.
    ///
    /// With `wrap=true`, the step continues at the other end. Otherwise, returns `None` past the
    /// end. Panics if a shared scope has no instances.
    fn shifted(&self, instance: u64, way: i64) -> Option<u64> {
        let mut there = digits(instance, &self.shared);
        for ((digit, &n), &step) in there.iter_mut().zip(&self.shared).zip(&self.step) {
            let moved = *digit as i64 + way * step;
            *digit = if self.wrap {
                moved.rem_euclid(n as i64) as u64
            } else if (0..n as i64).contains(&moved) {
                moved as u64
            } else {
                return None;
            };
        }
        Some(flat(&there, &self.shared))
    }
}
