import { describe, expect, it } from 'vitest';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import type { WatchEvents } from '../../../../edge-agent/cluster/cluster.ts';
import { marked } from '../../../../edge-agent/cluster/mark.ts';
import { Observer } from '../../../../edge-agent/observe/observer.ts';
import { FakeCluster } from '../support/fake-cluster.ts';

const web = 'apps/deployments/shop/web';

function bench() {
  const cluster = new FakeCluster();
  const clock = new VirtualClock();
  const log: string[] = [];
  const busy = new Set<string>();
  const drift = { found: false };
  const observer = new Observer(
    { cluster, clock, isBusy: (key) => busy.has(key), hasDrifted: () => drift.found },
    {
      changed: (key) => log.push(`changed ${key}`),
      drifted: (key) => log.push(`drifted ${key}`),
      ended: () => {},
      deletedEarly: () => {},
      kindsChanged: () => log.push('kinds changed'),
      wentBack: () => log.push('went back'),
    },
  );
  return { cluster, clock, observer, log, busy, drift };
}

const deployment = (resourceVersion: string, readyReplicas: number): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', uid: 'u', resourceVersion, generation: 1 },
  spec: { replicas: 2 },
  status: { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: readyReplicas, readyReplicas },
});

describe('the observer', () => {
  it('does not accept an older state than the answer to an apply', () => {
    const { observer } = bench();
    observer.track(web);
    observer.seen(web, deployment('9', 2));
    expect(observer.observation(web)?.health.state).toBe('Current');
    observer.seen(web, deployment('8', 1));
    expect(observer.observation(web)?.health.state).toBe('Current');
    observer.seen(web, deployment('10', 1));
    expect(observer.observation(web)?.health.state).toBe('InProgress');
  });

  it('judges no state again that the applier has seen, and each newer one', () => {
    const { cluster, observer, log, drift } = bench();
    observer.track(web);
    cluster.write(web, (object) => Object.assign(object, deployment('1', 2)));
    const live = cluster.objects.get(web)!;
    observer.untrack(web);
    observer.track(web);
    observer.seen(web, live);
    log.length = 0;
    drift.found = true;
    cluster.reportAgain(web);
    expect(log).toEqual([]);
    cluster.write(web, () => {});
    expect(log).toEqual([`drifted ${web}`]);
  });

  it('judges each state if versions are no numbers, or too large to compare', () => {
    for (const version of ['a', '9007199254740993']) {
      const { cluster, observer, log, drift } = bench();
      observer.track(web);
      observer.seen(web, deployment(version, 2));
      log.length = 0;
      drift.found = true;
      cluster.objects.set(web, deployment(version, 2));
      cluster.reportAgain(web);
      expect(log).toEqual([`drifted ${web}`]);
    }
  });

  it('delays events of an object until the work on it has ended', () => {
    const { cluster, observer, log, busy, drift } = bench();
    observer.track(web);
    busy.add(web);
    drift.found = true;
    cluster.write(web, (object) => Object.assign(object, deployment('1', 2)));
    expect(log).toEqual([]);
    busy.delete(web);
    observer.workEnded(web);
    expect(log).toEqual([`changed ${web}`, `drifted ${web}`]);
  });

  it('reports a new object, even if its watch has reported it already', () => {
    const { cluster, observer } = bench();
    cluster.write(web, (object) => Object.assign(object, deployment('1', 2)));
    expect(observer.track(web)).toBe(true);
    expect(observer.track(web)).toBe(false);
    observer.untrack(web);
    expect(observer.track(web)).toBe(true);
  });

  it('has each missing object read after an interruption, also one that only the applier has seen', () => {
    const { cluster, observer, log } = bench();
    let synced: (there: ReadonlySet<string>) => void = () => {};
    cluster.watch = (_resource, events) => {
      synced = events.synced;
      return () => {};
    };
    observer.track(web);
    synced(new Set());
    observer.seen(web, deployment('1', 2));
    synced(new Set([web]));
    expect(log).toEqual([`drifted ${web}`, `changed ${web}`]);
    log.length = 0;
    synced(new Set(['apps/deployments/shop/other']));
    expect(log).toEqual([`drifted ${web}`]);
    // It may have been made since.
    expect(observer.observation(web)?.health.state).toBe('Current');
  });

  it('has objects read whose state in a list is older than the known one, and judges each state from then on', () => {
    const { cluster, observer, log, drift } = bench();
    const listeners: WatchEvents[] = [];
    cluster.watch = (_resource, events) => {
      listeners.push(events);
      return () => {};
    };
    observer.track(web);
    const [{ on, synced }] = listeners as [WatchEvents];
    const ours = (version: string, ready: number) => marked(deployment(version, ready), 'center.retail');
    const report = (version: string, ready: number) =>
      on({ type: 'MODIFIED', key: parseKey(web), object: ours(version, ready) });
    observer.seen(web, ours('90', 2));
    // The list is older than the answer to the apply, which the watch reports next.
    report('80', 1);
    report('90', 2);
    synced(new Set([web]));
    expect(log).toEqual([`changed ${web}`]);
    log.length = 0;
    report('95', 2);
    // The cluster was restored from a backup.
    report('50', 1);
    expect(log).toEqual([]);
    synced(new Set([web]));
    expect(log).toEqual([`drifted ${web}`]);
    // So the applier reads the object, and others continue to change it.
    observer.seen(web, ours('50', 1));
    drift.found = true;
    report('51', 1);
    expect(log).toEqual([`drifted ${web}`, `changed ${web}`, `drifted ${web}`]);
    expect(observer.observation(web)?.health.state).toBe('InProgress');
  });

  it('watches the objects with the mark, and all of a resource once an object of it has none', () => {
    const { cluster, observer } = bench();
    const watched: string[] = [];
    cluster.watch = ({ resource }, _events, { marked = false } = {}) => {
      watched.push(`${marked ? 'marked' : 'all'} ${resource}`);
      return () => watched.push(`no more ${resource}`);
    };
    observer.track(web);
    observer.track('apps/deployments/shop/other');
    observer.seen(web, marked(deployment('1', 2), 'center.retail'));
    expect(watched).toEqual(['marked deployments']);
    observer.seen(web, deployment('2', 2));
    observer.seen(web, deployment('3', 2));
    expect(watched).toEqual(['marked deployments', 'no more deployments', 'all deployments']);
    observer.untrack(web);
    observer.untrack('apps/deployments/shop/other');
    expect(watched.at(-1)).toBe('no more deployments');
  });

  it('reports nothing of objects that nobody tracks', () => {
    const { cluster, observer, log } = bench();
    observer.track(web);
    cluster.write('apps/deployments/shop/other', () => {});
    observer.untrack(web);
    cluster.write(web, () => {});
    expect(log).toEqual([]);
    expect(observer.observation(web)).toBeUndefined();
  });

  it('reports a pod as failed that stays without a node, without another event', () => {
    const { cluster, clock, observer, log } = bench();
    const pod = '/pods/shop/till';
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no node' }];
    const { metadata } = deployment('1', 0);
    const live = { apiVersion: 'v1', kind: 'Pod', metadata, status: { phase: 'Pending', conditions } };
    observer.track(pod);
    cluster.write(pod, (object) => Object.assign(object, live));
    expect(observer.observation(pod)?.health.state).toBe('InProgress');
    log.length = 0;
    clock.advance(15_000);
    expect(log).toEqual([`changed ${pod}`]);
    const { state, message } = observer.observation(pod)?.health ?? {};
    expect([state, message]).toEqual(['Failed', 'no node']);
    log.length = 0;
    cluster.write(pod, (object) => Object.assign(object, { status: { phase: 'Pending' } }));
    expect(observer.observation(pod)?.health.state).toBe('InProgress');
    observer.untrack(pod);
    clock.advance(60_000);
    expect(log).toEqual([`changed ${pod}`]);
  });

  it('reports changed definitions, whether or not the agent applied one', async () => {
    const { cluster, observer, log } = bench();
    observer.start();
    cluster.write('apiextensions.k8s.io/customresourcedefinitions//x', () => {});
    expect(log).toEqual(['kinds changed']);
  });
});

