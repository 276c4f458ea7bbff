//! Handing the ends of channels out to the ports of processes.

use std::any::TypeId;

use super::bundle::{Broadcast, Gather, Reduce, Scatter, Select, Share, Switch};
use super::end::End;
use super::flow::{Control, FlowInput, FlowOutput, FlowSelect, FlowShare};
use super::ports::{Input, Output};

/// The ports of a kind, as a struct.
///
/// ```
/// use graphmap_runtime::{Ends, Input, Output, Ports};
///
/// struct Filter {
///     input: Input<u64>,
///     output: Output<u64>,
/// }
///
/// impl Ports for Filter {
///     fn connect(ends: &mut Ends<'_>) -> Self {
///         Filter { input: ends.input(), output: ends.output() }
///     }
/// }
/// ```
pub trait Ports: Sized + 'static {
    /// Takes the ends of the ports, one call for each port, in the order of the kind's list.
    fn connect(ends: &mut Ends<'_>) -> Self;
}

/// A kind without ports.
impl Ports for () {
    fn connect(_ends: &mut Ends<'_>) -> Self {}
}

/// Frees a raw end of the type that it belongs to: it is not to be used again.
pub(super) type Free = unsafe fn(*mut u8);

/// The type of a port's tokens and its name, whether it is an input, and what frees an end.
pub(super) type PortType = (TypeId, &'static str, bool, Free);

/// Member, slot and end; null once it is taken.
pub(super) type Placed = (u32, u32, *mut u8);

/// The ends of one port of all members of a kind that live here.
#[derive(Default)]
pub(super) struct PortEnds {
    /// Sorted before use.
    pub(super) ends: Vec<Placed>,
    cursor: usize,
    pub(super) port: Option<PortType>,
}

impl Drop for PortEnds {
    fn drop(&mut self) {
        if let Some((.., free)) = self.port {
            for &(_, _, raw) in &self.ends {
                if !raw.is_null() {
                    // SAFETY: ends are nulled when they are taken.
                    unsafe { free(raw) };
                }
            }
        }
    }
}

/// What the members of a kind that live here have at one port.
#[derive(Default)]
pub(super) struct KindPort {
    pub(super) tokens: PortEnds,
    /// Where the port is flow-controlled: the ends of the channels of controls.
    pub(super) tells: PortEnds,
    pub(super) hears: PortEnds,
}

impl KindPort {
    pub(super) fn lists(&mut self) -> [&mut PortEnds; 3] {
        [&mut self.tokens, &mut self.tells, &mut self.hears]
    }
}

/// The ends of the channels of one process, handed out port by port to [`Ports::connect`].
pub struct Ends<'a> {
    pub(super) ports: &'a mut [KindPort],
    pub(super) names: &'a [String],
    pub(super) next: usize,
    pub(super) member: u32,
    pub(super) mistakes: &'a mut Vec<String>,
}

impl std::fmt::Debug for Ends<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ends")
            .field("ports", &self.names)
            .field("next", &self.next)
            .finish()
    }
}

