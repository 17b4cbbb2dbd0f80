/**
 * Brings the cluster to the desired state, one object at a time. Each step begins with the present state: what is desired, what is on record, and what the
 * cluster has. The applier applies objects that are missing or different. It removes objects that this agent has applied and that nobody wants any more.
 */
import type { CrashGuard } from '../../core/crash/crash-guard.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import type { ObjectHealth } from '../../core/object/health.ts';
import { parseKey } from '../../core/object/key.ts';
import { withKeysOnce } from '../../core/object/list-keys.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { ifRoom } from '../../core/store/room.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { signatureOf } from '../cluster/mark.ts';
import type { Delivery, Desired } from '../desired/desired.ts';
import type { ObjectObservation } from '../observe/observer.ts';
import type { Autoscalers } from './autoscalers.ts';
import { Corrections } from './corrections.ts';
import { type DesiredObject, decide, isApplied } from './decide.ts';
import { Execution } from './execution.ts';
import { FieldConflictBackoff } from './field-conflict-backoff.ts';
import { withoutInjected } from './injected-fields.ts';
import { InterceptorWaits } from './interceptor-waits.ts';
import { ObjectWriter } from './object-writer.ts';
import { definitionKeyOf, isInterceptor, isNamespaceKey, namespaceKeyOf, phaseOf } from './order.ts';
import type { OwnerRecords } from './owner-records.ts';
import { releaseOwnership } from './ownership-release.ts';
import { type ApplyProgress, type ApplyStep, ProgressReports } from './progress.ts';
import type { RemovalObstacle } from './removal-progress.ts';
import { Remover } from './remover.ts';
import { asServed } from './served-version.ts';
import { autoscalersUnknown, poisoned, undecided, unserved, waitingFor, yielded } from './steps.ts';
import { DependencyWaits, isMissingNamespace, targetOf } from './waiting.ts';
import { WorkQueue } from './work-queue.ts';

export interface ApplierPorts {
  /** The path of the agent. */
  readonly path: string;
  /** True: the applier applies and removes nothing before `resume`. */
  readonly isHeldBack?: boolean;
  readonly cluster: Cluster;
  readonly desired: Desired;
  readonly records: OwnerRecords;
  readonly autoscalers: Pick<Autoscalers, 'scales'>;
  readonly crashes: CrashGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /**
   * Returns the placement of the source whose upsync rules take the object. The agent does not write such an object. 'unknown': the answer is not known yet; the owner of
   * the applier calls `wantedChanged` when the answer is known.
   */
  takerOf(
    source: string,
    key: string,
    object: KubeObject,
  ): Promise<{ readonly id: PlacementId | undefined } | 'unknown'>;
  /** The newest health of an applied object. Undefined: the cluster has not reported the object yet. */
  healthOf(key: string): ObjectHealth | undefined;
  /** Whether the object has finalizers of controllers (core/object/finalizers.ts). Undefined: the cluster has not reported the object yet. */
  hasFinalizers(key: string): boolean | undefined;
  /** Resolves when everything written so far is durable. */
  flushed(): Promise<void>;
}

export interface ApplierEvents {
  progress(key: string): void;
  /** Called with the cluster's own answer about an object of this agent. */
  seen(key: string, live: KubeObject): void;
  /** Called when the object got a record, or when its record was deleted. */
  recorded(key: string): void;
  /** Called when the work on the object has ended. No more work follows before somebody adds the object again. */
  workEnded(key: string): void;
  /** Called with the reason why an unwanted object is still on the cluster. Undefined: nothing hinders its removal any more. */
  obstacleChanged(key: string, obstacle: RemovalObstacle | undefined): void;
}

/** How many requests run at once: enough to hide the latency of the cluster, and few enough for the API server of a small machine. */
const concurrency = 8;

/** The field that an autoscaler changes. */
const replicasField = '.spec.replicas';

