import { describe, expect, it } from 'vitest';
import { ClusterBench, isReady, template } from '../../support/cluster-bench.ts';

const apps = 'apps/v1';
const selector = { matchLabels: { app: 'till' } };

function withDeployment(spec: object = {}, image = 'till:1') {
  const bench = new ClusterBench();
  bench.create(apps, 'Deployment', 'till', { replicas: 3, selector, template: template(image), ...spec });
  return bench;
}

describe('a Deployment', () => {
  it('becomes available in steps: pods are pending, then running, then ready', () => {
    const bench = withDeployment();
    const seen = new Set<string>();
    bench.watch(1_000, () => {
      for (const pod of bench.pods()) seen.add((pod.status as { phase?: string } | undefined)?.phase ?? 'none');
    });
    expect([...seen]).toEqual(expect.arrayContaining(['Pending', 'Running']));
    expect(bench.health(apps, 'Deployment', 'till')).toBe('Current');
    expect(bench.status(apps, 'Deployment', 'till')).toMatchObject({
      observedGeneration: 1,
      replicas: 3,
      updatedReplicas: 3,
      readyReplicas: 3,
      availableReplicas: 3,
    });
  });

  it('has a ReplicaSet and pods with the hash of its template', () => {
    const bench = withDeployment();
    bench.clock.advance(1_000);
    const [set] = bench.all('apps', 'replicasets');
    const hash = set!.metadata.labels!['pod-template-hash'];
    expect(set!.metadata.name).toBe(`till-${hash}`);
    expect(set!.metadata.annotations!['deployment.kubernetes.io/revision']).toBe('1');
    const deployment = bench.get(apps, 'Deployment', 'till')!;
    expect(deployment.metadata).toMatchObject({
      generation: 1,
      annotations: { 'deployment.kubernetes.io/revision': '1' },
    });
    expect(deployment.status).toMatchObject({ observedGeneration: 1 });
    for (const pod of bench.pods())
      expect(pod.metadata.labels).toMatchObject({ app: 'till', 'pod-template-hash': hash });
  });

  it('updates within maxSurge and maxUnavailable at every moment', () => {
    const bench = withDeployment({ replicas: 4, strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } } });
    bench.clock.advance(1_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template('till:2') }));
    bench.watch(5_000, () => {
      expect(bench.pods().length).toBeLessThanOrEqual(5);
      expect(bench.pods().filter(isReady).length).toBeGreaterThanOrEqual(3);
    });
    expect(bench.images()).toEqual(['till:2', 'till:2', 'till:2', 'till:2']);
    expect(bench.health(apps, 'Deployment', 'till')).toBe('Current');
    expect(bench.get(apps, 'Deployment', 'till')!.metadata.annotations!['deployment.kubernetes.io/revision']).toBe('2');
  });

  it('keeps the old pods when the new image is broken, and has failed after the deadline', () => {
    const bench = withDeployment({ strategy: { rollingUpdate: { maxSurge: '25%', maxUnavailable: 0 } } });
    bench.clock.advance(1_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template('till:broken') }));
    bench.clock.advance(3_000);
    expect(bench.pods().filter(isReady)).toHaveLength(3);
    expect(bench.images().sort()).toEqual(['till:1', 'till:1', 'till:1', 'till:broken']);
    const stuck = bench.pods().find((pod) => !isReady(pod))!.status as { containerStatuses: object[] };
    expect(stuck.containerStatuses[0]).toMatchObject({ state: { waiting: { reason: 'ImagePullBackOff' } } });
    expect(bench.health(apps, 'Deployment', 'till')).toBe('InProgress');
    bench.clock.advance(10_000);
    expect(bench.health(apps, 'Deployment', 'till')).toBe('Failed');
  });

  it('recovers from a broken image, and gets its first ReplicaSet back as the newest revision', () => {
    const bench = withDeployment();
    bench.clock.advance(1_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template('till:broken') }));
    bench.clock.advance(20_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template('till:1') }));
    bench.clock.advance(2_000);
    expect(bench.health(apps, 'Deployment', 'till')).toBe('Current');
    expect(bench.images()).toEqual(['till:1', 'till:1', 'till:1']);
    expect(bench.all('apps', 'replicasets')).toHaveLength(2);
    expect(bench.get(apps, 'Deployment', 'till')!.metadata.annotations!['deployment.kubernetes.io/revision']).toBe('3');
  });

  it('scales up and down', () => {
    const bench = withDeployment();
    bench.clock.advance(1_000);
    for (const replicas of [5, 1, 0]) {
      bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, replicas }));
      bench.clock.advance(2_000);
      expect(bench.pods()).toHaveLength(replicas);
      expect(bench.health(apps, 'Deployment', 'till')).toBe('Current');
    }
  });

  it('with the strategy Recreate never runs old and new pods together', () => {
    const bench = withDeployment({ strategy: { type: 'Recreate' } });
    bench.clock.advance(1_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template('till:2') }));
    bench.watch(3_000, () => expect(new Set(bench.images()).size).toBeLessThanOrEqual(1));
    expect(bench.images()).toEqual(['till:2', 'till:2', 'till:2']);
  });

  it('that is paused starts nothing new', () => {
    const bench = withDeployment();
    bench.clock.advance(1_000);
    bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, paused: true, template: template('till:2') }));
    bench.clock.advance(2_000);
    expect(bench.images()).toEqual(['till:1', 'till:1', 'till:1']);
  });

  it('keeps no more old ReplicaSets than its history allows', () => {
    const bench = withDeployment({ revisionHistoryLimit: 2 });
    for (const version of [2, 3, 4, 5]) {
      bench.clock.advance(3_000);
      bench.change(apps, 'Deployment', 'till', (spec) => ({ ...spec, template: template(`till:${version}`) }));
    }
    bench.clock.advance(3_000);
    expect(bench.all('apps', 'replicasets')).toHaveLength(3);
  });

  it('replaces a pod that somebody deletes', () => {
    const bench = withDeployment();
    bench.clock.advance(1_000);
    bench.remove('v1', 'Pod', bench.pods()[0]!.metadata.name!);
    bench.clock.advance(1_000);
    expect(bench.pods().filter(isReady)).toHaveLength(3);
  });
});

