# shellcheck shell=bash disable=SC2034
# What recipes of sentence encoders share: pairs with English, test sets of retrieval, comparisons. Sourced.

TATOEBA='' FLORES='' NEW_TATOEBA='' UNITED_NATIONS='' BUCC='' STS='' KEEP_OUT='' COMPARED='' COMPARED_ENCODERS=()
LANGUAGE_GROUPS=ems # for averages: of embeddings/language_groups, or a file of your own, NAME.toml
UN_LANGUAGES=(es fr ru zh) # with English (3.2.1)
UN_PROBES=256 # of about 12,300 inverted lists, that a query looks at where there is no GPU
UN_MEMORY=32  # GiB for blocks of vectors, where there is one
BUCC_PAIRS=de-en,fr-en,ru-en,zh-en
BUCC_OPTIONS=(--tested training) # as the script that 3.2.1 follows; gold pairs of the test parts are not public
RETRIEVAL_OPTIONS=()    # how sentences are compared in tests
SHOWN_SIMILARITY=cosine # by which systems are compared with each other, and shown pair by pair
DIRECTION=''            # from English or to it, where all pairs have it: what is tested and shown; both without
SMALLER_OPTIONS=()      # which smaller vectors are measured as well, where all vectors of a test set are in memory
MULTIWAY=()             # languages whose test sets with English are line-parallel with each other

# Fill PAIR: English and another language, as file names have them.
set_pair() { # LANGUAGE
  if [[ $1 < en ]]; then PAIR=$1-en; else PAIR=en-$1; fi
}

