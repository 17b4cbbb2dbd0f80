import { beforeAll, describe, expect, it } from 'vitest';
import { joinToken, tokenOutput } from '../../../../center/cli/join-token.ts';
import { hashOfSecret, pinned, readJoinToken } from '../../../../core/identity/join-token.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { TestTree } from '../../../support/test-tree.ts';

const path = 'eu:paris:store-17';
const asked = {
  path,
  role: 'Agent',
  labels: { env: 'prod' },
  hosts: [] as string[],
  again: false,
  ttlMs: 86_400_000,
} as const;

let ca: string;
beforeAll(async () => {
  ca = (await TestTree.create()).authority.certPem;
});

/** Replicas; the silent ones do not answer. */
function parents(
  there: Readonly<Record<string, KubeObject>> = {},
  silent: readonly string[] = [],
  tokens: Readonly<Record<string, KubeObject[]>> = {},
) {
  const made = new Map<string, KubeObject>();
  const steps: string[] = [];
  const warned: string[] = [];
  const answers = (context: string) => {
    if (silent.includes(context)) throw new BanyanError('Unavailable', `${context} does not answer`);
  };
  const api = {
    contexts: () => ['node/center', 'node/eu:paris', 'node/eu:paris~1'],
    authority: async () => ca,
    get: async (context: string, at: string) => {
      answers(context);
      return there[at];
    },
    apply: async (context: string, at: string, object: KubeObject) => {
      answers(context);
      made.set(`${context} ${at}`, object);
      steps.push(`make ${object.kind}`);
      return { ...object, metadata: { ...object.metadata, uid: `uid at ${context}` } };
    },
    list: async (context: string, at: string) => {
      answers(context);
      const [, selected] = /jointokens\?fieldSelector=(.*)$/.exec(at) ?? [];
      return (tokens[context] ?? []).filter(
        ({ spec }) => `spec.path=${(spec as { path: string }).path}` === decodeURIComponent(selected ?? ''),
      );
    },
    remove: async (context: string, at: string, { metadata }: KubeObject) => {
      if (metadata.resourceVersion === 'old') throw new BanyanError('Conflict', 'has changed just now, do it again');
      steps.push(`end ${context} ${at.split('/').at(-1)}`);
    },
  };
  const ports = { clock: new VirtualClock(Date.UTC(2030, 0, 1)), random: new SeededRandom(1) };
  const make = (more: object = {}) => joinToken(api, { ...asked, ...more }, ports, (line) => warned.push(line));
  const run = async (more: object = {}) => (await make(more)).token;
  return { api, ports, made, steps, warned, make, run };
}

describe('banyan join-token', () => {
  it('admits the agent at each replica of its parent, and stores the hash of the secret at one', async () => {
    const { made, run } = parents();
    const { name, secret, pin } = readJoinToken(await run(), 'stdout');
    expect(pinned(ca, pin)).toHaveLength(1);
    const kinds = [...made].map(([at, { kind }]) => `${at.split(' ')[0]} ${kind}`);
    expect(kinds).toEqual([
      'node/eu:paris SyncTarget',
      'node/eu:paris Location',
      'node/eu:paris~1 SyncTarget',
      'node/eu:paris~1 Location',
      'node/eu:paris JoinToken',
    ]);
    expect([...made.values()].at(-1)).toMatchObject({
      metadata: {
        name,
        ownerReferences: [
          {
            apiVersion: 'inventory.banyan.io/v1alpha1',
            kind: 'SyncTarget',
            name: 'store-17',
            uid: 'uid at node/eu:paris',
          },
        ],
      },
      spec: { path, expires: '2030-01-02T00:00:00Z', hash: hashOfSecret(secret) },
    });
    expect(JSON.stringify([...made])).not.toContain(secret);
  });

  it('stores it at a replica that answers, and explains how to bring it to the other one', async () => {
    const { made, warned, run } = parents({}, ['node/eu:paris']);
    await run({ ttlMs: 1_800_000 });
    const token = [...made].find(([, { kind }]) => kind === 'JoinToken')!;
    expect([token[0].split(' ')[0], token[1].spec]).toEqual([
      'node/eu:paris~1',
      expect.objectContaining({ expires: '2030-01-01T00:30:00Z' }),
    ]);
    expect(warned).toEqual([expect.stringMatching(/not admitted at node\/eu:paris,.*banyan join-token .* --again$/)]);
  });

  const known = Object.fromEntries(
    ['SyncTarget', 'Location'].map((kind) => [
      `/apis/inventory.banyan.io/v1alpha1/${kind.toLowerCase()}s/store-17`,
      { apiVersion: 'inventory.banyan.io/v1alpha1', kind, metadata: { name: 'store-17', uid: 'known' } },
    ]),
  );
  const token = (name: string, of: string, status?: object, resourceVersion = '1'): KubeObject => ({
    apiVersion: 'mesh.banyan.io/v1alpha1',
    kind: 'JoinToken',
    metadata: { name, resourceVersion },
    spec: { path: of },
    ...(status ? { status } : {}),
  });

  it('ends older unused tokens of the agent at each replica before it makes a new one', async () => {
    const { steps, warned, run } = parents(known, [], {
      'node/eu:paris': [
        token('unused', path),
        token('used', path, { state: 'Used', key: 'k' }),
        token('other', `${path}8`),
      ],
      'node/eu:paris~1': [token('late', path, { state: 'Expired' })],
    });
    await run({ again: true });
    expect(steps).toEqual(['end node/eu:paris unused', 'end node/eu:paris~1 late', 'make JoinToken']);
    expect(warned).toEqual([
      'the join token unused of eu:paris:store-17, which nobody has used, is no longer valid',
      'the join token late of eu:paris:store-17, which nobody has used, is no longer valid',
    ]);
  });

  it('makes no new token if an older one is used meanwhile, and names replicas where an older one may still be valid', async () => {
    const used = parents(known, [], { 'node/eu:paris': [token('racing', path, undefined, 'old')] });
    await expect(used.run({ again: true })).rejects.toMatchObject({ code: 'Conflict' });
    expect(used.steps).toEqual([]);
    const half = parents(known, ['node/eu:paris~1'], { 'node/eu:paris~1': [token('unused', path)] });
    await half.run({ again: true });
    expect(half.steps).toEqual(['make JoinToken']);
    expect(half.warned.at(-1)).toMatch(
      /^node\/eu:paris~1 did not answer, so an older join token of eu:paris:store-17 stays valid there until it expires: .* npm exec -- banyan/,
    );
  });

  it('refuses the path of a relay, known by the kubeconfig or by its parent, and says what to write', async () => {
    const message = /the path "(eu:paris|eu:paris:nord)" is that of a relay .* such as eu:paris.*:store-17/;
    const { made, run } = parents({
      '/apis/mesh.banyan.io/v1alpha1/nodes/eu.paris.nord': {
        apiVersion: 'mesh.banyan.io/v1alpha1',
        kind: 'Node',
        metadata: { name: 'eu.paris.nord' },
        spec: { path: 'eu:paris:nord', role: 'Relay' },
      },
    });
    for (const relay of ['eu:paris', 'eu:paris:nord']) {
      for (const again of [false, true]) await expect(run({ path: relay, again })).rejects.toThrow(message);
    }
    expect(made.size).toBe(0);
  });

  it('refuses a name that is taken, and gives a known agent another token only on request', async () => {
    const { made, run } = parents(known);
    await expect(run()).rejects.toThrow(/"eu:paris:store-17" is taken at node\/eu:paris/);
    expect(made.size).toBe(0);
    await run({ again: true });
    expect([...made.values()].map(({ kind }) => kind)).toEqual(['JoinToken']);
  });
});

