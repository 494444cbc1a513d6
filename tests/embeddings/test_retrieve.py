"""The command against loops over the vectors that the encoder gives by itself."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from embeddings import retrieve as retrieve_module
from embeddings.averages import pivot_of
from embeddings.distractors import read_distractors
from embeddings.encoders.options import EncoderOptions
from embeddings.encoders.stored import StoredVectors
from embeddings.retrieve import KIND
from embeddings.search import neighbours, retrieval
from embeddings.search import texts as search_texts
from embeddings.search.neighbours import Search
from tests.embeddings.retrieved import RetrievalResult


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def sentences(count, seed):
    random = np.random.default_rng(seed)
    return [" ".join(f"w{word}" for word in random.integers(0, 8, size=4)) for _ in range(count)]


@pytest.fixture
def encoder(one_space):
    return encoder_of(one_space)


def encoder_of(options):
    model, data = (Path(options[place]) for place in (1, 3))
    return EncoderOptions(model=model, model_data=data, target_lang="en").load()


@pytest.fixture
def parallel(tmp_path):
    """Three languages with 9 lines each: English is German with an error in some lines."""
    german = sentences(9, seed=1)
    english = [*german[:6], *sentences(3, seed=2)]
    files = {"de": german, "en": english, "fr": sentences(9, seed=3)}
    return {language: write(tmp_path / f"test.{language}", lines) for language, lines in files.items()}


def hits(queries, candidates):
    """Of every query, whether the candidate of its row is the nearest."""

    def cosine(one, other):
        return one @ other / np.linalg.norm(one) / np.linalg.norm(other)

    return [
        max(range(len(candidates)), key=lambda j: cosine(query, candidates[j])) == row
        for row, query in enumerate(queries)
    ]


def p_at_1(queries, candidates):
    return np.mean(hits(queries, candidates))


def drawn(count, lines, direction, seed=1):
    """Rows of queries of a pair's first direction, 0, or the other, 1, as in all records so far."""
    return sorted(np.random.default_rng([seed, direction]).choice(lines, count, replace=False))


def retrieve(command, one_space, output, *argv):
    result = command("retrieve", *one_space, "--output", output, *argv)
    assert result.status == 0, result.err
    return RetrievalResult(output)


def test_p_at_1_of_all_pairs_in_both_directions(command, one_space, parallel, encoder, tmp_path):
    retrieved = retrieve(command, one_space, tmp_path / "out", "--parallel", *parallel.values())
    vectors = {
        language: encoder.encode(path.read_text().splitlines(), language)
        for language, path in parallel.items()
    }
    expected = {
        f"{language}-{other}": p_at_1(vectors[language], vectors[other])
        for language in vectors
        for other in vectors
        if language != other
    }
    assert retrieved.p_at_1() == pytest.approx(expected)
    assert retrieved.p_at_1()["de-en"] >= 6 / 9
    assert retrieved.counts == {(9, 9)}


def test_only_pairs_with_the_pivot_and_languages_that_are_asked_for(command, one_space, parallel, tmp_path):
    arguments = ["--parallel", *parallel.values(), "--pivot", "en", "--languages", "de"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *arguments)
    assert retrieved.directions == {"de-en", "en-de"}


