"""The small world of the campaign: one folder with what every command reads, and a right use of each command.

`{w}` is the world, `{o}` the output. Nothing here is wrong: each case of the campaign changes one thing.
"""

import json
import shutil
from itertools import chain
from pathlib import Path

import numpy as np

from command_line.measurements import Measured, numbers
from tests.eval.rows import write_measured
from tests.our_commands import run_command

WORDS = {
    "data_prep phrasebook": "--langs de,en --output {o} --train-lines 9 --valid-lines 2 --test-lines 2",
    "data_prep download": "multi30k --langs de,en --from-folder {w}/multi30k --output {o}",
    "data_prep import": "{w}/multi30k --output {o} --valid 1",
    "data_prep clean": "--input {w}/raw --output {o} --workers 1",
    "data_prep low-resource": "--input {w}/pair --output {o} --sizes 5",
    "data_prep xnli-manual": "--dev {w}/xnli.dev.tsv --test {w}/xnli.test.tsv --output {o}",
    "data_prep new-tatoeba": "{w}/challenge --sample 3 --output {o}",
    "data_prep tokenize": "--input {w}/raw --output {o} --workers 1",
    "data_prep bunsetsu": "--input {w}/tok --output {o} --lang en --workers 1",
    "data_prep phrases": "--input {w}/tok --output {o} --parser conllu --parses {w}/parses --workers 1",
    "data_prep position-changes": "--input {w}/parsed --workers 1",
    "data_prep subword": "--input {w}/tok --output {o} --merges 30 --workers 1",
    "data_prep phrasebook-tasks": "--input {w}/raw --train-lines 1 --output {o}",
    "data_prep binarize": "--input {w}/sub --text {w}/raw --output {o} --workers 1",
    "data_prep structures": "--input {w}/parsed --tokenized {w}/tok --subword {w}/sub --data {w}/data",
    "data_prep align": "--input {w}/tok --output {o} --workers 1",
    "data_prep lexicon": "--input {w}/tok --alignments {w}/linked --output {o} --workers 1",
    "data_prep alignment-error": "--gold {w}/gold.txt --alignment {w}/links.txt --output {o}/aer.json",
    "data_prep corpus-stats": "--input {w}/tok --output {o} --no-plot --workers 1",
    "eval translate": "--checkpoint {w}/model.pt --data {w}/data --output {o} --cpu --beam 1",
    "eval score": "{w}/out --data {w}/data --workers 1 --force",
    "eval adequacy": "{w}/out --data {w}/data --model {w}/model.pt --model-data {w}/data --output {o}",
    "eval bleurt": "{w}/out --model {w}/bleurt --cpu --output {o}",
    "eval human-sheet": "{w}/out {w}/other --direction de-en --output {o}",
    "eval human-scores": "{w}/sheet/ratings.csv --key {w}/sheet/key.csv --output {o}",
    "eval examples": "{w}/out {w}/other --direction de-en --output {o}",
    "eval compare": "{w}/out {w}/other --output {o}/comparison.json",
    "fairseq_ext run-training": "--output {o} --data {w}/data -- sh {w}/trainer.sh {o} {w} fairseq-train",
    "fairseq_ext search-table": "{w}/training --output {o}",
    "fairseq_ext finished-trainings": "{w}",
    "fairseq_ext checkpoints": "{w}/training",
    "fairseq_ext dry-run": "",
    "fairseq_ext plan": "--flops 1e12",
    "embeddings plan": "--flops 1e12",
    "llm plan": "--flops 1e12",
    "fairseq_ext on-device": "--precision {o} --cpu -- true",
    "fairseq_ext describe": "{w}/model.pt",
    "fairseq_ext trim-mbart": "--pretrained {w}/mbart --data {w}/data --output {o}/trimmed.pt",
    "fairseq_ext trim-vocabulary": "--checkpoint {w}/model.pt --data {w}/data --trimmed {w}/data"
    " --output {o}/trimmed.pt",
    "fairseq_ext average": "{w}/model.pt {w}/training/checkpoint_best.pt --output {o}/mean.pt",
    "fairseq_ext package": "{w}/model.pt --data {w}/data --output {o}",
    "fairseq_ext export": "{w}/sentences.pt {o} --to sentence-transformers --data {w}/pieces",
    "eval report": "{w}/out --output {o}",
    "eval probe states": "--checkpoint {w}/model.pt --data {w}/data --output {o} --cpu --beam 1",
    "eval probe llr": "{w}/states --output {o} --protocol paper",
    "eval probe similarity": "{w}/states --output {o}",
    "eval probe retrieval": "{w}/states --output {o}",
    "eval probe correlate": "{w}/out {w}/other --retrieval {w}/retrieval --output {o}",
    "eval probe cosine": "{w}/states --output {o}",
    "eval probe off-target": "{w}/out --data {w}/data --output {o}",
    "eval probe contribution": "{w}/out --checkpoint {w}/model.pt --data {w}/data --max-lines 2 --cpu"
    " --output {o}",
    "eval probe interlingua": "--checkpoint {w}/interlingua.pt --data {w}/data --output {o} --cpu --beam 1",
    "embeddings encode": "{w}/raw/test.de-en.de --model {w}/model.pt --model-data {w}/data --output {o}",
    "embeddings import": "{w}/raw/test.de-en.de={w}/foreign.npy --encoder-name other --output {o}",
    "embeddings retrieve": "--parallel {w}/raw/test.de-en.de {w}/raw/test.de-en.en --model {w}/model.pt"
    " --model-data {w}/data --output {o}",
    "embeddings neighbours": "{w}/raw/test.de-en.de --model {w}/model.pt --model-data {w}/data --output {o}",
    "embeddings layers": "{w}/bert --layers average",
    "embeddings speed": "a={w}/model.pt --text {w}/raw/test.de-en.de --model-data {w}/data --rounds 1"
    " --output {o}",
    "embeddings mine": "{w}/raw/test.de-en.de {w}/raw/test.de-en.en --model {w}/model.pt"
    " --model-data {w}/data --output {o}",
    "embeddings bucc": "{w}/bucc --pairs de-en --model {w}/model.pt --model-data {w}/data --output {o}",
    "embeddings classify": "{w}/labelled --languages de,en --model {w}/model.pt --model-data {w}/data"
    " --epochs 1 --output {o}",
    "embeddings calibrate": "--model {w}/bert --nli {w}/english/snli.jsonl --sts {w}/english/stsb.csv"
    " --valid-parallel {w}/english/valid.de {w}/english/valid.en --sts-epochs 1 --cpu --output {o}",
    "embeddings finetune": "--task pairs --model {w}/bert --train en={w}/english/snli.jsonl"
    " --valid en={w}/english/snli.jsonl --test en={w}/english/snli.jsonl --epochs 1 --warmup 0"
    " --checkpoints 1 --cpu --output {o}",
    "embeddings pretrain": "--text {w}/monolingual --languages de,en --layers 1 --width 8 --heads 1"
    " --inner-width 8 --vocabulary-size 120 --batch-tokens 80 --updates 1 --warmup-updates 0 --cpu"
    " --output {o}",
    "embeddings sts": "{w}/sts-de.csv --model {w}/model.pt --model-data {w}/data --output {o}",
    "llm instruct": "--text {w}/raw --words {w}/tok --alignments {w}/linked --output {o} --workers 1",
    "llm new-model": "--text {w}/raw --vocabulary-size 300 --width 8 --layers 1 --heads 2 --output {o}",
    "llm tune": "--model {w}/language-model --instructions {w}/instructions --curriculum mt --epochs 1"
    " --valid-instructions 4 --loader-workers 0 --cpu --output {o}",
    "llm translate": "--model {w}/language-model --data {w}/data --directions de-en --max-output 3 --cpu"
    " --output {o}",
    "llm states": "--model {w}/language-model --data {w}/data --split test --cpu --output {o}",
    "eval probe pretraining-accuracy": "MASS={w}/train.log --dataset toy --output {o}",
    "eval probe validation-curves": "MNMT={w}/train.log --dataset toy --output {o}",
    "eval probe training-speed": "EMS={w}/train.log --dataset toy --output {o}",
    "eval probe combination": "{w}/out {w}/other {w}/third {w}/fourth --combine A:B:C:D --output {o}",
    "eval probe language-groups": "{w}/out {w}/other --groups {w}/groups.toml --output {o}",
    "eval probe cost": "EMS={w}/train.log --dataset toy --output {o}",
    "eval probe data-size": "{w}/retrieved --sizes {w}/sizes.tsv --of languages --output {o}",
    "eval probe transfer": "{w}/fine-tuned/zero-shot {w}/fine-tuned/all --output {o}",
    "eval probe retrieval-curves": "{w}/retrieved-course --output {o}",
    "eval probe learning-curves": "{w}/out {w}/other --output {o}",
}
LOG = (
    "2026-01-01 | INFO | fairseq_cli.train | num. shared model params: 1,000 (num. trained: 1,000)\n"
    "2026-01-01 | INFO | train_inner | epoch 001:   5 / 90 loss=6.1, wpb=90, num_updates=5, train_wall=2\n"
    "2026-01-01 | INFO | train_inner | epoch 001:  10 / 90 loss=5.9, wpb=90, num_updates=10, train_wall=2\n"
    "2026-01-01 | INFO | valid | epoch 001 | valid on 'valid' subset | loss 5.1 | ppl 33"
    " | accuracy_en-mass 20 | num_updates 10\n"
)


