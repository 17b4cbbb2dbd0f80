/**
 * A thief with the key of a relay (test/protocol speaks the protocol): claims labels, properties and a path that the relay does not have, reports objects that
 * nobody asked for, and floods its parent. The thief gets nothing that was not meant for the relay, and the other nodes do not notice.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { issueNode } from '../../core/identity/authority.ts';
import { systemClock } from '../../core/runtime/clock.ts';
import { systemRandom } from '../../core/runtime/random.ts';
import { Kept, Outsider, type Place } from '../protocol/outsider.ts';
import { LocalTree, until } from './local-tree.ts';

const tree = new LocalTree('test/e2e/claims-topology.yaml');
const kept = new Kept();
let thief: Outsider;
let place: Place;

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly message: string;
}
interface Shown {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly refused?: { readonly count: number; readonly sample: readonly string[] };
    readonly summary?: Readonly<Record<string, number>>;
    readonly session?: { readonly state: string };
  };
}
const node = (name: string) => tree.json<Shown>('node/center', 'nodes.mesh.banyan.io', name)?.status;
const condition = (type: string, name = 'eu') => node(name)?.conditions?.find((one) => one.type === type);
const summary = (placement: string) =>
  tree.json<Shown>('space/center/retail', 'edgeplacement', placement)?.status?.summary;

const configMap = (namespace: string, name: string) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace },
  data: { value: 'x' },
});

function placement(name: string, where: object, more: object = {}): void {
  const applied = tree.apply('space/center/retail', {
    apiVersion: 'edge.banyan.io/v1alpha1',
    kind: 'EdgePlacement',
    metadata: { name },
    spec: { ...where, downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: [name] }], ...more },
  });
  expect(applied.code, applied.out).toBe(0);
}

/** Everything that the thief has received in all sessions so far. A row that was taken away again was received too. */
const received = new Set<string>();
function look(): string[] {
  for (const { key } of kept.rows.values()) received.add(key);
  return [...received];
}

async function attach(): Promise<void> {
  thief = new Outsider(kept, place);
  await thief.attach();
  await until('the thief is attached', () => thief.caughtUp || thief.refused !== '' || thief.ended !== undefined, 30);
  expect([thief.refused, thief.ended]).toEqual(['', undefined]);
}

/** While kubectl runs, this process sends no beats. On a busy machine, the parent then ends the session, and the thief comes back. */
async function untilAtThief(what: string, holds: () => boolean, begin = () => {}): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    begin();
    await until(what, () => holds() || thief.ended !== undefined);
    if (holds() || attempt === attemptsMax) return expect(holds(), what).toBe(true);
    await attach();
  }
}

async function push(): Promise<void> {
  await untilAtThief(
    'the parent has the reports',
    () => thief.acknowledged === kept.head,
    () => thief.push(),
  );
}

const attemptsMax = 5;
/** A batch has at most 512 entries. */
const batch = 500;
const up = (namespace: string, name: string) => `up/center.retail/eu:till//configmaps/${namespace}/${name}`;

/** An object as agents report it: canonical, so its metadata comes first. */
function reportFound(namespace: string, name: string, refs: string[]): void {
  const { metadata, ...rest } = configMap(namespace, name);
  kept.report(up(namespace, name), { refs, namespaced: true, returnTo: 'Parent' }, { metadata, ...rest });
}

beforeAll(async () => {
  await tree.up('--no-restart');
  for (const name of ['open', 'secret', 'watched', 'hidden'])
    tree.ok('space/center/retail', 'create', 'namespace', name);
  placement(
    'open',
    { locationSelectors: [{ matchLabels: { env: 'prod' } }] },
    { upsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['found'] }] },
  );
  placement('secret', { locationSelectors: [{ matchLabels: { clearance: 'top' } }] });
  placement('watched', { locationSelectors: [{}], locationExpression: 'properties["threat.level"] == "low"' });
  placement('hidden', { locationSelectors: [{}], locationExpression: 'path == "us:vault"' });
  for (const name of ['open', 'secret', 'watched', 'hidden'])
    expect(tree.apply('space/center/retail', configMap(name, 'code')).code).toBe(0);
  await until(
    'the honest tree has everything',
    () => summary('open')?.available === 3 && summary('secret')?.available === 1,
  );
  expect(summary('watched')).toMatchObject({ expected: 1, available: 1 });
  expect(summary('hidden')).toMatchObject({ expected: 1, available: 1 });
  const ports = JSON.parse(readFileSync(join(tree.data, 'ports.json'), 'utf8')) as Record<string, { mesh: number }>;
  const pki = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
  place = {
    address: `127.0.0.1:${ports['']!.mesh}`,
    path: 'eu',
    role: 'relay',
    identity: { ca: pki('ca.crt'), cert: pki('eu.crt'), key: pki('eu.key') },
  };
});

afterAll(() => tree[Symbol.asyncDispose]());

