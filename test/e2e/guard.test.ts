import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { withoutKubectl } from '../support/kubectl.ts';
import { banyan, LocalTree, until } from './local-tree.ts';
import { placedInProduction } from './placements.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';

interface Node {
  spec?: { path?: string };
  status?: {
    held?: { entries: number; token: string };
    conditions?: { type: string; status: string; message: string }[];
  };
}

/** A namespace with objects and a placement that sends it everywhere. */
function workload(name: string, objects: readonly string[]): object {
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name } };
  const placement = placedInProduction(name);
  return {
    apiVersion: 'v1',
    kind: 'List',
    items: [namespace, placement, ...objects.map((one) => map(name, one, 'first'))],
  };
}

/** A place without an agent, which only this relay's store has. */
const vault = [
  { kind: 'SyncTarget', metadata: { name: 'vault' }, spec: {} },
  {
    kind: 'Location',
    metadata: { name: 'vault', labels: { tier: 'vault' } },
    spec: { instanceSelector: { matchLabels: { 'banyan.io/name': 'vault' } } },
  },
].map((object) => ({ apiVersion: 'inventory.banyan.io/v1alpha1', ...object }));

function map(namespace: string, name: string, text: string): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { text } };
}

describe.skipIf(withoutKubectl)(`a tree in which a node loses its store${why}`, () => {
  const tree = new LocalTree('test/e2e/guard-topology.yaml');
  const store = (node: string) => join(tree.data, 'nodes', node);
  const copy = (node: string) => join(tree.data, 'copies', node);
  const text = (cluster: string, namespace: string, name: string) =>
    tree.json<{ data: { text: string } }>(`cluster/${cluster}`, 'configmap', name, '-n', namespace)?.data.text;
  const everywhere = (namespace: string, name: string) =>
    (namespace === 'till' ? ['eu:shop', 'hq'] : ['eu:shop']).map((cluster) => text(cluster, namespace, name));
  const nodes = (context: string) =>
    JSON.parse(tree.ok(context, 'get', 'nodes.mesh.banyan.io', '-o', 'json')) as { items: Node[] };
  const node = (context: string, path: string) => nodes(context).items.find(({ spec }) => (spec?.path ?? '') === path);
  const condition = (context: string, path: string, type: string) =>
    node(context, path)?.status?.conditions?.find((one) => one.type === type)?.status;

  beforeAll(async () => {
    await tree.up('--no-restart');
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify(workload('till', ['old', 'kept'])));
    tree.kubectl('space/eu/ops', ['apply', '-f', '-'], JSON.stringify(workload('ops', ['old', 'kept'])));
    await until('the first objects are there', () =>
      [...everywhere('till', 'kept'), ...everywhere('ops', 'kept')].every((one) => one === 'first'),
    );
    await tree.down();
    for (const name of ['center', 'eu']) cpSync(store(name), copy(name), { recursive: true });
    await tree.up('--no-restart');
    for (const [space, namespace] of [
      ['center/retail', 'till'],
      ['eu/ops', 'ops'],
    ] as const) {
      for (const [name, value] of [
        ['kept', 'second'],
        ['later', 'first'],
      ] as const)
        tree.apply(`space/${space}`, map(namespace, name, value));
    }
    await until(
      'what came after the copy is there',
      () =>
        [
          ...everywhere('till', 'later'),
          ...everywhere('ops', 'later'),
          ...everywhere('till', 'kept'),
          ...everywhere('ops', 'kept'),
        ].every((one) => one !== undefined && one !== 'x') &&
        everywhere('till', 'kept').every((one) => one === 'second') &&
        everywhere('ops', 'kept').every((one) => one === 'second'),
    );
    await tree.down();
  });
  afterAll(() => tree[Symbol.asyncDispose]());

  it('keeps everywhere the objects that a restored center does not know, and reports them', async () => {
    rmSync(store('center'), { recursive: true });
    cpSync(copy('center'), store('center'), { recursive: true });
    await tree.up('--no-restart');
    await until('the center knows what it has lost', () => condition('node/center', '', 'StoreRolledBack') === 'True');
    await until('eu and hq hold it', () =>
      ['eu', 'hq'].every((path) => condition('node/center', path, 'DeletionHeld') === 'True'),
    );
    expect(everywhere('till', 'later')).toEqual(['first', 'first']);
    expect(everywhere('till', 'kept')).toEqual(['second', 'second']);
    const shown = banyan('tree', '--data', tree.data).out;
    expect(shown).toMatch(/center .*StoreRolledBack: center\.retail had \d+, \d+ seen below/);
    expect(shown).toMatch(/hq .*DeletionHeld: \d+ entries/);
  });

  it('accepts new writes to objects of which the center has an older form', () => {
    tree.apply('space/center/retail', map('till', 'kept', 'third'));
    return until('the third is everywhere', () => everywhere('till', 'kept').every((one) => one === 'third'));
  });

  it('releases rows by itself when the center has them again, and the other rows on approval', async () => {
    tree.apply('space/center/retail', map('till', 'later', 'again'));
    await until('it is held no longer', () => node('node/eu', 'eu')?.status?.held === undefined);
    await until('both have it', () => everywhere('till', 'later').every((one) => one === 'again'));
    await until('nor at the other', () => condition('node/center', 'hq', 'DeletionHeld') === 'False');
    expect(banyan('approve-deletions', 'center', '--dry-run', '--data', tree.data).out).toContain(
      'center.retail was emptied or restored from an older copy',
    );
    expect(condition('node/center', '', 'StoreRolledBack')).toBe('True');
    expect(banyan('approve-deletions', 'center', '--data', tree.data).out).toContain('deletions approved');
    expect(condition('node/center', '', 'StoreRolledBack')).toBe('False');
    expect(tree.ok('node/center', 'get', 'events', '-o', 'jsonpath={.items[*].reason}')).toContain('StoreRolledBack');
    await tree.down();
  });

  it('keeps everything when the center is emptied, on deeper levels too, until a person approves', async () => {
    rmSync(store('center'), { recursive: true });
    await tree.up('--no-restart');
    await until('all is held', () =>
      ['eu', 'hq'].every((path) => condition('node/center', path, 'DeletionHeld') === 'True'),
    );
    expect(everywhere('till', 'kept')).toEqual(['third', 'third']);
    expect(banyan('approve-deletions', 'hq', '--dry-run', '--data', tree.data).out).toMatch(
      /hq: \d+ entries are held since/,
    );
    expect(everywhere('till', 'kept')).toEqual(['third', 'third']);
    expect(banyan('approve-deletions', 'hq', '--data', tree.data).out).toContain('deletions approved');
    await until('hq alone has let go', () => everywhere('till', 'kept')[1] === undefined);
    expect(everywhere('till', 'kept')[0]).toBe('third');
    await tree.down();
  });

  it('keeps below a relay the objects that the relay has lost of its own space, while the objects from above come back', async () => {
    const uid = () =>
      tree.json<{ metadata: { uid: string } }>('cluster/eu:shop', 'configmap', 'a', '-n', 'young')?.metadata.uid;
    await tree.up('--no-restart');
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify(workload('young', ['a'])));
    await until('it is there', () => uid() !== undefined);
    const before = uid();
    await tree.down();
    rmSync(store('eu'), { recursive: true });
    cpSync(copy('eu'), store('eu'), { recursive: true });
    await tree.up('--no-restart');
    await until('its agent holds it', () => condition('node/eu', 'eu:shop', 'DeletionHeld') === 'True');
    await until('the relay and those above know', () =>
      ['node/eu', 'node/center'].every((context) => condition(context, 'eu', 'StoreRolledBack') === 'True'),
    );
    expect(everywhere('ops', 'later')).toEqual(['first']);
    expect(everywhere('ops', 'kept')).toEqual(['second']);
    tree.apply('space/eu/ops', map('ops', 'kept', 'third'));
    await until('a new write goes through', () => everywhere('ops', 'kept')[0] === 'third');
    const { token } = node('node/eu', 'eu:shop')!.status!.held!;
    tree.ok(
      'node/eu',
      'patch',
      'nodes.mesh.banyan.io',
      'eu.shop',
      '--type=merge',
      '-p',
      JSON.stringify({ spec: { approveHeldDeletions: token } }),
    );
    await until('what was lost is gone', () => everywhere('ops', 'later')[0] === undefined);
    expect(everywhere('ops', 'old')).toEqual(['first']);
    expect(uid()).toBe(before);
  });

  it('keeps objects that were deleted in bulk while a relay lost its store, until a person approves', async () => {
    const names = Array.from({ length: 80 }, (_, i) => `bulk-${i}`);
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify(workload('bulk', names)));
    const there = () => tree.ok('cluster/eu:shop', 'get', 'cm', '-n', 'bulk', '-o', 'name').split('bulk-').length - 1;
    await until('all are there', () => there() === names.length);
    const things = { metadata: { labels: { 'banyan.io/name': 'vault' } } };
    for (const object of vault)
      tree.apply('node/eu', { ...object, metadata: { ...things.metadata, ...object.metadata } });
    const stored = workload('vault', names) as { items: { kind: string; spec?: object }[] };
    const items = stored.items.map((item) =>
      item.kind === 'EdgePlacement'
        ? { ...item, spec: { ...item.spec, locationSelectors: [{ matchLabels: { tier: 'vault' } }] } }
        : item,
    );
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify({ ...stored, items }));
    const mailbox = () =>
      tree.json<{ status: { entries: number; held?: { entries: number } } }>('node/center', 'mailbox', 'eu')!.status;
    await until('the relay has what is for its vault', () => mailbox().entries > 2 * names.length);
    tree.kill('eu');
    tree.ok('space/center/retail', 'delete', 'cm', '-n', 'bulk', '--all', '--wait=false');
    await tree.down();
    rmSync(store('eu'), { recursive: true });
    await tree.up('--no-restart');
    await until('they are held', () => (node('node/eu', 'eu:shop')?.status?.held?.entries ?? 0) >= names.length);
    expect(there()).toBe(names.length);
    expect(banyan('approve-deletions', 'eu:shop', '--data', tree.data).out).toContain('deletions approved');
    await until('they are gone', () => there() === 0);
    // The relay's own inventory is lost too: the center's entries for it stay in the mailbox.
    expect(mailbox().held?.entries).toBe(names.length + 1);
    expect(mailbox().entries).toBeGreaterThan(names.length);
    expect(banyan('tree', '--data', tree.data).out).toMatch(/eu .*DeletionHeld: 81 entries in its mailbox/);
    expect(banyan('approve-deletions', 'eu', '--data', tree.data).out).toMatch(
      /fewer Locations.*center\.retail\/vault\ndeletions approved/s,
    );
    await until('it goes', () => mailbox().held === undefined && mailbox().entries < names.length);
  });

  it('keeps everything below when the center and a relay lose their stores at once, even if it is little', async () => {
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify(workload('both', ['a', 'b'])));
    const there = () => ['a', 'b'].flatMap((name) => ['eu:shop', 'hq'].map((cluster) => text(cluster, 'both', name)));
    await until('all are there', () => there().every((one) => one === 'first'));
    await tree.down();
    for (const name of ['center', 'eu']) rmSync(store(name), { recursive: true });
    await tree.up('--no-restart');
    await until(
      'both agents hold them',
      () =>
        condition('node/center', 'hq', 'DeletionHeld') === 'True' &&
        condition('node/eu', 'eu:shop', 'DeletionHeld') === 'True',
    );
    expect(there()).toEqual(['first', 'first', 'first', 'first']);
    expect(banyan('approve-deletions', 'eu:shop', '--data', tree.data).out).toContain('deletions approved');
    await until('the one that was told has let go', () => text('eu:shop', 'both', 'a') === undefined);
    expect(text('hq', 'both', 'a')).toBe('first');
  });
});