def test_tatoeba_in_the_layout_of_laser_and_groups(command, one_space, tmp_path):
    lines = sentences(5, seed=4)
    for language in ("deu", "fra"):
        folder = tmp_path / "v1"
        write(folder / f"tatoeba.{language}-eng.{language}", lines if language == "deu" else lines[::-1])
        write(folder / f"tatoeba.{language}-eng.eng", lines)
    groups = write(tmp_path / "groups.toml", ['German = ["de"]', 'both = ["de", "fr"]', 'none = ["ja"]'])
    options = ["--tatoeba", tmp_path / "v1", "--groups", groups, "--similarity", "cosine"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    assert retrieved.run["dataset"] == "Tatoeba"
    assert retrieved.run["groups"] == {
        "German": {"pairs": ["deu-eng"], "missing": []},
        "both": {"pairs": ["deu-eng", "eng-fra"], "missing": []},
        "none": {"pairs": [], "missing": ["ja"]},
    }


@pytest.mark.parametrize(
    ("asked_for", "pairs"), [("ms", "zsm"), ("ar,zh", "ara cmn"), ("arq", "arq"), ("max,ind", "ind max")]
)
def test_a_language_that_is_asked_for_has_no_others_of_its_macrolanguage(
    command, one_space, tmp_path, asked_for, pairs
):
    for language in ("ara", "arq", "cmn", "ind", "max", "yue", "zsm"):
        for side in (language, "eng"):
            write(tmp_path / f"v1/tatoeba.{language}-eng.{side}", sentences(3, seed=4))
    options = ["--tatoeba", tmp_path / "v1", "--languages", asked_for, "--similarity", "cosine"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    assert retrieved.directions == {name for pair in pairs.split() for name in (f"{pair}-eng", f"eng-{pair}")}


def test_both_directions_of_a_set_with_a_common_language(command, one_space, encoder, tmp_path):
    """Tatoeba from English, as dual-pivot transfer has it (5.3), and to English; candidates of one text only
    are what makes the two differ.
    """
    expected = {}
    for seed, language in ((3, "deu"), (7, "fra")):
        lines = sentences(9, seed)
        near = [f"{lines[i // 3]} w{i}" for i in range(9)]  # of three sentences
        for name, side in ((language, near), ("eng", lines)):
            write(tmp_path / f"v1/tatoeba.{language}-eng.{name}", side)
        own, english = encoder.encode(near, language), encoder.encode(lines, "eng")
        expected |= {f"eng-{language}": p_at_1(english, own), f"{language}-eng": p_at_1(own, english)}
    assert expected["eng-deu"] != expected["deu-eng"]
    options = ["--tatoeba", tmp_path / "v1", "--similarity", "cosine,ratio"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    assert retrieved.p_at_1() == pytest.approx(expected)
    assert set(retrieved.p_at_1("ratio")) == set(expected)


@pytest.mark.parametrize(
    ("directions", "pivot"),
    [
        (["de-en", "en-de", "de-fr", "fr-de", "en-fr", "fr-en"], None),
        (["deu-eng", "eng-deu", "eng-fra", "fra-eng"], "eng"),
        (["de-en", "en-de"], "en"),  # of a single pair English is the one that is meant
        (["de-fr", "fr-de"], None),
    ],
)
def test_the_language_that_all_pairs_have_in_common(directions, pivot):
    assert pivot_of(directions) == pivot


def test_flores_has_a_file_per_language(command, one_space, tmp_path):
    for code in ("deu_Latn", "eng_Latn"):
        write(tmp_path / "flores" / "devtest" / f"{code}.devtest", sentences(4, seed=5))
    retrieved = retrieve(command, one_space, tmp_path / "out", "--flores", tmp_path / "flores")
    assert retrieved.directions == {"deu_Latn-eng_Latn", "eng_Latn-deu_Latn"}


@pytest.mark.parametrize("code", ["en", "eng"])
def test_distractors_are_candidates_in_their_language_only(command, one_space, tmp_path, code):
    """Whatever the standard of its code."""
    lines = sentences(4, seed=6)
    files = [write(tmp_path / f"test.{language}", lines) for language in ("de", "en")]
    write(tmp_path / f"more.{code}", sentences(7, seed=7))
    options = ["--parallel", *files, "--distractors", tmp_path / f"more.{code}"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    assert retrieved.of_directions("candidates") == {"de-en": 11, "en-de": 4}
    assert retrieved.p_at_1()["de-en"] == 1  # what is equal is nearer than a distractor
    files[1] = write(tmp_path / "test.eng", lines)
    options = ["--parallel", *files, *options[3:]]
    retrieved = retrieve(command, one_space, tmp_path / "other", *options)
    assert retrieved.of_directions("candidates")["de-eng"] == 11


def test_some_lines_are_queries_and_all_are_candidates(command, one_space, parallel, tmp_path):
    options = ["--parallel", parallel["de"], parallel["en"], "--queries", "5"]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    assert retrieved.counts == {(5, 9)}


@pytest.mark.parametrize("similarity", ["cosine", "cosine,ratio"])
def test_hits_of_the_queries_that_were_drawn(command, one_space, encoder, tmp_path, similarity):
    """As of a loop over all candidates; in either direction others are drawn."""
    german = sentences(30, seed=1)
    english = [sentence if row % 2 else german[row] for row, sentence in enumerate(sentences(30, seed=2))]
    files = [write(tmp_path / "test.de", german), write(tmp_path / "test.en", english)]
    options = ["--parallel", *files, "--queries", "12", "--seed", "5", "--similarity", similarity]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    sides = encoder.encode(german, "de"), encoder.encode(english, "en")
    for place, (queries, candidates) in enumerate((sides, sides[::-1])):
        direction = ("de-en", "en-de")[place]
        expected = np.array(hits(queries, candidates))[drawn(12, 30, place, seed=5)]
        assert retrieved.hits(direction) == expected.tolist() and 0 < expected.sum() < 12
        assert retrieved.p_at_1()[direction] == expected.mean()


@pytest.mark.parametrize(("options", "searches"), [([], 2), (["--queries", "5"], 4)])
def test_both_directions_of_a_pair_are_searched_once(
    command, one_space, parallel, tmp_path, monkeypatch, options, searches
):
    """The neighbours that a margin needs of one are those of the other, and so is what is found."""
    counted = []
    texts = ["--parallel", parallel["de"], parallel["en"], "--similarity", "ratio,cosine", *options]
    monkeypatch.setattr(retrieval, "nearest", lambda *given: counted.append(1) or neighbours.nearest(*given))
    retrieved = retrieve(command, one_space, tmp_path / "out", *texts)
    assert len(counted) == searches
    if not options:  # which lines are queries depends on the order of the files
        turned = retrieve(command, one_space, tmp_path / "turned", *texts[:1], *texts[2:0:-1], *texts[3:])
        assert turned.everything() == retrieved.everything()


def test_short_and_empty_lines_stay(command, one_space, tmp_path):
    lines = ["w1", "", "w2 w3", "w4", "", "   "]
    files = [write(tmp_path / f"test.{language}", lines) for language in ("de", "en")]
    retrieved = retrieve(command, one_space, tmp_path / "out", "--parallel", *files)
    assert retrieved.counts == {(6, 6)}
    # The lines without words have the vector zero, which is near to nothing: they are errors.
    for measure in ("p_at_1", "p_at_1_by_text"):
        assert retrieved.of_directions(measure, "cosine") == {"de-en": 3 / 6, "en-de": 3 / 6}


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        (["a.de"], [], "expected files of at least two languages"),
        (["a.de", "b.de"], [], "a second file of de"),
        (["a.de", "b.toolongforacode"], [], "no language in its name"),
        (["a.de", "a.en"], ["--pivot", "fr"], "--pivot fr: no file of that language; there are de, en"),
        (["a.de", "a.en"], ["--languages", "ja"], "--languages ja: not in parallel text; there are de, en"),
        (["a.de", "a.en", "a.fr"], ["--languages", "de"], "--languages de: no pair of parallel text is"),
        (["a.de", "a.en"], ["--widths", "999"], "--widths 999: vectors have "),
        (["a.de", "short.en"], [], "2 lines, but"),
        (["a.de", "empty.en"], [], "0 lines, but"),
    ],
)
def test_bad_input_is_one_line(refusal, one_space, tmp_path, names, options, message):
    for name in names:
        count = {"short.en": 2, "empty.en": 0}.get(name, 3)
        write(tmp_path / name, sentences(count, seed=1))
    files = [tmp_path / name for name in names]
    output = ["--output", tmp_path / "out"]
    assert message in refusal("retrieve", *one_space, *output, "--parallel", *files, *options)
    assert not (tmp_path / "out" / f"{KIND}.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [("a = 1", "expected a list of language codes"), ("a = [", "no TOML"), ("a = []", "expected a list")],
)
def test_groups_that_are_none(refusal, one_space, parallel, tmp_path, text, message):
    groups = write(tmp_path / "groups.toml", [text])
    arguments = ["--parallel", *parallel.values(), "--groups", groups, "--output", tmp_path / "out"]
    assert message in refusal("retrieve", *one_space, *arguments)


def test_which_queries_were_hits(command, one_space, parallel, tmp_path):
    """What significance tests need, and which sentences were compared."""
    retrieved = retrieve(command, one_space, tmp_path / "out", "--parallel", parallel["de"], parallel["en"])
    for similarity in ("cosine", "ratio"):
        for direction, share in retrieved.p_at_1(similarity).items():
            hits = retrieved.hits(direction, similarity)
            assert len(hits) == 9 and np.mean(hits) == share and all(hits[:6])
    checksums = set(retrieved.run["texts"].values())
    assert len(checksums) == 2
    write(parallel["de"], sentences(9, seed=11))
    other = retrieve(command, one_space, tmp_path / "other", "--parallel", parallel["de"], parallel["en"])
    assert not checksums & set(other.run["texts"].values())


@pytest.fixture
def laser(tmp_path):
    """What LASER publishes for xsim++: English of a test set, and sentences with other words in places."""
    lines = ["w1 w2 w3", "w4 w5 w6"]
    files = [write(tmp_path / f"devtest/{code}.devtest", lines) for code in ("deu_Latn", "eng_Latn")]
    changes = {
        "w1 w2 w3": {"src": "w1 w2 w7", "errtype": "entity"},
        "w4 w6 w5": {"src": "w4 w5 w6", "errtype": "number"},
        "w5 w4 w6": {"src": "w4 w5 w6", "errtype": "causality"},
    }
    folder = tmp_path / "devtest_augmented"
    write(folder / "eng_Latn_augmented.devtest", changes)
    write(folder / "eng_Latn_errtype.devtest.json", [json.dumps(changes)])
    return files, folder, changes


def test_errors_of_xsim_plus_plus_by_type(laser):
    """An error of its type is what was made from the right sentence; another one is misaligned."""
    _, folder, _ = laser
    given = read_distractors(folder / "eng_Latn_errtype.devtest.json")
    right = ["w4 w5 w6", "w1 w2 w3", "w4 w5 w6", "w4 w5 w6"]
    retrieved = ["w5 w4 w6", "w4 w6 w5", "w4 w5 w6", "w1 w2 w3"]
    assert given.errors_by_type(retrieved, right) == {"causality": 1, "misaligned": 2}


@pytest.mark.parametrize("name", ["eng_Latn_augmented.devtest", "eng_Latn_errtype.devtest.json"])
def test_distractors_of_laser(command, one_space, laser, tmp_path, name):
    _, folder, changes = laser
    options = ["--flores", tmp_path, "--distractors", folder / name]
    retrieved = retrieve(command, one_space, tmp_path / "out", *options)
    into, back = "deu_Latn-eng_Latn", "eng_Latn-deu_Latn"
    assert retrieved.of_directions("candidates") == {into: 2 + len(changes), back: 2}
    errors = {
        key: count
        for key, count in retrieved.everything().items()
        if "errors_" in key[-1] and key[1] == "cosine"
    }
    assert {direction for direction, *_ in errors} <= {into}
    assert sum(errors.values()) == round(2 * retrieved.of_directions("error", "cosine")[into])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("eng_errtype.dev.json", '{"a": {"src": "b"}}', "errtype"),
        ("eng_errtype.dev.json", "{}", "is empty, expected a sentence per line"),
        ("eng_augmented.dev", "", "is empty, expected a sentence per line"),
        ("more.toolongforacode", "a\n", "no language in its name"),
    ],
)
def test_bad_distractors_are_one_line(refusal, one_space, parallel, tmp_path, name, text, message):
    path = tmp_path / "distractors" / name
    path.parent.mkdir()
    path.write_text(text)
    options = ["--parallel", parallel["de"], parallel["en"], "--distractors", path]
    refused = refusal("retrieve", *one_space, *options, "--output", tmp_path / "out")
    assert message in refused and str(path) in refused


def test_an_encoder_of_another_name_is_the_same_system(command, one_space, parallel, tmp_path):
    options = ["--parallel", parallel["de"], parallel["en"]]
    runs = [
        retrieve(command, one_space, tmp_path / name, *options, "--encoder-name", name).run
        for name in ("a", "b")
    ]
    assert [run["system"].pop("name") for run in runs] == ["a", "b"]
    assert runs[0] == runs[1] and "language_tags" in runs[0]["system"]


def test_smaller_vectors_beside_the_whole_ones(command, refusal, one_space, parallel, encoder, tmp_path):
    files = [parallel["de"], parallel["fr"]]
    asked = ["--vectors", "float32,binary", "--widths", "32,4"]
    retrieved = retrieve(command, one_space, tmp_path / "out", "--parallel", *files, *asked)
    assert list(retrieved.smaller()) == [
        "float32, 32 numbers", "binary, 32 numbers", "float32, 4 numbers", "binary, 4 numbers",
    ]  # fmt: skip
    assert retrieved.of_encoder() == {"width": 32, **asdict(encoder.size)} and encoder.size.parameters > 1000
    assert list(retrieved.smaller("bytes").values()) == [128, 4, 16, 1]
    assert retrieved.smaller()["float32, 32 numbers"] == pytest.approx(retrieved.average())
    german, french = (
        encoder.encode(path.read_text().splitlines(), language)[:, :4]
        for path, language in zip(files, ("de", "fr"), strict=True)
    )
    expected = (p_at_1(german, french) + p_at_1(french, german)) / 2
    assert retrieved.smaller()["float32, 4 numbers"] == pytest.approx(expected)
    refused = refusal(
        "retrieve", *one_space, "--output", tmp_path / "x", "--parallel", *files, "--widths", 64
    )
    assert "--widths 64: vectors have 32 numbers; expected at most as many" in refused


# --- vectors that are stored in fewer bits


@pytest.fixture
def stored(command, one_space, parallel, tmp_path):
    """A function from a dtype to a folder with vectors of two languages, and their files."""

    def encode(dtype):
        files = [parallel["de"], parallel["fr"]]
        folder = tmp_path / f"vectors-{dtype}"
        assert command("encode", *files, *one_space, "--dtype", dtype, "--output", folder).status == 0
        return folder, files

    return encode


@pytest.mark.parametrize("dtype", ["int8", "binary"])
def test_vectors_stored_in_fewer_bits_are_found_as_they_are(command, one_space, stored, tmp_path, dtype):
    folder, files = stored(dtype)
    asked = ["--parallel", *files, "--vectors"]
    made = retrieve(command, one_space, tmp_path / "made", *asked, f"{dtype},{dtype}+rescored")
    read = retrieve(command, ["--model", folder], tmp_path / "read", *asked, dtype)
    encoder_name = made.run["system"]["name"]
    assert read.run["system"]["name"] == f"{encoder_name}, {dtype}"
    assert read.of_encoder() == made.of_encoder() and read.of_encoder()["layer_parameters"] > 1000
    name = f"{dtype}, 32 numbers"
    for measure in ("bytes", "smaller_p_at_1"):
        assert read.smaller(measure) == {name: made.smaller(measure)[name]}
    if dtype == "int8":  # of signs many are equally near, of which cosines may choose another
        assert read.average() == made.average()

    among = retrieve(
        command,
        one_space,
        tmp_path / "among",
        *asked,
        f"{dtype},{dtype}+rescored",
        "--candidate-vectors",
        folder,
    )
    assert among.run["system"]["name"] == f"{encoder_name}, {dtype} candidates"
    assert among.smaller() == made.smaller()  # queries in float32, candidates as they are stored
    queries, candidates = (
        {path: each.encode(path.read_text().splitlines()) for path in files}
        for each in (encoder_of(one_space), EncoderOptions(folder).load())
    )
    expected = np.mean([p_at_1(queries[first], candidates[second]) for first, second in (files, files[::-1])])
    assert among.average() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("model", "options", "message"),
    [
        ("binary", ["--vectors", "binary+rescored"], "rescoring compares queries in float32, and these are"),
        ("binary", ["--vectors", "float32"], "32 numbers of vectors that are stored as binary, 32 of them"),
        ("int8", ["--vectors", "int8", "--widths", "16"], "16 numbers of vectors that are stored as int8"),
        ("int8", ["--vectors", "binary"], "expected int8 of the same width, or vectors stored as float32"),
        (
            None,
            ["--candidate-vectors", "binary", "--normalize", "0.5"],
            "--candidate-vectors: not with --norm",
        ),
    ],
)
def test_numbers_that_stored_vectors_do_not_have(
    refusal, one_space, stored, tmp_path, model, options, message
):
    folder, files = stored(model or "binary")
    encoder = ["--model", folder] if model else one_space
    options = [folder if option == "binary" and not model else option for option in options]
    refused = refusal("retrieve", *encoder, "--parallel", *files, *options, "--output", tmp_path / "out")
    assert message in refused


