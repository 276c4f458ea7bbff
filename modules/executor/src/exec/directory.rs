//! Who is who: names and places of processes and channels, worked out when somebody asks.

use crate::place::Place;

/// A process, by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessInfo {
    pub rank: u32,
    pub name: String,
    pub place: Option<Place>,
}

/// A module of processes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModuleInfo {
    pub name: String,
    pub kind: String,
    /// The number of the module that it is in.
    pub within: Option<u32>,
}

/// One end of a channel: whose, and which port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndInfo {
    pub rank: u32,
    pub process: String,
    pub port: String,
}

/// A channel: its ends, where the network knows them, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelInfo {
    pub from: Option<EndInfo>,
    pub to: Option<EndInfo>,
    pub place: Option<Place>,
    /// It carries what the ends of a flow-controlled channel tell each other.
    pub control: bool,
}

/// An end of a channel, as the process sees it that has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndOf {
    /// The channel.
    pub number: u32,
    /// It is the writing end.
    pub writes: bool,
    /// Which one it is of the port's bundle.
    pub member: u32,
}

/// A class of channels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassInfo<'a> {
    /// The kinds it joins.
    pub from: u32,
    pub to: u32,
    /// The type of its tokens, what one takes in memory, and whether its bytes can be counted.
    pub token: &'a str,
    pub size: usize,
    pub is_payload: bool,
    /// They carry what ends of flow-controlled channels tell each other.
    pub control: bool,
}

/// What the scheduler asks of a network.
pub trait Directory: Send + Sync {
    fn processes(&self) -> usize;
    fn kinds(&self) -> usize;
    /// How many channels there are: their numbers begin at 0.
    fn channels(&self) -> u32;
    fn kind(&self, kind: u32) -> (String, usize);
    fn process(&self, kind: u32, index: u32) -> ProcessInfo;
    fn rank(&self, kind: u32, index: u32) -> u32;
    /// Kind and index of a rank. May take time linear in the number of kinds.
    fn of_rank(&self, rank: u32) -> (u32, u32);
    /// Kind and index of the process of a name.
    fn find(&self, name: &str) -> Option<(u32, u32)>;
    /// The ends of channels that a process has: by port, and by member of the port's bundle.
    fn ends_of(&self, kind: u32, index: u32) -> Vec<EndOf>;
    /// How many modules there are: they are numbered from 1.
    fn modules(&self) -> u32;
    /// The innermost module that a process is in.
    fn module_of(&self, kind: u32, index: u32) -> Option<u32>;
    fn module(&self, number: u32) -> Option<ModuleInfo>;
    /// The ranks of all processes in a module and in those within it, in ascending order.
    fn in_module(&self, number: u32) -> Vec<u32>;
    fn channel(&self, number: u32) -> ChannelInfo;
    /// How many tokens a channel may hold at the start.
    fn capacity(&self, number: u32) -> u32;
    /// The ranks at the ends of a channel.
    fn peers(&self, number: u32) -> (Option<u32>, Option<u32>);
    /// What a token of a channel takes in memory as a value.
    fn token_size(&self, number: u32) -> usize;
    fn class_of(&self, number: u32) -> usize;
    fn class(&self, class: usize) -> Option<ClassInfo<'_>>;
}

/// A module and those around it, the innermost first, each with its number.
pub fn modules_around(directory: &dyn Directory, innermost: Option<u32>) -> Vec<(u32, ModuleInfo)> {
    let mut all = Vec::new();
    let mut next = innermost;
    while let Some(number) = next {
        let Some(module) = directory.module(number) else {
            break;
        };
        next = module.within;
        all.push((number, module));
    }
    all
}
