"""Quality of the lines in the target language: sacreBLEU over a selection that is made by hand."""

import sacrebleu


def selected(texts, lines) -> list[str]:
    return [texts[line] for line in lines]


def test_scores_of_lines_on_target_are_sacrebleus_of_these_lines(scored, scores_of, texts):
    """Two of four lines are German; the rest is another language, which the averages leave out."""
    german = [
        "Ein Mann geht mit dem Hund in den Park.",
        texts["en"][1],
        "Das Wetter ist sehr schön.",
        texts["fr"][3],
    ]
    directions = scores_of(scored("A", {"en-de": german, "de-fr": texts["en"]}))["directions"]
    entry, references = directions["en-de"], selected(texts["de"], (0, 2))
    assert (entry["on_target_lines"], entry["off_target"]) == (2, 0.5)
    bleu = sacrebleu.corpus_bleu(selected(german, (0, 2)), [references])
    chrf = sacrebleu.corpus_chrf(selected(german, (0, 2)), [references], word_order=2)
    assert abs(entry["on_target_bleu"] - bleu.score) < 1e-6 and bleu.score > 0
    assert abs(entry["on_target_chrf"] - chrf.score) < 1e-6
    assert entry["on_target_bleu"] > entry["bleu"]
    nothing = directions["de-fr"]  # all of it English
    assert (nothing["on_target_lines"], nothing["on_target_bleu"], nothing["on_target_chrf"]) == (
        0,
        None,
        None,
    )


def test_all_lines_on_target_have_the_scores_of_the_direction(scored, scores_of, texts):
    lines = [*texts["de"][:3], "Ich möchte gerne ein Fahrrad."]
    entry = scores_of(scored("A", {"en-de": lines}))["directions"]["en-de"]
    assert entry["on_target_lines"] == 4
    for name in ("bleu", "chrf"):
        assert abs(entry[f"on_target_{name}"] - entry[name]) < 1e-6