def words_of(command: str, world: Path, output: Path) -> list[str]:
    """A right use of a command, with its options."""
    return [word.format(w=world, o=output) for word in WORDS[command].split()]


def make_world(world: Path) -> None:
    """Everything that the commands above read."""
    for line in (
        f"{_PHRASEBOOK} --langs de,en,fr --output {{w}}/raw --train-lines 40",
        f"{_PHRASEBOOK} --langs de,en --output {{w}}/pair --train-lines 20",
        "data_prep tokenize --input {w}/raw --output {w}/tok --workers 1",
        "data_prep subword --input {w}/tok --output {w}/sub --merges 60 --workers 1",
        "data_prep binarize --input {w}/sub --text {w}/raw --output {w}/data --workers 1",
    ):
        _run(line, world)
    _write_checkpoint(world)
    for name, other in (("out", "A"), ("other", "B"), ("third", "C"), ("fourth", "D")):
        _run(f"{_TRANSLATE} --output {{w}}/{name} --name {other}", world)
        _run(f"eval score {{w}}/{name} --workers 1", world)
    for folder, name in (("states", "A"), ("other-states", "B")):
        _run(
            _TRANSLATE.replace("translate", "probe states") + f" --output {{w}}/{folder} --name {name}", world
        )
    _run("eval probe retrieval {w}/states {w}/other-states --output {w}/retrieval", world)
    _write_course(world)
    _lay_out_multi30k(world)
    _lay_out_challenge(world)
    _write_xnli(world)
    _write_retrieved(world)
    _write_fine_tuned(world)
    _write_monolingual(world)
    _write_bleurt(world)
    (world / "train.log").write_text(LOG)
    _run("eval human-sheet {w}/out {w}/other --direction de-en --lines 1 --output {w}/sheet", world)
    (world / "sheet/ratings.csv").write_text("item,adequacy,fluency\n1,4,5\n2,3,3\n")
    (world / "groups.toml").write_text('seen = ["de", "en"]\nunseen = ["fr"]\n')
    validated = "echo '| INFO | valid | epoch 001 | loss 5.1 | num_updates 10'\n"
    (world / "trainer.sh").write_text(f"{validated}cp $2/model.pt $1/checkpoint_best.pt\n")
    training = WORDS["fairseq_ext run-training"].replace("{o}", "{w}/training")
    _run(f"fairseq_ext run-training {training}", world)
    _run("data_prep align --input {w}/tok --output {w}/linked --workers 1", world)
    (world / "gold.txt").write_text("0-0 1-1\n")
    (world / "links.txt").write_text("0-0 1-0\n")
    _write_parses(world)
    _run("data_prep phrases --input {w}/tok --output {w}/parsed --parser conllu --parses {w}/parses", world)
    _write_mbart(world)
    _write_sentence_encoder(world)
    _write_labelled(world)
    _write_english(world)
    _write_bucc(world)
    _write_language_model(world)


