import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { NodeApiClient } from '../../center/cli/api-client.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { fixture, LocalTree, until } from '../e2e/local-tree.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const why = withoutKubectl ? ` [not run: ${withoutKubectl}]` : '';
const space = 'space/center/retail';
const clusters = ['eu:paris:rivoli', 'eu:paris:bastille', 'eu:berlin:mitte', 'us:market', 'hq'];
const nodes = ['center', 'eu', 'us', 'eu:paris', 'eu:berlin', 'eu:berlin:lab', ...clusters];
const objects = 20;
const changeEveryMs = 50;
const pauseMs = 4_000;

/** Sends the next value of one object after the other, and continues whatever process is down. */
class Writer {
  readonly #api: NodeApiClient;
  #next = 0;
  #ended = false;
  readonly done: Promise<void>;

  constructor(api: NodeApiClient) {
    this.#api = api;
    this.done = this.#run();
  }

  async #run(): Promise<void> {
    while (!this.#ended) {
      const pause = new Promise((done) => setTimeout(done, changeEveryMs));
      await this.write(this.#next % objects, String(this.#next)).catch(() => undefined);
      this.#next++;
      await pause;
    }
  }

  write(object: number, value: string): Promise<KubeObject> {
    return this.#api.apply(space, `/api/v1/namespaces/guestbook/configmaps/c${object}`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `c${object}`, namespace: 'guestbook' },
      data: { value },
    });
  }

  async end(): Promise<number> {
    this.#ended = true;
    await this.done;
    return this.#next;
  }
}

describe.skipIf(withoutKubectl)(`a tree under kill -9 while objects change every 50 ms${why}`, () => {
  const tree = new LocalTree('deploy/topologies/shop.yaml');
  let api: NodeApiClient;

  beforeAll(async () => {
    await tree.up();
    tree.ok(space, 'apply', '-f', fixture('docs/examples/guestbook.yaml'));
    tree.ok(space, 'wait', 'epl/guestbook', '--for=condition=Ready', '--timeout=60s');
    api = new NodeApiClient(join(tree.data, 'kubeconfig'));
  });
  afterAll(async () => {
    api?.close();
    await tree[Symbol.asyncDispose]();
  });

  const held = async (cluster: string) => {
    const found = await api.list(`cluster/${cluster}`, '/api/v1/namespaces/guestbook/configmaps');
    return new Map(found.map((object) => [object.metadata.name!, object]));
  };
  const dataOf = (object: KubeObject | undefined) => (object?.data as { value?: string } | undefined)?.value;
  const all = (value: (i: number) => string | undefined) => Array.from({ length: objects }, (_, i) => value(i));
  /** How often a child began a session, by the log of its parent. */
  const attached = (parent: string, child: string) =>
    readFileSync(join(tree.data, 'logs', `${parent.replaceAll(':', '.')}.log`), 'utf8')
      .split('\n')
      .filter((line) => line.includes('a child is attached') && line.includes(`"child":"${child}"`)).length;

  it('reaches the exact state everywhere, makes no object anew, and reconnects no node that was not killed', async () => {
    const writer = new Writer(api);
    for (let i = 0; i < objects; i++) await writer.write(i, 'first');
    const uids = async () => {
      const maps = await Promise.all(clusters.map(held));
      return maps.map((map) => all((i) => map.get(`c${i}`)?.metadata.uid));
    };
    await eventually('all objects are everywhere', async () => (await uids()).flat().every((uid) => uid !== undefined));
    const before = await uids();
    const links = nodes.filter((node) => node !== 'center').map((path) => parentOf(path));
    const sessionsBefore = links.map(({ parent, child }) => attached(parent, child));
    const killed = new Map<string, number>();
    const half = (odd: number) => nodes.filter((_, i) => i % 2 === odd);
    for (const group of [...nodes.map((node) => [node]), half(0), half(1)]) {
      for (const node of group) {
        tree.kill(node);
        killed.set(node, (killed.get(node) ?? 0) + 1);
      }
      await new Promise((done) => setTimeout(done, pauseMs));
    }
    expect(await writer.end()).toBeGreaterThan(200);
    for (let i = 0; i < objects; i++)
      await eventually(`the last write of c${i}`, () =>
        writer.write(i, `last ${i}`).then(
          () => true,
          () => false,
        ),
      );
    for (const cluster of clusters)
      await eventually(`${cluster} holds the last state`, async () => {
        const map = await held(cluster).catch(() => new Map<string, KubeObject>());
        return all((i) => dataOf(map.get(`c${i}`))).every((value, i) => value === `last ${i}`);
      });
    expect(await uids()).toEqual(before);
    expect([...(await held('eu:berlin:lab')).keys()]).toEqual([]);
    await until('the summary is exact', () => {
      const placement = tree.json<{ status: { summary: object } }>(space, 'epl', 'guestbook');
      return JSON.stringify(placement?.status.summary).includes('"available":5');
    });
    links.forEach(({ parent, child, path }, i) => {
      const deaths = (killed.get(parent) ?? 0) + (killed.get(path) ?? 0);
      expect(attached(parent, child) - sessionsBefore[i]!, `sessions of ${path}`).toBeLessThanOrEqual(deaths);
    });
  }, 300_000);
});

function parentOf(path: string): { parent: string; child: string; path: string } {
  const cut = path.lastIndexOf(':');
  return { parent: cut < 0 ? 'center' : path.slice(0, cut), child: path.slice(cut + 1), path };
}

async function eventually(what: string, holds: () => Promise<boolean>, seconds = 60): Promise<void> {
  const deadline = performance.now() + seconds * 1000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error(`not within ${seconds} s: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}
