/** Programs of Kubernetes clients at a workload space and at a real control plane: both pass the same checks, with the same values. */
import { CoreV1Api, KubeConfig, makeInformer, type V1ConfigMap } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kubectlBy, until } from '../e2e/local-tree.ts';
import { SpaceAndPlane } from '../e2e/space-and-plane.ts';
import { clientPrograms, runClientProgram, withoutClientPrograms } from '../support/client-programs.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutClientPrograms;
const why = missing ? ` [not run: ${missing}]` : '';

describe.skipIf(missing)(`programs of clients${why}`, () => {
  let servers: SpaceAndPlane;

  beforeAll(async () => {
    servers = await SpaceAndPlane.start('clients');
  }, 300_000);
  afterAll(() => servers?.[Symbol.asyncDispose]());

  const both = <T>(run: (kubeconfig: string) => Promise<T>): Promise<T[]> => Promise.all(servers.kubeconfigs.map(run));

  it.each(clientPrograms)(
    '%s',
    async (program) => {
      const [ours, theirs] = await both((kubeconfig) => {
        expect(kubectlBy(kubeconfig, ['create', 'namespace', `of-${program}`]).code).toBe(0);
        return runClientProgram(program, kubeconfig, `of-${program}`);
      });
      expect(ours).toBe(theirs);
      expect(ours!.split('\n').length).toBeGreaterThan(1);
    },
    600_000,
  );

  it('an informer of @kubernetes/client-node', async () => {
    const [ours, theirs] = await both(async (kubeconfig) => {
      expect(kubectlBy(kubeconfig, ['create', 'namespace', 'of-node']).code).toBe(0);
      return informed(kubeconfig);
    });
    expect(ours).toEqual(theirs);
    expect(ours).toEqual(['add early', 'add late', 'update late b', 'delete late']);
  }, 120_000);
});

/** The events of an informer, in order. Root certificates, which every namespace has, are left out. */
async function informed(kubeconfig: string): Promise<string[]> {
  const config = new KubeConfig();
  config.loadFromFile(kubeconfig);
  const api = config.makeApiClient(CoreV1Api);
  const namespace = 'of-node';
  const seen: string[] = [];
  const create = (name: string) =>
    api.createNamespacedConfigMap({ namespace, body: { metadata: { name }, data: { a: 'a' } } });
  await create('early');
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    api.listNamespacedConfigMap({ namespace }),
  );
  for (const event of ['add', 'update', 'delete'] as const)
    informer.on(event, ({ metadata, data }: V1ConfigMap) => {
      if (metadata?.name !== 'kube-root-ca.crt')
        seen.push(`${event} ${metadata?.name}${event === 'update' ? ` ${data?.a}` : ''}`);
    });
  const came = (count: number) => until(`${count} events after ${seen.join(', ')}`, () => seen.length >= count);
  await informer.start();
  try {
    await came(1);
    const late = await create('late');
    await came(2);
    await api.replaceNamespacedConfigMap({ namespace, name: 'late', body: { ...late, data: { a: 'b' } } });
    await came(3);
    await api.deleteNamespacedConfigMap({ namespace, name: 'late' });
    await came(4);
    return seen;
  } finally {
    await informer.stop();
  }
}
