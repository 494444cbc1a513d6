"""The encoder with a head for a task, what it reads, and what it says."""

import inspect
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch

from command_line.errors import InputError
from data_prep.model_folders import loading
from data_prep.model_folders.loading import check_complete, check_ids, load_configuration
from data_prep.model_folders.modules import transformer_place
from embeddings.encoders.arithmetic import autocast
from embeddings.encoders.options import SENTENCE_TRANSFORMERS, kind_of
from embeddings.finetuning.task import IGNORED, Outputs, Predict, Reader, Task, Window
from fairseq_ext.models.pretrained_weights import longest_of

TARGETS = ("labels", "start_positions", "end_positions")
POOLER = "--pooler"
EXPECTED = "an encoder alone, such as BERT or XLM-R"
BATCHES_AT_A_TIME = 64  # whose windows are sorted by length


def load_tokenizer(folder: Path):
    """The tokenizer of an encoder.

    Raises:
        InputError: there is none that knows which characters of a text a token is.
    """
    folder = transformer_in(folder)
    tokenizer = loading.load_tokenizer(folder)
    if not tokenizer.is_fast:
        raise InputError(
            f"--model {folder}: its tokenizer does not say where tokens are in a text; expected a fast one,"
            " with tokenizer.json (AutoTokenizer.from_pretrained(…).save_pretrained writes it where it can)"
        )
    tokenizer.padding_side = tokenizer.truncation_side = "right"
    return tokenizer


def load_model(folder: Path, task: Task, classes: Sequence[str] = (), pooler: Path | None = None):
    """The encoder in a folder, with the head of the task, on the processor.

    Warns of a pooler below the head that is drawn by chance.

    Args:
        classes: of a new head, whose weights are drawn by chance; none for the one that the folder has.
        pooler: folder whose pooler is taken, in place of the encoder's.

    Raises:
        InputError: no such folder, pickled weights, code of its own, a kind of encoder that transformers has
            no such head for or whose head would not read the encoder, or weights of the encoder are missing.
    """
    folder = transformer_in(folder)
    given = {}
    if classes:
        given["id2label"] = dict(enumerate(classes))
        given["label2id"] = {label: number for number, label in enumerate(classes)}
    _check_head(load_configuration(folder), task, folder)
    model, notes = loading.load_model(
        folder, class_name=task.model, ignore_mismatched_sizes=bool(classes), **given
    )
    _check_kind(model, task, folder)
    _check_encoder(model, notes, folder)
    if pooler:
        _take_pooler(model, pooler)
    elif any(".pooler." in name for name in notes["missing_keys"]):
        print(
            f"warning: --model {folder}: has no pooler, on which the head stands; a new one is drawn by"
            " chance",
            file=sys.stderr,
        )
    return model


def reader_of(tokenizer, model, most: int, classes: Sequence[str]) -> Reader:
    """What turns examples into windows of an encoder. Both learn what the other knows: the tokenizer, whether
    types are read, and either, what padding is.

    Args:
        most: tokens of a window; fewer, where the encoder reads fewer.

    Raises:
        InputError: no token can be padding, or the encoder has no vectors of some tokens.
    """
    check_ids(tokenizer, model, tokenizer.name_or_path)
    if not _reads_types(model):
        names = [name for name in tokenizer.model_input_names if name != "token_type_ids"]
        tokenizer.model_input_names = tokenizer.init_kwargs["model_input_names"] = names
    padding = _agreed_padding(tokenizer, model)
    longest = min(most, tokenizer.model_max_length, longest_of(model.base_model))
    return Reader(tokenizer, longest, tuple(classes), padding)


def _reads_types(model) -> bool:
    """Does an encoder read which text a token is of? GPT-2 would take a type for a word."""
    parameters = inspect.signature(model.forward).parameters
    return "token_type_ids" in parameters and getattr(model.config, "type_vocab_size", 1) > 1


def _agreed_padding(tokenizer, model) -> int:
    """The id of padding. Heads on decoders such as GPT-2 read the last token that is not the padding of the
    model's configuration, which so comes first; without any, the end of a text is.
    """
    if model.config.pad_token_id is None:
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        model.config.pad_token_id = tokenizer.pad_token_id
    if model.config.pad_token_id is None:
        raise InputError(
            f"--model {tokenizer.name_or_path}: neither its configuration nor its tokenizer has a token for"
            " padding, and the latter none for the end of a text; expected one of them: set"
            " tokenizer.pad_token, and save_pretrained"
        )
    return model.config.pad_token_id


def _check_head(config, task: Task, folder: Path) -> None:
    """Refuse kinds of models that transformers has no head of a task for."""
    import transformers

    words = re.findall("[A-Z][a-z]+", task.model)[2:]  # of AutoModelForQuestionAnswering
    kinds = getattr(transformers, f"MODEL_{'_'.join(words).upper()}_MAPPING")
    if type(config) not in kinds:
        raise InputError(
            f"--model {folder}: is of the kind {config.model_type}, for which transformers has no head of"
            f" --task {task.name}; expected {EXPECTED}"
        )


