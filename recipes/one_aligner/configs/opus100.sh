# shellcheck shell=bash disable=SC2034
# The paper's: OPUS-100 with the languages that XLM-R knows (Table 9), XLM-R large, Tables 1, 3, 4, 8 and 9. --encoder is the folder of
# XLM-R large; --compared, for Table 1, those of mBERT and XLM-R base.
#
# hy and mn have no published validation set in OPUS-100 (both have an accuracy in Table 9): 500 pairs of TED stand in.
CORPUS=mtdata
LANGUAGES=(af am ar as az be bg bn br bs ca cs cy da de el en eo es et eu fa "fi" fr fy ga gd gl gu ha he hi hr hu hy id is it ja ka kk
  km kn ko ku ky lt lv mg mk ml mn mr ms my ne nl no or pa pl ps pt ro ru si sk sl sq sr sv ta te th tr ug uk ur uz vi xh yi zh)
WITH_VALID=(afr amh ara asm aze bel bul ben bre bos cat ces cym dan deu ell epo spa est eus fas fin fra fry gle gla glg guj hau heb hin
  hrv hun isl ind ita jpn kat kaz khm kan kor kur kir lit lav mlg mkd mal mar msa mya nep nld nor ori pan pol pus por ron rus sin slk slv
  sqi srp swe tam tel tha tur uig ukr urd uzb vie xho yid zho)
mapfile -t TRAIN_IDS < <(ids OPUS-opus100_train-1 "${WITH_VALID[@]}" hye mon)
mapfile -t VALID_IDS < <(ids OPUS-opus100_dev-1 "${WITH_VALID[@]}" && ids OPUS-ted2020-v1@500 hye mon)
CORPUS_OPTIONS=(--train "${TRAIN_IDS[@]}" --valid "${VALID_IDS[@]}")
SAVE_UPDATES=5000
LANGUAGE_SIZES=$HERE/cc100_sizes.tsv # Conneau et al. 2020, Table 6, both Chinese and both Burmese scripts together
LAYERS=(12:8 24:17) # 2.3: of mBERT and XLM-R base, and of XLM-R large; about two thirds of the depth (footnote 5)
RETRIEVAL_OPTIONS+=(--normalize-batch 256)
SINGLE_PAIRS=({es,fr,de,pt,it,nl,ru,pl,cs,sv,el,ro,da,zh,no,ar}-en) # Table 4
for language in "${LANGUAGES[@]}"; do
  [[ $language == en ]] || every+=("$language-en") # English on one side, as where there is one pair: its sentences are no negatives
done
several all-pairs "${every[@]}"
EVERY_PAIR=${PAIRS_OF[all-pairs]}
TRAINING_PAIRS=1000000
