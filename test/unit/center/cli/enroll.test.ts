import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { enroll } from '../../../../center/cli/enroll.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';

const path = 'eu:paris:store-17';
const target = '/apis/inventory.banyan.io/v1alpha1/synctargets/store-17';
const location = '/apis/inventory.banyan.io/v1alpha1/locations/store-17';
const asked = { path, labels: { env: 'prod', tier: 'store' }, secret: 'who', again: false };

/** The objects at the parent by path, and certificates that name their holder. */
function parent(there: Readonly<Record<string, KubeObject>> = {}) {
  const made = new Map<string, KubeObject>();
  const issued: string[] = [];
  const warned: string[] = [];
  return {
    made,
    issued,
    warned,
    warn: (line: string) => void warned.push(line),
    api: {
      contexts: () => ['node/center', 'node/eu:paris'],
      get: async (context: string, at: string) => (context === 'node/eu:paris' ? there[at] : undefined),
      apply: async (context: string, at: string, object: KubeObject) => {
        made.set(`${context} ${at}`, object);
        return object;
      },
    },
    issue: async (agent: string) => {
      issued.push(agent);
      return { caPem: 'authority', certPem: `certificate of ${agent}`, keyPem: `key of ${agent}` };
    },
  };
}

const known: KubeObject = {
  apiVersion: 'inventory.banyan.io/v1alpha1',
  kind: 'SyncTarget',
  metadata: { name: 'store-17' },
};

describe('banyan enroll', () => {
  it('creates the agent’s SyncTarget and Location at its parent, with labels, and prints the values for the chart', async () => {
    const { api, issue, warn, made } = parent();
    const secret = parse(await enroll(api, asked, issue, warn)) as object;
    expect(secret).toEqual({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'who' },
      type: 'kubernetes.io/tls',
      stringData: { 'ca.crt': 'authority', 'tls.crt': `certificate of ${path}`, 'tls.key': `key of ${path}` },
    });
    expect([...made.keys()]).toEqual([`node/eu:paris ${target}`, `node/eu:paris ${location}`]);
    for (const { metadata } of made.values()) expect(metadata.labels).toEqual({ env: 'prod', tier: 'store' });
  });

  it('refuses a name that is taken, and issues nothing', async () => {
    const node = '/apis/mesh.banyan.io/v1alpha1/nodes/eu.paris.store-17';
    for (const [there, remedy] of [
      [{ [target]: known }, /"eu:paris:store-17" is taken at node\/eu:paris.*--again/],
      // For a node without a SyncTarget, --again is refused too.
      [{ [node]: known }, /"eu:paris:store-17" is taken at node\/eu:paris.*banyan remove eu:paris:store-17 --orphan/],
    ] as const) {
      const { api, issue, warn, made, issued } = parent(there);
      await expect(enroll(api, asked, issue, warn)).rejects.toThrow(remedy);
      expect([made.size, issued]).toEqual([0, []]);
    }
  });

  it('gives a known agent another certificate on request, and leaves its SyncTarget unchanged', async () => {
    const { api, issue, warn, made } = parent({ [target]: known });
    expect(await enroll(api, { ...asked, again: true }, issue, warn)).toContain(`certificate of ${path}`);
    expect(made.size).toBe(0);
    await expect(enroll(parent().api, { ...asked, again: true }, issue, warn)).rejects.toThrow(/there is no "eu:paris/);
  });

  it('refuses an unknown parent with a message, and issues nothing', async () => {
    const { api, issue, warn, made, issued } = parent();
    await expect(enroll(api, { ...asked, path: 'us:store-17' }, issue, warn)).rejects.toThrow(
      /no node\/us: the parent of an agent is a relay of the tree/,
    );
    expect([made.size, issued]).toEqual([0, []]);
  });
});