impl Ends<'_> {
    /// How many ports are still to be connected.
    pub fn remaining(&self) -> usize {
        self.names.len() - self.next
    }

    /// Goes on to the next port, which is flow-controlled or not.
    fn advance(&mut self, flow: bool) {
        let at = self.next;
        self.next += 1;
        let Some(port) = self.ports.get(at).filter(|port| port.tokens.port.is_some()) else {
            return;
        };
        let is_flow = port.hears.port.is_some();
        if is_flow != flow && self.mistakes.len() < 20 {
            let is = |flow| if flow { "is" } else { "is not" };
            self.mistakes.push(format!(
                "port `{}` {} flow-controlled in the graph, but {} in the struct",
                self.names[at],
                is(is_flow),
                is(flow),
            ));
        }
    }

    /// Ends of the port that is being connected, which are the caller's to take; none if there is a mistake.
    fn ends<T: 'static>(
        &mut self,
        input: bool,
        of: impl FnOnce(&mut KindPort) -> &mut PortEnds,
    ) -> &mut [Placed] {
        let at = self.next - 1;
        let Some(port) = self.ports.get_mut(at).map(of) else {
            return &mut [];
        };
        let Some((token, token_name, is_input, _)) = port.port else {
            return &mut [];
        };
        if token != TypeId::of::<T>() || is_input != input {
            if self.mistakes.len() < 20 {
                let way = |input| if input { "an input" } else { "an output" };
                self.mistakes.push(format!(
                    "port `{}` is {} of {} in the graph, but {} of {} in the struct",
                    self.names[at],
                    way(is_input),
                    token_name,
                    way(input),
                    std::any::type_name::<T>(),
                ));
            }
            return &mut [];
        }
        let member = self.member;
        if port.ends.get(port.cursor).is_none_or(|end| end.0 != member) {
            port.cursor = port.ends.partition_point(|end| end.0 < member);
        }
        let ends = &mut port.ends[port.cursor..];
        let count = ends.iter().take_while(|end| end.0 == member).count();
        port.cursor += count;
        &mut ends[..count]
    }

    /// All ends of the port, in the order of their slots.
    fn all<T: 'static>(
        &mut self,
        input: bool,
        of: impl FnOnce(&mut KindPort) -> &mut PortEnds,
    ) -> impl Iterator<Item = End<T>> {
        self.ends::<T>(input, of).iter_mut().map(|placed| {
            let raw = std::mem::replace(&mut placed.2, std::ptr::null_mut());
            // SAFETY: the type was compared, and each end is taken once: a cursor does not come back.
            unsafe { End::from_raw(raw) }
        })
    }

    /// The next port, as its one end.
    fn one<T: 'static>(&mut self, input: bool) -> End<T> {
        self.advance(false);
        match self.ends::<T>(input, |port| &mut port.tokens) {
            [] => End::NONE,
            [placed] => {
                let raw = std::mem::replace(&mut placed.2, std::ptr::null_mut());
                // SAFETY: as in `all`.
                unsafe { End::from_raw(raw) }
            }
            more => {
                let count = more.len();
                self.too_many(count);
                End::NONE
            }
        }
    }

    #[cold]
    fn too_many(&mut self, count: usize) {
        if self.mistakes.len() < 20 {
            let name = &self.names[self.next - 1];
            self.mistakes.push(format!(
                "port `{name}` has {count} channels, but it is not a bundle"
            ));
        }
    }

    /// The next port, as the inputs of all its channels, in the order of their slots.
    pub fn inputs<T: 'static>(&mut self) -> Vec<Input<T>> {
        self.advance(false);
        self.all(true, |port| &mut port.tokens)
            .map(Input::new)
            .collect()
    }

    /// The next port, as the outputs of all its channels, in the order of their slots.
    pub fn outputs<T: 'static>(&mut self) -> Vec<Output<T>> {
        self.advance(false);
        self.all(false, |port| &mut port.tokens)
            .map(Output::new)
            .collect()
    }

    /// The next port, an input.
    pub fn input<T: 'static>(&mut self) -> Input<T> {
        Input::new(self.one(true))
    }

    /// The next port, an output.
    pub fn output<T: 'static>(&mut self) -> Output<T> {
        Output::new(self.one(false))
    }

    /// The next port, a select bundle.
    pub fn select<T: 'static>(&mut self) -> Select<T> {
        self.inputs().into()
    }

    /// The next port, a gather bundle.
    pub fn gather<T: 'static>(&mut self) -> Gather<T> {
        self.inputs().into()
    }

    /// The next port, a reduce bundle.
    pub fn reduce<T: 'static>(&mut self) -> Reduce<T> {
        self.inputs().into()
    }

    /// The next port, a share bundle.
    pub fn share<T: 'static>(&mut self) -> Share<T> {
        self.outputs().into()
    }

    /// The next port, a broadcast bundle.
    pub fn broadcast<T: 'static>(&mut self) -> Broadcast<T> {
        self.outputs().into()
    }

    /// The next port, a scatter bundle.
    pub fn scatter<T: 'static>(&mut self) -> Scatter<T> {
        self.outputs().into()
    }

    /// The next port, a switch bundle.
    pub fn switch<T: 'static>(&mut self) -> Switch<T> {
        self.outputs().into()
    }

    /// The ends of controls of the port that is being connected, in the order of their slots.
    fn controls(&mut self) -> impl Iterator<Item = (Output<Control>, Input<Control>)> + use<> {
        let tells = self.all(false, |port| &mut port.tells).map(Output::new);
        let tells: Vec<_> = tells.collect();
        let hears = self.all(true, |port| &mut port.hears).map(Input::new);
        let hears: Vec<_> = hears.collect();
        tells.into_iter().zip(hears)
    }

    /// The next port, as the flow-controlled inputs of all its channels, in the order of their slots.
    pub fn flow_inputs<T: 'static>(&mut self) -> Vec<FlowInput<T>> {
        self.advance(true);
        // An end that is none's yet frees nothing: where a zip passes one by, it has to be an input.
        let tokens = self.all(true, |port| &mut port.tokens).map(Input::new);
        let tokens: Vec<_> = tokens.collect();
        let ends = tokens.into_iter().zip(self.controls());
        ends.map(|(tokens, (tells, hears))| FlowInput::new(tokens, tells, hears))
            .collect()
    }

    /// The next port, as the flow-controlled outputs of all its channels, in the order of their slots.
    pub fn flow_outputs<T: 'static>(&mut self) -> Vec<FlowOutput<T>> {
        self.advance(true);
        let tokens = self.all(false, |port| &mut port.tokens).map(Output::new);
        let tokens: Vec<_> = tokens.collect();
        let ends = tokens.into_iter().zip(self.controls());
        ends.map(|(tokens, (tells, hears))| FlowOutput::new(tokens, tells, hears))
            .collect()
    }

    /// The next port, a flow-controlled input.
    pub fn flow_input<T: 'static>(&mut self) -> FlowInput<T> {
        let mut all = self.flow_inputs();
        if all.len() > 1 {
            self.too_many(all.len());
        }
        all.pop().unwrap_or_else(FlowInput::unconnected)
    }

    /// The next port, a flow-controlled output.
    pub fn flow_output<T: 'static>(&mut self) -> FlowOutput<T> {
        let mut all = self.flow_outputs();
        if all.len() > 1 {
            self.too_many(all.len());
        }
        all.pop().unwrap_or_else(FlowOutput::unconnected)
    }

    /// The next port, many flow-controlled channels to one reader.
    pub fn flow_select<T: 'static>(&mut self) -> FlowSelect<T> {
        self.flow_inputs().into()
    }

    /// The next port, one writer to many flow-controlled channels.
    pub fn flow_share<T: 'static>(&mut self) -> FlowShare<T> {
        self.flow_outputs().into()
    }
}
