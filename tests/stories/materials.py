"""What readers have before they begin: texts, and models of others, as tiny as their formats allow."""

import gzip
import json
import lzma
import re
import shutil
from pathlib import Path
from xml.sax.saxutils import escape

from data_prep.spacing import spelled
from tests.documented_commands import ROOT
from tests.our_commands import run_command

# Of inference, and as XNLI's translated training sets call them.
LABELS = {"entailment": "entailment", "neutral": "neutral", "contradiction": "contradictory"}


def write_pairs(folder: Path, *languages: str, train: int, others: int = 5) -> None:
    """`SPLIT.A-B.LANG`, parallel sentences of the phrasebook."""
    sizes = ("--train-lines", str(train), "--valid-lines", str(others), "--test-lines", str(others))
    words = ("data_prep", "phrasebook", "--langs", ",".join(languages), *sizes, "--output", str(folder))
    assert run_command(list(words)) == 0


def write_table(folder: Path, *languages: str, train: int, evaluation: str = "") -> None:
    """`SPLIT.LANG`, as many lines in all languages; `valid` and `test` in the folder `evaluation`. With one,
    the text is compressed, as that of l10n is: the table by xz, the others by gzip.
    """
    write_pairs(folder / "pairs", *languages, train=train, others=8)
    (folder / evaluation).mkdir(exist_ok=True)
    for path in (folder / "pairs").glob("*.*-*.*"):
        split, _, language = path.name.split(".")
        copied = folder / ("" if split == "train" else evaluation) / f"{split}.{language}"
        if not evaluation:
            shutil.copyfile(path, copied)
        elif split == "train":
            copied.with_name(f"{copied.name}.xz").write_bytes(lzma.compress(path.read_bytes()))
        else:
            copied.with_name(f"{copied.name}.gz").write_bytes(gzip.compress(path.read_bytes()))


