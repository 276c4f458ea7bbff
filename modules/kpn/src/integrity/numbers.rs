//! Checks numbers.

use super::{Check, shown};
use crate::arena::Id;
use crate::declared::Constraint;
use crate::network::{Channel, ChannelId, Process, ProcessId, Terms};

#[inline]
fn is_amount(number: f64) -> bool {
    // Comparisons with NaN are false.
    (0.0..f64::INFINITY).contains(&number)
}

const AMOUNT: &str = "it must be finite and at least 0";

impl Check<'_> {
    #[inline]
    pub(super) fn process_numbers(&mut self, id: ProcessId, process: &Process) {
        if is_amount(process.load) && is_amount(process.mem) {
            return;
        }
        for (what, number) in [("load", process.load), ("mem", process.mem)] {
            if !is_amount(number) {
                self.number(process.span, |n| {
                    let name = shown(n, process.name);
                    let rank = id.index();
                    format!("`{what}` of process `{name}` (rank {rank}) is {number}; {AMOUNT}")
                });
            }
        }
    }

    /// Reports terms that do not exist, and an invalid traffic, capacity or tag of a channel.
    /// Nearly all numbers are valid, so this path is short.
    #[inline]
    pub(super) fn channel_numbers(&mut self, id: ChannelId, channel: &Channel) {
        let Some(&terms) = self.network.terms.get(channel.terms) else {
            return self.part(channel.span, |_| {
                format!("channel {} refers to terms that do not exist", id.index())
            });
        };
        if !is_amount(channel.traffic) || terms.capacity == 0 || terms.tag.unwrap_or(0) < 0 {
            self.bad_channel(id, channel, terms);
        }
    }

    #[cold]
    fn bad_channel(&mut self, id: ChannelId, channel: &Channel, terms: Terms) {
        let (id, tag) = (id.index(), terms.tag.unwrap_or(0));
        let traffic = channel.traffic;
        if !is_amount(traffic) {
            self.number(channel.span, |_| {
                format!("`traffic` of channel {id} is {traffic}; {AMOUNT}")
            });
        }
        if terms.capacity == 0 {
            self.number(channel.span, |_| {
                format!("the capacity of channel {id} is 0; it must be at least 1")
            });
        }
        if tag < 0 {
            self.number(channel.span, |_| {
                format!("`tag` of channel {id} is {tag}; it must be at least 0")
            });
        }
    }

    pub(super) fn constraint_numbers(&mut self) {
        for constraint in &self.network.constraints {
            let span = constraint.declared.span;
            match constraint.declared.constraint {
                Constraint::Prefer(traffic) if !is_amount(traffic) => {
                    self.number(span, |_| format!("`prefer` is {traffic}; {AMOUNT}"));
                }
                Constraint::Hold { least, most } if least > most => {
                    self.number(span, |_| {
                        format!("`hold` has the minimum {least} and the maximum {most}")
                    });
                }
                _ => {}
            }
        }
    }
}
