/**
 * The last hop's part of `banyan plan --at PATH`: makes the objects of planned rows for one agent, with the code that makes what the agent gets, and compares them with
 * the agent's mailbox. Works in a store of its own, so nothing is written and nothing is sent. Waves of releases are ignored: the result is the state after the
 * last wave.
 */

import type { ObjectAttributes, RefsAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { placementId, splitPlacementId } from '../../core/entries/placement-id.ts';
import { entryContent } from '../../core/feed/entry-content.ts';
import type { Content, Producer, Table } from '../../core/feed/feed.ts';
import { LocalTable } from '../../core/feed/table.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import { formatKey, type ObjectKey } from '../../core/object/key.ts';
import type { KubeObject } from '../../core/object/meta.ts';
import { BanyanError } from '../../core/runtime/errors.ts';
import { MemoryStore } from '../../core/store/memory/memory-store.ts';
import type { Reader } from '../../core/store/store.ts';
import { type Child, matchChild } from '../children/children.ts';
import { Customization } from '../customize/customization.ts';
import { Placements, selectedObjects } from '../placements/placements.ts';
import { readPlacement } from '../placements/read-placement.ts';

export interface DestinationPlanPorts {
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  tableOf(source: string): Table;
  mailboxOf(child: string): Producer | undefined;
  pathOf(child: string): string;
}

export interface PlannedRows {
  readonly source: string;
  readonly planned: readonly string[];
  readonly rows: readonly Content[];
  /** Keys of the rows to make. The other rows are only needed to make them. */
  readonly make: readonly string[];
  /** Keys of all planned object rows. With them, the result also has the objects that would leave the agent. */
  readonly all?: readonly string[];
}

export interface DestinationObject {
  readonly key: ObjectKey;
  /** The object in the agent's mailbox. Absent: the agent was not sent the object. */
  readonly present?: KubeObject;
  /** The object that the agent would be sent. Absent without `failure`: the agent would not have the object. */
  readonly next?: KubeObject;
  /** Why the object can't be made for this agent. The agent would keep the form that it has. */
  readonly failure?: string;
}

export interface DestinationPlan {
  /** Keyed by the name of a planned placement: whether the placement matches the agent. */
  readonly matches: Readonly<Record<string, boolean>>;
  /** Objects that the agent has or would have, in the order of their keys. */
  readonly objects: readonly DestinationObject[];
}

/** Throws NotFound if this node has no such agent. */
export function destinationPlan(
  reader: Reader,
  ports: DestinationPlanPorts,
  agent: string,
  { source, planned, rows, make, all }: PlannedRows,
): DestinationPlan {
  const child = ports.children.get(agent);
  if (child?.role !== 'agent') {
    throw new BanyanError('NotFound', `--at: this node has no agent "${agent}"; for a list: kubectl get synctargets`);
  }
  const bench = new PlanBench(ports, child, source, planned, rows);
  const mailbox = ports.mailboxOf(agent);
  const wanted = new Set(make);
  const made = new Map<string, DestinationObject>();
  for (const row of rows) {
    const entry = parseEntryKey(row.key);
    if (entry?.type !== 'object' || !wanted.has(row.key)) continue;
    const present = sentTo(reader, mailbox, row.key);
    const next = bench.wants(row) ? bench.make(row) : {};
    if (present || next.next || next.failure) {
      made.set(formatKey(entry.object), { key: entry.object, ...(present ? { present } : {}), ...next });
    }
  }
  for (const key of all ? leavingKeys(reader, ports, agent, { source, planned, all }) : []) {
    const entry = parseEntryKey(key);
    const present = sentTo(reader, mailbox, key);
    if (entry?.type === 'object' && present) made.set(formatKey(entry.object), { key: entry.object, present });
  }
  const sorted = [...made].sort(([a], [b]) => (a < b ? -1 : 1));
  return { matches: bench.matches, objects: sorted.map(([, object]) => object) };
}

/** A store with the planned rows alone, and the customization over it. */
class PlanBench {
  readonly matches: Record<string, boolean> = {};
  readonly #child: Child;
  readonly #source: string;
  readonly #pathOf: (child: string) => string;
  readonly #store = new MemoryStore();
  readonly #table: LocalTable;
  readonly #placements = new Placements();
  readonly #customization: Customization;

  constructor(
    { placements, pathOf }: DestinationPlanPorts,
    child: Child,
    source: string,
    planned: readonly string[],
    rows: readonly Content[],
  ) {
    this.#child = child;
    this.#source = source;
    this.#pathOf = pathOf;
    this.#table = this.#store.write((t) => {
      const table = LocalTable.open(t, 'planned');
      for (const row of rows) table.put(t, row, 0);
      return table;
    });
    for (const row of rows) {
      const entry = parseEntryKey(row.key);
      if (entry?.type !== 'placement') continue;
      const { name } = splitPlacementId(entry.id);
      const present = placements.get(entry.id)?.children.has(child.name) ?? false;
      const children = new Set(present ? [child.name] : []);
      const placement = this.#store.read((reader) =>
        readPlacement(reader, { tableOf: () => this.#table }, entry.id, children),
      );
      if (!placement) continue;
      const isPlanned = planned.includes(name);
      const matches = isPlanned ? matchChild(placement, child).matches : present;
      if (isPlanned) this.matches[name] = matches;
      this.#placements.set({ ...placement, children: new Set(matches ? [child.name] : []) });
    }
    this.#customization = this.#newCustomization();
  }

  /** Returns whether a placement that matches the agent wants the row. */
  wants(row: Content): boolean {
    return attributesOf<RefsAttributes>(row).refs.some((name) => this.#isAt(name));
  }

  make(row: Content): { next?: KubeObject; failure?: string } {
    const made = this.#outgoing(this.#customization, row);
    if (made) return { next: parseBody(made.body) };
    // The failures of a child are a sample. A customization that made only this object has only this object's failure.
    const alone = this.#newCustomization();
    this.#outgoing(alone, row);
    const { refs } = attributesOf<ObjectAttributes>(row);
    const [failure] = refs.flatMap((name) => alone.failures(placementId(this.#source, name), this.#child.name));
    return { failure: failure?.message ?? 'the agent has no destination for this object' };
  }

  #outgoing(customization: Customization, row: Content): Content | undefined {
    const keyHash = hash128(row.key);
    return this.#store.write((t) => {
      customization.begin();
      const reference = this.#table.get(t, keyHash)?.content;
      const offered = {
        type: 'content',
        content: row,
        originRevision: 0,
        ...(reference ? { reference } : {}),
      } as const;
      const made = customization.outgoing(t, { child: this.#child, source: this.#source, keyHash }, offered);
      return made.type === 'content' ? made.content : undefined;
    });
  }

  #newCustomization(): Customization {
    return new Customization({
      tableOf: () => this.#table,
      children: new Map([[this.#child.name, this.#child]]),
      placements: this.#placements,
      mailboxOf: () => undefined,
      pathOf: this.#pathOf,
      counted() {},
    });
  }

  #isAt(name: string): boolean {
    return this.#placements.get(placementId(this.#source, name))?.children.has(this.#child.name) ?? false;
  }
}

/** The keys of objects that the agent has because of a planned placement, that are not among the planned rows, and that no other placement wants there. */
function leavingKeys(
  reader: Reader,
  { placements, tableOf }: DestinationPlanPorts,
  agent: string,
  { source, planned, all }: Pick<PlannedRows, 'source' | 'planned'> & { readonly all: readonly string[] },
): string[] {
  const table = tableOf(source);
  const kept = new Set(all);
  const isElsewhere = (name: string) =>
    !planned.includes(name) && (placements.get(placementId(source, name))?.children.has(agent) ?? false);
  const keys = new Set<string>();
  for (const name of planned) {
    for (const keyHash of selectedObjects(reader, placementId(source, name))) {
      const row = table.get(reader, keyHash);
      if (!row?.content) continue;
      const content = table.content(reader, row.content);
      if (kept.has(content.key) || parseEntryKey(content.key)?.type !== 'object') continue;
      if (!attributesOf<RefsAttributes>(content).refs.some(isElsewhere)) keys.add(content.key);
    }
  }
  return [...keys];
}

function sentTo(reader: Reader, mailbox: Producer | undefined, key: string): KubeObject | undefined {
  const content = entryContent(reader, mailbox, key);
  return content && parseBody(content.body);
}
