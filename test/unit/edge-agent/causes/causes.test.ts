import { describe, expect, it } from 'vitest';
import type { ObjectHealth } from '../../../../core/object/health.ts';
import { formatKey, type GroupResource, type ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { Causes } from '../../../../edge-agent/causes/causes.ts';
import type { ClusterQuery } from '../../../../edge-agent/cluster/cluster.ts';

const web = 'apps/deployments/shop/web';
const waits: ObjectHealth = { state: 'InProgress', reason: 'LessAvailable', message: '0 of 2 replicas are available' };
const fine: ObjectHealth = { state: 'Current', reason: 'Current', message: '2 replicas are available' };

function workload(kind: string, name: string): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind,
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { replicas: 2, selector: { matchLabels: { app: name } } },
  };
}

function pod(name: string, container: object, phase = 'Running'): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', uid: `uid-${name}` },
    spec: { containers: [{ name: 'app', image: 'web:7' }] },
    status: { phase, containerStatuses: [{ name: 'app', ...container }] },
  };
}

const crashing = {
  restartCount: 4,
  state: { waiting: { reason: 'CrashLoopBackOff' } },
  lastState: { terminated: { exitCode: 1 } },
};
const creating = { state: { waiting: { reason: 'ContainerCreating' } } };

class Bench {
  readonly clock = new VirtualClock();
  readonly objects = new Map<string, KubeObject>([[web, workload('Deployment', 'web')]]);
  pods: KubeObject[] = [];
  events: (KubeObject & { involvedObject: { uid: string } })[] = [];
  refusal: BanyanError | undefined;
  readonly requests: { atMs: number; what: string }[] = [];
  readonly changed: string[] = [];
  readonly causes = new Causes({
    cluster: {
      get: (key: ObjectKey) => this.#answer(`get ${key.name}`, this.objects.get(formatKey(key))),
      find: (resource: GroupResource, query: ClusterQuery) =>
        this.#answer(`find ${resource.resource}`, this.#found(resource, query)),
    },
    clock: this.clock,
    logger: silentLogger,
    changed: (key) => this.changed.push(key),
  });

  event(uid: string, reason: string, message: string): void {
    const event = { apiVersion: 'v1', kind: 'Event', metadata: { name: `${uid}.${this.events.length}` } };
    this.events.push({ ...event, involvedObject: { uid }, type: 'Warning', reason, message });
  }

  async run(ms: number): Promise<void> {
    for (const untilMs = this.clock.monotonicMs() + ms; this.clock.monotonicMs() < untilMs; ) {
      this.clock.advance(Math.min(500, untilMs - this.clock.monotonicMs()));
      for (let i = 0; i < 12; i++) await Promise.resolve();
    }
  }

  #found({ resource }: GroupResource, { fields, limit }: ClusterQuery): KubeObject[] {
    if (resource === 'pods') return this.pods.slice(0, limit);
    return this.events.filter(({ involvedObject }) => involvedObject.uid === fields?.['involvedObject.uid']);
  }

  async #answer<T>(what: string, value: T): Promise<T> {
    this.requests.push({ atMs: this.clock.monotonicMs(), what });
    if (this.refusal) throw this.refusal;
    return value;
  }
}

