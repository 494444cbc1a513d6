"""What commands import, imported: servers import this module, and fork a program for every call.

A program that is forked finds the modules of this project loaded, but in the state of a fresh import.
"""

import gc
import importlib
import os
import pkgutil
from argparse import Namespace
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("command_line", "data_prep", "fairseq_ext", "embeddings", "eval", "llm", "multilingual_nmt")
FAIRSEQ = ("train", "validate", "generate", "interactive", "preprocess")
# Libraries that commands import when they need them, with what is loaded at first use.
LIBRARIES = {
    "transformers": (
        "AutoConfig", "AutoModel", "AutoModelForCausalLM", "AutoModelForMaskedLM", "AutoTokenizer",
        "BertModel", "BloomForCausalLM", "PreTrainedTokenizerFast", "XLMRobertaModel",
    ),
    "sentence_transformers": ("SentenceTransformer",),
    "matplotlib.pyplot": (),
    "sacrebleu.metrics": (),
    "scipy.stats": (),
    "sklearn.neural_network": (),
    "sklearn.preprocessing": (),
    "spacy": (),
    "subword_nmt.apply_bpe": (),
    "subword_nmt.learn_bpe": (),
    "torch.utils.data": (),
}  # fmt: skip


def load() -> None:
    for name in FAIRSEQ:  # before all else that imports fairseq, which sets the level of its messages
        importlib.import_module(f"fairseq_cli.{name}")
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_VERBOSITY="error")  # as commands do before the import
    from fairseq import utils

    utils.import_user_module(Namespace(user_dir=str(ROOT / "fairseq_ext")))
    for package in PACKAGES:
        for module in pkgutil.walk_packages([str(ROOT / package)], f"{package}."):
            if module.name.rpartition(".")[2] != "__main__":
                importlib.import_module(module.name)
    for library, names in LIBRARIES.items():
        module = importlib.import_module(library)
        for name in names:
            getattr(module, name)
    gc.freeze()  # a collection in a forked program would touch, and so copy, all of it


load()
