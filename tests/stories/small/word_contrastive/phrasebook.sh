# shellcheck shell=bash disable=SC2034
source "$(dirname "${BASH_SOURCE[0]}")/../zero_shot/phrasebook.sh"
SAVE_UPDATES=50
LANGUAGES=(de en fr) # with more, the change of BLEU is correlated: there is none in so short a training
