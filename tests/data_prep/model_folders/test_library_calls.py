"""Where the libraries that read folders of models run code, or open files: every place is known.

The calls are found in the sources of the installed libraries. Of transformers, kinds of models that are not
allowed are left out: what is in their files is never reached. A new version with another way fails here.
"""

import ast
import importlib
import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import data_prep
from data_prep.model_folders.allowed import (
    ACTIVATIONS,
    MODEL_TYPES,
    TOKENIZER_FILES,
    TOKENIZERS,
    VOCABULARIES,
)
from data_prep.model_folders.settings import TEXTS

SITE = Path(find_spec("transformers").origin).parents[1]
LIBRARIES = ("transformers", "sentence_transformers", "peft", "tokenizers")  # and onnxruntime
RUNNING = {  # names of functions that run code, or load a library or a module by its name
    "eval", "exec", "__import__", "import_module", "spec_from_file_location", "exec_module", "CDLL",
    "load_library", "register_custom_ops_library", "get_class_from_dynamic_module", "get_class_in_module",
    "get_cached_module_file", "get_kernel", "import_from_string", "import_module_class",
    "load_custom_generate",
}  # fmt: skip
UNPICKLING = {
    ("torch", "load"), ("hub", "load"), ("jit", "load"), ("pickle", "load"), ("pickle", "loads"),
    ("pickle", "Unpickler"), ("joblib", "load"), ("cloudpickle", "load"), ("dill", "load"), ("np", "load"),
    ("yaml", "load"), ("yaml", "unsafe_load"), ("marshal", "loads"), ("shelve", "open"),
}  # fmt: skip
STARTING = {("subprocess", name) for name in ("run", "Popen", "call", "check_call", "check_output")} | {
    ("os", "system"),
    ("os", "popen"),
}
OPENING = {
    "open", "Load", "LoadFromFile", "load_file", "safe_open", "from_file", "from_pretrained", "cached_file",
    "hf_hub_download", "fromfile", "read_text", "read_bytes",
}  # fmt: skip

FIELD = "a record asks for it by a field that the gate refuses"
FILE = "reads a file that is not in the private folder"
OWN = "a name in the library's own source, or one from a table in it"
OBJECT = "an object that was pickled a line above, to copy it"
USERS = "a training, a command or a pipeline of the library, which nothing here starts"
MODULE = "the gate lets the classes of `MODULES` and `ACTIVATIONS` through"

