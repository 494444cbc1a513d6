#!/usr/bin/env bash
# AlignInstruct: the systems of chapter 6 of the thesis, from bitext and a large language model to tables.
# shellcheck disable=SC2034  # settings are read by the driver and the table of systems
set -euo pipefail
# shellcheck source=recipes/shared/experiment.sh
source "$(dirname "$0")/../shared/experiment.sh"
# shellcheck source=recipes/shared/translation.sh
source "$HERE/../shared/translation.sh"

RECIPE=align_instruct TITLE="AlignInstruct"
ALL_STAGES="prepare base tune translate score probe report"
TRAINING_STAGES=tune
CONFIGURED="CORPUS LANGUAGES TAUGHT LEARNING_RATE EPOCHS UPDATE_SENTENCES BATCH_SENTENCES"
SEEDS=1 # the thesis ran everything once
PROBE_READS=scores.json # of groups of languages

MODEL='' FLORES='' LANGUAGE_GROUPS=''
PARAMETERS='' # of the language model, by which --plan knows it before it is there
DATASET=''    # in tables (default: the configuration's name)
MODEL_TITLE='' # after the names of systems: a report of several models tells them apart by it
PROBE_LINES=1000 # of each validation set, for layers
# What 6.3.2 has for all models; a configuration changes it.
EPOCHS=5
LEARNING_RATE=1e-4,3e-4,1e-3 # the thesis chose by validation loss, among rates that it does not give
TUNING_OPTIONS=()            # of `llm tune`
DECODING_OPTIONS=()          # of `llm translate`
SUPERVISED=()                # English and the languages whose directions with it are called supervised (default: TAUGHT)
ALIGNER_OPTIONS=(--aligner fast_align --train-sample 0 --no-one-to-one)
KNOWN=() BASE_OPTIONS=() BASE_TUNING=() # of a configuration that makes its own model, of these languages, in the stage base
# Tables 6.2 to 6.5 and D.3 compare with MTInstruct, Table D.3 by the same prompt; Table 6.2 also has the model as it is.
COMPARISONS=(base:mt mt:align mt:mt+align mt:align-mt mt:mt+align-mt mt:mt+hint mt:mt+revise mt:mt+align+hint mt:mt+align+revise
  mt:mt+hint+revise mt:mt+align+hint+revise mt:mt-pivot mt+align:mt+align-pivot mt-pivot:mt+align-pivot
  mt:mt+mono-{full,half}{,+align,+align+hint+revise} mt+mono-full:mt+mono-full+align mt+mono-half:mt+mono-half+align
  mt-prompt-1:mt+align-prompt-1 mt-prompt-2:mt+align-prompt-2 mt-prompt-3:mt+align-prompt-3 mt-prompt-4:mt+align-prompt-4
  mt-prompt-5:mt+align-prompt-5)

usage() {
  cat << END
usage: bash recipes/align_instruct/run.sh --config NAME [--model FOLDER] [options] [-- OPTION of llm tune ...]

Makes instructions of bitext and its word alignments, tunes a language model on them in every system's curriculum, translates
the test sets by a prompt, scores, compares, reports. What is complete is skipped, what was killed continues. README.md beside
this file has the paper's numbers.

  --config NAME       bloomz24, bloomz24_1b1, bloomz24_7b1, bloomz3, bloomz6 (the paper's), phrasebook (a toy setting that
                      makes its own small model), or a file like those in configs/
  --model FOLDER      the language model, a folder of transformers: BLOOMZ-7b1, 3b or 1b1
  --flores FOLDER     flores200_dataset: its devtest is translated, too
  --systems LIST      rows of Tables 6.2 to 6.5, D.3 and D.4, see README.md (default: $(list_systems))
$(help_of experiment comet)
  --launcher NAME     cpu; gpu or torchrun (a process per GPU); slurm (every step is one srun; a download runs where the recipe
                      does) (default: $LAUNCHER)
  --gpus N            GPUs of one training, on each node (cpu: processes); an update has the paper's instructions with any
                      number of them (default: $GPUS)
  --nodes N           nodes of one training, with slurm (default: $NODES)
  --cpus-per-task N   cores of a step, and of a training on each node, with slurm (default: what Slurm gives)
  --jobs N            models at a time, in tuning and translation: they share the cores, and have GPUs of their own
                      (default: $JOBS)
  --jobs-per-gpu N    trainings that may share one GPU (default: $JOBS_PER_GPU)
  --precision NAME    bf16, fp16 or float32; auto is fp16 on GPUs, as in the thesis, and float32 on a processor
                      (default: $PRECISION)
$(help_of force plan all)

Example: bash recipes/align_instruct/run.sh --config bloomz24 --model models/bloomz-1b1 --launcher gpu --gpus 8
END
}

