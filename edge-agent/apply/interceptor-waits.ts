/** Finds out what an interceptor still waits for: objects of its placements, and the workload that serves it. `interceptors.ts` decides. */
import type { ObjectHealth } from '../../core/object/health.ts';
import { displayKey, formatKey, parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { type Labels, matchesSelector } from '../../core/object/selector.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { isRecord } from '../../core/runtime/is-record.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Delivery, Desired } from '../desired/desired.ts';
import type { DesiredObject } from './decide.ts';
import {
  conversionServiceOf,
  decideInterceptor,
  interceptorWaitMaxMs,
  isLenientHash,
  lenientForm,
  lenientHash,
  namesOfStrict,
  podLabelsOf,
  type ServiceName,
  servicesOf,
  type UnavailableService,
} from './interceptors.ts';
import { definitionKeyOf, groupServedBy, isInterceptor, mayBeWorkload } from './order.ts';
import type { OwnerRecords } from './owner-records.ts';
import type { ApplyStep, ProgressReports } from './progress.ts';
import { idleBehind } from './service-endpoints.ts';
import { lenient, waitingForObjects, waitingForWorkload } from './steps.ts';
import { availabilityOf, type DependencyWaits, targetOf } from './waiting.ts';

export interface InterceptorWaitsPorts {
  readonly cluster: Cluster;
  readonly clock: Clock;
  readonly desired: Desired;
  readonly records: OwnerRecords;
  readonly progress: ProgressReports;
  readonly waiting: DependencyWaits;
  /** The newest health of an applied object. Undefined: the cluster has not reported the object yet. */
  healthOf(key: string): ObjectHealth | undefined;
  /** Adds the key to the work queue after a delay. */
  enqueueAfter(key: string, delayMs: number): void;
}

/** `wanted`: the form to apply now. `step`: what the object still waits for after the apply. */
export type InterceptorTurn =
  | { readonly do: 'apply'; readonly wanted: DesiredObject & Delivery; readonly step?: ApplyStep }
  | { readonly do: 'wait'; readonly step: ApplyStep };

/** How often the agent looks again for a workload that no placement brings. */
const foreignPollMs = 10_000;

/** Why nothing serves requests behind a Service. `blockers`: see ServingState. */
type Idle = Pick<UnavailableService, 'why' | 'isForeign'> & { readonly blockers: readonly string[] };

interface ServingState {
  readonly unavailable: readonly UnavailableService[];
  /** The events that end the wait (see waiting.ts). Empty although a Service is unavailable: no event reports it, and the work queue tries again. */
  readonly blockers: readonly string[];
}

export class InterceptorWaits {
  readonly #ports: InterceptorWaitsPorts;
  /**
   * The beginning of each wait. The value is in memory, so after a restart the wait begins again: the new process knows the health of no workload. Bound: one
   * entry for each desired interceptor or converted object that waits.
   */
  readonly #sinceMs = new Map<string, number>();

  constructor(ports: InterceptorWaitsPorts) {
    this.#ports = ports;
  }