def test_candidates_of_another_encoder_are_refused_with_both_names(
    refusal, one_space, checkpoint_options, stored, tmp_path
):
    folder, files = stored("int8")
    words = ["--parallel", *files, "--candidate-vectors", folder, "--output", tmp_path / "out"]
    refused = refusal("retrieve", *checkpoint_options, *words)
    first, second = EncoderOptions(folder).load().encoder, checkpoint_options[1]
    assert (
        f"{folder}: vectors of the encoder {first['name']} (" in refused and "but queries are of" in refused
    )
    assert Path(second).exists() and "expected one encoder" in refused


# --- the United Nations Parallel Corpus


@pytest.fixture
def united_nations(tmp_path):
    """Eleven lines of three languages, of which two pairs with English occur twice."""
    folder = tmp_path / "6way"
    english = [*sentences(9, seed=8), "w1", "w2"]
    english[4] = english[0]
    spanish = [*sentences(9, seed=9)[:4], *english[4:]]
    spanish[4] = spanish[0]
    french = ["w3 w4", *english[1:]]
    english[6], french[6], spanish[6] = english[2], french[2], "w7 w7 w7"
    for language, lines in (("en", english), ("es", spanish), ("fr", french)):
        write(folder / f"UNv1.0.6way.{language}", lines)
    (folder / "UNv1.0.6way.ids").write_text("x\n")
    return folder, english, spanish


