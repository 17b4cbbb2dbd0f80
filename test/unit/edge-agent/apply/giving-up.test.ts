/** An object that becomes the cluster's own: what is in it stays, and the mark goes. On a real API server's rules of server-side apply. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { giveUp } from '../../../../edge-agent/apply/giving-up.ts';
import { isMarked, marked, signatureOf, signed } from '../../../../edge-agent/apply/mark.ts';
import { ownedValues } from '../../../../edge-agent/apply/owned-values.ts';
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

/** All that somebody may have in it. */
function contentOf({ spec, metadata }: KubeObject): object {
  const { labels = {}, annotations = {} } = metadata;
  const others = (of: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(of).filter(([name]) => !name.startsWith('banyan.io/')));
  return { spec, labels: others(labels), annotations: others(annotations) };
}

describe('giving an object up', () => {
  it('takes the mark off, and changes nothing else, also not what others have changed', async () => {
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
    await giveUp({ path, cluster }, 'apps/deployments/default/till', undefined);
    const after = await live();
    expect(contentOf(after)).toEqual(contentOf(before));
    expect([isMarked(before), isMarked(after), signatureOf(after)]).toEqual([true, false, undefined]);
    expect([after.metadata.uid, after.metadata.generation]).toEqual([before.metadata.uid, before.metadata.generation]);
  });

  it('writes nothing where another agent has signed it, or nobody has, or it is not there', async () => {
    const { cluster, live } = await applied('other:tree');
    const before = await live();
    await giveUp({ path, cluster }, 'apps/deployments/default/till', undefined);
    expect(await live()).toEqual(before);
    await cluster.remove(key, 'Background');
    await giveUp({ path, cluster }, 'apps/deployments/default/till', undefined);
    expect(await cluster.get(key)).toBeUndefined();
  });

  it('takes the mark off that this agent has put on it under its former path', async () => {
    const { cluster, live } = await applied('eu:store-old');
    const record = { source: 'center.retail', bodyHash: '', uid: '', fingerprint: '', created: true };
    await giveUp({ path, cluster }, 'apps/deployments/default/till', { ...record, agent: 'eu:store-old' });
    expect(isMarked(await live())).toBe(false);
  });

  it('is refused when somebody changes it meanwhile, and when it is deleted meanwhile', async () => {
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

describe('what a manager owns of an object', () => {
  it('is its name alone where it owns nothing', async () => {
    const { live } = await applied();
    const { managedFields: _none, ...metadata } = (await live()).metadata;
    expect(ownedValues({ ...till, metadata })).toEqual({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'till', namespace: 'default' },
    });
  });

  it('is all that it has applied, where nobody else has written', async () => {
    const { live } = await applied();
    expect(ownedValues(await live())).toEqual(signed(marked(till, 'center.retail'), path, false));
  });
});
