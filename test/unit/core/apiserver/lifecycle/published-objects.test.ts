import { beforeEach, describe, expect, it } from 'vitest';
import { PublishedObjects } from '../../../../../core/apiserver/lifecycle/published-objects.ts';
import { silentLogger } from '../../../../../core/runtime/logger.ts';
import { MemoryStore } from '../../../../../core/store/memory/memory-store.ts';
import { HandlerBench } from '../http/handler-bench.ts';

let bench: HandlerBench;
let turns: (() => void)[];
const settle = () => {
  while (turns.length > 0) turns.shift()!();
};
const names = (resource: string, namespace: string, group = '') =>
  bench.space.storage.scan({ group, resource }, { namespace }).map(({ key }) => key.name);

beforeEach(() => {
  bench = new HandlerBench({ store: new MemoryStore() });
  turns = [];
  const schedule = (turn: () => void) => void turns.push(turn);
  const { space, clock } = bench;
  new PublishedObjects({ space, clock, logger: silentLogger, schedule, authority: () => 'PEM' });
  settle();
});

describe('the objects that a space publishes', () => {
  it('are the permanent Namespaces, with an account and the certificates in each, and the Service of the API server', () => {
    for (const namespace of ['default', 'kube-system', 'kube-public', 'kube-node-lease']) {
      expect(names('serviceaccounts', namespace)).toEqual(['default']);
      expect(names('configmaps', namespace)).toEqual(['kube-root-ca.crt']);
    }
    expect(names('services', 'default')).toEqual(['kubernetes']);
    expect(names('endpoints', 'default')).toEqual(['kubernetes']);
    expect(names('endpointslices', 'default', 'discovery.k8s.io')).toEqual(['kubernetes']);
  });

  it('come with a new Namespace, and come back after somebody has deleted or changed them', () => {
    bench.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fresh' } });
    settle();
    const of = (resource: string, name: string) => ({ group: '', resource, namespace: 'fresh', name });
    const certificates = of('configmaps', 'kube-root-ca.crt');
    bench.space.delete(of('serviceaccounts', 'default'));
    bench.space.patch(certificates, { type: 'merge', patch: { data: { 'ca.crt': 'other', more: 'x' } } });
    settle();
    expect(names('serviceaccounts', 'fresh')).toEqual(['default']);
    expect(bench.space.get(certificates)?.data).toEqual({ 'ca.crt': 'PEM' });
  });

  it('do not come in a Namespace that is being deleted', () => {
    const metadata = { name: 'going', finalizers: ['example.com/hold'] };
    bench.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata });
    bench.space.delete({ group: '', resource: 'namespaces', namespace: '', name: 'going' });
    settle();
    expect(names('serviceaccounts', 'going')).toEqual([]);
  });
});
