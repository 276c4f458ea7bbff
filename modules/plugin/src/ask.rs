//! Passes, strategies, emitters and front ends that call an executable: makes the request and
//! applies the reply.

use crate::codes::BAD_REPLY;
use crate::external::{External, PROTOCOL};
use crate::reply::bad;
use crate::{process, reply};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::json::Written;
use graphmap_kpn::mapper::{MapContext, Proposal, Task};
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::pass::{Pass, PassContext};
use graphmap_kpn::source::{Source, SourceMap};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;

#[derive(Serialize)]
struct Request<'a> {
    protocol: u32,
    action: &'static str,
    name: &'a str,
    options: &'a BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    platform: Option<&'a Hardware>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<&'a Task>,
    network: Written<'a>,
}

#[derive(Serialize)]
struct ReadRequest<'a> {
    protocol: u32,
    action: &'static str,
    name: &'a str,
    options: &'a BTreeMap<String, String>,
    path: &'a str,
    text: &'a str,
}

impl External {
    /// Reads a graph file as a front end. `source` is its text, which must be one of `sources`.
    /// Blocks until the executable has ended.
    ///
    /// # Errors
    /// Returns the errors that the executable reports, or the way in which it failed. Also returns
    /// an error if its reply contains no network.
    pub fn read(
        &self,
        source: &Source,
        sources: &SourceMap,
        options: &BTreeMap<String, String>,
    ) -> Result<(Declared, Diagnostics), Diagnostics> {
        let reply = self.ask(&ReadRequest {
            protocol: PROTOCOL,
            action: "read",
            name: &self.name,
            options,
            path: source.name(),
            text: source.text(),
        })?;
        let (mut declared, found) = reply::read_declared(self, &reply, &sources.only(source))?;
        declared.sources = sources.clone();
        Ok((declared, found))
    }

    fn ask(&self, request: &impl Serialize) -> Result<String, Diagnostics> {
        // Serializing strings and numbers to memory cannot fail.
        let request = serde_json::to_vec(request).expect("a request has no odd keys");
        process::ask(self, request)
    }

    /// Asks the executable for a mapping. `options` are the options of the command line
    /// (`--set NAME=VALUE`). Blocks until the executable has ended.
    ///
    /// # Errors
    /// Returns an error if the run of the executable fails, or if its reply does not contain a
    /// mapping. Returns the diagnostics of the reply if one of them is an error.
    pub fn map(
        &self,
        context: &mut MapContext<'_>,
        options: &BTreeMap<String, String>,
    ) -> Result<Proposal, Diagnostics> {
        let reply = self.ask(&Request {
            protocol: PROTOCOL,
            action: "map",
            name: &self.name,
            options,
            path: None,
            platform: Some(context.platform),
            task: Some(context.task),
            network: Written {
                network: context.network,
                mapping: None,
            },
        })?;
        let reply = reply::read(self, &reply, &context.network.sources)?;
        context.diagnostics.append(reply.diagnostics);
        if reply.network.is_some() || !reply.files.is_empty() {
            let why = "it contains `network` or `files`, but a strategy returns a `mapping`";
            return Err(bad(self, why).into());
        }
        let missing = || bad(self, "it contains no `mapping`").into();
        reply.mapping.ok_or_else(missing)
    }

    /// Returns an error if a reply that is not for a strategy contains a mapping.
    fn without_mapping(&self, reply: &reply::Reply) -> Result<(), Diagnostics> {
        match reply.mapping {
            None => Ok(()),
            Some(_) => {
                let why = "it contains a `mapping`, which only a strategy returns";
                Err(bad(self, why).into())
            }
        }
    }
}

impl Pass for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "external"
    }

    fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
        let reply = self.ask(&Request {
            protocol: PROTOCOL,
            action: "pass",
            name: &self.name,
            options: context.options,
            path: None,
            platform: context.platform,
            task: None,
            network: Written {
                network: context.network,
                mapping: None,
            },
        })?;
        let reply = reply::read(self, &reply, &context.network.sources)?;
        self.without_mapping(&reply)?;
        context.diagnostics.append(reply.diagnostics);
        if let Some(network) = reply.network {
            *context.network = network;
        }
        Ok(())
    }
}

impl Emitter for External {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        "external"
    }

    fn accepts(&self, _: &Path) -> bool {
        false
    }

    fn emit(
        &self,
        mapped: &Mapped,
        context: &mut EmitContext<'_>,
        files: &mut Files,
    ) -> Result<(), Diagnostics> {
        let network = mapped.network();
        let reply = self.ask(&Request {
            protocol: PROTOCOL,
            action: "emit",
            name: &self.name,
            options: context.options,
            path: Some(context.path.display().to_string()),
            platform: context.platform,
            task: None,
            network: Written {
                network,
                mapping: Some(mapped.mapping()),
            },
        })?;
        let reply = reply::read(self, &reply, &network.sources)?;
        self.without_mapping(&reply)?;
        context.diagnostics.append(reply.diagnostics);
        let mut placed = Files::new();
        let mut main = false;
        for file in &reply.files {
            main |= file.path.is_empty();
            let path = reply::output_path(self, context.path, &file.path)?;
            if file.executable {
                placed.executable(path, file.content.as_bytes());
            } else {
                placed.generated(path, file.content.as_bytes());
            }
        }
        if !main {
            let message = format!("the emitter `{}` returned no main file", self.name);
            let help = "return the main file with an empty path";
            return Err(Diagnostic::error(BAD_REPLY, message).help(help).into());
        }
        files.append(placed);
        Ok(())
    }
}
