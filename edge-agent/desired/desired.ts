/**
 * The desired content of this cluster, read from the consumer's end of the down feed: which source delivers which object, and which placements want the
 * object. The table is the truth. This class is an index of the table in memory; a start builds the index by one scan.
 *
 * If several sources deliver one object, the first of `deliveries` wins (claim.ts). What the site does not accept from a source is no delivery: nobody applies
 * it, and what was applied of it is removed like an object that nobody wants. The index keeps it among the refused ones, for the reports.
 */

import { sameRules } from '../../core/entries/apply-rules.ts';
import type {
  ObjectAttributes,
  ReportRules,
  TargetAttributes,
  WithdrawnAttributes,
} from '../../core/entries/down-attributes.ts';
import { entryKey, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../core/entries/placement-id.ts';
import type { AppliedChange, Content, Table } from '../../core/feed/feed.ts';
import { compareClaimed } from '../../core/match/precedence.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey, parseKey } from '../../core/object/key.ts';
import { withKeysOnce } from '../../core/object/list-keys.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { SharedValues } from '../../core/object/shared-values.ts';
import { asText } from '../../core/store/bytes.ts';
import type { Reader, Store } from '../../core/store/store.ts';
import { deliveryOptionsOf, type Options, sameOptions } from './options.ts';

/** One object as one source delivers it. */
export interface Delivery extends Options {
  readonly source: string;
  /** `apps/deployments/shop/till`: see core/object/key.ts. */
  readonly key: string;
  /** The revision of the origin's space at which the content was written. */
  readonly revision: number;
  /** The hash of the body alone: attributes may change without a change of the object. */
  readonly bodyHash: string;
  /** The uid and the generation of the origin's object. */
  readonly uid: string;
  readonly generation: number;
  /** The short uids of former objects of the same name. */
  readonly former: readonly string[];
  readonly placements: readonly PlacementId[];
  /** The placements that have the object only because their other objects need it. For these placements, the object may belong to any source. */
  readonly implied: readonly PlacementId[];
}

interface DeliveryChange {
  readonly source: string;
  readonly key: string;
  /** The placements that wanted the object before. */
  readonly placements: readonly PlacementId[];
}

export interface DesiredChange {
  /** Deliveries that were added, changed or removed, and deliveries that now win or lose against another source. */
  readonly deliveries: readonly DeliveryChange[];
  readonly placements: ReadonlySet<PlacementId>;
  /** Placements that were withdrawn or are wanted again, and for which the parent asks whether they are gone. */
  readonly withdrawn: ReadonlySet<PlacementId>;
  /** The keys of objects whose way of removal has changed. */
  readonly deletions: ReadonlySet<string>;
  /** True: the rules of a placement for reports have changed. */
  readonly rules: boolean;
}

/** A delivery as its row has it, without the options of the targets. */
interface Delivered extends Omit<Delivery, keyof Options> {
  readonly names: readonly string[];
  readonly createOnlyFor: readonly string[];
  readonly namedBy: readonly string[];
}

/** Whether the agent treats the object the same way under both deliveries. */
function isTreatedAlike(a: Delivery | undefined, b: Delivery | undefined): boolean {
  if (!a || !b) return a === b;
  return a.source === b.source && a.createOnly === b.createOnly && a.named === b.named && sameRules(a.rules, b.rules);
}

interface PlacementIndex {
  target?: TargetAttributes;
  rules?: ReportRules;
  readonly objects: Set<string>;
}

export class Desired {
  readonly #store: Store;
  readonly #table: Table;
  /** The rows, keyed by object key. Each source has one row. */
  readonly #delivered = new Map<string, readonly Delivered[]>();
  /** The rows together with the options of the targets, keyed by object key. The winner is the first. */
  readonly #deliveries = new Map<string, readonly Delivery[]>();
  readonly #placements = new Map<PlacementId, PlacementIndex>();
  /** Withdrawn placements for which the parent waits for an answer. The value is the number of the parent's question. */
  readonly #withdrawn = new Map<PlacementId, number>();
  /** Entry keys that a transaction has changed and that the index has not read again. */
  readonly #stale = new Set<string>();
  /** Objects that the site does not accept, keyed by object key. */
  readonly #refused = new Map<string, readonly Delivery[]>();
  readonly #accepts: (source: string, key: ObjectKey) => boolean;
  readonly #shared = new SharedValues();
  #onChange: ((change: DesiredChange) => void) | undefined;

  /** `accepts`: whether the site accepts an object from a source. */
  constructor(store: Store, table: Table, accepts: (source: string, key: ObjectKey) => boolean = () => true) {
    this.#accepts = accepts;
    this.#store = store;
    this.#table = table;
    store.read((reader) => {
      for (const row of table.rows(reader)) {
        if (row.content) this.#enter(table.content(reader, row.content), row.originRevision);
      }
    });
    // In the table, an object may come before or after its targets. So the index computes the deliveries when it has all rows.
    for (const key of this.#delivered.keys()) this.#resolve(key);
  }

  /** After each transaction, calls the listener with the changes. */
  onChange(listener: (change: DesiredChange) => void): void {
    this.#onChange = listener;
  }

  /**
   * Called when a batch of the down feed has changed these rows. This method only notes the keys, and the index reads the rows again afterwards. So the call
   * is allowed inside the transaction: if the transaction is rolled back, the index reads the unchanged rows.
   */
  note(changes: readonly AppliedChange[]): void {
    if (this.#stale.size === 0) queueMicrotask(() => this.#refresh());
    for (const change of changes) this.#stale.add(change.key);
  }

  /** The keys of all objects that any source delivers. */
  objects(): string[] {
    this.#refresh();
    return [...this.#deliveries.keys()];
  }

  /** The deliveries of an object. The winner is the first. */
  deliveries(key: string): readonly Delivery[] {
    this.#refresh();
    return this.#deliveries.get(key) ?? [];
  }

  /** The forms of this object that the site does not accept, by source. */
  refused(key: string): readonly Delivery[] {
    this.#refresh();
    return this.#refused.get(key) ?? [];
  }

  /** The keys of all objects of which the site refuses something. */
  refusedObjects(): string[] {
    this.#refresh();
    return [...this.#refused.keys()];
  }

  deliveryOf(source: string, key: string): Delivery | undefined {
    return this.deliveries(key).find((one) => one.source === source);
  }

  /** The placements whose target has arrived. */
  placements(): PlacementId[] {
    this.#refresh();
    return [...this.#placements].filter(([, index]) => index.target).map(([id]) => id);
  }

  placement(id: PlacementId): { target: TargetAttributes; objects: ReadonlySet<string> } | undefined {
    this.#refresh();
    const index = this.#placements.get(id);
    return index?.target && { target: index.target, objects: index.objects };
  }

  /** The rules of the placements for reports beside the state of their objects. */
  *rules(): Generator<readonly [PlacementId, ReportRules]> {
    this.#refresh();
    for (const [id, { rules }] of this.#placements) if (rules) yield [id, rules];
  }

  /** Withdrawn placements for which the parent waits for an answer. The value is the number of the parent's question. */
  withdrawn(): ReadonlyMap<PlacementId, number> {
    this.#refresh();
    return this.#withdrawn;
  }

  /** The object of a delivery, parsed. If a list has a key twice, returns an equal object that has each key once, as far as there is one. */
  object(delivery: Delivery): KubeObject {
    const parsed = this.#store.read((reader) => {
      const content = this.#content(reader, entryKey.object(delivery.source, parseKey(delivery.key)));
      if (!content) throw new Error(`the index names ${delivery.key} of ${delivery.source}, the table does not`);
      return parseBody(content.content.body);
    });
    const once = withKeysOnce(parsed);
    return 'object' in once ? once.object : parsed;
  }

  #refresh(): void {
    if (this.#stale.size === 0) return;
    const stale = [...this.#stale];
    this.#stale.clear();
    const deliveries: DeliveryChange[] = [];
    const placements = new Set<PlacementId>();
    const withdrawn = new Set<PlacementId>();
    const targets = new Map<PlacementId, TargetAttributes | undefined>();
    let rules = false;
    this.#store.read((reader) => {
      for (const entry of stale) {
        const parsed = parseEntryKey(entry);
        if (parsed?.type === 'object') {
          const key = formatKey(parsed.object);
          const before = this.#leave(parsed.source, key);
          deliveries.push({ source: parsed.source, key, placements: before });
          for (const id of before) placements.add(id);
        } else if (parsed?.type === 'rules') {
          rules = true;
          this.#drop(parsed.id, 'rules');
        } else if (parsed?.type === 'target') {
          placements.add(parsed.id);
          targets.set(parsed.id, this.#placements.get(parsed.id)?.target);
          this.#drop(parsed.id, 'target');
        } else if (parsed?.type === 'withdrawn') {
          withdrawn.add(parsed.id);
          this.#withdrawn.delete(parsed.id);
        }
        const row = this.#content(reader, entry);
        if (row) for (const id of this.#enter(row.content, row.revision)) placements.add(id);
      }
    });
    const deletions = this.#followTargets(targets, deliveries);
    this.#onChange?.({ deliveries, placements, withdrawn, deletions, rules });
  }

  /**
   * Computes the deliveries again for the objects of placements whose options have changed. If the winner or its options have changed, adds the object to the
   * changes. Returns the objects whose way of removal has changed.
   */
  #followTargets(
    targets: ReadonlyMap<PlacementId, TargetAttributes | undefined>,
    changes: DeliveryChange[],
  ): ReadonlySet<string> {
    const keys = new Set<string>();
    for (const [id, before] of targets) {
      const index = this.#placements.get(id);
      if (sameOptions(before, index?.target)) continue;
      for (const key of index?.objects ?? []) keys.add(key);
    }
    const deletions = new Set<string>();
    for (const key of keys) {
      const before = this.#deliveries.get(key);
      this.#resolve(key);
      const after = this.#deliveries.get(key);
      if (before?.[0]?.deletion !== after?.[0]?.deletion) deletions.add(key);
      const isChanged = !isTreatedAlike(before?.[0], after?.[0]);
      // A losing source may lose for another reason than before, and has to report the new reason.
      if (!isChanged && (after?.length ?? 0) < 2) continue;
      for (const { source, placements } of after ?? []) changes.push({ source, key, placements });
    }
    return deletions;
  }

  /** Puts one entry into the index. Returns the placements that the entry concerns. */
  #enter(content: Content, revision: number): readonly PlacementId[] {
    const entry = parseEntryKey(content.key);
    if (entry?.type === 'target') {
      this.#index(entry.id).target = JSON.parse(asText(content.attributes)) as TargetAttributes;
      return [entry.id];
    }
    if (entry?.type === 'rules') this.#index(entry.id).rules = JSON.parse(asText(content.body)) as ReportRules;
    if (entry?.type === 'withdrawn') {
      const { asked } = JSON.parse(asText(content.attributes)) as WithdrawnAttributes;
      this.#withdrawn.set(entry.id, asked);
    }
    if (entry?.type !== 'object') return [];
    const {
      refs,
      uid,
      generation,
      former = [],
      createOnly = [],
      implied = [],
      named = [],
    } = JSON.parse(asText(content.attributes)) as ObjectAttributes;
    const delivered: Delivered = {
      source: this.#shared.of(entry.source),
      key: formatKey(entry.object),
      revision,
      bodyHash: Buffer.from(hash128(content.body)).toString('hex'),
      uid,
      generation,
      former: this.#shared.of(former),
      placements: this.#shared.of(refs.map((name) => placementId(entry.source, name))),
      implied: this.#shared.of(implied.map((name) => placementId(entry.source, name))),
      names: this.#shared.of(refs),
      createOnlyFor: this.#shared.of(createOnly),
      namedBy: this.#shared.of(named),
    };
    this.#delivered.set(delivered.key, this.#ofOthers(entry.source, delivered.key).concat(delivered));
    for (const id of delivered.placements) this.#index(id).objects.add(delivered.key);
    this.#resolve(delivered.key);
    return delivered.placements;
  }

  /** Removes one source's delivery of an object from the index. Returns the placements that wanted the delivery. */
  #leave(source: string, key: string): readonly PlacementId[] {
    const leaving = this.#delivered.get(key)?.find((one) => one.source === source);
    if (!leaving) return [];
    const others = this.#ofOthers(source, key);
    if (others.length === 0) this.#delivered.delete(key);
    else this.#delivered.set(key, others);
    for (const id of leaving.placements) {
      this.#index(id).objects.delete(key);
      this.#forgetIfEmpty(id);
    }
    this.#resolve(key);
    return leaving.placements;
  }

  #ofOthers(source: string, key: string): Delivered[] {
    return (this.#delivered.get(key) ?? []).filter((one) => one.source !== source);
  }

  /** Computes the deliveries of a key again, from the rows and targets in the index. */
  #resolve(key: string): void {
    const ofKey = this.#delivered.get(key) ?? [];
    const object = parseKey(key);
    const [accepted, refused]: [Delivery[], Delivery[]] = [[], []];
    for (const delivered of ofKey)
      (this.#accepts(delivered.source, object) ? accepted : refused).push(this.#delivery(delivered));
    setOrDelete(this.#deliveries, key, accepted.sort(compareClaimed));
    setOrDelete(this.#refused, key, refused);
  }

  /** The delivery is one literal with all fields. A spread would put the last fields into a second object, and there are as many deliveries as objects. */
  #delivery(delivered: Delivered): Delivery {
    const { source, key, revision, bodyHash, uid, generation, former, placements, implied } = delivered;
    const wanting = { names: delivered.names, createOnly: delivered.createOnlyFor, named: delivered.namedBy };
    const targetOf = (name: string) => this.#placements.get(placementId(source, name))?.target;
    const { claim, createOnly, named, deletion, rules } = deliveryOptionsOf(wanting, targetOf);
    return {
      source,
      key,
      revision,
      bodyHash,
      uid,
      generation,
      former,
      placements,
      implied,
      claim: this.#shared.of(claim),
      createOnly,
      named,
      deletion,
      rules: this.#shared.of(rules),
    };
  }

  #drop(id: PlacementId, what: 'target' | 'rules'): void {
    const index = this.#placements.get(id);
    if (!index) return;
    delete index[what];
    this.#forgetIfEmpty(id);
  }

  #index(id: PlacementId): PlacementIndex {
    const index = this.#placements.get(id) ?? { objects: new Set<string>() };
    this.#placements.set(id, index);
    return index;
  }

  #forgetIfEmpty(id: PlacementId): void {
    const index = this.#placements.get(id);
    if (index && !index.target && !index.rules && index.objects.size === 0) this.#placements.delete(id);
  }

  #content(reader: Reader, entry: string): { content: Content; revision: number } | undefined {
    const row = this.#table.get(reader, hash128(entry));
    return row?.content && { content: this.#table.content(reader, row.content), revision: row.originRevision };
  }
}

function setOrDelete(map: Map<string, readonly Delivery[]>, key: string, deliveries: readonly Delivery[]): void {
  if (deliveries.length > 0) map.set(key, deliveries);
  else map.delete(key);
}