describe('banyan enroll under replicas', () => {
  const silent = 'silent';
  const node = '/apis/mesh.banyan.io/v1alpha1/nodes/eu.paris.store-17';
  const place = (kind: string): KubeObject => ({
    ...known,
    kind,
    metadata: { name: 'store-17', labels: { env: 'prod' }, uid: 'u-1', resourceVersion: '7' },
    spec: kind === 'SyncTarget' ? { unschedulable: true } : {},
    status: { display: 'seen' },
  });
  const whole = { [target]: place('SyncTarget'), [location]: place('Location') };
  /** The objects of each replica. Silent replicas do not answer. */
  const replicas = (...there: (Readonly<Record<string, KubeObject>> | typeof silent)[]) => {
    const made = new Map<string, KubeObject>();
    const warned: string[] = [];
    const issued: string[] = [];
    const contexts = there.map((_, i) => (i === 0 ? 'node/eu:paris' : `node/eu:paris~${i}`));
    const at = (context: string) => {
      const shown = there[contexts.indexOf(context)];
      if (shown === silent) throw new BanyanError('Unavailable', `${context} does not answer`);
      return shown;
    };
    const api = {
      contexts: () => ['node/center', 'node/eu', 'node/eu~1', ...contexts, 'node/eu:paris:deep'],
      get: async (context: string, what: string) => at(context)?.[what],
      apply: async (context: string, what: string, object: KubeObject) => {
        at(context);
        made.set(`${context} ${what}`, object);
        return object;
      },
    };
    const issue = async (agent: string) => {
      issued.push(agent);
      return { caPem: 'authority', certPem: `certificate of ${agent}`, keyPem: 'key' };
    };
    const run = (again = false) => enroll(api, { ...asked, again }, issue, (line) => warned.push(line));
    return { made, warned, issued, run };
  };

  it('admits the agent at each replica', async () => {
    const { made, warned, issued, run } = replicas({}, {});
    expect(await run()).toContain(`certificate of ${path}`);
    const places = ['node/eu:paris', 'node/eu:paris~1'].flatMap((at) => [`${at} ${target}`, `${at} ${location}`]);
    expect([[...made.keys()], warned, issued]).toEqual([places, [], [path]]);
  });

  it('names the replicas that did not answer, and what to do when they do', async () => {
    const { made, warned, run } = replicas(silent, {});
    await run();
    expect([...made.keys()]).toEqual([`node/eu:paris~1 ${target}`, `node/eu:paris~1 ${location}`]);
    expect(warned).toEqual([
      "eu:paris:store-17 is not admitted at node/eu:paris, and can't fail over to it (node/eu:paris does not answer); when it answers: npm exec -- banyan enroll eu:paris:store-17 --again",
    ]);
    const none = replicas(silent, silent);
    await expect(none.run()).rejects.toThrow(/node\/eu:paris~1 does not answer/);
    expect(none.issued).toEqual([]);
  });

  it('admits the agent again at a replica that lacks it, with the values of the other replica, and changes nothing else', async () => {
    const { made, run } = replicas({}, whole);
    expect(await run(true)).toContain(`certificate of ${path}`);
    const metadata = { name: 'store-17', labels: { env: 'prod' } };
    expect(Object.fromEntries(made)).toEqual({
      [`node/eu:paris ${target}`]: { ...known, metadata, spec: { unschedulable: true } },
      [`node/eu:paris ${location}`]: {
        ...known,
        kind: 'Location',
        metadata: { ...metadata, ownerReferences: [expect.objectContaining({ kind: 'SyncTarget', name: 'store-17' })] },
        spec: {},
      },
    });
    const half = replicas({ [target]: place('SyncTarget') }, whole);
    await half.run(true);
    expect([...half.made.keys()]).toEqual([`node/eu:paris ${location}`]);
  });

  it('refuses a name that any replica has', async () => {
    for (const there of [whole, { [node]: known }]) {
      const { made, issued, run } = replicas({}, there);
      await expect(run()).rejects.toThrow(/is taken at node\/eu:paris~1/);
      expect([made.size, issued]).toEqual([0, []]);
    }
    await expect(replicas({}, silent).run(true)).rejects.toThrow(
      `there is no "${path}" at node/eu:paris (node/eu:paris~1 can't be asked)`,
    );
  });
});