def write_own_settings(folder: Path) -> None:
    """`own.sh`, as the README shows it."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"^```shell\n(.*?)^```", readme, flags=re.M | re.S)
    (folder / "own.sh").write_text(settings, encoding="utf-8")


def write_own_text(folder: Path) -> None:
    """Text in formats of other people: TMX and TSV in `mine`, TSV with documents, and two plain files."""
    write_pairs(folder / "pairs", "de", "en", "fr", train=1, others=300)
    texts = {
        path.name.removeprefix("valid."): path.read_text(encoding="utf-8").splitlines()
        for path in (folder / "pairs").glob("valid.*-*.*")
    }
    german, english = texts["de-en.de"], texts["de-en.en"]
    units = "".join(
        f'<tu><tuv xml:lang="en"><seg>{escape(en)}</seg></tuv>'
        f'<tuv xml:lang="fr"><seg>{escape(fr)}</seg></tuv></tu>'
        for en, fr in zip(texts["en-fr.en"], texts["en-fr.fr"], strict=True)
    )
    pairs = [f"{de}\t{en}\n" for de, en in zip(german, english, strict=True)]
    talks = (f"talk{number // 20}\t{pair}" for number, pair in enumerate(pairs))
    (folder / "mine").mkdir()
    for name, text in (
        ("mine/news.tmx", f'<tmx version="1.4"><body>{units}</body></tmx>'),
        ("mine/news.tsv", "de\ten\n" + "".join(pairs)),
        ("talks.tsv", "".join(talks)),
        ("input.tok", "\n".join(german) + "\n"),
        ("output.tok", "\n".join(english) + "\n"),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def write_tatoeba(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for language, lines in (("deu", ("Guten Tag.", "Ich bin hier.")), ("eng", ("Good day.", "I am here."))):
        (folder / f"tatoeba.deu-eng.{language}").write_text("\n".join(lines) + "\n")


def write_pipeline(folder: Path) -> None:
    """A spaCy pipeline whose parser has learnt next to nothing; a folder stands for a package."""
    import spacy
    from spacy.training import Example

    pipeline = spacy.blank("en")
    pipeline.add_pipe("parser")
    parse = {"heads": [1, 1, 1], "deps": ["nsubj", "ROOT", "obj"]}
    pipeline.initialize(lambda: [Example.from_dict(pipeline.make_doc("she eats fish"), parse)] * 3)
    pipeline.to_disk(folder)


def write_labse(folder: Path) -> None:
    """A folder of sentence-transformers around a BERT of two layers."""
    from tests.embeddings.encoders.folders import write_sentence_transformers

    folder.parent.mkdir(parents=True, exist_ok=True)
    write_sentence_transformers(folder.parent / "parts").rename(folder)


def write_xlmr(folder: Path) -> None:
    """XLM-R in the format of transformers, of eight layers."""
    from tests.fairseq_ext.test_pretrained_encoder import write_model

    write_model(folder, "xlmr", num_hidden_layers=8, max_position_embeddings=130)


def write_mbert(folder: Path) -> None:
    """mBERT in the format of transformers, of two layers, with a pooler and a head that predicts words."""
    from transformers import AutoTokenizer, BertConfig, BertForPreTraining

    from tests.data_prep.tokenizer_folders import write_bert

    tokenizer = AutoTokenizer.from_pretrained(write_bert(folder))
    tokenizer.save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32}
    BertForPreTraining(BertConfig(vocab_size=len(tokenizer), **sizes)).save_pretrained(folder)


def write_xnli(folder: Path, *languages: str) -> None:
    """MultiNLI, its translations, and XNLI, as they are published."""
    translated = folder / "XNLI-MT-1.0/multinli"
    for part in (translated, folder / "XNLI-1.0", folder / "multinli_1.0"):
        part.mkdir(parents=True)
    pairs = [
        (f"Two children play, {n}.", f"Children {label} {n}.", label) for n in range(8) for label in LABELS
    ]
    names = ("sentence1", "sentence2", "gold_label")
    objects = [json.dumps(dict(zip(names, pair, strict=True))) for pair in pairs]
    (folder / "multinli_1.0/multinli_1.0_train.jsonl").write_text("\n".join(objects) + "\n")
    for language in languages:
        rows = ["premise\thypo\tlabel", *(f"{a} ({language})\t{b}\t{LABELS[label]}" for a, b, label in pairs)]
        (translated / f"multinli.train.{language}.tsv").write_text("\n".join(rows) + "\n")
    for split in ("dev", "test"):
        rows = ["language\tgold_label\tsentence1\tsentence2"]
        rows += [f"{language}\t{label}\t{a}\t{b}" for language in languages for a, b, label in pairs[:9]]
        (folder / f"XNLI-1.0/xnli.{split}.tsv").write_text("\n".join(rows) + "\n")


def write_mlqa(folder: Path, *languages: str) -> None:
    """MLQA, SQuAD, and translations of it, as they are published."""
    for part in ("squad", "MLQA_V1/dev", "MLQA_V1/test"):
        (folder / part).mkdir(parents=True)
    for language in languages:
        questions = [
            {
                "id": str(n),
                "question": f"Who plays {n}?",
                "answers": [{"text": "children", "answer_start": 4}],
            }
            for n in range(6)
        ]
        context = f"Two children play football in the park ({language})."
        squad = {
            "version": "1.1",
            "data": [{"title": "x", "paragraphs": [{"context": context, "qas": questions}]}],
        }
        names = ["train-v1.1", "dev-v1.1"] if language == "en" else [f"squad.translate.train.en-{language}"]
        texts = [f"squad/{name}.json" for name in names]
        texts += [
            f"MLQA_V1/{part}/{part}-context-{language}-question-{language}.json" for part in ("dev", "test")
        ]
        for text in texts:
            (folder / text).write_text(json.dumps(squad), encoding="utf-8")


def write_what_encoders_are_measured_by(folder: Path) -> None:
    """SNLI, STSb, STS 2017, WMT20 and WikiANN, as recipes/crosslingual_evaluation reads them."""
    for part in ("snli", "sts17", "wikiann"):
        (folder / part).mkdir()
    pairs = [("Two children play.", f"Children {n}.", label) for n in range(4) for label in LABELS]
    names = ("sentence1", "sentence2", "gold_label")
    objects = [json.dumps(dict(zip(names, pair, strict=True))) for pair in pairs]
    (folder / "snli/snli_1.0_train.jsonl").write_text("\n".join(objects) + "\n")
    rated = [("Two children", "Two", "4"), ("The park", "Football", "1"), ("Das Wetter", "The weather", "5")]
    (folder / "sts.csv").write_text("".join(",".join(row) + "\n" for row in rated))
    (folder / "sts17/STS.en.tsv").write_text("".join("\t".join(row) + "\n" for row in rated))
    write_pairs(folder / "text", "de", "en", train=2, others=6)
    (folder / "wmt20").mkdir()
    for language in ("de", "en"):
        shutil.copyfile(folder / f"text/valid.de-en.{language}", folder / f"wmt20/en-de.{language}")
    for name in ("train-en", "dev-en", "test-en", "test-de"):
        (folder / f"wikiann/{name}.tsv").write_text("Two\tO\nchildren\tB-PER\nplay\tO\n\n" * 6)


def write_mbart(folder: Path, text: Path) -> None:
    """mBART as fairseq publishes it, of two layers, with pieces of this text."""
    from tests.fairseq_ext import mbart

    lines = [line for path in sorted(text.glob("train.*")) for line in path.read_text("utf-8").splitlines()]
    positions = {"max_source_positions": 1024, "max_target_positions": 1024}  # as the real one
    mbart.write_mbart(folder, mbart.train_pieces(folder, lines, 800), **positions)


def write_parses(tokenized: Path, folder: Path, language: str, ending: str) -> None:
    """Parses (Enju's XML or CoNLL-U) in which every word depends on the first one."""
    folder.mkdir(parents=True)
    for text in tokenized.glob(f"*.{language}"):
        sentences = [list(map(spelled, line.split())) for line in text.read_text("utf-8").splitlines()]
        parses = map(_enju if ending == "xml" else _conllu, sentences)
        (folder / f"{text.name}.{ending}").write_text("".join(parses), encoding="utf-8")


def _conllu(words: list[str]) -> str:
    rows = [
        f"{number}\t{word}\t_\t_\t_\t_\t{int(number > 1)}\t{'root' if number == 1 else 'dep'}\t_\t_\n"
        for number, word in enumerate(words, start=1)
    ]
    return "".join(rows) + "\n"


def _enju(words: list[str]) -> str:
    leaves = [
        f'<cons id="p{number}" cat="X" head="t{number}"><tok id="t{number}">{word}</tok></cons>'
        for number, word in enumerate(escape(word) for word in words)
    ]
    phrase = f'<cons id="c0" cat="S" head="p0">{" ".join(leaves)}</cons>'
    return f'<sentence id="s0" parse_status="success">{phrase}</sentence>\n'


def write_iwslt14(folder: Path) -> None:
    """What fairseq's example of IWSLT'14 leaves: the folder of its preprocessing, its codes, a checkpoint."""
    from tests.eval.translation.test_fairseq_preprocess import with_byte_pairs

    data = with_byte_pairs(folder / "data-bin/iwslt14.tokenized.de-en").folder
    (folder / "checkpoints/iwslt14").mkdir(parents=True)
    (data / "model.pt").rename(folder / "checkpoints/iwslt14/checkpoint_best.pt")
    (data / "codes").rename(folder / "code")
    for language in ("de", "en"):
        shutil.copy(data / f"text/test.de-en.{language}", data / f"text/valid.de-en.{language}")
