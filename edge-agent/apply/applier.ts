/**
 * Brings the cluster to what is desired, one object at a time and always from the state as it is now: what is wanted, what was
 * recorded, what the cluster holds. Applies what is missing or different, removes what is wanted no more and was ours.
 */
import type { CrashGuard } from '../../core/crash/crash-guard.ts';
import { formatGroupResource, parseKey } from '../../core/object/key.ts';
import { type KubeObject, parseApiVersion } from '../../core/object/meta.ts';
import { leavingWords, terminating } from '../../core/object/terminating.ts';
import type { Clock } from '../../core/runtime/clock.ts';
import { BanyanError, describeError } from '../../core/runtime/errors.ts';
import type { Logger } from '../../core/runtime/logger.ts';
import type { Random } from '../../core/runtime/random.ts';
import { type PlacementId, splitPlacementId } from '../../core/wire/entries.ts';
import type { Cluster } from '../cluster/cluster.ts';
import type { Delivery, Desired } from '../desired/desired.ts';
import { unasked } from '../observe/reported-state.ts';
import { Corrections } from './corrections.ts';
import { decide, isApplied, type Wanted } from './decide.ts';
import { fightWords } from './drift.ts';
import { Fights } from './fights.ts';
import { ignoredOf, withoutFields } from './ignored-fields.ts';
import type { Hindrance } from './leaving.ts';
import { released } from './mark.ts';
import { Novelty } from './novelty.ts';
import { isAboutImmutable, ObjectWriter } from './object-writer.ts';
import { definitionKeyOf, isDefinition, isNamespace, namespaceKeyOf, phaseOf } from './order.ts';
import type { OwnerRecord, OwnerRecords } from './owner-records.ts';
import { ownedFields } from './projection.ts';
import { removalOf } from './removal.ts';
import { type InServedVersion, inServedVersion } from './served-version.ts';
import { WorkQueue } from './work-queue.ts';

/** How far an object has come, about the delivery that wins at the time. */
export type Progress = Step & { readonly source: string; readonly bodyHash: string };

export type Step =
  /** `drift`: somebody has changed it since, and it is left so. `fight`: somebody changes it again and again, and it is put back. */
  | { readonly phase: 'applied'; readonly drift?: string; readonly fight?: string }
  /** Something else has to happen first; it goes on by itself. */
  | { readonly phase: 'waiting'; readonly reason: string; readonly message: string }
  | { readonly phase: 'failed'; readonly reason: string; readonly message: string }
  /** The object is the cluster's own: a rule of upsync takes it. */
  | { readonly phase: 'yielded'; readonly reason: string; readonly message: string };

export interface ApplierPorts {
  /** Of the agent. */
  readonly path: string;
  /** Nothing is applied or removed before `resume`. */
  readonly isHeldBack?: boolean;
  readonly cluster: Cluster;
  readonly desired: Desired;
  readonly records: OwnerRecords;
  readonly crashes: CrashGuard;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** The placement whose rules of upsync take the object, so that it is not written; 'unknown': it is wanted anew (`wantedChanged`) when that can be said. */
  takerOf(key: string, object: KubeObject): Promise<{ readonly id: PlacementId | undefined } | 'unknown'>;
  /** Resolves when everything written so far is durable. */
  flushed(): Promise<void>;
}

export interface ApplierEvents {
  /** The object's progress has changed. */
  progress(key: string): void;
  /** The cluster's own answer about an object that is ours. */
  seen(key: string, live: KubeObject): void;
  /** The object has a record now, or has none any more. */
  recorded(key: string): void;
  /** The work on the object has ended, until something touches it again. */
  rested(key: string): void;
  /** Why what is wanted no more is still there; undefined: nothing is in its way any more. */
  hindered(key: string, hindrance: Hindrance | undefined): void;
}

/** Requests to the cluster at once: enough to hide its latency, few enough for a small machine's API server. */
const concurrency = 8;

export class Applier {
  readonly #ports: ApplierPorts;
  readonly #events: ApplierEvents;
  readonly #writer: ObjectWriter;
  readonly #queue: WorkQueue;
  readonly #novelty = new Novelty();
  readonly #progress = new Map<string, Progress>();
  /** Key of what has to come first -> keys that wait for it. */
  readonly #blocked = new Map<string, Set<string>>();
  /** Keys whose kind the cluster does not serve. */
  readonly #unserved = new Set<string>();
  readonly #corrections: Corrections;
  readonly #fights: Fights;

