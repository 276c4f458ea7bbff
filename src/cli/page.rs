//! Formats a page of the book as text for a terminal.

/// Returns the text of a page without the Markdown markup of headings, examples and links. Other
/// markup stays. Examples are indented. A link is replaced by its text, with the name of the
/// chapter unless it leads to the page of a code.
pub(crate) fn as_text(page: &str) -> String {
    let (mut text, mut prose) = (String::new(), String::new());
    let mut example = false;
    for line in page.lines() {
        if line.starts_with("```") {
            text += &plain(&std::mem::take(&mut prose));
            example = !example;
            continue;
        }
        match example {
            true if line.is_empty() => text.push('\n'),
            true => text += &format!("    {line}\n"),
            false => {
                prose += line.trim_start_matches('#').trim_start();
                prose.push('\n');
            }
        }
    }
    text + &plain(&prose)
}

/// Returns paragraphs without links. Each paragraph that had links is wrapped again, except lists
/// and tables.
fn plain(prose: &str) -> String {
    let paragraphs = prose.split("\n\n").map(|paragraph| {
        let text = without_links(paragraph);
        let has_rows = text
            .lines()
            .any(|line| line.starts_with(['|', '-', '*', ' ']));
        match text == paragraph || has_rows {
            true => text,
            false => wrapped(&text),
        }
    });
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

/// Wraps a paragraph at 100 columns. Longer words are not broken. Newlines at its ends stay.
fn wrapped(paragraph: &str) -> String {
    const WIDTH: usize = 100;
    let inner = paragraph.trim_matches('\n');
    let mut lines = String::new();
    let mut width = 0;
    for word in inner.split_whitespace() {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > WIDTH {
            lines.push('\n');
            width = 0;
        } else if width > 0 {
            lines.push(' ');
            width += 1;
        }
        lines += word;
        width += length;
    }
    paragraph.replacen(inner, &lines, 1)
}

fn without_links(prose: &str) -> String {
    let mut text = String::new();
    let mut rest = prose;
    while let Some((before, name, target, after)) = first_link(rest) {
        text += before;
        text += name;
        if let Some(chapter) = chapter(target) {
            text += &format!(" (chapter `{chapter}` of the book)");
        }
        rest = after;
    }
    text + rest
}

/// Returns the text before the first link, the text of the link, its target, and the text after it.
/// Returns `None` if there is no link. The text of a link may be on two lines, but its target has
/// no space.
fn first_link(prose: &str) -> Option<(&str, &str, &str, &str)> {
    prose.match_indices("](").find_map(|(middle, _)| {
        let start = prose[..middle].rfind('[')?;
        let end = middle + prose[middle..].find(')')?;
        let (name, target) = (&prose[start + 1..middle], &prose[middle + 2..end]);
        let is_link = !name.contains("\n\n") && !target.contains(char::is_whitespace);
        is_link.then_some((&prose[..start], name, target, &prose[end + 1..]))
    })
}

/// Returns the chapter of a path such as `../mapping.md#rules`, here `mapping`. Returns `None` for
/// other links, such as those to the page of an error.
fn chapter(target: &str) -> Option<&str> {
    let path = target.split('#').next()?;
    path.strip_prefix("../")?.strip_suffix(".md")
}

#[cfg(test)]
mod tests {
    use super::as_text;

    #[test]
    fn marks_are_removed() {
        let page = "\
# G0708: No link

See [launching](../launching.md) and [levels](../diagnostics.md#levels), or [G0206](G0206.md): a[1](2.
See [a link on
two lines](../mapping.md).

## Example

```console
$ graphmap [a](b)
# ends with 2

```
After it.
";
        let text = "\
G0708: No link

See launching (chapter `launching` of the book) and levels (chapter `diagnostics` of the book), or
G0206: a[1](2. See a link on two lines (chapter `mapping` of the book).

Example

    $ graphmap [a](b)
    # ends with 2

After it.
";
        assert_eq!(as_text(page), text);
    }
}
