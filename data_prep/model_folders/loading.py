"""Models and tokenizers of `transformers` and `sentence-transformers`, from folders that were checked."""

from collections.abc import Sequence
from pathlib import Path
from types import MappingProxyType

from command_line.errors import InputError
from data_prep.model_folders.models import KIND, check_model, check_tokenizer
from data_prep.model_folders.modules import KIND as MODULES_KIND
from data_prep.model_folders.modules import check_modules

SAFELY = MappingProxyType({"local_files_only": True, "trust_remote_code": False})


def load_tokenizer(path: Path, option: str = "--model", kind: str = KIND):
    """The tokenizer in a folder."""
    folder = check_tokenizer(path, option)
    with folder.opened(kind) as private:
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(private, **SAFELY)
        call_by(tokenizer, private, path)
    return tokenizer


def load_configuration(path: Path, option: str = "--model", kind: str = KIND):
    """The configuration of the model in a folder."""
    with check_model(path, option).opened(kind) as private:
        from transformers import AutoConfig

        return AutoConfig.from_pretrained(private, **SAFELY)


def load_model(
    path: Path, option: str = "--model", kind: str = KIND, class_name: str = "AutoModel", **given
) -> tuple:
    """The model in a folder, on the processor unless it is told otherwise.

    Args:
        class_name: of transformers, that makes it.

    Returns:
        the model, and the library's notes: "missing_keys", without computed ones, and "mismatched_keys".
    """
    with check_model(path, option).opened(kind) as private:
        import transformers

        model, notes = getattr(transformers, class_name).from_pretrained(
            private, use_safetensors=True, output_loading_info=True, **SAFELY, **given
        )
        model.name_or_path = model.config._name_or_path = str(path)
        computed = _never_saved(model)
    notes["missing_keys"] = [
        name
        for name in notes["missing_keys"]
        if name.removeprefix(f"{model.base_model_prefix}.") not in computed
    ]
    return model, notes


def load_modules(path: Path, option: str = "--model"):
    """The `SentenceTransformer` in a folder, on the processor."""
    with check_modules(path, option).opened(MODULES_KIND) as private:
        from sentence_transformers import SentenceTransformer

        model = SentenceTransformer(
            str(private), device="cpu", model_kwargs={"use_safetensors": True}, **SAFELY
        )
        if not hasattr(model.tokenizer, "pad"):
            raise ValueError("it has no tokenizer of text")
        call_by(model.tokenizer, private, path)
    check_ids(model.tokenizer, model[0].model, path, option)
    return model


def convert_to_ctranslate2(path: Path, output: Path, option: str = "--model") -> None:
    """Write the model in a folder for CTranslate2, by that library's converter, its weights in float32.

    Args:
        output: a folder that does not exist.
    """
    with check_model(path, option).opened("CTranslate2") as private:
        from ctranslate2.converters import TransformersConverter

        TransformersConverter(str(private)).convert(str(output), quantization="float32")


def prompt_of(model) -> str:
    """What a model's own configuration puts in front of every sentence; "" for nothing."""
    return model.prompts.get(model.default_prompt_name or "") or ""


def check_complete(path: Path, missing: Sequence[str], with_pooler: bool, option: str = "--model") -> None:
    """Refuse a model whose files lack weights.

    Args:
        missing: their names, as the library says.
        with_pooler: is a pooler of the model's own needed?

    Raises:
        InputError: the files lack weights that the vectors depend on; transformers would draw them by chance.
    """
    missing = sorted(name for name in missing if with_pooler or not name.startswith("pooler."))
    if missing:
        raise InputError(
            f"{option} {path}: {len(missing)} weights are missing from its files, the first is"
            f" {missing[0]}; expected a complete encoder"
        )


def check_ids(tokenizer, model, path: Path, option: str = "--model") -> None:
    """Refuse a tokenizer that gives ids of which the model has no vector."""
    ids = {
        *tokenizer.get_vocab().values(),
        *tokenizer.all_special_ids,
        *getattr(tokenizer, "lang_code_to_id", {}).values(),  # M2M-100's languages need not be in the others
    }
    check_rows(max(ids - {None}), model.get_input_embeddings().num_embeddings, path, option)


def check_rows(most: int, rows: int, path: Path, option: str = "--model") -> None:
    """As `check_ids`, of the largest id and the number of vectors."""
    if most >= rows:
        raise InputError(
            f"{option} {path}: its tokenizer has ids up to {most}, and the model {rows} vectors of tokens;"
            f" expected one of each (model.resize_token_embeddings({most + 1}), and save_pretrained)"
        )


def _never_saved(model) -> set[str]:
    """Weights that transformers computes and never saves, such as Marian's sinusoids; without the prefix that
    they have below a head.
    """
    from transformers import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING

    whole = MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING.get(type(model.config), type(model))
    prefix = f"{whole.base_model_prefix}."
    return {name.removeprefix(prefix) for name in whole._keys_to_ignore_on_save or ()}


def call_by(tokenizer, private: Path, path: Path) -> None:
    """Let a tokenizer name the folder that the user gave: it copies its vocabulary from there."""
    for values in (vars(tokenizer), tokenizer.init_kwargs):
        for name, value in values.items():
            if isinstance(value, str | Path) and Path(value).is_relative_to(private):
                values[name] = str(path / Path(value).relative_to(private))