def test_identifiers_of_the_united_nations_are_no_language(
    command, refusal, one_space, united_nations, tmp_path
):
    """Languages follow from the files; there is nothing to be a pivot but English."""
    folder, *_ = united_nations
    retrieved = retrieve(command, one_space, tmp_path / "un", "--un", folder)
    assert retrieved.directions == {"en-es", "es-en", "en-fr", "fr-en"}
    refused = refusal("retrieve", *one_space, "--un", folder, "--pivot", "fr", "--output", tmp_path / "no")
    assert "--pivot fr: pairs of UN are with English; leave it out" in refused


def test_the_corpus_of_the_united_nations(command, one_space, united_nations, tmp_path):
    """Stored vectors, looked up by line, give what the distinct pairs give as a text of their own."""
    folder, english, spanish = united_nations
    files = [folder / f"UNv1.0.6way.{language}" for language in ("en", "es")]
    assert command("encode", *files, *one_space, "--output", tmp_path / "vectors").status == 0
    options = ["--un", folder, "--languages", "es", "--similarity"]
    retrieved = retrieve(
        command, ["--model", tmp_path / "vectors"], tmp_path / "un", *options, "cosine,ratio"
    )
    assert (retrieved.run["dataset"], retrieved.directions) == ("UN", {"en-es", "es-en"})

    pairs = list(dict.fromkeys(zip(english, spanish, strict=True)))
    assert len(pairs) == 10
    texts = [write(tmp_path / f"distinct.{name}", side) for name, side in zip(("en", "es"), zip(*pairs))]  # noqa: B905
    expected = retrieve(command, one_space, tmp_path / "own", "--parallel", *texts)
    assert retrieved.everything() == expected.everything()  # hits, checksums of the texts and all

    alone = retrieve(command, ["--model", tmp_path / "vectors"], tmp_path / "cosine", *options, "cosine")
    assert alone.everything("cosine") == expected.everything("cosine")
    lists = ["--index", "ivf", "--lists", 4, "--queries", 9]
    for probes in (1, 4):
        some = [*options, "cosine", *lists, "--probes", probes]
        retrieved = retrieve(command, ["--model", tmp_path / "vectors"], tmp_path / f"ivf{probes}", *some)
        recalls = list(retrieved.of_directions("recall").values())
        assert len(recalls) == 2
        assert all(0 <= recall <= 1 for recall in recalls) and (probes < 4 or recalls == [1.0, 1.0])
    assert expected.of_directions("recall") == {}


