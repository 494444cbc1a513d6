# the script that the page shows
sed -n '/^# moved.py/,/^```/p' "$ROOT/docs/results/jass_enss.md" | sed '$d' > moved.py
mkdir OUT
ln -s ../outputs/jass_enss/enja/monolingual OUT
