# shellcheck shell=bash
# What a recipe takes from its user's environment: where it runs (programs on the PATH, home, GPUs, Slurm, network, caches),
# and nothing that says what it does. Sourced before anything else.
#
# The script is started again, without the variables below, in a bash (-p) that ignores BASH_ENV, exported functions,
# SHELLOPTS, BASHOPTS, CDPATH and GLOBIGNORE. What is sorted, and how numbers look, is the same in every country.

if [[ $- != *p* ]]; then
  declare -A used=() # names of the environment that are words of the scripts
  for name in $(command env -u GREP_OPTIONS LC_ALL=C grep -rohwF --include='*.sh' -f <(compgen -e) "$(dirname "$0")/.."); do
    used[$name]=yes
  done
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
      *) [[ -n ${used[$name]:-} ]] || continue ;;                              # names of variables of the scripts
    esac
    forgotten+=(-u "$name")
  done
  for name in $(compgen -A function); do forgotten+=(-u "BASH_FUNC_$name%%"); done
  exec env "${forgotten[@]}" LC_ALL=C.UTF-8 "$BASH" -p "$0" "$@"
fi
