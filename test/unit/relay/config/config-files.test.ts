import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createAuthority } from '../../../../core/identity/authority.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../core/runtime/random.ts';
import { problemText } from '../../../../core/runtime/schema-problems.ts';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { unreadableFiles as problemsOf } from '../../../../relay/config/config-files.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'banyan-config-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const unreadableFiles = (config: Parameters<typeof problemsOf>[0]) =>
  problemsOf(config).map((problem) => problemText(problem, 'the file'));
const place = (name: string) => join(folder, name);
const configOf = (more: object = {}, others: object = {}) =>
  nodeConfigSchema.parse({
    path: 'eu',
    data: place('data'),
    pki: { ca: place('ca'), cert: place('cert'), key: place('key'), ...more },
    api: {},
    mesh: {},
    ...others,
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

it('refuses a front proxy whose authority signs users or nodes too, unless the proxies are named', async () => {
  const authority = () => createAuthority('test', { clock: systemClock, random: systemRandom });
  for (const name of ['ca', 'users', 'proxies']) writeFileSync(place(name), (await authority()).certPem);
  for (const name of ['cert', 'key']) writeFileSync(place(name), '');
  const problems = (clientCA: string, allowedNames: string[] = []) =>
    unreadableFiles(
      configOf({ users: { ca: place('users') } }, { frontProxy: { clientCA: place(clientCA), allowedNames } }),
    );
  expect(problems('proxies')).toEqual([]);
  for (const [name, field] of [
    ['ca', 'pki.ca'],
    ['users', 'pki.users.ca'],
  ] as const) {
    expect(problems(name)).toEqual([
      `frontProxy.clientCA: ${place(name)} has an authority of ${field} (${place(name)}): take an authority that signs only proxies, or name the proxies in frontProxy.allowedNames`,
    ]);
    expect(problems(name, ['front'])).toEqual([]);
  }
  expect(problems('none')).toEqual([expect.stringMatching(/^frontProxy\.clientCA: .*ENOENT/)]);
});