# All pairs with English, separated by commas.
pairs_with_english() { # LANGUAGE...
  local language pairs=()
  for language in "$@"; do
    set_pair "$language"
    [[ $language == en ]] || pairs+=("$PAIR")
  done
  joined "${pairs[@]}"
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

# --- test sets are kept out of the training text (2.3.2) -----------------------------------------------------------

# Fill TEST_TEXTS, and add to CLEAN_OPTIONS. Texts of UN are too many to be looked up: who is trained on such text is not measured
# on it.
set_test_texts() {
  TEST_TEXTS=()
  [[ -z $TATOEBA ]] || TEST_TEXTS+=("$TATOEBA"/tatoeba.*)
  [[ -z $FLORES ]] || TEST_TEXTS+=("$FLORES"/dev/*.dev "$FLORES"/devtest/*.devtest)
  [[ -z $NEW_TATOEBA ]] || TEST_TEXTS+=("$NEW_TATOEBA"/*/tatoeba.*)
  [[ -z $BUCC ]] || add_texts --bucc "$BUCC" "PAIR.PART.LANG of BUCC, in it or in folders of it" -maxdepth 2 -name '*.[a-z][a-z]' # in a folder per pair, or all in one
  [[ -z $KEEP_OUT ]] || add_texts --keep-out "$KEEP_OUT" "texts of evaluation sets"
  [[ ${#TEST_TEXTS[@]} == 0 ]] || CLEAN_OPTIONS+=(--exclude-text "${TEST_TEXTS[@]}")
}

add_texts() { # OPTION FOLDER WHAT_IS_EXPECTED EXPRESSION_OF_FIND...
  local texts
  mapfile -t texts < <(find -L "$2" "${@:4}" -type f 2> /dev/null | sort)
  [[ $DRY_RUN == yes || ${#texts[@]} -gt 0 ]] || die "$1: $2: no files; expected $3"
  TEST_TEXTS+=("${texts[@]}")
}

check_test_sets() {
  check_folders TATOEBA FLORES NEW_TATOEBA UNITED_NATIONS BUCC STS KEEP_OUT
  [[ -z $UNITED_NATIONS || " ${CORPUS_OPTIONS[*]} " != *-unpc-* ]] ||
    die "--united-nations: $NAME trains on UNPC, which has sentences of this test set (thesis, footnote 25); expected a configuration without it"
  [[ -z $STS || $DRY_RUN == yes ]] || compgen -G "$STS/STS.*" > /dev/null || die "--sts: $STS: no files STS.*; expected STS.en-ar.tsv, …"
  set_test_texts
  ! is_among --lowercase "${TOKENIZER_OPTIONS[@]}" || CLEAN_OPTIONS+=(--ignore-case)
  has_stage prepare || ! has_stage evaluate || warn_of_late_test_sets "$OUTPUT/text/clean.json" "the text of the stage prepare" "prepare and train, too"
}

# A test set that `clean` was not given may be in what the models have read; its record has a line per file.
warn_of_late_test_sets() { # RECORD_OF_CLEAN TEXT WHERE_TO_GIVE_IT
  local late
  [[ $DRY_RUN != yes && -e $1 && ${#TEST_TEXTS[@]} -gt 0 ]] || return 0
  late=$(comm -23 <(printf '%s\n' "${TEST_TEXTS[@]}" | real_paths) <(sed 's/^ *"//; s/",\?$//' "$1" | real_paths) | sed -n 1p)
  [[ -z $late ]] || note "$late: not kept out of $2, and perhaps in it; give its folder $3"
}

# Absolute paths of lines, sorted; lines that are none do no harm.
real_paths() { xargs -d '\n' realpath -m -- | sort -u; }

# --- retrieval in every test set (2.4.1, 2.4.2) --------------------------------------------------------------------

# Fill ENCODER_OPTIONS: the model of a system, as commands of `embeddings` take it.
set_encoder() { # SYSTEM SEED
  ENCODER_OPTIONS=(--model "$(checkpoint_of "$@")" --model-data "$DATA" --encoder-name "$1" "${DEVICE[@]}")
}

retrieval_folder() { echo "$OUTPUT/retrieval/$(model_name "$@")"; } # SYSTEM SEED

evaluate() { # SYSTEM SEED
  set_encoder "$@"
  measure_trained "$(retrieval_folder "$@")" "${ENCODER_OPTIONS[@]}"
}

measure_trained() { retrieve_everywhere "$@"; } # FOLDER ENCODER_OPTION...

retrieve_everywhere() { # FOLDER ENCODER_OPTION...
  local part language files=() un=()
  for language in "${MULTIWAY[@]}"; do
    set_pair "$language"
    files+=("$DATA/text/test.$PAIR.$language")
  done
  [[ ${#MULTIWAY[@]} == 0 ]] || set_pair "${MULTIWAY[0]}" # and once the English side
  [[ ${#MULTIWAY[@]} == 0 ]] ||
    retrieve "$1/multiway" "${@:2}" "${SMALLER_OPTIONS[@]}" --parallel "${files[@]}" "$DATA/text/test.$PAIR.en" --dataset "$NAME, multi-parallel"
  [[ -z $TATOEBA ]] || retrieve "$1/tatoeba" "${@:2}" "${SMALLER_OPTIONS[@]}" --tatoeba "$TATOEBA"
  [[ -z $FLORES ]] || retrieve "$1/flores" "${@:2}" --flores "$FLORES"
  [[ -z $NEW_TATOEBA ]] || for part in english others; do
    retrieve "$1/new-tatoeba-$part" "${@:2}" --tatoeba "$NEW_TATOEBA/$part" --dataset "New-Tatoeba, $part"
  done
  if [[ -n $UNITED_NATIONS ]]; then # millions of candidates: vectors are stored, and compared on a GPU, or without one by inverted lists
    un=(--index gpu --memory "$UN_MEMORY")
    [[ $LAUNCHER != cpu ]] || un=(--index ivf --probes "$UN_PROBES")
    run python -m embeddings encode "$UNITED_NATIONS"/UNv1.0.6way.en "${UN_LANGUAGES[@]/#/$UNITED_NATIONS/UNv1.0.6way.}" --dtype float16 "${@:2}" --output "$1/un/vectors"
    retrieve "$1/un" --un "$UNITED_NATIONS" --languages "$(joined "${UN_LANGUAGES[@]}")" --similarity cosine "${un[@]}" --model "$1/un/vectors"
  fi
  [[ -z $BUCC ]] || measure "$1/bucc/mining.json" python -m embeddings bucc "$BUCC" --pairs "$BUCC_PAIRS" "${BUCC_OPTIONS[@]}" "${@:2}"
  [[ -z $STS ]] || measure "$1/sts/sts.json" python -m embeddings sts "$STS"/STS.* --dataset "STS 2017" "${@:2}"
  further_tests "$@"
}

further_tests() { :; } # FOLDER ENCODER_OPTION..., of a recipe that has more

retrieve() { # FOLDER OPTION...
  local groups=$LANGUAGE_GROUPS
  [[ $groups == *.toml ]] || groups=$ROOT/embeddings/language_groups/$groups.toml
  measure "$1/sentence-retrieval.json" python -m embeddings retrieve "${RETRIEVAL_OPTIONS[@]}" "${@:2}" --groups "$groups"
}

# Further encoders, NAME=FOLDER, as they are.
evaluate_compared() {
  local given
  for given in "${COMPARED_ENCODERS[@]}"; do
    retrieve_everywhere "$OUTPUT/compared/${given%%=*}" --model "${given#*=}" --encoder-name "${given%%=*}" "${DEVICE[@]}"
  done
}

add_compared() { # STAGE_THAT_MEASURES
  local given
  for given in "${COMPARED_ENCODERS[@]}"; do add_results "$1" retrieve_everywhere "$OUTPUT/compared/${given%%=*}"; done
}

check_compared() {
  [[ -z $COMPARED ]] || split_list --compared "$COMPARED" COMPARED_ENCODERS
  check_compared_encoders
}

check_compared_encoders() {
  local given
  for given in "${COMPARED_ENCODERS[@]}"; do
    [[ $given == ?*=?* && ${given%%=*} != */* ]] || die "--compared: found '$given', expected NAME=FOLDER"
    [[ $DRY_RUN == yes || -d ${given#*=} ]] || die "--compared: ${given#*=}: no such folder"
  done
}

# --- results -------------------------------------------------------------------------------------------------------

# Whether a report, if the encoders are not measured for it, has what it reads of one.
has_what_is_read() { # SYSTEM SEED
  has_stage evaluate || are_measured measure_trained "$(retrieval_folder "$@")"
}

# Add the results of an encoder to RESULTS; those of retrieval to RETRIEVAL, too.
add_results() { # STAGE_THAT_MEASURES FUNCTION FOLDER
  local file number=${#RESULTS[@]}
  collect "${@:2}"
  for file in "${RESULTS[@]:number}"; do
    needs_result "$file" "$1"
    [[ $file != */sentence-retrieval.json ]] || RETRIEVAL+=("$file")
  done
}

add_evaluated() { add_results evaluate measure_trained "$(retrieval_folder "$@")"; } # SYSTEM SEED

# P@1 of the first system against that of every other, in every test set, and of what else options say.
compare_retrieval() { # NAME OPTION...
  run python -m eval compare "${RETRIEVAL[@]}" "${@:2}" ${DIRECTION:+--direction "$DIRECTION"} --output "$OUTPUT/$1.json"
  RESULTS+=("$OUTPUT/$1.json")
}

# shellcheck disable=SC2120 # options are those of the recipe that has some
write_report() { # OPTION...
  run python -m eval report "${RESULTS[@]}" "$@" --reference "$HERE/reference.csv" --output "$OUTPUT/report" --title "$TITLE: $NAME"
  note_report "$OUTPUT"
}
