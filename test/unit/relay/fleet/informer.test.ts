/** A client that lists and watches as client-go's informers do, while objects change and parts of the tree go away and come back: it must not miss anything. */
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import type { WholeTree } from '../../../support/whole-tree.ts';
import type { FleetClient, Watched } from './fleet-client.ts';
import { deployment, deployments, fleetTree } from './fleet-workload.ts';

/** Keeps the objects by uid. Lists again after 410, and continues a watch that ended from its last event. */
class Informer {
  readonly objects = new Map<string, KubeObject>();
  readonly #client: FleetClient;
  readonly #random: SeededRandom;
  #watched: Watched | undefined;
  #seen = 0;
  #version = '';

  constructor(client: FleetClient, random: SeededRandom) {
    this.#client = client;
    this.#random = random;
  }

  async step(): Promise<void> {
    if (this.#version === '' && !(await this.#list())) return;
    this.#watched ??= this.#client.watch(
      '',
      `${deployments}?resourceVersion=${this.#version}&allowWatchBookmarks=true`,
    );
    this.#take(this.#watched);
    // A client's connection may break at any time.
    if (this.#random.fraction() < 0.1) this.#watched.end();
    if (this.#watched.isEnded || this.#watched.failure) this.#end(this.#watched);
  }

  /** Returns false if the list became too old between two pages: then the client begins again. */
  async #list(): Promise<boolean> {
    const limit = 1 + Math.floor(this.#random.fraction() * 8);
    const found: KubeObject[] = [];
    let token = '';
    let first = '';
    do {
      const url = `${deployments}?limit=${limit}&continue=${token}`;
      const answer = await this.#client.get('', url).catch(isExpired);
      if (!answer) return false;
      const { body } = answer;
      found.push(...body.items);
      first ||= body.metadata.resourceVersion;
      token = body.metadata.continue ?? '';
    } while (token !== '');
    this.objects.clear();
    for (const object of found) this.objects.set(object.metadata.uid!, object);
    this.#version = first;
    return true;
  }

  #take(watched: Watched): void {
    for (const { type, object } of watched.events.slice(this.#seen)) {
      if (type === 'ERROR') this.#version = '';
      if (type === 'ERROR') continue;
      this.#version = object.metadata.resourceVersion!;
      if (type === 'DELETED') this.objects.delete(object.metadata.uid!);
      else if (type !== 'BOOKMARK') this.objects.set(object.metadata.uid!, object);
    }
    this.#seen = watched.events.length;
  }

  #end(watched: Watched): void {
    this.#take(watched);
    if (watched.failure) this.#version = '';
    this.#watched = undefined;
    this.#seen = 0;
  }
}

function isExpired(error: unknown): undefined {
  if (error instanceof BanyanError && error.code === 'Expired') return undefined;
  throw error;
}

function shown(objects: Iterable<KubeObject>): string[] {
  return [...objects]
    .map(({ metadata, spec, status }) => {
      const { uid, labels, annotations, generation } = metadata;
      return JSON.stringify({ uid, labels, annotations, generation, spec, status });
    })
    .sort();
}

/** One change of the workload, or of the tree. Returns the step that undoes a fault. */
function change(tree: WholeTree, random: SeededRandom): (() => unknown) | undefined {
  const pick = <T>(all: readonly T[]): T => all[Math.floor(random.fraction() * all.length)]!;
  const name = pick(['a', 'b', 'c', 'till']);
  const key = { group: 'apps', resource: 'deployments', namespace: 'shop', name };
  const roll = random.fraction();
  if (roll < 0.5) tree.apply('', 'retail', deployment(name, 1 + Math.floor(random.fraction() * 3)));
  else if (roll < 0.7) {
    if (tree.space('', 'retail').get(key)) tree.space('', 'retail').delete(key);
  } else if (roll < 0.8) {
    const [child, parent] = pick([
      ['us', ''],
      ['eu', ''],
      ['eu:paris', 'eu'],
      ['hq', ''],
      ['eu:paris:s1', 'eu:paris'],
    ] as const);
    tree.cut(child, parent);
    return () => tree.mend(child, parent);
  } else if (roll < 0.85) {
    const relay = pick(['us', 'eu', 'eu:paris']);
    tree.kill(relay);
    return () => tree.start(relay);
  } else if (roll < 0.9) {
    const relay = pick(['us', 'eu:paris']);
    tree.stop(relay);
    return () => tree.goOn(relay);
  }
  return undefined;
}

describe('an informer', () => {
  it.each([1, 2, 3, 22])('has what the fleet has, whatever happened before (seed %i)', async (seed) => {
    const random = new SeededRandom(seed);
    const { tree, client } = await fleetTree();
    const informer = new Informer(client, random);
    for (let step = 0; step < 25; step++) {
      const undo = change(tree, random);
      for (let i = 0; i < 3; i++) {
        await tree.run(Math.floor(random.fraction() * 3_000));
        await informer.step();
      }
      await undo?.();
    }
    // Everything is healed. The bound of all waits that may remain is a minute.
    for (let i = 0; i < 60; i++) {
      await tree.run(2_000);
      await informer.step();
    }
    const { body, warnings } = await client.get('', deployments);
    expect(warnings).toEqual([]);
    expect(body.items.length).toBeGreaterThan(0);
    expect(shown(informer.objects.values())).toEqual(shown(body.items));
  });
});
