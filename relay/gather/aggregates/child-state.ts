/**
 * The contribution of one child to the status partial of one object. For an agent, the partial is made from the state that the agent reports. A relay reports a partial
 * itself.
 */

import { attributesOf, entryKey } from '../../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../../core/entries/placement-id.ts';
import type { AggregateAttributes, StateAttributes } from '../../../core/entries/up-attributes.ts';
import type { Content, Table } from '../../../core/feed/feed.ts';
import { stableStringify } from '../../../core/object/canonical.ts';
import { hash128 } from '../../../core/object/hash.ts';
import { parseJson } from '../../../core/object/json.ts';
import { displayKey, type ObjectKey } from '../../../core/object/key.ts';
import { asText } from '../../../core/store/bytes.ts';
import type { Reader } from '../../../core/store/store.ts';
import { type DestinationState, destinationPartial, type Status } from '../../../core/summary/destination-status.ts';
import { inTermsOfOrigin } from '../../../core/summary/origin-generations.ts';
import type { DestinationCounts, Failure } from '../../../core/summary/partial.ts';
import {
  awayPartial,
  destinationsOf,
  mergeStatusPartials,
  notConnected,
  notCurrent,
  type ObjectStanding,
  outdatedPartial,
  type StatusPartial,
  unknownPartial,
} from '../../../core/summary/status-partial.ts';
import { readStatusPartial } from '../../../core/summary/status-partial-wire.ts';
import type { StatusRules } from '../../../core/summary/status-rules.ts';
import type { Child } from '../../children/children.ts';

export interface ChildStatePorts {
  readonly children: ReadonlyMap<string, Child>;
  reportedOf(child: string): Table | undefined;
  connection(child: string): { readonly connected: boolean };
  /** Returns the path of a child's node. */
  pathOf(child: string): string;
  /** Returns whether the child's entry with this key is a bad entry. */
  isRefused(reader: Reader, child: string, keyHash: Uint8Array): boolean;
  /** Returns the numbers of destinations that the child adds to a placement. Undefined: it adds none. */
  counts(reader: Reader, id: PlacementId, child: string): DestinationCounts | undefined;
  /** Returns the objects of the placement that this node could not make for an agent. */
  heldBack(id: PlacementId, child: string): readonly Failure[];
}

/** The object as this node knows it: the row of its source. */
export interface ObjectForm {
  readonly source: string;
  readonly object: ObjectKey;
  readonly keyHash: Uint8Array;
  readonly rules: StatusRules;
  readonly uid: string;
  readonly generation: number;
}

/** Limit for the partials that are kept to be shared: most destinations of an object have one of a few. */
const sharedMax = 1_000;

export class ChildStates {
  readonly #ports: ChildStatePorts;
  /** Equal partials of agents share one object in memory: there is one for each object and agent. */
  readonly #shared = new Map<string, StatusPartial>();

  constructor(ports: ChildStatePorts) {
    this.#ports = ports;
  }

  /** Returns the partial of the child. Undefined: the child has no destination of these placements. */
  partial(
    reader: Reader,
    form: ObjectForm,
    placements: readonly PlacementId[],
    name: string,
  ): StatusPartial | undefined {
    const child = this.#ports.children.get(name);
    if (child?.role === 'relay') return this.#ofRelay(reader, form, placements, name);
    const state = child && this.#stateOf(reader, form, placements, name);
    return state && this.#share(destinationPartial(form.rules, state));
  }

  /** Returns the last status that the only destination of the child has reported about this object. Undefined: there is none, or several destinations. */
  only(reader: Reader, form: ObjectForm, placements: readonly PlacementId[], name: string): Status | undefined {
    const isRelay = this.#ports.children.get(name)?.role === 'relay';
    if (isRelay) return this.#ofRelay(reader, form, placements, name)?.only;
    const content = this.#reportOf(reader, form, name);
    const state = content && attributesOf<StateAttributes>(content);
    return state?.form?.uid === form.uid ? statusOf(content!, state) : undefined;
  }

  #share(partial: StatusPartial): StatusPartial {
    const text = stableStringify(partial);
    const shared = this.#shared.get(text);
    if (shared) return shared;
    if (this.#shared.size >= sharedMax) this.#shared.clear();
    this.#shared.set(text, partial);
    return partial;
  }

  // ------------------------------------------------------------------------------------------------------ relays

