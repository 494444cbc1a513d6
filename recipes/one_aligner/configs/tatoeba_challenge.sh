# shellcheck shell=bash disable=SC2034
# The paper's: pairs of the Tatoeba Challenge (v2021-08-07), XLM-R large, Tables 5 to 7. --data-root DIR holds its pairs as text,
# `train.de-fr.de` and `valid.de-fr.de` with `.fr`, two-letter codes (sh is Serbo-Croatian), languages of a pair in alphabetical order.
# The validation set, by which checkpoints are chosen, is of another corpus, such as Flores-200 dev: the challenge's development set is
# a part of New-Tatoeba, which the paper tests on (3.1). Of large pairs the first few million lines suffice: the budget draws 1M.
CORPUS=text
LANGUAGES=(ar bg ca cs da de el en es et fa "fi" fr he hu it ja ko lt lv ms nl no pl pt ro ru sh sl sv tr uk vi zh)
RANKED=(es fr de pt it nl ru pl cs sv sh el ro da zh no ar ms hu bg tr "fi" sl vi he ja et lt lv fa ko uk) # footnote 19
SAVE_UPDATES=5000
LANGUAGE_SIZES=$HERE/cc100_sizes.tsv # Conneau et al. 2020, Table 6, both Chinese and both Burmese scripts together
LAYERS=(12:8 24:17) # 2.3
RETRIEVAL_OPTIONS+=(--normalize-batch 256)
SINGLE_PAIRS=(es-en {fr,pt,it,de,ca,nl,ru}-es de-{fr,it,pt,nl} fr-{pt,it,nl} it-pt pl-pt) # Tables 6 and 5
for count in 2 4 8 16 32; do
  first=("${RANKED[@]:0:count}")
  several "top-$count" "${first[@]/%/-en}" # English on one side, as where there is one pair: its sentences are no negatives
done
