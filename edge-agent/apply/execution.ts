/** Carries out a decision about a desired object, and reports the result. */
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, type ErrorCode } from '../../core/runtime/errors.ts';
import type { Delivery } from '../desired/desired.ts';
import type { ObjectObservation } from '../observe/observer.ts';
import { type Decision, type DesiredObject, refusedTakeOver } from './decide.ts';
import { fieldConflictMessage } from './drift.ts';
import type { FieldConflictBackoff } from './field-conflict-backoff.ts';
import { ignoredOf, withoutFields } from './ignored-fields.ts';
import { Novelty } from './novelty.ts';
import { isAboutImmutable, type ObjectWriter } from './object-writer.ts';
import type { OwnerRecord } from './owner-records.ts';
import type { ProgressReports } from './progress.ts';
import { ownedFields } from './projection.ts';
import { absent, applied, appliedWith, incomparable, irreplaceable, renewing, replacing } from './steps.ts';

export interface ExecutionPorts {
  readonly writer: ObjectWriter;
  readonly progress: ProgressReports;
  readonly fieldConflictBackoff: FieldConflictBackoff;
  /** The last observation of an object that has ended. */
  endedOf(key: string): ObjectObservation | undefined;
  /** Called when the object was applied. Returns true if this agent had asked the cluster to remove the object before. */
  takeBack(key: string): boolean;
  /** Called with the cluster's own answer about an object of this agent. */
  seen(key: string, live: KubeObject): void;
}

/** The record of an object, and the object as the cluster has it. */
export interface ClusterState {
  readonly record: OwnerRecord | undefined;
  readonly live: KubeObject | undefined;
}

/** Codes of a refused dry run: a policy refuses it, a webhook does not support dry runs or does not answer, or the agent lacks a permission. */
const refusals: ReadonlySet<ErrorCode> = new Set(['BadRequest', 'Forbidden', 'Invalid', 'Internal']);

export class Execution {
  readonly #ports: ExecutionPorts;
  readonly #novelty = new Novelty();

  constructor(ports: ExecutionPorts) {
    this.#ports = ports;
  }

  /** Creates the object without reading it before, if the object is likely new. False: nothing was created, and the caller has to read the object. */
  async tryNew(wanted: DesiredObject & Delivery): Promise<boolean> {
    const { writer, progress } = this.#ports;
    // An object whose creation the cluster has refused once exists already, or would be refused again.
    const isLikelyNew = writer.mayCreate(wanted) && this.#novelty.isLikely && !progress.hasFailed(wanted.key);
    if (!isLikelyNew || !(await writer.create(wanted))) return false;
    this.#novelty.note(true);
    progress.report(wanted, { phase: 'applied' });
    return true;
  }

  /** Called when the agent has read an object that `tryNew` did not create. */
  looked({ record, live }: ClusterState): void {
    if (!record) this.#novelty.note(live === undefined);
  }

