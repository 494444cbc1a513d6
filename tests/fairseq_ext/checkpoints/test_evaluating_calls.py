"""Where fairseq makes code or objects of a text or a file: every place is known, and closed to a checkpoint.

The calls are found in the source of the installed fairseq. A call in a file that no checkpoint reaches is
proven unreachable by what the gate lets through; the others are listed one by one.
"""

import ast
import inspect
import sys
from functools import cache
from pathlib import Path

import fairseq
import fairseq_cli
from fairseq.criterions import CRITERION_REGISTRY
from fairseq.models import ARCH_MODEL_REGISTRY
from fairseq.tasks import TASK_REGISTRY

import fairseq_ext
from fairseq_ext.checkpoints import declared_options
from fairseq_ext.checkpoints.options_gate import EVALUATED

SITE = Path(fairseq.__file__).parents[1]
EVALUATING = {"eval", "exec", "eval_str_list", "eval_str_dict", "eval_bool", "literal_eval"}
LOADING = {  # calls that can make any object of a file
    ("torch", "load"), ("hub", "load"), ("pickle", "load"), ("pickle", "loads"), ("joblib", "load"),
    ("np", "load"), ("yaml", "load"), ("yaml", "unsafe_load"),
}  # fmt: skip

GATE = "the gate: the option is a number, a list of numbers, or a literal"
TYPED = "the gate: the option has a type that is no text"
PARSER = "the parser of a command line"
TRAINING = "built in a training, from the options of its command line"
USERS = "an option of the command line that the user gives"
HARMLESS = "reads a literal, evaluates nothing"
DEFINITION = "the function itself; its callers are in this table"
AUDIO = "files of audio data, which no task that the gate knows reads"
PEERS = "what the other processes of the same training send"
READER = "replaced by the reader of fairseq_ext.checkpoints"
OWN_DATA = "a data set of its own kind, which no task that the gate knows reads"

# File: (number of calls, why no checkpoint's text reaches them)
KNOWN = {
    "fairseq/checkpoint_utils.py": (3, READER),  # torch.load twice; literal_eval of --optimizer-overrides
    "fairseq/data/audio/audio_utils.py": (2, AUDIO),
    "fairseq/data/audio/data_cfg.py": (1, AUDIO),
    "fairseq/data/audio/feature_transforms/global_cmvn.py": (1, AUDIO),
    "fairseq/data/audio/raw_audio_dataset.py": (1, AUDIO),
    "fairseq/data/codedataset.py": (9, AUDIO),
    "fairseq/data/fasta_dataset.py": (1, OWN_DATA),
    "fairseq/data/multilingual/multilingual_data_manager.py": (6, GATE),  # left_pad_*; the rest is its parser
    "fairseq/dataclass/utils.py": (5, HARMLESS),
    "fairseq/distributed/utils.py": (6, TRAINING),  # pipeline_*, pickles and torch.load of PEERS
    "fairseq/modules/gumbel_vector_quantizer.py": (1, HARMLESS),
    "fairseq/modules/multihead_attention.py": (1, GATE),  # {encoder,decoder}_xformers_att_config
    "fairseq/modules/quantization/pq/em.py": (3, TRAINING),
    "fairseq/models/transformer/transformer_decoder.py": (1, TYPED),  # adaptive_softmax_cutoff
    "fairseq/optim/adafactor.py": (1, TRAINING),
    "fairseq/optim/adam.py": (1, TRAINING),
    "fairseq/optim/adamax.py": (1, TRAINING),
    "fairseq/optim/cpu_adam.py": (1, TRAINING),
    "fairseq/optim/fused_lamb.py": (1, TRAINING),
    "fairseq/optim/lr_scheduler/manual_lr_scheduler.py": (1, HARMLESS),
    "fairseq/speech_generator.py": (1, AUDIO),
    "fairseq/utils.py": (3, DEFINITION),
    "fairseq_cli/eval_lm.py": (1, USERS),
    "fairseq_cli/generate.py": (1, USERS),
    "fairseq_cli/interactive.py": (1, USERS),
    "fairseq_cli/validate.py": (1, USERS),
}


