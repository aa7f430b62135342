# Completion of the options of tp's tools in bash: they are read from --help.
# Installed where bash-completion looks for it; else `source` it.

_tp_options() {
  local word=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  # What does not start with a dash is a file.
  [[ $word == -* ]] || return 0
  local options
  options=$("$1" --help 2> /dev/null | grep -oE -- '--[a-z][a-z0-9-]*=?' | sort -u)
  mapfile -t COMPREPLY < <(compgen -W "$options" -- "$word")
  # A value follows at once.
  [[ ${COMPREPLY[0]:-} != *= ]] || compopt -o nospace 2> /dev/null || true
}
complete -o default -F _tp_options tp-compile tp-opt tp-reduce tp-run
