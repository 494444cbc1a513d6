"""Analyses of trained checkpoints, ours and stock fairseq's: where in the network does the language go?

`states` extracts hidden states once; the probes that need them read its folder. Every probe writes a result
file that `python -m eval report` shows.
"""

COMMANDS = {
    "states": ("eval.probes.states", "extract the hidden states of a checkpoint (8.2.3)"),
    "off-target": ("eval.probes.off_target", "intended against identified languages, and the worst lines"),
}
