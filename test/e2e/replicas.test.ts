import { type ChildProcess, spawn } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { fixture, LocalTree, until } from './local-tree.ts';
import { People } from './people.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const clusters = ['eu:fr:paris:store-1', 'eu:fr:paris:store-2', 'eu:fr:paris:store-3', 'eu:de:store-4'];
const space = 'space/center/retail';

interface Shown {
  metadata: { uid: string; annotations?: Record<string, string> };
  status?: { summary?: Record<string, number> };
}

describe.skipIf(withoutKubectl)(`replicas in the middle and at the last hop${why}`, () => {
  const tree = new LocalTree('deploy/topologies/replicas.yaml');
  const configMapAt = (cluster: string) =>
    tree.json<Shown>(`cluster/${cluster}`, 'configmap', 'greeting', '-n', 'guestbook');
  const summary = () => tree.json<Shown>(space, 'epl', 'guestbook')?.status?.summary ?? {};
  const uids = () => clusters.map((cluster) => configMapAt(cluster)?.metadata.uid);
  const everywhere = (note: string) =>
    clusters.every((cluster) => configMapAt(cluster)?.metadata.annotations?.note === note);
  const change = (note: string) =>
    tree.ok(space, 'annotate', '--overwrite', 'cm', 'greeting', '-n', 'guestbook', `note=${note}`);
  /** The counts until all are available again: a count above the existing places would mean that two replicas count one. */
  const untilWhole = async (seen: Record<string, number>[] = []) => {
    await until('all are available, each counted once', () => {
      seen.push(summary());
      expect(seen.at(-1)!.expected ?? 0).toBeLessThanOrEqual(clusters.length);
      return seen.at(-1)!.available === clusters.length && seen.at(-1)!.expected === clusters.length;
    });
  };
  let before: (string | undefined)[] = [];

  const started: ChildProcess[] = [];
  /** Starts a killed node again, as a supervisor would. */
  const start = (file: string) => {
    const args = ['relay/main.ts', '--config', join(tree.data, 'config', `${file}.yaml`)];
    started.push(spawn(process.execPath, args, { stdio: 'ignore' }));
  };

  beforeAll(() => tree.up('--no-restart'));
  afterAll(async () => {
    for (const node of started) node.kill('SIGTERM');
    await tree[Symbol.asyncDispose]();
  });

  it('counts every cluster once, wherever it is attached', async () => {
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    await untilWhole();
    before = uids();
  });

  it('refuses at every replica, within 5 s, a user whom kubectl revokes at one of them, and warns of what replicas do not share', async () => {
    const people = new People(tree, tree.data);
    people.add('leaver');
    const asked = (node: string) => people.as('leaver', `node/${node}`, 'get', '--raw', '/version');
    const replicas = ['eu', 'eu~1', 'eu:fr', 'eu:fr:paris', 'eu:fr:paris~1'];
    expect(replicas.map((node) => asked(node).code)).toEqual([0, 0, 0, 0, 0]);
    const revocation = { apiVersion: 'mesh.banyan.io/v1alpha1', kind: 'Revocation', metadata: { name: 'leaver' } };
    const made = tree.apply('node/eu', { ...revocation, spec: { user: 'leaver' } });
    expect([made.code, made.out]).toEqual([0, expect.not.stringContaining('Warning')]);
    await until('all refuse the user', () => replicas.every((node) => asked(node).out.includes('was revoked')), 5);
    expect(asked('center').code).toBe(0);
    const account = tree.kubectl('node/eu', ['create', 'serviceaccount', 'robot', '-n', 'default']);
    expect(account.out).toContain(
      'Warning: the relay eu has 2 replicas, which share no objects: make this change at each',
    );
    expect(tree.kubectl('node/eu', ['delete', 'serviceaccount', 'robot', '-n', 'default']).out).toContain('Warning: ');
    expect(tree.kubectl('node/eu:fr', ['create', 'serviceaccount', 'robot', '-n', 'default']).out).not.toContain(
      'Warn',
    );
    tree.ok('node/eu', 'delete', 'revocation', 'leaver');
    await until('it is gone everywhere', () => replicas.every((node) => asked(node).code === 0));
  });

  it('continues with the other replicas when one replica of each level is killed', async () => {
    tree.kill('eu:fr:paris');
    tree.kill('eu');
    change('one-left');
    await until('the change is everywhere', () => everywhere('one-left'));
    await untilWhole();
    expect(uids()).toEqual(before);
  });

  it('takes back a replica with its store and one with an empty store, and its children go over to them when the others are killed', async () => {
    rmSync(join(tree.data, 'nodes', 'eu'), { recursive: true });
    start('eu');
    start('eu.fr.paris');
    const isThere = (node: string) =>
      tree.json<{ status?: { session?: { state: string } } }>('node/center', 'mn', node)?.status?.session?.state ===
      'Connected';
    await until('the emptied replica is there', () => isThere('eu'));
    await untilWhole();
    change('both-again');
    await until('the change is everywhere', () => everywhere('both-again'));
    tree.kill('eu:fr:paris~1');
    tree.kill('eu~1');
    change('the-other-left');
    await until('the change is everywhere', () => everywhere('the-other-left'));
    await untilWhole();
    expect(uids()).toEqual(before);
  });
});
