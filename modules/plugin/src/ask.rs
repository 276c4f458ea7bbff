//! Passes and emitters that call an executable: makes the request and applies the reply.

use crate::codes::BAD_REPLY;
use crate::external::{External, PROTOCOL};
use crate::{process, reply};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::{EmitContext, Emitter, Files};
use graphmap_kpn::hardware::Hardware;
use graphmap_kpn::json::Written;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::pass::{Pass, PassContext};
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
    network: Written<'a>,
}

impl External {
    fn ask(&self, request: &Request<'_>) -> Result<String, Diagnostics> {
        // Serializing strings and numbers to memory cannot fail.
        let request = serde_json::to_vec(request).expect("a request has no odd keys");
        process::ask(self, request)
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
            network: Written {
                network: context.network,
                mapping: None,
            },
        })?;
        let reply = reply::read(self, &reply, &context.network.sources)?;
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
            network: Written {
                network,
                mapping: Some(mapped.mapping()),
            },
        })?;
        let reply = reply::read(self, &reply, &network.sources)?;
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