describe('the honest tree', () => {
  it('claims only what it may claim', () => {
    for (const name of ['eu', 'asia', 'us']) {
      for (const type of ['ClaimsRefused', 'QuotaExceeded', 'EntriesQuarantined'])
        expect(condition(type, name)).toBeUndefined();
    }
  });

  it('matches labels that a person gives a Location at a relay, and that no other part of the tree has', async () => {
    placement('paint', { locationSelectors: [{ matchLabels: { colour: 'red' } }] });
    tree.ok('node/eu', 'label', 'location', 'till', 'colour=red');
    await until('the center matches the label', () => summary('paint')?.expected === 1);
  });

  it('matches no label beyond the claims that the topology writes, until the Node object allows it', async () => {
    placement('stage', { locationSelectors: [{ matchLabels: { env: 'stage' } }] });
    tree.ok('node/asia', 'label', 'location', 'kiosk', 'env=stage', '--overwrite');
    await until('the refusal is shown', () => condition('ClaimsRefused', 'asia')?.status === 'True');
    expect(condition('ClaimsRefused', 'asia')?.message).toContain('label env=stage');
    expect(summary('stage')?.expected ?? 0).toBe(0);
    const claims = { labels: { env: ['stage'] } };
    tree.ok('node/center', 'patch', 'mn', 'asia', '--type=merge', '-p', JSON.stringify({ spec: { claims } }));
    await until('the label matches', () => summary('stage')?.expected === 1);
    await until('the refusal is over', () => condition('ClaimsRefused', 'asia')?.status === 'False');
  });

  it('refuses claims that no node would read, and says what to write', () => {
    const patch = (name: string, spec: object) =>
      tree.kubectl('node/center', ['patch', 'mn', name, '--type=merge', '-p', JSON.stringify({ spec })]);
    expect(patch('center', { claims: { labels: {} } }).out).toContain('it counts only at the parent of a node');
    expect(patch('eu', { claims: { labels: { 'tree.banyan.io/1': ['us'] } } }).out).toContain(
      'come from the certificate of the node: leave the key out',
    );
    expect(patch('eu', { claims: { labels: { env: ['no value!'] } } }).out).toContain('write "*" for any value');
    expect(patch('eu', { quota: { entries: 0 } }).code).not.toBe(0);
  });
});

