//! Parameters and arguments of nodes: `params=` and `args=`.

use super::keys::Key;
use super::reading::{ENVIRONMENT, INCLUDED, PORT, Reading, node_id, place};
use crate::events::Attribute;
use graphmap_kpn::arguments::{self, Argument, ArgumentList, Formula, INSTANCE, Parameter, Parsed};
use graphmap_kpn::codes::BAD_ARGUMENT;
use graphmap_kpn::declared::ArgumentsDecl;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::expression::Expression;
use graphmap_kpn::sizes::no_value;
use graphmap_kpn::source::Span;
use hashbrown::HashMap;
use std::sync::Arc;

/// `params=` and `args=` of a node.
#[derive(Clone, Default)]
struct Draft {
    parameters: Option<(Arc<[Parameter]>, Span)>,
    arguments: Option<(Vec<Argument>, Span)>,
    /// An attribute was malformed, which was reported.
    is_wrong: bool,
}

/// The parameters and arguments of the nodes of a file.
#[derive(Default)]
pub(super) struct Arguments {
    drafts: HashMap<u32, Draft>,
}

impl Arguments {
    /// Adds `params=` or `args=` to a node. Reports an invalid value. An empty value unsets the
    /// attribute.
    pub(super) fn key(
        &mut self,
        reading: &mut Reading<'_>,
        number: u32,
        key: Key,
        attribute: &Attribute,
    ) {
        let draft = self.drafts.entry(number).or_default();
        let list = reading.text.value(attribute.value).into_owned();
        let (place, span) = (place(attribute), attribute.value.span);
        if key == Key::Params {
            draft.parameters = match arguments::parameters(&list, place) {
                Ok(parameters) => (!parameters.is_empty()).then_some((parameters, span)),
                Err(error) => {
                    reading.report.push(*error);
                    draft.is_wrong = true;
                    None
                }
            };
            return;
        }
        draft.arguments = None;
        match reading.arguments(&list, attribute) {
            Some(arguments) if arguments.is_empty() => {}
            Some(arguments) => draft.arguments = Some((arguments, span)),
            None => draft.is_wrong = true,
        }
    }

    /// Declares the arguments of all nodes, in the order of the nodes.
    pub(super) fn finish(self, reading: &mut Reading<'_>) {
        let mut drafts: Vec<(u32, Draft)> = self.drafts.into_iter().collect();
        drafts.sort_unstable_by_key(|(number, _)| *number);
        for (number, draft) in drafts {
            let is_process = reading.flags[number as usize] & (PORT | INCLUDED | ENVIRONMENT) == 0;
            if !is_process
                || draft.is_wrong
                || (draft.parameters.is_none() && draft.arguments.is_none())
            {
                continue;
            }
            let span = draft.arguments.as_ref().map(|(_, span)| *span);
            let parameters_span = draft.parameters.as_ref().map(|(_, span)| *span);
            let at = span.or(parameters_span).unwrap_or(Span::NONE);
            reading.out.arguments.push(ArgumentsDecl {
                node: node_id(number),
                list: ArgumentList {
                    parameters: draft.parameters.map_or_else(|| [].into(), |(all, _)| all),
                    arguments: draft.arguments.map_or_else(Vec::new, |(all, _)| all),
                    parameters_span: parameters_span.unwrap_or(at),
                    span: at,
                },
            });
        }
    }
}

impl Reading<'_> {
    /// Parses the value of `args=`. Returns `None` after a report.
    fn arguments(&mut self, list: &str, attribute: &Attribute) -> Option<Vec<Argument>> {
        let place = place(attribute);
        let parsed = match arguments::arguments(list) {
            Ok(parsed) => parsed,
            Err(at) => {
                let message = format!("`{}` is not a text in single quotes", &list[at.clone()]);
                self.report.push(
                    Diagnostic::error(BAD_ARGUMENT, message)
                        .at(place.part(&at), "")
                        .help("end the text with a single quote, and write a quote in it twice"),
                );
                return None;
            }
        };
        let mut all = Vec::with_capacity(parsed.len());
        for one in parsed {
            let at = match one {
                Parsed::Value(value) => {
                    all.push(Argument::Value(value));
                    continue;
                }
                Parsed::Expression(at) => at,
            };
            let (text, place) = (&list[at.clone()], place.at_part(&at));
            if text.parse::<f64>().is_ok_and(|number| !number.is_finite()) && !self.is_size(text) {
                let message = format!("`{text}` is not a finite number");
                self.report
                    .push(Diagnostic::error(BAD_ARGUMENT, message).at(place.span, ""));
                return None;
            }
            self.evaluated += 1;
            let scope = self.scope as usize;
            let expression = match Expression::parse(text) {
                Ok(expression) => expression,
                Err(error) => {
                    self.report.push(no_value(text, place, &error));
                    return None;
                }
            };
            match self
                .sizes
                .values(scope, &expression, place, &[(INSTANCE, 0)])
            {
                Ok(Some(values)) => all.push(Argument::Formula(Box::new(Formula {
                    text: text.to_owned(),
                    place,
                    expression,
                    values,
                }))),
                Ok(None) => return None,
                Err(error) => {
                    self.report.push(*error);
                    return None;
                }
            }
        }
        Some(all)
    }
}
