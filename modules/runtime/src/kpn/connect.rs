//! Distribution of the ends of channels to the ports of processes.

use std::any::TypeId;

use super::bundle::{Broadcast, Gather, Reduce, Scatter, Select, Share, Switch};
use super::column::Column;
use super::end::End;
use super::flow::{Control, FlowInput, FlowOutput, FlowSelect, FlowShare};
use super::ports::{Input, Output};

/// Ports of a kind, as a struct.
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
    /// Takes the ends from `ends`, by one call for each port, in the order of the kind's list.
    fn connect(ends: &mut Ends<'_>) -> Self;
}

/// Ports of a kind that has none.
impl Ports for () {
    fn connect(_ends: &mut Ends<'_>) -> Self {}
}

/// Function that frees a raw end of its type. The end must not be used again.
pub(super) type Free = unsafe fn(*mut u8);

/// Type of a port's tokens, its name, whether the port is an input, and the function that frees an
/// end.
pub(super) type PortType = (TypeId, &'static str, bool, Free);

/// Member, slot and end. The end becomes null when a process takes it.
pub(super) type Placed = (u32, u32, *mut u8);

/// Ends of one port, of all members of a kind that this scheduler runs.
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
                    // SAFETY: an end becomes null when it is taken, so this one is not in use.
                    // `free` is of its type.
                    unsafe { free(raw) };
                }
            }
        }
    }
}

/// Ends of all channels of one port, of the members of a kind that this scheduler runs.
#[derive(Default)]
pub(super) struct KindPort {
    pub(super) tokens: PortEnds,
    /// Ends of the channels for control tokens, if the port is flow-controlled.
    pub(super) control_outputs: PortEnds,
    pub(super) control_inputs: PortEnds,
}

impl KindPort {
    pub(super) fn lists(&mut self) -> [&mut PortEnds; 3] {
        [
            &mut self.tokens,
            &mut self.control_outputs,
            &mut self.control_inputs,
        ]
    }
}

