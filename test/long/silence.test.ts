/** Nothing is written for a minute once everything has settled: not at an embedded cluster, not at a real one, and not in the space. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { kubectlBy, LocalTree, type Ran, until } from '../e2e/local-tree.ts';
import { buildMsMax } from '../e2e/one-site.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { ControlPlane } from '../support/control-plane/control-plane.ts';
import { furnish } from '../support/control-plane/furniture.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane();
const why = missing ? ` [not run: ${missing}]` : '';
const retail = 'space/center/retail';
const embedded = 'cluster/eu:mitte';
const silenceMs = 60_000;
/** Everything counts as settled when nothing has changed for this long. Reports and statuses have bounds of seconds. */
const settledMs = 10_000;
const settlesWithinMs = 180_000;
/** kube-scheduler looks again after five minutes at a pod whose volume was not bound at first. */
const availableWithinMs = 330_000;
/** The cluster's own controllers write these all the time. */
const busyKinds = ['events', 'events.events.k8s.io', 'leases.coordination.k8s.io', 'nodes'];
const writes = ['create', 'update', 'patch', 'delete', 'deletecollection'];

interface KubeObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly resourceVersion: string };
}
interface Placement {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly display?: string;
    readonly failures?: readonly Readonly<Record<'path' | 'object' | 'reason' | 'message', string>>[];
  };
}

const objects = parseAllDocuments(readFileSync(join(import.meta.dirname, 'silence-workloads.yaml'), 'utf8')).map(
  (document) => document.toJS() as { kind: string; metadata: { name: string } },
);
const list = (items: readonly object[]) => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
const placements = objects.filter(({ kind }) => kind === 'EdgePlacement').map(({ metadata }) => metadata.name);