  constructor(ports: ApplierPorts, events: ApplierEvents) {
    this.#ports = ports;
    this.#events = events;
    this.#writer = new ObjectWriter(ports, events);
    const { clock, random } = ports;
    this.#corrections = new Corrections(clock);
    this.#fights = new Fights(clock, (key) => this.#queue.add(key));
    const priority = (key: string) => (ports.desired.deliveries(key).length > 0 ? phaseOf(key) : -phaseOf(key));
    this.#queue = new WorkQueue({
      clock,
      random,
      concurrency,
      priority,
      isHeldBack: ports.isHeldBack ?? false,
      companyOf: (key) => ports.crashes.companyOf(key),
      work: (key) => this.#guarded(key),
      ended: (key) => events.rested(key),
    });
  }

  /** Looks at everything that is wanted and everything that was applied. */
  start(): void {
    for (const key of this.#ports.desired.objects()) this.#queue.add(key);
    for (const key of this.#ports.records.keys()) this.#queue.add(key);
  }

  resume(): void {
    this.#queue.resume();
  }

  /** What is wanted has changed. */
  wantedChanged(keys: Iterable<string>): void {
    for (const key of keys) this.#queue.add(key, true);
  }

  /** Objects are to be removed in another way than before: noted durably, since what says so goes with the object's row. */
  deletionChanged(keys: Iterable<string>): void {
    for (const key of keys) {
      const [winner] = this.#ports.desired.deliveries(key);
      if (winner) this.#writer.noteDelivery(winner);
    }
  }

  /** The object on the cluster is not what was applied: it is put back, at a bounded rate. */
  drifted(key: string): void {
    const delayMs = this.#corrections.delayMs(key);
    if (delayMs === 0) this.#queue.add(key);
    else this.#queue.addAfter(key, delayMs);
  }

  /** The cluster serves other kinds than before. */
  kindsChanged(): void {
    for (const key of this.#unserved) this.#queue.add(key);
  }

  /** It is to be tried once more. */
  due(key: string): void {
    this.#queue.add(key);
  }

  progress(key: string): Progress | undefined {
    return this.#progress.get(key);
  }

  /** The object is being worked on: what the cluster tells of it meanwhile may be the work's own doing. */
  isBusy(key: string): boolean {
    return this.#queue.isRunning(key);
  }

  /** Whether the cluster's object differs from what was applied and is still wanted, or does so no more. */
  hasDrifted(key: string, live: KubeObject): boolean {
    const record = this.#ports.records.get(key);
    const [winner] = this.#ports.desired.deliveries(key);
    if (!record || !winner || winner.createOnly) return false;
    if (record.bodyHash !== winner.bodyHash || record.source !== winner.source) return false;
    if (winner.rules.drift === 'Ignore') return false;
    const isAsItWas = isApplied({ ...winner, object: this.#ports.desired.object(winner) }, record, live);
    const progress = this.#progress.get(key);
    return !isAsItWas || (progress?.phase === 'applied' && progress.drift !== undefined);
  }

  idle(): Promise<void> {
    return this.#queue.idle();
  }

  async stop(): Promise<void> {
    this.#fights.stop();
    await this.#queue.stop();
  }

  async #guarded(key: string): Promise<'done' | 'retry'> {
    const { desired, crashes } = this.#ports;
    const [winner] = desired.deliveries(key);
    const result = await crashes.work(key, winner ? `${winner.source} ${winner.bodyHash}` : '', () => this.#work(key));
    if (result !== 'quarantined') return result;
    // As a failure of it, so that what needs it waits. Why, says the agent (desired/poisoned.ts).
    if (winner) this.#report(winner, { phase: 'failed', reason: 'Poisoned', message: 'it is quarantined' });
    return 'done';
  }

  async #work(key: string): Promise<'done' | 'retry'> {
    const [winner] = this.#ports.desired.deliveries(key);
    const namespace = namespaceKeyOf(parseKey(key));
    const wasThere = this.#isThere(namespace);
    try {
      return await (winner ? this.#bring(winner) : this.#remove(key));
    } catch (error) {
      const reason = error instanceof BanyanError ? error.code : 'Internal';
      this.#ports.logger.warn({ object: key, reason, error: describeError(error) }, 'the cluster refused an object');
      if (winner) this.#report(winner, { phase: 'failed', reason, message: describeError(error) });
      else this.#refused(key, reason, describeError(error));
      if (winner && namespace && reason === 'NotFound') this.#missing(key, namespace, wasThere);
      return 'retry';
    }
  }

  /**
   * Its namespace may have come in a later batch than the object, or has come while it was asked for: the object is not to wait as long as it has waited
   * before it can be there.
   */
  #missing(key: string, namespace: string, wasThere: boolean): void {
    if (!wasThere && this.#isThere(namespace)) this.#queue.add(key, true);
    else this.#await(namespace, key);
  }

  // ------------------------------------------------------------------------------------------------------- apply

  async #bring(delivery: Delivery): Promise<'done' | 'retry'> {
    const { cluster, records } = this.#ports;
    const { key } = delivery;
    const sent = this.#ports.desired.object(delivery);
    const taker = await this.#ports.takerOf(key, sent);
    if (taker === 'unknown') return this.#undecided(delivery);
    if (taker.id !== undefined) return this.#yield(delivery, taker.id);
    const namespace = namespaceKeyOf(parseKey(key));
    if (namespace && this.#isComing(namespace)) return this.#block(delivery, namespace, 'WaitingForNamespace');
    // Noted before asking, so that a kind that comes in the meantime is not missed.
    this.#unserved.add(key);
    const isServed = (await cluster.resourceOf(sent.apiVersion, sent.kind)) !== undefined;
    const inVersion = isServed ? { object: sent } : await this.#inServedVersion(key, sent);
    if (!('object' in inVersion)) return this.#notServed(delivery, sent, inVersion.why);
    const { object } = inVersion;
    this.#unserved.delete(key);
    const wanted = { ...delivery, object };
    if (this.#isLikelyNew(wanted) && (await this.#made(wanted))) return 'done';
    // In the version that was, or is to be, applied: what is compared with it, or left as the cluster has it, stands elsewhere in others.
    const live = await cluster.get(parseKey(key), parseApiVersion(object.apiVersion).version);
    const record = records.get(key);
    if (!record) this.#novelty.note(live === undefined);
    const decision = decide(wanted, record, live, this.#ports.path);
    switch (decision.do) {
      case 'keep':
        this.#writer.keep(delivery);
        this.#reportApplied(delivery);
        if (live) this.#events.seen(key, live);
        break;
      case 'apply':
        if (await this.#replaced(wanted, live, decision.created, record)) return 'retry';
        this.#reportApplied(delivery);
        break;
      case 'compare':
        await this.#compare(wanted, decision.live);
        break;
      case 'wait':
        this.#report(delivery, { phase: 'waiting', reason: decision.reason, message: decision.message });
        return 'retry';
      case 'refuse':
        this.#report(delivery, { phase: 'failed', reason: decision.reason, message: decision.message });
        return 'retry';
    }
    this.#unblock(key);
    return 'done';
  }

  /** What was refused once is known to be there, or is refused again. */
  #isLikelyNew(wanted: Wanted & Delivery): boolean {
    return (
      this.#writer.mayCreate(wanted) && this.#novelty.isLikely && this.#progress.get(wanted.key)?.phase !== 'failed'
    );
  }

  /** Made without a look; false: it has to be looked at. */
  async #made(wanted: Wanted & Delivery): Promise<boolean> {
    if (!(await this.#writer.create(wanted))) return false;
    this.#novelty.note(true);
    this.#report(wanted, { phase: 'applied' });
    this.#unblock(wanted.key);
    return true;
  }

  /** Applies it; true: it could not be changed, and was removed to be made anew. */
  async #replaced(
    wanted: Wanted & Delivery,
    live: KubeObject | undefined,
    created: boolean,
    before: OwnerRecord | undefined,
  ): Promise<boolean> {
    try {
      const answer = await this.#writer.apply(wanted, live, created);
      if (before?.bodyHash === wanted.bodyHash && before.source === wanted.source) this.#putBack(wanted, live, answer);
      return false;
    } catch (error) {
      if (await this.#writer.replace(wanted, live, error)) {
        const message = `a field of it can't be changed: it is removed and made anew (spec.replace: IfImmutable). ${describeError(error)}`;
        this.#report(wanted, { phase: 'waiting', reason: 'Replacing', message });
        return true;
      }
      if (!isAboutImmutable(error) || wanted.rules.replace) throw error;
      const hint = 'with spec.replace: IfImmutable in its EdgePlacement it would be removed and made anew';
      throw new BanyanError('Invalid', `${describeError(error)}; ${hint}`, {}, { cause: error });
    }
  }

  /** Nothing else is wanted of it than before: somebody had changed or deleted it. */
  #putBack({ key, object, rules }: Wanted & Delivery, live: KubeObject | undefined, answer: KubeObject): void {
    const ignored = ignoredOf(object, rules);
    const own = (one: KubeObject) => withoutFields(one, ignored);
    this.#fights.putBack(key, fightWords(ownedFields(answer), own(answer), live && own(live)));
  }

  #reportApplied(delivery: Delivery): void {
    const fight = this.#fights.wordsOf(delivery.key);
    this.#report(delivery, { phase: 'applied', ...(fight === undefined ? {} : { fight }) });
  }

  /** Somebody has changed it, and it is not put back. */
  async #compare(wanted: Wanted & Delivery, live: KubeObject): Promise<void> {
    this.#writer.keep(wanted);
    const drift = await this.#writer.driftOf(wanted, live);
    this.#report(wanted, { phase: 'applied', ...(drift === '' ? {} : { drift }) });
    this.#events.seen(wanted.key, live);
  }

  /** From now on it is the cluster's: neither put back nor removed, as long as a rule takes it. */
  #yield(delivery: Delivery, taker: PlacementId): 'done' {
    const { source, name } = splitPlacementId(taker);
    const message = `EdgePlacement ${name} of ${source} takes this object up from the cluster (spec.upsync): what is sent down is not applied`;
    this.#report(delivery, { phase: 'yielded', reason: 'Conflicted', message });
    if (this.#ports.records.get(delivery.key)) this.#forget(delivery.key);
    this.#unblock(delivery.key);
    return 'done';
  }

  /** Whether the object is the cluster's own is not known. What was said of this content stays; nothing is said of new content before an answer has taken long. */
  #undecided(delivery: Delivery): 'retry' {
    const { key, source, bodyHash } = delivery;
    const said = this.#progress.get(key);
    if (said?.source === source && said.bodyHash === bodyHash) return 'retry';
    const message = `waiting for the cluster to list its ${formatGroupResource(parseKey(key))}, since a spec.upsync may take this object up`;
    this.#report(delivery, { phase: 'waiting', reason: unasked, message });
    return 'retry';
  }

  /** It is wanted too, and not there yet. */
  #isComing(key: string): boolean {
    return this.#isWanted(key) && !this.#isThere(key);
  }

  #isThere(key: string | undefined): boolean {
    const phase = key === undefined ? undefined : this.#progress.get(key)?.phase;
    return phase === 'applied' || phase === 'yielded';
  }

  #isWanted(key: string): boolean {
    return this.#ports.desired.deliveries(key).length > 0;
  }

  async #inServedVersion(key: string, object: KubeObject): Promise<InServedVersion> {
    const { cluster } = this.#ports;
    const definition = definitionKeyOf(parseKey(key));
    const live = definition === undefined ? undefined : await this.#seen(definition);
    return inServedVersion(object, await cluster.served(), live);
  }

  /** Undefined also where the agent may not look. */
  async #seen(key: string): Promise<KubeObject | undefined> {
    try {
      return await this.#ports.cluster.get(parseKey(key));
    } catch (error) {
      if (error instanceof BanyanError && error.code === 'Forbidden') return undefined;
      throw error;
    }
  }

  /** `why`: in words what is served instead. */
  #notServed(delivery: Delivery, object: KubeObject, why: string | undefined): 'done' | 'retry' {
    const key = parseKey(delivery.key);
    const definition = definitionKeyOf(key);
    // Where the kind is served in another version, a definition that was refused is waited for no more.
    const isRefused = definition !== undefined && this.#progress.get(definition)?.phase === 'failed';
    if (definition && (why === undefined ? this.#isWanted(definition) : this.#isComing(definition) && !isRefused)) {
      return this.#block(delivery, definition, 'WaitingForKind');
    }
    const remedy = why ?? 'install its CustomResourceDefinition';
    const message = `the cluster does not serve ${object.kind} of ${object.apiVersion} (${formatGroupResource(key)}); ${remedy}`;
    this.#report(delivery, { phase: 'failed', reason: 'UnknownKind', message });
    return 'retry';
  }

  /** Waits for another object; the retry is for the case that it never comes by way of this agent. */
  #block(delivery: Delivery, blocker: string, reason: string): 'retry' {
    this.#await(blocker, delivery.key);
    const { group, resource, name } = parseKey(blocker);
    const message = `waiting for ${formatGroupResource({ group, resource })} ${name}`;
    this.#report(delivery, { phase: 'waiting', reason, message });
    return 'retry';
  }

  #await(blocker: string, key: string): void {
    const waiting = this.#blocked.get(blocker) ?? new Set();
    this.#blocked.set(blocker, waiting.add(key));
  }

  #unblock(key: string): void {
    for (const waiting of this.#blocked.get(key) ?? []) this.#queue.add(waiting, true);
    this.#blocked.delete(key);
    if (isDefinition(key)) this.kindsChanged();
  }

  #report(delivery: Delivery, step: Step): void {
    const { key, source, bodyHash } = delivery;
    const next: Progress = { ...step, source, bodyHash };
    const before = this.#progress.get(key);
    if (before && JSON.stringify(before) === JSON.stringify(next)) return;
    this.#progress.set(key, next);
    this.#events.progress(key);
  }

  // ------------------------------------------------------------------------------------------------------ remove

  async #remove(key: string): Promise<'done' | 'retry'> {
    const { path, cluster, records } = this.#ports;
    this.#progress.delete(key);
    this.#unserved.delete(key);
    const record = records.get(key);
    if (!record) return 'done';
    if (isNamespace(key) && this.#holdsOwned(parseKey(key).name)) return 'done';
    const live = await cluster.get(parseKey(key));
    const decision = await removalOf(key, record, live, { path, cluster, applied: () => records.keys() });
    if (decision.do === 'wait') {
      if (live) this.#hinder(key, { reason: terminating, message: leavingWords(live), isRefused: false });
      return 'retry';
    }
    if (decision.do === 'remove') {
      await cluster.remove(parseKey(key), record.deletion ?? 'Background', decision.uid);
      if (await cluster.get(parseKey(key))) {
        // What it waits for is said when it is still there at the next look: most are gone by then.
        this.#hinder(key, undefined);
        return 'retry';
      }
    }
    if (decision.do === 'release' && live) await cluster.apply(released(live, record.deletion === 'Orphan'));
    if (decision.why !== undefined) {
      this.#ports.logger.warn({ object: key, reason: decision.why }, 'a definition stays on the cluster');
    }
    this.#forget(key);
    return 'done';
  }

  #refused(key: string, reason: string, words: string): void {
    const message = `the object is wanted no more, and removing it was refused: ${words}`;
    this.#hinder(key, { reason, message, isRefused: true });
  }

  #hinder(key: string, hindrance: Hindrance | undefined): void {
    // Wanted again since the work on it began: what is said of it is about the apply from now on.
    if (!this.#isWanted(key)) this.#events.hindered(key, hindrance);
  }

  /** A namespace goes when the last of our objects in it has gone, which looks at it again. */
  #holdsOwned(namespace: string): boolean {
    for (const key of this.#ports.records.keys()) if (parseKey(key).namespace === namespace) return true;
    return false;
  }

  #forget(key: string): void {
    this.#ports.records.delete(key);
    this.#events.recorded(key);
    const namespace = namespaceKeyOf(parseKey(key));
    if (namespace && this.#ports.records.get(namespace)) this.#queue.add(namespace);
  }
}
