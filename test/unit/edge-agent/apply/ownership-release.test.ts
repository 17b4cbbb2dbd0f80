/** An object that is released to the cluster: its contents stay, and the mark goes. The fake server has the rules of server-side apply of a real API server. */
import { describe, expect, it } from 'vitest';
import { formatKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { ownedValues } from '../../../../edge-agent/apply/owned-values.ts';
import { releaseOwnership } from '../../../../edge-agent/apply/ownership-release.ts';
import type { Cluster } from '../../../../edge-agent/cluster/cluster.ts';
import { isMarked, marked, signatureOf, signed } from '../../../../edge-agent/cluster/mark.ts';
import { variedDeployment } from '../../../support/varied-deployment.ts';
import { EmbeddedBench } from '../support/embedded-bench.ts';

const path = 'eu:store-1';
const key = { group: 'apps', resource: 'deployments', namespace: 'default', name: 'till' };

const till = variedDeployment('default');

async function applied(agent = path) {
  const { cluster, space } = new EmbeddedBench();
  await cluster.apply(signed(marked(till, 'center.retail'), agent, false));
  const live = async () => (await cluster.get(key))!;
  return { cluster, space, live };
}

/** All fields that anybody may have in it. */
function contentOf({ spec, metadata }: KubeObject): object {
  const { labels = {}, annotations = {} } = metadata;
  const others = (of: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !name.startsWith('banyan.io/')));
  return { spec, labels: others(labels), annotations: others(annotations) };
}

describe('the release of an object', () => {
  it('removes the mark, and changes nothing else, not even changes by others', async () => {
    const { cluster, space, live } = await applied();
    const edited = structuredClone(await live()) as KubeObject & { spec: { replicas: number; template: never } };
    edited.spec.replicas = 5;
    edited.metadata.labels = { ...edited.metadata.labels, mine: 'yes' };
    const [app] = (edited.spec.template as { spec: { containers: { env: object[]; image: string }[] } }).spec
      .containers;
    app!.env.push({ name: 'C', value: '3' });
    app!.image = 'till:2';
    space.update(edited, { fieldManager: 'site' });
    const before = await live();
    await releaseOwnership({ path, cluster }, formatKey(key), undefined, before);
    const after = await live();
    expect(contentOf(after)).toEqual(contentOf(before));
    expect([isMarked(before), isMarked(after), signatureOf(after)]).toEqual([true, false, undefined]);
    // The mark is an annotation, and each change of a Deployment's annotations makes a new generation.
    const { uid, generation } = before.metadata;
    expect([after.metadata.uid, after.metadata.generation]).toEqual([uid, generation! + 1]);
  });

  it('writes nothing if another agent has marked it', async () => {
    const { cluster, live } = await applied('other:tree');
    const before = await live();
    await releaseOwnership({ path, cluster }, formatKey(key), undefined, before);
    expect(await live()).toEqual(before);
  });

  it('removes the mark of this agent under its former path', async () => {
    const { cluster, live } = await applied('eu:store-old');
    const record = { source: 'center.retail', bodyHash: '', uid: '', fingerprint: '', created: true };
    await releaseOwnership({ path, cluster }, formatKey(key), { ...record, agent: 'eu:store-old' }, await live());
    expect(isMarked(await live())).toBe(false);
  });

  it('is refused if somebody changes or deletes the object meanwhile', async () => {
    const { cluster, space, live } = await applied();
    const before = await live();
    space.update({ ...before, metadata: { ...before.metadata, labels: { mine: 'yes' } } }, { fieldManager: 'site' });
    const { uid, resourceVersion } = before.metadata;
    const at = { uid: uid!, resourceVersion: resourceVersion! };
    await expect(cluster.apply(ownedValues(before), { at })).rejects.toMatchObject({ code: 'Conflict' });
    await cluster.remove(key, 'Background');
    await expect(cluster.apply(ownedValues(before), { at })).rejects.toMatchObject({ code: 'Conflict' });
    expect(await cluster.get(key)).toBeUndefined();
  });
});

describe('an object in a version that is no longer served', () => {
  const beacon = { group: 'light.example.org', resource: 'beacons', namespace: 'shop', name: 'north' };
  const theirs = { manager: 'site', operation: 'Update', apiVersion: 'light.example.org/v1', fieldsV1: {} };

  function found(others: readonly object[]): KubeObject {
    const ours = { manager: 'banyan', operation: 'Apply', apiVersion: 'light.example.org/v1alpha1', fieldsV1: {} };
    const kind = { apiVersion: 'light.example.org/v1', kind: 'Beacon' };
    const object = { ...kind, metadata: { name: 'north', namespace: 'shop', labels: { a: '1' } }, spec: { watts: 5 } };
    const { metadata, ...rest } = signed(marked(object, 'center.retail'), path, false, { content: 'c' });
    const managedFields = [ours, ...others] as never;
    return { ...rest, metadata: { ...metadata, uid: 'u1', resourceVersion: '7', managedFields } };
  }

  /** Like an API server, which returns nothing in a version that it does not serve. */
  async function patched(object: KubeObject): Promise<unknown[]> {
    const asked: unknown[] = [];
    const cluster = {
      get: async (_key: object, version = 'v1') => {
        if (version !== 'v1') throw new BanyanError('Unavailable', '404 page not found');
        return object;
      },
      resourceOf: async (apiVersion: string) => (apiVersion === 'light.example.org/v1' ? beacon : undefined),
      patch: async (...how: unknown[]) => void asked.push(...how),
    } as unknown as Cluster;
    await releaseOwnership({ path, cluster }, formatKey(beacon), undefined, object);
    return asked;
  }

  it('still loses the mark, and nothing else', async () => {
    const [key, change, at] = await patched(found([theirs]));
    expect([key, at]).toEqual([beacon, { uid: 'u1', resourceVersion: '7' }]);
    expect(change).toEqual({
      metadata: {
        labels: { 'banyan.io/managed': null },
        annotations: { 'banyan.io/source': null, 'banyan.io/agent': null, 'banyan.io/content': null },
        managedFields: [theirs],
      },
    });
  });

  it('belongs to nobody if no other manager has written it', async () => {
    const [, change] = await patched(found([]));
    expect(change).toMatchObject({ metadata: { managedFields: [{}] } });
  });
});

describe('the fields that a manager owns of an object', () => {
  it('are its name alone if it owns nothing', async () => {
    const { live } = await applied();
    const { managedFields: _none, ...metadata } = (await live()).metadata;
    expect(ownedValues({ ...till, metadata })).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'till', namespace: 'default' },
    });
  });

  it('are all applied fields, if nobody else has written', async () => {
    const { live } = await applied();
    expect(ownedValues(await live())).toEqual(signed(marked(till, 'center.retail'), path, false));
  });
});
