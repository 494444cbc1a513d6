# shellcheck shell=bash disable=SC2034
# What recipes of sentence encoders have in common: pairs with English, test sets of retrieval. Sourced.

TATOEBA='' FLORES='' NEW_TATOEBA='' UNITED_NATIONS='' BUCC='' STS='' KEEP_OUT=''
LANGUAGE_GROUPS=ems # for averages: of embeddings/language_groups, or a file of your own, NAME.toml
UN_LANGUAGES=(es fr ru zh) # with English (3.2.1)
BUCC_PAIRS=de-en,fr-en,ru-en,zh-en
BUCC_OPTIONS=(--tested training) # as the script that 3.2.1 follows; gold pairs of the test parts are not public
UN_PROBES=256 # of about 12,300 inverted lists, that a query looks at where there is no GPU
UN_MEMORY=32 # GiB for blocks of vectors, where there is one
RETRIEVAL_OPTIONS=() # how sentences are compared in tests
SHOWN_SIMILARITY=cosine # by which systems are compared with each other, and shown pair by pair
DIRECTION='' # from English or to it, where all pairs have it: what is tested and shown; both without
SMALLER_OPTIONS=() # which smaller vectors are measured as well, where all vectors of a test set are in memory
MULTIWAY=() # languages whose test sets with English are line-parallel with each other

usage_of_comet() { :; } # sentence encoders do not translate

refuse_comet() {
  [[ -z $COMET ]] || die "--comet $COMET: sentence encoders do not translate; expected none"
}

usage_of_test_sets() {
  cat << END
  --tatoeba DIR       LASER's Tatoeba test sets, tatoeba.XXX-eng.XXX: measured in evaluate, kept out of the training text
                      by prepare
  --flores DIR        Flores-200, SPLIT/CODE.SPLIT: devtest is measured; dev and devtest are kept out of the training text
  --bucc DIR          BUCC 2018, PAIR.training.LANG and .gold, …: mining is measured in evaluate; its sentences are kept
                      out of the training text by prepare
  --keep-out DIR      text files of further evaluation sets (MLDoc, CLS, ParaCrawl, …): lines, and what stands between tabs, are
                      kept out of the training text by prepare
END
}

usage_of_un() {
  cat << END
  --united-nations DIR  fully aligned UN Parallel Corpus, UNv1.0.6way.en, …, decompressed: es, fr, ru, zh with English (9.5 million
                      candidates) are measured, with vectors in float16 on disk: all candidates on a GPU, inverted lists with --launcher cpu
END
}

usage_of_sts() {
  cat << END
  --sts DIR           rated pairs of sentences of STS 2017, STS.ar.tsv, STS.en-ar.tsv, … (sentence, sentence, rating): measured
                      in evaluate
END
}

