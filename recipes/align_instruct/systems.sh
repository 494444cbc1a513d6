# shellcheck shell=bash
# Curricula and objectives of Tables 6.2 to 6.5, prompts of Table D.3, and pivots of Table D.4. Names are the thesis's.
default_systems << END
base | | | | w/o fine-tuning
mt | | --curriculum mt | | MTInstruct
align | | --curriculum align | | AlignInstruct
mt+align | | --curriculum mt+align | | MT+Align
align-mt | | --curriculum align,mt | | Align→MT
mt+align-mt | | --curriculum mt+align,mt | | MT+Align→MT
END

# Tables 6.3 and 6.4
other_systems << END
mt+hint | | --curriculum mt+hint | | MT+Hint
mt+revise | | --curriculum mt+revise | | MT+Revise
mt+align+revise | | --curriculum mt+align+revise | | MT+Align+Revise
mt+align+hint | | --curriculum mt+align+hint | | MT+Align+Hint
mt+hint+revise | | --curriculum mt+hint+revise | | MT+Hint+Revise
mt+align+hint+revise | | --curriculum mt+align+hint+revise | | MT+Align+Hint+Revise
END

# Table 6.5
for part in full half; do
  other_systems << END
mt+mono-$part | | --curriculum mt+mono-$part | | MT+Mono-$part
mt+mono-$part+align | | --curriculum mt+mono-$part+align | | MT+Mono-$part+Align
mt+mono-$part+align+hint+revise | | --curriculum mt+mono-$part+align+hint+revise | | MT+Mono-$part+Align+Hint+Revise
END
done

# Other prompts than that of tuning (Table D.3), and English as a pivot (Table D.4)
for system in mt mt+align; do
  for prompt in 1 2 3 4 5; do
    other_systems <<< "$system-prompt-$prompt | $system | | --prompt $prompt | ${TABLE_NAME[$system]}, prompt $prompt"
  done
  other_systems <<< "$system-pivot | $system | | --pivot en --directions zero-shot | ${TABLE_NAME[$system]}"
done
