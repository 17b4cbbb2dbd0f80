/**
 * Writes one object to the cluster and notes it: what is recorded of it before and after, which fields are left to the cluster, how far somebody else has
 * changed it, and how it is made anew.
 */
import { stableStringify } from '../../core/object/canonical.ts';
import { parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { marked, signed, withoutMark } from '../cluster/mark.ts';
import type { Delivery } from '../desired/desired.ts';
import { type DesiredObject, decideRemoval } from './decide.ts';
import { driftMessage } from './drift.ts';
import { ignoredOf, withLiveFields, withoutFields } from './ignored-fields.ts';
import { isContainer } from './order.ts';
import type { OwnerRecord, OwnerRecords } from './owner-records.ts';
import { fingerprint, ownedFields } from './projection.ts';

export interface WriterPorts {
  /** Of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  readonly records: OwnerRecords;
  /** Resolves when everything written so far is durable. */
  flushed(): Promise<void>;
}

export interface WriterEvents {
  /** The cluster's own answer about an object that is ours. */
  seen(key: string, live: KubeObject): void;
  /** The object has a record now, or has none any more. */
  recorded(key: string): void;
}

export class ObjectWriter {
  readonly #ports: WriterPorts;
  readonly #events: WriterEvents;

  constructor(ports: WriterPorts, events: WriterEvents) {
    this.#ports = ports;
    this.#events = events;
  }

  /** The cluster's answer. */
  async apply(wanted: DesiredObject & Delivery, live: KubeObject | undefined, created: boolean): Promise<KubeObject> {
    const { key, source } = wanted;
    const record = this.#ports.records.get(key);
    // What would go with it is not to be taken for gone with us, also when the process ends before the answer.
    if (!record || (isContainer(key) && record.created && !created)) {
      this.#begin(wanted, created);
      await this.#ports.flushed();
    }
    const { deletion } = deletionOf(wanted, this.#ports.records.get(key));
    const content = wanted.bodyHash;
    const sent = signed(markedFor(wanted, live), this.#ports.path, created && isContainer(key), { deletion, content });
    const isNew = live === undefined;
    const answer = await (isNew && isContainer(key)
      ? this.#made(key, sent)
      : this.#ports.cluster.apply(sent, { isNew }));
    this.#accepted({ ...wanted, object: marked(wanted.object, source) }, answer, created);
    return answer;
  }

  /**
   * What holds others' objects goes with its placement if it came with it: what somebody has made since it was looked for is not to be marked so, also where it has no
   * other values.
   */
  async #made(key: string, sent: KubeObject): Promise<KubeObject> {
    const { cluster, records } = this.#ports;
    const made = await cluster.create?.(sent);
    if (made) return made;
    if (cluster.create && (await cluster.get(parseKey(key)))) {
      records.delete(key);
      this.#events.recorded(key);
      throw new BanyanError('Conflict', 'somebody has made it since it was looked for');
    }
    // Why it is refused, an apply says.
    return cluster.apply(sent, { isNew: true });
  }

  /**
   * What is on record may be there. What holds others' objects is looked at always: whether it came with us has to be right on record, also when the process ends
   * before the answer.
   */
  mayCreate({ key, object }: DesiredObject & Delivery): boolean {
    const { cluster, records } = this.#ports;
    return records.get(key) === undefined && !isContainer(key) && (cluster.mayCreate?.(object) ?? false);
  }

  /** Makes an object without a look before. False: it is not made, and what somebody else has under its name is as it was. */
  async create(wanted: DesiredObject & Delivery): Promise<boolean> {
    const { cluster, path, records } = this.#ports;
    const { key, source, deletion, bodyHash: content } = wanted;
    this.#begin(wanted, true);
    await this.#ports.flushed();
    const object = marked(wanted.object, source);
    const answer = await cluster.create?.(signed(object, path, false, { deletion, content }));
    if (answer) {
      this.#accepted({ ...wanted, object }, answer, true);
      return true;
    }
    records.delete(key);
    this.#events.recorded(key);
    return false;
  }

  /** To be durable before the first apply: what may exist on the cluster is on record, whatever crashes. */
  #begin(wanted: Delivery, created: boolean): void {
    const { key, source, placements } = wanted;
    const agent = this.#ports.path;
    this.#record(key, {
      ...blankRecord,
      agent,
      source,
      placements,
      created,
      ...deletionOf(wanted, this.#ports.records.get(key)),
    });
  }

  /** The cluster has answered to the object with its mark. */
  #accepted(wanted: DesiredObject & Delivery, answer: KubeObject, created: boolean): void {
    const { key, source, placements, rules, object } = wanted;
    const { records } = this.#ports;
    records.set(key, {
      source,
      bodyHash: wanted.bodyHash,
      uid: answer.metadata.uid ?? '',
      agent: this.#ports.path,
      fingerprint: fingerprint(object, answer, ignoredOf(object, rules)),
      created,
      generation: wanted.generation,
      placements,
      ...deletionOf(wanted, records.get(key)),
    });
    this.#events.seen(key, answer);
  }

  /** The cluster has it as it is to be. */
  keep(delivery: Delivery): void {
    const { key, source, placements } = delivery;
    const { records } = this.#ports;
    const record = records.get(key);
    if (!record) {
      this.#record(key, { ...blankRecord, source, placements, created: false, ...deletionOf(delivery) });
      return;
    }
    // An object that was made anew at its origin begins to count anew, also with the same content.
    if (record.bodyHash === delivery.bodyHash && record.generation !== delivery.generation) {
      records.set(key, { ...record, generation: delivery.generation });
    }
    this.noteDelivery(delivery);
  }

  noteDelivery(delivery: Delivery): void {
    const { key, placements } = delivery;
    const record = this.#ports.records.get(key);
    if (!record) return;
    const { deletion: before, ...rest } = record;
    const isNew = delivery.deletion !== undefined && (before ?? 'Background') !== delivery.deletion;
    if (!isNew && stableStringify(record.placements ?? []) === stableStringify(placements)) return;
    this.#ports.records.set(key, { ...rest, placements, ...deletionOf(delivery, record) });
  }

  /**
   * In words, what an apply would change; empty: nothing, and that is noted. The cluster is asked, since it alone knows what it makes of a value on the
   * way in.
   */
  async driftOf(wanted: DesiredObject & Delivery, live: KubeObject): Promise<string> {
    const { key, source, rules } = wanted;
    const object = marked(wanted.object, source);
    const ignored = ignoredOf(object, rules);
    const would = await this.#ports.cluster.apply(markedFor(wanted, live), { dryRun: true });
    const words = driftMessage(ownedFields(would), withoutFields(would, ignored), withoutFields(live, ignored));
    const record = this.#ports.records.get(key);
    // Not of `live`: who has taken a change back owns the field since, and what is changed there later would not be seen.
    if (words === '' && record) {
      this.#ports.records.set(key, { ...record, fingerprint: fingerprint(object, would, ignored) });
    }
    return words;
  }

  /** Removes an object whose change the cluster refuses, so that it can be made anew; false: that is not why, or not for this object. */
  async replace(wanted: DesiredObject & Delivery, live: KubeObject | undefined, refusal: unknown): Promise<boolean> {
    const { key, rules } = wanted;
    if (!rules.replace || !live || !isAboutImmutable(refusal) || !mayBeReplaced(key)) return false;
    // Whoever may not remove it may not replace it: what another agent has signed goes with it, also where `spec.adopt` would take it.
    const { path, records } = this.#ports;
    const record = records.get(key);
    if (!record || decideRemoval(record, live, { agent: path, isContainer: false }).do !== 'remove') return false;
    await this.#ports.cluster.remove(parseKey(key), 'Background', live.metadata.uid);
    return true;
  }

  #record(key: string, record: OwnerRecord): void {
    this.#ports.records.set(key, record);
    this.#events.recorded(key);
  }
}

