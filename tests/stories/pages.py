"""The stories: which pages are run, in which order, and what is run in place of what takes long."""

from pathlib import Path

from tests.eval.translation.transformers_folders import write_nllb
from tests.fairseq_ext.mbart import SIZES
from tests.recipes.test_quickstart import MINIATURE
from tests.stories import materials
from tests.stories.story import Story

TINY = "--encoder-layers 1 --encoder-embed-dim 32 --encoder-ffn-embed-dim 32 --encoder-attention-heads 4"
TINY_DECODER = "--decoder-embed-dim 32 --decoder-ffn-embed-dim 32 --decoder-attention-heads 4"
TINY_MBART = " ".join(
    f"--{name.replace('_', '-')} {size}" for name, size in SIZES.items() if "positions" not in name
)
TINY_PRETRAINED = "--width 32 --inner-width 32 --vocabulary-size 300 --warmup-updates 1"
TINY_PRETRAINED += " --updates 2 --save-updates 2"
BENCHMARK = "--arch tiny --rounds 1 --updates 2 --warmup 1 --only 'ours float32'"


def recipe(name: str, config: str, options: str) -> str:
    """A recipe with a configuration of `small/`."""
    return f'bash recipes/{name}/run.sh --config "$SMALL/{name}/{config}.sh" {options}'


def for_example(folder: Path) -> None:
    materials.write_tatoeba(folder)
    write_nllb(folder / "models/nllb-200")
    materials.write_iwslt14(folder)


def for_zero_shot(folder: Path) -> None:
    write_nllb(folder / "models/nllb-200")
    materials.write_xlmr(folder / "models/xlm-r")
    materials.write_pairs(folder / "news", "de", "en", train=20)
    for language in ("de", "en"):
        (folder / f"news/train.de-en.{language}").rename(folder / f"news.{language}")
    materials.write_iwslt14(folder)


def for_own_text(folder: Path) -> None:
    materials.write_own_settings(folder)
    materials.write_pairs(folder / "phrasebook", "en", "de", "fr", train=100)
    (folder / "mine").mkdir()
    for path in (folder / "phrasebook").glob("train.*"):
        path.rename(folder / "mine" / path.name)


def for_corpus(folder: Path) -> None:
    materials.write_pipeline(folder / "en_core_web_sm")
    materials.write_labse(folder / "models/LaBSE")
    materials.write_own_text(folder)
    for name in ("enja/tok", "aspec/tok", "opus/clean", "own/clean", "new/clean"):
        materials.write_pairs(folder / name, "en", "ja", train=100)
    materials.write_pairs(folder / "opus/clean", "en", "zh", train=100)
    (folder / "gold.en-fr.talp").write_text("0-0 1p1\n" * 100)


def for_mbart(folder: Path) -> None:
    materials.write_pairs(folder / "text", "en", "ro", train=200)
    materials.write_mbart(folder / "mbart.cc25.v2", folder / "text")


def for_sentence_embedding(folder: Path) -> None:
    materials.write_table(folder / "l10n", "de", "en", "fr", train=120, evaluation="multiway")
    materials.write_tatoeba(folder / "LASER/data/tatoeba/v1")
    (folder / "models").symlink_to("outputs/sentence_embedding/l10n/models")


def for_pretrained_encoders(folder: Path) -> None:
    materials.write_pairs(folder / "corpus", "de", "en", train=64)
    materials.write_xlmr(folder / "models/xlm-r")
    materials.write_table(folder / "monolingual", "de", "en", "ja", "ru", train=120)
    materials.write_tatoeba(folder / "LASER/data/tatoeba/v1")


def for_one_pair(folder: Path) -> None:
    materials.write_table(folder / "l10n", "de", "en", "fr", train=120, evaluation="multiway")
    materials.write_tatoeba(folder / "LASER/data/tatoeba/v1")


def for_transfer(folder: Path) -> None:
    materials.write_mbert(folder / "models/mbert")
    materials.write_pairs(folder / "bitext", "de", "en", train=80)
    materials.write_xnli(folder / "xnli", "de", "en", "fr")
    materials.write_mlqa(folder / "mlqa", "de", "en")


