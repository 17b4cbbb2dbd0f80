import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { banyan, fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { filesWith, formsOf } from '../e2e/secret-traces.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const namespace = 'shop';
const agent = 'eu:shop';

interface Placement {
  status?: { summary?: Record<string, number>; failures?: { object?: string; reason?: string; message?: string }[] };
}
interface Node {
  status?: {
    quarantined?: { count: number; sample: string[] };
    refused?: { count: number; sample: string[] };
    session?: { state: string; since: string };
    conditions?: { type: string; status: string }[];
  };
}

function map(name: string, data: Record<string, string>): object {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data };
}

/** The processes of this tree are the product's, except for an embedded cluster and for relays that crash because of one object (poison-preload.mjs). */
describe.skipIf(withoutKubectl)(`a tree in which an object crashes an agent, or a relay${why}`, () => {
  const tree = new LocalTree('test/e2e/guard-topology.yaml');
  const before = process.env.NODE_OPTIONS;
  const summary = () => tree.json<Placement>('space/center/retail', 'edgeplacement', namespace)?.status?.summary ?? {};
  const held = (cluster: string, name: string) =>
    tree.json<{ data: Record<string, string> }>(`cluster/${cluster}`, 'configmap', name, '-n', namespace)?.data;
  const starts = () =>
    readFileSync(join(tree.data, 'logs', 'eu.shop.log'), 'utf8').split('"the agent is running"').length - 1;
  const node = () => tree.json<Node>('node/eu', 'nodes.mesh.banyan.io', agent.replaceAll(':', '.'))?.status;

  beforeAll(async () => {
    process.env.NODE_OPTIONS = `--import ${pathToFileURL(fixture('test/e2e/poison-preload.mjs'))}`;
    await tree.up();
    const placement = placedInProduction(namespace);
    const items = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      placement,
      map('first', { a: '1' }),
    ];
    const list = { apiVersion: 'v1', kind: 'List', items };
    tree.kubectl('space/center/retail', ['apply', '-f', '-'], JSON.stringify(list));
    await until('the first object is everywhere', () => summary().available === 2);
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.NODE_OPTIONS;
    else process.env.NODE_OPTIONS = before;
    await tree[Symbol.asyncDispose]();
  });

  it('gets the process back after two crashes, with the object left alone, the others applied, and the reason where its author reads', async () => {
    tree.apply('space/center/retail', map('deadly', { dies: 'yes' }));
    // Two agents crash because of it, each at its own time.
    await until('the object is quarantined at both', () => summary().quarantined === 2);
    const running = starts();
    tree.apply('space/center/retail', map('second', { a: '2' }));
    await until('the next object is applied beside it', () => held(agent, 'second')?.a === '2');
    expect(starts()).toBe(running);
    expect(running).toBeLessThanOrEqual(4);
    await until('the node says so', () => node()?.quarantined !== undefined);
    expect(node()?.quarantined?.sample[0]).toMatch(/deadly: .*ended 2 times.*the cluster died of it/);
    // Counts and messages come up separately.
    await until('its author reads why', () => {
      const { failures = [] } = tree.json<Placement>('space/center/retail', 'edgeplacement', namespace)?.status ?? {};
      return /deadly.*Poisoned/.test(JSON.stringify(failures));
    });
    const mailbox = tree.json<{ status?: { quarantinedEntries?: number } }>('node/eu', 'mailbox', 'shop');
    expect(mailbox?.status?.quarantinedEntries).toBe(1);
    expect(banyan('tree', '--data', tree.data).out).toMatch(/shop .*EntriesQuarantined/);
  });

  it('applies the object when its content has changed', async () => {
    tree.apply('space/center/retail', map('deadly', { dies: 'no' }));
    await until('it is there', () => held(agent, 'deadly')?.dies === 'no');
    await until('all is well', () => summary().available === 2 && summary().quarantined === 0);
    await until('the node says so', () => node()?.quarantined === undefined);
  });

  it('continues the session of an agent that reports an unreadable entry, and shows this', async () => {
    const since = node()?.session?.since;
    tree.apply('space/center/retail', map('garbled', { garbles: 'yes' }));
    await until('the parent says what it can not take', () => node()?.refused?.count === 1);
    expect(node()?.refused?.sample[0]).toMatch(/^state\/center\.retail\/\/configmaps\/shop\/garbled: .*no JSON/);
    expect(node()?.conditions).toContainEqual(expect.objectContaining({ type: 'EntriesQuarantined', status: 'True' }));
    tree.apply('space/center/retail', map('third', { a: '3' }));
    await until('the next object is told of', () => held(agent, 'third')?.a === '3' && summary().available === 2);
    tree.apply('space/center/retail', map('garbled', { garbles: 'no' }));
    await until('nothing is refused', () => node()?.refused === undefined);
    expect(node()?.session).toEqual({ ...node()?.session, state: 'Connected', since });
  });

  it('counts a destination as quarantined while its agent’s report about a placement is unreadable', async () => {
    tree.apply('space/center/retail', map('mangled', { mangles: 'yes' }));
    await until('both are quarantined', () => summary().quarantined === 2 && summary().expected === 2);
    expect(summary()).toMatchObject({ fresh: 0, available: 0 });
    expect(held(agent, 'mangled')).toEqual({ mangles: 'yes' });
    tree.apply('space/center/retail', map('mangled', { mangles: 'no' }));
    await until('both are counted', () => summary().available === 2 && summary().quarantined === 0);
  });

  it('shows no value of a Secret that crashes the thread for long writes, or an agent', async () => {
    const pin = 'nine-three-zero-five';
    const secret = (name: string, more: object = {}) => ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name, namespace },
      stringData: { pin, ...more },
    });
    const long = JSON.stringify(secret('quoted-in-thread', { padding: 'x'.repeat(100_000) }));
    const crashed = tree.kubectl('space/center/retail', ['create', '-f', '-'], long);
    expect(crashed.out).toMatch(/InternalError.*SyntaxError: the message may quote data and is left out/);
    tree.apply('space/center/retail', secret('quoted'));
    const failures = () =>
      JSON.stringify(tree.json<Placement>('space/center/retail', 'edgeplacement', namespace)?.status?.failures ?? []);
    await until('its author reads why', () => /quoted.*SyntaxError: the message may quote data/.test(failures()));
    const logs = join(tree.data, 'logs');
    expect(filesWith(['a request failed'], logs)).toEqual(['center.log']);
    expect(filesWith(['the node can not go on'], logs)).toContain('eu.shop.log');
    // Spaces seal Secrets. Everything else in the data directory is in clear text: logs, crash notes, marks and reports in the stores.
    expect(filesWith(formsOf(pin), tree.data)).toEqual([]);
    expect(tree.ok('node/eu', 'get', 'nodes.mesh.banyan.io', '-o', 'yaml')).not.toContain(pin);
    tree.ok('space/center/retail', 'delete', 'secret', 'quoted', '-n', namespace);
    await until('all is well', () => summary().available === 2 && summary().quarantined === 0);
  });

  it('continues below a relay that crashed repeatedly, with the object left alone and named', async () => {
    const relayStarts = () =>
      readFileSync(join(tree.data, 'logs', 'eu.log'), 'utf8').split('"the node serves"').length - 1;
    const relay = () => tree.json<Node>('node/center', 'nodes.mesh.banyan.io', 'eu')?.status;
    tree.apply('space/center/retail', map('heavy', { breaks: 'no' }));
    await until('it is there', () => held(agent, 'heavy')?.breaks === 'no');
    const before = relayStarts();
    tree.apply('space/center/retail', map('heavy', { breaks: 'yes' }));
    await until('the relay says what it leaves alone', () => relay()?.quarantined?.count === 1);
    expect(relay()?.quarantined?.sample[0]).toMatch(/^o\/center\.retail\/.*heavy: .*ended 2 times.*it was too much/);
    expect(relay()?.conditions).toContainEqual(expect.objectContaining({ type: 'EntriesQuarantined', status: 'True' }));
    expect(relayStarts() - before).toBeLessThanOrEqual(2);
    const running = relayStarts();
    tree.apply('space/center/retail', map('fourth', { a: '4' }));
    await until('the next object is applied', () => held(agent, 'fourth')?.a === '4');
    expect(held(agent, 'heavy')).toEqual({ breaks: 'no' });
    tree.apply('space/center/retail', map('heavy', { breaks: 'no longer' }));
    await until('it is there when it is another', () => held(agent, 'heavy')?.breaks === 'no longer');
    await until('nothing is left alone', () => relay()?.quarantined === undefined);
    expect(relayStarts()).toBe(running);
  });
});