  /** Returns 'retry' if the object is not in the desired state. */
  async carryOut(decision: Decision, wanted: DesiredObject & Delivery, found: ClusterState): Promise<'done' | 'retry'> {
    const { writer, progress } = this.#ports;
    switch (decision.do) {
      case 'keep':
        writer.keep(wanted);
        this.#reportApplied(wanted);
        if (found.live) this.#ports.seen(wanted.key, found.live);
        return 'done';
      case 'leaveAbsent':
        progress.report(wanted, absent(decision.absence, this.#ports.endedOf(wanted.key)?.health));
        return 'done';
      case 'apply': {
        const refusal = await this.#refusedTakeOver(wanted, found, decision);
        if (refusal) return this.carryOut(refusal, wanted, found);
        if (await this.#replaced(wanted, found, decision)) return 'retry';
        this.#reportApplied(wanted);
        return 'done';
      }
      case 'renew':
        if (found.live && (await writer.removeFormer(wanted, found.live))) {
          progress.report(wanted, renewing);
          return 'retry';
        }
        return this.carryOut({ do: 'apply', created: found.record?.created ?? false }, wanted, found);
      case 'compare':
        return this.#compare(wanted, decision.live);
      case 'wait':
        progress.report(wanted, { phase: 'waiting', reason: decision.reason, message: decision.message });
        return 'retry';
      case 'refuse':
        progress.report(wanted, { phase: 'failed', reason: decision.reason, message: decision.message });
        return 'retry';
    }
  }

  /** Returns the refusal if the object exists, and the rules let the agent take it over only without a change of the site's values. */
  async #refusedTakeOver(
    wanted: DesiredObject & Delivery,
    { live }: ClusterState,
    { takesOver }: Decision & { do: 'apply' },
  ): Promise<Decision | undefined> {
    if (takesOver !== 'yielding' || !live) return undefined;
    try {
      await this.#ports.writer.tryTakeOver(wanted, live);
      return undefined;
    } catch (error) {
      if (!(error instanceof BanyanError)) throw error;
      return refusedTakeOver(error.message);
    }
  }

  /** Applies the object. Returns true if the object could not be changed and was removed: the next try creates it again. */
  async #replaced(
    wanted: DesiredObject & Delivery,
    { record, live }: ClusterState,
    decision: Decision & { do: 'apply' },
  ): Promise<boolean> {
    const { writer, progress } = this.#ports;
    try {
      const answer = await this.#applied(wanted, live, decision);
      const wasOurs = this.#ports.takeBack(wanted.key);
      const isSame = record?.bodyHash === wanted.bodyHash && record.source === wanted.source;
      // If another store has applied the object, this agent does not know whether anything has changed since. If the rules left a field or a change to the
      // cluster before, the correction answers a change of the rules.
      const isKnown = isSame && record.fingerprint !== '' && hadSameFields(wanted, record);
      if (isKnown && !wasOurs && !decision.onlySignature && !this.#wasLeft(wanted))
        this.#noteCorrection(wanted, live, answer);
      return false;
    } catch (error) {
      if (await writer.replace(wanted, live, error)) {
        progress.report(wanted, replacing(error));
        return true;
      }
      throw isAboutImmutable(error) && !wanted.rules.replace ? irreplaceable(error) : error;
    }
  }

  /** Applies the object, and once more if fields that the cluster has filled in were in the way. */
  async #applied(
    wanted: DesiredObject & Delivery,
    live: KubeObject | undefined,
    decision: Decision & { do: 'apply' },
  ): Promise<KubeObject> {
    const { writer } = this.#ports;
    try {
      return await writer.apply(wanted, live, decision);
    } catch (error) {
      if (!(await writer.ownLeftFields(wanted, live, error))) throw error;
      return writer.apply(wanted, live, decision);
    }
  }

  /** Whether the rules left the object as somebody had changed it, or had deleted it, at the last look. */
  #wasLeft({ key }: Delivery): boolean {
    const step = this.#ports.progress.of(key);
    return step?.phase === 'absent' || (step?.phase === 'applied' && step.drift !== undefined);
  }

  /** Called when the desired content is the same as before: somebody had changed or deleted the object. */
  #noteCorrection(
    { key, object, rules }: DesiredObject & Delivery,
    live: KubeObject | undefined,
    answer: KubeObject,
  ): void {
    const ignored = ignoredOf(object, rules);
    const own = (one: KubeObject) => withoutFields(one, ignored);
    const message = fieldConflictMessage(ownedFields(answer), own(answer), live && own(live));
    // Without a message, no value was changed. For example, an autoscaler has come, and from now on a field belongs to it.
    if (message !== undefined) this.#ports.fieldConflictBackoff.corrected(key, message);
  }

  #reportApplied(delivery: Delivery): void {
    const { writer, fieldConflictBackoff, progress } = this.#ports;
    progress.report(
      delivery,
      applied({
        fieldConflict: fieldConflictBackoff.messageOf(delivery.key),
        isAdopted: writer.hasTakenOver(delivery.key),
      }),
    );
  }

  /** Reports how the object differs. Somebody has changed the object, and the rules do not let the agent correct it. */
  async #compare(wanted: DesiredObject & Delivery, live: KubeObject): Promise<'done' | 'retry'> {
    const { writer, progress } = this.#ports;
    writer.keep(wanted);
    this.#ports.seen(wanted.key, live);
    try {
      progress.report(wanted, appliedWith(await writer.driftOf(wanted, live)));
      return 'done';
    } catch (error) {
      // The comparison changes nothing. If the cluster refuses the dry run, or can't do it, the object has not failed.
      if (!(error instanceof BanyanError) || !refusals.has(error.code)) throw error;
      progress.report(wanted, appliedWith(incomparable(error)));
      return 'retry';
    }
  }
}

/** Whether the record is about the same fields as the present rules. */
function hadSameFields({ object, rules }: DesiredObject, { ignored = [] }: OwnerRecord): boolean {
  const now = ignoredOf(object, rules);
  return now.length === ignored.length && now.every((path, i) => path === ignored[i]);
}
