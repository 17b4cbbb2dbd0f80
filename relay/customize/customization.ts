/**
 * A stage of the way down: makes the form of an object that one destination gets. It works at the last hop only. The other relays send the object unchanged,
 * and beside it the Customizers that it names. An object that can't be made is not sent. Then the agent keeps the last form that could be made, and the
 * placement's summary has the reason.
 */

import type { Kind } from '../../core/apiserver/space.ts';
import type { CompiledCustomizer } from '../../core/customize/compile.ts';
import {
  type CustomizationOutcome,
  customizerAnnotation,
  customizerResource,
  type DestinationFacts,
  type FailureReason,
} from '../../core/customize/customizer.ts';
import { render } from '../../core/customize/render.ts';
import { RenderCache, type Rendering } from '../../core/customize/render-cache.ts';
import type { ObjectAttributes } from '../../core/entries/down-attributes.ts';
import { attributesOf, parseEntryKey } from '../../core/entries/entry-keys.ts';
import { type PlacementId, placementId } from '../../core/entries/placement-id.ts';
import { contentHash, referenceCount } from '../../core/feed/content.ts';
import type { Content, Producer, Table } from '../../core/feed/feed.ts';
import { parseBody, stableStringify } from '../../core/object/canonical.ts';
import { hash128 } from '../../core/object/hash.ts';
import type { ObjectKey } from '../../core/object/key.ts';
import { checkDnsSubdomain } from '../../core/object/names.ts';
import type { Watermarks } from '../../core/session/watermark.ts';
import { asBuffer, equalBytes, text } from '../../core/store/bytes.ts';
import type { Reader, Transaction } from '../../core/store/store.ts';
import type { Failure } from '../../core/summary/partial.ts';
import { type Child, destinationFor } from '../children/children.ts';
import type { Placement } from '../placements/placement.ts';
import type { Placements } from '../placements/placements.ts';
import { type OutgoingContent, type OutgoingStage, type Shipment, shipmentKey } from '../schedule/outgoing.ts';
import { markDirty } from '../work/dirty.ts';
import { bodyHash, Ingredients } from './ingredients.ts';
import { type Customized, Renderings } from './renderings.ts';

export interface CustomizationPorts {
  tableOf(source: string): Table | undefined;
  readonly children: ReadonlyMap<string, Child>;
  readonly placements: Placements;
  mailboxOf(child: string): Producer | undefined;
  pathOf(child: string): string;
  /** Counts one rendering. `evaluated` is false if the rendering was taken from the cache. */
  counted(evaluated: boolean): void;
}

/** Limit for the steps of expressions in one transaction; then other work has its turn. All of these steps take about 100 ms. */
const stepsPerTurn = 2_000_000;
/** The cost of an evaluation before its first step: it takes about 0.2 ms to parse, copy and write a small object. */
const stepsPerEvaluation = 4_000;
/**
 * Limit for the rows whose revisions are raised in one turn; then other work has its turn. One agent may have more rows: they are raised together, because they
 * are also reconciled together.
 */
const raisedRowsPerTurn = 500;
/** Limit for a failure message: one sentence for a person. The status of a placement shows up to ten messages. */
const messageCharactersMax = 400;

export class Customization implements OutgoingStage {
  readonly #ports: CustomizationPorts;
  readonly #renderings = new Renderings();
  readonly #ingredients = new Ingredients();
  readonly #cache = new RenderCache();
  /** The recipes of the present step. No source changes during a step, and a step often makes one object for many children. */
  readonly #recipes = new Map<string, Recipe>();
  /** For each outcome: the hash of the content that was made with the outcome and with these attributes. */
  readonly #hashes = new WeakMap<CustomizationOutcome, { readonly attributes: string; readonly hash: Uint8Array }>();
  #stepsLeft = stepsPerTurn;

  constructor(ports: CustomizationPorts) {
    this.#ports = ports;
  }

  /** Reads the renderings from the store. Call it before the first shipment. */
  load(reader: Reader): void {
    this.#renderings.load(reader);
  }

  begin(): void {
    this.#stepsLeft = stepsPerTurn;
    this.#recipes.clear();
  }

  outgoing(t: Transaction, { child, source, keyHash }: Shipment, what: OutgoingContent): OutgoingContent {
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
    // The child has no destination for the object, so there are no values to read. The object will soon be removed from the child.
    if (!facts) return { type: 'keep' };
    const recipe = this.#recipe(t, source, what, customizers, expand);
    const rendering = 'failure' in recipe ? recipe.failure : this.#rendering(recipe, facts);
    if (rendering === 'later') return { type: 'later' };
    const { outcome, trace } = rendering;
    const row: Customized = { key: what.content.key, customizers };
    if ('failure' in outcome) {
      const message = shortened(outcome.failure.message);
      this.#renderings.set(t, child.name, keyHash, { ...row, failure: { ...outcome.failure, message, refs } }, trace);
      return this.#lastGood(t, child, keyHash, what.content);
    }
    this.#renderings.set(t, child.name, keyHash, row, trace);
    return equalBytes(outcome.body, what.content.body) ? what : this.#made(t, what, outcome);
  }

