/** A workload space with its selection on a memory store, which works only when the test says so. */

import type { Space } from '../../../../core/apiserver/space.ts';
import type { ObjectAttributes, TargetAttributes } from '../../../../core/entries/down-attributes.ts';
import type { ObjectKey } from '../../../../core/object/key.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { openWorkloadSpace, type WorkloadSpace } from '../../../../relay/spaces/own-spaces.ts';
import { workTopic } from '../../../../relay/work/topics.ts';
import { Turns } from '../../core/apiserver/lifecycle/turns.ts';

export const source = 'center.retail';

type BenchKind = 'ConfigMap' | 'Namespace' | 'EdgePlacement';

export class SpaceBench {
  readonly store = new MemoryStore();
  readonly turns = new Turns();
  /** The time in ms for which the space's writes may wait, as the space reports it. */
  readonly waits: number[] = [];
  readonly clock = new VirtualClock();
  readonly #random = new SeededRandom(1);
  #workload: WorkloadSpace;

  constructor() {
    this.store.subscribe(workTopic, (waitsMs) => this.waits.push(...waitsMs));
    this.#workload = this.#open();
    this.settle();
  }

  get space(): Space {
    return this.#workload.space;
  }

  get table(): WorkloadSpace['table'] {
    return this.#workload.table;
  }

  get selection(): WorkloadSpace['selection'] {
    return this.#workload.selection;
  }

  /** A start of the process on the present store: unfinished work is still to be done. */
  restart(): void {
    this.#workload.close();
    this.#workload = this.#open();
  }

  /** Runs the selection and the space's own controllers until no work is left. */
  settle(): void {
    this.turns.settle();
    while (this.step()) this.turns.settle();
  }

  step(): boolean {
    return this.store.write((t) => this.#workload.selection.step(t));
  }

  namespace(name: string, labels: Record<string, string> = {}): KubeObject {
    return this.space.apply(
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } },
      { fieldManager: 'test', force: true },
    );
  }

  configMap(namespace: string, name: string, labels: Record<string, string> = {}, data = 'x'): KubeObject {
    return this.space.apply(
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace, name, labels }, data: { data } },
      { fieldManager: 'test', force: true },
    );
  }

  placement(name: string, spec: object): KubeObject {
    return this.space.apply(
      { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'EdgePlacement', metadata: { name }, spec },
      { fieldManager: 'test', force: true },
    );
  }

  delete(kind: BenchKind, name: string, namespace?: string): void {
    this.space.delete(this.#keyOf(kind, name, namespace));
  }

  /** Gives the object a finalizer. */
  keep(kind: BenchKind, name: string, namespace?: string): void {
    this.#setFinalizers(this.#keyOf(kind, name, namespace), ['example.com/test']);
  }

  /** Takes the finalizer away. A deleted object is then removed. */
  release(kind: BenchKind, name: string, namespace?: string): void {
    this.#setFinalizers(this.#keyOf(kind, name, namespace), []);
  }

  #setFinalizers(key: ObjectKey, finalizers: string[]): void {
    const object = this.space.get(key)!;
    this.space.update({ ...object, metadata: { ...object.metadata, finalizers } }, { fieldManager: 'test' });
  }

  #keyOf(kind: BenchKind, name: string, namespace?: string): ObjectKey {
    const apiVersion = kind === 'EdgePlacement' ? 'edge.banyan.io/v1alpha1' : 'v1';
    return this.space.keyOf({
      apiVersion,
      kind,
      metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    });
  }

  /** Entry keys of the objects in the source table, without the source, with the placements that want each. */
  refs(): Record<string, readonly string[]> {
    return Object.fromEntries(
      this.rows()
        .filter(({ key }) => key.startsWith('o/'))
        .map(({ key, attributes }) => [
          key.slice(`o/${source}/`.length),
          (JSON.parse(attributes) as ObjectAttributes).refs,
        ]),
    );
  }

  target(placement: string): TargetAttributes | undefined {
    const row = this.rows().find(({ key }) => key === `t/${source}/${placement}`);
    return row && (JSON.parse(row.attributes) as TargetAttributes);
  }

  rows(): { key: string; attributes: string; body: string; originRevision: number }[] {
    const { table } = this.#workload;
    return this.store.read((reader) =>
      [...table.rows(reader)].map(({ content: reference, originRevision }) => {
        const { key, attributes, body } = table.content(reader, reference!);
        return { key, attributes: asText(attributes), body: asText(body), originRevision };
      }),
    );
  }

  #open(): WorkloadSpace {
    const ports = {
      path: '',
      store: this.store,
      clock: this.clock,
      random: this.#random,
      log: silentLogger,
      defer: this.turns.schedule,
    };
    return openWorkloadSpace(ports, 'retail', source);
  }
}