check_recipe() {
  PAIRS=$(english_centric "${TAUGHT[@]}")
  [[ ${#SUPERVISED[@]} -gt 0 ]] || SUPERVISED=("${TAUGHT[@]}")
  DATASET=${DATASET:-$NAME}
  check_folders FLORES
  if [[ ${#BASE_OPTIONS[@]} -gt 0 ]]; then
    [[ -z $MODEL ]] || die "--model $MODEL: --config $CONFIG makes its own; expected none"
    MODEL=$OUTPUT/base/stage-1
  else
    [[ ${STAGE_LIST[*]} != base ]] || die "--stages base: makes the model of a toy setting, and --config $CONFIG tunes that of --model; expected other stages"
    leave_out_stage base
    [[ -n $MODEL ]] || die "--model: expected a folder of transformers with the language model that --config $CONFIG tunes"
    check_folders MODEL
    MODEL_TITLE=", $(basename "$MODEL")"
  fi
  case $PRECISION/$LAUNCHER in
    bf16/*) ARITHMETIC=bfloat16 ;;
    fp16/*) ARITHMETIC=float16 ;;
    float32/* | auto/cpu) ARITHMETIC=float32 ;;
    auto/*) ARITHMETIC=float16 ;;
  esac
}

# A pair of sentences becomes an instruction of an objective for each direction.
plan_trainings() {
  local objective sizes=()
  [[ -z $TRAINING_PAIRS ]] || for objective in $(for_each_model objectives | sort -u); do
    sizes+=("$OUTPUT/instructions/$objective=$((2 * TRAINING_PAIRS))")
  done
  [[ -z $PARAMETERS ]] || sizes+=("$MODEL=$PARAMETERS")
  python -m llm plan --flops "$PLAN" ${sizes:+--sizes "${sizes[@]}"}
}

# --- stages --------------------------------------------------------------------------------------------------------

# Text, its words and alignments, and the instructions of every objective that the systems have.
stage_prepare() {
  local objective
  fetch_text
  run python -m data_prep clean --input "$RAW" --output "$OUTPUT/text" --max-length "${MAX_WORDS:-$MAX_LENGTH}" "${CLEAN_OPTIONS[@]}"
  [[ -z $FLORES ]] || run python -m data_prep download flores200 --langs "$(joined "${LANGUAGES[@]}")" \
    --from-folder "$FLORES" --output "$OUTPUT/flores/text"
  run python -m data_prep tokenize "${TOKENIZER_OPTIONS[@]}" --input "$OUTPUT/text" --output "$OUTPUT/tokenized"
  run python -m data_prep align "${ALIGNER_OPTIONS[@]}" --input "$OUTPUT/tokenized" --output "$OUTPUT/aligned"
  for objective in $(for_each_model objectives | sort -u); do
    run python -m llm instruct --text "$OUTPUT/text" --words "$OUTPUT/tokenized" --alignments "$OUTPUT/aligned" \
      --tasks "$objective" --directions "$PAIRS" --output "$OUTPUT/instructions/$objective"
  done
}

# A line per objective that a system learns.
objectives() { # SYSTEM
  value_in --curriculum "${TRAINED_AS[$1]}" | tr +, '\n' | awk 'NF && !seen[$0]++'
}

# A model of languages that the systems are not taught, for a toy setting: made, and trained on other pairs.
stage_base() {
  run python -m llm new-model --text "$OUTPUT/text" "${BASE_OPTIONS[@]}" --output "$OUTPUT/new-model"
  run python -m llm instruct --text "$OUTPUT/text" --tasks mt --directions "$(english_centric "${KNOWN[@]}")" \
    --output "$OUTPUT/base-instructions"
  tune --output "$OUTPUT/base" --seed 1 --model "$OUTPUT/new-model" --instructions "$OUTPUT/base-instructions" --curriculum mt --lora-rank 0 \
    "${BASE_TUNING[@]}"
}

stage_tune() { train_systems train_system; }

train_system() { # SYSTEM SEED
  local instructions
  set_training_options "$1"
  mapfile -t instructions < <(objectives "$1")
  tune --output "$OUTPUT/models/$(model_name "$@")" --seed "$2" --model "$MODEL" --instructions "${instructions[@]/#/"$OUTPUT/instructions/"}" \
    --epochs "$EPOCHS" --learning-rate "$LEARNING_RATE" "${OPTIONS[@]}" "${TUNING_OPTIONS[@]}" "${EXTRA_OPTIONS[@]}"
}

need_data() { [[ -d $OUTPUT/instructions ]] || die "$OUTPUT/instructions: no such folder; run the stage prepare first"; }

# Run `llm tune`, a process per device. An update has UPDATE_SENTENCES instructions on any number of devices, also where they hold
# fewer at a time than the configuration says.
tune() { # --output FOLDER OPTION...
  local launch=(env "OMP_NUM_THREADS=$THREADS") world=$((GPUS * NODES)) sentences batches
  sentences=$(last_value --batch-sentences "$@")
  [[ $sentences =~ ^[1-9][0-9]*$ ]] || sentences=$BATCH_SENTENCES # llm tune refuses what is no number
  batches=$((UPDATE_SENTENCES / (sentences * world)))
  if [[ $((batches * sentences * world)) != "$UPDATE_SENTENCES" ]]; then
    batches=$((batches > 0 ? batches : 1))
    note "$2: $world devices of $sentences instructions: $((batches * sentences * world)) in an update, not $UPDATE_SENTENCES"
  fi
  [[ $LAUNCHER != slurm ]] || launch=(srun --nodes "$NODES" --ntasks-per-node 1 --gpus-per-node "$GPUS" "${CORES[@]}" --job-name "${2##*/}")
  if [[ $NODES -gt 1 ]]; then
    launch+=(bash "$HERE/on_nodes.sh" "$(port_of "$2")" --nnodes "$NODES" --nproc-per-node "$GPUS" -m)
  elif [[ $GPUS -gt 1 ]]; then
    launch+=(torchrun --standalone --nproc-per-node "$GPUS" -m)
  else
    launch+=(python -m)
  fi
  run "${launch[@]}" llm tune "${@:1:4}" --batch-sentences "$BATCH_SENTENCES" --batches-per-update "$batches" \
    --precision "$ARITHMETIC" "${DEVICE[@]}" "${@:5}" "${FORCED[@]}"
}

# A port of a training: those on one node must not share one, nor those of two users.
port_of() { # FOLDER
  echo $((20000 + $(cksum <<< "$UID $PWD/$1" | cut -d' ' -f1) % 20000))
}

stage_translate() { for_each_model_at_once translate; }

translate() { # SYSTEM SEED
  local OPTIONS
  set_prompted "$@"
  set_evaluation_options "$1"
  run python -m llm translate "${PROMPTED[@]}" "${DECODING_OPTIONS[@]}" "${OPTIONS[@]}" --data "$OUTPUT" --dataset "$DATASET" \
    --output "$OUTPUT/translations/$(model_name "$@")"
  ! has_flores "$1" ||
    run python -m llm translate "${PROMPTED[@]}" "${DECODING_OPTIONS[@]}" "${OPTIONS[@]}" --data "$OUTPUT/flores" --dataset Flores-200 \
      --directions "$PAIRS" --output "$OUTPUT/translations/flores/$(model_name "$@")"
}

# Tables D.3 and D.4, other prompts and pivots, are of OPUS-100 alone.
has_flores() { [[ -n $FLORES && ${EVALUATION[$1]} != *--p@(ivot|rompt)* ]]; } # SYSTEM

# Fill PROMPTED, the model of a system for `llm translate` and `llm states`.
set_prompted() { # SYSTEM SEED
  local tuned
  tuned=$OUTPUT/models/$(model_name "${TRAINED_AS[$1]}" "$2")
  PROMPTED=(--model "$MODEL" --supervised "$(english_centric "${SUPERVISED[@]}")" --precision "$ARITHMETIC" "${DEVICE[@]}")
  [[ -z ${TABLE_NAME[$1]} ]] || PROMPTED+=(--name "${TABLE_NAME[$1]}$MODEL_TITLE")
  [[ -n ${TRAINING[${TRAINED_AS[$1]}]} ]] || return 0
  [[ $DRY_RUN == yes ]] || [[ -e $tuned/tuning.json ]] || die "$tuned/tuning.json: no such file; run the stage tune first"
  PROMPTED+=(--tuned "$tuned")
}

add_folder() { # SYSTEM SEED
  FOLDERS+=("$OUTPUT/translations/$(model_name "$@")")
  ! has_flores "$1" || FOLDERS+=("$OUTPUT/translations/flores/$(model_name "$@")")
}

# The model as it is has one translation, whatever the seeds of the others.
list_models() {
  local system seed
  for system in "${SYSTEM_IDS[@]}"; do
    for seed in "${SEED_LIST[@]}"; do
      [[ $system == base && $seed != "${SEED_LIST[0]}" ]] || echo "$system $seed"
    done
  done
}

# A system without a training of its own is the model as it is; --finished-only asks for those that are tuned.
list_finished() {
  local folder
  model_name base "${SEED_LIST[0]}"
  for folder in "$OUTPUT"/models/*/; do
    [[ ! -e $folder/tuning.json || -e $folder/.tune.unfinished ]] || basename "$folder" # or begun anew since
  done
}

stage_score() { score; }

# Figure 6.3: what MTInstruct changes in the layers of the model, and what AlignInstruct changes then, for the first seed that there is.
# Table 6.6: from seen and unseen languages into seen and unseen ones.
stage_probe() {
  local system seed stores=()
  for system in base mt mt+align; do
    seed=$(for_each_model echo | awk -v wanted="$system" '$1 == wanted && !seen++ { print $2 }')
    [[ -n $seed ]] || continue
    set_prompted "$system" "$seed"
    stores+=("$OUTPUT/states/$system")
    run python -m llm states "${PROMPTED[@]}" --data "$OUTPUT" --dataset "$DATASET" --max-lines "$PROBE_LINES" \
      --output "$OUTPUT/states/$system"
  done
  [[ ${#stores[@]} -lt 2 ]] || run python -m eval probe cosine "${stores[@]}" --split valid --output "$OUTPUT/cosine"
  [[ -z $LANGUAGE_GROUPS ]] || run python -m eval probe language-groups "${FOLDERS[@]}" --groups "$LANGUAGE_GROUPS" --output "$OUTPUT/groups"
}

stage_report() {
  add_probe_files "$OUTPUT/groups/language-groups.json" "$OUTPUT/cosine/cosine.json"
  report "$OUTPUT" "$TITLE: $NAME" "${#SYSTEM_IDS[@]}" "${FOLDERS[@]}"
}

experiment "$@"
