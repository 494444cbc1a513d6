"""Amazon reviews in the files of their publishers."""

import json
from xml.sax.saxutils import escape

from tests.embeddings.test_retrieve import write


def write_review_file(path, reviews):
    """Rating, headline and text as `*.review` of CLS has them, between other fields."""
    items = []
    for number, (rating, headline, text) in enumerate(reviews):
        body = f"<![CDATA[{text}]]>" if number % 2 else escape(text)
        items.append(
            f"<item><category>books</category><rating>{rating}</rating><url>http://x/?a=1&amp;b=2</url>\n"
            f"<text>{body}</text>\n<title>{number}</title><summary>{escape(headline)}</summary></item>"
        )
    return write(path, ['<?xml version="1.0" encoding="UTF-8"?>', "<items>", *items, "</items>"])


def write_marc(path, reviews):
    """Stars, title and body as the multilingual Amazon reviews corpus has them."""
    return write(
        path,
        [
            json.dumps(
                {"review_id": f"r{number}", "stars": str(stars), "review_title": title, "review_body": body}
            )
            for number, (stars, title, body) in enumerate(reviews)
        ],
    )
