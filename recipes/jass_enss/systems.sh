# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# The rows of Table 4.2, of Table 4.6 and of B.3; training options are those of the pre-training. The first system is what the
# others are compared with. "optimized" has a Transformer and subwords of its own for each number of pairs (Table B.1).

# A system by its tasks of pre-training. A language that is not named has the first mixture, MASS in most systems (4.4.5).
pretrained() { # ID NAME MIXTURE [LANGUAGE=MIXTURE]...
  local tasks=("${LANGUAGES[@]/%/=$3}") named
  for named in "${@:4}"; do tasks=("${tasks[@]/#"${named%%=*}=$3"/"$named"}"); done
  system "$1" '' "$2" --pretraining-tasks "$(joined "${tasks[@]}")"
}

pretrained mass "MASS" mass
system none '' "w/o pre-training"
system optimized '' "w/o pre-training, optimized"
pretrained bart "BART (text infilling)" infilling

if is_among ja "${LANGUAGES[@]}"; then
  pretrained bmass "BMASS" mass ja=bmass
  pretrained brss "BRSS" mass ja=brss.f
  pretrained brss-r "BRSS.R" mass ja=brss.r
  pretrained jass "JASS" mass ja=bmass+brss.f
  pretrained mass+bmass "MASS+BMASS" mass ja=mass+bmass
  pretrained mass+brss "MASS+BRSS" mass ja=mass+brss.f
  pretrained mass+jass "MASS+JASS" mass ja=mass+bmass+brss.f
  pretrained multimass-ja "MultiMASS (ja)" mass ja=multimass
  pretrained deshuffling-ja "Deshuffling (ja)" mass ja=deshuffling
  pretrained mass+deshuffling-ja "MASS+Deshuffling (ja)" mass ja=mass+deshuffling
  pretrained bart+jass "BART+JASS" infilling ja=infilling+bmass+brss.f
fi

if is_among en "${LANGUAGES[@]}"; then
  pretrained pmass "PMASS.P" mass en=pmass.p
  pretrained pmass-s "PMASS.S" mass en=pmass.s
  pretrained hfss "HFSS" mass en=hfss
  pretrained enss "ENSS" mass en=mass+hfss
  pretrained pmass+hfss "PMASS+HFSS" mass en=pmass.p+hfss
  pretrained multimass-en "MultiMASS (en)" mass en=multimass
  pretrained deshuffling-en "Deshuffling (en)" mass en=deshuffling
  pretrained mass+deshuffling-en "MASS+Deshuffling (en)" mass en=mass+deshuffling
  pretrained bart+enss "BART+ENSS" infilling en=infilling+mass+hfss
fi

if is_among ja "${LANGUAGES[@]}" && is_among en "${LANGUAGES[@]}"; then
  pretrained jass+enss "JASS+ENSS" mass ja=bmass+brss.f en=mass+hfss
  pretrained mass+deshuffling "MASS+Deshuffling" mass+deshuffling
fi

# "Optimized Transformer" of Table B.1.
set_optimized() { # PAIRS
  if [[ $1 == all || $1 -gt 50000 ]]; then
    ARCHITECTURE_OF_SIZE=mnmt_transformer_optimized_50k MERGES_OF_SIZE=15000 SMOOTHING_OF_SIZE=0.4 TOKENS_OF_SIZE=8192
  elif [[ $1 -gt 20000 ]]; then
    ARCHITECTURE_OF_SIZE=mnmt_transformer_optimized_50k MERGES_OF_SIZE=12000 SMOOTHING_OF_SIZE=0.5 TOKENS_OF_SIZE=4096
  elif [[ $1 -gt 3000 ]]; then
    ARCHITECTURE_OF_SIZE=mnmt_transformer_optimized_10k MERGES_OF_SIZE=10000 SMOOTHING_OF_SIZE=0.5 TOKENS_OF_SIZE=4096
  else
    ARCHITECTURE_OF_SIZE=mnmt_transformer_optimized_3k MERGES_OF_SIZE=5000 SMOOTHING_OF_SIZE=0.6 TOKENS_OF_SIZE=4096
  fi
}
