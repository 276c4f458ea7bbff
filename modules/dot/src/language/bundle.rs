//! Bundles written as nodes: collects the attributes of their statements.

use super::edge::EdgeDraft;
use super::keys::Key;
use super::reading::{BUNDLE, Reading};
use super::value;
use crate::events::Attribute;
use graphmap_kpn::declared::{BundleKind, ModuleId};
use graphmap_kpn::source::Span;
use hashbrown::HashMap;

/// Attributes of a node that is a bundle or may become one.
pub(super) struct BundleDraft {
    pub(super) kind: Option<(BundleKind, Span)>,
    /// Number of the first statement with a member, and the name in it.
    pub(super) declared: Option<(u32, Span)>,
    /// First other statement that repeats a member: the name in it, and the module around it.
    pub(super) twice: Option<(Span, Option<ModuleId>)>,
    pub(super) members: Vec<Member>,
    by_number: HashMap<(bool, u32), usize>,
    /// Attributes of all channels of the bundle.
    pub(super) channel: EdgeDraft,
    /// Attributes that only bundles may have, reported if the node is not a bundle.
    pub(super) only_bundles: Vec<(Key, Attribute)>,
}

/// A member written as an attribute.
pub(super) struct Member {
    pub(super) reads: bool,
    pub(super) number: u32,
    pub(super) process: Option<Attribute>,
    pub(super) port: Option<Attribute>,
}

impl BundleDraft {
    fn new() -> BundleDraft {
        BundleDraft {
            kind: None,
            declared: None,
            twice: None,
            members: Vec::new(),
            by_number: HashMap::new(),
            channel: EdgeDraft::default(),
            only_bundles: Vec::new(),
        }
    }

    fn member(&mut self, reads: bool, number: u32) -> &mut Member {
        let next = self.members.len();
        let index = *self.by_number.entry((reads, number)).or_insert(next);
        if index == next {
            self.members.push(Member {
                reads,
                number,
                process: None,
                port: None,
            });
        }
        &mut self.members[index]
    }
}

/// A position at which a node occurs.
#[derive(Clone, Copy)]
pub(super) struct Mention {
    /// Number of the statement.
    pub(super) statement: u32,
    /// Position of the name.
    pub(super) name: Span,
    /// Module around the statement.
    pub(super) module: Option<ModuleId>,
}

/// Nodes that are bundles or may become one.
#[derive(Default)]
pub(super) struct Bundles {
    pub(super) drafts: HashMap<u32, BundleDraft>,
}

impl Bundles {
    /// Returns true if the node `number` is a bundle of which a member is repeated in another
    /// statement than the first with members.
    pub(super) fn is_twice(&self, number: u32) -> bool {
        let draft = self.drafts.get(&number);
        draft.is_some_and(|draft| draft.twice.is_some())
    }

    /// Adds an attribute to the draft of the node `number`. Creates the draft if the node has none.
    /// The node becomes a bundle if the attribute is `bundle=` or a member, even with an invalid
    /// value.
    ///
    /// Reports an invalid value, and a member with two different values in one statement. Of a
    /// repeated member, the first value stays. `mention` is the position of the statement.
    pub(super) fn key(
        &mut self,
        reading: &mut Reading<'_>,
        (number, mention): (u32, Mention),
        key: Key,
        attribute: &Attribute,
    ) {
        let kind = match key {
            Key::Bundle => reading.read(attribute, value::bundle),
            _ => None,
        };
        let mut draft = self.drafts.remove(&number).unwrap_or_else(BundleDraft::new);
        let (reads, member, is_port) = match key {
            Key::Reader(n) => (true, n, false),
            Key::ReaderPort(n) => (true, n, true),
            Key::Writer(n) => (false, n, false),
            Key::WriterPort(n) => (false, n, true),
            _ => {
                if key == Key::Bundle {
                    reading.flags[number as usize] |= BUNDLE;
                    draft.kind = kind.map(|kind| (kind, attribute.value.span)).or(draft.kind);
                } else {
                    draft.channel.channel_key(reading, key, attribute);
                    // Keeps one attribute per key, because a node may have many statements.
                    if draft.only_bundles.iter().all(|(k, _)| *k != key) {
                        draft.only_bundles.push((key, *attribute));
                    }
                }
                self.drafts.insert(number, draft);
                return;
            }
        };
        reading.flags[number as usize] |= BUNDLE;
        let (statement, _) = *draft
            .declared
            .get_or_insert((mention.statement, mention.name));
        let entry = draft.member(reads, member);
        let field = if is_port {
            &mut entry.port
        } else {
            &mut entry.process
        };
        let earlier = *field;
        field.get_or_insert(*attribute);
        if let Some(earlier) = earlier {
            if statement == mention.statement {
                reading.contradiction(key, &earlier, attribute);
            } else {
                draft.twice.get_or_insert((mention.name, mention.module));
            }
        }
        self.drafts.insert(number, draft);
    }
}
