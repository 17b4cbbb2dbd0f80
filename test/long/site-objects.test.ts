/**
 * What belongs to the site, on a real cluster and on an embedded one at once: objects that have ended, objects that were there before, and fields that a
 * controller of the site changes.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { kubectlBy, LocalTree, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { getObject } from '../support/kept-api/kept-api.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const sites = ['eu:rivoli', 'eu:mitte'] as const;
type Site = (typeof sites)[number];
const real: Site = 'eu:rivoli';

interface Shown {
  readonly metadata: {
    readonly uid?: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly managedFields?: readonly { readonly manager?: string }[];
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly rules?: readonly object[];
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly display?: string;
    readonly phase?: string;
    readonly succeeded?: number;
    readonly failures?: readonly {
      readonly path: string;
      readonly object?: string;
      readonly reason: string;
      readonly message: string;
    }[];
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

const namespace = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
const configMap = (name: string, of: string, data: object) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: of },
  data,
});
const template = (name: string, image: string, restartPolicy?: string) => ({
  metadata: { labels: { app: name } },
  spec: {
    ...(restartPolicy ? { restartPolicy } : {}),
    containers: [{ name: 'c', image: `registry.example.com/${image}`, resources: { requests: { cpu: '100m' } } }],
  },
});
const job = (name: string, image: string, more: object = {}) => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name, namespace: 'jobs' },
  spec: { ...more, template: template(name, image, 'Never') },
});
const workload = (kind: 'Deployment' | 'StatefulSet', name: string, of: string, image = 'c:1') => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name, namespace: of },
  spec: {
    replicas: 1,
    ...(kind === 'StatefulSet' ? { serviceName: name } : {}),
    selector: { matchLabels: { app: name } },
    template: template(name, image),
  },
});
const autoscaler = (kind: string, name: string, of: string) => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name, namespace: of },
  spec: {
    minReplicas: 3,
    maxReplicas: 5,
    scaleTargetRef: { apiVersion: 'apps/v1', kind, name },
    metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } } }],
  },
});
const olderAutoscaler = (kind: string, name: string, of: string) => {
  const { metrics: _, ...spec } = autoscaler(kind, name, of).spec;
  return {
    ...autoscaler(kind, name, of),
    apiVersion: 'autoscaling/v1',
    spec: { ...spec, targetCPUUtilizationPercentage: 50 },
  };
};
const place = (name: string, spec: object = {}) => ({
  apiVersion: 'edge.banyan.io/v1alpha1',
  kind: 'EdgePlacement',
  metadata: { name },
  spec: {
    locationSelectors: [{ matchLabels: { env: 'prod' } }],
    downsync: [{ apiGroup: '*', resources: ['*'], namespaces: [name] }],
    ...spec,
  },
});
const pause = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));

describe.skipIf(missing)(`what belongs to the site, on a real and on an embedded cluster${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-site-objects-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;

  const kubectl = (site: Site, args: readonly string[], ...items: object[]): string => {
    const input = items.length === 0 ? undefined : JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
    const { code, out } =
      site === real ? kubectlBy(plane.kubeconfig, args, input) : tree.kubectl(`cluster/${site}`, args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} at ${site}: ${out}`);
    return out;
  };
  const there = (site: Site, ...names: string[]): Shown | undefined =>
    site === real ? getObject<Shown>(plane.kubeconfig, names) : tree.json<Shown>(`cluster/${site}`, ...names);
  const everywhere = (holds: (site: Site) => boolean) => sites.every(holds);
  const put = (...items: object[]) => {
    const { code, out } = tree.apply(retail, { apiVersion: 'v1', kind: 'List', items });
    expect(code, out).toBe(0);
  };
  const placement = (name: string) => tree.json<Shown>(retail, 'epl', name)?.status;
  const failure = (name: string, site: Site, object: string) => {
    const found = placement(name)?.failures?.find((one) => one.path === site && one.object === object);
    return found ? `${found.reason}: ${found.message}` : '';
  };
  const isAvailable = (name: string) => placement(name)?.display === 'available 2/2';
  const isMarked = (object: Shown | undefined) => object?.metadata.labels?.['banyan.io/managed'] === 'true';
  const killAgents = () => {
    for (const site of sites) tree.kill(site);
  };

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane') });
    furnish(plane, { nodes: 1, volumes: 0 });
    writeFileSync(join(directory, 'topology.yaml'), stringify(topologyWith(plane.kubeconfig)));
    await tree.up();
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  describe('an object that has ended', () => {
    const uid = (site: Site, of = 'job/count') => there(site, of, '-n', 'jobs')?.metadata.uid;

    it.each([
      ['by default', {}, {}],
      ['with createOnly', { createOnly: true }, {}],
      ['with drift Report', {}, { drift: { mode: 'Report' } }],
    ])('is not made again after its time to live, %s', async (_, item, rules) => {
      const downsync = [{ apiGroup: 'batch', resources: ['jobs'], namespaces: ['jobs'], ...item }];
      put(
        namespace('jobs'),
        job('count', 'count:1', { ttlSecondsAfterFinished: 3 }),
        place('jobs', { downsync, ...rules }),
      );
      const seen = new Map<Site, Set<string>>(sites.map((site) => [site, new Set()]));
      const look = () => {
        for (const site of sites) {
          const now = uid(site);
          if (now !== undefined) seen.get(site)!.add(now);
        }
      };
      await until('the Job was everywhere', () => {
        look();
        return everywhere((site) => seen.get(site)!.size > 0);
      });
      await until('it is gone everywhere', () => everywhere((site) => uid(site) === undefined));
      await until('it is available', () => isAvailable('jobs'));
      killAgents();
      for (let second = 0; second < 12; second++) {
        await pause(1);
        look();
      }
      expect(sites.map((site) => seen.get(site)!.size)).toEqual([1, 1]);
      await until('it is available after the restart', () => isAvailable('jobs'));
      expect(placement('jobs')?.failures ?? []).toEqual([]);
      tree.ok(retail, 'delete', 'epl', 'jobs');
      tree.ok(retail, 'delete', 'job', 'count', '-n', 'jobs');
      await until('the namespace is gone', () => everywhere((site) => there(site, 'ns', 'jobs') === undefined));
    });

    it('is made again when its spec changes, and not when somebody deletes it or a label changes', async () => {
      const ended = job('count', 'count:1');
      const downsync = [{ apiGroup: '*', resources: ['jobs', 'pods'], namespaces: ['jobs'] }];
      put(namespace('jobs'), ended, place('jobs', { downsync }));
      const succeeded = (site: Site) => there(site, 'job/count', '-n', 'jobs')?.status?.succeeded;
      await until('it has ended', () => everywhere((site) => succeeded(site) === 1));
      await until('the center knows', () => isAvailable('jobs'));
      for (const site of sites) kubectl(site, ['delete', 'job', 'count', '-n', 'jobs']);
      put({ ...ended, metadata: { ...ended.metadata, labels: { chart: 'two' } } });
      await pause(5);
      expect(sites.map((site) => uid(site))).toEqual([undefined, undefined]);
      await until('it is available', () => isAvailable('jobs'));
      tree.ok(retail, 'delete', 'job', 'count', '-n', 'jobs');
      put(job('count', 'count:2'));
      await until('it has run again', () => everywhere((site) => succeeded(site) === 1));
    });

    it('may be a Pod that somebody deletes', async () => {
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'once', namespace: 'jobs' },
        spec: template('once', 'once:1', 'Never').spec,
      };
      put(pod);
      const phase = (site: Site) => there(site, 'pod/once', '-n', 'jobs')?.status?.phase;
      await until('it is there', () => everywhere((site) => phase(site) !== undefined));
      // The simulated kubelet of the real cluster lets a Pod without an owner run for ever.
      await until('it runs', () => phase(real) === 'Running');
      const patch = JSON.stringify({ status: { phase: 'Succeeded' } });
      kubectl(real, ['patch', 'pod', 'once', '-n', 'jobs', '--subresource=status', '--type=merge', '-p', patch]);
      await until('it has ended', () => everywhere((site) => phase(site) === 'Succeeded'));
      await pause(1);
      for (const site of sites) kubectl(site, ['delete', 'pod', 'once', '-n', 'jobs']);
      await pause(5);
      expect(sites.map((site) => uid(site, 'pod/once'))).toEqual([undefined, undefined]);
      await until('it is available', () => isAvailable('jobs'));
    });
  });

  describe('an object of the site', () => {
    const name = 'site-apps';
    const siteData = { rate: '17', 'local-note': 'keep-me' };
    const tariff = (site: Site) => there(site, 'cm', 'tariff', '-n', name);
    const about = 'configmaps site-apps/tariff';

    it('keeps its values by default, and the report names the field and the remedy', async () => {
      for (const site of sites)
        kubectl(site, ['create', '-f', '-'], namespace(name), configMap('tariff', name, siteData));
      put(namespace(name), configMap('tariff', name, { rate: 'from-the-hub' }), place(name));
      const message = /^NotOwned: .*\.data\.rate.*spec\.adopt: Always/s;
      await until('it is said', () => everywhere((site) => message.test(failure(name, site, about))));
      expect(sites.map((site) => tariff(site)?.data)).toEqual([siteData, siteData]);
      tree.ok(retail, 'delete', 'epl', name);
      await until('the placement is gone', () => tree.json(retail, 'epl', name) === undefined);
      await pause(3);
      expect(sites.map((site) => tariff(site)?.data)).toEqual([siteData, siteData]);
      expect(sites.map((site) => isMarked(there(site, 'ns', name)))).toEqual([false, false]);
    });

    it('is overwritten with Always, reported as adopted, and given back with what the site has added', async () => {
      put(place(name, { adopt: 'Always' }));
      await until('it is overwritten', () => everywhere((site) => tariff(site)?.data?.rate === 'from-the-hub'));
      await until('it is said', () => everywhere((site) => failure(name, site, about).startsWith('Adopted')));
      expect(isAvailable(name)).toBe(true);
      for (const site of sites)
        kubectl(site, ['patch', 'cm', 'tariff', '-n', name, '-p', '{"data":{"more":"theirs"}}']);
      killAgents();
      put(configMap('tariff', name, { extra: 'x' }));
      // The field is not desired any more, so it has the value of the site again.
      const expected = { ...siteData, extra: 'x', more: 'theirs' };
      const isAsExpected = (site: Site) =>
        JSON.stringify(sorted(tariff(site)?.data)) === JSON.stringify(sorted(expected));
      await until('it has both', () => everywhere(isAsExpected));
      put(configMap('tariff', name, { rate: 'second' }));
      await until('it is overwritten again', () => everywhere((site) => tariff(site)?.data?.rate === 'second'));
      tree.ok(retail, 'delete', 'epl', name);
      await until('it is given back', () => everywhere((site) => !isMarked(tariff(site))));
      for (const site of sites) {
        expect(tariff(site)?.data).toEqual({ ...siteData, more: 'theirs' });
        const managers = getObjectManagers(site);
        expect(managers).not.toContain('banyan');
      }
    });

    it('with equal values is taken over and given back, and is not made anew after the site has deleted it', async () => {
      put(configMap('tariff', name, { rate: '17' }), place(name, { drift: { mode: 'Ignore' } }));
      await until('it is taken over', () => everywhere((site) => isMarked(tariff(site))));
      kubectl(real, ['delete', 'cm', 'tariff', '-n', name]);
      await pause(2);
      tree.ok(retail, 'delete', 'epl', name);
      await until('it is given back', () => !isMarked(tariff('eu:mitte')));
      await pause(2);
      expect(tariff(real)).toBeUndefined();
      expect(tariff('eu:mitte')?.data).toMatchObject(siteData);
    });

    it('may be a Deployment, with lists that have keys', async () => {
      const theirs = workload('Deployment', 'till', name, 'site:1');
      for (const site of sites) kubectl(site, ['create', '-f', '-'], theirs);
      const specOf = (site: Site) => there(site, 'deploy', 'till', '-n', name)?.spec;
      const before = sites.map(specOf);
      const ours = workload('Deployment', 'till', name, 'hub:1');
      ours.spec.template.spec.containers.push({ ...ours.spec.template.spec.containers[0]!, name: 'proxy' });
      put({ ...ours, spec: { ...ours.spec, replicas: 2, minReadySeconds: 1 } }, place(name, { adopt: 'Always' }));
      await until('it is overwritten', () => everywhere((site) => JSON.stringify(specOf(site)).includes('hub:1')));
      tree.ok(retail, 'delete', 'epl', name);
      await until('it is given back', () => everywhere((site) => !isMarked(there(site, 'deploy', 'till', '-n', name))));
      expect(sites.map(specOf)).toEqual(before);
      tree.ok(retail, 'delete', 'deploy', 'till', '-n', name);
    });

    it('of the cluster itself is never taken by default: roles of the API server, and the namespace kube-system', async () => {
      const role = {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'cluster-admin' },
        rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get'] }],
      };
      const downsync = [
        { apiGroup: '*', resources: ['*'], namespaces: [name, 'kube-system'] },
        { apiGroup: 'rbac.authorization.k8s.io', resources: ['clusterroles'], objectNames: ['cluster-admin'] },
      ];
      const locationSelectors = [{ matchLabels: { of: 'real' } }];
      put(role, configMap('ours', 'kube-system', { a: 'b' }), place('broad', { downsync, locationSelectors }));
      const message = /^NotOwned: .*the API server keeps it/;
      const rolesMessage = () => failure('broad', real, 'clusterroles.rbac.authorization.k8s.io cluster-admin');
      await until('it is said', () => message.test(rolesMessage()));
      await until('the rest is there', () => there(real, 'cm', 'ours', '-n', 'kube-system') !== undefined);
      const rules = () => there(real, 'clusterrole', 'cluster-admin')?.rules;
      expect(JSON.stringify(rules())).toContain('"*"');
      expect(isMarked(there(real, 'ns', 'kube-system'))).toBe(false);
      expect(failure('broad', real, 'namespaces kube-system')).toBe('');
      tree.ok(retail, 'delete', 'epl', 'broad');
      await until('our object is gone', () => there(real, 'cm', 'ours', '-n', 'kube-system') === undefined);
      expect(JSON.stringify(rules())).toContain('"*"');
    });

    function getObjectManagers(site: Site): readonly (string | undefined)[] {
      const text = kubectl(site, ['get', 'cm', 'tariff', '-n', name, '-o', 'json', '--show-managed-fields']);
      return (JSON.parse(text) as Shown).metadata.managedFields?.map(({ manager }) => manager) ?? [];
    }
  });

  describe('the number of replicas', () => {
    const of = 'hpa';
    const found = (site: Site, kind: string, name: string) => there(site, kind, name, '-n', of);
    const replicas = (kind: string, name: string) => sites.map((site) => found(site, kind, name)?.spec?.replicas);

    it('belongs to an autoscaler that is placed with the workload, or that the site has', async () => {
      put(
        namespace(of),
        workload('Deployment', 'fixed', of),
        autoscaler('Deployment', 'fixed', of),
        workload('StatefulSet', 'free', of),
        place(of),
      );
      await until('the autoscaler has scaled', () => replicas('deploy', 'fixed').every((one) => one === 3));
      for (const site of sites) kubectl(site, ['create', '-f', '-'], olderAutoscaler('StatefulSet', 'free', of));
      await until('the other one too', () => replicas('sts', 'free').every((one) => one === 3));
      await until('all is available', () => isAvailable(of));
      const generations = () =>
        sites.flatMap((site) =>
          [found(site, 'deploy', 'fixed'), found(site, 'sts', 'free')].map((one) => one?.metadata.generation),
        );
      const before = generations();
      // An autoscaler acts every 15 s.
      await pause(35);
      killAgents();
      await pause(10);
      expect(generations()).toEqual(before);
      expect(placement(of)?.failures ?? []).toEqual([]);
      put(workload('Deployment', 'fixed', of, 'c:2'));
      await until('the image is there', () =>
        everywhere((site) => JSON.stringify(found(site, 'deploy', 'fixed')).includes('c:2')),
      );
      expect(replicas('deploy', 'fixed')).toEqual([3, 3]);
    });

    it('is corrected again when the autoscaler goes', async () => {
      tree.ok(retail, 'delete', 'hpa', 'fixed', '-n', of);
      for (const site of sites) kubectl(site, ['delete', 'hpa', 'free', '-n', of]);
      await until('both are corrected', () =>
        [...replicas('deploy', 'fixed'), ...replicas('sts', 'free')].every((one) => one === 1),
      );
      await until('all is available', () => isAvailable(of));
    });

    it('is reported with the second round of another writer, and the placement is not ready meanwhile', async () => {
      for (let round = 1; round <= 2; round++) {
        for (const site of sites) kubectl(site, ['scale', 'deploy', 'fixed', '-n', of, '--replicas=4']);
        await until('it is corrected', () => replicas('deploy', 'fixed').every((one) => one === 1));
      }
      const message = /^Drifted: somebody changes it again and again.*spec\.replicas is 4.*spec\.drift\.ignoredFields/;
      await until(
        'it is said',
        () => everywhere((site) => message.test(failure(of, site, 'deployments.apps hpa/fixed'))),
        15,
      );
      const ready = placement(of)?.conditions?.find(({ type }) => type === 'Ready');
      expect(ready?.status).toBe('False');
      await until('it is over', () => isAvailable(of), 120);
    });
  });
});

function sorted(data: Readonly<Record<string, string>> = {}): [string, string][] {
  return Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));
}

function topologyWith(path: string): object {
  return {
    apiVersion: 'banyan.io/v1alpha1',
    kind: 'Topology',
    metadata: { name: 'site-objects' },
    spec: {
      center: { spaces: [{ name: 'retail', type: 'Workload' }] },
      relays: [{ name: 'eu' }],
      clusters: [
        { name: 'rivoli', parent: 'eu', labels: { env: 'prod', of: 'real' }, provider: { kubeconfig: { path } } },
        { name: 'mitte', parent: 'eu', labels: { env: 'prod', of: 'embedded' } },
      ],
    },
  };
}