describe('a thief with the key of a relay', () => {
  it('gets nothing that was placed elsewhere, whatever it claims', async () => {
    tree.kill('eu');
    await until('the relay is gone', () => node('eu')?.session?.state === 'Disconnected');
    // A thief knows how many starts the relay had: a lower number would look like a copy.
    kept.bootCounter = Math.floor(Date.now() / 1000) + 60;
    await attach();
    const lie = {
      labels: { env: 'prod', clearance: 'top', 'tree.banyan.io/1': 'us', 'tree.banyan.io/path': 'us' },
      properties: { 'threat.level': 'low' },
      targetLabels: { clearance: 'top' },
    };
    kept.report('labels', { leaves: 1, sets: [{ ...lie, leaves: 1 }] });
    await push();
    await untilAtThief('the refusal is shown', () => condition('ClaimsRefused')?.status === 'True');
    expect(condition('ClaimsRefused')?.message).toContain(
      'label clearance=top, label of a SyncTarget clearance=top, label tree.banyan.io/1=us, label tree.banyan.io/path=us, property threat.level=low',
    );
    await untilAtThief('the thief has what the relay gets', () => look().includes('p/center.retail/open'));

    const unlisted = { present: 9, values: {}, complete: false };
    const vague = { clearance: unlisted, env: unlisted, 'tree.banyan.io/path': unlisted };
    for (const summary of [
      { leaves: 9, keys: { clearance: { present: 9, values: { top: 9 }, complete: true } } },
      { leaves: 9, keys: vague },
      { leaves: 9, keys: {}, moreKeys: true },
      { leaves: 9, keys: vague, properties: { 'threat.level': unlisted }, targetLabels: vague, moreKeys: true },
    ]) {
      kept.report('labels', summary);
      await push();
      // The center has matched the summary when a placement of everywhere, which it makes now, has arrived.
      const name = `mark-${kept.head}`;
      placement(name, { locationSelectors: [{}] });
      await untilAtThief('the thief has the newest placement', () => look().includes(`p/center.retail/${name}`));
    }
    for (const name of ['secret', 'watched', 'hidden'])
      expect(
        look().filter((key) => key.includes(name)),
        name,
      ).toEqual([]);
  });

  it('is believed only about objects that it was asked for', async () => {
    kept.report('labels', { leaves: 1, sets: [{ labels: { env: 'prod' }, leaves: 1 }] });
    reportFound('found', 'asked', ['open']);
    reportFound('elsewhere', 'unasked', ['open']);
    reportFound('found', 'stranger', ['secret']);
    await push();
    await untilAtThief('both are refused', () => node('eu')?.refused?.count === 2);
    expect(node('eu')?.refused?.sample.join('\n')).toContain('no rule of spec.upsync asks for the object');
    expect(thief.ended).toBeUndefined();
    const rules = (namespaces: string[]) =>
      tree.ok(
        'space/center/retail',
        'patch',
        'epl',
        'open',
        '--type=merge',
        '-p',
        JSON.stringify({ spec: { upsync: [{ apiGroup: '', resources: ['configmaps'], namespaces }] } }),
      );
    rules(['found', 'elsewhere']);
    await untilAtThief('the row is believed when it is asked for', () => node('eu')?.refused?.count === 1);
    for (const name of ['unasked', 'stranger']) kept.withdraw(up(name === 'unasked' ? 'elsewhere' : 'found', name));
    await push();
    expect(thief.ended).toBeUndefined();
    await untilAtThief('nothing is refused', () => condition('EntriesQuarantined')?.status === 'False');
  });

  it('floods its parent no further than its quota, and is heard again when there is room', async () => {
    const entries = kept.reported.size + 20;
    tree.ok('node/center', 'patch', 'mn', 'eu', '--type=merge', '-p', JSON.stringify({ spec: { quota: { entries } } }));
    for (let i = 0; i < 2_000; i++) {
      reportFound('found', `flood-${i}`, ['open']);
      if (i % batch === 0) await push();
    }
    await push();
    await untilAtThief(
      'the refusals are shown',
      () => condition('QuotaExceeded')?.message.includes('has refused 1980') === true,
    );
    expect(condition('QuotaExceeded')?.status).toBe('True');
    thief.beat();
    kept.report('node/eu', { role: 'relay', version: 'stolen' });
    await push();
    expect(thief.ended).toBeUndefined();

    for (let i = 0; i < 1_990; i++) {
      kept.withdraw(up('found', `flood-${i}`));
      if (i % batch === 0) await push();
    }
    await push();
    thief.beat();
    await until('the session ends, because there is room again', () => thief.ended !== undefined);
    await attach();
    await untilAtThief('the rest is there', () => condition('QuotaExceeded')?.status === 'False');
    expect(node('eu')?.conditions?.find(({ type }) => type === 'FeedDiverged')?.status ?? 'False').toBe('False');
  });

  it('leaves its siblings alone', () => {
    expect(summary('secret')).toMatchObject({ expected: 1, fresh: 1, available: 1 });
    expect(summary('watched')).toMatchObject({ expected: 1, available: 1 });
    for (const name of ['us', 'asia']) expect(node(name)?.session?.state).toBe('Connected');
    expect(condition('ClaimsRefused', 'us')).toBeUndefined();
    // Each lie may cause a line, and no lie a line for each entry.
    const log = readdirSync(join(tree.data, 'logs')).filter((file) => file === 'center.log');
    const lines = readFileSync(join(tree.data, 'logs', log[0]!), 'utf8').split('\n');
    expect(lines.filter((line) => line.includes('"level":40') || line.includes('"warn"')).length).toBeLessThan(40);
  });
});

describe('a machine that replaces a stolen one', () => {
  it('ends the session of the thief, and is not taken for a copy', async () => {
    const read = (file: string) => readFileSync(join(tree.data, 'pki', file), 'utf8');
    const at = { address: place.address, path: 'desk' };
    const stolen = { ca: read('ca.crt'), cert: read('desk.crt'), key: read('desk.key') };
    tree.kill('desk');
    await until('the agent is gone', () => node('desk')?.session?.state === 'Disconnected');
    const loot = new Kept();
    // More starts than the honest machine has.
    loot.bootCounter += 3_600;
    const robber = new Outsider(loot, { ...at, identity: stolen });
    await robber.attach();
    await until('the thief is attached', () => robber.caughtUp || robber.refused !== '');
    expect(robber.refused).toBe('');

    const authority = { certPem: read('ca.crt'), keyPem: read('ca.key') };
    const asked = { tree: 'claims', path: 'desk', role: 'agent', hosts: ['127.0.0.1'] } as const;
    const { certPem, keyPem } = await issueNode(authority, asked, { clock: systemClock, random: systemRandom });
    const honest = new Outsider(new Kept(), { ...at, identity: { ca: stolen.ca, cert: certPem, key: keyPem } });
    await honest.attach();
    await until('the new machine is attached', () => honest.caughtUp, 5);
    await until('the session of the thief has ended', () => robber.ended !== undefined, 5);

    const again = new Outsider(loot, { ...at, identity: stolen });
    await again.attach();
    await until('the thief is refused', () => again.refused !== '', 5);
    expect(again.refused).toContain('has another key now');
    expect([honest.refused, honest.ended]).toEqual(['', undefined]);
    expect(condition('CloneRefused', 'desk')).toBeUndefined();
    honest.close();
  });
});
