# two raters have saved their scores
for rater in anna ben; do
  { echo item,adequacy,fluency && tail -n +2 sheet/key.csv | cut -d, -f1 | sed 's/$/,4,5/'; } > "$rater.csv"
done
