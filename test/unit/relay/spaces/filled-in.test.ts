import { beforeEach, describe, expect, it } from 'vitest';
import type { Space } from '../../../../core/apiserver/space.ts';
import { parseBody } from '../../../../core/object/canonical.ts';
import { parseKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { openWorkloadSpace } from '../../../../relay/spaces/own-spaces.ts';
import { payloadOf } from '../../../../relay/spaces/payload.ts';

const labels = { app: 'web' };
const template = { metadata: { labels }, spec: { containers: [{ name: 'c', image: 'web:1' }] } };
const named = (apiVersion: string, kind: string, spec: object, name = 'web'): KubeObject => ({
  apiVersion,
  kind,
  metadata: { name, namespace: 'shop' },
  spec,
});
const deployment = (more: object = {}) =>
  named('apps/v1', 'Deployment', { selector: { matchLabels: labels }, template, ...more });
const service = (more: object = {}, name = 'web') =>
  named('v1', 'Service', { selector: labels, ports: [{ port: 80 }], ...more }, name);
const deploymentKey = parseKey('apps/deployments/shop/web');

let space: Space;
beforeEach(() => {
  const clock = new VirtualClock();
  const ports = { store: new MemoryStore(), clock, random: new SeededRandom(1), log: silentLogger, path: '' };
  ({ space } = openWorkloadSpace({ ...ports, defer: () => undefined }, 'retail', 'center.retail'));
  space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
});

const specOf = (object: KubeObject) => object.spec as Record<string, unknown>;
const travelling = (object: KubeObject) => parseBody(payloadOf(object));

describe('the fields that a workload space fills in', () => {
  it.each(['{', "{'spec':1}", 5, { spec: 1 }])(
    'are named by the space alone: the note %j of a client has no effect',
    (note) => {
      const made = space.create(structuredClone(deployment()));
      const sent = structuredClone(made) as KubeObject & { metadata: Record<string, unknown> };
      sent.metadata['#filledIn'] = note;
      space.update(sent);
      expect(travelling(space.get(deploymentKey)!)).toEqual(deployment());
      space.delete(deploymentKey);
      const { resourceVersion: _revision, uid: _uid, ...metadata } = sent.metadata;
      space.create({ ...sent, metadata } as KubeObject);
      expect(travelling(space.get(deploymentKey)!).spec).toMatchObject({ selector: { matchLabels: labels } });
    },
  );

  it.each([
    ['Deployment', deployment(), { replicas: 1 }],
    [
      'StatefulSet',
      named('apps/v1', 'StatefulSet', { serviceName: 'web', selector: { matchLabels: labels }, template }),
      { replicas: 1, updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } },
    ],
    [
      'DaemonSet',
      named('apps/v1', 'DaemonSet', { selector: { matchLabels: labels }, template }),
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } } },
    ],
    [
      'Job',
      named('batch/v1', 'Job', { template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } } }),
      { backoffLimit: 6, completions: 1, parallelism: 1 },
    ],
  ])('of a %s are those that tools read, and do not travel', (_kind, object, filled) => {
    const made = space.create(structuredClone(object));
    expect(specOf(made)).toMatchObject(filled);
    expect(travelling(made)).toEqual({ ...object, metadata: object.metadata });
  });

  it.each([
    [
      'Deployment',
      deployment({ strategy: { type: 'RollingUpdate' } }),
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: '25%', maxSurge: '25%' } } },
    ],
    [
      'DaemonSet',
      named('apps/v1', 'DaemonSet', {
        selector: { matchLabels: labels },
        template,
        updateStrategy: { rollingUpdate: { maxUnavailable: 2 } },
      }),
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2, maxSurge: 0 } } },
    ],
    [
      'StatefulSet',
      named('apps/v1', 'StatefulSet', {
        serviceName: 'web',
        selector: { matchLabels: labels },
        template,
        updateStrategy: { type: 'RollingUpdate' },
      }),
      { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } },
    ],
  ])('of a %s complete a strategy that a chart has begun, and do not travel', (_kind, object, filled) => {
    const made = space.create(structuredClone(object));
    expect(specOf(made)).toMatchObject(filled);
    expect(travelling(made).spec).toEqual(object.spec);
    const again = space.update(structuredClone(made));
    expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
  });

  it('of a strategy go when a client takes them away, and are refused with another strategy, as by Kubernetes', () => {
    const made = space.create(deployment({ strategy: { type: 'RollingUpdate' } }));
    const recreate = (more: object) => ({ spec: { strategy: { type: 'Recreate', ...more } } });
    const patch = (more: object) => space.patch(deploymentKey, { type: 'strategic', patch: recreate(more) as never });
    expect(() => patch({})).toThrow('spec.strategy.rollingUpdate: Forbidden');
    const patched = patch({ $retainKeys: ['type'] });
    expect(specOf(patched).strategy).toEqual({ type: 'Recreate' });
    expect(specOf(travelling(patched)).strategy).toEqual({ type: 'Recreate' });
    const { spec } = deployment({ strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } });
    const own = space.update({ ...made, metadata: { ...patched.metadata }, spec });
    expect(specOf(travelling(own)).strategy).toEqual({ type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } });
  });

  it('of a Job with parallelism alone leave the number of completions to the pods', () => {
    const job = named('batch/v1', 'Job', {
      parallelism: 3,
      template: { ...template, spec: { ...template.spec, restartPolicy: 'Never' } },
    });
    expect(specOf(space.create(job)).completions).toBeUndefined();
  });

  it('of a Service are an address that no network uses; headless and external Services keep theirs', () => {
    const made = space.create(service());
    expect(specOf(made).clusterIP).toMatch(/^2[45]\d\./);
    expect(specOf(travelling(made))).not.toHaveProperty('clusterIP');
    const headless = space.create(service({ clusterIP: 'None' }, 'headless'));
    expect(specOf(travelling(headless)).clusterIP).toBe('None');
    const external = space.create(named('v1', 'Service', { type: 'ExternalName', externalName: 'a.example' }, 'out'));
    expect(specOf(external)).not.toHaveProperty('clusterIP');
  });

  it('of a Service with other families of addresses are not the families of the shown address', () => {
    for (const ipFamilies of [['IPv6'], ['IPv6', 'IPv4']]) {
      const ipFamilyPolicy = ipFamilies.length > 1 ? 'RequireDualStack' : 'SingleStack';
      const made = space.create(service({ ipFamilies, ipFamilyPolicy }, ipFamilies.join('-').toLowerCase()));
      expect(specOf(travelling(made))).toMatchObject({ ipFamilies, ipFamilyPolicy });
      expect(specOf(made).clusterIP).toMatch(/^100::/);
      expect(specOf(travelling(made))).not.toHaveProperty('clusterIP');
    }
  });

  it('of a Service do not replace an address that a person gave, and that an update leaves out', () => {
    for (const clusterIP of ['10.0.0.5', 'None']) {
      const name = clusterIP === 'None' ? 'headless' : 'own';
      space.create(service({ clusterIP }, name));
      const updated = space.update(service({ ports: [{ port: 81 }] }, name));
      expect(specOf(updated)).toMatchObject({ clusterIP, clusterIPs: [clusterIP] });
      expect(specOf(travelling(updated)).clusterIP).toBe(clusterIP);
    }
  });

  it('of a Service that was copied are its own address, which does not travel either', () => {
    const { clusterIP } = specOf(space.create(service()));
    const copy = space.create(service({ clusterIP }, 'copy'));
    expect(specOf(copy).clusterIP).not.toBe(clusterIP);
    expect(specOf(travelling(copy))).not.toHaveProperty('clusterIP');
  });

  it('travel when a person writes them, and change no generation by themselves', () => {
    const made = space.create(deployment());
    const again = space.update({ ...deployment(), metadata: { ...made.metadata } });
    expect(again.metadata.generation).toBe(1);
    const scaled = space.patch(deploymentKey, { type: 'merge', patch: { spec: { replicas: 3 } } });
    expect(specOf(travelling(scaled)).replicas).toBe(3);
    const back = space.patch(deploymentKey, { type: 'merge', patch: { spec: { replicas: 1 } } });
    expect(specOf(travelling(back)).replicas).toBe(1);
    const written = space.create({ ...deployment({ replicas: 1 }), metadata: { name: 'one', namespace: 'shop' } });
    expect(specOf(travelling(written)).replicas).toBe(1);
  });

  it('travel when an apply names them with the value that is there', () => {
    space.create(deployment());
    const next = deployment({ revisionHistoryLimit: 10 });
    const applied = space.apply(next, { fieldManager: 'team' });
    expect(specOf(travelling(applied)).revisionHistoryLimit).toBe(10);
    const scaled = space.patch(deploymentKey, { type: 'merge', patch: { spec: { paused: true } } });
    expect(specOf(travelling(scaled)).revisionHistoryLimit).toBe(10);
    const lastApplied = JSON.stringify(deployment({ replicas: 1 }));
    const annotations = { 'kubectl.kubernetes.io/last-applied-configuration': lastApplied };
    const byKubectl = space.patch(deploymentKey, { type: 'merge', patch: { metadata: { annotations } } });
    expect(specOf(travelling(byKubectl)).replicas).toBe(1);
  });

  it('stay out of what travels when containers come and go', () => {
    const made = space.create(deployment());
    const more = { name: 'before', image: 'log:1' };
    const { containers } = (specOf(made) as typeof made & { template: typeof template }).template.spec;
    const both = { ...template, spec: { containers: [more, ...containers] } };
    const next = space.update({ ...made, spec: { ...specOf(made), template: both } });
    expect(specOf(travelling(next)).template).toEqual({
      ...template,
      spec: { containers: [more, ...template.spec.containers] },
    });
  });

  it('travel in part when a part is changed', () => {
    space.create(deployment());
    const strategy = { rollingUpdate: { maxSurge: 2 } };
    const next = space.patch(deploymentKey, { type: 'merge', patch: { spec: { strategy } } });
    expect(specOf(next).strategy).toEqual({
      type: 'RollingUpdate',
      rollingUpdate: { maxSurge: 2, maxUnavailable: '25%' },
    });
    expect(specOf(travelling(next)).strategy).toEqual(strategy);
  });

  it('can not be claimed by a client: the note about them is the space\u2019s', () => {
    const lied = { ...deployment({ replicas: 2 }), metadata: { ...deployment().metadata, '#filledIn': "{'spec':1}" } };
    const made = space.create(lied);
    expect(specOf(travelling(made)).replicas).toBe(2);
    const add = { op: 'add', path: '/metadata/#filledIn', value: "{'spec':1}" };
    const patched = space.patch(deploymentKey, { type: 'json', operations: [add] });
    expect(specOf(travelling(patched)).replicas).toBe(2);
  });

  it('travel after kubectl scale', () => {
    space.create(deployment());
    const scale = space.getScale(deploymentKey)!;
    space.updateScale(deploymentKey, { ...scale, spec: { replicas: 4 } });
    expect(specOf(travelling(space.get(deploymentKey)!)).replicas).toBe(4);
  });

  it('are filled in again when a client removes them', () => {
    space.create(deployment({ replicas: 2 }));
    const removed = space.patch(deploymentKey, { type: 'merge', patch: { spec: { replicas: null } } });
    expect(specOf(removed).replicas).toBe(1);
    expect(specOf(travelling(removed))).not.toHaveProperty('replicas');
  });
});
