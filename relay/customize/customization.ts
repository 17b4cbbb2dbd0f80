/**
 * The stage of the way down at which an object becomes what it is at one destination. It is at the last hop only: relays share the object as it is,
 * with the Customizers that it names beside it. What can't be made is not sent: the agent keeps the last that could, and the placement's summary
 * says why.
 */
import type { Kind } from '../../core/apiserver/space.ts';
import type { Compilation, CompiledCustomizer } from '../../core/customize/compile.ts';
import type { Facts, FailureReason } from '../../core/customize/customizer.ts';
import { render } from '../../core/customize/render.ts';
import { RenderCache, type Rendering } from '../../core/customize/render-cache.ts';
import type { Content, Table } from '../../core/feed/feed.ts';
import { parseBody } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { asBuffer, equalBytes } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Failure } from '../../core/summary/partial.ts';
import { type ObjectAttributes, type PlacementId, parseEntryKey, placementId } from '../../core/wire/entries.ts';
import { type Child, destinationFor } from '../schedule/children.ts';
import { markDirty } from '../schedule/dirty.ts';
import { type Outgoing, type OutgoingStage, type Shipment, shipmentKey } from '../schedule/outgoing.ts';
import type { Placement, Placements } from '../schedule/placements.ts';
import { attributesOf } from '../schedule/schedule.ts';
import { bodyHash, type Ingredient, Ingredients } from './ingredients.ts';
import { type Customized, Renderings } from './renderings.ts';

export interface CustomizationPorts {
  tableOf(source: string): Table | undefined;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  pathOf(child: string): string;
  /** An object was evaluated; otherwise it was known. */
  counted(evaluated: boolean): void;
}

/** Steps of expressions that one transaction may take before others get their turn: some 100 ms, if every one of them is used. */
const stepsPerTurn = 2_000_000;
/** What an evaluation costs before its first step: parsing, copying and writing out a small object, some 0.2 ms. */
const stepsPerEvaluation = 4_000;
/** A sentence for a person; ten of them are in the status of a placement. */
const messageCharactersMax = 400;

export class Customization implements OutgoingStage {
  readonly #ports: CustomizationPorts;
  readonly #renderings = new Renderings();
  readonly #ingredients = new Ingredients();
  readonly #cache = new RenderCache();
  #stepsLeft = stepsPerTurn;

  constructor(ports: CustomizationPorts) {
    this.#ports = ports;
  }

  /** Must come before the first shipment. */
  load(reader: Reader): void {
    this.#renderings.load(reader);
  }

  begin(): void {
    this.#stepsLeft = stepsPerTurn;
  }

  outgoing(t: Transaction, { child, source, keyHash }: Shipment, what: Outgoing): Outgoing {
    if (what.type === 'keep' || what.type === 'later') return what;
    if (what.type === 'nothing' || !mayBeCustomized(what.content)) {
      this.#renderings.forget(t, child.name, keyHash);
      return what;
    }
    const { customizers = [], expand = false, refs } = attributesOf<ObjectAttributes>(what.content);
    if (customizers.length === 0 && !expand) {
      this.#renderings.forget(t, child.name, keyHash);
      return what;
    }
    const facts = this.#facts(source, refs, child);
    // Without a place there is nothing to read from; the placement that brought it here is about to take it away.
    if (!facts) return { type: 'keep' };
    const rendering = this.#rendering(t, { source, content: what.content, customizers, expand, facts });
    if (rendering === 'later') return { type: 'later' };
    const { outcome, trace } = rendering;
    const row: Customized = { key: what.content.key, customizers };
    if ('failure' in outcome) {
      const message = shortened(outcome.failure.message);
      this.#renderings.set(t, child.name, keyHash, { ...row, failure: { ...outcome.failure, message, refs } }, trace);
      return { type: 'keep' };
    }
    this.#renderings.set(t, child.name, keyHash, row, trace);
    if (equalBytes(outcome.body, what.content.body)) return what;
    return { type: 'content', content: { ...what.content, body: outcome.body }, originRevision: what.originRevision };
  }

