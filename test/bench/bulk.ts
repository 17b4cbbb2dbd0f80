/** A load beside what is measured: a thousand objects of two to ten kilobytes, placed everywhere, written anew pass after pass until it is told to stop. */
import type { ApiClient } from '../../center/cli/api-client.ts';

const namespace = 'bulk';
const objects = 1_000;
const bytesMin = 2_048;
const bytesMax = 10_240;
/** Writes at once: as from a script that applies a directory, some files at a time. */
const writers = 4;

export class Bulk {
  readonly #api: ApiClient;
  readonly #space: string;
  #stopped = false;
  #running: Promise<void>[] = [];
  /** Writes that were accepted. */
  written = 0;

  constructor(api: ApiClient, space: string) {
    this.#api = api;
    this.#space = space;
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
    for (let i = first; !this.#stopped; i += writers) {
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
