/** An embedded cluster on a store in memory, with a virtual clock. */
import type { Space } from '../../../../core/apiserver/space.ts';
import { health } from '../../../../core/object/health.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { type AssembledCluster, assembleCluster } from '../../../../edge-agent/cluster/embedded/assemble.ts';

export class ClusterBench {
  readonly clock: VirtualClock;
  readonly store: MemoryStore;
  readonly space: Space;
  readonly #assembled: AssembledCluster;

  /** A new process on the store and the clock of an earlier one, or on a new store. */
  constructor(earlier?: ClusterBench) {
    const clock = earlier?.clock ?? new VirtualClock(Date.UTC(2024, 5, 1, 12, 0, 30));
    this.clock = clock;
    this.store = earlier?.store ?? new MemoryStore();
    this.#assembled = assembleCluster({
      store: this.store,
      path: 'shop',
      fromAbove: 'grants',
      clock,
      random: new SeededRandom(7),
      logger: silentLogger,
      pace: { stepMinMs: 100, stepMaxMs: 300, progressDeadlineMaxMs: 10_000 },
      schedule: (turn) => void clock.after(0, turn),
    });
    this.space = this.#assembled.space;
    this.clock.advance(0);
    if (!earlier) this.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
  }

  /** Ends this process. */
  async end(): Promise<void> {
    await this.#assembled[Symbol.asyncDispose]();
  }

  create(apiVersion: string, kind: string, name: string, spec: object): void {
    this.space.create({ apiVersion, kind, metadata: { name, namespace: 'shop' }, spec });
  }

  /** Changes the spec as a user would. */
  change(apiVersion: string, kind: string, name: string, change: (spec: Record<string, never>) => object): void {
    const object = this.get(apiVersion, kind, name)!;
    this.space.update({ ...object, spec: change(structuredClone(object.spec) as Record<string, never>) });
  }

  get(apiVersion: string, kind: string, name: string): KubeObject | undefined {
    return this.space.get(this.space.keyOf({ apiVersion, kind, metadata: { name, namespace: 'shop' } }));
  }

  remove(apiVersion: string, kind: string, name: string): void {
    this.space.delete(this.space.keyOf({ apiVersion, kind, metadata: { name, namespace: 'shop' } }));
  }

  status(apiVersion: string, kind: string, name: string): Record<string, unknown> {
    return (this.get(apiVersion, kind, name)?.status ?? {}) as Record<string, unknown>;
  }

  health(apiVersion: string, kind: string, name: string): string {
    const object = this.get(apiVersion, kind, name);
    return object ? health(object).state : 'Missing';
  }

  all(group: string, resource: string): KubeObject[] {
    return this.space.storage
      .scan({ group, resource }, { namespace: 'shop' })
      .map((stored) => this.space.parse(stored));
  }

  pods(): KubeObject[] {
    return this.all('', 'pods');
  }

  images(): string[] {
    return this.pods().map((pod) => (pod.spec as { containers: { image: string }[] }).containers[0]!.image);
  }

  /** Advances time in small steps and checks each: an invariant must hold always. */
  watch(ms: number, look: () => void): void {
    for (let passed = 0; passed < ms; passed += 20) {
      this.clock.advance(20);
      look();
    }
  }
}

export function template(image: string, more: object = {}) {
  return { metadata: { labels: { app: 'till' } }, spec: { containers: [{ name: 'c', image }], ...more } };
}

export function isReady(pod: KubeObject): boolean {
  const { conditions = [] } = (pod.status ?? {}) as { conditions?: { type: string; status: string }[] };
  return conditions.some((condition) => condition.type === 'Ready' && condition.status === 'True');
}
