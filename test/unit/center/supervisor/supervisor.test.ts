/** The supervisor with programs that do nothing: which processes run when a change and the end of the tree meet. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { DataDirectory } from '../../../../center/supervisor/data-directory.ts';
import type { TreeParts } from '../../../../center/supervisor/node-config.ts';
import { Supervisor } from '../../../../center/supervisor/supervisor.ts';
import { planOf } from '../../../../center/topology/plan.ts';
import { systemClock } from '../../../../core/runtime/clock.ts';

let data: DataDirectory;
beforeEach(() => {
  data = new DataDirectory(mkdtempSync(join(tmpdir(), 'banyan-supervisor-')));
});
afterEach(() => rmSync(data.root, { recursive: true, force: true }));

const files = { cert: '', key: '' };
const pki = {
  caFile: '',
  caPem: '',
  admin: { certPem: '', keyPem: '' },
  refusesFormer: false,
  isAuthorityDue: false,
  usersFile: '',
  tokenKeys: () => undefined,
  userSigner: files,
  nodeFiles: () => files,
  issuerFiles: () => files,
  subtreeIssuerFiles: () => files,
};
const treeWith = (labels: Record<string, string>): TreeParts => ({
  nodes: planOf({ name: 'shop', center: { labels, spaces: [] }, relays: [], clusters: [] }),
  ports: new Map([['', { host: '127.0.0.1', api: 1, mesh: 2 }]]),
  pki,
});

it('starts no process again when the tree is ended in the middle of a change', async () => {
  const program = join(data.root, 'program.mjs');
  writeFileSync(program, 'setInterval(() => {}, 1000);\n');
  const options = { data, clock: systemClock, restart: false, programOf: () => program, print() {} };
  const supervisor = new Supervisor({ ...treeWith({}), ...options });
  supervisor.start();
  expect(supervisor.pid('')).toBeDefined();
  let ended: Promise<void> | undefined;
  // A moment later, the change waits for the end of the process that it starts again.
  const endLater = () => void setImmediate(() => (ended = supervisor.end()));
  await supervisor.take(treeWith({ region: 'eu' }), endLater);
  await ended;
  const left = supervisor.pid('');
  if (left !== undefined) process.kill(left);
  expect(left).toBeUndefined();
});
