/** Does what was decided about an object that is wanted, and reports it. */
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError, type ErrorCode } from '../../core/runtime/errors.ts';
import type { Delivery } from '../desired/desired.ts';
import type { Decision, DesiredObject } from './decide.ts';
import { fieldConflictMessage } from './drift.ts';
import type { FieldConflictBackoff } from './field-conflict-backoff.ts';
import { ignoredOf, withoutFields } from './ignored-fields.ts';
import { Novelty } from './novelty.ts';
import { isAboutImmutable, type ObjectWriter } from './object-writer.ts';
import type { OwnerRecord } from './owner-records.ts';
import type { ProgressReports } from './progress.ts';
import { ownedFields } from './projection.ts';
import { applied, appliedWith, incomparable, irreplaceable, replacing } from './steps.ts';

export interface ExecutionPorts {
  readonly writer: ObjectWriter;
  readonly progress: ProgressReports;
  readonly fieldConflictBackoff: FieldConflictBackoff;
  /** It was applied; true: this agent had had it removed. */
  takeBack(key: string): boolean;
  /** The cluster's own answer about an object that is ours. */
  seen(key: string, live: KubeObject): void;
}

/** An object, what is on record of it, and what the cluster has. */
export interface ClusterState {
  readonly record: OwnerRecord | undefined;
  readonly live: KubeObject | undefined;
}

/** Of a dry run: by a policy, by a webhook that knows none or does not answer, or for want of a right. */
const refusals: ReadonlySet<ErrorCode> = new Set(['BadRequest', 'Forbidden', 'Invalid', 'Internal']);

export class Execution {
  readonly #ports: ExecutionPorts;
  readonly #novelty = new Novelty();

  constructor(ports: ExecutionPorts) {
    this.#ports = ports;
  }

  /** Makes it without a look, where it is likely new; false: it has to be looked at. */
  async tryNew(wanted: DesiredObject & Delivery): Promise<boolean> {
    const { writer, progress } = this.#ports;
    // What was refused once is known to be there, or is refused again.
    const isLikelyNew = writer.mayCreate(wanted) && this.#novelty.isLikely && !progress.hasFailed(wanted.key);
    if (!isLikelyNew || !(await writer.create(wanted))) return false;
    this.#novelty.note(true);
    progress.report(wanted, { phase: 'applied' });
    return true;
  }

  /** At an object that was not made by `tryNew`. */
  looked({ record, live }: ClusterState): void {
    if (!record) this.#novelty.note(live === undefined);
  }

  /** 'retry': it is not as it is to be. */
  async carryOut(decision: Decision, wanted: DesiredObject & Delivery, found: ClusterState): Promise<'done' | 'retry'> {
    const { writer, progress } = this.#ports;
    switch (decision.do) {
      case 'keep':
        writer.keep(wanted);
        this.#reportApplied(wanted);
        if (found.live) this.#ports.seen(wanted.key, found.live);
        return 'done';
      case 'apply':
        if (await this.#replaced(wanted, found, decision)) return 'retry';
        this.#reportApplied(wanted);
        return 'done';
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

  /** Applies it; true: it could not be changed, and was removed to be made anew. */
  async #replaced(
    wanted: DesiredObject & Delivery,
    { record, live }: ClusterState,
    { created, onlySigns }: Decision & { do: 'apply' },
  ): Promise<boolean> {
    const { writer, progress } = this.#ports;
    try {
      const answer = await writer.apply(wanted, live, created);
      const wasOurs = this.#ports.takeBack(wanted.key);
      const isSame = record?.bodyHash === wanted.bodyHash && record.source === wanted.source;
      // Where another store has applied it, it is not known whether anything has changed since.
      const isKnown = isSame && record.fingerprint !== '';
      if (isKnown && !wasOurs && !onlySigns) this.#putBack(wanted, live, answer);
      return false;
    } catch (error) {
      if (await writer.replace(wanted, live, error)) {
        progress.report(wanted, replacing(error));
        return true;
      }
      throw isAboutImmutable(error) && !wanted.rules.replace ? irreplaceable(error) : error;
    }
  }

  /** Nothing else is wanted of it than before: somebody had changed or deleted it. */
  #putBack({ key, object, rules }: DesiredObject & Delivery, live: KubeObject | undefined, answer: KubeObject): void {
    const ignored = ignoredOf(object, rules);
    const own = (one: KubeObject) => withoutFields(one, ignored);
    this.#ports.fieldConflictBackoff.putBack(
      key,
      fieldConflictMessage(ownedFields(answer), own(answer), live && own(live)),
    );
  }

  #reportApplied(delivery: Delivery): void {
    this.#ports.progress.report(delivery, applied(this.#ports.fieldConflictBackoff.messageOf(delivery.key)));
  }

  /** Somebody has changed it, and it is not put back. */
  async #compare(wanted: DesiredObject & Delivery, live: KubeObject): Promise<'done' | 'retry'> {
    const { writer, progress } = this.#ports;
    writer.keep(wanted);
    this.#ports.seen(wanted.key, live);
    try {
      progress.report(wanted, appliedWith(await writer.driftOf(wanted, live)));
      return 'done';
    } catch (error) {
      // Nothing was to be changed: that the cluster would refuse it, or can't try it, is no failure of what is there.
      if (!(error instanceof BanyanError) || !refusals.has(error.code)) throw error;
      progress.report(wanted, appliedWith(incomparable(error)));
      return 'retry';
    }
  }
}
