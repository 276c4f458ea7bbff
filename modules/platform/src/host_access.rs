//! User, port, interface and binding of one host, as the lines of a file give them.

use crate::access::Key;
use crate::codes;
use crate::report::Report;
use crate::text::Word;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::hardware::Access;
use graphmap_kpn::source::Span;

/// Access to one host, with the position of each value.
#[derive(Clone, Debug, Default)]
pub(crate) struct HostAccess {
    access: Access,
    spans: [Option<Span>; 4],
}

impl HostAccess {
    /// Sets the value of a property of `host`. If the value differs from an earlier one, replaces
    /// it, as launchers do, and reports a warning. For a value that launch files cannot contain,
    /// reports an error and sets nothing.
    pub(crate) fn set(&mut self, key: Key, value: Word, host: Word, report: &mut Report) {
        if !key.accepts(value.text) {
            let what = format!("`{}` cannot be the {} of a host", value.shown(), key.name());
            let error = Diagnostic::error(codes::BAD_ACCESS, what).at(value.span(), "");
            report.push(error.help(key.allowed_values()));
            return;
        }
        let text = value.text.to_owned();
        let before = match key {
            Key::User => self.access.user.replace(text),
            Key::Interface => self.access.interface.replace(text),
            Key::Binding => self.access.binding.replace(text),
            Key::Port => {
                let port = text.parse().ok();
                let before = std::mem::replace(&mut self.access.port, port);
                before.map(|port| port.to_string())
            }
        };
        let earlier = self.spans[key as usize].replace(value.span());
        if let (Some(before), Some(earlier)) = (before, earlier)
            && before != value.text
        {
            let what = format!("host `{}` has two different {}s", host.shown(), key.name());
            report.push(
                Diagnostic::warning(codes::BAD_ACCESS, what)
                    .at(value.span(), format!("`{}` is used", value.shown()))
                    .also(earlier, "first given here")
                    .help("remove one of them"),
            );
        }
    }

    /// Returns all values, without their positions.
    pub(crate) fn access(self) -> Access {
        self.access
    }
}