describe('a StatefulSet', () => {
  const claims = [
    {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'data' },
      spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
    },
  ];
  const spec = {
    serviceName: 'ledger',
    replicas: 2,
    selector,
    template: template('ledger:1'),
    volumeClaimTemplates: claims,
  };

  it('makes its pods in order, each with a bound claim of its own', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'StatefulSet', 'ledger', spec);
    bench.watch(2_000, () => {
      const [first, second] = ['ledger-0', 'ledger-1'].map((name) => bench.get('v1', 'Pod', name));
      if (second) expect(isReady(first!)).toBe(true);
    });
    expect(bench.health(apps, 'StatefulSet', 'ledger')).toBe('Current');
    for (const name of ['data-ledger-0', 'data-ledger-1']) {
      expect(bench.status('v1', 'PersistentVolumeClaim', name)).toMatchObject({
        phase: 'Bound',
        capacity: { storage: '1Gi' },
      });
    }
    const volumes = (bench.get('v1', 'Pod', 'ledger-1')!.spec as { volumes: object[] }).volumes;
    expect(volumes).toEqual([{ name: 'data', persistentVolumeClaim: { claimName: 'data-ledger-1' } }]);
  });

  it('updates from the last to the first, one at a time', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'StatefulSet', 'ledger', spec);
    bench.clock.advance(3_000);
    bench.change(apps, 'StatefulSet', 'ledger', (old) => ({ ...old, template: template('ledger:2') }));
    bench.watch(5_000, () => expect(bench.pods().filter(isReady).length).toBeGreaterThanOrEqual(1));
    expect(bench.images()).toEqual(['ledger:2', 'ledger:2']);
    expect(bench.health(apps, 'StatefulSet', 'ledger')).toBe('Current');
  });

  it('leaves pods below the partition as they are', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'StatefulSet', 'ledger', { ...spec, updateStrategy: { rollingUpdate: { partition: 1 } } });
    bench.clock.advance(3_000);
    bench.change(apps, 'StatefulSet', 'ledger', (old) => ({ ...old, template: template('ledger:2') }));
    bench.clock.advance(5_000);
    expect(bench.images().sort()).toEqual(['ledger:1', 'ledger:2']);
  });

  it('scales down from the end and keeps the claims', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'StatefulSet', 'ledger', spec);
    bench.clock.advance(3_000);
    bench.change(apps, 'StatefulSet', 'ledger', (old) => ({ ...old, replicas: 1 }));
    bench.clock.advance(1_000);
    expect(bench.pods().map((pod) => pod.metadata.name)).toEqual(['ledger-0']);
    expect(bench.all('', 'persistentvolumeclaims')).toHaveLength(2);
    expect(bench.health(apps, 'StatefulSet', 'ledger')).toBe('Current');
  });

  it('recovers from a broken update when the template is repaired', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'StatefulSet', 'ledger', spec);
    bench.clock.advance(3_000);
    bench.change(apps, 'StatefulSet', 'ledger', (old) => ({ ...old, template: template('ledger:broken') }));
    bench.clock.advance(3_000);
    expect(bench.health(apps, 'StatefulSet', 'ledger')).toBe('InProgress');
    bench.change(apps, 'StatefulSet', 'ledger', (old) => ({ ...old, template: template('ledger:3') }));
    bench.clock.advance(5_000);
    expect(bench.images()).toEqual(['ledger:3', 'ledger:3']);
    expect(bench.health(apps, 'StatefulSet', 'ledger')).toBe('Current');
  });
});