# File: (number of calls, why no folder reaches them)
KNOWN = {
    "transformers/commands/add_new_model_like.py": (5, USERS),
    "transformers/data/datasets/glue.py": (1, USERS),
    "transformers/data/datasets/language_modeling.py": (2, USERS),
    "transformers/data/datasets/squad.py": (1, USERS),
    "transformers/dynamic_module_utils.py": (6, FIELD),
    "transformers/generation/utils.py": (3, FILE),  # custom_generate/generate.py
    "transformers/integrations/hub_kernels.py": (1, FIELD),  # attn_implementation
    "transformers/integrations/integration_utils.py": (3, USERS),
    "transformers/integrations/mxfp4.py": (1, FIELD),  # quantization_config
    "transformers/modeling_flax_pytorch_utils.py": (2, FILE),
    "transformers/modeling_tf_pytorch_utils.py": (1, FILE),
    "transformers/modeling_utils.py": (2, FILE),  # pickled weights; custom_generate/generate.py
    "transformers/models/auto/auto_factory.py": (4, FIELD),  # auto_map; modules are OWN
    "transformers/models/auto/configuration_auto.py": (4, FIELD),
    "transformers/models/auto/feature_extraction_auto.py": (3, FIELD),
    "transformers/models/auto/image_processing_auto.py": (3, FIELD),
    "transformers/models/auto/processing_auto.py": (3, FIELD),
    "transformers/models/auto/tokenization_auto.py": (4, FIELD),
    "transformers/models/auto/video_processing_auto.py": (3, FIELD),
    "transformers/models/bloom/tokenization_bloom_fast.py": (2, OBJECT),
    "transformers/models/cohere/tokenization_cohere_fast.py": (2, OBJECT),
    "transformers/onnx/__main__.py": (1, USERS),
    "transformers/pipelines/__init__.py": (1, USERS),
    "transformers/pipelines/audio_classification.py": (1, USERS),
    "transformers/pipelines/audio_utils.py": (3, USERS),
    "transformers/pipelines/base.py": (1, USERS),
    "transformers/quantizers/quantizer_mxfp4.py": (1, FIELD),
    "transformers/testing_utils.py": (6, USERS),
    "transformers/trainer.py": (13, USERS),  # its own checkpoints, in the folder of the user's training
    "transformers/utils/import_utils.py": (6, OWN),
    "sentence_transformers/base/model.py": (1, MODULE),
    "sentence_transformers/base/modules/dense.py": (1, MODULE),
    "sentence_transformers/base/modules/module.py": (1, FILE),
    "sentence_transformers/base/modules/router.py": (1, MODULE),
    "sentence_transformers/base/modules/transformer.py": (1, OWN),
    "sentence_transformers/cross_encoder/model.py": (1, USERS),
    "sentence_transformers/sentence_transformer/modules/word_embeddings.py": (1, MODULE),
    "sentence_transformers/util/deprecated_import.py": (1, OWN),
    "sentence_transformers/util/hard_negatives.py": (2, USERS),
    "sentence_transformers/util/misc.py": (5, MODULE),
    "peft/auto.py": (1, USERS),
    "peft/tuners/lora/corda.py": (2, FIELD),  # corda_config
    "peft/tuners/lora/loraga.py": (1, FIELD),  # lora_ga_config
    "peft/tuners/lora/tp_layer.py": (1, FIELD),  # megatron_config
    "peft/utils/save_and_load.py": (1, FILE),
    "onnxruntime/__init__.py": (5, OWN),
    "onnxruntime/capi/convert_npz_to_onnx_adapter.py": (1, USERS),
    "onnxruntime/capi/onnxruntime_collect_build_info.py": (1, USERS),
    "onnxruntime/capi/onnxruntime_validation.py": (1, OWN),
}
OTHER_LIBRARIES = re.compile(r"modeling_(tf|flax)_|tokenization_\w+_tf|convert_|modular_")
VOCABULARY = re.compile(r"tokenization_\w+\.py")  # of kinds of models, where files may be opened


