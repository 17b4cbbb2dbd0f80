/** The scripts that make a shell ask `banyan complete`. */

export const shells = ['bash', 'zsh', 'fish'] as const;

export function completionScript(shell: (typeof shells)[number]): string {
  return scripts[shell];
}

/** bash splits words at colons, so the script splits the line itself, and leaves out of each candidate what bash has already. */
const bash = `# bash completion of banyan
_banyan() {
  local -a words
  local line out cur before
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}"
  [[ "\${COMP_LINE:COMP_POINT-1:1}" == " " ]] && words+=("")
  cur="\${words[\${#words[@]}-1]}"
  before="\${cur%"\${cur##*[:=]}"}"
  COMPREPLY=()
  out="$("\${words[0]}" complete -- "\${words[@]:1}" 2>/dev/null)"
  while IFS= read -r line; do
    case "$line" in
      :0) compopt -o default ;;
      :4) ;;
      *) line="\${line%%$'\\t'*}"; COMPREPLY+=("\${line#"$before"}") ;;
    esac
  done <<< "$out"
  [[ "\${COMPREPLY[*]}" == */ ]] && compopt -o nospace
  return 0
}
complete -F _banyan banyan kubectl-banyan`;

const zsh = `#compdef banyan kubectl-banyan
# zsh completion of banyan
_banyan() {
  local -a lines candidates
  local line
  lines=("\${(@f)$("\${words[1]}" complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  for line in "\${(@)lines[1,-2]}"; do
    candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}\${\${(M)line#*$'\\t'}:+:\${line#*$'\\t'}}")
  done
  _describe banyan candidates
  [[ "\${lines[-1]}" == ":0" ]] && _files
  return 0
}
compdef _banyan banyan kubectl-banyan`;

const fish = `# fish completion of banyan
function __banyan_complete
  set -l words (commandline -opc)
  set -l lines ($words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
  test (count $lines) -gt 1; and printf '%s\\n' $lines[1..-2]
  test "$lines[-1]" = ":0"; and __fish_complete_path (commandline -ct)
end
complete -c banyan -f -a '(__banyan_complete)'
complete -c kubectl-banyan -f -a '(__banyan_complete)'`;

const scripts: Readonly<Record<(typeof shells)[number], string>> = { bash, zsh, fish };
