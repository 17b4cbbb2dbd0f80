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
  [
    'text',
    'root:x:0:0',
    /no kubeconfig of a tree: the file must be a map.* --data, or its kubeconfig with --kubeconfig/,
  ],
  ['nothing', '', /no kubeconfig of a tree: the file is empty/],
  ['no YAML', '{', /can't be read as a kubeconfig/],
  ['an empty kubeconfig', '{clusters: [], users: [], contexts: []}', /clusters is an empty list; write at least 1/],
  [
    'one with a token',
    '{clusters: [{name: a, cluster: {server: "https://a"}}], users: [{name: b, user: {token: x}}], contexts: []}',
    /clusters\[0\]\.cluster\.certificate-authority-data is missing/,
  ],
])('names the error of %s, and never shows its content', (_, text, message) => {
  expect(() => clientOf(text)).toThrow(message);
  expect(() => clientOf(text)).not.toThrow(/root:x/);
});

it('explains how to start a tree if the file does not exist', () => {
  expect(() => new NodeApiClient(join(directory, 'none'))).toThrow(
    /no kubeconfig at .*none: start a tree with: .* up -f/,
  );
});

it('suggests the most similar context for an unknown one', async () => {
  const client = clientOf(kubeconfig([{ name: 'space/center/retail', url: 'https://[::1]:1' }], user));
  await expect(client.get('space/center/retai', '/')).rejects.toThrow(
    'the kubeconfig has no context "space/center/retai": did you mean "space/center/retail"?',
  );
});