export class Applier {
  readonly #ports: ApplierPorts;
  readonly #writer: ObjectWriter;
  readonly #execution: Execution;
  readonly #remover: Remover;
  readonly #queue: WorkQueue;
  readonly #progress: ProgressReports;
  readonly #waiting = new DependencyWaits((key, fresh) => this.#queue.add(key, fresh));
  readonly #interceptors: InterceptorWaits;
  readonly #corrections: Corrections;
  readonly #fieldConflictBackoff: FieldConflictBackoff;
  /** The uid of each object that was deleted before it had ended, and that the agent has not made again yet. Keyed by object key. */
  readonly #deletedEarly = new Map<string, string>();

  constructor(ports: ApplierPorts, events: ApplierEvents) {
    this.#ports = ports;
    this.#progress = new ProgressReports((key) => events.progress(key));
    this.#writer = new ObjectWriter(ports, events);
    const { path, cluster, records, clock, random, logger } = ports;
    this.#corrections = new Corrections(clock);
    this.#fieldConflictBackoff = new FieldConflictBackoff(clock, (key) => this.#queue.add(key));
    this.#execution = new Execution({
      writer: this.#writer,
      progress: this.#progress,
      fieldConflictBackoff: this.#fieldConflictBackoff,
      endedOf: (key) => records.endedOf(key),
      takeBack: (key) => this.#remover.takeBack(key),
      seen: (key, live) => events.seen(key, live),
    });
    this.#interceptors = new InterceptorWaits({
      ...ports,
      progress: this.#progress,
      waiting: this.#waiting,
      healthOf: (key) => ports.healthOf(key),
      enqueueAfter: (key, delayMs) => this.#queue.addAfter(key, delayMs),
    });
    this.#remover = new Remover(
      {
        path,
        cluster,
        records,
        clock,
        logger,
        isWanted: (key) => this.#isWanted(key),
        deliveries: (key) => ports.desired.deliveries(key),
        isPlaced: (id) => ports.desired.placement(id) !== undefined,
        takerOf: (source, key, live) => ports.takerOf(source, key, live),
        hasFinalizers: (key) => ports.hasFinalizers(key),
      },
      {
        recorded: (key) => events.recorded(key),
        obstacleChanged: (key, obstacle) => events.obstacleChanged(key, obstacle),
        enqueue: (key) => this.#queue.add(key),
      },
    );
    const priority = (key: string) => (this.#isWanted(key) ? phaseOf(key) : this.#remover.priorityOf(key));
    this.#queue = new WorkQueue({
      clock,
      random,
      concurrency,
      priority,
      isHeldBack: ports.isHeldBack ?? false,
      companyOf: (key) => ports.crashes.companyOf(key),
      work: (key) => this.#guarded(key),
      ended: (key) => events.workEnded(key),
    });
  }

  /** Looks at every desired object and at every object on record. */
  start(): void {
    for (const key of this.#ports.desired.objects()) this.#queue.add(key);
    for (const key of this.#ports.records.keys()) {
      this.#remover.wantedChanged(key);
      this.#queue.add(key);
    }
  }

  resume(): void {
    this.#queue.resume();
  }

  /** Called when the desired state of these objects has changed. `before`: the placements that wanted an object before, of one source. */
  wantedChanged(
    keys: Iterable<string>,
    before: readonly { key: string; placements: readonly PlacementId[] }[] = [],
  ): void {
    for (const { key, placements } of before) ifRoom(() => this.#remover.wantedBefore(key, placements));
    for (const key of keys) {
      this.#recordDelivery(key);
      this.#remover.wantedChanged(key);
      this.#queue.add(key, true);
    }
  }

  /** Called when these placements have changed, perhaps because all their objects have arrived, or because they are withdrawn. */
  placementsChanged(ids: Iterable<PlacementId>): void {
    for (const id of ids) {
      if (this.#ports.desired.placement(id)) this.#waiting.arrived(targetOf(id));
      else this.#remover.withdrawn(id);
    }
  }

  /** Called when the cluster has reported a state of the object. */
  observed(key: string): void {
    this.#interceptors.observed(key);
  }

  /** Called when the way to remove these objects has changed. The signature on each object has to name the new way. */
  deletionChanged(keys: Iterable<string>): void {
    for (const key of keys) {
      this.#recordDelivery(key);
      this.#queue.add(key);
    }
  }

  /**
   * Records how to remove the object. The record must be durable before the cluster answers: the `t/` row that names the way disappears together with the row
   * of the object.
   */
  #recordDelivery(key: string): void {
    const [winner] = this.#ports.desired.deliveries(key);
    // If there is no room, the work on the object also records the way, and runs again until there is room.
    if (winner) ifRoom(() => this.#writer.noteDelivery(winner));
  }

  /** Called when the object on the cluster differs from the applied object. The agent corrects it, at a bounded rate. */
  drifted(key: string): void {
    const delayMs = this.#corrections.delayMs(key);
    if (delayMs === 0) this.#queue.add(key);
    else this.#queue.addAfter(key, delayMs);
  }

  /** Called when an object of this agent has ended by itself, with its last observation. */
  ended(key: string, observation: ObjectObservation): void {
    const record = this.#ports.records.get(key);
    if (!record || record.ended || record.uid !== observation.uid) return;
    try {
      this.#ports.records.setEnded(key, record, observation);
    } catch (error) {
      // The disk is full. The cluster reports the end once more together with the deletion.
      if (!(error instanceof BanyanError) || error.code !== 'StoreFull') throw error;
    }
  }

  /** Called when somebody has deleted an object before it had ended. */
  deletedEarly(key: string, uid: string): void {
    if (this.#ports.records.get(key)?.uid === uid) this.#deletedEarly.set(key, uid);
  }

  /** Called when the kinds that the cluster serves have changed. */
  kindsChanged(): void {
    this.#waiting.kindsChanged();
  }

  /** Tries the object once more. */
  enqueue(key: string): void {
    this.#queue.add(key);
  }

  progress(key: string): ApplyProgress | undefined {
    return this.#progress.of(key);
  }

  /** Whether the agent is working on the object. Events of the cluster about the object may then come from this work. */
  isBusy(key: string): boolean {
    return this.#queue.isRunning(key);
  }

  /**
   * Whether the applier has to look at the object because of drift. Either the object on the cluster differs from the applied object, which is still
   * desired; or the object was reported as different, and perhaps does not differ any more.
   */
  hasDrifted(key: string, live: KubeObject): boolean {
    const record = this.#ports.records.get(key);
    const [winner] = this.#ports.desired.deliveries(key);
    if (!record || !winner || winner.createOnly) return false;
    if (record.bodyHash !== winner.bodyHash || record.source !== winner.source) return false;
    if (winner.rules.drift === 'Ignore') return false;
    const isAsItWas = isApplied(this.#wantedOf(winner, this.#ports.desired.object(winner)), record, live);
    const progress = this.#progress.of(key);
    return !isAsItWas || (progress?.phase === 'applied' && progress.drift !== undefined);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async stop(): Promise<void> {
    this.#fieldConflictBackoff.stop();
    await this.#queue.stop();
    this.#remover.stop();
  }

  async #guarded(key: string): Promise<'done' | 'retry'> {
    const { desired, crashes } = this.#ports;
    const [winner] = desired.deliveries(key);
    const result = await crashes.work(key, winner ? `${winner.source} ${winner.bodyHash}` : '', () => this.#work(key));
    if (result !== 'quarantined') return result;
    if (winner) this.#progress.report(winner, poisoned);
    else this.#remover.tried(key);
    return 'done';
  }

  async #work(key: string): Promise<'done' | 'retry'> {
    const [winner] = this.#ports.desired.deliveries(key);
    const namespace = namespaceKeyOf(parseKey(key));
    const wasThere = { self: this.#progress.isThere(key), namespace: this.#progress.isThere(namespace) };
    try {
      return await (winner ? this.#applyDelivery(winner) : this.#remove(key));
    } catch (error) {
      const reason = error instanceof BanyanError ? error.code : 'Internal';
      const expected = winner && reason === 'Internal' ? await this.#interceptors.conversionOf(winner) : undefined;
      if (winner && expected) return this.#waitWith(winner, expected);
      this.#ports.logger.warn({ object: key, reason, error: describeError(error) }, 'the cluster refused an object');
      if (winner) this.#progress.report(winner, { phase: 'failed', reason, message: describeError(error) });
      else this.#remover.refused(key, reason, describeError(error));
      if (winner && namespace && isMissingNamespace(error)) this.#waitForNamespace(key, namespace, wasThere.namespace);
      return 'retry';
    } finally {
      // Objects that depend on this one may go on even if the object is not in the desired state.
      if (!wasThere.self && this.#progress.isThere(key)) this.#waiting.arrived(key);
    }
  }

  /**
   * Called when the cluster has refused the object because its namespace is missing. The namespace may have arrived in a later batch than the object, or
   * during the request. The object must not wait for the end of its long backoff when the namespace exists. The agent does not watch a namespace of somebody
   * else, which may have been deleted meanwhile. So the agent looks at the namespace again.
   */
  #waitForNamespace(key: string, namespace: string, wasThere: boolean): void {
    if (!wasThere && this.#progress.isThere(namespace)) return this.#queue.add(key, true);
    this.#waiting.await([namespace], key);
    if (this.#progress.hasFailed(namespace)) this.#queue.add(namespace);
  }

  async #applyDelivery(delivery: Delivery): Promise<'done' | 'retry'> {
    const { cluster, desired } = this.#ports;
    const { key } = delivery;
    const sent = desired.object(delivery);
    const once = withKeysOnce(sent);
    // The cluster would refuse the object at each try. So the agent waits for another content, and sends nothing.
    if ('why' in once) return this.#invalid(delivery, once.why);
    const taker = await this.#ports.takerOf(delivery.source, key, sent);
    if (taker === 'unknown') return this.#undecided(delivery, undecided(key));
    if (taker.id !== undefined) {
      const live = await cluster.get(parseKey(key));
      const appliedFor = live && signatureOf(live)?.source;
      // A rule takes nothing that was applied for another source. So this source first gives the object its own content, and then yields.
      if ((appliedFor ?? delivery.source) === delivery.source) return this.#yield(delivery, taker.id, live);
    }
    const namespace = namespaceKeyOf(parseKey(key));
    if (namespace && this.#isExpected(namespace)) return this.#waitFor(delivery, namespace, 'WaitingForNamespace');
    // The wait is registered before the request, so that the agent does not miss a kind that the cluster begins to serve meanwhile.
    this.#waiting.awaitKind(key);
    const served = await asServed(cluster, key, sent);
    if (!('object' in served)) return this.#notServed(delivery, sent, served.why);
    const { object } = served;
    this.#waiting.needsNoKind(key);
    // A new object gets the desired number of replicas, also under an autoscaler. An existing one must not lose the number of its autoscaler.
    const isScaled = this.#ports.autoscalers.scales(key, object);
    if (isScaled === 'unknown' && this.#ports.records.get(key)) return this.#undecided(delivery, autoscalersUnknown);
    const wanted = this.#wantedOf(delivery, object);
    if (!isInterceptor(key)) return this.#bring(wanted);
    const turn = await this.#interceptors.turnOf(wanted);
    if (turn.do === 'wait') return this.#waitWith(delivery, turn.step);
    const result = await this.#bring(turn.wanted);
    return turn.step && result === 'done' ? this.#waitWith(delivery, turn.step) : result;
  }

  async #bring(wanted: DesiredObject & Delivery): Promise<'done' | 'retry'> {
    const { cluster, path, records } = this.#ports;
    const { key, object } = wanted;
    if (await this.#execution.tryNew(wanted)) return this.#arrived(key);
    // Asks for the version in which the agent applies the object: in other versions, the fields that the agent compares or leaves alone may be at another
    // place.
    const live = await cluster.get(parseKey(key), parseApiVersion(object.apiVersion).version);
    const found = { record: records.get(key), live };
    this.#execution.looked(found);
    const sawDeletion = found.record !== undefined && this.#deletedEarly.get(key) === found.record.uid;
    const decision = decide(wanted, found.record, live, path, sawDeletion);
    if (live) this.#deletedEarly.delete(key);
    if (isNamespaceKey(key)) this.#progress.noteNamespace(key, live !== undefined && decision.do !== 'wait');
    const result = await this.#execution.carryOut(decision, wanted, found);
    return result === 'done' ? this.#arrived(key) : result;
  }

  #invalid(delivery: Delivery, message: string): 'done' {
    this.#progress.report(delivery, { phase: 'failed', reason: 'Invalid', message });
    return 'done';
  }

  #arrived(key: string): 'done' {
    this.#interceptors.forget(key);
    this.#waiting.arrived(key);
    return 'done';
  }

  /** Called when an upsync rule takes the object. From now on the object belongs to the cluster: the agent neither corrects nor removes it. */
  async #yield(delivery: Delivery, taker: PlacementId, live: KubeObject | undefined): Promise<'done' | 'retry'> {
    const { key } = delivery;
    const { logger, records } = this.#ports;
    const record = records.get(key);
    this.#progress.report(delivery, yielded(taker));
    if (record) this.#remover.forget(key);
    try {
      if (live) await releaseOwnership(this.#ports, key, record, live);
    } catch (error) {
      logger.warn(
        { object: key, error: describeError(error) },
        'the mark is still on an object that belongs to the cluster now',
      );
      return 'retry';
    }
    return this.#arrived(key);
  }

  /**
   * Called when it is not known yet whether the object, or a field of it, belongs to the cluster. A previous report about this content stays. If the content
   * is new, the progress reports that the agent waits for the answer.
   */
  #undecided(delivery: Delivery, step: ApplyStep): 'retry' {
    if (!this.#progress.isAbout(delivery)) this.#progress.report(delivery, step);
    return 'retry';
  }

  /** The desired object, with the rules as they are in effect on this cluster now. */
  #wantedOf(delivery: Delivery, object: KubeObject): DesiredObject & Delivery {
    const { key, implied, placements, rules } = delivery;
    const isOnlyNeeded = placements.length > 0 && placements.every((id) => implied.includes(id));
    const isScaled = this.#ports.autoscalers.scales(key, object) === true;
    const ignored = isScaled ? [...rules.ignored, replicasField] : rules.ignored;
    return { ...delivery, object: withoutInjected(object), isOnlyNeeded, rules: { ...rules, ignored } };
  }

  /** Whether the object is desired and is not on the cluster yet. */
  #isExpected(key: string): boolean {
    return this.#isWanted(key) && !this.#progress.isThere(key);
  }

  #isWanted(key: string): boolean {
    return this.#ports.desired.deliveries(key).length > 0;
  }

  /** `why` names the versions that the cluster serves instead. Undefined: the cluster does not serve the kind in any version. */
  #notServed(delivery: Delivery, object: KubeObject, why: string | undefined): 'retry' {
    const definition = definitionKeyOf(parseKey(delivery.key));
    // If the cluster serves another version and has refused the definition, waiting is useless: the object is reported now.
    const isRefused = definition !== undefined && this.#progress.hasFailed(definition);
    if (definition && (why === undefined ? this.#isWanted(definition) : this.#isExpected(definition) && !isRefused)) {
      return this.#waitFor(delivery, definition, 'WaitingForKind');
    }
    this.#progress.report(delivery, unserved(delivery.key, object, why));
    return 'retry';
  }

  /** Waits for another object. The retry covers the case that this agent never brings the other object to the cluster. */
  #waitFor(delivery: Delivery, blocker: string, reason: 'WaitingForNamespace' | 'WaitingForKind'): 'retry' {
    this.#waiting.await([blocker], delivery.key);
    return this.#waitWith(delivery, waitingFor(blocker, reason));
  }

  #waitWith(delivery: Delivery, step: ApplyStep): 'retry' {
    this.#progress.report(delivery, step);
    return 'retry';
  }

  #remove(key: string): Promise<'done' | 'retry'> {
    this.#progress.forget(key);
    this.#interceptors.forget(key);
    this.#deletedEarly.delete(key);
    this.#waiting.forget(key);
    return this.#remover.remove(key);
  }
}
