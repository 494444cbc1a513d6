"""What a checkpoint says about the system that it is: "system" of result files."""

INTERLINGUAS = {  # as in Table 7.2
    "variable": "Len-vari. Intl.",
    "fixed-universal": "Len-fix. Uni. Intl.",
    "fixed-language-specific": "Len-fix. LS. Intl.",
}
PLACEMENTS = {"pre": "PreNorm", "post": "PostNorm", "swap-pre": "Swap-PreNorm"}


def describe_system(cfg, task) -> dict:
    """The choices of the axes that a model was trained with, its architecture and seed, and a name made
    from them.

    Args:
        cfg: the configuration in the checkpoint.
        task: knows the tag placement.

    A model of stock fairseq has its placement in `encoder_normalize_before`.
    """
    model = cfg["model"]
    placement = getattr(model, "norm_placement", None)
    if placement is None:
        placement = "pre" if getattr(model, "encoder_normalize_before", False) else "post"
    settings = {
        "norm_placement": str(placement),
        "language_tags": task.tags.placement_name,
        "drop_residual_layers": getattr(model, "drop_residual_layers", None) or "",
        "norm_affine": not getattr(model, "no_norm_affine", False),
        "encoder_final_norm": not getattr(model, "no_encoder_final_norm", False),
        "architecture": getattr(model, "arch", None),
        "seed": cfg["common"]["seed"],
    }
    if bridge := getattr(model, "interlingua", None):
        settings["interlingua"] = str(bridge)
        settings["interlingua_length"] = getattr(model, "interlingua_length", None)
        settings["repairs"] = _repairs(model, cfg.get("criterion"))
    return {"name": system_name(settings), **settings}


def _repairs(model, criterion) -> list[str]:
    """The options with which a length predictor was trained that are not the thesis's."""
    values = {
        "jitter": getattr(model, "interlingua_length_jitter", 0),
        "source length": getattr(model, "length_predictor_source_length", False),
        "ordinal": getattr(criterion, "length_prediction_deviation", 0),
    }
    return [name if value is True else f"{name} {value:g}" for name, value in values.items() if value]


def system_name(settings: dict) -> str:
    """For example "PreNorm S-ENC-T-DEC w/o Res."; what is as usual is not named."""
    norm = PLACEMENTS[settings["norm_placement"]] + ("" if settings["norm_affine"] else "-simple")
    if settings["norm_placement"] != "post" and not settings["encoder_final_norm"]:
        norm += " w/o Enc-Last"
    parts = [norm, settings["language_tags"].upper()]
    if layers := settings["drop_residual_layers"]:
        parts.append("w/o Res." if layers == "4" else f"w/o Res. ({layers})")
    if bridge := settings.get("interlingua"):
        parts += [INTERLINGUAS[bridge], *settings.get("repairs", [])]
    return " ".join(parts)