def _check_kind(model, task: Task, folder: Path) -> None:
    """Refuse those kinds of encoders whose head would read something else than the encoder's states."""
    summary, kind = getattr(model, "sequence_summary", None), model.config.model_type
    if "decoder_input_ids" in inspect.signature(model.forward).parameters:
        reason = f"is of the kind {kind}, whose decoder the head of --task {task.name} would read"
    elif hasattr(model, "set_default_language"):
        reason = "reads every language by adapters of its own (X-MOD), which a task does not choose"
    elif getattr(summary, "summary_type", None) == "last":
        reason = f"the head of --task {task.name} would read its last token (XLNet), which may be padding"
    else:
        return
    raise InputError(f"--model {folder}: {reason}; expected {EXPECTED}")


def _check_encoder(model, notes: dict, folder: Path) -> None:
    """Refuse an encoder of whose weights some would be drawn by chance; those of a head, and of a pooler
    below it, may be.
    """
    inner = f"{model.base_model_prefix}."
    names = [*notes["missing_keys"], *(name for name, *_ in notes["mismatched_keys"])]
    lacking = sorted(name for name in names if name.startswith(inner) and ".pooler." not in name)
    own = [name for name in model.base_model.state_dict() if not name.startswith("pooler.")]
    if len(lacking) == len(own) and not notes["mismatched_keys"]:
        raise InputError(
            f"--model {folder}: is of the kind {model.config.model_type}, and its files have no weights under"
            f" the names of {type(model).__name__} ({lacking[0]}, …); expected the encoder without a head"
            " (AutoModel.from_pretrained(…).save_pretrained writes it), or another kind, such as BERT"
        )
    if lacking:
        raise InputError(
            f"--model {folder}: {len(lacking)} weights are missing from its files or of another shape, the"
            f" first is {lacking[0]}; expected a complete encoder"
        )


def _take_pooler(model, folder: Path) -> None:
    """Give the encoder below a head the pooler of a folder."""
    loaded, notes = loading.load_model(folder, POOLER)
    check_complete(folder, notes["missing_keys"], True, POOLER)
    given, own = (getattr(encoder, "pooler", None) for encoder in (loaded, model.base_model))
    if given is None or own is None:
        which = folder if given is None else f"the model of the task, {type(model).__name__},"
        raise InputError(f"{POOLER} {folder}: {which} has no pooler; leave the option out")
    shapes = [{name: value.shape for name, value in pooler.state_dict().items()} for pooler in (given, own)]
    if shapes[0] != shapes[1]:
        raise InputError(f"{POOLER} {folder}: its pooler is of another size than the encoder's")
    own.load_state_dict(given.state_dict())


def transformer_in(folder: Path) -> Path:
    """Where the model of transformers is in a folder, which may be one of sentence-transformers.

    Raises:
        InputError: that has none, or a module of a stranger's.
    """
    return transformer_place(folder) if kind_of(folder) == SENTENCE_TRANSFORMERS else folder


def collated(reader: Reader, windows: Sequence[Window], with_targets: bool = True) -> dict[str, torch.Tensor]:
    """B windows as the model takes them, padded at their ends: B x T, and targets, B or B x T."""
    longest = max(len(window["input_ids"]) for window in windows)
    padding = {
        "input_ids": reader.padding,
        "token_type_ids": reader.tokenizer.pad_token_type_id,
        "attention_mask": 0,
        "labels": IGNORED,
    }
    names = [name for name in windows[0] if name[0] != "_" and (with_targets or name not in TARGETS)]
    features = {}
    for name in names:
        values = [window[name] for window in windows]
        if isinstance(values[0], list):
            values = [[*row, *[padding[name]] * (longest - len(row))] for row in values]
        features[name] = torch.tensor(values)
    return features


def predictor(model, reader: Reader, batch_size: int, precision: str) -> Predict:
    """What the model, as it is when it is asked, says of windows; it must be in evaluation mode."""

    def predict(windows: Sequence[Window]) -> Iterator[Outputs]:
        at_a_time = batch_size * BATCHES_AT_A_TIME
        for start in range(0, len(windows), at_a_time):
            yield from _said_of(model, reader, windows[start : start + at_a_time], batch_size, precision)

    return predict


def _said_of(
    model, reader: Reader, windows: Sequence[Window], batch_size: int, precision: str
) -> list[Outputs]:
    """The model's outputs for a few windows; those of one length share a batch."""
    device = model.device
    order = sorted(range(len(windows)), key=lambda row: len(windows[row]["input_ids"]))
    outputs_of_rows: list[Outputs] = [{}] * len(windows)
    for start in range(0, len(order), batch_size):
        rows = order[start : start + batch_size]
        features = collated(reader, [windows[row] for row in rows], with_targets=False)
        with torch.inference_mode(), autocast(precision, device):
            output = model(**{name: values.to(device) for name, values in features.items()})
        said = {name: output[name].float().cpu().numpy() for name in output if name.endswith("logits")}
        of_tokens = {name for name in said if said[name].ndim == 3 or name != "logits"}
        for place, row in enumerate(rows):
            length = len(windows[row]["input_ids"])
            outputs_of_rows[row] = {
                name: values[place, :length] if name in of_tokens else values[place]
                for name, values in said.items()
            }
    return outputs_of_rows
