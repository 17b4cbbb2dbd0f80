import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { unreadableFiles } from '../../../../relay/config/config-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const place = (name: string) => join(folder, name);
const configOf = (more: object = {}) =>
  nodeConfigSchema.parse({
    path: 'eu',
    data: place('data'),
    pki: { ca: place('ca'), cert: place('cert'), key: place('key'), ...more },
    api: {},
    mesh: {},
  });

it('names each missing file of a node’s configuration, with its field', () => {
  writeFileSync(place('ca'), '');
  writeFileSync(place('key'), '');
  const issuer = { cert: place('issuer'), key: place('key') };
  expect(unreadableFiles(configOf({ issuer }))).toEqual([
    `pki.cert: ${place('cert')}: can't be read: ENOENT: no such file or directory, open '${place('cert')}'`,
    `pki.issuer.cert: ${place('issuer')}: can't be read: ENOENT: no such file or directory, open '${place('issuer')}'`,
  ]);
});

it('does not mention existing files, or files that nobody names', () => {
  for (const name of ['ca', 'cert', 'key']) writeFileSync(place(name), '');
  expect(unreadableFiles(configOf())).toEqual([]);
});