def runs(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in RUNNING
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in RUNNING - {"eval"}:  # model.eval() is another
        return True
    return (
        isinstance(function.value, ast.Name) and (function.value.id, function.attr) in UNPICKLING | STARTING
    )


def opens(call: ast.Call) -> bool:
    return getattr(call.func, "id", getattr(call.func, "attr", None)) in OPENING


def files() -> Iterator[Path]:
    """The sources of all libraries, but those of models that are not allowed, and of other frameworks."""
    kinds = folders_of_models()
    for library in LIBRARIES:
        for path in sorted((SITE / library).rglob("*.py")):
            place = path.relative_to(SITE).parts
            is_other = place[:2] == ("transformers", "models") and place[2] not in kinds | {
                "auto",
                "__init__.py",
            }
            if not is_other and not (place[1] == "models" and OTHER_LIBRARIES.match(path.name)):
                yield path
    folder = Path(find_spec("onnxruntime").origin).parent
    yield from (folder / "__init__.py", *sorted((folder / "capi").glob("*.py")))


def folders_of_models() -> set[str]:
    """Of transformers, where the models are that are allowed."""
    from transformers.models.auto.configuration_auto import model_type_to_module_name

    return {model_type_to_module_name(kind) for kind in MODEL_TYPES}


@cache
def calls() -> dict[Callable, dict[str, int]]:
    """`runs` and `opens`: file -> number of calls."""
    names = {*RUNNING, *OPENING, *(name for _, name in UNPICKLING | STARTING)}
    call = re.compile(rf"\b({'|'.join(names)})\s*\(")
    found: dict[Callable, Counter] = {runs: Counter(), opens: Counter()}
    for path in files():
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if call.search(text) else ():
            for which in found if isinstance(node, ast.Call) else ():
                found[which][path.relative_to(SITE).as_posix()] += which(node)
    return {which: dict(+counts) for which, counts in found.items()}


def test_every_call_that_runs_something_is_known():
    assert calls()[runs] == {name: count for name, (count, _) in KNOWN.items()}


def test_the_walk_finds_them():
    tree = ast.parse(
        "eval(x); model.eval(); torch.load(x); importlib.import_module(x); os.system(x); json.load(x)"
    )
    assert [runs(node) for node in ast.walk(tree) if isinstance(node, ast.Call)].count(True) == 4
    tree = ast.parse("open(x); Model.from_pretrained(x); model.forward(x); processor.Load(x)")
    assert [opens(node) for node in ast.walk(tree) if isinstance(node, ast.Call)].count(True) == 3


def test_models_open_no_files():
    """Of the kinds of models that are allowed only the tokenizers do: vocabularies, which the gate names."""
    models = [
        name for name in calls()[opens] if name.startswith("transformers/models/") and "/auto/" not in name
    ]
    found = [name for name in models if not VOCABULARY.fullmatch(Path(name).name)]
    assert found == ["transformers/models/longt5/modeling_longt5.py"]  # calls the method that it overrides
    assert calls()[opens]["transformers/models/bert/tokenization_bert.py"] == 2


def test_models_hold_no_other_models():
    from transformers import CONFIG_MAPPING

    kinds = folders_of_models()
    for kind in MODEL_TYPES:
        assert not CONFIG_MAPPING[kind].sub_configs, kind
    others = set()
    for kind in kinds:
        for path in (SITE / "transformers/models" / kind).glob("modeling_*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.level == 2:
                    others |= {(kind, node.module.split(".")[0])} - {(kind, known) for known in kinds}
    assert others == {("gemma3", "auto")}  # for its images, in classes of another type than gemma3_text


def test_files_of_tokenizers_are_known():
    """Every file that a tokenizer opens has a name that the gate takes, and no record can name another."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    given, names = set(), set()
    for name in TOKENIZERS:
        made = [tokenizer_class_from_name(f"{name}Tokenizer{end}") for end in ("", "Fast")]
        assert any(made), name
        for each in filter(None, made):
            given |= each.vocab_files_names.keys()
            names |= set(each.vocab_files_names.values())
    assert given <= set(TOKENIZER_FILES)
    assert names - {"tokenizer_config.json"} == set(VOCABULARIES)


def test_texts_that_tokenizers_read_are_known():
    """A text among their arguments is a token, a file or in the list; the gate leaves out all others."""
    from transformers.models.auto.tokenization_auto import tokenizer_class_from_name

    for name in TOKENIZERS:
        for end in ("", "Fast"):
            made = tokenizer_class_from_name(f"{name}Tokenizer{end}")
            parameters = inspect.signature(made.__init__).parameters.values() if made else ()
            texts = {each.name for each in parameters if isinstance(each.default, str)}
            tokens = {text for text in texts if text.endswith(("_token", "_token_sent"))}
            assert texts - tokens <= set(TEXTS), name


def test_activations_are_classes_of_torch():
    from torch import nn

    for name in ACTIVATIONS:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), kind)(), nn.Module)


# --- our own code


OURS = {  # file: what it reads
    "data_prep/model_folders/adapters.py": {"PeftModel.from_pretrained", "safe_open"},
    "data_prep/model_folders/graphs.py": {
        "PreTrainedTokenizerFast.from_pretrained",
        "onnxruntime.InferenceSession",
    },
    "data_prep/model_folders/loading.py": {
        "AutoConfig.from_pretrained",
        "AutoTokenizer.from_pretrained",
        "SentenceTransformer",
        "getattr(transformers, class_name).from_pretrained",
    },
    "data_prep/model_folders/models.py": {"safe_open"},  # the header of weights
    "eval/probes/bleurt.py": {"load_file"},  # of what the gate has opened
}
OWN_OUTPUT = "fairseq_ext/export/"  # reads the folders that it has just written


def test_folders_are_opened_by_the_gate_alone():
    root = Path(data_prep.__file__).parents[1]
    readers = {
        "from_pretrained",
        "SentenceTransformer",
        "InferenceSession",
        "safe_open",
        "load_file",
        "from_file",
    }
    found: dict[str, set[str]] = {}
    for package in ("fairseq_ext", "data_prep", "embeddings", "eval", "llm"):
        for path in sorted((root / package).rglob("*.py")):
            name = path.relative_to(root).as_posix()
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and not name.startswith(OWN_OUTPUT):
                    called = ast.unparse(node.func)
                    if called.rpartition(".")[2] in readers and "Embedding" not in called and node.args:
                        found.setdefault(name, set()).add(called)
    assert found == OURS
