//! Limits on the cost of rendering. Skeletons are programs of a user. Without limits, partials
//! that include each other twice could run forever, and blocks that double their data could exhaust
//! the memory.
//!
//! Handlebars has no counters. So each template, and each block in it, gets a first element that
//! writes no text and spends the budget. Helpers spend it in proportion to their output.

use handlebars::template::{Template, TemplateElement};
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, Output, RenderContext, RenderError,
    RenderErrorReason, ScopedJson,
};
use serde_json::Value as Json;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of steps to render a small network. Steps are elements of templates, values
/// passed to partials, and bytes written by helpers. This many steps take seconds.
const MOST_STEPS: u64 = 100_000_000;
/// Number of additional steps for each value of the model.
const STEPS_A_VALUE: u64 = 1000;
/// Maximum number of values that can be passed to a partial. For a large model, the limit is twice
/// the number of its values.
const MOST_VALUES: u64 = 1 << 18;
/// Steps to include a partial, in addition to the values passed to it.
const INCLUDE: u64 = 2000;
/// Maximum length in bytes of a rendered text.
const LONGEST_TEXT: usize = 256 << 20;

/// Name of the helper. A user's template cannot call it, because of the control character.
const SPEND: &str = "\u{1}spend";

/// Remaining budget, which clones share.
#[derive(Clone, Default)]
pub(crate) struct Budget(Arc<Left>);

#[derive(Default)]
struct Left {
    steps: AtomicU64,
    /// Maximum number of values that can be passed to a partial.
    values: AtomicU64,
}

impl Budget {
    /// Resets the budget for a rendering of `seen`: the number of steps, and the number of values
    /// that can be passed to a partial. Both grow with the number of values in `seen`, from a
    /// minimum for small ones.
    pub(crate) fn renew(&self, seen: &Json) {
        let seen = values(seen);
        let steps = MOST_STEPS.saturating_add(STEPS_A_VALUE.saturating_mul(seen));
        self.0.steps.store(steps, Ordering::Relaxed);
        let most = MOST_VALUES.max(2 * seen);
        self.0.values.store(most, Ordering::Relaxed);
    }

    fn spend(&self, steps: u64) -> Result<(), RenderError> {
        // Only one thread renders at a time. Concurrent renderings would share the budget.
        let left = self.0.steps.load(Ordering::Relaxed).checked_sub(steps);
        self.0.steps.store(left.unwrap_or(0), Ordering::Relaxed);
        match left {
            Some(_) => Ok(()),
            None => Err(over(
                "it takes too many steps: check for partials that include each other repeatedly",
            )),
        }
    }

    /// Spends the cost of a copy of the data for a partial. Returns an error if the budget does not
    /// suffice, or if the copy has more values than can be passed to a partial.
    fn copy(&self, copy: &Json) -> Result<(), RenderError> {
        let values = values(copy);
        self.spend(INCLUDE + values)?;
        match values > self.0.values.load(Ordering::Relaxed) {
            true => Err(over("a partial is given more data than the model has")),
            false => Ok(()),
        }
    }

    /// Spends the cost of a template or block. Called for its first element, `spend ELEMENTS
    /// WHOLE`. If `WHOLE` is true, also spends the cost of the copy that a partial has of its data.
    /// Returns an error if the budget does not suffice.
    fn begin(&self, helper: &Helper<'_>, render: &RenderContext<'_, '_>) -> HelperResult {
        let elements = helper.param(0).and_then(|p| p.value().as_u64());
        self.spend(elements.unwrap_or(1))?;
        let whole = helper
            .param(1)
            .is_some_and(|p| p.value() == &Json::Bool(true));
        // A partial has a copy of its data.
        match render.block().and_then(|block| block.base_value()) {
            Some(copy) if whole => self.copy(copy),
            _ => Ok(()),
        }
    }

