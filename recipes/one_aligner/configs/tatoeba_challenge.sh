# shellcheck shell=bash disable=SC2034
# The paper's: pairs of the Tatoeba Challenge (v2021-08-07), XLM-R large, Tables 5 to 7. Of large pairs the first 4 million lines are
# taken, of which the budget draws 1M. Your own copy is --data-root DIR with `train.de-fr.de` and `valid.de-fr.de`, … (sh is
# Serbo-Croatian).
#
# The validation set, by which checkpoints are chosen, is Flores-200 dev: the challenge's development set is a part of New-Tatoeba, which
# the paper tests on (3.1).
CORPUS=challenge
[[ -z $DATA_ROOT ]] || CORPUS=text
LANGUAGES=(ar bg ca cs da de el en es et fa "fi" fr he hu it ja ko lt lv ms nl no pl pt ro ru sh sl sv tr uk vi zh)
RANKED=(es fr de pt it nl ru pl cs sv sh el ro da zh no ar ms hu bg tr "fi" sl vi he ja et lt lv fa ko uk) # footnote 19
SAVE_UPDATES=5000
LANGUAGE_SIZES=$HERE/cc100_sizes.tsv # Conneau et al. 2020, Table 6, both Chinese and both Burmese scripts together
LAYERS=(12:8 24:17) # 2.3
RETRIEVAL_OPTIONS+=(--normalize-batch 256)
SINGLE_PAIRS=(es-en {fr,pt,it,de,ca,nl,ru}-es de-{fr,it,pt,nl} fr-{pt,it,nl} it-pt pl-pt) # Tables 6 and 5
for pair in "${SINGLE_PAIRS[@]}"; do [[ $pair == *-en ]] || further+=("$pair"); done
CORPUS_OPTIONS=(--train-pairs 4000000 --further-pairs "$(joined "${further[@]}")")
for count in 2 4 8 16 32; do
  first=("${RANKED[@]:0:count}")
  several "top-$count" "${first[@]/%/-en}" # English on one side, as where there is one pair: its sentences are no negatives
done
