# shellcheck shell=bash disable=SC2034,SC2054,SC2153
# Curricula and objectives of Tables 6.2 to 6.5, prompts of Table D.3, and pivots of Table D.4. Names are the thesis's.
system base '' "w/o fine-tuning"
system mt '' "MTInstruct" --curriculum mt
system align '' "AlignInstruct" --curriculum align
system mt+align '' "MT+Align" --curriculum mt+align
system align-mt '' "Align→MT" --curriculum align,mt
system mt+align-mt '' "MT+Align→MT" --curriculum mt+align,mt

# Tables 6.3 and 6.4
variant mt+hint '' "MT+Hint" --curriculum mt+hint
variant mt+revise '' "MT+Revise" --curriculum mt+revise
variant mt+align+revise '' "MT+Align+Revise" --curriculum mt+align+revise
variant mt+align+hint '' "MT+Align+Hint" --curriculum mt+align+hint
variant mt+hint+revise '' "MT+Hint+Revise" --curriculum mt+hint+revise
variant mt+align+hint+revise '' "MT+Align+Hint+Revise" --curriculum mt+align+hint+revise

# Table 6.5
for part in full half; do
  variant "mt+mono-$part" '' "MT+Mono-$part" --curriculum "mt+mono-$part"
  variant "mt+mono-$part+align" '' "MT+Mono-$part+Align" --curriculum "mt+mono-$part+align"
  variant "mt+mono-$part+align+hint+revise" '' "MT+Mono-$part+Align+Hint+Revise" --curriculum "mt+mono-$part+align+hint+revise"
done

# Other prompts than that of tuning (Table D.3), and English as a pivot (Table D.4)
for system in mt mt+align; do
  for prompt in 1 2 3 4 5; do
    variant "$system-prompt-$prompt" "$system" "${TABLE_NAME[$system]}, prompt $prompt"
    evaluated "$system-prompt-$prompt" --prompt "$prompt"
  done
  variant "$system-pivot" "$system" "${TABLE_NAME[$system]}"
  evaluated "$system-pivot" --pivot en --directions zero-shot
done