def test_recall_of_inverted_lists_against_all_cosines():
    """A search that gives the nearest to two of three queries."""
    candidates = np.eye(4, 6, dtype=np.float32)
    queries = candidates[[2, 0, 3]]
    assert retrieve_module.recall(np.array([2, 1, 3]), queries, candidates, Search(index="ivf")) == 2 / 3


def test_large_files_are_not_read_into_memory(command, one_space, parallel, tmp_path, monkeypatch):
    options = ["--parallel", *parallel.values(), "--queries", 5, "--vectors", "int8"]
    expected = retrieve(command, one_space, tmp_path / "out", *options)
    assert command("encode", *one_space, *parallel.values(), "--output", tmp_path / "vectors").status == 0

    def refuse(*arguments):
        raise AssertionError("read into memory")

    monkeypatch.setattr(search_texts, "MOST_IN_MEMORY", 0)
    monkeypatch.setattr(search_texts, "read_lines", refuse)
    monkeypatch.setattr(StoredVectors, "encode", refuse)
    retrieved = retrieve(command, ["--model", tmp_path / "vectors"], tmp_path / "again", *options)
    assert retrieved.everything() == expected.everything() and retrieved.smaller() == expected.smaller()


def test_a_folder_without_the_corpus_of_the_united_nations(refusal, one_space, tmp_path):
    refused = refusal("retrieve", *one_space, "--un", tmp_path, "--output", tmp_path / "out")
    assert f"{tmp_path}: no files UNv1.0.6way.en and UNv1.0.6way.LANG" in refused