check_test_sets() {
  check_folders TATOEBA FLORES NEW_TATOEBA UNITED_NATIONS BUCC STS KEEP_OUT
  [[ -z $UNITED_NATIONS || " ${CORPUS_OPTIONS[*]} " != *-unpc-* ]] ||
    die "--united-nations: $NAME trains on UNPC, which has sentences of this test set (thesis, footnote 25); expected a configuration without it"
  if [[ -n $STS && $DRY_RUN != yes ]]; then
    any_file "$STS"/STS.* || die "--sts: $STS: no files STS.*; expected STS.en-ar.tsv, …"
  fi
  if [[ -n $BUCC && $DRY_RUN != yes ]]; then
    texts_of_bucc
    [[ ${#BUCC_TEXTS[@]} -gt 0 ]] || die "--bucc: $BUCC: no files PAIR.PART.LANG, nor below it; expected those of BUCC"
  fi
  refuse_comet
  ! has_stage evaluate || warn_of_late_test_sets prepare "$OUTPUT/text/clean.json"
}

# A test set that a stage which cleans text was not given may be in what the models have read.
warn_of_late_test_sets() { # STAGE RECORD_OF_CLEAN
  local late
  ! has_stage "$1" || return 0
  late=$(late_test_set "$2") || exit 2
  [[ -z $late ]] || note "$late: not kept out of the text of the stage $1, and perhaps in it; give its folder to $1 and train, too"
}

# A line: the first file of test sets whose sentences `clean` has not kept out of a text, as far as its record is there.
late_test_set() { # RECORD_OF_CLEAN
  [[ $DRY_RUN != yes && -e $1 ]] || return 0
  test_texts
  [[ ${#TEST_TEXTS[@]} -gt 0 ]] || return 0
  LC_ALL=C comm -23 <(printf '%s\n' "${TEST_TEXTS[@]}" | real_paths) <(sed 's/^ *"//; s/",\?$//' "$1" | real_paths) | sed -n 1p
}

# Absolute paths of lines, sorted; lines that are none do no harm.
real_paths() { xargs -d '\n' realpath -m -- | LC_ALL=C sort -u; }

# Set PAIR: English and another language, as file names have them.
set_pair() { # LANGUAGE
  if [[ $1 < en ]]; then PAIR=$1-en; else PAIR=en-$1; fi
}

# All pairs with English, separated by commas.
pairs_with_english() { # LANGUAGE...
  local language pairs=""
  for language in "$@"; do
    [[ $language != en ]] || continue
    set_pair "$language"
    pairs+=,$PAIR
  done
  echo "${pairs#,}"
}

# mtdata's ids of a corpus, NAME-VERSION, with English and other languages, whose codes come in alphabetical order in an id;
# @N after the corpus: at most N pairs.
ids() { # GROUP-NAME-VERSION[@N] LANGUAGE...
  local corpus=${1%%@*} cap='' language
  [[ $1 != *@* ]] || cap=@${1##*@}
  for language in "${@:2}"; do
    if [[ $language < eng ]]; then echo "$corpus-$language-eng$cap"; else echo "$corpus-eng-$language$cap"; fi
  done
}

# Sentences of evaluation sets, in whatever language, are not trained on (2.3.2).
prepare_without_test_sets() {
  test_texts
  [[ ${#TEST_TEXTS[@]} == 0 ]] || CLEAN_OPTIONS+=(--exclude-text "${TEST_TEXTS[@]}")
  ! is_among --lowercase "${TOKENIZER_OPTIONS[@]}" || CLEAN_OPTIONS+=(--ignore-case)
  prepare
}

# Fill TEST_TEXTS: the files of sentences of evaluation sets. Those of UN are too many to be looked up: who is trained on such
# text is not measured on it (check_test_sets).
test_texts() {
  local found
  TEST_TEXTS=()
  [[ -z $TATOEBA ]] || TEST_TEXTS+=("$TATOEBA"/tatoeba.*)
  [[ -z $FLORES ]] || TEST_TEXTS+=("$FLORES"/dev/*.dev "$FLORES"/devtest/*.devtest)
  [[ -z $NEW_TATOEBA ]] || TEST_TEXTS+=("$NEW_TATOEBA"/*/tatoeba.*)
  if [[ -n $BUCC ]]; then
    texts_of_bucc
    TEST_TEXTS+=("${BUCC_TEXTS[@]}")
  fi
  if [[ -n $KEEP_OUT ]]; then
    mapfile -t found < <(find -L "$KEEP_OUT" -type f | LC_ALL=C sort)
    [[ ${#found[@]} -gt 0 || $DRY_RUN == yes ]] || die "--keep-out $KEEP_OUT: no file in it, expected texts of evaluation sets"
    TEST_TEXTS+=("${found[@]}")
  fi
}

# Fill BUCC_TEXTS: as BUCC publishes them, in a folder per pair, or all in one.
texts_of_bucc() {
  local path
  BUCC_TEXTS=()
  for path in "$BUCC"/*.[a-z][a-z] "$BUCC"/*/*.[a-z][a-z]; do
    [[ ! -f $path ]] || BUCC_TEXTS+=("$path")
  done
}

# The model of a system in every test set.
evaluate() { # SYSTEM SEED
  set_encoder_options "$@"
  retrieve_everywhere "$(retrieval_folder "$@")" "${ENCODER_OPTIONS[@]}"
}

# Fill ENCODER_OPTIONS: the model of a system, as commands of `embeddings` take it.
set_encoder_options() { # SYSTEM SEED
  ENCODER_OPTIONS=(--model "$(checkpoint_of "$@")" --model-data "$DATA" --encoder-name "$1")
  [[ $LAUNCHER != cpu ]] || ENCODER_OPTIONS+=(--cpu)
}

retrieval_folder() { # SYSTEM SEED
  echo "$OUTPUT/retrieval/$(model_name "$@")"
}

# Retrieval in every test set (2.4.1, 2.4.2).
retrieve_everywhere() { # FOLDER ENCODER_OPTION...
  local part
  multiway_files
  [[ ${#MULTIWAY_FILES[@]} == 0 ]] ||
    retrieve "$1/multiway" "${@:2}" "${SMALLER_OPTIONS[@]}" --parallel "${MULTIWAY_FILES[@]}" --dataset "$NAME, multi-parallel"
  [[ -z $TATOEBA ]] || retrieve "$1/tatoeba" "${@:2}" "${SMALLER_OPTIONS[@]}" --tatoeba "$TATOEBA"
  [[ -z $FLORES ]] || retrieve "$1/flores" "${@:2}" --flores "$FLORES"
  [[ -z $NEW_TATOEBA ]] || for part in english others; do
    retrieve "$1/new-tatoeba-$part" "${@:2}" --tatoeba "$NEW_TATOEBA/$part" --dataset "New-Tatoeba, $part"
  done
  [[ -z $UNITED_NATIONS ]] || retrieve_in_un "$@"
  [[ -z $BUCC ]] ||
    run python -m embeddings bucc "$BUCC" --pairs "$BUCC_PAIRS" "${BUCC_OPTIONS[@]}" "${@:2}" --output "$1/bucc"
  [[ -z $STS ]] || run python -m embeddings sts "$STS"/STS.* --dataset "STS 2017" "${@:2}" --output "$1/sts"
}

# Millions of candidates: vectors are stored, and compared on a GPU, or without one by inverted lists.
retrieve_in_un() { # FOLDER ENCODER_OPTION...
  local language files=() search=(--index gpu --memory "$UN_MEMORY")
  [[ $LAUNCHER != cpu ]] || search=(--index ivf --probes "$UN_PROBES")
  for language in en "${UN_LANGUAGES[@]}"; do files+=("$UNITED_NATIONS/UNv1.0.6way.$language"); done
  run python -m embeddings encode "${files[@]}" --dtype float16 "${@:2}" --output "$1/un/vectors"
  retrieve "$1/un" --un "$UNITED_NATIONS" --languages "$(IFS=, && echo "${UN_LANGUAGES[*]}")" --similarity cosine "${search[@]}" --model "$1/un/vectors"
}

retrieve() { # FOLDER OPTION...
  local groups=$LANGUAGE_GROUPS
  [[ $groups == *.toml ]] || groups=$ROOT/embeddings/language_groups/$groups.toml
  run python -m embeddings retrieve "${RETRIEVAL_OPTIONS[@]}" "${@:2}" --groups "$groups" --output "$1"
}

# Fill MULTIWAY_FILES: the test set of each language with English, and once its English side.
multiway_files() {
  local language text=$DATA/text
  MULTIWAY_FILES=()
  for language in "${MULTIWAY[@]}"; do
    set_pair "$language"
    MULTIWAY_FILES+=("$text/test.$PAIR.$language")
  done
  [[ ${#MULTIWAY[@]} -gt 0 ]] || return 0
  set_pair "${MULTIWAY[0]}"
  MULTIWAY_FILES+=("$text/test.$PAIR.en")
}

# P@1 of the first system against that of every other, in every test set.
compare_with_first() { compare_retrieval comparison --against-first --metric "$SHOWN_SIMILARITY"; }

compare_retrieval() { # NAME OPTION...
  run python -m eval compare "${RETRIEVAL[@]}" "${@:2}" ${DIRECTION:+--direction "$DIRECTION"} --output "$OUTPUT/$1.json"
  RESULTS+=("$OUTPUT/$1.json")
}

add_retrieval() { add_encoder_results "$(retrieval_folder "$@")"; } # SYSTEM SEED

# Fill RESULT_FILES: what is measured of an encoder, below its folder.
FURTHER_RESULTS=() # of the encoders of a recipe, besides those of its test sets
set_result_files() {
  RESULT_FILES=()
  [[ ${#MULTIWAY[@]} == 0 ]] || RESULT_FILES+=(multiway/sentence-retrieval.json)
  [[ -z $TATOEBA ]] || RESULT_FILES+=(tatoeba/sentence-retrieval.json)
  [[ -z $FLORES ]] || RESULT_FILES+=(flores/sentence-retrieval.json)
  [[ -z $UNITED_NATIONS ]] || RESULT_FILES+=(un/sentence-retrieval.json)
  [[ -z $NEW_TATOEBA ]] || RESULT_FILES+=(new-tatoeba-{english,others}/sentence-retrieval.json)
  [[ -z $BUCC ]] || RESULT_FILES+=(bucc/mining.json)
  [[ -z $STS ]] || RESULT_FILES+=(sts/sts.json)
  RESULT_FILES+=("${FURTHER_RESULTS[@]}")
}

# Whether a report, if the encoders are not measured for it, has what it reads of one (finished.sh).
has_what_is_read() { # SYSTEM SEED
  local file folder
  ! has_stage evaluate || return 0
  folder=$(retrieval_folder "$@")
  set_result_files
  for file in "${RESULT_FILES[@]}"; do [[ -e $folder/$file ]] || return 1; done
}

# Add the results below a folder to RESULTS; those of retrieval to RETRIEVAL, too.
add_encoder_results() { # FOLDER
  local file stage=evaluate
  [[ $1 != "$OUTPUT"/untrained/* ]] || stage=untrained
  set_result_files
  for file in "${RESULT_FILES[@]}"; do
    [[ $DRY_RUN == yes || -e $1/$file ]] || die "$1/$file: no such file; run the stage $stage first"
    RESULTS+=("$1/$file")
    [[ $file != */sentence-retrieval.json ]] || RETRIEVAL+=("$1/$file")
  done
}