/// Ends of the channels of one process, which [`Ports::connect`] takes port by port.
///
/// Each method except [`remaining`](Self::remaining) connects the next port of the kind's list. If
/// the graph has no channel at this port, the result is unconnected. The run fails with
/// [`RunError::Wiring`](crate::RunError::Wiring) if the port differs from the graph in its
/// direction, its token type or its flow control. It also fails if the graph has several channels
/// at a port that is not a bundle. The result may then be unconnected.
pub struct Ends<'a> {
    pub(super) ports: &'a mut [KindPort],
    pub(super) names: &'a [String],
    /// Values of each parameter of the kind.
    pub(super) arguments: &'a [(String, Column)],
    pub(super) next: usize,
    pub(super) member: u32,
    pub(super) errors: &'a mut Vec<String>,
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
    /// Returns the number of ports that are not connected yet. Must not be called after more ports
    /// than the kind has were connected.
    ///
    /// # Panics
    /// Panics in that case if overflow checks are enabled. Otherwise, the result is then
    /// meaningless.
    pub fn remaining(&self) -> usize {
        self.names.len() - self.next
    }

    /// Moves on to the next port. Records an error if the port is flow-controlled in the graph but
    /// `flow` is false, or the other way round. Records none if the graph has no channel at the
    /// port, or after 20 errors.
    fn advance(&mut self, flow: bool) {
        let at = self.next;
        self.next += 1;
        let Some(port) = self.ports.get(at).filter(|port| port.tokens.port.is_some()) else {
            return;
        };
        let is_flow = port.control_inputs.port.is_some();
        if is_flow != flow && self.errors.len() < 20 {
            let is = |flow| if flow { "is" } else { "is not" };
            self.errors.push(format!(
                "port `{}` {} flow-controlled in the graph, but {} in the struct",
                self.names[at],
                is(is_flow),
                is(flow),
            ));
        }
    }

    /// Returns the ends of the current port that belong to this member, in the order of their
    /// slots, for the caller to take. `of` selects the list of the port. Returns none if the port
    /// does not exist or has no channel. Also returns none, and records an error (at most 20), if
    /// the token type or the direction differs from the graph. Must be called after
    /// [`advance`](Self::advance).
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
            if self.errors.len() < 20 {
                let way = |input| if input { "an input" } else { "an output" };
                self.errors.push(format!(
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

    /// Takes all ends of the current port, in the order of their slots. Returns none if the port
    /// has no channel. Also returns none, and records an error, if the port differs from the graph
    /// in its direction or token type.
    fn all<T: 'static>(
        &mut self,
        input: bool,
        of: impl FnOnce(&mut KindPort) -> &mut PortEnds,
    ) -> impl Iterator<Item = End<T>> {
        self.ends::<T>(input, of).iter_mut().map(|placed| {
            let raw = std::mem::replace(&mut placed.2, std::ptr::null_mut());
            // SAFETY: `ends` compares the type. Each end is taken once, because a process is
            // connected once and `next` only increases.
            unsafe { End::from_raw(raw) }
        })
    }

    /// Connects the next port, and returns its end. Returns [`End::NONE`] if it has no channel.
    /// Also returns it, and records an error, if the port has several channels, or differs from the
    /// graph in its direction or token type.
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
        if self.errors.len() < 20 {
            let name = &self.names[self.next - 1];
            self.errors.push(format!(
                "port `{name}` has {count} channels, but it is not a bundle"
            ));
        }
    }

    /// Connects the next port. Returns the inputs of all its channels, in the order of their slots.
    ///
    /// The list is empty if the port has no channel. It is also empty, and the run fails, if the
    /// graph has another direction or token type at the port. The run also fails if the port is
    /// flow-controlled in the graph.
    pub fn inputs<T: 'static>(&mut self) -> Vec<Input<T>> {
        self.advance(false);
        self.all(true, |port| &mut port.tokens)
            .map(Input::new)
            .collect()
    }

    /// Connects the next port. Returns the outputs of all its channels, in the order of their
    /// slots.
    ///
    /// The list is empty if the port has no channel. It is also empty, and the run fails, if the
    /// graph has another direction or token type at the port. The run also fails if the port is
    /// flow-controlled in the graph.
    pub fn outputs<T: 'static>(&mut self) -> Vec<Output<T>> {
        self.advance(false);
        self.all(false, |port| &mut port.tokens)
            .map(Output::new)
            .collect()
    }

    /// Connects the next port, an input. Returns an unconnected input if the port has no channel.
    /// Also returns one, and the run fails, if the port has several channels, or another direction
    /// or token type in the graph. The run also fails if the port is flow-controlled in the graph.
    pub fn input<T: 'static>(&mut self) -> Input<T> {
        Input::new(self.one(true))
    }

    /// Connects the next port, an output. Returns an unconnected output if the port has no channel.
    /// Also returns one, and the run fails, if the port has several channels, or another direction
    /// or token type in the graph. The run also fails if the port is flow-controlled in the graph.
    pub fn output<T: 'static>(&mut self) -> Output<T> {
        Output::new(self.one(false))
    }

    /// Connects the next port, a select bundle. It has one member for each channel, in the order of
    /// their slots. It has none if the port has no channel, or if the graph has another direction
    /// or token type at the port. In the latter case, and if the port is flow-controlled in the
    /// graph, the run fails.
    pub fn select<T: 'static>(&mut self) -> Select<T> {
        self.inputs().into()
    }

    /// Connects the next port, a gather bundle. It has one member for each channel, in the order of
    /// their slots. It has none if the port has no channel, or if the graph has another direction
    /// or token type at the port. In the latter case, and if the port is flow-controlled in the
    /// graph, the run fails.
    pub fn gather<T: 'static>(&mut self) -> Gather<T> {
        self.inputs().into()
    }

    /// Connects the next port, a reduce bundle. It has one member for each channel, in the order of
    /// their slots. It has none if the port has no channel, or if the graph has another direction
    /// or token type at the port. In the latter case, and if the port is flow-controlled in the
    /// graph, the run fails.
    pub fn reduce<T: 'static>(&mut self) -> Reduce<T> {
        self.inputs().into()
    }

    /// Connects the next port, a share bundle. It has one member for each channel, in the order of
    /// their slots. It has none if the port has no channel, or if the graph has another direction
    /// or token type at the port. In the latter case, and if the port is flow-controlled in the
    /// graph, the run fails.
    pub fn share<T: 'static>(&mut self) -> Share<T> {
        self.outputs().into()
    }

    /// Connects the next port, a broadcast bundle. It has one member for each channel, in the order
    /// of their slots. It has none if the port has no channel, or if the graph has another
    /// direction or token type at the port. In the latter case, and if the port is flow-controlled
    /// in the graph, the run fails.
    pub fn broadcast<T: 'static>(&mut self) -> Broadcast<T> {
        self.outputs().into()
    }

    /// Connects the next port, a scatter bundle. It has one member for each channel, in the order
    /// of their slots. It has none if the port has no channel, or if the graph has another
    /// direction or token type at the port. In the latter case, and if the port is flow-controlled
    /// in the graph, the run fails.
    pub fn scatter<T: 'static>(&mut self) -> Scatter<T> {
        self.outputs().into()
    }

    /// Connects the next port, a switch bundle. It has one member for each channel, in the order of
    /// their slots. It has none if the port has no channel, or if the graph has another direction
    /// or token type at the port. In the latter case, and if the port is flow-controlled in the
    /// graph, the run fails.
    pub fn switch<T: 'static>(&mut self) -> Switch<T> {
        self.outputs().into()
    }

    /// Takes the control ends of the current port: for each channel its output and its input, in
    /// the order of their slots. Returns none if the port has no channel or is not flow-controlled
    /// in the graph.
    fn controls(&mut self) -> impl Iterator<Item = (Output<Control>, Input<Control>)> + use<> {
        let control_outputs = self
            .all(false, |port| &mut port.control_outputs)
            .map(Output::new);
        let control_outputs: Vec<_> = control_outputs.collect();
        let control_inputs = self
            .all(true, |port| &mut port.control_inputs)
            .map(Input::new);
        let control_inputs: Vec<_> = control_inputs.collect();
        control_outputs.into_iter().zip(control_inputs)
    }

    /// Connects the next port. Returns the flow-controlled inputs of all its channels, in the order
    /// of their slots. The list is empty if the port has no channel. It is also empty, and the run
    /// fails, if the graph has another direction, token type or flow control at the port.
    pub fn flow_inputs<T: 'static>(&mut self) -> Vec<FlowInput<T>> {
        self.advance(true);
        // Collected before `zip`, which may drop an item: an input frees its end, an `End` does
        // not.
        let tokens = self.all(true, |port| &mut port.tokens).map(Input::new);
        let tokens: Vec<_> = tokens.collect();
        let ends = tokens.into_iter().zip(self.controls());
        ends.map(|(tokens, (output, input))| FlowInput::new(tokens, output, input))
            .collect()
    }

    /// Connects the next port. Returns the flow-controlled outputs of all its channels, in the
    /// order of their slots. The list is empty if the port has no channel. It is also empty, and
    /// the run fails, if the graph has another direction, token type or flow control at the port.
    pub fn flow_outputs<T: 'static>(&mut self) -> Vec<FlowOutput<T>> {
        self.advance(true);
        let tokens = self.all(false, |port| &mut port.tokens).map(Output::new);
        let tokens: Vec<_> = tokens.collect();
        let ends = tokens.into_iter().zip(self.controls());
        ends.map(|(tokens, (output, input))| FlowOutput::new(tokens, output, input))
            .collect()
    }

    /// Connects the next port, a flow-controlled input. Returns an unconnected input if
    /// [`flow_inputs`](Self::flow_inputs) would return none. If the port has several channels,
    /// returns the last one, and the run fails.
    pub fn flow_input<T: 'static>(&mut self) -> FlowInput<T> {
        let mut all = self.flow_inputs();
        if all.len() > 1 {
            self.too_many(all.len());
        }
        all.pop().unwrap_or_else(FlowInput::unconnected)
    }

    /// Connects the next port, a flow-controlled output. Returns an unconnected output if
    /// [`flow_outputs`](Self::flow_outputs) would return none. If the port has several channels,
    /// returns the last one, and the run fails.
    pub fn flow_output<T: 'static>(&mut self) -> FlowOutput<T> {
        let mut all = self.flow_outputs();
        if all.len() > 1 {
            self.too_many(all.len());
        }
        all.pop().unwrap_or_else(FlowOutput::unconnected)
    }

    /// Connects the next port, which joins many flow-controlled channels to one reader. The bundle
    /// has one member for each channel, in the order of their slots. It has none if the port has no
    /// channel. It also has none, and the run fails, if the graph has another direction, token type
    /// or flow control at the port.
    pub fn flow_select<T: 'static>(&mut self) -> FlowSelect<T> {
        self.flow_inputs().into()
    }

    /// Connects the next port, which joins one writer to many flow-controlled channels. The bundle
    /// has one member for each channel, in the order of their slots. It has none if the port has no
    /// channel. It also has none, and the run fails, if the graph has another direction, token type
    /// or flow control at the port.
    pub fn flow_share<T: 'static>(&mut self) -> FlowShare<T> {
        self.flow_outputs().into()
    }
}
