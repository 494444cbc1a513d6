# shellcheck shell=bash
# What a recipe takes from its user's environment: where it runs (programs on the PATH, home, GPUs, Slurm, network, caches),
# and nothing that says what it does. Sourced before anything else.
#
# The script is started again, without the variables below, in a bash (-p) that ignores BASH_ENV, exported functions,
# SHELLOPTS, BASHOPTS, CDPATH and GLOBIGNORE. What is sorted, and how numbers look, is the same in every country.

if [[ $- != *p* ]]; then
  words=$(command env -u GREP_OPTIONS grep -rohE --include='*.sh' '[A-Za-z_][A-Za-z0-9_]*' "$(dirname "$0")/.." | command env LC_ALL=C sort -u)
  words=" ${words//$'\n'/ } "
  forgotten=()
  for name in $(compgen -e); do
    case $name in
      PATH | HOME | USER | SHELL | TERM | TMPDIR | CUDA_VISIBLE_DEVICES | SLURM_?* | SRUN_?*) continue ;;
      PYTHONNOUSERSITE | PYTHONUSERBASE) continue ;;                           # where packages are
      BASH_ENV | CDPATH | SHELLOPTS | BASHOPTS | POSIXLY_CORRECT | GREP_*) ;;  # shells and tools
      PYTHON* | LANG | LANGUAGE | LC_*) ;;                                     # modules, encodings, sort order
      *_NUM_THREADS | OMP_* | GOMP_* | KMP_* | MKL_* | MALLOC_*) ;;            # threads and memory
      NVIDIA_TF32_OVERRIDE | TORCH_ALLOW_* | CUBLAS_*) ;;                      # precision
      MASTER_ADDR | MASTER_PORT | WORLD_SIZE | RANK | LOCAL_RANK | LOGLEVEL) ;; # fairseq's processes and log
      *) [[ $words == *" $name "* ]] || continue ;;                            # names of variables of the scripts
    esac
    forgotten+=(-u "$name")
  done
  for name in $(compgen -A function); do forgotten+=(-u "BASH_FUNC_$name%%"); done
  unset -v words # exported if the user exports a variable of that name, and longer than Linux passes on (128 KiB)
  exec env "${forgotten[@]}" LC_ALL=C.UTF-8 "$BASH" -p "$0" "$@"
fi
