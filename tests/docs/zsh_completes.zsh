# zsh_completes.zsh FOLDER LINE...: what a zsh with the functions in FOLDER makes of each line when tab is pressed, a line each.
emulate -L zsh
zmodload zsh/zpty || exit 77
folder=$1
shift

# In that shell a key shows the line that is being written, between marks that nothing else prints.
setup=$(mktemp)
trap 'rm -f $setup' EXIT
cat >$setup <<SETUP
PROMPT= RPROMPT= LISTMAX=1000
fpath=(${(q)folder} \$fpath)
autoload -Uz compinit
compinit -u -D
show-line() { zle -I; print -r -- "<""<\$BUFFER>"">"; BUFFER= }
zle -N show-line
bindkey '^X' show-line
bindkey '^I' complete-word
print -r -- "set ""up"
SETUP

# said PATTERN: what it writes until this has been seen.
said() {
  zpty -r -m shell text $1
  [[ $text == ${~1} ]] || { print -r -- "no $1 in: ${(V)text}" >&2; exit 1 }
}
zpty shell zsh -f -i
zpty -w shell "source $setup"
said '*set up*'
for line in "$@"; do
  zpty -w -n shell $line$'\t'$'\x18'
  said '*<<*>>*'
  print -r -- ${${text##*<<}%%>>*}
done
zpty -d shell
