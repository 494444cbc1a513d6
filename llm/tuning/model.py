"""The model that is tuned: with a new adapter, or with the one of the stage before; or all of its weights."""

from pathlib import Path

from command_line.errors import InputError
from llm.language_model import add_adapter, load_model, without_weights
from llm.tuning.options import Lora, Tuning


def tuned_model(job: Tuning, before: Path | None):
    """The model at the beginning of a stage.

    Args:
        before: folder of the stage that it goes on from.

    Raises:
        InputError: the model or the adapter cannot be read, or layers to adapt are not known.
    """
    if not job.lora.lora_rank:
        model = load_model(before or job.model, "float32")
    else:
        model = load_model(job.model, job.precision)
        model = add_adapter(model, before, is_trainable=True) if before else with_new_adapter(model, job.lora)
    if job.gradient_checkpointing:
        model.enable_input_require_grads()  # else nothing in front of the first adapter has a gradient
    return model


def check_adapter(job: Tuning) -> None:
    """Refuse an adapter for which the model has no place, before its weights are read.

    Raises:
        InputError: as `with_new_adapter`.
    """
    if job.lora.lora_rank:
        with_new_adapter(without_weights(job.model), job.lora)


def with_new_adapter(model, lora: Lora):
    """The model with an adapter that changes nothing yet.

    Raises:
        InputError: `peft` does not know the architecture, or the model has no such layers.
    """
    from peft import LoraConfig, get_peft_model

    config = LoraConfig(
        task_type="CAUSAL_LM",
        r=lora.lora_rank,
        lora_alpha=lora.lora_alpha,
        lora_dropout=lora.lora_dropout,
        target_modules=lora.lora_modules,
    )
    try:
        adapted = get_peft_model(model, config)
    except ValueError as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"--lora-modules: {reason}; expected names of linear layers of the model") from None
    adapted_names = adapted.base_model.targeted_module_names
    for name in lora.lora_modules or ():  # of several `peft` wants only one to be there
        if not any(f".{module_name}".endswith(f".{name}") for module_name in adapted_names):
            raise InputError(
                f"--lora-modules: {name!r} is no layer of the model; expected names of linear layers"
            )
    return adapted


def trained_parameters(model) -> int:
    """How many numbers are trained."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)
