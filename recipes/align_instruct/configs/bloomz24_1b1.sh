# shellcheck shell=bash disable=SC2034
# BLOOMZ+24 as bloomz24, in a folder and under a name of its own for BLOOMZ-1b1 (Figure 6.1).
source "$ROOT/recipes/align_instruct/configs/bloomz24.sh"
PARAMETERS=1.07e9
