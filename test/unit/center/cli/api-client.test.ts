import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { NodeApiClient } from '../../../../center/cli/api-client.ts';
import { kubeconfig } from '../../../../center/supervisor/kubeconfig.ts';

const directory = mkdtempSync(join(tmpdir(), 'banyan-kubeconfig-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function clientOf(text: string): NodeApiClient {
  const file = join(directory, 'kubeconfig');
  writeFileSync(file, text);
  return new NodeApiClient(file);
}

const user = { caPem: 'ca', certPem: '', keyPem: '' };

it.each([
  ['text', 'root:x:0:0', /not a kubeconfig: the file must be a map/],
  ['nothing', '', /not a kubeconfig: the file is empty/],
  ['no YAML', '{', /not a kubeconfig/],
  [
    'deep text',
    '['.repeat(3_000_000),
    /kubeconfig: not a kubeconfig: the file is nested more than 500 levels deep: .* \(line 1\)$/,
  ],
  [
    'broken YAML with a token',
    'users:\n- {name: a, user: {token: root:x\n- b: [',
    /not a kubeconfig: not YAML: .* \(line 3\)$/,
  ],
  ['a user without a name', '{users: [{user: {token: x}}]}', /not a kubeconfig: users\[0\]\.name is missing/],
])('names the error of %s, and never shows its content', (_, text, message) => {
  expect(() => clientOf(text)).toThrow(message);
  expect(() => clientOf(text)).not.toThrow(/root:x/);
});

it('suggests the most similar context for an unknown one', async () => {
  const client = clientOf(kubeconfig([{ name: 'space/center/retail', url: 'https://[::1]:1' }], user));
  await expect(client.get('space/center/retai', '/')).rejects.toThrow(
    'the kubeconfig has no context "space/center/retai": did you mean "space/center/retail"?',
  );
});