describe('the cause why a workload is not available', () => {
  it('is found in its pods, after ten seconds', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', crashing), pod('web-2', crashing)];
    bench.causes.observed(web, waits);
    await bench.run(9_500);
    expect([bench.requests, bench.causes.of(web)]).toEqual([[], undefined]);
    await bench.run(1_000);
    expect(bench.causes.of(web)).toEqual({
      reason: 'CrashLoopBackOff',
      message: '0/2 pods ready: container app CrashLoopBackOff: exit code 1',
    });
    expect(bench.changed).toEqual([web]);
  });

  it('ends when the workload is available or nobody wants it any more', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', crashing), pod('web-2', crashing)];
    for (const health of [fine, undefined]) {
      bench.causes.observed(web, waits);
      await bench.run(11_000);
      expect(bench.causes.of(web)).toBeDefined();
      bench.causes.observed(web, health);
      expect(bench.causes.of(web)).toBeUndefined();
    }
    const count = bench.requests.length;
    await bench.run(600_000);
    expect(bench.requests).toHaveLength(count);
  });

  it('costs nothing if the workload becomes available soon', async () => {
    const bench = new Bench();
    bench.causes.observed(web, waits);
    await bench.run(5_000);
    bench.causes.observed(web, fine);
    await bench.run(60_000);
    expect([bench.requests, bench.changed]).toEqual([[], []]);
  });

  it('is the quota, webhook or policy that refuses pods, as the Events of the controller say', async () => {
    const bench = new Bench();
    const set = 'apps/statefulsets/shop/db';
    bench.objects.set(set, workload('StatefulSet', 'db'));
    bench.event(
      'uid-db',
      'FailedCreate',
      'create Pod db-0 in StatefulSet db failed error: pods "db-0" is forbidden: exceeded quota: small, requested: pods=1, used: pods=5, limited: pods=5',
    );
    bench.event('uid-db', 'Other', 'a');
    bench.causes.observed(set, { ...waits, reason: 'LessReplicas' });
    await bench.run(11_000);
    expect(bench.causes.of(set)).toEqual({
      reason: 'FailedCreate',
      message:
        '0/2 pods ready: create Pod db-0 in StatefulSet db failed error: pods is forbidden: exceeded quota: small, requested: pods=1, limited: pods=5',
    });
  });

  it('is the condition of a Deployment whose pods are refused', async () => {
    const bench = new Bench();
    bench.causes.observed(web, {
      state: 'InProgress',
      reason: 'ReplicaFailure',
      message: 'pods is forbidden: exceeded quota: small',
    });
    await bench.run(11_000);
    expect(bench.causes.of(web)).toEqual({
      reason: 'ReplicaFailure',
      message: '0/2 pods ready: pods is forbidden: exceeded quota: small',
    });
  });

  it('is what the Events of a pod say while the pod only shows that it waits', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', creating, 'Pending'), pod('web-2', creating, 'Pending')];
    bench.event('uid-web-1', 'FailedMount', 'MountVolume.SetUp failed for volume "cfg" : configmap "menu" not found');
    bench.causes.observed(web, waits);
    await bench.run(11_000);
    expect(bench.causes.of(web)).toEqual({
      reason: 'FailedMount',
      message:
        '0/2 pods ready: container app ContainerCreating: FailedMount: MountVolume.SetUp failed for volume "cfg" : configmap "menu" not found',
    });
  });

  it('is the state of the pods alone only after a minute', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', creating, 'Pending'), pod('web-2', creating, 'Pending')];
    bench.causes.observed(web, waits);
    await bench.run(55_000);
    expect(bench.causes.of(web)).toBeUndefined();
    await bench.run(60_000);
    expect(bench.causes.of(web)?.message).toBe('0/2 pods ready: container app ContainerCreating: it is being created');
  });

  it('is its own health after a minute if nothing else is found, also for an object without pods', async () => {
    const bench = new Bench();
    const claim = '/persistentvolumeclaims/shop/data';
    bench.objects.delete(web);
    bench.causes.observed(web, waits);
    bench.causes.observed(claim, { state: 'InProgress', reason: 'NotBound', message: 'phase Pending' });
    await bench.run(55_000);
    expect([bench.causes.of(web), bench.causes.of(claim)]).toEqual([undefined, undefined]);
    await bench.run(60_000);
    expect(bench.causes.of(web)).toEqual({ reason: 'LessAvailable', message: '0 of 2 replicas are available' });
    expect(bench.causes.of(claim)).toEqual({ reason: 'NotBound', message: 'phase Pending' });
    bench.causes.observed(claim, { state: 'InProgress', reason: 'NotBound', message: 'phase Lost' });
    expect(bench.causes.of(claim)?.message).toBe('phase Lost');
  });

  it('is its own health if the agent may not list pods', async () => {
    const bench = new Bench();
    bench.refusal = new BanyanError('Forbidden', 'pods is forbidden');
    bench.causes.observed(web, waits);
    await bench.run(200_000);
    expect(bench.causes.of(web)).toEqual({ reason: 'LessAvailable', message: '0 of 2 replicas are available' });
    expect(bench.requests.length).toBeLessThan(8);
  });

  it('is asked for less and less often while it stays the same, and its text stays the same too', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', crashing), pod('web-2', crashing)];
    bench.causes.observed(web, waits);
    for (let i = 0; i < 60; i++) {
      // The kubelet tries again, and another pod may be first.
      bench.pods = bench.pods
        .map((one, n) => pod(one.metadata.name!, n === i % 2 ? { ...crashing, state: { running: {} } } : crashing))
        .reverse();
      await bench.run(60_000);
    }
    expect(bench.changed).toEqual([web]);
    expect(bench.requests.filter(({ what }) => what === 'find pods').length).toBeLessThan(18);
  });

  it('is asked for again soon when the status of the workload changes, but not more often than every 30 s', async () => {
    const bench = new Bench();
    bench.pods = [pod('web-1', crashing), pod('web-2', crashing)];
    bench.causes.observed(web, waits);
    for (let i = 0; i < 240; i++) {
      bench.causes.observed(web, { ...waits, message: `${i % 2} of 2 replicas are available` });
      await bench.run(500);
    }
    const looks = bench.requests.filter(({ what }) => what === 'find pods');
    expect(looks.length).toBeGreaterThanOrEqual(3);
    expect(looks.length).toBeLessThanOrEqual(5);
  });

  it('of a thousand workloads costs no more than one look a second', async () => {
    const bench = new Bench();
    for (let i = 0; i < 1_000; i++) {
      const key = `apps/deployments/shop/w${i}`;
      bench.objects.set(key, workload('Deployment', `w${i}`));
      bench.causes.observed(key, waits);
    }
    bench.pods = [pod('w-1', crashing), pod('w-2', crashing)];
    await bench.run(110_000);
    const looks = bench.requests.filter(({ what }) => what === 'find pods').length;
    expect(looks).toBeGreaterThan(60);
    expect(looks).toBeLessThanOrEqual(101);
  });

  it('needs no further request after the end', async () => {
    const bench = new Bench();
    bench.causes.observed(web, waits);
    bench.causes.stop();
    await bench.run(60_000);
    expect(bench.requests).toEqual([]);
  });
});