  /**
   * Call it when a Location, a SyncTarget or an inherited label of the child has changed. Marks the objects whose renderings read a changed value; the
   * scheduler makes them again. `stays` is false when the child is removed.
   */
  childChanged(t: Transaction, name: string, stays: boolean): void {
    const child = this.#ports.children.get(name);
    if (!stays || !child) {
      this.#renderings.forgetChild(t, name);
      return;
    }
    const factsOf = ({ key }: Customized) => {
      const entry = parseEntryKey(key);
      if (entry?.type !== 'object') return undefined;
      // With one Location, the usual case, the placements do not matter.
      const refs = child.destinations.length > 1 ? this.#refsOf(t, entry.source, key) : [];
      return this.#facts(entry.source, refs, child);
    };
    for (const [keyHash, key] of this.#renderings.outdated(name, factsOf)) {
      const entry = parseEntryKey(key);
      if (entry?.type === 'object')
        markDirty(t, 'shipment', shipmentKey({ child: name, source: entry.source, keyHash }));
    }
  }

  /**
   * Raises the revisions of the rows that this node customized for these children, so that the children accept the rows. A child may have another form of a
   * customized object, with the revision of a later write. The other form is from an earlier store incarnation of this node, or from a replica where a
   * placement left the child and came again (relay/schedule/placement-bindings.ts). The form that this node makes depends on more than the writes of the
   * source, so its revision may be lower although it is right. Without the higher revision, the other form could stay at the child forever.
   *
   * `covered` has for each source the revision up to which this node has received and processed everything. Call this function before the children reconcile: a
   * reconciliation compares contents, and does not send equal contents.
   *
   * Returns how many of the children are done, counted from the first: at least one. Call the function again for the others in the next turn.
   */
  raiseRevisions(t: Transaction, children: readonly string[], covered: Watermarks): number {
    let rows = 0;
    let done = 0;
    for (const child of children) {
      if (rows >= raisedRowsPerTurn) break;
      rows += this.#raise(t, child, covered);
      done++;
    }
    return done;
  }

