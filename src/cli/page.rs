//! A page of the book as text for a terminal.

/// The text of a page without the marks of Markdown: headings stand alone, examples are indented, and a
/// link is its text, with the chapter it leads to. Pages of errors are named by their codes anyway.
pub(crate) fn as_text(page: &str) -> String {
    let mut text = String::new();
    let mut example = false;
    for line in page.lines() {
        if line.starts_with("```") {
            example = !example;
            continue;
        }
        match example {
            true if line.is_empty() => {}
            true => {
                text += "    ";
                text += line;
            }
            false => text += &without_links(line.trim_start_matches('#').trim_start()),
        }
        text.push('\n');
    }
    text
}

fn without_links(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
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

/// What stands before a link, its text, where it leads, and what stands after it.
fn first_link(line: &str) -> Option<(&str, &str, &str, &str)> {
    let middle = line.find("](")?;
    let start = line[..middle].rfind('[')?;
    let end = middle + line[middle..].find(')')?;
    let (name, target) = (&line[start + 1..middle], &line[middle + 2..end]);
    Some((&line[..start], name, target, &line[end + 1..]))
}

/// The chapter of a path such as `../mapping.md#rules`; none of a page of errors.
fn chapter(target: &str) -> Option<&str> {
    let path = target.split('#').next()?;
    path.strip_prefix("../")?.strip_suffix(".md")
}

#[cfg(test)]
mod tests {
    use super::as_text;

    #[test]
    fn marks_are_left_out() {
        let page = "\
# G0708: No link

See [launching](../launching.md) and [levels](../diagnostics.md#levels), or [G0206](G0206.md): a[1](2.

## Example

```console
$ graphmap [a](b)
# ends with 2

```
After it.
";
        let text = "\
G0708: No link

See launching (chapter `launching` of the book) and levels (chapter `diagnostics` of the book), or G0206: a[1](2.

Example

    $ graphmap [a](b)
    # ends with 2

After it.
";
        assert_eq!(as_text(page), text);
    }
}