/** With what the cluster has of ignored fields; the mark is no field of theirs, also where all labels or annotations are. */
function markedFor({ object, source, rules }: DesiredObject, live: KubeObject | undefined): KubeObject {
  return marked(withLiveFields(object, live && withoutMark(live), ignoredOf(object, rules)), source);
}

/** Nothing has been accepted by the cluster: what exists under the name is not ours by this record. */
const blankRecord = { bodyHash: '', uid: '', fingerprint: '' } as const;

/** While no placement says it, what is on record stays. */
function deletionOf(delivery: Delivery, record?: OwnerRecord): Pick<OwnerRecord, 'deletion'> {
  const deletion = delivery.deletion ?? record?.deletion;
  return deletion === undefined || deletion === 'Background' ? {} : { deletion };
}

/**
 * The words of Kubernetes' own validation (pkg/apis/<group>/validation), of what it says where a field has its value for good, and of nothing that another value would
 * mend ("may not be used", "must not be specified"). Of Pods: their updates alone, since a Node, which has the same words, is not to be made anew.
 */
const immutable = new RegExp(
  [
    'immutable',
    'may not be changed',
    'may not change once set',
    'pod updates may not ',
    'can(?:not| not) be (?:changed|modified|unset)',
    'cannot change roleRef',
    'updates? to .* (?:is|are) forbidden',
  ].join('|'),
  'i',
);

/** About nothing else beside: what else is wrong would keep it from being made anew, and it would be gone. */
export function isAboutImmutable(refusal: unknown): boolean {
  if (!(refusal instanceof BanyanError) || refusal.code !== 'Invalid') return false;
  const { causes = [] } = refusal.details;
  return immutable.test(refusal.message) && causes.every(({ message }) => immutable.test(message));
}

/** What others' objects or data go with is never removed for a change of itself. */
function mayBeReplaced(key: string): boolean {
  return !isContainer(key) && !/^\/persistentvolume(claim)?s\//.test(key);
}
