# shellcheck shell=bash disable=SC2004,SC2034,SC2054,SC2153 # settings, and arrays by names, are those of run.sh and of configurations
# The encoders that --encoders names, none of which is trained by fairseq.
if makes_materials; then
  MADE=()
  for updates in "${MADE_UPDATES[@]}"; do MADE+=("update-$updates=$(made_encoder "$updates")"); done
  ENCODERS=$(joined "${MADE[@]}")
fi
[[ -n $ENCODERS ]] || die "--encoders: expected NAME=FOLDER,... with names of $CONFIG_FILE: ${KNOWN_ENCODERS[*]}"
split_list --encoders "$ENCODERS" GIVEN_ENCODERS
for given in "${GIVEN_ENCODERS[@]}"; do
  [[ $given == ?*=?* ]] || die "--encoders: found '$given', expected NAME=FOLDER"
  name=${given%%=*}
  is_among "$name" "${KNOWN_ENCODERS[@]}" ||
    die "--encoders: found '$name', expected one of: ${KNOWN_ENCODERS[*]}; for another one, a configuration of yours with a line 'encoder $name LAYER RATE'"
  [[ -z ${FOLDER_OF[$name]:-} ]] || die "--encoders: found '$name' twice, expected every one once"
  FOLDER_OF[$name]=${given#*=}
  system "$name" '' ''
done
