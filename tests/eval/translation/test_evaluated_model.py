import pytest

from command_line.dispatch import step_parser
from command_line.errors import InputError
from command_line.option_classes import from_arguments
from command_line.outputs import checksum
from eval.translation import translate
from eval.translation.evaluated_model import settings_of
from eval.translation.model_options import model_of


def job(tmp_path, *argv: str) -> translate.TranslationJob:
    parser = step_parser("translate", translate)
    required = (
        "--checkpoint",
        tmp_path / "best.pt",
        "--data",
        tmp_path / "data",
        "--output",
        tmp_path / "out",
    )
    options = from_arguments(translate.TranslateOptions, parser.parse_args([*map(str, required), *argv]))
    model = model_of(options.model, options.raw_text)
    return translate.TranslationJob(model, options.sets, options.how)


def test_what_a_translation_depends_on(tmp_path):
    (tmp_path / "best.pt").write_bytes(b"weights")
    assert settings_of(job(tmp_path)) == {
        "checkpoint": tmp_path / "best.pt", "checkpoint_sha256": checksum(tmp_path / "best.pt"),
        "data": tmp_path / "data", "split": "test", "directions": "all", "pivot": None, "bf16": False,
        "beam": 5, "lenpen": 1.0, "max_len_a": 0.0, "max_len_b": 200, "score_without_tag": False,
        "no_repeat_ngram": None, "max_tokens": 4096, "length_candidates": 1, "length_weight": 1.0,
        "source_contrast": None, "contrast_sources": None, "contrast_seed": None, "language_contrast": None,
        "contrast_languages": None, "language_rescoring": None, "rescoring_identifier": None,
        "name": None, "dataset": None, "engine": None, "precision": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "same"),
    [
        (["--cpu"], True),
        (["--force"], True),
        (["--beam", "4"], False),
        (["--length-weight", "0.5"], False),
        (["--name", "ours"], False),
        (["--source-contrast"], False),
        (["--language-rescoring", "1"], False),
    ],
)
def test_where_it_is_made_does_not_matter(tmp_path, options, same):
    (tmp_path / "best.pt").write_bytes(b"weights")
    assert (settings_of(job(tmp_path, *options)) == settings_of(job(tmp_path))) == same


def test_another_checkpoint_of_the_same_name(tmp_path):
    (tmp_path / "best.pt").write_bytes(b"weights")
    before = settings_of(job(tmp_path))
    (tmp_path / "best.pt").write_bytes(b"others")
    assert settings_of(job(tmp_path)) != before
    (tmp_path / "best.pt").unlink()
    with pytest.raises(InputError, match=r"best\.pt: no such file; expected a fairseq checkpoint"):
        settings_of(job(tmp_path))


@pytest.mark.parametrize("step", [["translate"], ["probe", "states"]])
def test_a_checkpoint_that_is_not_there_is_said_before_its_data(command, tmp_path, step):
    result = command(
        *step, "--checkpoint", tmp_path / "gone.pt", "--data", tmp_path, "--output", tmp_path / "out"
    )
    assert result.status == 2
    expected = "a fairseq checkpoint, or a folder of `python -m fairseq_ext package`"
    assert result.err == f"error: {tmp_path}/gone.pt: no such file; expected {expected}\n"
