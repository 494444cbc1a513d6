# shellcheck shell=bash
# The rows of Table 4.2, of Table 4.6 and of B.3 as --pretraining-tasks. Sourced by run.sh.

JAPANESE_SYSTEMS="bmass brss brss-r jass mass+bmass mass+brss mass+jass multimass-ja deshuffling-ja mass+deshuffling-ja bart+jass"
ENGLISH_SYSTEMS="pmass pmass-s hfss enss pmass+hfss multimass-en deshuffling-en mass+deshuffling-en bart+enss"
JOINT_SYSTEMS="jass+enss mass+deshuffling"

# All systems for the languages of a configuration, in the order of the tables; the first is what others are compared with.
systems_for() { # LANGUAGE...
  local systems="mass none optimized bart"
  [[ " $* " != *" ja "* ]] || systems+=" $JAPANESE_SYSTEMS"
  [[ " $* " != *" en "* ]] || systems+=" $ENGLISH_SYSTEMS"
  if [[ " $* " == *" ja "* && " $* " == *" en "* ]]; then systems+=" $JOINT_SYSTEMS"; fi
  echo "$systems"
}

# Is there a pre-trained model behind the system?
is_pretrained() { # SYSTEM
  [[ $1 != none && $1 != optimized ]]
}

# The mixture of one language; a language that the system says nothing about has MASS (4.4.5).
mixture_of() { # SYSTEM LANGUAGE
  case $1/$2 in
    bart/*) echo infilling ;;
    bmass/ja) echo bmass ;;
    brss/ja) echo brss.f ;;
    brss-r/ja) echo brss.r ;;
    jass/ja | jass+enss/ja) echo bmass+brss.f ;;
    mass+bmass/ja) echo mass+bmass ;;
    mass+brss/ja) echo mass+brss.f ;;
    mass+jass/ja) echo mass+bmass+brss.f ;;
    multimass-ja/ja | multimass-en/en) echo multimass ;;
    deshuffling-ja/ja | deshuffling-en/en) echo deshuffling ;;
    mass+deshuffling-ja/ja | mass+deshuffling-en/en | mass+deshuffling/*) echo mass+deshuffling ;;
    pmass/en) echo pmass.p ;;
    pmass-s/en) echo pmass.s ;;
    hfss/en) echo hfss ;;
    enss/en | jass+enss/en) echo mass+hfss ;;
    pmass+hfss/en) echo pmass.p+hfss ;;
    bart+jass/ja) echo infilling+bmass+brss.f ;;
    bart+enss/en) echo infilling+mass+hfss ;;
    bart+jass/* | bart+enss/*) echo infilling ;;
    *) echo mass ;;
  esac
}

pretraining_tasks() { # SYSTEM LANGUAGE...
  local system=$1 tasks="" language
  shift
  for language in "$@"; do tasks+=",$language=$(mixture_of "$system" "$language")"; done
  echo "${tasks#,}"
}

# "Optimized Transformer" of Table B.1 for a number of pairs: architecture, BPE merges, label smoothing, tokens per batch.
optimized_settings() { # PAIRS
  if [[ $1 == all || $1 -gt 50000 ]]; then
    echo "mnmt_transformer_optimized_50k 15000 0.4 8192"
  elif [[ $1 -gt 20000 ]]; then
    echo "mnmt_transformer_optimized_50k 12000 0.5 4096"
  elif [[ $1 -gt 3000 ]]; then
    echo "mnmt_transformer_optimized_10k 10000 0.5 4096"
  else
    echo "mnmt_transformer_optimized_3k 5000 0.6 4096"
  fi
}

# As in the tables of the thesis.
name_of() { # SYSTEM
  case $1 in
    none) echo "w/o pre-training" ;;
    optimized) echo "w/o pre-training, optimized" ;;
    bart) echo "BART (text infilling)" ;;
    brss-r) echo "BRSS.R" ;;
    pmass) echo "PMASS.P" ;;
    pmass-s) echo "PMASS.S" ;;
    multimass-?? | deshuffling-?? | mass+deshuffling-??) echo "$(name_of "${1%-??}") (${1: -2})" ;;
    multimass) echo MultiMASS ;;
    deshuffling) echo Deshuffling ;;
    mass+deshuffling) echo MASS+Deshuffling ;;
    *) echo "${1^^}" ;;
  esac
}
