# shellcheck shell=bash
# The rows of Table 4.2, of Table 4.6 and of B.3; training options are those of the pre-training. The first system is what the
# others are compared with. "optimized" has a Transformer and subwords of its own for each number of pairs (Table B.1).

# Tasks of pre-training per language; a language that is not named has the first mixture, MASS in most systems (4.4.5).
tasks() { # MIXTURE [LANGUAGE=MIXTURE]...
  local language tasks="" mixture named
  for language in "${LANGUAGES[@]}"; do
    mixture=$1
    for named in "${@:2}"; do [[ $named != "$language="* ]] || mixture=${named#*=}; done
    tasks+=",$language=$mixture"
  done
  echo "--pretraining-tasks ${tasks#,}"
}

has_language() {
  [[ " ${LANGUAGES[*]} " == *" $1 "* ]]
}

default_systems << END
mass | | $(tasks mass) | | MASS
none | | | | w/o pre-training
optimized | | | | w/o pre-training, optimized
bart | | $(tasks infilling) | | BART (text infilling)
END

! has_language ja || default_systems << END
bmass | | $(tasks mass ja=bmass) | | BMASS
brss | | $(tasks mass ja=brss.f) | | BRSS
brss-r | | $(tasks mass ja=brss.r) | | BRSS.R
jass | | $(tasks mass ja=bmass+brss.f) | | JASS
mass+bmass | | $(tasks mass ja=mass+bmass) | | MASS+BMASS
mass+brss | | $(tasks mass ja=mass+brss.f) | | MASS+BRSS
mass+jass | | $(tasks mass ja=mass+bmass+brss.f) | | MASS+JASS
multimass-ja | | $(tasks mass ja=multimass) | | MultiMASS (ja)
deshuffling-ja | | $(tasks mass ja=deshuffling) | | Deshuffling (ja)
mass+deshuffling-ja | | $(tasks mass ja=mass+deshuffling) | | MASS+Deshuffling (ja)
bart+jass | | $(tasks infilling ja=infilling+bmass+brss.f) | | BART+JASS
END

! has_language en || default_systems << END
pmass | | $(tasks mass en=pmass.p) | | PMASS.P
pmass-s | | $(tasks mass en=pmass.s) | | PMASS.S
hfss | | $(tasks mass en=hfss) | | HFSS
enss | | $(tasks mass en=mass+hfss) | | ENSS
pmass+hfss | | $(tasks mass en=pmass.p+hfss) | | PMASS+HFSS
multimass-en | | $(tasks mass en=multimass) | | MultiMASS (en)
deshuffling-en | | $(tasks mass en=deshuffling) | | Deshuffling (en)
mass+deshuffling-en | | $(tasks mass en=mass+deshuffling) | | MASS+Deshuffling (en)
bart+enss | | $(tasks infilling en=infilling+mass+hfss) | | BART+ENSS
END

! has_language ja || ! has_language en || default_systems << END
jass+enss | | $(tasks mass ja=bmass+brss.f en=mass+hfss) | | JASS+ENSS
mass+deshuffling | | $(tasks mass+deshuffling) | | MASS+Deshuffling
END

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
