import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { cliCommand, shellWord } from '../../../../core/runtime/cli-command.ts';

it('is a command that runs in a checkout, as this test does', () => {
  expect(cliCommand('tree', '--data', '/var/lib/banyan')).toBe('npm exec -- banyan tree --data /var/lib/banyan');
});

it.each(['/tmp/my trees', "it's", '$HOME', '{.status}', '', 'eu:paris~1'])(
  'passes %j to a shell as one word',
  (text) => {
    const { stdout } = spawnSync('sh', ['-c', `printf %s ${shellWord(text)}`], { encoding: 'utf8' });
    expect(stdout).toBe(text);
  },
);
