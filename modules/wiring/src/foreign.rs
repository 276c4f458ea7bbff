//! Projects of other families than Rust: the files that `families.toml` lists.

use crate::codes;
use crate::emitters::{can_express, render, warn_ignored};
use crate::family::{Each, Family, ProjectFile};
use crate::skeleton::Skeletons;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::network::Network;
use serde_json::json;
use std::path::{Component, Path, PathBuf};

impl Family {
    /// Returns all files of a project, by their path in its folder. Files that belong to the user
    /// are written only if they do not exist, so writing the files again updates the project.
    /// Warnings, such as of ignored attributes, are added to `diagnostics`.
    ///
    /// # Errors
    /// Returns an error if the family has no projects, if its target lacks a feature, or if a
    /// skeleton is missing or fails. Also returns an error if the name of a kind is too long for a
    /// file, or if a path is outside the project or occurs twice.
    pub fn project(
        &self,
        name: &str,
        network: &Network,
        skeletons: &Skeletons,
        diagnostics: &mut Diagnostics,
    ) -> Result<Files, Diagnostics> {
        if self.project.is_empty() {
            let message = format!("the family `{}` has no projects", self.name);
            return Err(Diagnostics::from(
                Diagnostic::error(codes::NO_PROJECT_OF_FAMILY, message)
                    .help(format!(
                        "use `--emit {}=PATH` to write only the wiring",
                        self.emitter
                    ))
                    .with_note(
                        "the tables `[[FAMILY.project]]` in `families.toml` list the files of a \
                         project",
                    ),
            ));
        }
        can_express(self, network)?;
        warn_ignored(self, network, diagnostics);
        let (wiring, model) = render(network, skeletons, &self.name, diagnostics)?;
        if self.project.iter().any(|file| file.each.is_some()) {
            crate::project::fit_files(network, &model)?;
        }
        let mut files = Files::new();
        for file in &self.project {
            let kinds = match file.each {
                Some(Each::Kind) => model.kinds.iter().map(Some).collect(),
                None => vec![None],
            };
            for kind in kinds {
                let data = match kind {
                    // A single kind, not the whole model, because there can be many kinds.
                    Some(kind) => json!({"project": name, "graph": model.graph, "kind": kind}),
                    None => json!({"project": name, "model": model}),
                };
                let path = skeletons.render_text(&file.path, &data)?;
                self.check_path(&path, &files)?;
                let text = match &file.skeleton {
                    Some(skeleton) => {
                        skeletons.render(&format!("{}/{skeleton}", self.name), &data)?
                    }
                    None => wiring.clone(),
                };
                if file.once {
                    files.once(path, text);
                } else {
                    files.generated(path, text);
                }
            }
        }
        Ok(files)
    }

    /// Returns the folder of the project of this family for a graph, or `None` if there is none.
    /// The folder is next to the graph and has the same name, or it contains the graph. A project
    /// is recognised by its generated files: all must exist, and the first must contain the name of
    /// the graph file. Files of the user, files for each kind and paths that are templates are not
    /// considered. Without other files in the family's list, the result is `None`.
    pub fn project_of(&self, graph: &Path) -> Option<PathBuf> {
        let fixed =
            |file: &&ProjectFile| !file.once && file.each.is_none() && !file.path.contains("{{");
        let generated: Vec<&ProjectFile> = self.project.iter().filter(fixed).collect();
        let (first, name) = (generated.first()?, graph.file_name()?.to_str()?);
        let folder = match graph.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        let is_of = |root: &PathBuf| {
            let path = |file: &&ProjectFile| root.join(&file.path);
            let text = input::text(&path(first), Limit::NETWORK);
            generated.iter().all(|file| path(file).is_file())
                && text.is_ok_and(|text| text.contains(name))
        };
        [graph.with_extension(""), folder.to_owned()]
            .into_iter()
            .find(is_of)
    }

    fn check_path(&self, path: &str, files: &Files) -> Result<(), Diagnostics> {
        let inside = |part| matches!(part, Component::Normal(_));
        let what = if path.is_empty() || !Path::new(path).components().all(inside) {
            "is outside the project"
        } else if files.get(path).is_some() {
            "is listed twice"
        } else {
            return Ok(());
        };
        let message = format!("the file `{path}` of a project of `{}` {what}", self.name);
        Err(Diagnostics::from(
            Diagnostic::error(codes::NO_PROJECT_OF_FAMILY, message).help(
                "use paths relative to the project in `families.toml`; with `each = \"kind\"`, the \
                 path must contain a name of the kind",
            ),
        ))
    }
}