describe('a DaemonSet', () => {
  it('runs one pod on the node, and replaces it when the template changes', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'DaemonSet', 'scanner', { selector, template: template('scanner:1') });
    bench.clock.advance(1_000);
    expect(bench.health(apps, 'DaemonSet', 'scanner')).toBe('Current');
    bench.change(apps, 'DaemonSet', 'scanner', (old) => ({ ...old, template: template('scanner:2') }));
    bench.clock.advance(2_000);
    expect(bench.images()).toEqual(['scanner:2']);
    expect(bench.health(apps, 'DaemonSet', 'scanner')).toBe('Current');
  });
});

describe('a Job', () => {
  const job = (image: string, more: object = {}) => ({
    ...more,
    template: template(image, { restartPolicy: 'Never' }),
  });

  it('runs its pods to the end, as many as it asks for', () => {
    const bench = new ClusterBench();
    bench.create('batch/v1', 'Job', 'import', job('import:5', { completions: 3, parallelism: 2 }));
    bench.watch(5_000, () => {
      const running = bench.pods().filter((pod) => (pod.status as { phase?: string } | undefined)?.phase === 'Running');
      expect(running.length).toBeLessThanOrEqual(2);
    });
    expect(bench.status('batch/v1', 'Job', 'import')).toMatchObject({ succeeded: 3 });
    expect(bench.status('batch/v1', 'Job', 'import').conditions).toContainEqual(
      expect.objectContaining({ type: 'Complete', status: 'True' }),
    );
    expect(bench.pods()).toHaveLength(3);
  });

  it('fails when its pods have failed more often than it allows', () => {
    const bench = new ClusterBench();
    bench.create('batch/v1', 'Job', 'import', job('import:failing', { backoffLimit: 2 }));
    bench.clock.advance(10_000);
    expect(bench.health('batch/v1', 'Job', 'import')).toBe('Failed');
    expect(bench.status('batch/v1', 'Job', 'import')).toMatchObject({ failed: 3 });
  });

  it('does nothing while it is suspended', () => {
    const bench = new ClusterBench();
    bench.create('batch/v1', 'Job', 'import', job('import:5', { suspend: true }));
    bench.clock.advance(1_000);
    expect(bench.pods()).toEqual([]);
    bench.change('batch/v1', 'Job', 'import', (old) => ({ ...old, suspend: false }));
    bench.clock.advance(2_000);
    expect(bench.status('batch/v1', 'Job', 'import')).toMatchObject({ succeeded: 1 });
  });

  it('is removed a while after its end if it says so', () => {
    const bench = new ClusterBench();
    bench.create('batch/v1', 'Job', 'import', job('import:5', { ttlSecondsAfterFinished: 5 }));
    bench.clock.advance(3_000);
    expect(bench.get('batch/v1', 'Job', 'import')).toBeDefined();
    bench.clock.advance(10_000);
    expect(bench.get('batch/v1', 'Job', 'import')).toBeUndefined();
    expect(bench.pods()).toEqual([]);
  });
});

describe('a CronJob', () => {
  const spec = (more: object = {}) => ({
    schedule: '*/5 * * * *',
    jobTemplate: { spec: { template: template('close:5', { restartPolicy: 'OnFailure' }) } },
    ...more,
  });

  it('starts a Job in each minute that its schedule names, and keeps three that succeeded', () => {
    const bench = new ClusterBench();
    bench.create('batch/v1', 'CronJob', 'close', spec());
    bench.clock.advance(4 * 60_000);
    expect(bench.all('batch', 'jobs')).toHaveLength(0);
    bench.clock.advance(60_000);
    expect(bench.all('batch', 'jobs')).toHaveLength(1);
    expect(bench.status('batch/v1', 'CronJob', 'close')).toMatchObject({ lastScheduleTime: '2024-06-01T12:05:00Z' });
    bench.clock.advance(30 * 60_000);
    expect(bench.all('batch', 'jobs')).toHaveLength(3);
    expect(bench.health('batch/v1', 'CronJob', 'close')).toBe('Current');
  });

  it('starts none while one is running when it forbids concurrency, and none when suspended', () => {
    const bench = new ClusterBench();
    const stuck = { spec: { template: template('close:broken', { restartPolicy: 'Never' }) } };
    bench.create('batch/v1', 'CronJob', 'close', spec({ concurrencyPolicy: 'Forbid', jobTemplate: stuck }));
    bench.create('batch/v1', 'CronJob', 'never', spec({ suspend: true }));
    bench.clock.advance(20 * 60_000);
    expect(bench.all('batch', 'jobs')).toHaveLength(1);
  });
});