  #ofRelay(
    reader: Reader,
    { source, object, rules, uid, generation }: ObjectForm,
    placements: readonly PlacementId[],
    name: string,
  ): StatusPartial | undefined {
    const expected = Math.max(0, ...placements.map((id) => this.#ports.counts(reader, id, name)?.expected ?? 0));
    if (expected === 0) return undefined;
    const key = hash128(entryKey.aggregate(source, object));
    const path = this.#ports.pathOf(name);
    const { connected } = this.#ports.connection(name);
    if (this.#ports.isRefused(reader, name, key) && connected) {
      return unknownPartial(rules, { standing: 'quarantined', path, ...unreadable }, expected);
    }
    const content = contentOf(reader, this.#ports.reportedOf(name), key);
    if (!content) {
      const unknown = connected
        ? ({ standing: 'waiting', ...notCurrent } as const)
        : ({ standing: 'never', ...notConnected } as const);
      return unknownPartial(rules, { ...unknown, path }, expected);
    }
    const about = attributesOf<AggregateAttributes>(content);
    const reported = readStatusPartial(content);
    const isCurrent = about.uid === uid && about.generation === generation;
    const partial = isCurrent
      ? reported
      : withOnly(outdatedPartial(rules, reported, path, generation), about.uid === uid ? reported.only : undefined);
    const whole = withMissing(rules, partial, path, expected - destinationsOf(partial));
    return connected ? whole : awayPartial(rules, whole, path);
  }

  // ------------------------------------------------------------------------------------------------------ agents

  #stateOf(
    reader: Reader,
    form: ObjectForm,
    placements: readonly PlacementId[],
    name: string,
  ): DestinationState | undefined {
    const place = this.#placeOf(reader, placements, name);
    if (!place) return undefined;
    const content = this.#reportOf(reader, form, name);
    const state = content && attributesOf<StateAttributes>(content);
    const isCurrent = state?.form?.uid === form.uid && state.form.generation === form.generation;
    const status = content && state && isUsable(form, state, isCurrent) ? statusOf(content, state) : undefined;
    return {
      path: this.#ports.pathOf(name),
      ...standingOf(place, state, isCurrent, this.#heldBack(form, placements, name)),
      isCurrent,
      generation: form.generation,
      ...(state?.generation === undefined ? {} : { accepted: state.generation }),
      ...(status ? { status } : {}),
    };
  }

  #reportOf(reader: Reader, { source, object }: ObjectForm, name: string): Content | undefined {
    return contentOf(reader, this.#ports.reportedOf(name), hash128(entryKey.state(source, object)));
  }

  /** Returns what the sums of the placements say about the agent: `fresh` if it is connected and has reported. */
  #placeOf(reader: Reader, placements: readonly PlacementId[], name: string): Place | undefined {
    const places = placements.flatMap((id) => {
      const counts = this.#ports.counts(reader, id, name);
      return counts && counts.expected > 0 ? [placeOf(counts)] : [];
    });
    return (['fresh', 'quarantined', 'stale', 'never'] as const).find((place) => places.includes(place));
  }

  #heldBack({ object }: ObjectForm, placements: readonly PlacementId[], name: string): Failure | undefined {
    const shown = displayKey(object);
    return placements.flatMap((id) => this.#ports.heldBack(id, name)).find((failure) => failure.object === shown);
  }
}

const unreadable = { reason: 'Quarantined', message: 'the relay sent an unreadable report' } as const;

type Place = 'fresh' | 'quarantined' | 'stale' | 'never';

function placeOf({ stale, never, quarantined }: DestinationCounts): Place {
  if (stale > 0) return 'stale';
  if (never > 0) return 'never';
  return quarantined > 0 ? 'quarantined' : 'fresh';
}

function standingOf(
  place: Place,
  state: StateAttributes | undefined,
  isCurrent: boolean,
  heldBack: Failure | undefined,
): { standing: ObjectStanding; reason: string; message: string } {
  if (place === 'stale' || place === 'never') return { standing: place, ...notConnected };
  if (place === 'quarantined') return { standing: 'quarantined', reason: 'Quarantined', message: '' };
  if (heldBack) return { standing: 'failed', reason: heldBack.reason, message: heldBack.message };
  if (!state) return { standing: 'waiting', ...notCurrent };
  const { reason = '', message = '' } = state;
  const told = { reason, message };
  if (reason === 'Poisoned') return { standing: 'quarantined', ...told };
  if (reason === 'Conflicted') return { standing: 'conflicted', ...told };
  if (!isCurrent) return { standing: 'waiting', ...notCurrent };
  if (state.failed) return { standing: 'failed', ...told };
  return { standing: state.applied && state.available ? 'available' : 'waiting', ...told };
}

/**
 * Whether the reported status is about the object at all. An object that was deleted and made again under its name has another uid: a Job that is made again
 * is not complete. A kind without `observedGeneration` does not say which form its status is about, so its status counts once the form is applied.
 */
function isUsable({ uid, rules }: ObjectForm, { form, applied }: StateAttributes, isCurrent: boolean): boolean {
  return form?.uid === uid && (rules.observes !== false || (isCurrent && applied));
}

function statusOf({ body }: Content, { generation, local }: StateAttributes): Status | undefined {
  if (body.length === 0) return undefined;
  return inTermsOfOrigin(parseJson(asText(body)) as Status, generation, local);
}

/** Adds destinations that a placement has got below the relay, and that the relay's report about the object does not have yet. */
function withMissing(rules: StatusRules, partial: StatusPartial, path: string, missing: number): StatusPartial {
  if (missing <= 0) return partial;
  return mergeStatusPartials(
    rules,
    partial,
    unknownPartial(rules, { standing: 'waiting', path, ...notCurrent }, missing),
  );
}

function withOnly(partial: StatusPartial, only: Status | undefined): StatusPartial {
  return only ? { ...partial, only } : partial;
}

function contentOf(reader: Reader, table: Table | undefined, keyHash: Uint8Array): Content | undefined {
  const row = table?.get(reader, keyHash);
  return row?.content && table?.content(reader, row.content);
}