  /** Returns the number of rows that were written. */
  #raise(t: Transaction, child: string, covered: Watermarks): number {
    const mailbox = this.#ports.mailboxOf(child);
    if (!mailbox) return 0;
    let written = 0;
    for (const { keyHash, key } of this.#renderings.ofChild(child)) {
      const entry = parseEntryKey(key);
      const row = mailbox.get(t, keyHash);
      if (entry?.type !== 'object' || !row?.content) continue;
      const originRevision = Math.max(row.originRevision, covered[entry.source] ?? 0);
      if (mailbox.putReference(t, keyHash, row.content, originRevision)) written++;
    }
    return written;
  }

  /**
   * Call it when the placements of a child have changed. If an agent has several Locations, the placements decide for which Location the agent's objects are
   * customized.
   */
  rematched(t: Transaction, child: Child): void {
    if (child.destinations.length > 1) this.childChanged(t, child.name, true);
  }

  /** Call it when a Customizer was added, changed or removed. Marks the objects that use the Customizer; the scheduler makes them again. */
  auxiliaryChanged(t: Transaction, source: string, { resource, namespace, name }: ObjectKey): void {
    if (resource !== customizerResource) return;
    for (const key of this.#renderings.usersOf(source, `${namespace}/${name}`)) markDirty(t, 'row', key);
  }

  /** Returns the key hashes of the child's objects that are made with the Customizer. */
  madeWith(source: string, customizer: string, child: string): Iterable<Uint8Array> {
    return this.#renderings.madeWith(source, customizer, child);
  }

  /** Returns the objects of the placement that could not be made for the child. */
  failures(id: PlacementId, child: string): readonly Failure[] {
    return this.#renderings.failures(id, child, this.#ports.pathOf(child));
  }

  // ---------------------------------------------------------------------------------------------------- one object

  #recipe(
    t: Transaction,
    source: string,
    what: OutgoingContent & { type: 'content' },
    names: readonly string[],
    expands: boolean,
  ): Recipe {
    const { reference, madeAsPromoted = '' } = what;
    const cacheKey = reference && `${source} ${madeAsPromoted} ${asBuffer(reference.hash).toString('latin1')}`;
    const cached = cacheKey === undefined ? undefined : this.#recipes.get(cacheKey);
    if (cached) return cached;
    const recipe = this.#newRecipe(t, source, what, names, expands);
    if (cacheKey !== undefined) this.#recipes.set(cacheKey, recipe);
    return recipe;
  }

  #newRecipe(
    t: Transaction,
    source: string,
    { content, madeAsPromoted }: OutgoingContent & { type: 'content' },
    names: readonly string[],
    expands: boolean,
  ): Recipe {
    const table = this.#ports.tableOf(source);
    const entry = parseEntryKey(content.key);
    if (!table || entry?.type !== 'object') throw new Error(`${content.key} is shipped and of no source here`);
    const kind = this.#ingredients.kind(t, table, source, entry.object);
    const customizers: { name: string; compiled: CompiledCustomizer }[] = [];
    const hashes: string[] = [];
    for (const name of names) {
      const found = this.#ingredients.customizer(t, table, source, name, madeAsPromoted);
      if (!found) return { failure: failed('CustomizerNotFound', notFound(name, entry.object)) };
      const { customizer, causes } = found.value;
      if (!customizer) {
        const message = `Customizer ${name}: ${causes[0].field}: ${causes[0].message}`;
        return { failure: failed('CustomizationFailed', message) };
      }
      customizers.push({ name, compiled: customizer });
      hashes.push(`${name} ${found.hash}`);
    }
    const key = hash128([bodyHash(content), expands, kind?.hash ?? '-', ...hashes].join('\n'));
    return { key: asBuffer(key).toString('latin1'), content, customizers, expands, kind: kind?.value };
  }

  #rendering({ key, content, ...input }: Ready, facts: DestinationFacts): Rendering | 'later' {
    const cached = this.#cache.find(key, facts);
    if (cached) {
      this.#ports.counted(false);
      return cached;
    }
    if (this.#stepsLeft <= 0) return 'later';
    const whole = { ...input, object: parseBody(content.body), characters: content.body.length };
    const rendering = this.#cache.evaluate(key, facts, (recorder) => render(whole, recorder));
    this.#stepsLeft -= stepsPerEvaluation + rendering.steps;
    this.#ports.counted(true);
    return rendering;
  }

  /** Returns the content with the customized body. If another mailbox has the same content already, the result refers to that content. */
  #made(
    t: Transaction,
    what: OutgoingContent & { type: 'content' },
    outcome: CustomizationOutcome & { body: Uint8Array },
  ): OutgoingContent {
    const content = { ...what.content, body: outcome.body };
    const attributes = asBuffer(content.attributes).toString('latin1');
    const known = this.#hashes.get(outcome);
    const hash = known?.attributes === attributes ? known.hash : contentHash(content);
    if (known?.hash !== hash) this.#hashes.set(outcome, { attributes, hash });
    const reference = { hash };
    const { originRevision } = what;
    if (referenceCount(t, reference) === 0) return { type: 'content', content, originRevision };
    return { type: 'content', content, reference, originRevision };
  }

  /**
   * The agent keeps the form that it has. Only the attributes change: they name the placements that want the object now. So a new placement keeps the object at
   * the agent, and a removed placement does not.
   */
  #lastGood(t: Transaction, child: Child, keyHash: Uint8Array, wanted: Content): OutgoingContent {
    const mailbox = this.#ports.mailboxOf(child.name);
    const row = mailbox?.get(t, keyHash);
    if (!mailbox || !row?.content) return { type: 'keep' };
    const last = mailbox.content(t, row.content);
    const before = attributesOf<ObjectAttributes>(last);
    const { uid, created, generation } = before;
    const after = stableStringify({ ...attributesOf<ObjectAttributes>(wanted), uid, created, generation });
    if (after === stableStringify(before)) return { type: 'keep' };
    return { type: 'content', content: { ...last, attributes: text(after) }, originRevision: row.originRevision };
  }

  /** Returns the facts of the destination for which the object is customized. Undefined: the child has no destination for the object. */
  #facts(source: string, refs: readonly string[], child: Child): DestinationFacts | undefined {
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

/** The steps that make an object, for any destination; or the failure, if the object can't be made for any destination. */
type Recipe = Ready | { readonly failure: Rendering };

interface Ready {
  readonly key: string;
  readonly content: Content;
  readonly customizers: readonly { readonly name: string; readonly compiled: CompiledCustomizer }[];
  readonly expands: boolean;
  readonly kind: Kind | undefined;
}

/** Almost no object is customized. This check saves parsing the attributes of all others. */
function mayBeCustomized({ attributes }: Content): boolean {
  const bytes = asBuffer(attributes);
  return bytes.includes('"customizers":') || bytes.includes('"expand":');
}

/** Returns a failure that needs no values of the destination. */
function failed(reason: FailureReason, message: string): Rendering {
  return { outcome: { failure: { reason, message } }, steps: 0, trace: [] };
}

function notFound(name: string, { namespace }: ObjectKey): string {
  if (name.startsWith('/'))
    return `a cluster-scoped object has no namespace to look for the Customizer ${name.slice(1)} in; write NAMESPACE/NAME`;
  const wrong =
    name.split('/').length > 2 ? 'has more than one "/"' : name.split('/').map(checkDnsSubdomain).find(Boolean);
  if (wrong)
    return `no Customizer can have the name ${name}: ${wrong}; write NAME or NAMESPACE/NAME in the annotation ${customizerAnnotation}`;
  const where = name.startsWith(`${namespace}/`) ? 'the namespace of the object' : 'this space';
  return `there is no Customizer ${name} in ${where}; create it, or take its name from the object's annotation or the placement's rule`;
}

function shortened(message: string): string {
  return message.length <= messageCharactersMax ? message : `${message.slice(0, messageCharactersMax)}…`;
}