_PHRASEBOOK = "data_prep phrasebook --valid-lines 5 --test-lines 5"
_TRANSLATE = "eval translate --checkpoint {w}/model.pt --data {w}/data --cpu --beam 1 --max-len-b 3"


def _run(line: str, world: Path) -> None:
    assert run_command(line.format(w=world).split()) == 0, line


def _write_checkpoint(world: Path) -> None:
    from tests.fairseq_ext.test_checkpoints import checkpoint_state, save

    save(world / "model.pt", checkpoint_state(world / "data"))
    save(world / "interlingua.pt", checkpoint_state(world / "data", "interlingua_transformer"))


def _write_course(world: Path) -> None:
    """Retrieval of a checkpoint, and the log of its training."""
    results = json.loads((world / "retrieval/retrieval.json").read_text(encoding="utf-8"))
    checkpoint = {"path": str(world / "course/checkpoint_1_10.pt"), "updates": 10}
    results["runs"] = [results["runs"][0] | {"checkpoint": checkpoint}]
    for folder in ("course", "retrieved-course"):
        (world / folder).mkdir()
    (world / "retrieved-course/retrieval.json").write_text(json.dumps(results), encoding="utf-8")
    shutil.copyfile(world / "retrieval/retrieval.csv", world / "retrieved-course/retrieval.csv")
    (world / "course/train.log").write_text("| valid | loss 5 | num_updates 10\n")