describe.skipIf(missing)(`a minute in which nobody changes anything${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-silence-'));
  const tree = new LocalTree(join(directory, 'topology.yaml'));
  let plane: ControlPlane;
  /** kubectl at each place whose objects are compared. */
  const places: Readonly<Record<string, (args: string[], input?: string) => Ran>> = {
    'the real cluster': (args, input) => kubectlBy(plane.kubeconfig, args, input),
    'the embedded cluster': (args, input) => tree.kubectl(embedded, args, input),
    'the space': (args, input) => tree.kubectl(retail, args, input),
  };
  const ok = ({ code, out, stdout }: Ran) => {
    expect(code, out).toBe(0);
    return stdout;
  };
  let kinds: Readonly<Record<string, string>>;

  /** The resourceVersions of all objects at all places. */
  function versions(): Record<string, string> {
    const all: Record<string, string> = {};
    for (const [place, kubectl] of Object.entries(places)) {
      const { items } = JSON.parse(ok(kubectl(['get', kinds[place]!, '-A', '-o', 'json']))) as { items: KubeObject[] };
      for (const { kind, metadata } of items)
        all[`${place}: ${kind} ${metadata.namespace ?? ''}/${metadata.name}`] = metadata.resourceVersion;
    }
    return all;
  }
  const changed = (before: Record<string, string>, after: Record<string, string>) =>
    [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name]);
  const agentWrites = () =>
    plane
      .audited()
      .filter(
        ({ userAgent, verb, stage }) =>
          userAgent === 'banyan-agent' && stage === 'ResponseComplete' && writes.includes(verb),
      )
      .map(({ verb, objectRef }) => `${verb} ${objectRef?.resource} ${objectRef?.namespace ?? ''}/${objectRef?.name}`);

  beforeAll(async () => {
    plane = await ControlPlane.start({ directory: join(directory, 'plane'), audit: true });
    furnish(plane, { nodes: 2, volumes: 4 });
    const cluster = (name: string, provider: object) => ({
      name,
      parent: 'eu',
      labels: { env: 'prod' },
      annotations: { store: name },
      provider,
    });
    const topology = {
      apiVersion: 'banyan.io/v1alpha1',
      kind: 'Topology',
      metadata: { name: 'silence' },
      spec: {
        center: { spaces: [{ name: 'retail', type: 'Workload' }] },
        relays: [{ name: 'eu' }],
        clusters: [cluster('mitte', { embedded: {} }), cluster('rivoli', { kubeconfig: { path: plane.kubeconfig } })],
      },
    };
    writeFileSync(join(directory, 'topology.yaml'), stringify(topology));
    await tree.up('--no-restart');
    const site = [
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'site' } },
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'tariff', namespace: 'site' }, data: { rate: '1' } },
      { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'born-here', namespace: 'site' }, data: { a: 'Yg==' } },
    ];
    for (const place of ['the real cluster', 'the embedded cluster'])
      ok(places[place]!(['apply', '-f', '-'], list(site)));
    const isDefinition = ({ kind }: { kind: string }) => kind === 'CustomResourceDefinition';
    ok(tree.kubectl(retail, ['apply', '-f', '-'], list(objects.filter(isDefinition))));
    await until('the kind is served', () => tree.kubectl(retail, ['get', 'signs', '-A']).code === 0);
    ok(tree.kubectl(retail, ['apply', '-f', '-'], list(objects.filter((one) => !isDefinition(one)))));
  }, buildMsMax);
  afterAll(async () => {
    await tree[Symbol.asyncDispose]();
    await plane?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  it('has no write of the tree to a cluster or to the space', async () => {
    const standing = () =>
      (tree.json<{ items: Placement[] }>(retail, 'epl')?.items ?? []).map(({ metadata, status }) => {
        // An adopted object is listed there, too.
        const failures = (status?.failures ?? []).filter(({ reason }) => reason !== 'Adopted');
        const texts = failures.map((one) => `${one.path} ${one.object} ${one.reason} ${one.message}`);
        return [`${metadata.name} ${status?.display}`, ...texts].join('; ');
      });
    const available = placements.toSorted().map((name) => `${name} available 2/2`);
    await expect.poll(standing, { timeout: availableWithinMs, interval: 50 }).toEqual(available);
    const drift = { data: { text: 'from the site' } };
    for (const place of ['the real cluster', 'the embedded cluster'])
      ok(places[place]!(['patch', 'configmap', 'notes', '-n', 'site', '--type=merge', '-p', JSON.stringify(drift)]));
    kinds = Object.fromEntries(
      Object.entries(places).map(([place, kubectl]) => {
        const names = ok(kubectl(['api-resources', '--verbs=list,watch', '-o', 'name']))
          .trim()
          .split('\n');
        return [place, names.filter((name) => !busyKinds.includes(name)).join()];
      }),
    );
    const deadlineMs = performance.now() + settlesWithinMs;
    let before = versions();
    for (let quietMs = 0; quietMs < settledMs; ) {
      const startMs = performance.now();
      await delay(2_000);
      const now = versions();
      const moved = changed(before, now);
      quietMs = moved.length === 0 ? quietMs + performance.now() - startMs : 0;
      before = now;
      if (performance.now() > deadlineMs) throw new Error(`still changing: ${moved.join(', ')}`);
    }
    const written = agentWrites().length;
    await delay(silenceMs);
    const after = versions();
    console.log(`${Object.keys(after).length} objects, ${written} writes of the agent before the minute`);
    expect(agentWrites().slice(written)).toEqual([]);
    // The audit shows that the agent wrote nothing to the real cluster. So controllers of that cluster wrote what changed there, for example the autoscaler its
    // conditions, and the space shows the new status.
    const changes = changed(before, after).map((name) => name.split(': ') as [place: string, object: string]);
    const ofControllers = changes.filter(([place]) => place === 'the real cluster').map(([, object]) => object);
    const rest = changes.filter(([place, object]) => place !== 'the real cluster' && !ofControllers.includes(object));
    expect(rest).toEqual([]);
    expect(Object.keys(after).length).toBeGreaterThan(3 * objects.length);
  }, 660_000);
});
