"""Names in figures."""


def show_names_as_they_are(figure) -> None:
    """Names are text in all texts of a matplotlib figure: a `$` in one begins no formula."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_parse_math(False)
