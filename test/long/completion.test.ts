/** Completion in real shells, and `kubectl banyan`. The paths come from the contexts of a kubeconfig, so no tree has to run. */
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubeconfig } from '../../center/supervisor/kubeconfig.ts';
import { fixture } from '../e2e/local-tree.ts';
import { kubectlProgram, withoutKubectl } from '../support/kubectl.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-completion-'));
const env = {
  ...process.env,
  PATH: [directory, process.env.PATH].join(delimiter),
  KUBECONFIG: join(directory, 'kubeconfig'),
};

beforeAll(() => {
  const names = ['node/center', 'node/eu', 'node/eu:paris', 'mailbox/eu:paris:rivoli', 'space/center/retail'];
  const contexts = names.map((name) => ({ name, url: 'https://127.0.0.1:1' }));
  writeFileSync(env.KUBECONFIG, kubeconfig(contexts, { caPem: '', certPem: '', keyPem: '' }));
  for (const name of ['banyan', 'kubectl-banyan']) {
    writeFileSync(
      join(directory, name),
      `#!/bin/sh\nexec '${process.execPath}' '${fixture('center/cli/banyan.ts')}' "$@"\n`,
    );
    chmodSync(join(directory, name), 0o755);
  }
  symlinkSync(fixture('center/cli/bin.js'), join(directory, 'kubectl_complete-banyan'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** How a test asks each shell for candidates, one a line. The functions of a shell that only work while somebody types are replaced. */
const shells = {
  bash: (line: string) => `source <(banyan completion bash)
compopt() { [[ "$*" == "-o default" ]] && echo FILES; return 0; }
COMP_LINE='${line}'; COMP_POINT=${line.length}; _banyan; printf '%s\\n' "\${COMPREPLY[@]}"`,
  zsh: (line: string) => `compdef() { : }
source <(banyan completion zsh)
_describe() { print -rl -- "\${(@P)2}" }
_files() { print FILES }
words=("\${(@s: :)\${:-${line}}}"); CURRENT=$#words; _banyan`,
  fish: (line: string) => `banyan completion fish | source
function __fish_complete_path; echo FILES; end
complete -C'${line}'`,
} as const;

describe.each(Object.entries(shells))('completion by %s', (shell, script) => {
  const isThere = spawnSync(shell, ['-c', 'exit 0']).status === 0;
  const why = isThere ? '' : ` [not run: there is no ${shell} on this machine]`;
  const typed = (line: string) => {
    const ran = spawnSync(shell, [...(shell === 'zsh' ? ['-f'] : []), '-c', script(line)], { encoding: 'utf8', env });
    return ran.stdout.split('\n').filter((one) => one !== '');
  };

  it.skipIf(!isThere)(`offers commands, values, paths and files${why}`, () => {
    expect(typed('banyan tre')).toEqual([expect.stringMatching(/^tree/)]);
    expect(typed('banyan tree -o ').sort()).toEqual(['json', 'name', 'wide', 'yaml']);
    const paths = typed('banyan tree eu:p').map((one) => one.replaceAll('\\:', ':'));
    // bash takes the colon as the end of a word.
    expect(paths.map((one) => one.replace(/^eu:/, ''))).toEqual(['paris', 'paris:rivoli']);
    expect(typed('banyan up -f ')).toEqual(['FILES']);
  });
});

describe.skipIf(withoutKubectl)(`kubectl banyan${withoutKubectl ? ` [not run: ${withoutKubectl}]` : ''}`, () => {
  const kubectl = (...args: string[]) => spawnSync(kubectlProgram, args, { encoding: 'utf8', env });

  it('is the same program, with the same exit codes', () => {
    expect(kubectl('banyan', 'version', '--client')).toMatchObject({
      status: 0,
      stdout: expect.stringMatching(/^client /),
    });
    expect(kubectl('banyan', 'tree', 'a::b')).toMatchObject({ status: 2, stderr: expect.stringContaining('"a::b"') });
  });

  it('is completed by kubectl', () => {
    const { stdout } = kubectl('__complete', 'banyan', 'tree', 'eu:p');
    expect(stdout).toBe('eu:paris\neu:paris:rivoli\n:4\n');
  });
});
