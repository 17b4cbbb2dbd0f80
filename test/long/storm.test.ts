/** A relay in the middle of a tree, with a thousand children of its own and a relay below it, is killed during a change. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import { ask, Scratch } from '../bench/scratch.ts';
import type { CrowdCount, CrowdRequest } from '../e2e/crowd.ts';
import { LocalTree, until } from '../e2e/local-tree.ts';
import { placedInProduction } from '../e2e/placements.ts';
import { withoutKubectl } from '../support/kubectl.ts';
import { waitedMs } from '../support/waited.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const children = 1_000;
const requestsAtOnce = 50;
const names = Array.from({ length: children }, (_, i) => `kid-${i}`);
const space = 'space/center/retail';
const textBytes = 4_096;
/** 1,000 at 200 a second, and the children's own waits of up to 16 s after some refused dials. */
const backWithinMs = 60_000;
/** The time on a machine with much other work. */
const patienceSeconds = 200;

const topology = `apiVersion: banyan.io/v1alpha1
kind: Topology
metadata: {name: storm}
spec:
  center: {spaces: [{name: retail}]}
  relays: [{name: eu}, {name: paris, parent: eu}]
  clusters:
    - {name: rivoli, parent: "eu:paris", labels: {env: prod}}
    - {name: bastille, parent: "eu:paris", labels: {env: prod}}
`;

describe.skipIf(withoutKubectl)(`a relay with a thousand children that is killed${why}`, () => {
  const directory = mkdtempSync(join(tmpdir(), 'banyan-storm-'));
  const scratch = new Scratch();
  let tree: LocalTree;
  let api: NodeApiClient;
  let crowd: ReturnType<Scratch['fork']>;

  beforeAll(async () => {
    const file = join(directory, 'topology.yaml');
    writeFileSync(file, topology);
    tree = new LocalTree(file);
    await tree.up();
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
    for (let i = 0; i < children; i += requestsAtOnce) {
      await Promise.all(names.slice(i, i + requestsAtOnce).map(register));
    }
    const placement = placedInProduction('till');
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'till' } };
    const items = [namespace, configMap('a'), placement];
    expect(tree.apply(space, { apiVersion: 'v1', kind: 'List', items }).code).toBe(0);
    const pem = (name: string) => readFileSync(join(tree.data, 'pki', name), 'utf8');
    const { mesh } = parse(readFileSync(join(tree.data, 'config', 'eu.yaml'), 'utf8')) as { mesh: { port: number } };
    crowd = scratch.fork(new URL('../e2e/crowd.ts', import.meta.url));
    const request: CrowdRequest = {
      tree: 'storm',
      authority: { certPem: pem('ca.crt'), keyPem: pem('ca.key') },
      parent: { address: `127.0.0.1:${mesh.port}`, path: 'eu' },
      names,
    };
    await ask(crowd, request);
  }, 240_000);
  afterAll(async () => {
    api?.close();
    await scratch[Symbol.asyncDispose]();
    await tree?.[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });

  async function register(name: string): Promise<void> {
    const apiVersion = 'inventory.banyan.io/v1alpha1';
    const target = { apiVersion, kind: 'SyncTarget', metadata: { name }, spec: {} };
    const location = { apiVersion, kind: 'Location', metadata: { name, labels: { env: 'prod' } }, spec: {} };
    await api.apply('node/eu', `/apis/${apiVersion}/synctargets/${name}`, target);
    await api.apply('node/eu', `/apis/${apiVersion}/locations/${name}`, location);
  }

  const configMap = (letter: string) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'word', namespace: 'till' },
    data: { text: letter.repeat(textBytes) },
  });
  const count = () => ask<CrowdCount>(crowd, 'count');
  /** Resolves when at least this number of entries has arrived, and no more arrive. */
  async function settled(least: number): Promise<CrowdCount> {
    let before = await count();
    for (;;) {
      await new Promise((done) => setTimeout(done, 2_000));
      const now = await count();
      if (now.entries === before.entries && now.entries >= least) return now;
      before = now;
    }
  }
  /** Children that attached to a relay, by the log of one of its processes, with how often. */
  const attached = (relay: string, pid: number) =>
    readFileSync(join(tree.data, 'logs', `${relay}.log`), 'utf8')
      .split('\n')
      .filter((line) => line.includes('a child is attached'))
      .map((line) => JSON.parse(line) as { pid: number; child: string })
      .filter((line) => line.pid === pid)
      .map(({ child }) => child);

  it('has all of them back within the admission bound; the nodes above and below stay connected, and only changes are sent', async () => {
    const before = await settled(3 * children);
    const [center, killed, paris] = ['center', 'eu', 'eu:paris'].map((path) => tree.pid(path)) as [
      number,
      number,
      number,
    ];
    const centerBefore = cpuMs(center);
    const crowdWaited = waitedMs(crowd.pid!);
    const grandchildren = attached('eu.paris', paris);
    expect(grandchildren.toSorted()).toEqual(['bastille', 'rivoli']);
    tree.kill('eu');
    const startMs = performance.now();
    expect(tree.apply(space, configMap('b')).code).toBe(0);
    await until('the relay is started again', () => tree.pid('eu') !== killed);
    const relay = tree.pid('eu');
    const back = () => new Set(attached('eu', relay).filter((child) => child.startsWith('kid-')));
    await until('all are back', () => back().size === children, patienceSeconds);
    const wallMs = performance.now() - startMs;
    // The larger one: the two may have waited at the same time.
    const tookMs = wallMs - Math.max(waitedMs(crowd.pid!) - crowdWaited, waitedMs(relay));
    const centerTook = cpuMs(center) - centerBefore;
    const relayTook = cpuMs(relay);
    const after = await settled(before.entries + 2 * children);
    const [bytes, entries] = [after.bytes - before.bytes, after.entries - before.entries];
    console.log(
      `${children} children are back after ${(wallMs / 1_000).toFixed(1)} s, ${(tookMs / 1_000).toFixed(1)} s of them not for want of a processor; CPU of the relay ${relayTook} ms, of its parent ${centerTook} ms; ` +
        `${entries} entries, ${(bytes / (children * textBytes)).toFixed(2)} of the bytes that changed`,
    );
    // The change itself is two entries for each: the object and the target that marks it complete.
    expect(entries).toBe(2 * children);
    expect(bytes).toBeLessThan(1.5 * children * textBytes);
    expect(tookMs).toBeLessThan(backWithinMs);
    expect(centerTook).toBeLessThan(0.1 * relayTook);
    expect(attached('eu.paris', paris)).toEqual(grandchildren);
  }, 300_000);
});

/** The processor time of a process: proc(5), fields 14 and 15, in ticks of 10 ms. */
function cpuMs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
