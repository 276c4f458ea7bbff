//! Short declarations of networks for tests.

#![allow(dead_code, reason = "not every test binary needs every helper")]

use graphmap_kpn::declared::{
    At, BundleKind, ChannelDecl, ChannelExtra, Declared, EndDecl, ModuleDecl, ModuleId, NodeDecl,
    NodeId, kind_of_name,
};
use graphmap_kpn::diagnostic::{Code, Diagnostics};
use graphmap_kpn::expand::expand;
use graphmap_kpn::infer::infer;
use graphmap_kpn::network::Verified;
use graphmap_kpn::resolve::resolve;
use graphmap_kpn::source::Span;
use graphmap_kpn::verify::verify;

/// Declares networks like a front end. Every declaration has a span of its own.
#[derive(Default)]
pub(crate) struct Draft {
    pub(crate) declared: Declared,
    spans: u32,
}

impl Draft {
    pub(crate) fn span(&mut self) -> Span {
        self.spans += 1;
        Span::new(self.spans, self.spans + 1)
    }

    pub(crate) fn module(
        &mut self,
        name: &str,
        parent: Option<ModuleId>,
        replicas: Option<u32>,
    ) -> ModuleId {
        let span = self.span();
        let name = self.declared.names.intern(name);
        self.declared.modules.push(ModuleDecl {
            name,
            kind: name,
            parent,
            replicas,
            closed: false,
            span,
        })
    }

    pub(crate) fn node(&mut self, name: &str) -> NodeId {
        let known = self.declared.names.get(name);
        let found = self
            .declared
            .nodes
            .iter()
            .find(|(_, n)| Some(n.name) == known)
            .map(|(id, _)| id);
        found.unwrap_or_else(|| self.node_in(name, None, None))
    }

    pub(crate) fn node_in(
        &mut self,
        name: &str,
        module: Option<ModuleId>,
        replicas: Option<u32>,
    ) -> NodeId {
        let span = self.span();
        let kind = self.declared.names.intern(kind_of_name(name));
        let name = self.declared.names.intern(name);
        let node = NodeDecl {
            name,
            process: None,
            port_prefix: None,
            kind,
            module,
            replicas,
            load: 1.0,
            mem: 0.0,
            span,
        };
        self.declared.nodes.push(node)
    }

    pub(crate) fn end(&mut self, end: &str) -> EndDecl {
        let (node, port) = end.split_once('.').unwrap_or((end, ""));
        let node = (node != "NULL").then(|| self.node(node));
        EndDecl {
            node,
            port: self.declared.names.intern(port),
        }
    }

    /// Declares a channel, as in `channel("a.out", "b.in")`. `NULL` is the environment.
    pub(crate) fn channel(&mut self, from: &str, to: &str) -> &mut ChannelDecl {
        let (from, to) = (self.end(from), self.end(to));
        let span = self.span();
        self.declared.channels.push(ChannelDecl {
            from,
            to,
            ty: None,
            capacity: None,
            initial: 0,
            extra: None,
            traffic: 1.0,
            within: None,
            span,
        });
        self.declared.channels.last_mut().unwrap()
    }

    pub(crate) fn channel_with(&mut self, from: &str, to: &str, extra: ChannelExtra) {
        let index = self.declared.add_extra(extra);
        self.channel(from, to).extra = index;
    }

    pub(crate) fn finish(self) -> Result<(Verified, Diagnostics), Diagnostics> {
        let (expanded, mut all) = expand(self.declared)?;
        let (network, more) = resolve(expanded)?;
        all.append(more);
        let (verified, more) = verify(infer(network)?)?;
        all.append(more);
        Ok((verified, all))
    }

    pub(crate) fn verified(self) -> Verified {
        self.finish().unwrap_or_else(|d| panic!("{d:#?}")).0
    }

    /// Returns the codes of all diagnostics, including warnings and notes.
    pub(crate) fn codes(self) -> Vec<Code> {
        let found = match self.finish() {
            Ok((_, found)) => found,
            Err(found) => found,
        };
        found.iter().map(|d| d.code).collect()
    }
}

pub(crate) fn at(from: Option<At>, to: Option<At>) -> ChannelExtra {
    ChannelExtra {
        from_at: from,
        to_at: to,
        ..ChannelExtra::default()
    }
}

pub(crate) fn step(step: &[i32], wrap: bool) -> ChannelExtra {
    ChannelExtra {
        step: step.to_vec(),
        wrap,
        ..ChannelExtra::default()
    }
}

pub(crate) fn bundle(kind: BundleKind) -> ChannelExtra {
    ChannelExtra {
        bundle: Some(kind),
        ..ChannelExtra::default()
    }
}

pub(crate) fn joins(network: &Verified) -> Vec<String> {
    let channels = network.channels.values();
    channels
        .map(|c| format!("{} {}", network.port_name(c.from), network.port_name(c.to)))
        .collect()
}
