/**
 * A load beside a measurement: a thousand objects of two to ten kilobytes, placed everywhere, written again pass after pass until it is told to stop: as fast
 * as the node accepts them, or at a pace.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { NodeApiClient } from '../../center/cli/api-client.ts';

const namespace = 'bulk';
const objects = 1_000;
const bytesMin = 2_048;
const bytesMax = 10_240;
/** Writes at once: as from a script that applies a directory, some files at a time. */
const writers = 4;

export class Bulk {
  readonly #api: NodeApiClient;
  readonly #space: string;
  /** The time between two writes of one writer; undefined: the next one begins when the last one was accepted. */
  readonly #everyMs: number | undefined;
  #stopped = false;
  #running: Promise<void>[] = [];
  /** The number of accepted writes. */
  written = 0;

  constructor(api: NodeApiClient, space: string, perSecond?: number) {
    this.#api = api;
    this.#space = space;
    this.#everyMs = perSecond === undefined ? undefined : (writers * 1_000) / perSecond;
  }

  async start(): Promise<void> {
    await this.#api.apply(this.#space, `/api/v1/namespaces/${namespace}`, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    await this.#api.apply(this.#space, `/apis/edge.banyan.io/v1alpha1/edgeplacements/${namespace}`, {
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: namespace },
      spec: {
        locationSelectors: [{ matchExpressions: [{ key: 'child', operator: 'Exists' }] }],
        downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: [namespace] }],
      },
    });
    this.#running = Array.from({ length: writers }, (_, i) => this.#write(i));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  async #write(first: number): Promise<void> {
    // The writers begin one after the other, so that four do not always come at once.
    let dueMs = performance.now() + ((this.#everyMs ?? 0) * first) / writers;
    for (let i = first; !this.#stopped; i += writers) {
      if (this.#everyMs !== undefined) {
        await delay(Math.max(0, dueMs - performance.now()));
        // Delays of a slow moment are not made up for in a burst.
        dueMs = Math.max(dueMs, performance.now() - this.#everyMs) + this.#everyMs;
      }
      const name = `object-${i % objects}`;
      const bytes = bytesMin + ((i * 7_919) % (bytesMax - bytesMin));
      await this.#api.apply(this.#space, `/api/v1/namespaces/${namespace}/configmaps/${name}`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace },
        data: { pass: String(Math.floor(i / objects)), filler: 'x'.repeat(bytes) },
      });
      this.written++;
    }
  }
}
