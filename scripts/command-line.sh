# For scripts: `. command-line.sh`, then
#
#   command_line MOST [OPTION...] -- "$@"
#
# prints the comment at the top of the script and ends where --help is among the
# words; refuses options other than those, and more than MOST other words, with
# exit status 2.

usage() {
  sed -n '2,/^[^#]/{/^#/!q;s/^# \{0,1\}//p;}' "$0"
}

refuse() {
  echo "$(basename "$0"): error: $1" >&2
  usage >&2
  exit 2
}

command_line() {
  most=$1
  known=
  shift
  while [ "$1" != -- ]; do
    known="$known $1 "
    shift
  done
  shift
  others=0
  for word in "$@"; do
    case "$word" in
      -h | --help)
        usage
        exit 0
        ;;
      -*)
        case "$known" in
          *" $word "*) ;;
          *) refuse "unknown option '$word'" ;;
        esac
        ;;
      *) others=$((others + 1)) ;;
    esac
  done
  [ "$others" -le "$most" ] ||
    refuse "expected at most $most words, got $others"
}