def for_crosslingual_evaluation(folder: Path) -> None:
    for_transfer(folder)
    materials.write_labse(folder / "models/LaBSE")
    materials.write_tatoeba(folder / "LASER/data/tatoeba/v1")
    materials.write_what_encoders_are_measured_by(folder)


def for_jass_enss(folder: Path) -> None:
    materials.write_table(folder / "TANAKA", "en", "ja", train=200)
    materials.write_pipeline(folder / "en_core_web_sm")


def for_evaluation(folder: Path) -> None:
    from tests.eval.probes.bleurt_folder import write_bleurt

    (folder / "OUT").symlink_to("outputs/quickstart/translations")
    (folder / "models").mkdir()
    write_bleurt(folder / "models/BLEURT-20")


STORIES = {
    "first_steps": Story((("docs/first_steps.md", ""),), ("example/report/report.html",)),
    "own_text": Story(
        (("README.md", "(?!make)"),),
        ("outputs/zero_shot/own/report/report.html",),
        for_own_text,
        small=(
            ("--valid 1000 --test 1000", "--valid 10 --test 10"),
            ("^bash recipes/.*", rf"\g<0> -- {TINY} --decoder-layers 1 {TINY_DECODER} --max-update 4"),
        ),
    ),
    "example": Story(
        (
            ("docs/losses.md", ""),
            ("docs/interlingua.md", "(?!.* validation-curves)"),
            ("docs/sentence_encoders.md", "(?!.* training-speed)"),
            ("docs/one_pair.md", ""),
            ("docs/post_pretraining.md", ""),
            ("docs/distillation.md", ""),
            ("docs/translating.md", ""),
            ("docs/zero_shot_options.md", ""),
        ),
        (
            "example/encoder/checkpoint_best.pt",
            "example/rescored/translate.json",
            "example/of_nllb_fast/scores.json",
            "example/of_iwslt14/translate.json",
        ),
        for_example,
        small=(
            (r"^(fairseq-train .*--arch ems .*)", rf"\1 {TINY} --max-update 2 --cpu"),
            ("--max-update 20 --save-interval-updates 5 ", "--max-update 4 --save-interval-updates 1 "),
            ("--max-update 20 ", "--max-update 2 "),
            ("--max-len-b 40", "--max-len-b 5"),
            (".* probe interlingua .*", r"\g<0> --max-len-b 5"),
        ),
        after="first_steps",
    ),
    "corpus": Story(
        (("docs/data_preparation.md", ""), ("docs/linguistic_pretraining.md", "")),
        ("corpus/finetuned/checkpoint_best.pt", "probes/accuracy/pretraining-accuracy.json"),
        for_corpus,
        before=(
            (".* --parses enju", "parses.sh"),
            (".* pretraining-accuracy", "pretraining_logs.sh"),
            (".* low-resource", "monolingual_text.sh"),
            (".* adequacy", "translations_of_fine_tuning.sh"),
        ),
        small=(
            ("--max-update 20 ", "--max-update 2 "),
            ("--sizes 3000,10000,20000,50000 ", "--sizes 30,100,200,500 "),
        ),
    ),
    "evaluation": Story(
        (("docs/evaluation.md", "bash recipes/quickstart"), ("docs/evaluation.md", "(?!bash)")),
        ("report/report.html", "outputs/quickstart/without-tag/system2-seed1/scores.json"),
        for_evaluation,
        before=((".* human-scores", "ratings.sh"),),
        small=(("^bash recipes/quickstart/run.sh --jobs 1$", rf"\g<0> {' '.join(MINIATURE)}"),),
    ),
    "mbart": Story(
        (("docs/mbart.md", ""),),
        ("mbart/start.pt", "translations/ro-en.txt"),
        for_mbart,
        small=(("^fairseq-train .*", rf"\g<0> {TINY_MBART} --max-update 2 --cpu"),),
    ),
    "export": Story(
        (("docs/export.md", ""),),
        ("exported/model.safetensors", "exported/tokenizer.json"),
        before=((".* export --to", "trained_encoder.sh"),),
    ),
    "pretrained_encoders": Story(
        (("docs/pretrained_encoders.md", ""),),
        ("mlm/pretraining.json",),
        for_pretrained_encoders,
        before=((".* --model mlm/update-13000", "last_update.sh"),),
        small=(
            ("^fairseq-train .*", r"\g<0> --max-update 2 --cpu"),
            ("^python -m embeddings pretrain .*", rf"\g<0> {TINY_PRETRAINED}"),
        ),
    ),
    "zero_shot": Story(
        (
            ("recipes/zero_shot/README.md", ""),
            ("docs/probes.md", "(?!.* (retrieval-curves|combination))"),
            ("docs/performance.md", ""),
        ),
        (
            "outputs/zero_shot/phrasebook/report/report.html",
            "curves/learning-curves.json",
            "report/report.html",
            "states/nllb/states.json",
            "probes/xlmr/similarity.json",
        ),
        for_zero_shot,
        before=(("python -m eval probe states", "states_and_curves.sh"),),
        small=(
            ("--output states/nllb$", r"\g<0> --max-lines 2 --max-len-b 5"),
            (
                "^bash recipes/.* --decoding .*",
                recipe("zero_shot", "phrasebook", "--systems 1,2 --seeds 1 --decoding plain,rescored")
                + " --stages translate,score,report",
            ),
            (
                "^bash recipes/.* --config multi30k .*",
                recipe("zero_shot", "phrasebook", "--systems 1,2 --seeds 1"),
            ),
            ("^python -m benchmarks.training_speed .*", rf"\g<0> {BENCHMARK}"),
            ("^python -m benchmarks.answer_loss .*", r"\g<0> --vocabulary 500 --width 16 --layers 1"),
        ),
    ),
    "interlingua": Story(
        (
            ("recipes/interlingua/README.md", ""),
            ("docs/interlingua.md", ".* validation-curves"),
            ("docs/results/interlingua_length.md", ""),
        ),
        ("outputs/interlingua/multi30k/report/report.html", "probes/curves/validation-curves.json"),
        lambda folder: materials.write_table(folder / "MULTI30K", "cs", "de", "en", "fr", train=120),
        before=((".* validation-curves", "interlingua_models.sh"),),
        small=(
            (
                "^bash recipes/.*",
                recipe("interlingua", "multi30k", "--data-root MULTI30K --systems mnmt,repaired --seeds 1"),
            ),
        ),
    ),
    "word_contrastive": Story(
        (("recipes/word_contrastive/README.md", ""), ("docs/probes.md", ".* retrieval-curves")),
        (
            "outputs/word_contrastive/phrasebook/mlsc/report/report.html",
            "outputs/word_contrastive/phrasebook/curves/mlsc/retrieval-curves.json",
            "curves/retrieval/retrieval-curves.json",
        ),
        small=(("^bash recipes/.*", recipe("word_contrastive", "phrasebook", "--systems mlsc,mlsc+w2w")),),
    ),
    "sentence_embedding": Story(
        (
            ("recipes/sentence_embedding/README.md", ""),
            ("docs/sentence_encoders.md", ".* training-speed"),
            ("recipes/distillation/README.md", ".* --config l10n"),
        ),
        (
            "outputs/sentence_embedding/l10n/report/report.html",
            "speed/training-speed.json",
            "outputs/distillation/l10n/models/reduced-16-seed1/checkpoint_best.pt",
            "outputs/distillation/l10n/speed/encoding-speed.json",
            "outputs/distillation/l10n/report/report.html",
        ),
        for_sentence_embedding,
        small=(
            (
                "sentence_embedding/run.sh --config l10n",
                'sentence_embedding/run.sh --config "$SMALL/sentence_embedding/l10n.sh"'
                " --systems ems,decoder",
            ),
            ("--seeds 1,2", "--seeds 1"),
            (
                "distillation/run.sh --config l10n",
                'distillation/run.sh --config "$SMALL/distillation/l10n.sh"'
                " --systems thin-half-all,shallow-quarter-ams,reduced-16",
            ),
        ),
    ),
    "one_pair": Story(
        (("recipes/one_aligner/README.md", ""), ("recipes/dual_pivot/README.md", "")),
        (
            "outputs/one_aligner/l10n/report/report.html",
            "outputs/one_aligner/l10n/data-size/data-size.json",
            "outputs/dual_pivot/l10n/report/report.html",
        ),
        for_one_pair,
        small=(
            (
                ".*one_aligner/run.sh .*--stages train.*",
                recipe("one_aligner", "l10n", "--data-root l10n --tatoeba LASER/data/tatoeba/v1")
                + " --stages train,evaluate,report --systems de-en,size-1000",
            ),
            (
                ".*dual_pivot/run.sh .*",
                recipe("dual_pivot", "l10n", "--data-root l10n --tatoeba LASER/data/tatoeba/v1")
                + " --encoder outputs/one_aligner/l10n/mlm/update-4 --systems paired-de-en,unpaired-de-en",
            ),
            ("--config l10n", '--config "$SMALL/one_aligner/l10n.sh"'),
        ),
    ),
    "transfer": Story(
        (("recipes/post_pretraining/README.md", ""), ("docs/transfer.md", "")),
        (
            "outputs/post_pretraining/ppa/report/report.html",
            "outputs/post_pretraining/ppa/encoders/ppa-250k-seed1/model.safetensors",
            "finetuned/mbert-de/finetuning.json",
            "transfer/transfer.json",
        ),
        for_transfer,
        small=(
            (
                "^bash recipes/.*",
                recipe("post_pretraining", "ppa", "--data-root bitext --encoder models/mbert")
                + " --xnli xnli --mlqa mlqa --systems unaligned,ppa-250k,no-cs-250k",
            ),
            ("^python -m embeddings finetune .*", r"\g<0> --epochs 1 --batch-size 8 --warmup 1 --cpu"),
        ),
    ),
    "crosslingual_evaluation": Story(
        (("recipes/crosslingual_evaluation/README.md", ""),),
        (
            "outputs/crosslingual_evaluation/paper/report/report.html",
            "outputs/crosslingual_evaluation/paper/transfer/from-de/transfer.json",
        ),
        for_crosslingual_evaluation,
        small=(
            (
                "^bash recipes/.*",
                recipe("crosslingual_evaluation", "paper", "--encoders mbert=models/mbert,labse=models/LaBSE")
                + " --xnli xnli --tatoeba LASER/data/tatoeba/v1 --sts17 sts17 --wikiann wikiann --wmt20 wmt20"
                " --squad mlqa/squad --nli snli --sts sts.csv --seeds 1",
            ),
        ),
    ),
    "instructions": Story(
        (("docs/instructions.md", ""), ("recipes/align_instruct/README.md", "")),
        (
            "lesson/report/report.html",
            "lesson/cosine/cosine.json",
            "outputs/align_instruct/phrasebook/cosine/cosine.json",
            "outputs/align_instruct/phrasebook/report/report.html",
        ),
        small=(
            ("^python -m data_prep phrasebook .*", r"\g<0> --train-lines 30 --valid-lines 6 --test-lines 4"),
            ("--max-output 20", "--max-output 5"),
            (
                "^bash recipes/.*",
                recipe("align_instruct", "phrasebook", "--systems base,mt,mt+align,mt-pivot --seeds 1"),
            ),
        ),
    ),
    "jass_enss": Story(
        (("recipes/jass_enss/README.md", ""),),
        ("outputs/jass_enss/enja/report/report.html",),
        for_jass_enss,
        small=(
            (
                "^bash recipes/.* --spacy-model en_core_web_sm .*",
                recipe("jass_enss", "enja", "--data-root TANAKA --spacy-model en_core_web_sm")
                + " --systems none,jass+enss --directions ja-en --seeds 1",
            ),
        ),
    ),
}