describe('an object that ends', () => {
  const job = 'batch/jobs/shop/count';
  const endedAt = '2024-06-01T12:00:00Z';
  const watching = () => {
    const events: string[] = [];
    const cluster = new FakeCluster();
    const observer = new Observer(
      { cluster, clock: new VirtualClock(), isBusy: () => false, hasDrifted: () => false },
      {
        changed: () => {},
        drifted: (key) => events.push(`drifted ${key}`),
        ended: (key, { uid, health }) => events.push(`ended ${key} ${uid} ${health.state}`),
        deletedEarly: (key, uid) => events.push(`deleted early ${key} ${uid}`),
        kindsChanged: () => {},
        wentBack: () => {},
      },
    );
    observer.track(job);
    const write = (type: string | undefined, metadata: object = {}) =>
      cluster.write(job, (object) => {
        Object.assign(object, { apiVersion: 'batch/v1', kind: 'Job', spec: {} });
        object.metadata = { ...object.metadata, uid: 'u', namespace: 'shop', name: 'count', ...metadata };
        const condition = { type, status: 'True', message: '', lastTransitionTime: endedAt };
        object.status = type === undefined ? { startTime: endedAt, active: 1 } : { conditions: [condition] };
      });
    return { cluster, observer, events, write };
  };

  it('is reported once with its end, and again with its deletion', () => {
    const { cluster, events, write } = watching();
    write(undefined);
    expect(events).toEqual([]);
    write('Failed');
    write('Failed');
    expect(events).toEqual([`ended ${job} u Failed`]);
    cluster.erase(job);
    expect(events.slice(1)).toEqual([`ended ${job} u Failed`, `drifted ${job}`]);
  });

  it('stays as it was at its end while it is being deleted', () => {
    const { observer, write } = watching();
    write('Complete');
    write('Complete', { deletionTimestamp: '2024-06-01T12:00:03Z' });
    expect(observer.observation(job)?.health.state).toBe('Current');
  });

  it('is reported as deleted early if somebody deletes it before its end, and as unknown if the watch has missed this', () => {
    const { cluster, events, write } = watching();
    write(undefined);
    cluster.erase(job);
    expect(events).toEqual([`deleted early ${job} u`, `drifted ${job}`]);
    events.length = 0;
    write(undefined);
    cluster.objects.set(job, { apiVersion: 'batch/v1', kind: 'Job', metadata: { uid: 'u' } });
    cluster.erase(job);
    expect(events).toEqual([`drifted ${job}`]);
  });
});