def _lay_out_challenge(world: Path) -> None:
    folder = world / "challenge/deu-eng"
    folder.mkdir(parents=True)
    for side, language in (("src", "de"), ("trg", "en")):
        shutil.copyfile(world / f"raw/test.de-en.{language}", folder / f"test.{side}")


def _write_xnli(world: Path) -> None:
    """Lines of two languages with the same labels."""
    for part in ("dev", "test"):
        rows = [f"{language}\tneutral\t{number}" for language in ("de", "en") for number in range(10)]
        (world / f"xnli.{part}.tsv").write_text("\n".join(["language\tgold_label\tsentence1", *rows, ""]))


def _write_retrieved(world: Path) -> None:
    """What retrieval found, sizes of the languages, and vectors of another program."""
    lines = (world / "raw/test.de-en.de").read_text(encoding="utf-8").count("\n")
    np.save(world / "foreign.npy", np.eye(lines, 8, dtype=np.float32))
    (world / "sizes.tsv").write_text("de\t30\nen\t400\n")
    _run("embeddings retrieve " + WORDS["embeddings retrieve"].replace("{o}", "{w}/retrieved"), world)


def _write_fine_tuned(world: Path) -> None:
    """What an encoder reached that was fine-tuned on English, and on all languages."""
    for name, languages, accuracy in (("zero-shot", ["en"], 60.0), ("all", ["de", "en"], 80.0)):
        run = {
            "system": {"name": "toy", "seed": 1}, "dataset": "toy", "task": "pairs", "measure": "accuracy",
            "variant": f", {name}", "train_languages": languages, "code_switching": False, "texts": {},
        }  # fmt: skip
        measured = Measured()
        rows = [numbers({"accuracy": accuracy}, direction=language) for language in ("de", "en")]
        measured.add(run, chain.from_iterable(rows))
        write_measured(world / "fine-tuned" / name, "finetuning", measured)