  /** Decides about an interceptor, and arranges that the agent looks again when the decision may be another. */
  async turnOf(wanted: DesiredObject & Delivery): Promise<InterceptorTurn> {
    const { cluster, records, waiting } = this.#ports;
    const { key, object } = wanted;
    const isThere = (await cluster.get(parseKey(key))) !== undefined;
    const isLenient = isLenientHash(records.get(key)?.bodyHash);
    if (isThere && !isLenient) return this.#end(wanted);
    const missing = this.#missing(wanted);
    const { unavailable, blockers } = await this.#serving(wanted, servicesOf(object));
    const waitedMs = this.#waitedMs(key);
    const state = { isThere, isLenient, missing: missing.length, unavailable, waitedMs };
    const decision = decideInterceptor(object, state);
    // The lenient form is to be replaced, even if the rules let the agent write the object only once.
    if (decision === 'apply') return this.#end(isLenient ? { ...wanted, createOnly: false } : wanted);
    waiting.await(decision === 'lenient' ? blockers : [...missing, ...blockers], key);
    if (decision === 'lenient') {
      const step = lenient(namesOfStrict(object, unavailable), unavailable);
      const form = { ...wanted, object: lenientForm(object, unavailable), bodyHash: lenientHash(wanted.bodyHash) };
      if (unavailable.some(({ isForeign }) => isForeign)) this.#ports.enqueueAfter(key, foreignPollMs);
      return { do: 'apply', wanted: form, step };
    }
    const isForeign = unavailable.some((service) => service.isForeign);
    this.#ports.enqueueAfter(
      key,
      Math.min(interceptorWaitMaxMs - waitedMs, isForeign ? foreignPollMs : Number.POSITIVE_INFINITY),
    );
    return { do: 'wait', step: missing.length > 0 ? waitingForObjects(missing) : waitingForWorkload(unavailable) };
  }

  /**
   * Called when the cluster has refused a custom object with an internal error. If the conversion webhook of its definition is not available, this error is
   * expected: the object waits for the workload. Undefined: the error has another reason, or the wait was too long. Asks the cluster nothing, because the
   * cluster may be the reason of the error: so the Service has to be placed too.
   */
  async conversionOf(delivery: Delivery): Promise<ApplyStep | undefined> {
    const { desired, waiting } = this.#ports;
    const { key } = delivery;
    const definition = desired.deliveries(definitionKeyOf(parseKey(key)) ?? '')[0];
    const service = definition && conversionServiceOf(desired.object(definition));
    if (!service || desired.deliveries(keyOfService(service)).length === 0) return undefined;
    if (this.#waitedMs(key) >= interceptorWaitMaxMs) return undefined;
    const { unavailable, blockers } = await this.#serving(definition, [service]);
    if (unavailable.length === 0) return undefined;
    waiting.await(blockers, key);
    this.#ports.enqueueAfter(key, interceptorWaitMaxMs - this.#waitedMs(key));
    return waitingForWorkload(unavailable);
  }

  /** Called when the object is applied, or when nobody wants it any more. */
  forget(key: string): void {
    this.#sinceMs.delete(key);
  }

  /** Called when the cluster has reported a state of the object. */
  observed(key: string): void {
    if (this.#ports.healthOf(key)?.state === 'Current') this.#ports.waiting.arrived(availabilityOf(key));
  }

  #end(wanted: DesiredObject & Delivery): InterceptorTurn {
    this.forget(wanted.key);
    return { do: 'apply', wanted };
  }

  #waitedMs(key: string): number {
    const nowMs = this.#ports.clock.monotonicMs();
    const sinceMs = this.#sinceMs.get(key) ?? nowMs;
    this.#sinceMs.set(key, sinceMs);
    return nowMs - sinceMs;
  }

  /**
   * The blockers of the objects in the same placements that are not applied yet. The target of a placement arrives after all its objects. Other interceptors
   * do not count: two of them would wait for each other. Objects that an APIService serves can't be applied before it.
   */
  #missing({ key, placements }: Delivery): string[] {
    const { desired } = this.#ports;
    const served = groupServedBy(key);
    const missing = new Set<string>();
    for (const id of placements) {
      const placement = desired.placement(id);
      if (!placement) missing.add(targetOf(id));
      for (const other of placement?.objects ?? []) {
        if (isInterceptor(other) || (served !== undefined && parseKey(other).group === served)) continue;
        if (!this.#isDone(other)) missing.add(other);
      }
    }
    return [...missing];
  }

  #isDone(key: string): boolean {
    const [winner] = this.#ports.desired.deliveries(key);
    return !winner || this.#ports.progress.isDone(winner);
  }

  async #serving(of: Delivery, services: readonly ServiceName[]): Promise<ServingState> {
    const unavailable: UnavailableService[] = [];
    const blockers: string[] = [];
    for (const service of services) {
      const state = await this.#servingOf(of, service);
      if (state === undefined) continue;
      const { blockers: awaited, ...idle } = state;
      unavailable.push({ ...service, ...idle });
      blockers.push(...awaited);
    }
    return { unavailable, blockers };
  }

  /** Undefined: the workloads behind the Service are available. A Service that the agent does not place may be of somebody else. */
  async #servingOf(of: Delivery, service: ServiceName): Promise<Idle | undefined> {
    const { cluster, desired } = this.#ports;
    const key = keyOfService(service);
    const at = parseKey(key);
    const [delivery] = desired.deliveries(key);
    const isForeign = false;
    if (delivery && !this.#isDone(key))
      return { why: `${displayKey(at)} is not applied yet`, blockers: [key], isForeign };
    const object = delivery ? desired.object(delivery) : await cluster.get(at);
    if (!object) return { why: `${displayKey(at)} does not exist on the cluster`, blockers: [], isForeign };
    const placements = new Set([...of.placements, ...(delivery?.placements ?? [])]);
    const workloads = this.#workloadsBehind(object, placements);
    if (workloads.length === 0) {
      const why = await idleBehind(cluster, object);
      return why === undefined ? undefined : { why, blockers: [], isForeign: true };
    }
    const idle = workloads.flatMap((workload) => {
      const health = this.#ports.healthOf(workload);
      if (health?.state === 'Current') return [];
      return [{ workload, message: health?.message ?? 'the cluster has not reported it yet' }];
    });
    if (idle.length === 0) return undefined;
    const named = idle.map(({ workload, message }) => `${displayKey(parseKey(workload))} is not available: ${message}`);
    return { why: named.join('; '), blockers: idle.map(({ workload }) => availabilityOf(workload)), isForeign };
  }

  /** The keys of the placed workloads whose pods the Service selects. A Service without a selector selects none. */
  #workloadsBehind({ metadata, spec }: KubeObject, placements: Iterable<string>): readonly string[] {
    const selector = isRecord(spec) && isRecord(spec.selector) ? (spec.selector as Labels) : {};
    if (Object.keys(selector).length === 0) return [];
    const { desired } = this.#ports;
    const found = new Set<string>();
    for (const id of placements) {
      for (const key of desired.placement(id)?.objects ?? []) {
        if (found.has(key) || !mayBeWorkload(key) || parseKey(key).namespace !== metadata.namespace) continue;
        const labels = podLabelsOf(desired.object(desired.deliveries(key)[0]!));
        if (labels && matchesSelector({ matchLabels: selector }, labels)) found.add(key);
      }
    }
    return [...found];
  }
}

function keyOfService(service: ServiceName): string {
  return formatKey({ group: '', resource: 'services', ...service });
}
