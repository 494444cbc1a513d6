# shellcheck shell=bash disable=SC1091,SC2034
# All 258,000 pairs of Table 4.14.
source "$HERE/configs/wikipedia-ja-zh.sh"
ALL_SIZES=all