def evaluates(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in EVALUATING
    if not isinstance(function, ast.Attribute):
        return False
    if function.attr in EVALUATING - {"eval", "exec"}:  # model.eval() is another
        return True
    return isinstance(function.value, ast.Name) and (function.value.id, function.attr) in LOADING


@cache
def trees() -> list[tuple[str, ast.Module]]:
    """(file, syntax) of all of fairseq but its examples."""
    paths = [path for each in (fairseq, fairseq_cli) for path in Path(each.__file__).parent.rglob("*.py")]
    names = {path.relative_to(SITE).as_posix(): path for path in paths}
    return [
        (name, ast.parse(path.read_text(encoding="utf-8")))
        for name, path in sorted(names.items())
        if not name.startswith("fairseq/examples/")
    ]


@cache
def calls() -> dict[str, int]:
    """File -> number of calls."""
    counts = {
        name: sum(evaluates(node) for node in ast.walk(tree) if isinstance(node, ast.Call))
        for name, tree in trees()
    }
    return {name: count for name, count in counts.items() if count}


@cache
def reachable() -> set[str]:
    """The files that define the models, tasks and criteria that the gate lets through, and the classes and
    functions of which those files know the names, and so on.
    """
    registries = {"model": ARCH_MODEL_REGISTRY, "task": TASK_REGISTRY, "criterion": CRITERION_REGISTRY}
    waiting: list[str | None] = [
        registry[name].__module__
        for section, registry in registries.items()
        for name in declared_options.known_names(section)
    ]
    found: set[str] = set()
    while waiting:
        module = waiting.pop() or ""  # torch.compile makes functions of no module
        if module not in found and module.split(".")[0] in ("fairseq", "fairseq_ext"):
            found.add(module)
            names = vars(sys.modules[module]).values()
            waiting += [
                each.__module__ for each in names if inspect.isclass(each) or inspect.isfunction(each)
            ]
    return {Path(sys.modules[module].__file__).as_posix() for module in found}


def registered_classes(name: str) -> bool:
    """Whether a file defines models, tasks or criteria, and none that the gate lets through."""
    kinds = ("fairseq/models/", "fairseq/tasks/", "fairseq/criterions/", "fairseq/model_parallel/models/")
    return name.startswith(kinds) and (SITE / name).as_posix() not in reachable()


def test_every_call_is_known():
    """A new eval() in fairseq, or a known one that the gate would let a checkpoint reach, fails here."""
    assert {name: count for name, count in calls().items() if not registered_classes(name)} == {
        name: count for name, (count, _) in KNOWN.items()
    }


def test_the_walk_finds_them():
    """Files that are known to evaluate options of a model that is not let through."""
    assert {"fairseq/models/fconv.py", "fairseq/models/lstm.py", "fairseq/criterions/ctc.py"} <= set(calls())
    assert registered_classes("fairseq/models/fconv.py")
    assert not registered_classes("fairseq/models/transformer/transformer_legacy.py")
    assert not registered_classes("fairseq/models/transformer/transformer_decoder.py")
    tree = ast.parse("eval(x); model.eval(); utils.eval_bool(x); torch.load(x); json.load(x); exec('x')")
    assert [evaluates(node) for node in ast.walk(tree) if isinstance(node, ast.Call)].count(True) == 4


def test_fairseqs_examples_are_never_imported():
    """They evaluate a lot, and are left out above."""
    imports = {
        name
        for _, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
    }
    assert "fairseq.models" in imports
    assert not [name for name in imports if name and name.startswith("fairseq.examples")]


def test_options_that_are_evaluated_are_known_or_no_text():
    """What known classes give to `utils.eval_*` is in `EVALUATED`; of one other option only numbers pass."""
    declared = [
        declared_options.of_section(section, name)
        for section in ("model", "task")
        for name in declared_options.known_names(section)
    ]
    cutoff = "adaptive_softmax_cutoff"
    found = [str(options[cutoff]) for options in declared if cutoff in options]
    assert found and not any("str" in kind for kind in found)
    texts = {"left_pad_source", "left_pad_target"}
    texts |= {f"{side}_xformers_att_config" for side in ("encoder", "decoder")}
    assert texts <= EVALUATED
    assert any(texts & options.keys() for options in declared)


# --- our own code


OURS = {
    "command_line/measurements.py": {"np.load"},  # numpy refuses pickled objects unless it is told otherwise
    "command_line/processes.py": {"pickle.loads"},  # from a process of ours, as below
    "command_line/workers.py": {"pickle.loads"},  # what comes through pipes from processes of ours
    "eval/scoring/kept_comet.py": {"np.load"},
    "eval/scoring/line_statistics.py": {
        "np.load"
    },  # numpy refuses pickled objects unless it is told otherwise
    "fairseq_ext/checkpoints/option_values.py": {"ast.literal_eval"},
    "multilingual_nmt/__init__.py": {"pickle.loads"},  # a task of ours on the user's own dask cluster
    "fairseq_ext/checkpoints/reading.py": {"torch.load"},
    "fairseq_ext/export/fairseq_checkpoint.py": {"torch.load"},  # weights alone, of what it has written
}


def test_ours_evaluates_nothing():
    """Nothing of this project makes code of a text, nor any object of a file."""
    root = Path(fairseq_ext.__file__).parents[1]
    found: dict[str, set[str]] = {}
    packages = ("fairseq_ext", "data_prep", "embeddings", "eval", "llm", "command_line", "multilingual_nmt")
    for package in packages:
        for path in sorted((root / package).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and evaluates(node):
                    found.setdefault(path.relative_to(root).as_posix(), set()).add(ast.unparse(node.func))
                    assert not [word for word in node.keywords if ast.unparse(word) in UNSAFE]
    assert found == OURS


UNSAFE = ("allow_pickle=True", "weights_only=False")