    /// Registers the helper that spends the budget.
    pub(crate) fn register(&self, engine: &mut Handlebars<'_>) {
        let budget = self.clone();
        let spend = move |helper: &Helper<'_>,
                          _: &Handlebars<'_>,
                          _: &Context,
                          render: &mut RenderContext<'_, '_>,
                          _: &mut dyn Output| budget.begin(helper, render);
        engine.register_helper(SPEND, Box::new(spend));
    }

    /// Wraps a helper so that it spends the budget in proportion to its output. The wrapped helper
    /// returns an error if the budget does not suffice.
    pub(crate) fn of<H: HelperDef + Send + Sync + 'static>(
        &self,
        helper: H,
    ) -> Box<dyn HelperDef + Send + Sync> {
        Box::new(Counted {
            helper,
            budget: self.clone(),
        })
    }
}

/// Adds the elements that spend the budget to a template and to the blocks in it.
///
/// # Errors
/// Returns the message of Handlebars if it rejects the added element. Tests check that it does not.
pub(crate) fn count(template: &mut Template) -> Result<(), String> {
    count_block(template, true)
}

fn count_block(template: &mut Template, whole: bool) -> Result<(), String> {
    for element in &mut template.elements {
        if let TemplateElement::HelperBlock(helper) = element {
            let blocks = [&mut helper.template, &mut helper.inverse];
            for block in blocks.into_iter().flatten() {
                count_block(block, false)?;
            }
        }
    }
    let text = format!("{{{{spend {} {whole}}}}}", template.elements.len() + 1);
    let mut spend = Template::compile(&text).map_err(|error| error.to_string())?;
    let mut element = spend.elements.remove(0);
    if let TemplateElement::Expression(expression) = &mut element {
        expression.name = handlebars::template::Parameter::Name(SPEND.to_owned());
    }
    template.elements.insert(0, element);
    let place = template.mapping.first().cloned();
    template
        .mapping
        .insert(0, place.unwrap_or_else(|| spend.mapping.remove(0)));
    Ok(())
}

/// Returns the number of values in a value, including itself. A text counts as one value, and one
/// more for each 16 bytes. Names of fields do not count.
fn values(value: &Json) -> u64 {
    match value {
        Json::Array(list) => 1 + list.iter().map(values).sum::<u64>(),
        Json::Object(map) => 1 + map.values().map(values).sum::<u64>(),
        Json::String(text) => 1 + text.len() as u64 / 16,
        _ => 1,
    }
}

fn over(message: &str) -> RenderError {
    RenderErrorReason::Other(message.to_owned()).into()
}

struct Counted<H> {
    helper: H,
    budget: Budget,
}

impl<H: HelperDef> HelperDef for Counted<H> {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let made = self.helper.call_inner(helper, registry, context, render)?;
        self.budget.spend(values(made.as_json()))?;
        Ok(made)
    }

    fn call<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        registry: &'reg Handlebars<'reg>,
        context: &'rc Context,
        render: &mut RenderContext<'reg, 'rc>,
        out: &mut dyn Output,
    ) -> HelperResult {
        let mut out = Metered { out, written: 0 };
        self.helper
            .call(helper, registry, context, render, &mut out)?;
        let written = out.written;
        self.budget.spend(written)
    }
}

struct Metered<'o> {
    out: &'o mut dyn Output,
    written: u64,
}

impl Output for Metered<'_> {
    fn write(&mut self, text: &str) -> Result<(), io::Error> {
        self.written += text.len() as u64;
        self.out.write(text)
    }
}

/// Text of limited length.
#[derive(Default)]
pub(crate) struct Bounded(pub(crate) String);

impl Output for Bounded {
    fn write(&mut self, text: &str) -> Result<(), io::Error> {
        if self.0.len() + text.len() > LONGEST_TEXT {
            return Err(io::Error::other("its output is larger than 256 MiB"));
        }
        self.0.push_str(text);
        Ok(())
    }
}
