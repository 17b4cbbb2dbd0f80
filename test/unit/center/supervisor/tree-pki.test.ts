import { X509Certificate } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DataDirectory } from '../../../../center/supervisor/data-directory.ts';
import { ensureTreePki } from '../../../../center/supervisor/tree-pki.ts';
import { parseTopology } from '../../../../center/topology/parse.ts';
import { planOf } from '../../../../center/topology/plan.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';

const root = mkdtempSync(join(tmpdir(), 'banyan-pki-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

async function certificateOf(host: string): Promise<X509Certificate> {
  const parsed = parseTopology(`apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: { name: hosts }
spec:
  center: { listen: { host: "${host}" } }
`);
  if ('problems' in parsed) throw new Error(JSON.stringify(parsed.problems));
  const data = new DataDirectory(root);
  mkdirSync(data.pki, { recursive: true });
  const pki = await ensureTreePki(data, 'hosts', planOf(parsed.topology), new VirtualClock(Date.UTC(2030, 0, 1)));
  return new X509Certificate(readFileSync(pki.nodeFiles('').cert));
}

it('makes a new certificate when a node gets another host to listen on, and keeps a fitting one', async () => {
  const [first, again] = [await certificateOf('127.0.0.1'), await certificateOf('127.0.0.1')];
  expect(again.fingerprint256).toBe(first.fingerprint256);
  const other = await certificateOf('::1');
  expect([first.checkIP('::1'), other.checkIP('::1')]).toEqual([undefined, '::1']);
});