describe('banyan join-token --relay', () => {
  const relay = { path: 'eu:paris:east', role: 'Relay', labels: {}, hosts: ['east.example.com'] };
  const nodeAt = '/apis/mesh.banyan.io/v1alpha1/nodes/eu.paris.east';
  const node = { kind: 'Node', apiVersion: 'mesh.banyan.io/v1alpha1', metadata: { name: 'eu.paris.east' } };

  it('makes the Node object at each replica of the parent, with the hosts, and a token that the Node owns', async () => {
    const { made, make } = parents();
    const printed = await make(relay);
    expect([...made].map(([at, { kind }]) => `${at.split(' ')[0]} ${kind}`)).toEqual([
      'node/eu:paris Node',
      'node/eu:paris~1 Node',
      'node/eu:paris JoinToken',
    ]);
    expect(made.get(`node/eu:paris ${nodeAt}`)?.spec).toEqual({ path: relay.path, role: 'Relay', hosts: relay.hosts });
    expect([...made.values()].at(-1)).toMatchObject({
      metadata: { ownerReferences: [{ kind: 'Node', name: 'eu.paris.east' }] },
      spec: { path: relay.path, role: 'Relay' },
    });
    const { data, names, text } = tokenOutput(printed);
    expect({ data, names, text }).toEqual({
      data: printed,
      names: [`jointoken.mesh.banyan.io/${printed.name}`],
      text: printed.token,
    });
  });

  it('names the addresses that the replicas of the parent advertise', async () => {
    const advertising = (context: string) =>
      context === 'node/eu:paris' ? 'a.example.com:7443' : 'b.example.com:7443';
    const { api, ...printed } = parents();
    const get = async (context: string, at: string) =>
      at.endsWith('/nodes/eu.paris') ? { ...node, status: { advertised: { mesh: advertising(context) } } } : undefined;
    const made = await joinToken({ ...api, get }, asked, printed.ports, () => undefined);
    expect(made.parent).toEqual({ address: 'a.example.com:7443', replicas: ['b.example.com:7443'] });
    expect(tokenOutput(made).wide).toMatch(/PARENT +TOKEN\n.* a\.example\.com:7443 +banyan-join-1/);
    expect((await parents().make()).parent).toBeUndefined();
  });

  it('keeps the hosts of a relay that is admitted again, unless others are given', async () => {
    const known = { [nodeAt]: { ...node, spec: { path: relay.path, role: 'Relay', hosts: ['old.example.com'] } } };
    const again = parents(known);
    await again.make({ ...relay, hosts: [], again: true });
    expect(again.made.get(`node/eu:paris ${nodeAt}`)?.spec).toMatchObject({ hosts: ['old.example.com'] });
    await expect(parents(known).make(relay)).rejects.toMatchObject({ code: 'Conflict' });
    await expect(parents().make({ ...relay, again: true })).rejects.toMatchObject({ code: 'NotFound' });
  });

  it('prints commands for a relay about a replica of the parent that does not answer', async () => {
    const { make, warned } = parents({ [nodeAt]: node }, ['node/eu:paris~1']);
    await make({ ...relay, again: true });
    const command = /banyan join-token --relay eu:paris:east --again$/;
    expect(warned).toEqual([expect.stringMatching(command), expect.stringMatching(command)]);
  });
});
