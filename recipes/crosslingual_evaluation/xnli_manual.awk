# XNLI Manual (4.1): XNLI's human translations, development and test set of every language one after the other, in three parts of 8:1:1.
# A part has the same lines of all languages, drawn once; each language's lines are counted in its own order.
#
#     awk -v output=DIR -f xnli_manual.awk xnli.dev.tsv xnli.test.tsv
#
# writes DIR/train.unfinished, valid.unfinished and test.unfinished, with the columns of the files.

BEGIN { FS = "\t" }

FNR == 1 {
  if (NR == 1) header = $0
  if ($0 != header || $1 != "language" || $2 != "gold_label") fail(FILENAME ": other columns than language, gold_label, ..., the same in both files")
  next
}

{
  if (!($1 in count)) languages[++known] = $1
  number = ++count[$1]
  line[$1, number] = $0
  if ($1 == languages[1]) label[number] = $2
  else if (label[number] != $2) fail(FILENAME ":" FNR ": label " $2 ", but of line " number " of " languages[1] " " label[number] "; expected the same lines in all languages")
}

END {
  if (failed) exit 2
  lines = count[languages[1]]
  if (lines < 10) fail("found " lines + 0 " lines of a language, expected 10 or more")
  for (i = 1; i <= known; i++)
    if (count[languages[i]] != lines) fail("found " count[languages[i]] " lines of " languages[i] ", but " lines " of " languages[1])
  if (failed) exit 2
  held_out = int(lines / 10)
  draw(lines)
  for (i = 1; i <= lines; i++) part[order[i]] = i <= held_out ? "test" : i <= 2 * held_out ? "valid" : "train"
  write("train")
  write("valid")
  write("test")
}

# A line on stderr; the script ends with status 2.
function fail(message) {
  if (!failed) print "error: " message > "/dev/stderr"
  failed = 1
  exit 2
}

# The numbers 1 to n in an order by chance, always the same one: Fisher and Yates, with Park and Miller's numbers, as awks have different ones.
function draw(n, i, j, kept) {
  for (i = 1; i <= n; i++) order[i] = i
  state = 1
  for (i = n; i > 1; i--) {
    state = state * 16807 % 2147483647
    j = 1 + state % i
    kept = order[i]
    order[i] = order[j]
    order[j] = kept
  }
}

function write(name, file, i, number) {
  file = output "/" name ".unfinished"
  print header > file
  for (i = 1; i <= known; i++)
    for (number = 1; number <= lines; number++)
      if (part[number] == name) print line[languages[i], number] > file
  close(file)
}
