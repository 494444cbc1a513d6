# shellcheck shell=bash disable=SC2034
# Table 4.5: Wikipedia Chinese-Japanese; the rest as ASPEC's.
# shellcheck source=recipes/jass_enss/configs/aspec-ja-zh.sh
source "$HERE/configs/aspec-ja-zh.sh"