describe('the rest of the cluster', () => {
  it('has the usual namespaces, a node that is ready, and a ServiceAccount in each namespace', () => {
    const bench = new ClusterBench();
    bench.clock.advance(0);
    expect(bench.space.get({ group: '', resource: 'namespaces', namespace: '', name: 'kube-system' })).toBeDefined();
    const node = bench.space.get({ group: '', resource: 'nodes', namespace: '', name: 'node-1' })!;
    expect(isReady(node)).toBe(true);
    expect(bench.get('v1', 'ServiceAccount', 'default')).toBeDefined();
    bench.remove('v1', 'ServiceAccount', 'default');
    bench.clock.advance(0);
    expect(bench.get('v1', 'ServiceAccount', 'default')).toBeDefined();
  });

  it('fills in the defaults that tools read when they wait, as an API server does', () => {
    const bench = new ClusterBench();
    const specOf = (kind: string, apiVersion: string, spec: object) => {
      bench.create(apiVersion, kind, 'given', spec);
      return bench.get(apiVersion, kind, 'given')!.spec;
    };
    const workload = { selector, template: template('till:1') };
    const job = { spec: { containers: [{ name: 'a', image: 'a:1' }], restartPolicy: 'Never' } };
    expect(specOf('Job', 'batch/v1', { template: job })).toMatchObject({
      backoffLimit: 6,
      completions: 1,
    });
    expect(specOf('Deployment', apps, { ...workload, strategy: { type: 'RollingUpdate' } })).toMatchObject({
      replicas: 1,
      strategy: { rollingUpdate: { maxUnavailable: '25%' } },
    });
    expect(
      specOf('DaemonSet', apps, { ...workload, updateStrategy: { rollingUpdate: { maxUnavailable: 2 } } }),
    ).toMatchObject({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 0 } },
    });
  });

  it('shows for a disruption budget how many pods may be disrupted', () => {
    const bench = withDeployment();
    bench.create('policy/v1', 'PodDisruptionBudget', 'till', { minAvailable: 1, selector });
    bench.clock.advance(2_000);
    expect(bench.status('policy/v1', 'PodDisruptionBudget', 'till')).toMatchObject({
      expectedPods: 3,
      currentHealthy: 3,
      desiredHealthy: 1,
      disruptionsAllowed: 2,
    });
    expect(bench.health('policy/v1', 'PodDisruptionBudget', 'till')).toBe('Current');
  });

  it('shows for an autoscaler that it follows its target and has no metrics', () => {
    const bench = withDeployment();
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' };
    bench.create('autoscaling/v2', 'HorizontalPodAutoscaler', 'till', { scaleTargetRef, maxReplicas: 6 });
    bench.clock.advance(2_000);
    expect(bench.status('autoscaling/v2', 'HorizontalPodAutoscaler', 'till')).toMatchObject({ currentReplicas: 3 });
    expect(bench.health('autoscaling/v2', 'HorizontalPodAutoscaler', 'till')).toBe('Current');
  });

  it('scales a workload that leaves out its number of replicas, which is then 1', () => {
    const bench = new ClusterBench();
    bench.create(apps, 'Deployment', 'till', { selector, template: template('till:1') });
    const scaleTargetRef = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'till' };
    const spec = { scaleTargetRef, minReplicas: 2, maxReplicas: 6 };
    bench.create('autoscaling/v1', 'HorizontalPodAutoscaler', 'till', spec);
    bench.clock.advance(5_000);
    expect(bench.pods()).toHaveLength(2);
  });

  it('writes nothing when nothing changes', () => {
    const bench = withDeployment();
    bench.create(apps, 'StatefulSet', 'ledger', { replicas: 2, selector, template: template('ledger:1') });
    bench.clock.advance(5_000);
    const revision = bench.space.storage.revision();
    bench.clock.advance(3_600_000);
    expect(bench.space.storage.revision()).toBe(revision);
  });

  it('continues where it was after a restart', async () => {
    const bench = withDeployment();
    bench.clock.advance(150);
    await bench.end();
    const again = new ClusterBench(bench);
    again.clock.advance(2_000);
    expect(again.health(apps, 'Deployment', 'till')).toBe('Current');
    expect(again.pods()).toHaveLength(3);
  });
});
