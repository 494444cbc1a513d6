"""What fairseq causes at every start is not shown; every other warning is."""

import subprocess
import sys
import warnings

import pytest
import torch
from fairseq.modules import MultiheadAttention

from fairseq_ext import start_up

START = """
import logging, sys
logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
from fairseq import options, utils
utils.import_user_module(type("Options", (), {"user_dir": "fairseq_ext"}))
from fairseq.dataclass.utils import convert_namespace_to_omegaconf
words = ["data", "--task", "multilingual_nmt", "--lang-pairs", "en-de", "--arch", "mnmt_transformer_tiny"]
parser = options.get_training_parser()
print(convert_namespace_to_omegaconf(options.parse_args_and_arch(parser, words)).model._name)
print("now others", file=sys.stderr)
from hydra import initialize
initialize(config_path=".")
"""


@pytest.mark.slow
def test_fairseq_starts_without_a_word_about_hydra_and_tensorboard():
    done = subprocess.run([sys.executable, "-c", START], capture_output=True, text=True)
    assert done.stdout == "mnmt_transformer_tiny\n", done.stderr[-2000:]
    of_fairseq, of_others = done.stderr.split("now others\n")
    for word in ("warning", "hydra", "tensorboard"):
        assert word not in of_fairseq.lower()
    assert "version_base parameter is not specified" in of_others


LATE = """
import logging, sys
import fairseq_ext
assert (logging.root.level, logging.root.handlers) == (logging.WARNING, [])
print([name for name in ("sklearn", "scipy.stats") if name in sys.modules])
from fairseq.criterions.sentence_prediction import acc_and_f1, pearson_and_spearman
from fairseq.tasks.audio_classification import sklearn_metrics
import numpy as np
print(acc_and_f1(np.array([0, 1, 1]), np.array([0, 1, 0])))
print(pearson_and_spearman([1, 2, 3], [3, 4, 5])["corr"])
print(sklearn_metrics.accuracy_score([0, 1], [0, 0]))
from sklearn.metrics import f1_score
from scipy.stats import norm
print(f1_score.__module__, norm.cdf(0))
"""


@pytest.mark.slow
def test_libraries_that_fairseq_may_need_are_imported_when_it_does():
    done = subprocess.run([sys.executable, "-c", LATE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    late, measures, correlation, accuracy, own = done.stdout.splitlines()
    assert late == "[]"
    assert measures == str({"acc": 2 / 3, "f1": 2 / 3, "acc_and_f1": 2 / 3})
    assert (float(correlation), accuracy) == (pytest.approx(1), "0.5")
    assert own == "sklearn.metrics._classification 0.5"


def test_only_the_sentences_about_pinned_memory_and_types_of_masks_are_hidden():
    with warnings.catch_warnings():
        start_up.be_quiet()
        loader = torch.utils.data.DataLoader(range(4), pin_memory=not torch.cuda.is_available())
        attention, states = MultiheadAttention(4, 1), torch.zeros(2, 1, 4)
        padding, future = torch.zeros(1, 2, dtype=torch.bool), torch.zeros(2, 2)
        with warnings.catch_warnings(record=True) as seen:
            list(loader)
            attention(states, states, states, key_padding_mask=padding, attn_mask=future)
            warnings.warn("the data has no valid set", UserWarning, stacklevel=1)
    assert [str(one.message) for one in seen] == ["the data has no valid set"]
