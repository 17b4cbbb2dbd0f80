/**
 * Writes one object to the cluster, and updates its record before and after the write. The writer also leaves ignored fields to the cluster, finds out how
 * somebody else has changed the object, and removes an object that has to be created again.
 */

import { shortUid } from '../../core/entries/former-uids.ts';
import { stableStringify } from '../../core/object/canonical.ts';
import { parseKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import type { Cluster } from '../cluster/cluster.ts';
import { marked, signed, withoutMark } from '../cluster/mark.ts';
import type { Delivery } from '../desired/desired.ts';
import { specHashOf } from './absence.ts';
import { type Decision, type DesiredObject, decideRemoval } from './decide.ts';
import { driftMessage } from './drift.ts';
import { formerBytes, formerBytesMax, withFormerValues } from './former-form.ts';
import { ignoredOf, withLiveFields, withoutFields } from './ignored-fields.ts';
import { isAboutLeftField, withLiveSpec } from './left-fields.ts';
import { isContainer } from './order.ts';
import type { OwnerRecord, OwnerRecords } from './owner-records.ts';
import { fingerprint, ownedFields } from './projection.ts';

export interface WriterPorts {
  /** The path of the agent. */
  readonly path: string;
  readonly cluster: Cluster;
  readonly records: OwnerRecords;
  /** Resolves when everything written so far is durable. */
  flushed(): Promise<void>;
}

export interface WriterEvents {
  /** Called with the cluster's own answer about an object of this agent. */
  seen(key: string, live: KubeObject): void;
  /** Called when the object got a record, or when its record was deleted. */
  recorded(key: string): void;
}

export class ObjectWriter {
  readonly #ports: WriterPorts;
  readonly #events: WriterEvents;

  constructor(ports: WriterPorts, events: WriterEvents) {
    this.#ports = ports;
    this.#events = events;
  }

  /** Applies the object, and returns the cluster's answer. */
  async apply(
    wanted: DesiredObject & Delivery,
    live: KubeObject | undefined,
    { created, takesOver }: Decision & { do: 'apply' },
  ): Promise<KubeObject> {
    const { key, source } = wanted;
    const record = this.#ports.records.get(key);
    // Before the apply, it must be on record that somebody else created the object, and in which form, even if the process ends before the answer: the agent
    // must neither delete the object nor lose the form.
    if (takesOver && live) this.#beginTakeOver(wanted, live);
    else if (!record || (record.created && !created)) this.#begin(wanted, created);
    if (this.#ports.records.get(key) !== record) await this.#ports.flushed();
    const { deletion } = deletionOf(wanted, this.#ports.records.get(key));
    const content = wanted.bodyHash;
    const sent = signed(this.#markedFor(wanted, live), this.#ports.path, created, { deletion, content });
    const isNew = live === undefined;
    const answer = await (isNew && isContainer(key)
      ? this.#createContainer(key, sent)
      : this.#ports.cluster.apply(sent, { yields: isNew || takesOver === 'yielding' }));
    this.#accepted({ ...wanted, object: marked(wanted.object, source) }, answer, created);
    return answer;
  }

  /**
   * Asks the cluster whether the agent can take the object over without a change of the values that others have set. Throws Conflict if it can't. Nothing is
   * written, neither on the cluster nor on record: the agent asks again and again until the values agree.
   */
  async tryTakeOver(wanted: DesiredObject & Delivery, live: KubeObject): Promise<void> {
    try {
      await this.#ports.cluster.apply(this.#markedFor(wanted, live), { dryRun: true, yields: true });
    } catch (error) {
      // If the cluster can't do dry runs of this object, the real apply decides.
      if (!(error instanceof BanyanError) || error.code === 'Conflict') throw error;
    }
  }

  #beginTakeOver(wanted: DesiredObject & Delivery, live: KubeObject): void {
    const form = formerBytes(live);
    if (form.length > formerBytesMax) {
      const message = `the object exists and is not taken over: it has ${form.length} bytes, and the agent keeps at most ${formerBytesMax} bytes to give an object back; make the object on the cluster smaller, or delete it there`;
      throw new BanyanError('TooLarge', message);
    }
    this.#ports.records.setFormerForm(wanted.key, this.#blank(wanted, false), form);
    this.#events.recorded(wanted.key);
  }

  /**
   * Creates a container (see order.ts). The mark of a created container lets the agent remove the container together with the placement. Somebody else may
   * have created the container after the agent looked for it. Such a container must not get this mark, even if it has the same values.
   */
  async #createContainer(key: string, sent: KubeObject): Promise<KubeObject> {
    const { cluster, records } = this.#ports;
    const made = await cluster.create?.(sent);
    if (made) return made;
    if (cluster.create && (await cluster.get(parseKey(key)))) {
      records.delete(key);
      this.#events.recorded(key);
      throw new BanyanError('Conflict', 'somebody has created it since the agent looked');
    }
    // The apply finds out why the cluster refuses the object.
    return cluster.apply(sent, { yields: true });
  }

  /**
   * Whether the agent may try to create the object without reading it first. An object on record may exist, so the agent reads it first. The agent also reads
   * a container first: the record must be right about who created the container, even if the process ends before the answer.
   */
  mayCreate({ key, object }: DesiredObject & Delivery): boolean {
    const { cluster, records } = this.#ports;
    return records.get(key) === undefined && !isContainer(key) && (cluster.mayCreate?.(object) ?? false);
  }

  /** Creates an object without reading it before. False: the object was not created. If somebody else has an object of this name, that object is unchanged. */
  async create(wanted: DesiredObject & Delivery): Promise<boolean> {
    const { cluster, path, records } = this.#ports;
    const { key, source, deletion, bodyHash: content } = wanted;
    this.#begin(wanted, true);
    await this.#ports.flushed();
    const object = marked(wanted.object, source);
    const answer = await cluster.create?.(signed(object, path, true, { deletion, content }));
    if (answer) {
      this.#accepted({ ...wanted, object }, answer, true);
      return true;
    }
    records.delete(key);
    this.#events.recorded(key);
    return false;
  }

  /**
   * Writes the first record of an object. The record must be durable before the first apply. Then every object that may exist on the cluster is on record,
   * whatever crashes.
   */
  #begin(wanted: Delivery, created: boolean): void {
    this.#record(wanted.key, this.#blank(wanted, created));
  }

  #blank(wanted: Delivery, created: boolean): OwnerRecord {
    const { key, source, placements } = wanted;
    const how = deletionOf(wanted, this.#ports.records.get(key));
    return { ...blankRecord, agent: this.#ports.path, source, placements, created, ...how };
  }

  /** Called when the cluster has accepted the marked object. */
  #accepted(wanted: DesiredObject & Delivery, answer: KubeObject, created: boolean): void {
    const { key, source, placements, rules, object } = wanted;
    const { records } = this.#ports;
    const before = records.get(key);
    const specHash = specHashOf(wanted.object);
    const ignored = ignoredOf(object, rules);
    records.set(key, {
      source,
      bodyHash: wanted.bodyHash,
      uid: answer.metadata.uid ?? '',
      agent: this.#ports.path,
      fingerprint: fingerprint(object, answer, ignored),
      ...(ignored.length > 0 ? { ignored } : {}),
      created,
      generation: wanted.generation,
      origin: shortUid(wanted.uid),
      ...(specHash === undefined ? {} : { specHash }),
      ...(before?.hasFormerForm && !created ? { hasFormerForm: true } : {}),
      placements,
      ...deletionOf(wanted, before),
    });
    this.#events.seen(key, answer);
  }

  /** Updates the record of an object that stays on the cluster as it is. */
  keep(delivery: Delivery): void {
    const { key, source, placements } = delivery;
    const { records } = this.#ports;
    const record = records.get(key);
    const leftFor = delivery.createOnly ? { leftFor: delivery.bodyHash } : {};
    const origin = { origin: shortUid(delivery.uid) };
    if (!record) {
      const how = deletionOf(delivery);
      this.#record(key, { ...blankRecord, source, placements, created: false, ...origin, ...leftFor, ...how });
      return;
    }
    // If the object was created again at its origin, its uid is new and its generation is 1 again, even with the same content.
    const isSame = record.bodyHash === delivery.bodyHash && record.source === source;
    const kept = {
      ...record,
      ...(isSame ? { generation: delivery.generation } : {}),
      ...(isSame || delivery.createOnly ? origin : {}),
      ...leftFor,
    };
    if (stableStringify(kept) !== stableStringify(record)) records.set(key, kept);
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
   * Returns a message about the fields that an apply would change. Empty: an apply would change nothing, and the record gets the new fingerprint. Only the
   * cluster knows how it changes an incoming value, so the agent asks the cluster with a dry run.
   */
  async driftOf(wanted: DesiredObject & Delivery, live: KubeObject): Promise<string> {
    const { key, source, rules } = wanted;
    const object = marked(wanted.object, source);
    const ignored = ignoredOf(object, rules);
    const dryRunAnswer = await this.#ports.cluster.apply(this.#markedFor(wanted, live), { dryRun: true });
    const drift = driftMessage(
      ownedFields(dryRunAnswer),
      withoutFields(dryRunAnswer, ignored),
      withoutFields(live, ignored),
    );
    const record = this.#ports.records.get(key);
    // The fingerprint is of the answer to the dry run, and not of `live`. In `live`, somebody who changed a field and changed it back owns the field, so the
    // agent would not see later changes of this field.
    if (drift === '' && record) {
      this.#ports.records.set(key, { ...record, fingerprint: fingerprint(object, dryRunAnswer, ignored), ignored });
    }
    return drift;
  }

  /**
   * Makes the agent own fields that the cluster has filled in, if the cluster refuses a change because they are still there. True: the next apply removes them.
   * False: the refusal has another reason, or the object is not the agent's.
   */
  async ownLeftFields(
    wanted: DesiredObject & Delivery,
    live: KubeObject | undefined,
    refusal: unknown,
  ): Promise<boolean> {
    const { cluster, path, records } = this.#ports;
    const { key, source } = wanted;
    const record = records.get(key);
    if (!live || !record || record.uid !== live.metadata.uid || !isAboutLeftField(refusal)) return false;
    const object = withLiveSpec(marked(wanted.object, source), live);
    const { deletion } = deletionOf(wanted, record);
    await cluster.apply(signed(object, path, record.created, { deletion, content: record.bodyHash }));
    return true;
  }

  /**
   * Removes an object whose change the cluster refuses, so that the next try can create the object again. False: the refusal has another reason, or this
   * object must not be removed.
   */
  async replace(wanted: DesiredObject & Delivery, live: KubeObject | undefined, refusal: unknown): Promise<boolean> {
    const { key, rules } = wanted;
    if (!rules.replace || !live || !isAboutImmutable(refusal) || !mayBeReplaced(key)) return false;
    // If this agent is not allowed to remove the object, it must not replace the object either. It could be an object of another agent, and would be lost,
    // even if `spec.adopt` allows to take the object over.
    const { path, records } = this.#ports;
    const record = records.get(key);
    if (!record || decideRemoval(record, live, { agent: path, isContainer: false }).do !== 'remove') return false;
    await this.#ports.cluster.remove(parseKey(key), 'Background', live.metadata.uid);
    return true;
  }

  /**
   * Removes the former object of a name, so that the next try can create the new one. False: the object must not be removed. A container takes the objects of
   * others with it, so the agent changes a container in place; the objects that the space had in it are made anew one by one.
   */
  async removeFormer(wanted: DesiredObject & Delivery, live: KubeObject): Promise<boolean> {
    const { key } = wanted;
    const { path, records, cluster } = this.#ports;
    const record = records.get(key);
    if (!record || isContainer(key)) return false;
    if (decideRemoval(record, live, { agent: path, isContainer: false }).do !== 'remove') return false;
    await cluster.remove(parseKey(key), wanted.deletion ?? record.deletion ?? 'Background', live.metadata.uid);
    return true;
  }

  /** Whether the object was there before the agent, and has been taken over. */
  hasTakenOver(key: string): boolean {
    const record = this.#ports.records.get(key);
    return record !== undefined && record.uid !== '' && !record.created;
  }

  /**
   * The object to apply, with the mark. Ignored fields have the values of the cluster. Fields that the agent has overwritten and that are not desired any more
   * have their former values. The mark is never an ignored field, even if all labels or annotations are ignored.
   */
  #markedFor({ key, object, source, rules }: DesiredObject & Delivery, live: KubeObject | undefined): KubeObject {
    if (!live) return marked(object, source);
    const former = this.#ports.records.formerFormOf(key);
    const isOfLive = former !== undefined && former.metadata.uid === live.metadata.uid;
    const whole = isOfLive && former.apiVersion === object.apiVersion ? withFormerValues(object, former, live) : object;
    return marked(withLiveFields(whole, withoutMark(live), ignoredOf(object, rules)), source);
  }

  #record(key: string, record: OwnerRecord): void {
    this.#ports.records.set(key, record);
    this.#events.recorded(key);
  }
}

/** The record before the cluster has accepted anything. With its empty uid, this agent owns no existing object of the name by this record. */
const blankRecord = { bodyHash: '', uid: '', fingerprint: '' } as const;

/** If no placement defines the way of removal, the way on record stays. */
function deletionOf(delivery: Delivery, record?: OwnerRecord): Pick<OwnerRecord, 'deletion'> {
  const deletion = delivery.deletion ?? record?.deletion;
  return deletion === undefined || deletion === 'Background' ? {} : { deletion };
}

/**
 * Texts of Kubernetes' own validation (pkg/apis/<group>/validation) for fields whose value can never change. The list leaves out texts for errors that
 * another value would repair ("may not be used", "must not be specified"). For Pods, the list has only the text for updates: Nodes have the same other
 * errors, and a Node must not be created again.
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

/**
 * Whether the cluster refuses the change of immutable fields, and nothing else. Because of any other error, the cluster would also refuse to create the
 * object again, and the object would be lost.
 */
export function isAboutImmutable(refusal: unknown): boolean {
  if (!(refusal instanceof BanyanError) || refusal.code !== 'Invalid') return false;
  const { causes = [] } = refusal.details;
  return immutable.test(refusal.message) && causes.every(({ message }) => immutable.test(message));
}

/** Whether the agent is allowed to remove the object for its own change. It is not allowed if objects or data of others depend on the object. */
function mayBeReplaced(key: string): boolean {
  return !isContainer(key) && !/^\/persistentvolume(claim)?s\//.test(key);
}