def _lay_out_multi30k(world: Path) -> None:
    """A local copy of the corpus, with sentences of the phrasebook."""
    (world / "multi30k").mkdir()
    for split in ("train", "valid", "test"):
        for language in ("de", "en"):
            shutil.copyfile(world / f"raw/{split}.de-en.{language}", world / f"multi30k/{split}.{language}")


def _write_monolingual(world: Path) -> None:
    """The sides of a bitext, each for itself."""
    (world / "monolingual").mkdir()
    for split in ("train", "valid"):
        for language in ("de", "en"):
            shutil.copyfile(
                world / f"raw/{split}.de-en.{language}", world / f"monolingual/{split}.{language}"
            )


def _write_parses(world: Path) -> None:
    """Trees in which every word depends on the first one."""
    from data_prep.spacing import spelled

    (world / "parses").mkdir()
    for text in world.glob("tok/*.en"):
        with open(world / "parses" / f"{text.name}.conllu", "w", encoding="utf-8") as stream:
            for line in text.read_text(encoding="utf-8").splitlines():
                for number, word in enumerate(map(spelled, line.split())):
                    head, relation = (1, "nsubj") if number else (0, "root")
                    stream.write(f"{number + 1}\t{word}\t_\t_\t_\t_\t{head}\t{relation}\t_\t_\n")
                stream.write("\n")


def _write_labelled(world: Path) -> None:
    """Sentences with labels, and pairs of sentences with ratings."""
    (world / "labelled").mkdir()
    for language in ("de", "en"):
        for part in ("train", "valid", "test"):
            (world / f"labelled/{language}.{part}.tsv").write_text("a\tone two\nb\tthree\n")
    (world / "sts-de.csv").write_text("one,two,1\nthree,three,5\n")


def _write_english(world: Path) -> None:
    """An encoder, and what it is calibrated on."""
    from tests.embeddings.calibration.english import write_bert, write_english

    write_english(world / "english", premises=8)
    write_bert(world / "bert")


def _write_mbart(world: Path) -> None:
    from data_prep.formats.dictionary import read_symbols
    from tests.fairseq_ext.mbart import write_mbart

    write_mbart(world / "mbart", read_symbols(world / "data/dict.de.txt"))


def _write_sentence_encoder(world: Path) -> None:
    """A sentence encoder of raw text that sentencepiece has split."""
    from tests.fairseq_ext.export.folders import write_data, write_encoder

    write_encoder(world / "sentences.pt", write_data(world / "pieces"))


def _write_bucc(world: Path) -> None:
    (world / "bucc").mkdir()
    for part in ("training", "test"):
        for language in ("de", "en"):
            lines = (world / f"raw/test.de-en.{language}").read_text(encoding="utf-8").splitlines()
            numbered = [f"{language}-{number}\t{line}\n" for number, line in enumerate(lines)]
            (world / f"bucc/de-en.{part}.{language}").write_text("".join(numbered), encoding="utf-8")
        (world / f"bucc/de-en.{part}.gold").write_text("de-0\ten-0\nde-1\ten-1\n")


def _write_language_model(world: Path) -> None:
    """Instructions, and a model that reads their text."""
    from tests.llm.tiny_model import write_bloom

    _run("llm instruct " + WORDS["llm instruct"].replace("{o}", "{w}/instructions"), world)
    lines = (world / "raw/train.de-en.de").read_text(encoding="utf-8").splitlines()
    write_bloom(world / "language-model", lines, vocabulary=300, width=8, layers=1)


def _write_bleurt(world: Path) -> None:
    from tests.eval.probes.bleurt_folder import write_bleurt

    write_bleurt(world / "bleurt")