  /** A Location, a SyncTarget or what is inherited has changed: what read it is made anew. */
  childChanged(t: Transaction, name: string, stays: boolean): void {
    const child = this.#ports.children.get(name);
    if (!stays || !child) {
      this.#renderings.forgetChild(t, name);
      return;
    }
    const factsOf = ({ key }: Customized) => {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'object') return undefined;
      // With one Location, as almost everywhere, the placements need no look.
      const refs = child.destinations.length > 1 ? this.#refsOf(t, entry.source, key) : [];
      return this.#facts(entry.source, refs, child);
    };
    for (const [keyHash, key] of this.#renderings.concerned(name, factsOf)) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'object')
        markDirty(t, 'shipment', shipmentKey({ child: name, source: entry.source, keyHash }));
    }
  }

  /** A Customizer has come, changed or gone: its users are made anew. */
  auxiliaryChanged(t: Transaction, source: string, { resource, namespace, name }: ObjectKey): void {
    if (resource !== 'customizers') return;
    for (const key of this.#renderings.usersOf(source, `${namespace}/${name}`)) markDirty(t, 'row', key);
  }

  /** What of the placement's objects could not be made for the child. */
  failures(id: PlacementId, child: string): readonly Failure[] {
    return this.#renderings.failures(id, child, this.#ports.pathOf(child));
  }

  takeChanged(): readonly { child: string; id: PlacementId }[] {
    return this.#renderings.takeChanged();
  }

  // ---------------------------------------------------------------------------------------------------- one object

  #rendering(t: Transaction, order: Order): Rendering | 'later' {
    const table = this.#ports.tableOf(order.source);
    const entry = parseEntryKey(order.content.key);
    if (!table || entry?.type !== 'object')
      return failed('CustomizationFailed', `${order.content.key} is of no source here`);
    const kind = this.#ingredients.kind(t, table, order.source, entry.object);
    const customizers: { name: string; found: Ingredient<Compilation> }[] = [];
    for (const name of order.customizers) {
      const found = this.#ingredients.customizer(t, table, order.source, name);
      if (!found) return failed('CustomizerNotFound', notFound(name, entry.object));
      customizers.push({ name, found });
    }
    const hashes = customizers.map(({ name, found }) => `${name} ${found.hash}`);
    const key = hash128([bodyHash(order.content), order.expand, kind?.hash ?? '-', ...hashes].join('\n'));
    return this.#made(asBuffer(key).toString('latin1'), order, customizers, kind);
  }

  #made(
    key: string,
    { content, expand, facts }: Order,
    customizers: readonly { name: string; found: Ingredient<Compilation> }[],
    kind: Ingredient<Kind> | undefined,
  ): Rendering | 'later' {
    const known = this.#cache.find(key, facts);
    if (known) {
      this.#ports.counted(false);
      return known;
    }
    if (this.#stepsLeft <= 0) return 'later';
    const ready: { name: string; compiled: CompiledCustomizer }[] = [];
    for (const { name, found } of customizers) {
      const { customizer, causes } = found.value;
      if (!customizer)
        return failed('CustomizationFailed', `Customizer ${name}: ${causes[0].field}: ${causes[0].message}`);
      ready.push({ name, compiled: customizer });
    }
    const input = {
      object: parseBody(content.body),
      characters: content.body.length,
      customizers: ready,
      expands: expand,
      kind: kind?.value,
    };
    const made = this.#cache.evaluate(key, facts, (recorder) => render(input, recorder));
    this.#stepsLeft -= stepsPerEvaluation + made.steps;
    this.#ports.counted(true);
    return made;
  }

  /** The destination by which the object comes to the child. */
  #facts(source: string, refs: readonly string[], child: Child): Facts | undefined {
    const placements = refs
      .map((name) => this.#ports.placements.get(placementId(source, name)))
      .filter((placement): placement is Placement => placement?.children.has(child.name) ?? false);
    return destinationFor(child, placements)?.facts;
  }

  #refsOf(t: Transaction, source: string, key: string): readonly string[] {
    const table = this.#ports.tableOf(source);
    const row = table?.get(t, hash128(key));
    return row?.content && table ? attributesOf<ObjectAttributes>(table.content(t, row.content)).refs : [];
  }
}

interface Order {
  readonly source: string;
  readonly content: Content;
  readonly customizers: readonly string[];
  readonly expand: boolean;
  readonly facts: Facts;
}

/** Almost all objects are not: their attributes are not parsed. */
function mayBeCustomized({ attributes }: Content): boolean {
  const bytes = asBuffer(attributes);
  return bytes.includes('"customizers":') || bytes.includes('"expand":');
}

/** Known without reading anything of the destination. */
function failed(reason: FailureReason, message: string): Rendering {
  return { outcome: { failure: { reason, message } }, steps: 0, trace: [] };
}

function notFound(name: string, { namespace }: ObjectKey): string {
  if (name.startsWith('/'))
    return `a cluster-scoped object has no namespace to look for the Customizer ${name.slice(1)} in; write NAMESPACE/NAME`;
  const where = name.startsWith(`${namespace}/`) ? 'the namespace of the object' : 'this space';
  return `there is no Customizer ${name} in ${where}; create it, or take its name from the object's annotation or the placement's rule`;
}

function shortened(message: string): string {
  return message.length <= messageCharactersMax ? message : `${message.slice(0, messageCharactersMax)}…`;
}
