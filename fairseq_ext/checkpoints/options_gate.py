"""The gate that the options of a checkpoint pass before anything is made of them.

A checkpoint may come from a stranger, and its options are more than data: fairseq evaluates some texts as
Python, opens files that others name, and lets OmegaConf resolve `${…}` in all of them, so that a text can run
a command or read the environment. The gate copies what it knows to be harmless:

* model and task are ours or of fairseq's standard Transformers (`declared_options`);
* an option has the type that is declared for it; one that nobody declares is left out, as nobody reads it;
* no text holds `${`, and one that fairseq would evaluate is a number or a list, … written out;
* nothing names a file that building a model would load. Files and folders of the training that wrote the
  checkpoint (where it saved, what it started from) are left out.

What it refuses is one line with file, option, what was found and what was expected.
"""

from argparse import Namespace
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from command_line.errors import InputError
from fairseq_ext.checkpoints import declared_options
from fairseq_ext.checkpoints.declared_options import NAMES
from fairseq_ext.checkpoints.option_values import Unfit, describe, fitted, is_literal, shown

REFUSED_FILES = frozenset({"encoder_embed_path", "decoder_embed_path"})  # building a model loads them
FILES_OF_THE_TRAINING = frozenset({
    "aim_repo", "bpe_codes", "bpe_merges", "bpe_vocab", "bpe_vocab_file", "continue_once",
    "distributed_init_method", "ema_seed_model", "extra_data", "finetune_from_model", "fixed_dictionary",
    "gpt2_encoder_json", "gpt2_vocab_bpe", "input", "lang_dict", "lm_path", "log_file", "path", "plasma_path",
    "pretrained_checkpoint", "pretrained_dictionary", "pretrained_encoder", "quantization_config_path",
    "restore_file", "results_path", "sampling_weights_from_file", "save_dir", "sentencepiece_model",
    "sentencepiece_model_path", "shorten_data_split_list", "source_dict", "target_dict", "teacher_checkpoint",
    "tensorboard_logdir", "translation_data", "user_dir", "word_dictionaries",
})  # fmt: skip
EVALUATED = frozenset({  # texts that fairseq gives to eval()
    "adafactor_eps", "adam_betas", "adamax_betas", "decoder_xformers_att_config",
    "encoder_xformers_att_config", "lamb_betas", "left_pad_source", "left_pad_target", "model_overrides",
    "optimizer_overrides", "pipeline_balance", "pipeline_decoder_balance", "pipeline_decoder_devices",
    "pipeline_devices", "pipeline_encoder_balance", "pipeline_encoder_devices",
})  # fmt: skip
INTERPOLATION = "${"
ESCAPE = "\\"  # in Hydra's grammar, through which the options of old checkpoints go
MISSING = "???"  # OmegaConf's
SIZES = ("layers", "embed_dim")  # of the weights; absurd ones would fill the memory before they are compared
MUST_BE_KNOWN = ("model", "task")  # for other sections nobody needs what is unknown


def pass_gate(state: Any, path) -> Any:
    """The contents of a checkpoint with options that can do no harm: a copy, where there are any.

    Args:
        state: as torch reads it with `weights_only=True`.

    Raises:
        InputError: an option is refused; names it.
    """
    if not isinstance(state, dict):
        return state
    gate = OptionsGate(path, state.get("model"))
    checked = {name: check(state[name]) for name, check in gate.doors.items() if state.get(name) is not None}
    return {**state, **checked}


class OptionsGate:
    """Checks the options of one checkpoint.

    Args:
        weights: of the checkpoint. A layer has one at least, and one is as wide as the model.
    """

    def __init__(self, path, weights: Any = None):
        self.path = path
        tensors = (
            [tensor for tensor in weights.values() if isinstance(tensor, Tensor)]
            if isinstance(weights, dict)
            else []
        )
        self._most = max([len(tensors), *(size for tensor in tensors for size in tensor.shape)])
        self.doors = {"args": self.arguments, "cfg": self.configuration}

    def arguments(self, args: Any) -> Namespace:
        """Options of fairseq's older versions: those of all parts of a training in one name space."""
        if type(args) is not Namespace:
            self._refuse("args", args, "a Namespace of options")
        checked = self._namespace("args", args)
        for name, value in vars(checked).items():
            if ESCAPE in str(value):
                self._refuse(f"args.{name}", value, "no backslash")
        kept = {name: value for name, value in vars(checked).items() if name not in FILES_OF_THE_TRAINING}
        return Namespace(**kept)

    def configuration(self, cfg: Any) -> dict:
        """Options by section."""
        if type(cfg) is not dict:
            self._refuse("cfg", cfg, "sections of options")
        return {name: self._section(name, cfg[name]) for name in declared_options.sections() if name in cfg}

    def _section(self, section: str, options: Any) -> Any:
        if options is None:
            return None
        if type(options) is Namespace:
            return self._namespace(section, options)
        if type(options) is not dict:
            self._refuse(section, options, "options")
        name = None
        if section in NAMES:
            name = self._name(section, [options.get(key) for key in ("_name", NAMES[section])])
            if name is None:
                return None
        return self._checked(section, options, declared_options.of_section(section, name))

    def _namespace(self, section: str, options: Namespace) -> Namespace:
        values = vars(options)
        names = {each: self._name(each, [values.get(option)]) for each, option in NAMES.items()}
        if section in NAMES:
            names[section] = self._name(section, [values.get("_name"), values.get(NAMES[section])])
        named = tuple((each, name) for each, name in names.items() if name is not None)
        unknown = {option: None for each, option in NAMES.items() if names[each] is None and option in values}
        return Namespace(
            **self._checked(section, values | unknown, declared_options.of_namespace(named)),
        )

    def _name(self, section: str, given: list) -> str | None:
        """Which model, task, … a section is of; None if there is none, or nobody needs to know it."""
        allowed = declared_options.known_names(section)
        names = [name for name in given if name is not None]
        for name in names:
            if not (type(name) is str and name in allowed):
                if section not in MUST_BE_KNOWN:
                    return None
                kind = "architecture" if section == "model" else section
                raise InputError(
                    f"{self.path}: has the {kind} {shown(name)}; expected {', '.join(allowed)}: unknown"
                    " models may run code"
                )
        return names[0] if names else None

    def _checked(self, section: str, options: Mapping, declared: declared_options.Declared) -> dict[str, Any]:
        return {
            name: self._value(f"{section}.{name}", name, options[name], declared[name])
            for name in declared
            if name in options and not (type(options[name]) is str and options[name] == MISSING)
        }

    def _value(self, option: str, name: str, value: Any, declared: Any) -> Any:
        if name in REFUSED_FILES and value is not None:
            self._refuse(option, value, "no file to load")
        if name in FILES_OF_THE_TRAINING:
            return None
        if name in EVALUATED and type(value) is str and not is_literal(value):
            self._refuse(option, value, "a number, or a list of numbers: fairseq would evaluate it")
        try:
            checked = value if name in EVALUATED and type(value) is bool else fitted(declared, value)
        except Unfit:
            self._refuse(option, value, describe(declared))
        if type(checked) is int and name.endswith(SIZES) and checked > self._most > 0:
            self._refuse(option, value, f"at most {self._most}, as its weights are no more and no wider")
        if INTERPOLATION in str(checked):
            self._refuse(option, value, f"no {INTERPOLATION}")
        return checked

    def _refuse(self, option: str, value: Any, expected: str) -> None:
        raise InputError(f"{self.path}: option {option} is {shown(value)}; expected {expected}")
